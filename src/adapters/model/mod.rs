//! What answers the visitors of the landing assistant.

pub mod passages;
mod terms;

pub use passages::PassageModelClient;
