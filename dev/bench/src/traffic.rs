//! What a controller asked the API server for, by its audit log.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Duration;

use cluster::audit::{self, Request};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::stage::Edit;

/// All requests about one namespace.
pub(crate) struct Log {
    user: &'static str,
    requests: Vec<Request>,
}

/// Requests of one controller in one span of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Traffic {
    /// Writes by verb and resource, events and dry runs apart; refused ones included.
    pub(crate) by_kind: BTreeMap<String, usize>,
    /// Writes of events.
    pub(crate) events: usize,
    /// Writes that should change nothing.
    pub(crate) dry_runs: usize,
    /// All but watches and the lease.
    pub(crate) reads: usize,
    /// How many of all were answered 409.
    pub(crate) conflicts: usize,
}

impl Log {
    /// Of the controller with this name in the log.
    pub(crate) fn read(path: &Path, user: &'static str, namespace: &str) -> Result<Self, Failure> {
        let mut requests = audit::requests_in(path, namespace)?;
        requests.sort_by_key(|request| request.timestamp);
        Ok(Self { user, requests })
    }

    /// What the server received from `since` until before `until`.
    pub(crate) fn between(&self, since: Timestamp, until: Timestamp) -> Traffic {
        let mut traffic = Traffic::default();
        let span = self.requests.iter().filter(|request| (since..until).contains(&request.timestamp));
        span.filter(|request| request.user == self.user).for_each(|request| traffic.count(request));
        traffic
    }

    /// How long each edit took to bring its first pod, which is there when the kubelet binds it; none of
    /// an edit without one before `until`.
    pub(crate) fn first_pods(&self, edits: &[Edit], until: Timestamp) -> Vec<Duration> {
        let mut bound = HashMap::<&str, Vec<Timestamp>>::new();
        for request in self.requests.iter().filter(|request| is_binding(request)) {
            bound.entry(deployment_of(&request.name)).or_default().push(request.timestamp);
        }
        let first = |edit: &Edit| {
            let times = bound.get(edit.name.as_str())?;
            let first = times.iter().find(|time| (edit.sent_at..until).contains(*time))?;
            Duration::try_from(*first - edit.sent_at).ok()
        };
        edits.iter().filter_map(first).collect()
    }
}

impl Traffic {
    /// All writes but events and dry runs.
    pub(crate) fn writes(&self) -> usize {
        self.by_kind.values().sum()
    }

    fn count(&mut self, request: &Request) {
        if request.code == 409 {
            self.conflicts += 1;
        }
        match () {
            () if !request.is_write() => {
                self.reads += usize::from(request.verb != "watch" && request.resource != "leases");
            }
            () if request.dry_run => self.dry_runs += 1,
            () if request.resource == "events" => self.events += 1,
            () => *self.by_kind.entry(kind_of(request)).or_default() += 1,
        }
    }
}

fn kind_of(request: &Request) -> String {
    let Request { verb, resource, subresource, .. } = request;
    if subresource.is_empty() {
        format!("{verb} {resource}")
    } else {
        format!("{verb} {resource}/{subresource}")
    }
}

fn is_binding(request: &Request) -> bool {
    request.resource == "pods" && request.subresource == "binding" && request.code < 300
}

/// `web-3` of the pod `web-3-5d8f9c7b6-x2x4z`.
fn deployment_of(pod: &str) -> &str {
    pod.rsplitn(3, '-').nth(2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn request(user: &str, verb: &str, path: &str, second: i64) -> Request {
        let mut parts = path.split('/').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        let (resource, name, subresource) = (part(), part(), part());
        Request {
            verb: verb.to_owned(),
            group: String::new(),
            resource,
            subresource,
            name,
            namespace: "n".to_owned(),
            code: 200,
            message: String::new(),
            user: user.to_owned(),
            dry_run: false,
            timestamp: at(second),
            answered: at(second),
        }
    }

    #[test]
    fn counts_by_kind() {
        let dry_run = Request { dry_run: true, ..request("me", "create", "replicasets", 2) };
        let refused = Request { code: 409, ..request("me", "patch", "replicasets/a", 2) };
        let requests = vec![
            request("me", "patch", "deployments/a/status", 1),
            request("me", "patch", "deployments/a/status", 2),
            request("me", "get", "deployments/a", 2),
            request("me", "watch", "deployments", 2),
            request("me", "create", "events", 2),
            request("you", "create", "events", 2),
            dry_run,
            refused,
            request("me", "create", "events", 3),
        ];
        let traffic = Log { user: "me", requests }.between(at(2), at(3));
        let by_kind: Vec<(&str, usize)> =
            traffic.by_kind.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        assert_eq!(by_kind, [("patch deployments/status", 1), ("patch replicasets", 1)]);
        assert_eq!((traffic.events, traffic.dry_runs, traffic.reads, traffic.conflicts), (1, 1, 1, 1));
    }

    #[test]
    fn first_pods_come_after_their_edits() {
        let requests = vec![
            request("kubelet", "create", "pods/web-1-5d8f9c7b6-aaaaa/binding", 1),
            request("kubelet", "create", "pods/web-1-5d8f9c7b7-bbbbb/binding", 5),
            request("kubelet", "create", "pods/web-1-5d8f9c7b7-ccccc/binding", 6),
            request("kubelet", "create", "pods/web-11-5d8f9c7b7-ddddd/binding", 3),
            request("kubelet", "create", "pods/web-2-5d8f9c7b7-eeeee/binding", 9),
        ];
        let edit =
            |name: &str| Edit { name: name.to_owned(), generation: 2, sent: Instant::now(), sent_at: at(2) };
        let log = Log { user: "me", requests };
        assert_eq!(log.first_pods(&[edit("web-1"), edit("web-2")], at(9)), [Duration::from_secs(3)]);
    }
}
