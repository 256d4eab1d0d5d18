//! What users write about gates and hooks, and do to their Jobs.

use plan::keys::PROMOTE;
use serde_json::{Value, json};
use world::{Deletion, Resource};

use super::steps::named;
use crate::actor::Actor;
use crate::engine::Engine;
use crate::nature::probe_image;
use crate::scenario::{JobAct, Probe};
use crate::subject::Which;

/// A gate or a hook, as the spec has it.
pub(super) fn probe(Probe { doing, timeout, number }: Probe) -> Value {
    let container = json!({ "name": "job", "image": probe_image(doing, number) });
    let job = json!({ "template": { "spec": { "containers": [container] } } });
    let timeout = timeout.map(|seconds| ("timeoutSeconds".to_owned(), json!(seconds)));
    [("job".to_owned(), job)].into_iter().chain(timeout).collect::<serde_json::Map<_, _>>().into()
}

impl Engine<'_> {
    pub(super) fn act_on_jobs(&mut self, which: Which, act: JobAct) {
        let key = self.workload_key(which);
        match act {
            JobAct::Hooks(before, after) => {
                // The merge removes what is null.
                let whole = |hook: Probe| {
                    let mut whole = json!({ "timeoutSeconds": null });
                    whole.as_object_mut()?.extend(probe(hook).as_object()?.clone());
                    Some(whole)
                };
                let hooks = json!({ "before": before.and_then(whole), "after": after.and_then(whole) });
                self.edit(&key, json!({ "spec": { "strategy": { "hooks": hooks } } }));
            }
            JobAct::Delete(number) => {
                if let Some(job) = self.pick(which, Resource::Jobs, number) {
                    _ = self.store.delete(&job, &Deletion::default());
                    self.settle(Actor::Foreign);
                }
            }
            JobAct::Force(target, number) => {
                let Some(revision) = self.store.get(&key).and_then(|it| it.status_number("revision")) else {
                    return;
                };
                let text = format!("{revision}/{}/force/{number}", named(target));
                self.edit(&key, json!({ "metadata": { "annotations": { PROMOTE: text } } }));
            }
        }
    }
}
