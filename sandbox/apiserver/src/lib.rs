//! The Kubernetes HTTP API over the world's store.
//!
//! [`ApiServer`] is a tower `Service`: `kube::Client::new(server, "default")` talks to it in the
//! same process, under tokio's clock, which tests may pause. [`serve()`] answers on a socket, so
//! that stock kubectl can talk to it too. It has no authentication and no authorization.
//!
//! What it answers is written in `docs/tutorials/sandbox.md`, with what is missing. A suite compares the
//! answers with those of a real kube-apiserver.

mod answer;
mod apply;
mod audit;
mod criteria;
mod defaults;
mod definition;
mod delete;
mod discovery;
mod duration;
mod embedded;
mod gate;
mod holder;
mod host;
mod invalid;
mod managed;
mod media;
mod member;
mod openapi;
mod page;
mod path;
mod protobuf;
mod query;
mod read;
mod review;
mod selector;
mod serve;
mod server;
mod table;
mod watch;
mod write;

pub use answer::Body;
pub use definition::establish;
pub use embedded::{embed, embed_at, live};
pub use holder::{Holder, Shared};
pub use serve::serve;
pub use server::ApiServer;
