//! The pods of one look, read a page at a time, and the events of one of them.

use std::collections::BTreeMap;
use std::time::Instant;

use diagnosis::{Words, blockers, brief, controller_of, is_ready, is_unclear, like, list, overdue, text};
use jiff::Timestamp;
use plan::{Awaited, Evidence, Restarts};
use serde_json::Value;

use super::findings::count;
use super::{Page, Question};
use crate::durations::EVENTS_AGAIN;
use crate::reconcile::Refusal;

/// The most pods that are kept of a look; more add nothing.
const KEPT: usize = 500;
/// The most events that are kept.
const EVENTS: usize = 100;

/// Whether the server lets the operator list something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Right {
    /// Yes, or nobody has asked.
    #[default]
    Granted,
    /// No.
    Denied,
}

/// What comes next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Nothing: the look is over.
    #[default]
    Idle,
    /// A page of pods, from here.
    Pods(Option<String>),
    /// The events of this pod.
    Events(String),
}

/// The outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// There is more to read.
    More,
    /// The look is over.
    Whole,
    /// The look is over, and has shown nothing. The next one may.
    Failed,
}

/// What the pods of a ReplicaSet show, all pages together.
#[derive(Default)]
struct Shown {
    restarts: Vec<Restarts>,
    /// Causes that keep pods from being ready by their status, and how many pods each.
    stuck: BTreeMap<String, i64>,
}

/// What a look has read.
#[derive(Default)]
pub(super) struct Pods {
    stage: Stage,
    /// Those that are not ready; of old ones, those that should be gone.
    pub(super) held: Vec<Value>,
    /// How many there are in all.
    pub(super) of: usize,
    /// Of the ReplicaSet that is judged, and of its fallback.
    shown: [Shown; 2],
    /// Events of one pod, and when they were read.
    events: Vec<Value>,
    events_read: Option<Instant>,
    pub(super) may_list_pods: Right,
    pub(super) may_list_events: Right,
    /// Whether the look has come to its end.
    pub(super) is_whole: bool,
}

impl Pods {
    /// Whether the next question begins a look.
    pub(super) fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }

    /// What was read is out of date; but not that events were.
    pub(super) fn start_over(&mut self) {
        let events_read = self.events_read.take();
        *self = Self { events_read, ..Self::default() };
    }

    /// The next request.
    pub(super) fn ask(&mut self, selector: &str, now: Instant) -> Question {
        if self.is_idle() {
            (self.held, self.of, self.is_whole) = (Vec::new(), 0, false);
            self.shown = Default::default();
            self.stage = Stage::Pods(None);
        }
        match &self.stage {
            Stage::Events(uid) => {
                self.events_read = Some(now);
                Question::Events { uid: uid.clone() }
            }
            Stage::Pods(from) => Question::Pods { selector: selector.to_owned(), from: from.clone() },
            Stage::Idle => Question::Pods { selector: selector.to_owned(), from: None },
        }
    }

    /// Takes an answer.
    pub(super) fn take(
        &mut self,
        answer: Result<Page, Refusal>,
        (awaited, is_late): (&Awaited, bool),
        now: Instant,
        time: Timestamp,
    ) -> Read {
        let stage = std::mem::take(&mut self.stage);
        match (stage, answer) {
            (Stage::Pods(_), Ok((pods, next))) => {
                self.may_list_pods = Right::Granted;
                self.keep(&pods, awaited, time);
                self.stage = match next {
                    Some(next) => Stage::Pods(Some(next)),
                    None if is_late => self.after_pods(awaited, now),
                    None => Stage::Idle,
                };
                self.is_whole = self.stage == Stage::Idle;
            }
            (Stage::Events(_), Ok((mut events, _))) => {
                self.may_list_events = Right::Granted;
                events.truncate(EVENTS);
                (self.events, self.is_whole) = (events, true);
            }
            (Stage::Pods(_), Err(refusal)) if refusal.code == 403 => {
                (self.may_list_pods, self.is_whole) = (Right::Denied, true);
            }
            (Stage::Events(_), Err(refusal)) if refusal.code == 403 => {
                (self.may_list_events, self.is_whole) = (Right::Denied, true);
            }
            (Stage::Idle, _) | (_, Err(_)) => return Read::Failed,
        }
        if self.is_whole { Read::Whole } else { Read::More }
    }

    fn keep(&mut self, pods: &[Value], awaited: &Awaited, time: Timestamp) {
        let time = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let is_own = |pod: &&Value| match awaited.set {
            // What terminates or has ended is not what the rollout waits for.
            Some(_) => controller_of(pod) == Some(awaited.uid.as_str()) && is_alive(pod),
            None => true,
        };
        let own: Vec<&Value> = pods.iter().filter(is_own).collect();
        self.of += own.len();
        let is_held =
            |pod: &&&Value| if awaited.set.is_none() { overdue(pod, &time) } else { !is_ready(pod) };
        let room = KEPT.saturating_sub(self.held.len());
        self.held.extend(own.iter().filter(is_held).take(room).map(|pod| brief(pod)));
        if awaited.is_judged {
            self.keep_evidence(pods, awaited);
        }
    }

    fn keep_evidence(&mut self, pods: &[Value], awaited: &Awaited) {
        for (uid, shown) in [&awaited.uid, &awaited.fallback].into_iter().zip(&mut self.shown) {
            let own = |pod: &&Value| controller_of(pod) == Some(uid.as_str()) && is_alive(pod);
            let own: Vec<&Value> = pods.iter().filter(own).collect();
            shown.restarts.extend(own.iter().filter_map(|pod| restarts(pod)));
            let held: Vec<Value> = own.iter().filter(|pod| !is_ready(pod)).map(|pod| brief(pod)).collect();
            for found in blockers(&held, &[], Words::Withheld) {
                *shown.stuck.entry(found.cause.as_str().to_owned()).or_insert(0) += count(found.pods);
            }
        }
    }

    /// What was read of a revision that is judged, and of its fallback; nothing, if the operator may not read it.
    pub(super) fn evidence(&mut self, awaited: &Awaited, read: Timestamp) -> Vec<Evidence> {
        if self.may_list_pods == Right::Denied {
            return Vec::new();
        }
        let of = |(uid, shown): (&String, Shown)| Evidence {
            uid: uid.clone(),
            read,
            restarts: shown.restarts,
            stuck: shown.stuck.into_iter().collect(),
        };
        [&awaited.uid, &awaited.fallback].into_iter().zip(std::mem::take(&mut self.shown)).map(of).collect()
    }

    /// Events are read if they may add something, and not again and again.
    fn after_pods(&self, awaited: &Awaited, now: Instant) -> Stage {
        let was_read = self.events_read.is_some_and(|read| read + EVENTS_AGAIN > now);
        let unclear = self.held.iter().filter(|pod| is_unclear(pod)).map(|pod| text(pod, "/metadata/uid"));
        match unclear.min().filter(|_| awaited.set.is_some() && !was_read) {
            Some(uid) => Stage::Events(uid.to_owned()),
            None => Stage::Idle,
        }
    }

    /// Events about all pods like the one for which events were read.
    pub(super) fn events(&self) -> Vec<Value> {
        let about = self.events.first().map(|event| text(event, "/involvedObject/uid")).unwrap_or_default();
        let is_sample = |pod: &&Value| text(pod, "/metadata/uid") == about;
        let Some(sample) = self.held.iter().find(is_sample) else { return self.events.clone() };
        let unclear = self.held.iter().filter(|pod| is_unclear(pod));
        unclear.flat_map(|pod| like(&self.events, sample, pod)).collect()
    }
}

/// Those of the container that has the most.
fn restarts(pod: &Value) -> Option<Restarts> {
    let containers = ["/status/initContainerStatuses", "/status/containerStatuses"];
    let statuses = || containers.iter().flat_map(|path| list(pod, path));
    let most = statuses().filter_map(|status| status.get("restartCount")?.as_i64()).max();
    let ends = ["/lastState/terminated/finishedAt", "/state/terminated/finishedAt"];
    let last = statuses().flat_map(|status| ends.map(|path| text(status, path)));
    Some(Restarts {
        created: text(pod, "/metadata/creationTimestamp").parse().ok()?,
        count: most.unwrap_or(0),
        last: last.filter_map(|time| time.parse().ok()).max(),
    })
}

fn is_alive(pod: &Value) -> bool {
    text(pod, "/metadata/deletionTimestamp").is_empty()
        && !matches!(text(pod, "/status/phase"), "Failed" | "Succeeded")
}
