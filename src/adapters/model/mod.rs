//! The models behind the assistant: a search of the site's pages, or a model on another server.

pub mod openai;
mod search;

pub use openai::OpenAiModelClient;
pub use search::PassageModelClient;
