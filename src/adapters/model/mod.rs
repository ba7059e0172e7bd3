//! The models behind the assistant: the service's own pages, or a model on another server.
//!
//! | Module | Holds |
//! |---|---|
//! | `passages` | the answer from the pages |
//! | `passage_index` | the pages of one language, and how a question finds its passage |
//! | `naive_bayes` | the classifier that learns from examples of questions |
//! | `own_index` | the operator's own pages, found by their terms |
//! | `features` | what texts are compared by: features, stems, n-grams |
//! | `terms` | what a text is about, with the words that mean the same |
//! | `shapes` | telephone numbers, hours, addresses and years, known by their looks |
//! | `quotation` | a passage as an answer |
//! | [`openai`] | a model on another server |

mod features;
mod naive_bayes;
pub mod openai;
mod own_index;
mod passage_index;
mod passages;
mod quotation;
mod shapes;
mod terms;

pub use openai::OpenAiModelClient;
pub use passages::PassageModelClient;
