//! Maps use-case errors to problems. Those of chat turns are mapped in
//! [`crate::http::handlers::chat_wire`], because some set a cookie.

use crate::http::{Code, Problem};
use crate::ports::StoreError;
use crate::usecases::agents::IssueTokenError;
use crate::usecases::issue_key::IssueError;
use crate::usecases::meter::ChargeError;
use crate::usecases::subscribe::{SignUpFailure, SubscribeError};

/// What clients learn of [`StoreError::Full`].
const DISK_FULL: &str = "The disk is full: sign-ups, keys and revocations cannot be stored until the \
    operator frees space. Everything else works.";

/// What clients learn of [`StoreError::Displaced`].
const DISPLACED: &str = "The store's file was removed, replaced or changed while the service was running. \
     The operator must intervene; the log says how.";

/// What clients learn of [`StoreError::Overloaded`].
const BUSY: &str = "The store is busy, so changes cannot be saved. Everything else works.";

/// A store's failure. Its cause is not logged here: the store logs its failures itself, with their number, so
/// that an outage doesn't fill the log.
fn store_failed(code: Code, error: &StoreError) -> Problem {
    match error {
        StoreError::Full(_) => Problem::new(code, DISK_FULL),
        StoreError::Displaced(_) => Problem::new(code, DISPLACED),
        StoreError::Overloaded => Problem::new(code, BUSY),
        StoreError::Unavailable(_) => Problem::of(code),
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        store_failed(Code::StoreUnavailable, &error)
    }
}

impl From<ChargeError> for Problem {
    fn from(error: ChargeError) -> Self {
        match error {
            ChargeError::Refused(decision) => Self::rate_limited(decision),
            ChargeError::Limiter(cause) => cause.into(),
        }
    }
}

impl From<IssueError> for Problem {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::NotCharged(error) => error.into(),
            IssueError::Store(decision, cause) => {
                store_failed(Code::StoreUnavailable, &cause).with_decision(decision)
            }
        }
    }
}

impl From<SubscribeError> for Problem {
    fn from(error: SubscribeError) -> Self {
        let unavailable = Code::NewsletterUnavailable;
        match error {
            SubscribeError::NotCharged(error) => error.into(),
            SubscribeError::Failed(decision, failure) => match failure {
                SignUpFailure::Limiter(cause) => return cause.into(),
                SignUpFailure::Store(cause) => store_failed(unavailable, &cause),
                failure @ SignUpFailure::Provider(_) => Self::of(unavailable).because(failure),
            }
            .with_decision(decision),
        }
    }
}

impl From<IssueTokenError> for Problem {
    fn from(error: IssueTokenError) -> Self {
        match error {
            IssueTokenError::InvalidClient => Self::of(Code::InvalidClient),
            IssueTokenError::NotCharged(error) => error.into(),
            IssueTokenError::Store(cause) => cause.into(),
        }
    }
}
