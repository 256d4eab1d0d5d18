//! `status` of a Deployment, which only the operator writes. The doc comments are what
//! `kubectl explain` prints.

#![expect(unreachable_pub, reason = "kube's derive copies the structs into functions")]

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube_derive::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::spec::Deployment;
use crate::words;

/// `observedGeneration` before anything was observed; generations start at 1.
///
/// The default of the status, until the operator first writes it: without an `observedGeneration` that is
/// not the present one, whatever waits would take a Deployment that nobody has looked at for done (S9.1;
/// `kstatus` and `kubectl wait` go by it).
const NOT_OBSERVED: i64 = -1;

/// What was found and done; written by the operator.
///
/// A field without a value is written as null: a merge patch takes it away.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(
    description = "What was found and done; written by the operator.",
    extend("default" = {"observedGeneration": NOT_OBSERVED})
)]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct DeploymentStatus {
    /// The metadata.generation that this status describes; -1 before the first look.
    #[schemars(range(min = NOT_OBSERVED))]
    pub observed_generation: Option<i64>,

    /// Pods of all ReplicaSets, without those that are shutting down.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub replicas: Option<i32>,

    /// Pods of the current template.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub updated_replicas: Option<i32>,

    /// Ready pods.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub ready_replicas: Option<i32>,

    /// Pods that have been ready for minReadySeconds.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub available_replicas: Option<i32>,

    /// Pods that the ReplicaSets should have and that are not available.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub unavailable_replicas: Option<i32>,

    /// Pods that are shutting down; absent while a ReplicaSet does not report them.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub terminating_replicas: Option<i32>,

    /// How often a ReplicaSet's name was taken; the next name differs by it.
    #[schemars(range(min = 0))]
    pub collision_count: Option<i32>,

    /// Revision of the ReplicaSet that stands for the current template; the last one while there is none
    /// yet. Example: 3.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// Current size for autoscalers: pods without the surge.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub scale_replicas: Option<i32>,

    /// The label selector in the form that autoscalers read. Example: app=web.
    pub selector: Option<String>,

    /// Ready pods out of wanted pods, for the READY column. Example: 3/4.
    pub ready: Option<String>,

    /// Names of the template's containers, for the CONTAINERS column. Example: web,proxy.
    pub containers: Option<String>,

    /// Images of the template's containers, for the IMAGES column.
    pub images: Option<String>,

    /// Ready when the rollout is complete, else Reconciling, or Stalled when somebody has to do something;
    /// Available, Progressing and ReplicaFailure as in apps/v1; RollbackRefused while a spec.rollbackTo
    /// that keeps coming back is not carried out; CollisionLimitReached while all names that were tried
    /// for the new ReplicaSet are taken; RevisionLimitReached while there are too many ReplicaSets and
    /// none that could be deleted.
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".to_owned()]))]
    pub conditions: Option<Vec<Condition>>,

    /// Outcome of the last spec.rollbackTo.
    pub rollback: Option<Rollback>,

    /// The names that were taken when a ReplicaSet of the current template was to be created.
    pub collisions: Option<Collisions>,

    /// A name set aside, so that an older definition keeps what a newer operator writes there.
    #[schemars(description = "")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Open>,

    /// As [`target`](Self::target).
    #[schemars(description = "")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Open>,

    /// As [`target`](Self::target).
    #[schemars(description = "")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Open>>,
}

/// One entry of `status.conditions`. Kubernetes has two such types: that of apps/v1 lacks
/// `observedGeneration`, and the newer one lacks `lastUpdateTime`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct Condition {
    /// What it is about. Example: Ready.
    #[serde(rename = "type")]
    pub kind: String,

    /// Whether it holds.
    pub status: ConditionStatus,

    /// Why, in one word for machines. Example: RolloutComplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,

    /// Why, in a sentence for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// When the operator last changed status, reason or message.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,

    /// When status last changed.
    #[serde(default, deserialize_with = "time", skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,

    /// The metadata.generation that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,

    /// Fields of foreign conditions that we do not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: BTreeMap<String, Value>,
}

/// Whether a condition holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(transform = words::known)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// Nobody can say.
    #[default]
    Unknown,
    /// A word of somebody else.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for ConditionStatus {
    /// As in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// `status.rollback`: what came of the last `spec.rollbackTo`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"))]
pub struct Rollback {
    /// Revision asked for; 0 for the previous one.
    #[schemars(range(min = 0))]
    pub requested: Option<i64>,

    /// Revision whose template was put back; 0 when there was none.
    #[schemars(range(min = 0))]
    pub revision: Option<i64>,

    /// RolledBack, RevisionNotFound, TemplateUnchanged, Invalid or Refused.
    #[schemars(with = "Option<String>")]
    pub result: Option<RollbackResult>,

    /// Why the server did not take the template.
    pub message: Option<String>,

    /// When it was decided.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,

    /// The rollbacks of the last ten minutes, oldest first, by which a request that returns over and over
    /// is recognized.
    #[schemars(length(max = 3))]
    pub recent: Option<Vec<RecentRollback>>,
}

/// What came of a request for a rollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RollbackResult {
    /// The template was put back.
    RolledBack,
    /// There is no such revision.
    RevisionNotFound,
    /// The template is the current one.
    TemplateUnchanged,
    /// The server refused the template.
    Invalid,
    /// The request came back too often.
    Refused,
    /// A result of a newer operator.
    #[serde(untagged)]
    Other(String),
}

impl fmt::Display for RollbackResult {
    /// As in JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One rollback of the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(description = "")]
pub struct RecentRollback {
    /// When it was decided.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,
    /// Fingerprint of the template that was replaced.
    pub from: Option<String>,
    /// Fingerprint of the template that was put back.
    pub to: Option<String>,
}

/// `status.collisions`: how often the name of a template's ReplicaSet was taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Collisions {
    /// Fingerprint of the template.
    pub template: Option<String>,
    /// How often, since the template came.
    #[schemars(range(min = 0))]
    #[serde(default, deserialize_with = "count")]
    pub count: Option<i32>,
    /// When last.
    #[serde(default, deserialize_with = "time")]
    pub time: Option<Time>,
}

/// An object with any fields: a name set aside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Open(pub BTreeMap<String, Value>);

impl JsonSchema for Open {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Open".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

impl DeploymentStatus {
    /// The condition of a type.
    #[must_use]
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().flatten().find(|condition| condition.kind == kind)
    }
}

impl Deployment {
    /// Whether the operator has seen this generation, and the rollout is complete.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.status.as_ref().is_some_and(|status| {
            let is_seen = status.observed_generation >= self.metadata.generation;
            let ready = status.condition("Ready").map(|condition| &condition.status);
            is_seen && ready == Some(&ConditionStatus::True)
        })
    }
}

/// A count as stored, cut to 32 bits: whoever may write the status may write anything, and sums of counts
/// must not overflow.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i32>, D::Error> {
    let stored = Option::<i64>::deserialize(deserializer)?;
    let bound = |value: i64| i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX });
    Ok(stored.map(bound))
}

/// Garbage in a time counts as absent: it may come from anybody. So does what the API cannot write.
fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    Ok(value.as_ref().and_then(Value::as_str).and_then(read_time))
}

/// A time of the years that `metav1.Time` can hold.
pub(crate) fn read_time(text: &str) -> Option<Time> {
    const YEAR_0: Timestamp = Timestamp::constant(-62_167_219_200, 0);
    let time: Timestamp = text.parse().ok()?;
    (time >= YEAR_0).then_some(Time(time))
}
