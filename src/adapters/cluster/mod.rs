//! Everything that only several nodes need: the engines that they share, and a node's handling of them.
//!
//! | Module | Implements | Over |
//! |---|---|---|
//! | [`postgres`] | `ContactStore`, `KeyIssuer`, `RevocationList`, `DeliveryQueue`, `CountStore`, `StoreMaintenance` | a PostgreSQL database |
//! | [`credential_cache`] | | the database's credentials, cached for a while |
//! | [`redis`] | `RateLimiter` | Redis or Valkey |
//! | `fallback` | `RateLimiter` | Redis or Valkey, and the node's own table while it is unavailable |

pub mod credential_cache;
mod fallback;
pub mod postgres;
pub mod redis;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use tokio::io::AsyncRead;
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;

pub use self::fallback::FallbackRateLimiter;

/// The program does not guess which one is right.
const TWO_PASSWORDS: &str = "the password is in the URL and in a file: remove one of them";

/// Ends a connection with an endless response.
#[derive(Clone)]
struct AnswerBound {
    /// Bytes received since the last complete response.
    unanswered: Arc<AtomicUsize>,
    /// Cancelled when there are too many.
    gone: CancellationToken,
}

impl AnswerBound {
    fn new(gone: &CancellationToken) -> Self {
        Self {
            unanswered: Arc::default(),
            gone: gone.clone(),
        }
    }

    /// The same stream, limited to `bytes_max` between two complete responses.
    fn reader<S: AsyncRead>(
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
    fn note_answer(&self) {
        self.unanswered.store(0, Relaxed);
    }
}
