//! What a request says: its head, its body, and who sends it.
//!
//! | Module | Holds |
//! |---|---|
//! | [`area`], `head` | the part of the service that a path belongs to; what is refused by its head alone |
//! | `identity`, [`client_ip`] | credentials and cookies, addresses behind proxies |
//! | `version`, `negotiate` | the wanted version, and what the client accepts |
//! | `body`, `json`, `form` | reading bodies, the JSON or form in them |
//! | `request_id` | the request's name |

pub mod area;
pub(crate) mod body;
pub mod client_ip;
pub(crate) mod evidence;
pub(crate) mod form;
pub(crate) mod head;
pub(crate) mod identity;
pub(crate) mod json;
pub(crate) mod negotiate;
pub(crate) mod request_id;
pub(crate) mod version;
