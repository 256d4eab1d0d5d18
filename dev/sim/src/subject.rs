//! A Deployment of a run: what it is called, how it really is, and what the checks remember of it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use world::{Key, Object, Resource};

use crate::checks::Marks;
use crate::engine::Engine;
use crate::history::workloads_of;
use crate::jobs::{Jobs, is_of_job};
use crate::rival::Rivalry;
use crate::scenario::{Scenario, Start, Step};
use crate::signs::Window;
use crate::tenant::{TENANT, TENANTS};
use crate::truth::Truth;

/// The first Deployment; the others are called `web-1`, `web-2`, and so on.
const NAME: &str = "web";
/// The first namespace; the others are `sim-1` to `sim-3`.
const NAMESPACE: &str = "sim";

/// Which Deployment of the scenario: 0 is the first.
pub(crate) type Which = usize;

/// A Deployment of a run.
pub(crate) struct Subject<'a> {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) start: &'a Start,
    pub(crate) steps: &'a [Step],
    pub(crate) truth: Truth,
    pub(crate) marks: Marks,
    /// Whether nobody but one operator has changed its sizes so far.
    pub(crate) is_alone: bool,
    pub(crate) rivalry: Rivalry,
    /// How operators looked at its pods.
    pub(crate) looks: BTreeMap<u64, Look>,
}

/// How an operator looks at pods, page by page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// When it began last.
    pub(crate) began: Timestamp,
    /// When the last one that came to its end began and ended.
    pub(crate) whole: Option<Window>,
}

impl<'a> Subject<'a> {
    /// All of a scenario.
    pub(crate) fn all(scenario: &'a Scenario) -> Vec<Self> {
        let is_untimed = scenario.clock_off() > 0;
        let first = (0, &scenario.start, scenario.steps.as_slice());
        let others = scenario.others().iter();
        let others = others.map(|member| (member.namespace, &member.start, member.steps.as_slice()));
        let all = std::iter::once(first).chain(others).enumerate();
        let subjects = all.map(|(which, (namespace, start, steps))| Self {
            namespace: numbered(NAMESPACE, usize::from(namespace)),
            name: numbered(NAME, which),
            start,
            steps,
            truth: Truth::new(steps.iter().any(Step::judges_by_pods), is_untimed, Jobs::new(scenario)),
            marks: Marks::default(),
            is_alone: true,
            rivalry: Rivalry::default(),
            looks: BTreeMap::new(),
        });
        subjects.collect()
    }
}

fn numbered(name: &str, number: usize) -> String {
    if number == 0 { name.to_owned() } else { format!("{name}-{number}") }
}

/// The Deployment of this name. Those of the tenant have the same names.
pub(crate) fn called(namespace: &str, name: &str) -> Which {
    let number = name.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('-'));
    let number = number.and_then(|number| number.parse().ok()).unwrap_or(0);
    if namespace == TENANT { number + TENANTS } else { number }
}

impl Engine<'_> {
    /// The Deployment of an object, by its name: a ReplicaSet is called after its Deployment, and a pod after its
    /// ReplicaSet.
    pub(crate) fn whose(&self, object: &Object) -> Which {
        let is_tenants = object.namespace() == TENANT;
        if self.subjects.len() == 1 && !is_tenants {
            return 0;
        }
        let stem = |name: &'_ str| name.rsplit_once('-').map_or(name.len(), |(stem, _)| stem.len());
        let mut name = object.name();
        let depth = match object.resource {
            Resource::Pods if is_of_job(object) => 4,
            Resource::Jobs => 3,
            Resource::Pods => 2,
            Resource::ReplicaSets => 1,
            _ => 0,
        };
        for _ in 0..depth {
            name = name.get(..stem(name)).unwrap_or(name);
        }
        let which = Some(called(object.namespace(), name));
        which.filter(|which| is_tenants || *which < self.subjects.len()).unwrap_or(0)
    }

    /// The key of a Deployment in the store.
    pub(crate) fn workload_key(&self, which: Which) -> Key {
        let (namespace, name) =
            self.subjects.get(which).map_or((NAMESPACE, NAME), |one| (&one.namespace, &one.name));
        Key::new(workloads_of(self.flavour), namespace, name)
    }

    /// Nobody is alone any more.
    pub(crate) fn is_joined(&mut self) {
        self.subjects.iter_mut().for_each(|subject| subject.is_alone = false);
    }

    /// Somebody else has changed sizes of this one.
    pub(crate) fn is_meddled_with(&mut self, which: Which) {
        if let Some(subject) = self.subjects.get_mut(which) {
            subject.is_alone = false;
        }
    }
}
