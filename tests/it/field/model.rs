//! Answers of model servers.
