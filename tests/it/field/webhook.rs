//! Answers of webhook receivers.
