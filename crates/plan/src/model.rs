//! What a decision is about: the snapshot and its parts, templates and their forms, the status, and the actions of a
//! plan. Nothing here decides what happens to a Deployment.

pub(crate) mod action;
pub(crate) mod blocker;
pub(crate) mod canonical;
pub(crate) mod checkpoint;
pub(crate) mod conditions;
pub mod durations;
pub mod equality;
pub(crate) mod evidence;
pub(crate) mod flavour;
pub mod intstr;
pub mod keys;
pub(crate) mod labels;
pub(crate) mod listed;
pub(crate) mod observed;
pub(crate) mod options;
pub(crate) mod place;
pub(crate) mod position;
pub(crate) mod quantity;
pub(crate) mod record;
pub mod revision;
pub(crate) mod runs;
pub(crate) mod safeguards;
pub mod selector;
pub(crate) mod sets;
pub(crate) mod status;
pub(crate) mod steps;
pub(crate) mod summary;
pub mod template;
pub(crate) mod trigger;
pub(crate) mod until;
pub(crate) mod why;
pub(crate) mod written;
