//! The bound of an engine's answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::io::AsyncRead;
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;

/// Ends a connection on which an answer has no end.
#[derive(Clone)]
pub(super) struct AnswerBound {
    /// The bytes that came since the last answer that was understood.
    unanswered: Arc<AtomicUsize>,
    /// Cancelled when they are too many.
    gone: CancellationToken,
}

impl AnswerBound {
    pub(super) fn new(gone: &CancellationToken) -> Self {
        Self {
            unanswered: Arc::default(),
            gone: gone.clone(),
        }
    }

    /// The same stream, of which at most `bytes_max` are read between two answers.
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

    /// An answer was understood.
    pub(super) fn note_answer(&self) {
        self.unanswered.store(0, Relaxed);
    }
}
