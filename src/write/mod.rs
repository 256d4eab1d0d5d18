//! What goes out: the engine's requests, and events.

pub(crate) mod events;
pub(crate) mod live;
pub(crate) mod manager;
mod pages;
