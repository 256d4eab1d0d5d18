//! What users do to the steps of a rollout, and the fate of its pods meanwhile.

use plan::keys::{PROMOTE, ROLLOUT};
use serde_json::{Value, json};
use world::{Key, Resource};

use super::jobs::probe;
use super::spec::share;
use crate::engine::Engine;
use crate::scenario::{Act, Share, Spoiled, Stage, Target};
use crate::subject::Which;

fn stage(Stage { updated, approval, wait, gate }: &Stage) -> Value {
    let gate = gate.map(|gate| ("gate".to_owned(), probe(gate)));
    let approval = approval.then(|| ("approval".to_owned(), json!("Required")));
    let wait = wait.map(|seconds| ("waitSeconds".to_owned(), json!(seconds)));
    let updated = [("updated".to_owned(), share(*updated))];
    updated.into_iter().chain(approval).chain(wait).chain(gate).collect::<serde_json::Map<_, _>>().into()
}

pub(super) fn named(target: Target) -> String {
    match target {
        Target::All => "all".to_owned(),
        Target::Of(Share::Pods(pods)) => pods.to_string(),
        Target::Of(Share::Percent(percent)) => format!("{percent}%"),
    }
}

impl Engine<'_> {
    pub(super) fn step_on(&mut self, which: Which, act: &Act) {
        let key = self.workload_key(which);
        match act {
            Act::Stages(list, good_skips_steps) => {
                let Some(workload) = self.store.get(&key) else { return };
                // The API server refuses steps under Recreate.
                if workload.spec.pointer("/strategy/type").and_then(Value::as_str) == Some("RollingUpdate") {
                    let steps: Vec<Value> = list.iter().map(stage).collect();
                    let skip = if *good_skips_steps { "GoodRevisions" } else { "Nothing" };
                    let limits = json!({ "steps": steps, "skipStepsFor": skip });
                    self.edit(&key, json!({ "spec": { "strategy": { "rollingUpdate": limits } } }));
                }
            }
            Act::Promote(target, number) => {
                let Some(revision) = self.store.get(&key).and_then(|it| it.status_number("revision")) else {
                    return;
                };
                let text = format!("{revision}/{}/{number}", named(*target));
                self.edit(&key, json!({ "metadata": { "annotations": { PROMOTE: text } } }));
            }
            Act::Forget => self.forget(which, &key.namespace),
            Act::Spoil(how) => self.spoil(which, *how),
            _ => {}
        }
    }

    /// The rest of its memory stays.
    fn forget(&mut self, which: Which, namespace: &str) {
        let Some(truth) = self.subjects.get(which).map(|subject| &subject.truth) else { return };
        let Some(set) = truth.new_set().map(|truth| truth.set.clone()) else { return };
        let memory = set.annotations.get(ROLLOUT).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(mut memory) = memory else { return };
        if memory.as_object_mut().and_then(|members| members.remove("steps")).is_some() {
            let key = Key::new(Resource::ReplicaSets, namespace, &set.name);
            self.edit(&key, json!({ "metadata": { "annotations": { ROLLOUT: memory.to_string() } } }));
        }
    }

    fn spoil(&mut self, which: Which, how: Spoiled) {
        let Some(workload) = self.store.get(&self.workload_key(which)) else { return };
        let image = workload.spec.pointer("/template/spec/containers/0/image").and_then(Value::as_str);
        let Some(image) = image else { return };
        let pods = format!("{} {image}", workload.name());
        self.nature.has_lacked = true;
        self.nature.lacking.remove(&pods);
        self.nature.crashing.remove(&pods);
        match how {
            Spoiled::No => {}
            Spoiled::Unready => _ = self.nature.lacking.insert(pods),
            Spoiled::Crashing => _ = self.nature.crashing.insert(pods),
        }
        self.look_at_pods();
    }
}
