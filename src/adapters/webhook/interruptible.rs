//! A notifier that can be interrupted: when the service must end, a visitor who still waits is
//! answered.

use std::sync::Arc;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::domain::contact::Notice;
use crate::ports::{NotifyError, SubscriptionNotifier};

/// Another notifier, until it is interrupted.
pub struct InterruptibleNotifier {
    notifier: Arc<dyn SubscriptionNotifier>,
    interrupt: CancellationToken,
}

impl InterruptibleNotifier {
    /// `notifier`, until `interrupt` is cancelled.
    #[must_use]
    pub fn new(notifier: Arc<dyn SubscriptionNotifier>, interrupt: CancellationToken) -> Self {
        Self {
            notifier,
            interrupt,
        }
    }
}

impl std::fmt::Debug for InterruptibleNotifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InterruptibleNotifier(..)")
    }
}

#[async_trait]
impl SubscriptionNotifier for InterruptibleNotifier {
    /// An interrupted sign-up failed as one does whose provider is too slow: the provider may have
    /// it all the same, and has it twice when the visitor tries again.
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        if self.interrupt.is_cancelled() {
            return Err(NotifyError::Failed(
                "not asked, as the service stops".to_owned(),
            ));
        }
        tokio::select! {
            // An answer that is there is given.
            biased;
            told = self.notifier.notify(notice) => told,
            () = self.interrupt.cancelled() => Err(NotifyError::Failed(
                "interrupted, as the service stops".to_owned(),
            )),
        }
    }
}
