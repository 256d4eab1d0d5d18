//! What others do: users, autoscalers, people who edit what they should not.

mod jobs;
mod names;
mod spec;
mod steps;

use std::collections::BTreeSet;

use plan::keys::{ABORT, FINGERPRINTS, HASH_LABEL, MANAGED_LABEL, RESUME, RETRY, REVISION, ROLLBACK_TO};
use plan::{Flavour, set_name};
use serde_json::{Value, json};
use world::{Deletion, Key, Mode, Object, Propagation, Resource};

use crate::actor::Actor;
use crate::engine::{Engine, Event, SECOND};
use crate::nature::{Nature, image};
use crate::scenario::Act;
use crate::subject::Which;
use names::name;
use spec::{policy, strategy, template};

/// Values that nobody should write into an annotation.
const GARBAGE: [&str; 12] = [
    "",
    "0",
    "-1",
    "007",
    " 7",
    "1e9",
    "2147483647",
    "9223372036854775807",
    "9223372036854775808",
    "７",
    "x",
    "3",
];

impl Engine<'_> {
    /// The Deployment as its user wrote it.
    pub(crate) fn create_workload(&mut self, which: Which) {
        let Some(subject) = self.subjects.get(which) else { return };
        let (start, name) = (subject.start, &subject.name);
        let mut strategy = strategy(start.strategy);
        if let Some(members) = strategy.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        let object = json!({
            "metadata": { "name": name, "namespace": subject.namespace, "labels": { "app": name } },
            "spec": {
                "replicas": start.replicas,
                "selector": { "matchLabels": { "app": name } },
                "strategy": strategy,
                "minReadySeconds": start.min_ready_seconds,
                "revisionHistoryLimit": start.history_limit,
                "progressDeadlineSeconds": start.deadline_seconds,
                "template": {
                    // A patch that removes the last of them leaves the map.
                    "metadata": { "labels": { "app": name }, "annotations": {} },
                    "spec": { "containers": [{ "name": "app", "image": image(0) }] },
                },
            },
        });
        let resource = self.workload_key(which).resource;
        // The object is not there: this is called at the start, and after it was deleted.
        _ = self.store.create(Object::from_value(resource, object), Mode::Store);
        self.settle(Actor::Foreign);
    }

    pub(crate) fn step(&mut self, which: Which, index: usize) {
        let Some(step) = self.subjects.get(which).and_then(|subject| subject.steps.get(index)) else {
            return;
        };
        self.deadline_is_told(which);
        let ids: Vec<u64> = self.operators.keys().copied().collect();
        ids.into_iter().for_each(|id| self.nobody_is_forgotten(id));
        let act = step.act.clone();
        self.trace.note(&[self.now, 6, index as u64]);
        if which > 0 {
            self.trace.note(&[which as u64]);
        }
        let now = self.now / crate::engine::MILLISECOND;
        self.trace.say(|| format!("{now:>8} ms step {index} of {which}: {act:?}"));
        self.coverage.hit(name(&act));
        let target =
            self.subjects.get(which).and_then(|it| it.truth.workload.as_ref()?.status.ours.target.clone());
        if target.is_some_and(|target| target.is_reverted()) {
            self.coverage.hit(match act {
                Act::Scale(_) => "scaled while reverted",
                Act::Template(_) => "template while reverted",
                _ => "another act while reverted",
            });
        }
        if self.subjects.get(which).is_some_and(|subject| subject.truth.pinned().is_some()) {
            match act {
                Act::Scale(_) => self.coverage.hit("scaled while pinned"),
                Act::Template(_) => self.coverage.hit("template while pinned"),
                _ => {}
            }
        }
        match act {
            Act::Template(number) => self.edit_spec(which, &json!({ "template": template(number) })),
            Act::Scale(size) => self.edit_spec(which, &json!({ "replicas": size })),
            Act::TemplateAndScale(number, size) => {
                self.edit_spec(which, &json!({ "template": template(number), "replicas": size }));
            }
            Act::Pause(paused) => self.edit_spec(which, &json!({ "paused": paused })),
            Act::RollBack(revision) => self.ask_for_rollback(which, revision),
            Act::Strategy(rollout) => self.edit_spec(which, &json!({ "strategy": strategy(rollout) })),
            Act::HistoryLimit(limit) => self.edit_spec(which, &json!({ "revisionHistoryLimit": limit })),
            Act::MinReady(seconds) => {
                self.edit_spec(which, &json!({ "minReadySeconds": seconds }));
            }
            Act::Annotate(value) => {
                let key = self.workload_key(which);
                self.edit(&key, json!({ "metadata": { "annotations": { "team": value.to_string() } } }));
            }
            Act::Pin(set, is_while) => self.pin(which, set, is_while),
            Act::Policy(action, bake, criteria) => {
                self.edit_spec(which, &json!({ "failurePolicy": policy(action, bake, &criteria) }));
            }
            Act::Retry(number) => self.ask_about_revision(which, RETRY, number),
            Act::Abort(number) => self.ask_about_revision(which, ABORT, number),
            Act::PinNothing => self.edit_spec(which, &json!({ "pin": { "podTemplateHash": "missing" } })),
            Act::DeletePinned => self.delete_pinned(which),
            Act::Hold(is_manual) => {
                let policy = if is_manual { "Manual" } else { "Automatic" };
                self.edit_spec(which, &json!({ "resumePolicy": policy }));
            }
            Act::Continue => self.say_the_word(which),
            Act::Stages(..) | Act::Promote(..) | Act::Forget | Act::Spoil(_) => self.step_on(which, &act),
            Act::Jobs(act) => self.act_on_jobs(which, act),
            Act::Lack(is_lacking) => self.lack(which, is_lacking, |nature| &mut nature.lacking),
            Act::Crash(is_crashing) => self.lack(which, is_crashing, |nature| &mut nature.crashing),
            Act::Unpin => self.edit_spec(which, &json!({ "pin": null })),
            Act::OrphanAndReturn => self.orphan(which),
            other => self.meddle(which, &other),
        }
    }

    /// PD-1, where nothing goes wrong with operators.
    pub(crate) fn deadline_is_told(&mut self, which: Which) {
        let subject = self.subjects.get(which).filter(|_| self.scenario.faults.is_empty());
        if let Some(workload) = subject.and_then(|subject| subject.truth.workload.clone()) {
            let verdict = crate::checks::progress::is_told(&workload, self.wall());
            self.checks.fail("PD-1", verdict);
            let truth = self.subjects.get(which).map(|subject| &subject.truth);
            let verdict =
                truth.map_or(Ok(()), |truth| crate::checks::progress::fails_in_time(truth, self.wall()));
            self.checks.fail("FP-3", verdict);
        }
        self.jobs_are_ended(which);
        self.pods_are_heeded(which);
    }

    /// FP-4, where nothing goes wrong with operators.
    pub(crate) fn pods_are_heeded(&mut self, which: Which) {
        let is_quiet = self.scenario.faults.is_empty() && !self.nature.is_healed;
        let subject = self.subjects.get(which).filter(|subject| is_quiet && subject.truth.reads_signs);
        if let Some(subject) = subject {
            let verdict = crate::checks::evidence::is_heeded(&subject.truth, self.wall());
            self.checks.fail("FP-4", verdict);
        }
    }

    fn edit_spec(&mut self, which: Which, spec: &Value) {
        let key = self.workload_key(which);
        self.edit(&key, json!({ "spec": spec }));
    }

    fn ask_for_rollback(&mut self, which: Which, revision: i64) {
        match self.flavour {
            Flavour::Rollwright => self.edit_spec(which, &json!({ "rollbackTo": { "revision": revision } })),
            Flavour::AppsV1 => {
                let key = self.workload_key(which);
                let annotations = json!({ ROLLBACK_TO: revision.to_string() });
                self.edit(&key, json!({ "metadata": { "annotations": annotations } }));
            }
        }
    }

    fn ask_about_revision(&mut self, which: Which, annotation: &str, number: u8) {
        let key = self.workload_key(which);
        let Some(revision) = self.store.get(&key).and_then(|it| it.status_number("revision")) else { return };
        let text = format!("{revision}/{number}");
        self.edit(&key, json!({ "metadata": { "annotations": { annotation: text } } }));
    }

    fn say_the_word(&mut self, which: Which) {
        let new = self.subjects.get(which).and_then(|subject| subject.truth.new_set());
        let Some(word) = new.and_then(|new| new.set.word_to_resume()) else { return };
        let key = self.workload_key(which);
        self.edit(&key, json!({ "metadata": { "annotations": { RESUME: word } } }));
    }

    fn pin(&mut self, which: Which, set: u8, is_while: bool) {
        let set = self.pick(which, Resource::ReplicaSets, set).and_then(|key| self.store.get(&key));
        let hash = set.and_then(|set| set.label(HASH_LABEL)).map(str::to_owned);
        let workload = self.store.get(&self.workload_key(which));
        let template = workload.and_then(|workload| workload.spec.get("template"));
        let fingerprint = template.map(|template| self.flavour.fingerprint(template).as_str().to_owned());
        let Some(hash) = hash else { return };
        self.edit_spec(
            which,
            &json!({ "pin": { "podTemplateHash": hash, "templateFingerprint": fingerprint.filter(|_| is_while) } }),
        );
    }

    fn delete_pinned(&mut self, which: Which) {
        self.is_meddled_with(which);
        let pinned = self.subjects.get(which).and_then(|it| it.truth.pinned().flatten());
        let name = pinned.map(|pinned| pinned.set.name.clone());
        if let (Some(name), namespace) = (name, self.workload_key(which).namespace) {
            let key = Key::new(Resource::ReplicaSets, &namespace, &name);
            _ = self.store.delete(&key, &Deletion::default());
            self.settle(Actor::Foreign);
        }
    }

    /// What all pods of a Deployment need is gone, or there again: none is ready, or all crash.
    fn lack(&mut self, which: Which, is_lacking: bool, of: impl Fn(&mut Nature) -> &mut BTreeSet<String>) {
        let Some(name) = self.subjects.get(which).map(|subject| subject.name.clone()) else { return };
        self.nature.has_lacked = true;
        let lacking = of(&mut self.nature);
        if is_lacking {
            lacking.insert(name);
        } else {
            lacking.remove(&name);
        }
        self.look_at_pods();
    }

    fn orphan(&mut self, which: Which) {
        let key = self.workload_key(which);
        self.is_meddled_with(which);
        let deletion = Deletion { propagation: Some(Propagation::Orphan), ..Deletion::default() };
        _ = self.store.delete(&key, &deletion);
        self.settle(Actor::Foreign);
        self.after(2 * SECOND, Event::Return(which));
    }

    /// The Deployment is created again, once the old one is gone.
    pub(crate) fn come_back(&mut self, which: Which) {
        let key = self.workload_key(which);
        if self.store.get(&key).is_some_and(Object::is_deleting) {
            self.after(SECOND, Event::Return(which));
        } else {
            self.create_workload(which);
        }
    }

    /// The k-th object of a kind around a Deployment.
    pub(crate) fn pick(&self, of: Which, resource: Resource, which: u8) -> Option<Key> {
        let subject = self.subjects.get(of)?;
        let there = self.store.list(resource, Some(&subject.namespace));
        let keys: Vec<Key> = there.filter(|object| self.whose(object) == of).map(Key::of).collect();
        keys.get(usize::from(which) % keys.len().max(1)).cloned()
    }

    /// Somebody edits what belongs to the operator.
    fn meddle(&mut self, of: Which, act: &Act) {
        // A pod that goes or restarts changes no size.
        if !matches!(act, Act::DeletePod(_) | Act::Restart(_)) {
            self.is_meddled_with(of);
        }
        let set = |which: &u8| self.pick(of, Resource::ReplicaSets, *which);
        match act {
            Act::ScaleSet(which, size) => {
                if let Some(key) = set(which) {
                    self.edit(&key, json!({ "spec": { "replicas": size } }));
                }
            }
            Act::Garbage(which, garbage) => {
                if let Some(key) = set(which) {
                    let text = GARBAGE.get(usize::from(*garbage)).copied().unwrap_or_default();
                    let names = [REVISION, plan::keys::DESIRED_REPLICAS, plan::keys::MAX_REPLICAS];
                    let name = names.get(usize::from(*which) % names.len()).copied().unwrap_or(REVISION);
                    self.edit(&key, json!({ "metadata": { "annotations": { name: text } } }));
                }
            }
            Act::Unlabel(which) => {
                if let Some(key) = set(which) {
                    self.edit(&key, json!({ "metadata": { "labels": { "app": null } } }));
                }
            }
            // While the watch of ReplicaSets stands still or breaks, an owned ReplicaSet could leave it before it was
            // ever shown; then nobody looks for it before the next start (docs/internals/invariants.md).
            Act::Unmark(_) if self.holds.sets > 0 => {}
            Act::Unmark(which) => {
                if let Some(key) = set(which) {
                    self.edit(&key, json!({ "metadata": { "labels": { MANAGED_LABEL: null } } }));
                }
            }
            Act::Disown(which) => {
                if let Some(key) = set(which) {
                    self.edit(&key, json!({ "metadata": { "ownerReferences": null } }));
                }
            }
            Act::DeleteSet(which) => {
                if let Some(key) = set(which) {
                    _ = self.store.delete(&key, &Deletion::default());
                    self.settle(Actor::Foreign);
                }
            }
            Act::DeletePod(which) => {
                if let Some(key) = self.pick(of, Resource::Pods, *which) {
                    _ = self.store.delete(&key, &Deletion::default());
                    self.settle(Actor::Foreign);
                }
            }
            Act::TakeName(number, whose) => self.take_name(of, *number, *whose),
            Act::Restart(which) => {
                if let Some(key) = self.pick(of, Resource::Pods, *which) {
                    self.kubelets.restart(&key, self.wall());
                    self.look_at(self.now, key);
                }
            }
            _ => {}
        }
    }
}

impl Engine<'_> {
    /// A ReplicaSet with the name that the ReplicaSet of a template would get.
    fn take_name(&mut self, of: Which, number: u8, whose: u8) {
        let Some(subject) = self.subjects.get(of) else { return };
        let Some(workload) = self.store.get(&self.workload_key(of)) else { return };
        let mut template = workload.spec.get("template").cloned().unwrap_or_default();
        if let Some(known) = template.pointer_mut("/spec/containers/0/image") {
            *known = json!(image(number));
        }
        let collisions = workload.status_number("collisionCount").and_then(|count| i32::try_from(count).ok());
        let hash = plan::template::pod_template_hash(&template, collisions);
        let fingerprint = self.flavour.fingerprint(&template);
        let labels = json!({ "app": if whose == 0 { "other" } else { subject.name.as_str() }, HASH_LABEL: "squatter", MANAGED_LABEL: "true" });
        let mut metadata = json!({ "name": set_name(&subject.name, &hash), "namespace": subject.namespace, "labels": labels });
        if whose > 0 {
            // A kind that nobody serves: the garbage collector leaves it alone.
            let owner = json!([{ "apiVersion": "example.com/v1", "kind": "Other", "name": "other", "uid": "other", "controller": true }]);
            insert(&mut metadata, "ownerReferences", owner);
        }
        if whose > 1 {
            insert(&mut metadata, "annotations", json!({ FINGERPRINTS: fingerprint.as_str() }));
        }
        let object = json!({
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "selector": { "matchLabels": { HASH_LABEL: "squatter" } },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "app", "image": "other" }] },
                },
            },
        });
        _ = self.store.create(Object::from_value(Resource::ReplicaSets, object), Mode::Store);
        self.settle(Actor::Foreign);
    }
}

fn insert(object: &mut Value, field: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(field.to_owned(), value);
    }
}
