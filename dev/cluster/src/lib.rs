//! A real Kubernetes control plane with a fake kubelet, to try things and for tests.
//!
//! [`Cluster::start`] runs etcd, kube-apiserver and kube-controller-manager on
//! loopback ports; [`kubelet`] stands in for nodes. The built-in deployment
//! controller is off unless asked for.
//!
//! Nothing is left behind: dropping a [`Cluster`] stops its processes. If the owner is killed instead, a watchdog shell
//! at the other end of a pipe kills them. Should that be killed too, the next start in the same directory finds the
//! pids in the state file.

pub mod audit;
mod background;
mod binaries;
mod cluster;
mod command;
mod companion;
mod component;
mod credentials;
mod error;
pub mod kubelet;
mod launches;
mod options;
mod ports;
mod process;
mod recipe;
mod state;
mod wait;
mod watchdog;
pub mod webhook;

pub use binaries::Binary;
pub use cluster::Cluster;
pub use command::{Output, Tool};
pub use companion::Companion;
pub use component::Component;
pub use credentials::User;
pub use error::{Error, report};
pub use options::Options;
pub use ports::free_port;
pub use process::send_signal;
pub use recipe::{RELEASES, Release};
pub use rustix::process::Signal;
pub use state::State;
pub use wait::{NotYet, wait_for};
