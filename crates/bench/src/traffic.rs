//! What the controllers asked the API server for, by its audit log.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use cluster::audit::{self, Request};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::side::Side;

const REPLICASET_CONTROLLER: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// All requests about one namespace.
pub(crate) struct Log {
    side: Side,
    requests: Vec<Request>,
}

/// Writes of one controller in one span of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writes {
    /// Counts by verb and resource, events apart; refused ones included.
    pub(crate) by_kind: BTreeMap<String, u64>,
    /// Writes of events.
    pub(crate) events: u64,
    /// How many of all were answered 409.
    pub(crate) conflicts: u64,
    /// From the answer to a ReplicaSet's last status write to the controller's next write of a set of
    /// the same Deployment.
    pub(crate) reactions: Vec<Duration>,
}

impl Writes {
    /// All but events.
    pub(crate) fn total(&self) -> u64 {
        self.by_kind.values().sum()
    }
}

impl Log {
    pub(crate) fn read(path: &Path, side: Side, namespace: &str) -> Result<Self, Failure> {
        let mut requests = audit::requests_in(path, namespace)?;
        requests.retain(|request| request.is_write() && !request.dry_run);
        requests.sort_by_key(|request| request.timestamp);
        Ok(Self { side, requests })
    }

    /// What the server received from `since` until before `until`.
    pub(crate) fn between(&self, since: Timestamp, until: Timestamp) -> Writes {
        let mut writes = Writes::default();
        // By Deployment: when the last status write of one of its sets was answered.
        let mut told = HashMap::<&str, Timestamp>::new();
        for request in self.requests.iter().filter(|request| (since..until).contains(&request.timestamp)) {
            let owner = request.name.rsplit_once('-').map_or("", |(owner, _)| owner);
            if request.user == REPLICASET_CONTROLLER && is_status_of_set(request) && request.code < 300 {
                told.insert(owner, request.answered);
            }
            if request.user != self.side.user() {
                continue;
            }
            writes.count(request);
            if request.resource == "replicasets" && request.verb != "create" {
                // Only the first write after the news is a reaction to it.
                let reaction =
                    told.remove(owner).and_then(|at| Duration::try_from(request.timestamp - at).ok());
                writes.reactions.extend(reaction);
            }
        }
        writes
    }
}

impl Writes {
    fn count(&mut self, request: &Request) {
        if request.code == 409 {
            self.conflicts += 1;
        }
        if request.resource == "events" {
            self.events += 1;
            return;
        }
        let part =
            if request.subresource.is_empty() { String::new() } else { format!("/{}", request.subresource) };
        *self.by_kind.entry(format!("{} {}{part}", request.verb, request.resource)).or_default() += 1;
    }
}

fn is_status_of_set(request: &Request) -> bool {
    request.resource == "replicasets" && request.subresource == "status"
}
