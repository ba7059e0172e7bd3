//! The admin page: what people see on `--admin-listen`. HTML made here, without a script.
//!
//! | Module | Holds |
//! |---|---|
//! | `routes` | the pages, and the way of a request to one of them |
//! | `sessions`, `login` | links, sessions, signing in and out |
//! | `origin` | which requests come from elsewhere |
//! | `page_request`, `views`, `answer` | a request, templates, answers and failures |
//! | `overview`, `series`, `plot` | what was counted, as bar charts |
//! | `contacts`, `keys`, `agents`, `policies` | a page each |
//! | `picked`, `numbers` | a page of a long list, numbers as people read them |
//!
//! A change takes two steps: a page that says what will happen, and its form, which carries a token of the
//! session.

mod agents;
mod answer;
mod contacts;
mod keys;
mod login;
mod numbers;
mod origin;
mod overview;
mod page_request;
mod picked;
mod plot;
mod policies;
mod routes;
mod series;
mod sessions;
mod views;

pub use routes::AdminPage;
pub use sessions::Sessions;
