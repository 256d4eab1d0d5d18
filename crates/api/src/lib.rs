//! The API types, the CRD, and the decoding of objects into what the planner reads.

pub mod crd;
pub mod decode;
pub mod encode;
