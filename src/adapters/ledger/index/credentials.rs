//! The keys and the revoked registrations in memory, for as long as no index can be made: requests
//! with a credential must not depend on it. Meanwhile nothing is recorded, so it stays true.

use std::collections::HashMap;
use std::path::Path;

use crate::adapters::ledger::record::{Event, Flaw, Identity, Kept, each_event, fold};

/// What the ledger keeps of everything but contacts. A key takes some 300 bytes.
pub(crate) struct Credentials(HashMap<Identity, Kept<Event>>);

impl Credentials {
    /// Reads them from the ledger at `path`. What has expired is among them, as in the index: a clock
    /// that was wrong once must not make a revoked token good again.
    pub(crate) fn read(path: &Path) -> Result<Self, Flaw> {
        let mut credentials = HashMap::new();
        each_event(path, |_place, event, _json| {
            let identity = event.identity();
            if !identity.is_contact() {
                let before = credentials.remove(&identity);
                if let Some(after) = fold(before, event, event.clone()) {
                    credentials.insert(identity, after);
                }
            }
            Ok::<_, Flaw>(())
        })?;
        Ok(Self(credentials))
    }

    /// What is kept of `identity`.
    pub(crate) fn find(&self, identity: &Identity) -> Option<Kept<Event>> {
        self.0.get(identity).cloned()
    }
}
