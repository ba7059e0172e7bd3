//! The description of the API and the code cannot drift apart: each is held against the other.
//!
//! [`contract`] reads the description as a client would. The harness holds every answer of every
//! test against it; what stands here sees to the other direction, and to what no answer shows.

mod answers;
pub(crate) mod contract;
mod examples;
mod forms;
mod numbers;
mod operations;
