//! What every [`KeyIssuer`] must do.

use std::sync::Arc;

use landing_api::domain::credential::{Fingerprint, KeyRecord};
use landing_api::domain::time::Timestamp;
use landing_api::ports::KeyIssuer;

use crate::fixtures::{count_firsts, key_record, listed};

const LATE: Timestamp = Timestamp::from_ms(2_000);

/// What the suite leaves in the store.
fn kept() -> Vec<KeyRecord> {
    let mut records = vec![
        key_record(1, None),
        key_record(2, Some("build \"server\"\n")),
        key_record(3, Some(&"\u{1F600}".repeat(64))),
        key_record(4, Some(&"\u{1}".repeat(64))),
    ];
    records[1].revoked_at = Some(LATE);
    records
}

/// The whole contract; `keys` is empty.
pub(crate) async fn check(keys: Arc<dyn KeyIssuer>) {
    assert_eq!(listed(keys.list().await).await, []);
    for mut record in kept() {
        record.revoked_at = None;
        assert_eq!(keys.find(&record.fingerprint).await, Ok(None));
        assert_eq!(keys.issue(record.clone()).await, Ok(()));
        assert_eq!(keys.find(&record.fingerprint).await, Ok(Some(record)));
    }
    let unknown = Fingerprint::from_bytes([9; 32]);
    assert_eq!(keys.revoke(&unknown, LATE).await, Ok(false));
    assert_eq!(keys.find(&unknown).await, Ok(None));

    // Only the first revocation counts.
    let fingerprint = key_record(2, None).fingerprint;
    let revoke = || {
        let keys = Arc::clone(&keys);
        async move { keys.revoke(&fingerprint, LATE).await }
    };
    assert_eq!(count_firsts(revoke).await, 1);
    assert_holds(&*keys).await;
}

/// Checks that what the suite leaves is still there.
pub(crate) async fn assert_holds(keys: &dyn KeyIssuer) {
    assert_eq!(listed(keys.list().await).await, kept());
    for record in kept() {
        assert_eq!(keys.find(&record.fingerprint).await, Ok(Some(record)));
    }
}
