//! Which Deployment is reconciled when, from what, and by which requests.
//!
//! Cache, queue, ledger and memory of the operator, and the one ladder from a key to its requests
//! ([`Engine::attempt`]). There is no runtime, no client and no clock in here: the caller supplies the world as
//! a [`port::Port`], and the time. So the operator and the simulator run the same code, and the same replies
//! lead to the same requests.

mod attempt;
mod changed;
pub mod durations;
mod early;
mod entry;
mod feed;
pub mod index;
pub mod ledger;
mod load;
mod looks;
mod memory;
pub mod namespaces;
pub mod next;
pub mod packed;
mod patience;
pub mod port;
pub mod queue;
mod queued;
pub mod reconcile;
pub mod rivalry;
mod rotation;
pub mod starts;
mod state;
mod templates;
pub mod territory;
mod uid;
pub mod waits;

pub use looks::Looking;
pub use state::{Adoption, Engine, Settings, State};
