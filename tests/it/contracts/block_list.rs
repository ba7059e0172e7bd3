//! What every [`BlockList`] must do.

use landing_api::domain::blocked_network::{Block, BlockedNetwork};
use landing_api::ports::BlockList;

use crate::fixtures::START;

pub(crate) fn network(text: &str) -> BlockedNetwork {
    BlockedNetwork::parse(text).unwrap()
}

/// The whole contract; `list` is empty.
pub(crate) async fn check(list: &dyn BlockList) {
    let (whole, half) = (network("192.0.2.0/24"), network("192.0.2.0/25"));
    let is_blocked = |address: &str| list.is_blocked(address.parse().unwrap());
    assert_eq!(list.list(), []);
    assert!(!is_blocked("192.0.2.1"));
    assert_eq!(list.remove(whole).await, Ok(false));
    let later = START.plus_ms(1000);
    for (network, now, is_new) in [
        (half, START, true),
        (whole, later, true),
        // The first time counts.
        (half, later, false),
    ] {
        assert_eq!(list.add(network, now).await, Ok(is_new));
    }
    let block = |network, since| Block { network, since };
    assert_eq!(list.list(), [block(whole, later), block(half, START)]);
    assert!(is_blocked("192.0.2.1") && is_blocked("::ffff:192.0.2.255"));
    assert!(!is_blocked("192.0.3.0"));
    // A block is that very network.
    assert_eq!(list.remove(network("192.0.2.1")).await, Ok(false));
    assert_eq!(list.remove(whole).await, Ok(true));
    assert!(is_blocked("192.0.2.1") && !is_blocked("192.0.2.255"));
    assert_eq!(list.remove(half).await, Ok(true));
    assert_eq!(list.list(), []);
    assert!(!is_blocked("192.0.2.1"));
}
