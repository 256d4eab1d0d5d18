//! The production executor, one write at a time.
//!
//! A reconcile is run from its beginning with the answers that it got so far, up to the next write.
//! There the future is dropped, as a crash would drop it. What follows from a snapshot and a list
//! of answers is always the same, so it is worked out once.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use engine::reconcile::{Answer, Cluster, Owner, Refusal};
use plan::template::{Template, digest};
use plan::{Action, Ask, DryRun, Event, OwnerChange, ReplicaSet, Workload};

use crate::scope::Scope;
use crate::state::{Set, Statuses};
use crate::view::{self, View};

/// The server's answer to a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Reply {
    Done,
    Conflict,
    NotFound,
    /// The name is taken by this ReplicaSet.
    Taken(Box<Set>),
}

/// What a reconcile does next.
#[derive(Clone, Debug)]
pub(crate) enum Next {
    Write(Box<Action>),
    Over,
}

/// Snapshots and lists of answers by number, and what follows from them.
#[derive(Debug, Default)]
pub(crate) struct Reconciles {
    views: Numbered<View>,
    answers: Numbered<Vec<Reply>>,
    next: HashMap<(u32, u32), Next>,
    pub(crate) statuses: Statuses,
}

#[derive(Debug)]
struct Numbered<T> {
    all: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { all: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + std::hash::Hash> Numbered<T> {
    fn number(&mut self, value: T) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(value.clone());
        self.numbers.insert(value, number);
        number
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.all.get(usize::try_from(number).unwrap_or(usize::MAX))
    }
}

impl Reconciles {
    pub(crate) fn view_number(&mut self, view: View) -> u32 {
        self.views.number(view)
    }

    pub(crate) fn view(&self, number: u32) -> Option<&View> {
        self.views.get(number)
    }

    /// How many snapshots were planned from.
    pub(crate) fn views(&self) -> usize {
        self.views.all.len()
    }

    pub(crate) fn no_answers(&mut self) -> u32 {
        self.answers.number(Vec::new())
    }

    pub(crate) fn more_answers(&mut self, answers: u32, reply: Reply) -> u32 {
        let mut list = self.answers.get(answers).cloned().unwrap_or_default();
        list.push(reply);
        self.answers.number(list)
    }

    /// What a reconcile does next that began with `view` and got `answers`.
    pub(crate) fn next(&mut self, scope: &Scope, view: u32, answers: u32) -> Next {
        if let Some(next) = self.next.get(&(view, answers)) {
            return next.clone();
        }
        let (Some(shown), Some(list)) = (self.views.get(view), self.answers.get(answers)) else {
            return Next::Over;
        };
        let observed = view::observed(shown, scope, &self.statuses);
        let door = Door { answers: list.clone(), template: shown.deployment.template, at: Mutex::default() };
        {
            let mut run = pin!(engine::reconcile::run(&door, observed, view::now()));
            // Ready means that the reconcile is over; pending, that it waits for a write.
            let _state = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
        let at = door.at.into_inner().unwrap_or_else(PoisonError::into_inner);
        let next = at.waiting.map_or(Next::Over, Next::Write);
        self.next.insert((view, answers), next.clone());
        next
    }
}

/// How far the reconcile has come.
#[derive(Debug, Default)]
struct At {
    written: usize,
    taken: Option<Box<Set>>,
    waiting: Option<Box<Action>>,
}

#[derive(Debug)]
struct Door {
    answers: Vec<Reply>,
    template: u8,
    at: Mutex<At>,
}

fn refusal(code: u16, reason: &str) -> Refusal {
    Refusal::new(code, reason, reason.to_owned())
}

impl Door {
    fn reply(&self, action: &Action) -> Poll<Result<Option<String>, Refusal>> {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reply) = self.answers.get(at.written) else {
            at.waiting.get_or_insert_with(|| Box::new(action.clone()));
            return Poll::Pending;
        };
        at.written += 1;
        Poll::Ready(match reply {
            Reply::Done => Ok(Some(view::VERSION.to_owned())),
            Reply::Conflict => Err(refusal(409, "Conflict")),
            Reply::NotFound => Err(refusal(404, "NotFound")),
            Reply::Taken(set) => {
                at.taken = Some(set.clone());
                Err(refusal(409, "AlreadyExists"))
            }
        })
    }
}

impl Cluster for Door {
    async fn owner(&self, _: &Workload) -> Result<Option<Owner>, Refusal> {
        Err(refusal(500, "nobody is adopted here"))
    }

    async fn change_owner(&self, _: &Workload, _: &OwnerChange) -> Result<String, Refusal> {
        Err(refusal(500, "nobody is adopted here"))
    }

    async fn ask(&self, _: &Workload, ask: &Ask) -> Result<Answer, Refusal> {
        match ask {
            Ask::Template => Ok(Answer::Template(Template::of(&view::template(self.template)))),
            Ask::DryRun(set) => {
                let stored = digest(&set.template);
                Ok(Answer::DryRun(DryRun::Stored(stored)))
            }
            Ask::SetTemplate { .. } | Ask::Pods => Err(refusal(500, "never asked for")),
        }
    }

    async fn replica_set(&self, _: &Workload, _: &str) -> Result<Option<ReplicaSet>, Refusal> {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(at.taken.as_deref().map(view::replica_set))
    }

    async fn act(&self, _: &Workload, action: &Action) -> Result<Option<String>, Refusal> {
        std::future::poll_fn(|_| self.reply(action)).await
    }

    fn record(&self, _: &Workload, _: &Event) {}
}
