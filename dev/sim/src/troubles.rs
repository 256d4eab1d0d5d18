//! What goes wrong for a while, and how it ends.

use std::sync::atomic::Ordering;

use plan::Flavour;
use plan::keys::{HASH_LABEL, PROMOTE, ROLLBACK_TO};
use serde_json::json;
use world::{Object, Resource};

use crate::actor::Actor;
use crate::engine::{Engine, Event, MILLISECOND, SECOND};
use crate::nature::{BAD_IMAGE, Switches};
use crate::operator::Watch;
use crate::scenario::{Fault, Millis, Trouble};
use crate::subject::Which;
use crate::tenant::TENANT;

const WATCHES: [Watch; 2] = [Watch::Workloads, Watch::Sets];

fn node(which: u8) -> String {
    format!("node-{}", which % 3)
}

impl Engine<'_> {
    /// A trouble, and how long it lasts.
    fn trouble(&self, index: usize) -> Option<(Trouble, Millis)> {
        match self.scenario.faults.get(index)? {
            Fault::During(_, duration, trouble) => Some((*trouble, *duration)),
            _ => None,
        }
    }

    pub(crate) fn begin(&mut self, index: usize) {
        let Some((trouble, duration)) = self.trouble(index) else { return };
        self.trace.note(&[self.now, 7, index as u64]);
        let now = self.now / MILLISECOND;
        self.trace.say(|| format!("{now:>8} ms trouble {index}: {trouble:?}"));
        self.coverage.hit(name(trouble));
        let there = |resource: Resource, engine: &Self| {
            let there = engine.store.list(resource, None).filter(|one| one.namespace() != TENANT);
            i64::try_from(there.count()).unwrap_or(0).max(1)
        };
        match trouble {
            Trouble::WorkloadLag => self.holds.workloads += 1,
            Trouble::SetLag => self.holds.sets += 1,
            Trouble::Disconnect | Trouble::Expired => {
                self.holds.workloads += 1;
                self.holds.sets += 1;
                self.holds.broken += u32::from(self.scenario.fleet.is_some());
            }
            Trouble::Outage(code) => self.outages.push(code),
            Trouble::Clock(seconds) => self.clock_off = seconds,
            Trouble::PodQuota => self.switches.pods.store(there(Resource::Pods, self), Ordering::Relaxed),
            Trouble::SetQuota => {
                self.switches.sets.store(there(Resource::ReplicaSets, self), Ordering::Relaxed);
            }
            Trouble::Webhook => self.switches.webhook.store(1, Ordering::Relaxed),
            Trouble::JobQuota => self.switches.jobs.store(1, Ordering::Relaxed),
            Trouble::JobsUnreadable => self.unreadable_jobs += 1,
            Trouble::Stripping => self.switches.stripping.store(1, Ordering::Relaxed),
            Trouble::NodeLoss(which) => {
                self.kubelets.lose_node(&mut self.store, &node(which));
                self.settle(Actor::Cluster);
            }
            Trouble::SlowSets => self.holds.controllers += 1,
            Trouble::SlowSet(which) => {
                let of = usize::from(which) % self.subjects.len().max(1);
                self.slow_set = self.pick(of, Resource::ReplicaSets, which);
            }
            Trouble::Twin => {
                self.is_joined();
                self.start_operator(0);
            }
            Trouble::Rival(which) => self.rival_comes(usize::from(which), duration * MILLISECOND),
            Trouble::Overload(seconds) => self.overload = Some(seconds),
            Trouble::Unanswered => self.holds.answers += 1,
            Trouble::Down | Trouble::Takeover => {
                self.holds.restarts += 1;
                self.kill_all();
            }
            Trouble::TimeTravel(back) => {
                self.is_joined();
                self.kill_all();
                self.start_operator(back);
                self.holds.workloads += 1;
                self.holds.sets += 1;
            }
        }
    }

    fn kill_all(&mut self) {
        let ids: Vec<u64> = self.operators.keys().copied().collect();
        for id in ids {
            self.note_death(id);
            self.operators.remove(&id);
        }
        if self.holds.restarts > 0 {
            self.after(SECOND, Event::Start(0));
        }
    }

    pub(crate) fn end(&mut self, index: usize) {
        let Some((trouble, _)) = self.trouble(index) else { return };
        match trouble {
            Trouble::WorkloadLag => self.release(&[Watch::Workloads], false),
            Trouble::SetLag => self.release(&[Watch::Sets], false),
            Trouble::Disconnect | Trouble::Expired => {
                self.holds.broken = self.holds.broken.saturating_sub(1);
                self.release(&WATCHES, true);
            }
            Trouble::TimeTravel(_) => self.release(&WATCHES, false),
            Trouble::Outage(_) => _ = self.outages.pop(),
            Trouble::Clock(_) => self.clock_off = 0,
            Trouble::PodQuota => self.switches.pods.store(0, Ordering::Relaxed),
            Trouble::SetQuota => self.switches.sets.store(0, Ordering::Relaxed),
            Trouble::Webhook => self.switches.webhook.store(0, Ordering::Relaxed),
            Trouble::JobQuota => self.switches.jobs.store(0, Ordering::Relaxed),
            Trouble::JobsUnreadable => self.unreadable_jobs = self.unreadable_jobs.saturating_sub(1),
            Trouble::Stripping => self.switches.stripping.store(0, Ordering::Relaxed),
            Trouble::NodeLoss(which) => {
                self.kubelets.restore_node(&mut self.store, &node(which));
                self.settle(Actor::Cluster);
                self.look_at_pods();
            }
            Trouble::SlowSets => {
                self.holds.controllers = self.holds.controllers.saturating_sub(1);
                self.tell_controllers();
            }
            Trouble::SlowSet(_) => self.slow_set = None,
            Trouble::Twin => {
                // The older one goes, as if the lease had changed hands for good.
                if self.operators.len() > 1 {
                    _ = self.operators.pop_first();
                }
            }
            Trouble::Rival(which) => self.rival_goes(usize::from(which)),
            Trouble::Overload(_) => self.overload = None,
            Trouble::Unanswered => self.holds.answers = self.holds.answers.saturating_sub(1),
            Trouble::Down => self.holds.restarts = self.holds.restarts.saturating_sub(1),
            Trouble::Takeover => {
                self.holds.restarts = self.holds.restarts.saturating_sub(1);
                self.after(MILLISECOND, Event::Start(0));
            }
        }
    }

    fn release(&mut self, watches: &[Watch], relists: bool) {
        for watch in watches {
            let hold = match watch {
                Watch::Workloads => &mut self.holds.workloads,
                Watch::Sets => &mut self.holds.sets,
            };
            *hold = hold.saturating_sub(1);
            let ids: Vec<u64> = self.operators.keys().copied().collect();
            for id in ids {
                if relists && let Some(operator) = self.operators.get_mut(&id) {
                    operator.cursor(*watch).is_synced = false;
                    operator.cursor(*watch).is_due = true;
                    self.judge_able(id);
                    let delay = self.delay(MILLISECOND, SECOND);
                    self.after(delay, Event::News(id, *watch));
                } else {
                    self.tell(id, *watch);
                }
            }
        }
    }

    /// Nothing goes wrong any more, and what users left broken is mended.
    pub(crate) fn heal(&mut self) {
        self.trace.say(|| "heal".to_owned());
        (0..self.subjects.len()).for_each(|which| self.jobs_are_ended(which));
        self.nature.is_healed = true;
        self.nature.lacking.clear();
        self.nature.crashing.clear();
        self.outages.clear();
        self.overload = None;
        self.holds.answers = 0;
        self.subjects.iter_mut().for_each(|subject| subject.rivalry.active = 0);
        self.clock_off = 0;
        self.slow_set = None;
        self.unreadable_jobs = 0;
        let Switches { pods, sets, webhook, stripping, jobs, .. } = &*self.switches;
        for switch in [pods, sets, webhook, stripping, jobs] {
            switch.store(0, Ordering::Relaxed);
        }
        for which in 0..3 {
            self.kubelets.restore_node(&mut self.store, &node(which));
        }
        self.settle(Actor::Cluster);
        for which in 0..self.subjects.len() {
            self.mend(which);
            self.promote_at_last(which);
        }
        if self.operators.is_empty() {
            self.after(SECOND, Event::Start(0));
        }
        // Its long pauses after failures are not what is measured here.
        self.sets.relist(&self.store);
        self.tell_controllers();
        self.look_at_pods();
    }

    /// What users left broken of a Deployment is mended.
    fn mend(&mut self, which: Which) {
        let key = self.workload_key(which);
        if self.store.get(&key).is_none() {
            self.come_back(which);
        }
        let Some(workload) = self.store.get(&key) else { return };
        let image =
            workload.spec.pointer("/template/spec/containers/0/image").and_then(|image| image.as_str());
        let bad: Vec<String> = (BAD_IMAGE..BAD_IMAGE + 8).map(crate::nature::image).collect();
        let mut spec = json!({ "paused": false });
        // What was reverted stays so.
        let truth = self.subjects.get(which).map(|subject| &subject.truth);
        let is_reverted = truth.is_some_and(crate::truth::Truth::stays_reverted);
        if !is_reverted && bad.iter().any(|bad| Some(bad.as_str()) == image) {
            spec = json!({ "paused": false, "template": { "spec": { "containers": [{ "name": "app", "image": "app:9" }] } } });
        }
        let pinned = workload.spec.pointer("/pin/podTemplateHash").and_then(serde_json::Value::as_str);
        let is_bad = |set: &Object| bad.iter().any(|bad| set.spec.to_string().contains(bad.as_str()));
        let is_pinned = |set: &Object| pinned.is_some() && set.label(HASH_LABEL) == pinned;
        let runs_bad = self
            .store
            .list(Resource::ReplicaSets, Some(&key.namespace))
            .any(|set| is_pinned(set) && is_bad(set));
        if let Some(members) = spec.as_object_mut().filter(|_| runs_bad) {
            members.insert("pin".to_owned(), serde_json::Value::Null);
        }
        // An edit is an event, and would remind an operator that has forgotten the Deployment.
        let is_paused = workload.spec.get("paused").and_then(serde_json::Value::as_bool) == Some(true);
        // A rollback that is still to come could bring the image back that cannot start.
        let request = match self.flavour {
            Flavour::Rollwright => workload.spec.get("rollbackTo").is_some(),
            Flavour::AppsV1 => workload.annotation(ROLLBACK_TO).is_some(),
        };
        if request && let Some(members) = spec.as_object_mut() {
            members.insert("rollbackTo".to_owned(), serde_json::Value::Null);
        }
        if request && self.flavour == Flavour::AppsV1 {
            self.edit(&key, json!({ "metadata": { "annotations": { ROLLBACK_TO: null } } }));
        }
        let Some(workload) = self.store.get(&key) else { return };
        if !workload.is_deleting() && (is_paused || request || runs_bad || spec.get("template").is_some()) {
            self.edit(&key, json!({ "spec": spec }));
        }
    }

    /// In half of the runs, what waits for somebody at a step is promoted; in the others, it waits on.
    fn promote_at_last(&mut self, which: Which) {
        let key = self.workload_key(which);
        let truth = self.subjects.get(which).map(|subject| &subject.truth);
        let has_steps = truth.is_some_and(|it| it.workload.as_ref().is_some_and(|it| !it.steps.is_empty()));
        let revision = self.store.get(&key).and_then(|workload| workload.status_number("revision"));
        if let Some(revision) = revision.filter(|_| has_steps && self.scenario.salt.is_multiple_of(2)) {
            // GA-8: with force, in half of these.
            let words = if self.scenario.salt.is_multiple_of(4) { "force/at last" } else { "at last" };
            let text = format!("{revision}/all/{words}");
            self.edit(&key, json!({ "metadata": { "annotations": { PROMOTE: text } } }));
        }
    }

    /// Whether a Deployment is there to stay.
    pub(crate) fn has_workload(&self, which: Which) -> bool {
        self.store.get(&self.workload_key(which)).is_some_and(|object: &Object| !object.is_deleting())
    }
}

fn name(trouble: Trouble) -> &'static str {
    match trouble {
        Trouble::WorkloadLag => "trouble workload lag",
        Trouble::SetLag => "trouble set lag",
        Trouble::Disconnect => "trouble disconnect",
        Trouble::Expired => "trouble expired",
        Trouble::Outage(_) => "trouble outage",
        Trouble::Clock(_) => "trouble clock",
        Trouble::PodQuota => "trouble pod quota",
        Trouble::SetQuota => "trouble set quota",
        Trouble::Webhook => "trouble webhook",
        Trouble::Stripping => "trouble stripping",
        Trouble::NodeLoss(_) => "trouble node loss",
        Trouble::SlowSets => "trouble slow sets",
        Trouble::SlowSet(_) => "trouble slow set",
        Trouble::Twin => "trouble twin",
        Trouble::Down => "trouble down",
        Trouble::TimeTravel(_) => "trouble time travel",
        Trouble::Rival(_) => "trouble rival",
        Trouble::Overload(_) => "trouble overload",
        Trouble::Takeover => "trouble takeover",
        Trouble::Unanswered => "trouble unanswered",
        Trouble::JobQuota => "trouble job quota",
        Trouble::JobsUnreadable => "trouble jobs unreadable",
    }
}
