//! The service.
fn main() {}
