//! The validation rules (CEL) of the CRD: what a schema alone cannot express.
//!
//! Every rule is at the lowest node that holds everything it compares, so the API server names the field.
//! The message states what to write instead. Rules over fields with a default use the default, since
//! Rollwright Deployments are stored as they were written.

use kube_core::Rule;

/// A label key: an optional DNS subdomain and a slash, then a name of at most 63 characters.
const KEY: &str = "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?\
    [A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$";
/// How long the DNS subdomain may be.
const MAX_PREFIX: usize = 253;
/// A label value; may be empty. Its length is bounded by the schema.
const VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
const KEY_HELP: &str = "a label key is an optional DNS prefix and '/', then at most 63 letters, digits, '-', \
    '_' or '.', beginning and ending with a letter or digit: correct the key";
const VALUE_HELP: &str = "a label value is at most 63 letters, digits, '-', '_' or '.', beginning and ending \
    with a letter or digit: correct the value";

/// Expressions for the labels of the template, which may be absent on two levels.
const HAS_LABELS: &str = "has(self.template.metadata) && has(self.template.metadata.labels)";
const LABELS: &str = "self.template.metadata.labels";

fn is_key(name: &str) -> String {
    format!("{name}.matches('{KEY}') && {name}.indexOf('/') <= {MAX_PREFIX}")
}

fn rule(expression: &str, message: &str) -> Rule {
    Rule::new(expression).message(message)
}

fn rule_at(path: &str, expression: &str, message: &str) -> Rule {
    rule(expression, message).field_path(path)
}

/// S1.28, with the defaults of S1.8 and S1.10.
pub(crate) fn deadline_is_long_enough() -> Rule {
    rule_at(
        ".progressDeadlineSeconds",
        "(has(self.progressDeadlineSeconds) ? self.progressDeadlineSeconds : 600) > \
         (has(self.minReadySeconds) ? self.minReadySeconds : 0)",
        "must be greater than spec.minReadySeconds: raise progressDeadlineSeconds (600 if absent) or lower \
         minReadySeconds",
    )
}

pub(crate) fn selector_is_kept() -> Rule {
    // No fieldPath: the field is absent.
    rule(
        "!has(oldSelf.selector) || has(self.selector)",
        "spec.selector cannot be removed once it is set: restore the stored selector",
    )
}

/// S1.29: nil and empty lists are the same.
pub(crate) fn selector_is_immutable() -> Rule {
    let labels =
        |side: &str| format!("(has({side}.selector.matchLabels) ? {side}.selector.matchLabels : {{}})");
    let terms = |side: &str| {
        format!(
            "(has({side}.selector.matchExpressions) ? {side}.selector.matchExpressions.map(e, \
             [[e.key, e.operator], has(e.values) ? e.values : []]) : [])"
        )
    };
    rule_at(
        ".selector",
        &format!(
            "!has(oldSelf.selector) || !has(self.selector) || ({} == {} && {} == {})",
            labels("self"),
            labels("oldSelf"),
            terms("self"),
            terms("oldSelf"),
        ),
        "is immutable: restore the stored selector, or create a Deployment under another name",
    )
}

/// Without a selector the labels of the template become it, so there must be some.
pub(crate) fn selector_or_labels() -> Rule {
    rule(
        &format!("has(self.selector) || ({HAS_LABELS} && size({LABELS}) > 0)"),
        "spec.selector is required when the template has no labels: add spec.template.metadata.labels",
    )
}

/// S1.23 for matchLabels.
pub(crate) fn labels_match() -> Rule {
    rule_at(
        ".template.metadata.labels",
        &format!(
            "!has(self.selector) || !has(self.selector.matchLabels) || self.selector.matchLabels.all(k, \
             {HAS_LABELS} && k in {LABELS} && {LABELS}[k] == self.selector.matchLabels[k])"
        ),
        "must satisfy spec.selector: add every label of spec.selector.matchLabels, with the same value",
    )
}

/// S1.23 for matchExpressions.
pub(crate) fn expressions_match() -> Rule {
    let present = format!("({HAS_LABELS} && e.key in {LABELS})");
    let listed = format!("({present} && has(e.values) && {LABELS}[e.key] in e.values)");
    rule_at(
        ".template.metadata.labels",
        &format!(
            "!has(self.selector) || !has(self.selector.matchExpressions) || \
             self.selector.matchExpressions.all(e, e.operator == 'In' ? {listed} : e.operator == 'NotIn' ? \
             !{listed} : e.operator == 'Exists' ? {present} : !{present})"
        ),
        "must satisfy spec.selector: add or change labels until all of spec.selector.matchExpressions hold",
    )
}

/// S1.22: a selector that is present is not empty.
pub(crate) fn selector_says_something() -> Rule {
    rule(
        "(has(self.matchLabels) && size(self.matchLabels) > 0) || \
         (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
        "must not be empty: add matchLabels, or leave the selector out to use the template's labels",
    )
}

/// S1.22.
pub(crate) fn some_operators_need_values() -> Rule {
    rule(
        "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)",
        "operators In and NotIn need values: add at least one to values",
    )
}

/// S1.22.
pub(crate) fn some_operators_take_no_values() -> Rule {
    rule(
        "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
        "operators Exists and DoesNotExist take no values: remove values",
    )
}

/// S1.22, S1.32: the keys of a map of labels.
pub(crate) fn keys_are_label_keys() -> Rule {
    rule(&format!("self.all(k, {})", is_key("k")), KEY_HELP)
}

/// S1.22, S1.32: the values of a map of labels.
pub(crate) fn values_are_label_values() -> Rule {
    rule(&format!("self.all(k, self[k].matches('{VALUE}'))"), VALUE_HELP)
}

/// S1.22: the key of a selector term.
pub(crate) fn is_label_key() -> Rule {
    rule(&is_key("self"), KEY_HELP)
}

/// S1.22: the values of a selector term.
pub(crate) fn are_label_values() -> Rule {
    rule(&format!("self.all(v, v.matches('{VALUE}'))"), VALUE_HELP)
}

/// S1.25.
pub(crate) fn recreate_has_no_limits() -> Rule {
    rule_at(
        ".rollingUpdate",
        "!(has(self.type) && self.type == 'Recreate' && has(self.rollingUpdate))",
        "may not be set when spec.strategy.type is Recreate: remove rollingUpdate, or use RollingUpdate",
    )
}

/// CU-1.
pub(crate) fn custom_has_a_process() -> Rule {
    rule_at(
        ".custom",
        "(has(self.type) && self.type == 'Custom') == has(self.custom)",
        "must be set if, and only if, spec.strategy.type is Custom: set custom.image, or remove custom",
    )
}

/// CU-1: the process decides.
pub(crate) fn custom_has_no_steps() -> Rule {
    rule_at(
        ".rollingUpdate",
        "!(has(self.custom) && has(self.rollingUpdate) && has(self.rollingUpdate.steps))",
        "may have no steps when spec.strategy.type is Custom: remove steps, or use RollingUpdate",
    )
}

/// S1.26: a percentage of maxSurge has no upper bound.
pub(crate) fn max_surge() -> Rule {
    rule(
        "type(self) == int ? self >= 0 : self.matches('^[0-9]+%$')",
        "must be a number of pods, 0 or more, or a percentage such as \"25%\"",
    )
}

/// S1.26.
pub(crate) fn max_unavailable() -> Rule {
    rule(
        "type(self) == int ? self >= 0 : self.matches('^0*([0-9]|[1-9][0-9]|100)%$')",
        "must be a number of pods, 0 or more, or a percentage from \"0%\" to \"100%\"",
    )
}

/// S1.27: only a literal zero counts, and an absent value is 25 %.
pub(crate) fn limits_are_not_both_zero() -> Rule {
    let zero = |field: &str| {
        format!(
            "(has(self.{field}) && (type(self.{field}) == int ? self.{field} == 0 : \
             self.{field}.matches('^0+%$')))"
        )
    };
    rule(
        &format!("!({} && {})", zero("maxSurge"), zero("maxUnavailable")),
        "maxSurge and maxUnavailable may not both be 0: raise one of them",
    )
}

/// FP-6: the revision that a revert runs is part of the history.
pub(crate) fn revert_needs_history() -> Rule {
    rule_at(
        ".revisionHistoryLimit",
        "!(has(self.failurePolicy) && has(self.failurePolicy.action) && self.failurePolicy.action == 'Revert' && \
         has(self.revisionHistoryLimit) && self.revisionHistoryLimit < 1)",
        "must be at least 1 when spec.failurePolicy.action is Revert: raise revisionHistoryLimit",
    )
}

/// FP-2.
pub(crate) fn names_a_criterion() -> Rule {
    rule(
        "!has(self.deadlineExceeded) || self.deadlineExceeded || has(self.restarts) || has(self.stuckSeconds)",
        "must have a criterion: remove deadlineExceeded, or set restarts or stuckSeconds",
    )
}

/// SP-5.
pub(crate) fn is_required() -> Rule {
    rule("self == 'Required'", "must be Required: remove approval if nobody has to promote the revision")
}

/// SP-1: nothing is left to approve.
pub(crate) fn the_last_step_needs_no_approval() -> Rule {
    at_the_end("approval")
}

/// SP-1: nothing is left to wait for.
pub(crate) fn the_last_step_has_no_wait() -> Rule {
    at_the_end("waitSeconds")
}

/// SP-1: a hook after the rollout is for that.
pub(crate) fn the_last_step_has_no_gate() -> Rule {
    at_the_end("gate")
}

fn at_the_end(field: &str) -> Rule {
    rule_at(
        &format!(".{field}"),
        &format!("!has(self.{field}) || self.updated != '100%'"),
        &format!("may not be set at 100%, which ends the rollout: remove {field}, or lower updated"),
    )
}

/// SP-5: what an author began and did not finish is no step without conditions. To a rule, a null is a field that is
/// absent, except that it counts.
pub(crate) fn conditions_are_written_out() -> Rule {
    rule(
        "size(dyn(self)) == 1 + (has(self.approval) ? 1 : 0) + (has(self.waitSeconds) ? 1 : 0) + \
         (has(self.gate) ? 1 : 0)",
        "approval, waitSeconds, and gate may not be empty: write approval: Required or, for example, \
         waitSeconds: 600, or remove the field",
    )
}

/// FP-2, SP-1.
pub(crate) fn some_pods() -> Rule {
    // Before Kubernetes 1.34, a rule that matches an expression costs too much in a list of steps.
    let percentages: Vec<String> = (1..=100).map(|percent| format!("'{percent}%'")).collect();
    rule(
        &format!("type(self) == int ? self >= 1 : self in [{}]", percentages.join(", ")),
        "must be a number of pods, 1 or more, or a percentage from \"1%\" to \"100%\"",
    )
}

/// FP-11: the value of a label, and not empty.
pub(crate) fn is_hash() -> Rule {
    rule(
        "self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')",
        "must be the label pod-template-hash of a ReplicaSet: see `kubectl get replicasets --show-labels`",
    )
}

/// FP-11: a fingerprint of any canonical form that there was.
pub(crate) fn is_fingerprint() -> Rule {
    rule(
        "self.matches('^v1:[0-9a-f]{64}$')",
        "must be a fingerprint of the form v1:<64 hexadecimal digits>: remove templateFingerprint to pin \
         for every template",
    )
}

/// S1.24.
pub(crate) fn pod_spec() -> [Rule; 4] {
    [
        rule_at(
            ".restartPolicy",
            "!has(self.restartPolicy) || self.restartPolicy in ['', 'Always']",
            "must be Always: remove restartPolicy, or run the pods with a Job",
        ),
        rule_at(
            ".activeDeadlineSeconds",
            "!has(self.activeDeadlineSeconds)",
            "may not be set in a Deployment: remove activeDeadlineSeconds, or run the pods with a Job",
        ),
        rule_at(
            ".ephemeralContainers",
            "!has(self.ephemeralContainers) || size(self.ephemeralContainers) == 0",
            "may not be set in a template: remove ephemeralContainers; `kubectl debug` adds them to pods",
        ),
        rule_at(
            ".containers",
            "has(self.containers) && size(self.containers) > 0",
            "must have at least one container: add one with a name and an image",
        ),
    ]
}
