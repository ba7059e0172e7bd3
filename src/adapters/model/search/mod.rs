//! The embedded assistant: it searches the site's pages.
//!
//! | Module | Holds |
//! |---|---|
//! | `passages` | the answer from the pages |
//! | `passage_index` | the pages of one language, and how a question finds its passage |
//! | `naive_bayes` | the classifier that learns from examples of questions |
//! | `features` | what texts are compared by: features, stems, n-grams |
//! | `terms` | what a text is about, with the words that mean the same |
//! | `shapes` | telephone numbers, hours, addresses, prices and years, recognised by their form |
//! | `quotation` | a passage as an answer |

mod features;
mod naive_bayes;
mod passage_index;
mod passages;
mod quotation;
mod shapes;
mod terms;

pub use passages::PassageModelClient;
