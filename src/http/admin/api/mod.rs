//! The handlers of the operator's API.

pub(super) mod agents;
pub(super) mod contacts;
pub(super) mod import;
pub(super) mod keys;
pub(super) mod ledger;
pub(super) mod limits;
pub(super) mod links;
pub(super) mod status;
