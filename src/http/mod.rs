//! HTTP: the only place that knows status codes, header names and JSON members.
//!
//! | Module | Holds |
//! |---|---|
//! | [`server`], `server_limits`, `slots` | connections: caps, drain |
//! | `connection`, `activity`, `socket` | one connection: deadlines, half-closes, writes |
//! | `shares` | the share of connections, bodies and turns that one network may hold |
//! | [`service`], `pipeline`, `context` | what is set at start, the path of every request, what it carries |
//! | [`area`], [`endpoint`], [`endpoints`] | what is declared of an endpoint, and the table of all |
//! | [`admin`] | the operator's API |
//! | `handlers` | a handler each, with its row |
//! | `mcp` | the same handlers as tools of the Model Context Protocol |
//! | `identity`, [`client_ip`], `allowed_origins`, [`cors`], `version` | credentials, addresses, origins, versions |
//! | `head`, `body`, `wire`, `form`, `cookie` | checking heads, reading bodies, the JSON or form in them, cookies |
//! | `ceilings` | warnings when all clients together reach a limit |
//! | `documents`, `negotiate`, `compression` | the site's documents as answers |
//! | `error_page` | failures as pages, for people |
//! | `written_page` | a page that is rendered for one request |
//! | [`problem`] | failures as problem details (RFC 9457) |
//! | `reply`, `sse`, `render`, `headers`, [`ratelimit`] | writing answers |
//! | `panics`, `request_id`, `log` | a panic as a problem, the request's name and log line |

mod activity;
pub mod admin;
mod allowed_origins;
pub mod area;
mod body;
mod ceilings;
pub mod client_ip;
mod compression;
mod connection;
mod context;
mod cookie;
pub mod cors;
mod documents;
pub mod endpoint;
pub mod endpoints;
mod error_page;
mod form;
mod handlers;
mod head;
mod headers;
mod identity;
mod log;
mod mcp;
mod negotiate;
mod panics;
mod pipeline;
pub mod problem;
pub mod ratelimit;
mod render;
mod reply;
mod request_id;
pub mod server;
mod server_limits;
pub mod service;
mod shares;
mod slots;
mod socket;
mod sse;
mod version;
mod wire;
mod written_page;
