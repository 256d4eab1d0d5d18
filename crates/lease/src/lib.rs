//! Leader election on a `coordination.k8s.io/v1` Lease, by client-go's rules.
//!
//! There is no clock, no client, no runtime and no chance in here. Who calls says what time it is,
//! sends the requests that [`Elector::next`] asks for, and tells what came of them. So every race
//! can be played in a test, and a simulator runs the same code as the operator.
//!
//! Two clocks are told apart. What is *decided* follows from a monotonic one: a lease has expired
//! when we have not seen it change for as long as it lasts. The times *in* a Lease are for people,
//! and are never compared with anything.

mod elector;
mod record;
mod timings;

pub use elector::{Claim, Elector, Reply, Request, Todo};
pub use record::Record;
pub use timings::{JITTER_FACTOR, Timings, TimingsError};
