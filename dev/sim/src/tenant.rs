//! A hostile tenant: somebody who may do anything in one namespace, while users play in another.
//!
//! What the tenant does shifts no draw, no order, and no news of the others. It has dice of its own, its news waits
//! where news of the others is on its way, and its objects are counted apart. So two runs of one seed, with it and
//! without, differ only where the operator lets them ([`pair`]).

mod acts;
pub mod pair;
mod scenario;

use plan::keys::{FINGERPRINTS, REVISION};
use world::{Change, Key, Object, Resource};

use crate::chance::Dice;
use crate::engine::{Engine, Event, MILLISECOND, Time};
use crate::operator::{Cursor, Watch};
use crate::record::Coverage;
use crate::subject::Which;

/// The namespace of the tenant. It comes after those of the others, so that taking turns starts with the same of them.
pub(crate) const TENANT: &str = "tenant";
/// The Deployments of the tenant count from here.
pub(crate) const TENANTS: Which = 1 << 16;

/// Whether a Deployment is the tenant's.
pub(crate) fn owns(which: Which) -> bool {
    which >= TENANTS
}

/// The tenant of a run.
#[derive(Debug)]
pub(crate) struct Tenant {
    /// All that is drawn for it, and for what belongs to it.
    pub(crate) dice: Dice,
    /// Whether it asks for rollouts, and for many things together. Otherwise its Deployments are paused or have no
    /// pods, so that they take no slot.
    floods: bool,
    /// The versions that the cluster got by its objects, in their order.
    versions: Vec<u64>,
    /// What happened that the operator must not fall for.
    lures: Coverage,
    /// Since when a watch has shown more than without the tenant: its objects prove how new the watch is, so a wait for
    /// the operator's own write may end sooner.
    moved_on: Option<Time>,
}

/// Something of the tenant that is going to happen.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TenantEvent {
    /// The tenant acts.
    Act,
    /// The controllers look.
    Controllers,
    /// A watch of an operator gets news.
    News(u64, Watch),
}

impl Tenant {
    pub(crate) fn new(seed: u64, floods: bool) -> Self {
        let dice = Dice::new(seed, 41);
        Self { dice, floods, versions: Vec::new(), lures: Coverage::default(), moved_on: None }
    }

    /// Something was written.
    pub(crate) fn notes(&mut self, change: &Change) {
        if change.object.namespace() == TENANT {
            self.versions.push(change.version);
        }
    }

    /// What a version would be without the tenant.
    fn local(&self, version: u64) -> u64 {
        version - self.versions.partition_point(|theirs| *theirs <= version) as u64
    }
}

impl Engine<'_> {
    /// The tenant comes, and acts until a time.
    fn tenant_comes(&mut self, mut tenant: Tenant, acts: &[Time]) {
        self.store.set_apart(TENANT);
        for at in acts {
            let at = at + tenant.dice.below(MILLISECOND);
            self.at(at, Event::Tenant(TenantEvent::Act));
        }
        self.tenant = Some(tenant);
    }

    /// The tenant acts now. Where news of the others is on its way, that of the tenant comes with it.
    pub(crate) fn tenant_event(&mut self, event: TenantEvent) {
        match event {
            TenantEvent::Act => self.tenant_acts(),
            TenantEvent::Controllers if self.controllers_due => {}
            TenantEvent::Controllers => self.run_controllers(),
            TenantEvent::News(id, watch) => {
                let cursor = self.operators.get_mut(&id).map(|operator| *operator.cursor(watch));
                if cursor.is_some_and(|cursor| cursor.is_synced && !cursor.is_due) {
                    self.deliver(id, watch);
                }
            }
        }
    }

    /// The watches of operators will show what happened to an object of the tenant. No check looks at it.
    pub(crate) fn take_in_tenants(&mut self, change: &Change) {
        match change.object.resource {
            Resource::Pods => {}
            Resource::ReplicaSets => _ = self.history.note_set(self.flavour, change, change.version),
            _ => _ = self.history.note_workload(self.flavour, change, false, None),
        }
    }

    /// Announces changes to everybody who watches.
    pub(crate) fn announce_tenants(&mut self, changes: &[Change]) {
        if changes.is_empty() {
            return;
        }
        let Some(mut tenant) = self.tenant.take() else { return };
        let mut delay = |most: Time| tenant.dice.between(MILLISECOND, most * MILLISECOND);
        self.after(delay(20), Event::Tenant(TenantEvent::Controllers));
        let ids: Vec<u64> = self.operators.keys().copied().collect();
        for id in ids {
            self.after(delay(30), Event::Tenant(TenantEvent::News(id, Watch::Workloads)));
            self.after(delay(30), Event::Tenant(TenantEvent::News(id, Watch::Sets)));
            let pods = changes.iter().filter(|change| change.object.resource == Resource::Pods);
            let of = pods.map(|change| self.whose(&change.object)).collect();
            let watched = self.watched_pods(id, &of);
            if !watched.is_empty() {
                self.after(delay(30), Event::PodNews(id, watched));
            }
        }
        self.tenant = Some(tenant);
        for change in changes.iter().filter(|change| change.object.resource == Resource::Pods) {
            self.look_at(self.now, Key::of(&change.object));
        }
    }

    /// The version before this many writes, those of the tenant apart.
    pub(crate) fn version_before(&self, back: u64) -> u64 {
        let versions = self.tenant.as_ref().map_or(&[][..], |tenant| &tenant.versions);
        let is_other = |version: &u64| versions.binary_search(version).is_err();
        let mut others = (0..=self.store.version()).rev().filter(is_other);
        usize::try_from(back).ok().and_then(|back| others.nth(back)).unwrap_or(0)
    }

    /// Whether an operator may know by an object of the tenant that a watch shows what it wrote for the others.
    pub(crate) fn note_watches(&mut self, id: u64) {
        let tenant = self.tenant.as_mut().filter(|tenant| tenant.moved_on.is_none());
        let (Some(tenant), Some(operator)) = (tenant, self.operators.get(&id)) else { return };
        let is_between = |cursor: Cursor, known| cursor.newest_other < known && known <= cursor.newest;
        let others = operator.conduct.keys.iter().filter(|(which, _)| !owns(**which));
        let mut known = others.map(|(_, known)| known.known);
        if known.any(|known| is_between(operator.workloads, known.0) || is_between(operator.sets, known.1)) {
            tenant.moved_on = Some(self.now);
        }
    }

    /// An attempt at a Deployment starts: what is there of the tenant that it must not fall for?
    pub(crate) fn count_lures(&mut self, of: Which) {
        let Some(mut tenant) = self.tenant.take() else { return };
        if owns(of) {
            tenant.lures.hit("an attempt at a Deployment of the tenant");
        } else if let Some(workload) = self.store.get(&self.workload_key(of)) {
            let sets = |namespace| self.store.list(Resource::ReplicaSets, Some(namespace));
            let own =
                || sets(workload.namespace()).filter(|set| set.controller_uid() == Some(workload.uid()));
            for set in sets(TENANT) {
                let is_forged = set.controller_uid() == Some(workload.uid());
                let is_orphan = set.controller_uid().is_none();
                let same = |annotation| {
                    let theirs = set.annotation(annotation);
                    theirs.is_some() && own().any(|own| own.annotation(annotation) == theirs)
                };
                let lures = [
                    (is_forged, "a forged owner"),
                    (is_forged && set.spec_number("replicas") > Some(0), "a forged owner of pods"),
                    (is_forged && set.is_deleting(), "a forged owner, and a finalizer"),
                    (
                        is_orphan && set.label("app") == Some(workload.name()),
                        "an orphan that the selector matches",
                    ),
                    (own().any(|own| own.name() == set.name()), "the name of a ReplicaSet"),
                    (same(FINGERPRINTS), "the fingerprints of a ReplicaSet"),
                    (same(REVISION), "the revision of a ReplicaSet"),
                ];
                lures.iter().filter(|(is_there, _)| *is_there).for_each(|(_, lure)| tenant.lures.hit(lure));
            }
            if self.store.get(&Key { namespace: TENANT.to_owned(), ..Key::of(workload) }).is_some() {
                tenant.lures.hit("the name of a Deployment");
            }
            let pods = self.store.list(Resource::Pods, Some(TENANT));
            let uids: Vec<&str> = own().map(Object::uid).collect();
            if pods.filter_map(Object::controller_uid).any(|uid| uids.contains(&uid)) {
                tenant.lures.hit("a pod with a forged owner");
            }
        }
        self.tenant = Some(tenant);
    }
}
