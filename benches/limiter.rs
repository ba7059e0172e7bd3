//! The limiter bench.
fn main() {}
