//! What is going to happen, in the order of time.

use std::cmp::Ordering;

use world::Key;

use super::Time;
use crate::link::{Reply, Sent};
use crate::operator::Watch;
use crate::subject::Which;
use crate::tenant::TenantEvent;

/// Something that is going to happen.
#[derive(Debug)]
pub(crate) enum Event {
    /// The ReplicaSet controller and the garbage collector look.
    Controllers,
    /// A kubelet looks at a pod, or the ReplicaSet controller at a ReplicaSet again.
    Look(Key),
    /// A watch of an operator gets news.
    News(u64, Watch),
    /// A watch of pods gets news of these Deployments.
    PodNews(u64, Vec<Which>),
    /// The watch of Jobs gets news of a Deployment.
    JobNews(u64, Which),
    /// An operator looks at its queue.
    Alarm(u64),
    /// A request reaches the server.
    Arrive(u64, Box<Sent>),
    /// An answer reaches the operator, for one of its attempts.
    Answer(u64, u64, Box<Reply>),
    /// An operator starts; this many versions behind.
    Start(u64),
    /// A step of the scenario: the Deployment and the step.
    Step(Which, usize),
    /// A trouble begins.
    Begin(usize),
    /// A trouble ends.
    End(usize),
    /// A Deployment is created again.
    Return(Which),
    /// A death that was due with an answer.
    Die(u64),
    /// Another controller writes the status of a Deployment.
    Rival(Which),
    /// An operator lets those begin that got a slot.
    Tick(u64),
    /// The tenant acts, or somebody looks at what the tenant did.
    Tenant(TenantEvent),
}

/// An event in the heap: earlier first, then as they came.
pub(super) struct Due(pub(super) Time, pub(super) u64, pub(super) Event);

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}
