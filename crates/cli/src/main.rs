//! The maskwright command line.
fn main() {}
