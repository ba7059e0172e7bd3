//! The content of a request: its head, its body, and its sender.
//!
//! | Module | Contents |
//! |---|---|
//! | [`head`] | the area of the path, the requested version; checks of the head alone |
//! | `identity`, [`client_ip`] | credentials and cookies, addresses behind proxies |
//! | `negotiate` | the types and languages the client accepts |
//! | `body`, `json`, `form` | reading bodies, and the JSON or form in them |
//! | `request_id` | the request's id |

pub(crate) mod body;
pub mod client_ip;
pub(crate) mod form;
pub mod head;
pub(crate) mod identity;
pub(crate) mod json;
pub(crate) mod negotiate;
pub(crate) mod request_id;
