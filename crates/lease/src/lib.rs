//! Leader election on a `coordination.k8s.io/v1` Lease, by client-go's rules.
//!
//! This crate has no clock, no client, no runtime, and no randomness. The caller passes the time, sends the
//! requests that [`Elector::next`] asks for, and reports their outcome. So a test can play every race, and
//! a simulator runs the same code as the operator.
//!
//! There are two clocks. *Decisions* follow from a monotonic one: a lease has expired when it has not
//! changed for its duration, as observed here. The times *in* a Lease are for people, and are never
//! compared with anything.

mod elector;
mod record;
mod timings;

pub use elector::{Elector, Lead, Reply, Request, Todo};
pub use record::Record;
pub use timings::{JITTER_FACTOR, Timings, TimingsError};
