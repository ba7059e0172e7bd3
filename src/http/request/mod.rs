//! The content of a request: its head, its body, and its sender.
//!
//! | Module | Contents |
//! |---|---|
//! | [`area`], `head` | the area of the service that a path belongs to; checks of the head alone |
//! | `identity`, [`client_ip`] | credentials and cookies, addresses behind proxies |
//! | `version`, `negotiate` | the requested version, and the types the client accepts |
//! | `body`, `json`, `form` | reading bodies, and the JSON or form in them |
//! | `request_id` | the request's id |

pub mod area;
pub(crate) mod body;
pub mod client_ip;
pub(crate) mod form;
pub(crate) mod head;
pub(crate) mod identity;
pub(crate) mod json;
pub(crate) mod negotiate;
pub(crate) mod request_id;
pub(crate) mod version;
