//! The limit of an engine's responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::io::AsyncRead;
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;

/// Ends a connection with an endless response.
#[derive(Clone)]
pub(super) struct AnswerBound {
    /// Bytes received since the last complete response.
    unanswered: Arc<AtomicUsize>,
    /// Cancelled when there are too many.
    gone: CancellationToken,
}

impl AnswerBound {
    pub(super) fn new(gone: &CancellationToken) -> Self {
        Self {
            unanswered: Arc::default(),
            gone: gone.clone(),
        }
    }

    /// The same stream, limited to `bytes_max` between two complete responses.
    pub(super) fn reader<S: AsyncRead>(
        &self,
        stream: S,
        bytes_max: usize,
    ) -> InspectReader<S, impl FnMut(&[u8]) + Send + Unpin + 'static + use<S>> {
        let bound = self.clone();
        InspectReader::new(stream, move |bytes: &[u8]| {
            if bound.unanswered.fetch_add(bytes.len(), Relaxed) > bytes_max {
                bound.gone.cancel();
            }
        })
    }

    /// Records a complete response.
    pub(super) fn note_answer(&self) {
        self.unanswered.store(0, Relaxed);
    }
}
