//! The Rollwright operator.
fn main() {}
