//! What answers the visitors of the landing assistant: the service's own pages, or a model on another
//! server.

pub mod interruptible;
pub mod openai;
pub mod passages;
mod terms;

pub use interruptible::InterruptibleModelClient;
pub use openai::OpenAiModelClient;
pub use passages::PassageModelClient;
