//! What writes: the engine's requests go out, and events.

pub(crate) mod events;
pub(crate) mod live;
pub(crate) mod manager;
mod pages;

use engine::index::Key;
use engine::reconcile::Refusal;
use futures::future::BoxFuture;
use plan::Flavour;

use crate::client::requests::Server;
use crate::write::events::Events;

/// What writes, for one API.
pub(crate) struct Writer {
    pub(crate) flavour: Flavour,
    pub(crate) server: Server,
    pub(crate) events: Events,
    pub(crate) pods: Box<dyn Pods>,
}

/// The pods that single Deployments wait for; they are watched, and not listed each time.
pub(crate) trait Pods: Send + Sync {
    /// The pods that a Deployment selects; watches them from now on.
    fn of<'a>(
        &'a self,
        key: &'a Key,
        uid: &'a str,
        selector: String,
    ) -> BoxFuture<'a, Result<Vec<plan::Pod>, Refusal>>;
    /// Nobody waits for these pods any more.
    fn stop(&self, key: &Key);
    /// Nobody waits for any.
    fn stop_all(&self);
}
