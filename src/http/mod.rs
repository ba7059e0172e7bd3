//! HTTP for visitors and agents: the only place that knows their status codes, header names and JSON members.
//!
//! | Module | Holds |
//! |---|---|
//! | `pipeline`, `context` | the path of every request, and what it carries |
//! | [`endpoint`], [`endpoints`] | what is declared of an endpoint, and the table of all |
//! | [`service`] | what is set at start |
//! | `log` | a request's log line; warnings when all clients together reach a limit |
//! | [`server`] | connections: caps, deadlines, drain |
//! | [`request`] | what a request says |
//! | [`answer`] | how an answer is written |
//! | `handlers` | a handler each, with its row |
//! | `mcp` | the same handlers as tools of the Model Context Protocol |

pub mod answer;
mod context;
pub mod endpoint;
pub mod endpoints;
mod handlers;
mod log;
mod mcp;
mod pipeline;
pub mod request;
pub mod server;
pub mod service;

pub(crate) use answer::cors::AllowedOrigins;
pub(crate) use answer::problem::{Code, Problem};
pub(crate) use answer::reply::{Reply, ReplyBody, insert, whole};
pub(crate) use context::RequestContext;
pub(crate) use endpoint::{BodyRule, Endpoint, McpTool};
pub(crate) use request::head::Area;
pub(crate) use request::json::{Errors, JsonObject, JsonValue, Unknown};
pub(crate) use request::request_id::RequestId;
