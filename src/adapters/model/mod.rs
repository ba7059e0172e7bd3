//! The models behind the assistant: the service's own pages, or a model on another server.

pub mod openai;
pub mod passages;
mod terms;

pub use openai::OpenAiModelClient;
pub use passages::PassageModelClient;
