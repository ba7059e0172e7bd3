//! A change that somebody asked for and waits for.

use tokio::sync::oneshot::{self, Receiver, Sender};

use crate::ports::StoreError;

use super::draft::Draft;
use super::index::IndexError;

/// A change, one box from the hand-in to the answer: memory that one thread takes and another gives
/// back costs more. It is dropped, and with it the way to answer, when nothing came of it.
pub(super) trait Change: Send {
    /// Decides it. It is asked once.
    fn decide(&mut self, draft: &mut Draft<'_>) -> Result<(), IndexError>;

    /// Tells whoever asked for it what became of it, once it has been decided.
    fn answer(self: Box<Self>, outcome: Result<(), StoreError>);
}

/// A change that `decide` decides, and where its answer will be.
pub(super) fn asked<T: Send + 'static>(
    decide: impl FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send + 'static,
) -> (Box<dyn Change>, Receiver<Result<T, StoreError>>) {
    let (reply, answer) = oneshot::channel();
    let asked = Asked {
        stage: Stage::Due(decide),
        reply,
    };
    (Box::new(asked), answer)
}

struct Asked<D, T> {
    stage: Stage<D, T>,
    reply: Sender<Result<T, StoreError>>,
}

enum Stage<D, T> {
    Due(D),
    Decided(T),
    /// It could not be decided, or is being: a panic leaves it so.
    GivenUp,
}

impl<D, T> Change for Asked<D, T>
where
    D: FnOnce(&mut Draft<'_>) -> Result<T, IndexError> + Send,
    T: Send,
{
    fn decide(&mut self, draft: &mut Draft<'_>) -> Result<(), IndexError> {
        if let Stage::Due(decide) = std::mem::replace(&mut self.stage, Stage::GivenUp) {
            self.stage = Stage::Decided(decide(draft)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<(), StoreError>) {
        let Self { stage, reply } = *self;
        if let Stage::Decided(decided) = stage {
            // Whoever asked may have gone; the change stays.
            let _ = reply.send(outcome.map(|()| decided));
        }
    }
}
