//! The models behind the assistant: the service's own pages, or a model on another server.
//!
//! | Module | Holds |
//! |---|---|
//! | `passages` | the answer from the pages |
//! | `passage_index` | the pages of one language, ranked |
//! | `lexicon` | what is known of a language: stop words, stems, synonyms |
//! | `quotation` | a passage as an answer |
//! | [`openai`] | a model on another server |

mod lexicon;
pub mod openai;
mod passage_index;
mod passages;
mod quotation;

pub use openai::OpenAiModelClient;
pub use passages::PassageModelClient;
