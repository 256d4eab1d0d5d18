//! The simulator: a clock, a heap of events, a cluster, operators, and somebody who looks at
//! every write.

mod controllers;
mod counts;
mod event;
mod text;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use plan::Flavour;
use witness::Version;
use world::{Change, GarbageCollector, JobController, Key, Kubelets, ReplicaSetController, Resource, Store};

use crate::actor::Actor;
use crate::chance::Dice;
use crate::checks::Checks;
use crate::history::{History, workloads_of};
use crate::jobs::is_of_job;
use crate::nature::{Gate, Nature, Switches};
use crate::operator::{Operator, Watch};
use crate::record::{Coverage, Trace};
use crate::scenario::Scenario;
use crate::subject::{Subject, Which};
use crate::tenant::{self, TENANT, Tenant};
pub use counts::Counts;
pub(crate) use counts::Holds;
use event::Due;
pub(crate) use event::Event;

/// Nanoseconds since the start of a run.
pub(crate) type Time = u64;
pub(crate) const MILLISECOND: Time = 1_000_000;
pub(crate) const SECOND: Time = 1000 * MILLISECOND;

/// A duration as the heap counts it.
pub(crate) fn nanoseconds(duration: Duration) -> Time {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// One run.
pub(crate) struct Engine<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) flavour: Flavour,
    pub(crate) now: Time,
    heap: BinaryHeap<Reverse<Due>>,
    order: u64,
    base: Instant,
    epoch: Timestamp,
    pub(crate) store: Store,
    pub(crate) sets: ReplicaSetController,
    pub(crate) jobs: JobController,
    pub(crate) kubelets: Kubelets,
    collector: GarbageCollector,
    pub(crate) nature: Nature,
    victims: Dice,
    pub(crate) delays: Dice,
    pub(crate) switches: Arc<Switches>,
    pub(crate) operators: BTreeMap<u64, Operator>,
    pub(crate) born: u64,
    pub(crate) history: History,
    pub(crate) subjects: Vec<Subject<'a>>,
    pub(crate) checks: Checks,
    pub(crate) trace: Trace,
    pub(crate) coverage: Coverage,
    seen: u64,
    pub(crate) controllers_due: bool,
    /// When objects are looked at next.
    looks: BTreeMap<Key, Time>,
    /// How many troubles hold each of these up.
    pub(crate) holds: Holds,
    /// Requests sent so far: writes, reads, looks at pods.
    pub(crate) sent: (u32, u32, u32),
    pub(crate) counts: Counts,
    pub(crate) clock_off: i64,
    pub(crate) outages: Vec<u16>,
    /// For how many seconds the server asks to be spared, while it does.
    pub(crate) overload: Option<u64>,
    /// How many troubles keep Jobs from being read.
    pub(crate) unreadable_jobs: u32,
    /// A ReplicaSet that its controller does not look at.
    pub(crate) slow_set: Option<Key>,
    /// Who plays beside the users, in a namespace of their own.
    pub(crate) tenant: Option<Tenant>,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(scenario: &'a Scenario, is_verbose: bool) -> Self {
        let epoch = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
        let mut store = Store::new(epoch);
        let switches = Arc::new(Switches::default());
        store.add_admission(Arc::new(Gate(switches.clone())));
        let salt = scenario.salt;
        let nodes = ["node-0", "node-1", "node-2"];
        let kubelets = Kubelets::new(nodes.get(..scenario.pods.nodes.min(3)).unwrap_or(&nodes));
        // A node that could be registered once can be registered.
        _ = kubelets.register(&mut store);
        let seen = store.version();
        Self {
            scenario,
            flavour: scenario.flavour(),
            now: 0,
            heap: BinaryHeap::new(),
            order: 0,
            base: Instant::now(),
            epoch,
            store,
            sets: ReplicaSetController::new(),
            jobs: JobController::new(),
            kubelets,
            collector: GarbageCollector::new(),
            nature: Nature { salt, pods: scenario.pods, is_healed: false, ..Nature::default() },
            victims: Dice::new(salt, 2),
            delays: Dice::new(salt, 3),
            switches,
            operators: BTreeMap::new(),
            born: 0,
            history: History::default(),
            subjects: Subject::all(scenario),
            checks: Checks::default(),
            trace: Trace::new(is_verbose),
            coverage: Coverage::default(),
            seen,
            controllers_due: false,
            looks: BTreeMap::new(),
            holds: Holds::default(),
            sent: (0, 0, 0),
            counts: Counts::default(),
            clock_off: 0,
            outages: Vec::new(),
            overload: None,
            unreadable_jobs: 0,
            slow_set: None,
            tenant: None,
        }
    }

    pub(crate) fn at(&mut self, time: Time, event: Event) {
        self.order += 1;
        self.heap.push(Reverse(Due(time.max(self.now), self.order, event)));
    }

    pub(crate) fn after(&mut self, delay: Time, event: Event) {
        self.at(self.now + delay, event);
    }

    /// Somewhere between these, in nanoseconds.
    pub(crate) fn delay(&mut self, low: Time, high: Time) -> Time {
        self.delays.between(low, high)
    }

    /// The same for a request about a Deployment.
    pub(crate) fn latency(&mut self, of: Which) -> Time {
        let dice = match &mut self.tenant {
            Some(tenant) if tenant::owns(of) => &mut tenant.dice,
            _ => &mut self.delays,
        };
        dice.between(MILLISECOND / 2, 10 * MILLISECOND)
    }

    pub(crate) fn instant(&self) -> Instant {
        self.base + Duration::from_nanos(self.now)
    }

    /// The server's clock.
    pub(crate) fn wall(&self) -> Timestamp {
        self.epoch.checked_add(since(self.now)).unwrap_or(self.epoch)
    }

    /// The clock of the operators' machine.
    pub(crate) fn operator_wall(&self) -> Timestamp {
        self.wall().checked_add(SignedDuration::from_secs(self.clock_off)).unwrap_or(self.epoch)
    }

    /// A time as the heap counts it.
    pub(crate) fn time_of(&self, at: Timestamp) -> Time {
        let since = at.duration_since(self.epoch);
        u64::try_from(since.as_nanos()).unwrap_or(0)
    }

    /// Lets things happen up to a time. False if nothing is left to happen before.
    pub(crate) fn run_until(&mut self, end: Time) -> bool {
        while self.checks.found.is_empty() {
            match self.heap.peek() {
                None => return false,
                Some(Reverse(Due(at, ..))) if *at > end => break,
                Some(_) => {}
            }
            let Some(Reverse(Due(at, _, event))) = self.heap.pop() else { return false };
            self.now = at;
            self.store.set_now(self.wall());
            self.counts.events += 1;
            self.handle(event);
        }
        self.now = self.now.max(end);
        true
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Controllers => self.run_controllers(),
            Event::Look(key) => self.look(&key),
            Event::News(id, watch) => self.deliver(id, watch),
            Event::PodNews(id, of) => {
                let now = self.instant();
                if let Some(operator) = self.operators.get_mut(&id) {
                    operator.requeue(&of, now);
                }
                self.saw_pods(id, &of);
                self.set_alarm(id);
            }
            Event::JobNews(id, of) => self.hear_of_job(id, of),
            Event::Alarm(id) => self.alarm(id),
            Event::Arrive(id, sent) => self.arrive(id, &sent),
            Event::Answer(id, attempt, reply) => self.answer(id, attempt, *reply),
            Event::Start(back) if self.operators.is_empty() => self.start_operator(back),
            Event::Start(_) => {}
            Event::Step(which, index) => self.step(which, index),
            Event::Begin(index) => self.begin(index),
            Event::End(index) => self.end(index),
            Event::Return(which) => self.come_back(which),
            Event::Die(id) => self.kill(id),
            Event::Rival(which) => self.undo(which),
            Event::Tick(id) => self.tick(id),
            Event::Tenant(event) => self.tenant_event(event),
        }
    }

    /// Looks at everything that was written since the last time.
    pub(crate) fn settle(&mut self, actor: Actor) {
        let wall = self.wall();
        self.subjects.iter_mut().for_each(|subject| subject.truth.tick(wall));
        if self.store.version() == self.seen {
            return;
        }
        let kinds = [Resource::Pods, Resource::ReplicaSets, Resource::Jobs, workloads_of(self.flavour)];
        let mut changes: Vec<Change> = Vec::new();
        if let Ok(news) = self.store.all_changes(self.seen) {
            let news = news.inspect(|change| self.tenant.iter_mut().for_each(|tenant| tenant.notes(change)));
            changes.extend(news.filter(|change| kinds.contains(&change.object.resource)).cloned());
        }
        self.seen = self.store.version();
        for change in &changes {
            if change.object.namespace() == TENANT {
                self.take_in_tenants(change);
            } else {
                self.take_in(change, actor);
            }
        }
        let (tenants, changes): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.object.namespace() == TENANT);
        self.announce_tenants(&tenants);
        self.announce(&changes);
        if actor.is_operator() {
            self.provoke(&changes);
        }
    }

    fn take_in(&mut self, change: &Change, actor: Actor) {
        let is_deleted = change.kind == world::ChangeKind::Deleted;
        let kind = match change.object.resource {
            Resource::Pods => 1,
            Resource::ReplicaSets => 2,
            Resource::Jobs => 8,
            _ => 3,
        };
        self.trace.note(&[self.now, kind, change.version, u64::from(is_deleted)]);
        self.say(change, actor);
        let which = self.whose(&change.object);
        if change.object.resource != Resource::Pods {
            self.pods_are_heeded(which);
        }
        match change.object.resource {
            Resource::Jobs => return self.take_in_job(which, change, actor),
            Resource::Pods if is_of_job(&change.object) => return,
            Resource::Pods => {
                let wall = self.wall();
                if let Some(subject) = self.subjects.get_mut(which) {
                    subject.truth.note_pod(change, actor, wall);
                }
            }
            Resource::ReplicaSets => {
                let basis = match actor {
                    Actor::SetController => self.sets.seen().1,
                    _ => self.last_basis(change),
                };
                if let Some(entry) = self.history.note_set(self.flavour, change, basis) {
                    let now = self.epoch.checked_add(since(self.now)).unwrap_or(self.epoch);
                    if let Some(subject) = self.subjects.get_mut(which) {
                        subject.truth.note_set(&entry.set, is_deleted, change.version, actor, now);
                        subject.truth.judge(now);
                    }
                }
            }
            _ => {
                let now = self.wall();
                let writer = self.status_writer(which, change, actor);
                let is_report =
                    change.before.as_ref().is_some_and(|before| before.status != change.object.status);
                let by_rival = is_report && writer.as_ref().is_some_and(crate::rival::is_rival);
                if let Some(entry) = self.history.note_workload(self.flavour, change, by_rival, writer) {
                    if let Some(subject) = self.subjects.get_mut(which) {
                        subject.truth.note_workload(&entry.workload, is_deleted, change.version);
                        subject.truth.judge(now);
                    }
                    for condition in &entry.workload.status.conditions {
                        self.coverage.hit(crate::coverage::condition(&condition.kind, &condition.reason));
                    }
                }
            }
        }
        let is_set_deleted = is_deleted && change.object.resource == Resource::ReplicaSets;
        let (now, is_quiet) = (self.wall(), self.scenario.faults.is_empty());
        if let Some(subject) = self.subjects.get_mut(which) {
            if self.flavour == Flavour::Rollwright {
                let is_undisturbed = is_quiet && subject.is_alone;
                let (before, object) = (change.before.as_ref(), &change.object);
                let version = Version { before, object, is_deleted, who: actor.who(), now, is_undisturbed };
                self.checks.watch(&mut subject.marks, &version);
            }
            self.checks.change(subject, is_set_deleted, actor);
        }
    }

    /// Announces changes to everybody who watches.
    fn announce(&mut self, changes: &[Change]) {
        let mut kinds = [false; 3];
        let mut of = BTreeSet::new();
        for change in changes {
            let [pods, sets, workloads] = &mut kinds;
            match change.object.resource {
                Resource::Jobs => self.tell_of_job(&change.object),
                Resource::Pods => {
                    if !is_of_job(&change.object) {
                        *pods = true;
                        of.insert(self.whose(&change.object));
                    }
                    self.look_at(self.now, Key::of(&change.object));
                }
                Resource::ReplicaSets => *sets = true,
                _ => *workloads = true,
            }
        }
        let [pods, sets, workloads] = kinds;
        if changes.is_empty() {
            return;
        }
        self.tell_controllers();
        let ids: Vec<u64> = self.operators.keys().copied().collect();
        for id in ids {
            if workloads {
                self.tell(id, Watch::Workloads);
            }
            if sets {
                self.tell(id, Watch::Sets);
            }
            let watched = if pods { self.watched_pods(id, &of) } else { Vec::new() };
            if !watched.is_empty() {
                let delay = self.delay(MILLISECOND, 30 * MILLISECOND);
                self.after(delay, Event::PodNews(id, watched));
            }
        }
    }

    /// Those of these Deployments with pods that an operator watches.
    pub(crate) fn watched_pods(&self, id: u64, of: &BTreeSet<Which>) -> Vec<Which> {
        let Some(operator) = self.operators.get(&id) else { return Vec::new() };
        let surroundings = crate::link::lock(&operator.surroundings);
        of.intersection(&surroundings.watches_pods).copied().collect()
    }

    pub(crate) fn tell_controllers(&mut self) {
        if !self.controllers_due && self.holds.controllers == 0 {
            self.controllers_due = true;
            let delay = self.delay(MILLISECOND, 20 * MILLISECOND);
            self.after(delay, Event::Controllers);
        }
    }

    /// A watch of an operator is going to show what happened.
    pub(crate) fn tell(&mut self, id: u64, watch: Watch) {
        let delay = self.delay(MILLISECOND, 30 * MILLISECOND);
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let cursor = operator.cursor(watch);
        if !cursor.is_due && cursor.is_synced {
            cursor.is_due = true;
            self.after(delay, Event::News(id, watch));
        }
    }
}

/// A time as a duration since the start.
fn since(now: Time) -> SignedDuration {
    SignedDuration::from_nanos(i64::try_from(now).unwrap_or(i64::MAX))
}
