//! The models behind the assistant: the service's own pages, or a model on another server.
//!
//! | Module | Holds |
//! |---|---|
//! | `passages` | the answer from the pages |
//! | `passage_index` | the pages of one language, and the examples by which a question finds its passage |
//! | `naive_bayes` | learning from examples |
//! | `features` | what a text is compared by |
//! | `quotation` | a passage as an answer |
//! | [`openai`] | a model on another server |

mod features;
mod naive_bayes;
pub mod openai;
mod passage_index;
mod passages;
mod quotation;

pub use openai::OpenAiModelClient;
pub use passages::PassageModelClient;
