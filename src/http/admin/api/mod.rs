//! The handlers of the operator's API.

pub(super) mod contacts;
pub(super) mod import;
pub(super) mod links;
