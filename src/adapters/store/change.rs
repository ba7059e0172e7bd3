//! A change that somebody asked for and waits for.

use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::ports::StoreError;

use super::draft::Draft;
use super::index::IndexError;

/// A change. It is dropped, and with it the way to answer, when nothing came of it.
pub(super) trait Change: Send {
    /// Decides it.
    fn decide(&mut self, draft: &mut Draft<'_>) -> Result<(), IndexError>;

    /// Tells whoever asked for it what became of it, once it has been decided.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// A change that `decide` decides, and where its answer will be.
pub(super) fn change<T: Send + 'static>(
    decide: impl FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send + 'static,
) -> (Box<dyn Change>, Receiver<Result<T, StoreError>>) {
    let (reply, answer) = oneshot::channel();
    let asked = Asked {
        decision: Decision::Due(decide),
        reply,
    };
    (Box::new(asked), answer)
}

struct Asked<D, T> {
    decision: Decision<D, T>,
    reply: Sender<Result<T, StoreError>>,
}

enum Decision<D, T> {
    Due(D),
    Made(T),
    Failed,
}

impl<D, T> Change for Asked<D, T>
where
    D: FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send,
    T: Send,
{
    fn decide(&mut self, draft: &mut Draft<'_>) -> Result<(), IndexError> {
        if let Decision::Due(decide) = std::mem::replace(&mut self.decision, Decision::Failed) {
            self.decision = Decision::Made(decide(draft)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { decision, reply } = *self;
        if let Decision::Made(decided) = decision {
            // Whoever asked may have gone; the change stays.
            let _ = reply.send(outcome.map(|()| decided));
        }
    }
}
