//! How an answer is written.
//!
//! | Module | Holds |
//! |---|---|
//! | `reply`, `sse` | what a handler answers, whole or as a stream of events |
//! | `render`, [`ratelimit`], [`cors`] | the response made of it, and its headers |
//! | [`problem`] | failures as problem details (RFC 9457) |
//! | `documents` | the site's documents as answers |
//! | `page` | a page that is rendered for one request; failures as pages, for people |

pub mod cors;
pub(crate) mod documents;
pub(crate) mod page;
pub mod problem;
pub mod ratelimit;
pub(crate) mod render;
pub(crate) mod reply;
pub(crate) mod sse;
