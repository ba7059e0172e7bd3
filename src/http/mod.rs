//! HTTP: the only place that knows status codes, header names and JSON members.
//!
//! | Module | Holds |
//! |---|---|
//! | [`server`], `activity`, `woken`, `joined` | connections: caps, deadlines, drain, polling, writes |
//! | [`service`] | what happens to a request, from first to last |
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
//! | `render`, `headers` | writing the answer, and header maps at little cost |
//! | `negotiate` | which form of an answer the client would rather have |
//! | `panics` | what a panic costs |
//! | `request_id`, `log` | the name of one request, and its line in the log |

mod activity;
mod body;
pub mod client_ip;
mod cookie;
pub mod cors;
mod documents;
mod events;
mod form;
mod handlers;
mod headers;
mod identity;
mod joined;
mod log;
mod mcp;
mod negotiate;
mod panics;
pub mod problem;
pub mod ratelimit;
mod render;
mod reply;
mod request_id;
mod room;
pub mod route;
pub mod routes;
pub mod server;
pub mod service;
mod version;
pub mod visit;
mod wire;
mod woken;
