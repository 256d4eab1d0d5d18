//! The CRD on a real API server: what it takes and refuses, and that templates mean the same in
//! rollwright.dev and in apps/v1. Needs the control plane's binaries, or Go to build them once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]
#![expect(clippy::indexing_slicing, reason = "a missing field of a JSON document is a failed test")]

mod appliers;
#[path = "../messages/cases.rs"]
mod cases;
mod corpus;
mod install;
mod kustomize;
mod messages;
mod selector;
mod suite;
mod verdicts;
mod versions;
