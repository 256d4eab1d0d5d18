//! A server with one Lease, on a clock that all share.

use super::*;

/// The Lease on a server, and a clock that all share.
pub(super) struct Server {
    start: Instant,
    pub(super) now: Instant,
    pub(super) wall: Timestamp,
    pub(super) version: u64,
    pub(super) lease: Option<Record>,
}

/// The fate of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Answered,
    /// Carried out, and the answer lost.
    AnswerLost,
    NotCarriedOut,
}
pub(super) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(super) fn candidate(name: &str) -> Elector {
    Elector::new(name.to_owned(), Timings::new(seconds(15), seconds(10), seconds(2)).expect("timings"))
}

impl Server {
    pub(super) fn new() -> Self {
        let (now, wall) = (Instant::now(), "2026-01-01T00:00:00Z".parse().expect("time"));
        Self { start: now, now, wall, version: 1, lease: None }
    }

    pub(super) fn advance(&mut self, time: Duration) {
        self.now += time;
        self.wall += time;
    }

    pub(super) fn reply(&self) -> Reply {
        match &self.lease {
            Some(record) => Reply::Lease { version: self.version.to_string(), record: record.clone() },
            None => Reply::Missing,
        }
    }

    pub(super) fn put(&mut self, record: Record) -> Reply {
        self.version += 1;
        self.lease = Some(record);
        self.reply()
    }

    pub(super) fn carry_out(&mut self, request: Request) -> Reply {
        match request {
            Request::Read => self.reply(),
            Request::Create(_) if self.lease.is_some() => Reply::Failed,
            Request::Create(record) => self.put(record),
            Request::Replace { .. } if self.lease.is_none() => Reply::Missing,
            Request::Replace { version, .. } if version != self.version.to_string() => Reply::Failed,
            Request::Replace { record, .. } => self.put(record),
        }
    }

    /// Lets a candidate do all that it wants to do now; returns what it sent.
    pub(super) fn run(&mut self, elector: &mut Elector, fate: Fate) -> Vec<Request> {
        let mut sent = Vec::new();
        while let Todo::Send(request) = elector.next(self.now, self.wall, 0.0) {
            sent.push(request.clone());
            let reply = if fate == Fate::NotCarriedOut { Reply::Failed } else { self.carry_out(request) };
            elector.answered(self.now, self.now, if fate == Fate::Answered { reply } else { Reply::Failed });
            assert!(sent.len() < 10, "no end: {sent:?}");
        }
        sent
    }

    pub(super) fn leads(&self, elector: &Elector) -> bool {
        elector.lead(self.now).is_some()
    }

    pub(super) fn record(&self) -> &Record {
        self.lease.as_ref().expect("a lease")
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.now - self.start
    }
}

/// A server, the one that leads, and one that stands by.
pub(super) fn two() -> (Server, Elector, Elector) {
    let (mut server, mut a, mut b) = (Server::new(), candidate("a"), candidate("b"));
    server.run(&mut a, Fate::Answered);
    server.run(&mut b, Fate::Answered);
    assert!(server.leads(&a) && !server.leads(&b));
    (server, a, b)
}
