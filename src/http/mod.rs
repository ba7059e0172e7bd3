//! HTTP: the only place that knows status codes, header names and JSON members.
//!
//! | Module | Holds |
//! |---|---|
//! | [`server`], `activity` | connections: caps, deadlines, drain |
//! | [`pipeline`], `context` | the path of every request, and what it carries |
//! | [`route`], [`routes`] | the operations, and the way to them from method and path |
//! | `version` | which version a request asks for, and which operations will be removed |
//! | `identity`, [`client_ip`] | who is asking, and through which proxies |
//! | [`cors`] | which pages of other origins may read the answers |
//! | `body`, `room`, `wire`, `form` | reading bodies and the JSON or the parameters in them |
//! | `documents` | the site's documents as answers |
//! | `handlers` | the operations |
//! | `mcp` | the same operations as tools of the Model Context Protocol |
//! | [`problem`] | what goes wrong, in the client's words |
//! | `reply`, `events`, [`ratelimit`], `cookie` | what is sent back, whole or piece by piece |
//! | `render`, `headers` | writing the answer |
//! | `negotiate` | which form of an answer the client would rather have |
//! | `panics` | what a panic costs |
//! | `request_id`, `log` | the name of one request, and its line in the log |

mod activity;
mod body;
pub mod client_ip;
mod context;
mod cookie;
pub mod cors;
mod documents;
mod events;
mod form;
mod handlers;
mod headers;
mod identity;
mod log;
mod mcp;
mod negotiate;
mod panics;
pub mod pipeline;
pub mod problem;
pub mod ratelimit;
mod render;
mod reply;
mod request_id;
mod room;
pub mod route;
pub mod routes;
pub mod server;
mod version;
mod wire;
