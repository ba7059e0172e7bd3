//! What every [`RevocationList`] must do.

use std::sync::Arc;

use landing_api::domain::{Registration, RevokedRegistration};
use landing_api::ports::RevocationList;

use crate::fixtures::{START, count_firsts, listed, registration};

/// The whole contract; `revocations` is empty.
pub(crate) async fn check(revocations: Arc<dyn RevocationList>) {
    assert_eq!(listed(revocations.list().await).await, []);
    for seed in 1..=3 {
        assert_eq!(revocations.is_revoked(&registration(seed)).await, Ok(false));
    }
    assert_eq!(revocations.revoke(&registration(1), START).await, Ok(true));
    // Only the first revocation counts.
    let revoke = || {
        let revocations = Arc::clone(&revocations);
        async move { revocations.revoke(&registration(2), START).await }
    };
    assert_eq!(count_firsts(revoke).await, 1);
    assert_holds(&*revocations).await;
    assert_eq!(revocations.revoke(&registration(1), START).await, Ok(false));
}

/// Checks that what the suite leaves is still there.
pub(crate) async fn assert_holds(revocations: &dyn RevocationList) {
    for (seed, is_revoked) in [(1, true), (2, true), (3, false)] {
        let found = revocations.is_revoked(&registration(seed)).await;
        assert_eq!(found, Ok(is_revoked), "{seed}");
    }
    let expected = [1, 2].map(|seed| RevokedRegistration {
        registration: registration(seed),
        revoked_at: START,
    });
    assert_eq!(listed(revocations.list().await).await, expected);
    // Another registration, though it has the same random name.
    let namesake = Registration::new([1; 16], START.plus_ms(1));
    assert_eq!(revocations.is_revoked(&namesake).await, Ok(false));
}
