//! The schema of `spec.selector`. The value is k8s-openapi's `LabelSelector`. Its own schema has no limits, but the
//! rules walk labels, terms and values, and the API server refuses rules when it cannot bound their cost.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube_derive::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use crate::rules;

/// How many labels or selector terms there may be, and values of a term.
const MAX_TERMS: usize = 64;
const MAX_VALUES: usize = 128;
/// Limits of Kubernetes itself for the parts of a label: prefix, slash and name; and the value.
const MAX_LABEL_KEY: usize = 253 + 1 + 63;
const MAX_LABEL_VALUE: usize = 63;

/// A label selector with its limits.
#[derive(Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(crates(kube_core = "::kube_core"), validation = rules::selector_says_something())]
pub(crate) struct Selector {
    /// Labels that a pod must have with exactly these values. Example: {app: web}.
    #[schemars(extend("maxProperties" = MAX_TERMS))]
    #[x_kube(validation = rules::keys_are_label_keys(), validation = rules::values_are_label_values())]
    match_labels: Option<BTreeMap<String, LabelValue>>,

    /// Requirements for the labels of a pod besides matchLabels; all must hold. Example: [{key: tier, operator: In,
    /// values: [web]}].
    #[schemars(length(max = MAX_TERMS))]
    match_expressions: Option<Vec<Term>>,
}

/// One entry of `matchExpressions`.
#[derive(Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    crates(kube_core = "::kube_core"),
    validation = rules::some_operators_need_values(),
    validation = rules::some_operators_take_no_values()
)]
#[schemars(description = "")]
struct Term {
    /// Key of the label. Example: tier.
    #[schemars(length(max = MAX_LABEL_KEY))]
    #[x_kube(validation = rules::is_label_key())]
    key: String,

    /// How the label relates to the values: In, NotIn, Exists, or DoesNotExist.
    #[schemars(extend("enum" = ["In", "NotIn", "Exists", "DoesNotExist"]))]
    operator: String,

    /// Values to compare the label with; only for the operators In and NotIn. Example: [web, api].
    #[schemars(length(max = MAX_VALUES))]
    #[x_kube(validation = rules::are_label_values())]
    values: Option<Vec<LabelValue>>,
}

/// The schema of a label's value.
#[derive(Serialize)]
pub(crate) enum LabelValue {}

impl JsonSchema for LabelValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "LabelValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": MAX_LABEL_VALUE })
    }
}
