//! What a migration reads of the cluster, and what follows from it directly.

use std::collections::BTreeMap;

use plan::Flavour;
use plan::equality;
use plan::keys::{FINGERPRINTS, MANAGED_LABEL, MANAGED_VALUE, OUR_PREFIX};
use plan::selector::LabelSelector;
use plan::template::Fingerprint;
use serde_json::{Map, Value};

use crate::deployment::Deployment;
use diagnosis::{controller_of, list, text};

/// Label of a Deployment that a migration made and has not finished: uid and generation of the one
/// that its spec is from. A label, because annotations of a Deployment are copied to its ReplicaSets.
pub(crate) const MIGRATED_FROM: &str = "rollwright.dev/migrated-from";

/// What to do about HorizontalPodAutoscalers that name the Deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum HpaChoice {
    /// Let them scale the new Deployment.
    Retarget,
    /// Leave them unchanged; they have nothing to scale until you change them.
    Leave,
}

/// All that the next step follows from.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// Which API the Deployment will belong to.
    pub(crate) to: Flavour,
    /// As it is of the other API.
    pub(crate) source: Option<Deployment>,
    /// As it is of that API.
    pub(crate) target: Option<Deployment>,
    /// ReplicaSets that the selector finds.
    pub(crate) sets: Vec<Value>,
    /// HorizontalPodAutoscalers of the namespace.
    pub(crate) scalers: Vec<Value>,
    pub(crate) hpa: Option<HpaChoice>,
    /// Whether what runs another revision may go, and the declared one run: a pin, or a failure policy.
    pub(crate) accepts_declared: bool,
    /// What the server would store as the target, or why it would not; asked while there is none.
    pub(crate) dry_run: Option<Result<Value, String>>,
}

/// Who controls the ReplicaSet of the current template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Source,
    Target,
    Nobody,
}

impl Facts {
    pub(crate) fn from(&self) -> Flavour {
        Self::other(self.to)
    }

    /// The other API.
    pub(crate) fn other(flavour: Flavour) -> Flavour {
        match flavour {
            Flavour::Rollwright => Flavour::AppsV1,
            Flavour::AppsV1 => Flavour::Rollwright,
        }
    }

    /// Name and API of the target.
    pub(crate) fn target_name(&self) -> String {
        format!("{}/{}", crate::cluster::kind_and_group(self.to), self.name)
    }

    /// Name and API of the one that there is.
    pub(crate) fn source_name(&self) -> String {
        format!("{}/{}", crate::cluster::kind_and_group(self.from()), self.name)
    }

    fn source_uid(&self) -> Option<&str> {
        self.source.as_ref().map(uid)
    }

    fn target_uid(&self) -> Option<&str> {
        self.target.as_ref().map(uid)
    }

    /// The ReplicaSet of the current template and who controls it. Those that are attached or that
    /// somebody else controls do not count.
    pub(crate) fn current(&self) -> Option<(&Value, Holder)> {
        let held = |set| self.holder(set).map(|holder| (set, holder));
        let candidates: Vec<_> = self.sets.iter().filter(|set| !is_deleting(set)).filter_map(held).collect();
        [&self.source, &self.target].into_iter().flatten().find_map(|deployment| {
            let fitting = candidates.iter().filter(|(set, _)| is_of_template(deployment, set));
            fitting.min_by_key(|(set, _)| (text(set, "/metadata/creationTimestamp"), name(set))).copied()
        })
    }

    fn holder(&self, set: &Value) -> Option<Holder> {
        match controller_of(set) {
            None => Some(Holder::Nobody),
            Some(uid) if Some(uid) == self.source_uid() => Some(Holder::Source),
            Some(uid) if Some(uid) == self.target_uid() => Some(Holder::Target),
            Some(_) => None,
        }
    }

    /// ReplicaSets that this Deployment controls.
    pub(crate) fn controlled_by<'a>(&'a self, deployment: &'a Deployment) -> impl Iterator<Item = &'a Value> {
        self.sets.iter().filter(move |set| controller_of(set) == Some(uid(deployment)))
    }

    /// ReplicaSets of the history that are in the care of a sibling.
    pub(crate) fn attached(&self) -> impl Iterator<Item = &Value> {
        let is_sibling = |owner: &str| self.sets.iter().any(|set| text(set, "/metadata/uid") == owner);
        self.sets.iter().filter(move |set| !is_deleting(set) && controller_of(set).is_some_and(is_sibling))
    }

    /// ReplicaSets beside the current one that nobody controls.
    pub(crate) fn loose<'a>(&'a self, current: &'a Value) -> impl Iterator<Item = &'a Value> {
        let is_loose = |set: &&Value| !is_deleting(set) && controller_of(set).is_none();
        self.sets.iter().filter(is_loose).filter(move |set| name(set) != name(current))
    }

    /// ReplicaSets that the target's controller has to adopt.
    pub(crate) fn orphans(&self) -> impl Iterator<Item = &Value> {
        let is_seen = |set: &Value| self.to == Flavour::AppsV1 || is_managed(set);
        self.sets.iter().filter(move |set| !is_deleting(set) && controller_of(set).is_none() && is_seen(set))
    }

    /// HorizontalPodAutoscalers that scale the source.
    pub(crate) fn scalers_of_source(&self) -> impl Iterator<Item = &Value> {
        let version = self.from().api_version();
        self.scalers.iter().filter(move |scaler| {
            let target = |field: &str| text(scaler, &format!("/spec/scaleTargetRef/{field}"));
            target("kind") == "Deployment"
                && target("name") == self.name
                && target("apiVersion").split('/').next() == version.split('/').next()
        })
    }

    /// Who has to act for the target.
    pub(crate) fn controller(&self) -> &'static str {
        match self.to {
            Flavour::Rollwright => "the operator",
            Flavour::AppsV1 => "the controller of apps/v1",
        }
    }
}

pub(crate) fn uid(deployment: &Deployment) -> &str {
    deployment.text("/metadata/uid")
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// How many pods a ReplicaSet should have.
pub(crate) fn size(set: &Value) -> i64 {
    set.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or(1)
}

/// The label of a Deployment that a migration has not finished.
pub(crate) fn mark(deployment: &Deployment) -> Option<&str> {
    entry(&deployment.body, "labels", MIGRATED_FROM)
}

/// The value of that label on one made from this one as it is now.
pub(crate) fn mark_from(source: &Deployment) -> String {
    let generation = source.body.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    format!("{}.{generation}", uid(source))
}

/// A label or annotation.
pub(crate) fn entry<'a>(object: &'a Value, place: &str, key: &str) -> Option<&'a str> {
    object.pointer("/metadata")?.get(place)?.get(key)?.as_str()
}

pub(crate) fn labels(object: &Value) -> Option<&Map<String, Value>> {
    object.pointer("/metadata/labels")?.as_object()
}

/// Whether a selector that names something finds objects with these labels.
pub(crate) fn selects(selector: &LabelSelector, labels: Option<&Map<String, Value>>) -> bool {
    let labels = labels.into_iter().flatten();
    let labels: BTreeMap<String, String> =
        labels.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
    !selector.is_empty() && selector.matches(&labels)
}

/// Whether the operator may see a ReplicaSet.
pub(crate) fn is_managed(set: &Value) -> bool {
    entry(set, "labels", MANAGED_LABEL) == Some(MANAGED_VALUE)
}

/// The templates that a ReplicaSet was made from, as the operator notes them.
pub(crate) fn fingerprints(set: &Value) -> Vec<Fingerprint> {
    entry(set, "annotations", FINGERPRINTS).map_or_else(Vec::new, Fingerprint::list)
}

/// The template of a Deployment, as the operator recognizes it.
pub(crate) fn fingerprint(deployment: &Deployment) -> Fingerprint {
    Flavour::Rollwright.fingerprint(deployment.template())
}

/// Whether its controller takes this ReplicaSet for that of the current template (S4.1).
pub(crate) fn is_of_template(deployment: &Deployment, set: &Value) -> bool {
    match deployment.flavour {
        Flavour::Rollwright => fingerprints(set).contains(&fingerprint(deployment)),
        Flavour::AppsV1 => {
            equality::equal(deployment.template(), set.pointer("/spec/template").unwrap_or(&Value::Null))
        }
    }
}

/// Labels and annotations of Rollwright on an object.
pub(crate) fn marks(object: &Value) -> impl Iterator<Item = (&'static str, &str)> {
    ["labels", "annotations"].into_iter().flat_map(move |place| {
        let entries = object.get("metadata").and_then(|metadata| metadata.get(place));
        let keys = entries.and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key.as_str());
        keys.filter(|key| key.starts_with(OUR_PREFIX)).map(move |key| (place, key))
    })
}

/// Owners of an object that do not control it.
pub(crate) fn other_owners(object: &Value) -> Vec<Value> {
    let owners = list(object, "/metadata/ownerReferences").iter();
    owners.filter(|owner| owner.get("controller").and_then(Value::as_bool) != Some(true)).cloned().collect()
}
