//! HTTP for visitors and agents: the only place that knows their status codes, header names and JSON fields.
//!
//! | Module | Contents |
//! |---|---|
//! | `pipeline`, `context` | the path of every request; its data, the other end of its connection, and the shared state |
//! | [`endpoint`], [`router`] | the declaration of an endpoint; the table of all, and the router made of it |
//! | [`service`] | builds the service at start |
//! | `log`, `log_throttle` | a request's log line, and the maximum rate of lines |
//! | [`server`] | connections: caps, deadlines, drain |
//! | [`request`] | the content of a request |
//! | [`answer`] | writing responses |
//! | `handlers` | a handler each, with its row |
//! | `mcp` | the same handlers as tools of the Model Context Protocol |

pub mod answer;
mod context;
pub mod endpoint;
mod handlers;
mod log;
mod log_throttle;
mod mcp;
mod pipeline;
pub mod request;
pub mod router;
pub mod server;
pub mod service;

pub(crate) use answer::cors::AllowedOrigins;
pub(crate) use answer::problem::{Code, Problem};
pub(crate) use answer::reply::{Reply, ReplyBody, insert, whole};
pub use context::Peer;
pub(crate) use context::RequestContext;
pub(crate) use endpoint::{BodyRule, Endpoint};
pub(crate) use request::head::Area;
pub(crate) use request::json::{Errors, JsonObject, JsonValue, Unknown};
pub(crate) use request::request_id::RequestId;
