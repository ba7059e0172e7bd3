//! The limiters that the contracts are run against.

use landing_api::ports::RateLimiter;

use crate::prelude::*;

/// Every adapter, and the directory that one of them needs. Charges must all have `quota`.
pub(super) async fn limiters(quota: &str) -> (TempDir, [Arc<dyn RateLimiter>; 2]) {
    let dir = tempfile::tempdir().unwrap();
    let store = Box::new(SledWindowStore::new(&dir.path().join("windows")));
    let sled = SledRateLimiter::without_thread(store, &policies(quota), START, WINDOWS_MAX);
    (
        dir,
        [Arc::new(FaultyRateLimiter::distant()), Arc::new(sled)],
    )
}
