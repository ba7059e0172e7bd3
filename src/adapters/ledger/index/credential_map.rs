//! Keys and revoked registrations in memory, while no index can be built. Requests with a credential
//! are then still answered. Nothing is recorded meanwhile, so the map stays correct.

use std::collections::HashMap;
use std::path::Path;

use crate::adapters::ledger::record::{Event, Flaw, Identity, Kept, each_event, fold};

/// The kept events of keys and registrations. A key takes about 300 bytes.
pub(crate) struct CredentialMap(HashMap<Identity, Kept<Event>>);

impl CredentialMap {
    /// Reads the ledger at `path`. Expired entries are included, as in the index: a clock that was wrong
    /// once must not make a revoked token valid again.
    pub(crate) fn read(path: &Path) -> Result<Self, Flaw> {
        let mut credentials = HashMap::new();
        each_event(path, |_place, event, _json| {
            let identity = event.identity();
            if identity.is_credential() {
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
