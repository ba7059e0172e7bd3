//! Maps use-case errors to problems. Those of chat turns are mapped in
//! [`super::chat_wire`], because some set a cookie.

use crate::domain::decision::Decision;
use crate::http::problem::{Code, Problem};
use crate::ports::StoreError;
use crate::usecases::issue_key::IssueKeyError;
use crate::usecases::issue_token::IssueTokenError;
use crate::usecases::register_agent::RegisterAgentError;
use crate::usecases::subscribe::SubscribeError;

/// A failure after the request was charged: the decision shows that it was.
fn charged(code: Code, decision: Decision, cause: impl ToString) -> Problem {
    Problem::of(code).with_decision(decision).because(cause)
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::of(Code::StoreUnavailable).because(error)
    }
}

impl From<IssueKeyError> for Problem {
    fn from(error: IssueKeyError) -> Self {
        match error {
            IssueKeyError::Refused(decision) => Self::rate_limited(decision),
            IssueKeyError::Store(decision, cause) => {
                charged(Code::StoreUnavailable, decision, cause)
            }
            IssueKeyError::Entropy(decision, cause) => {
                charged(Code::InternalError, decision, cause)
            }
            IssueKeyError::Limiter(cause) => cause.into(),
        }
    }
}

impl From<SubscribeError> for Problem {
    fn from(error: SubscribeError) -> Self {
        let unavailable = Code::NewsletterUnavailable;
        match error {
            SubscribeError::Refused(decision) => Self::rate_limited(decision),
            SubscribeError::Store(decision, cause) => charged(unavailable, decision, cause),
            SubscribeError::Provider(decision, cause) => charged(unavailable, decision, cause),
            SubscribeError::Limiter(cause) => cause.into(),
            SubscribeError::Entropy(cause) => Self::of(Code::InternalError).because(cause),
        }
    }
}

impl From<RegisterAgentError> for Problem {
    fn from(error: RegisterAgentError) -> Self {
        match error {
            RegisterAgentError::Refused(decision) => Self::rate_limited(decision),
            RegisterAgentError::Entropy(decision, cause) => {
                charged(Code::InternalError, decision, cause)
            }
            RegisterAgentError::Limiter(cause) => cause.into(),
        }
    }
}

impl From<IssueTokenError> for Problem {
    fn from(error: IssueTokenError) -> Self {
        match error {
            IssueTokenError::InvalidClient => Self::of(Code::InvalidClient),
            IssueTokenError::Refused(decision) => Self::rate_limited(decision),
            IssueTokenError::Store(cause) => cause.into(),
            IssueTokenError::Limiter(cause) => cause.into(),
        }
    }
}
