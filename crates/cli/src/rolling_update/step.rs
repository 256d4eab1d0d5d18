//! The next step of a rolling update: a function of the present state, so the same command continues after
//! any write.

use serde_json::{Value, json};

use crate::rolling_update::facts::{
    DESIRED, Facts, HELD, NO_CLASS, PARTNER, annotation, available, desired, full_name, hash, is_deleting,
    is_held, is_observed, is_unique, name, number, size, stripped, template_label,
};
use crate::stepwise;
use crate::table::counted;
use diagnosis::text;

/// What is next.
pub(crate) type Next = stepwise::Next<Change>;

/// A request.
pub(crate) type Write = stepwise::Write<Change>;

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Create(Value),
    /// A merge patch of a controller.
    Patch {
        name: String,
        patch: Value,
    },
    /// One more pod of the new kind.
    Up {
        name: String,
        patch: Value,
    },
    /// A merge patch of a pod.
    PatchPod {
        name: String,
        patch: Value,
    },
    /// Deletes a controller and leaves its pods.
    Delete {
        name: String,
        uid: String,
        version: String,
    },
}

fn write(says: String, change: Change) -> Next {
    Next::Write(Box::new(Write { says, change }))
}

/// Decides.
pub(crate) fn next(facts: &Facts) -> Next {
    if let Some(old) = facts.old.as_ref().filter(|old| is_held(old)) {
        return renamed(facts, old);
    }
    for (controller, place) in [(&facts.old, &facts.old_name), (&facts.next, &facts.next_name)] {
        if controller.as_ref().is_some_and(is_deleting) {
            return Next::Wait(format!("the end of {}, which somebody deleted", full_name(place)));
        }
    }
    match (&facts.old, &facts.next) {
        (None, None) => Next::Stuck(format!("{} not found", full_name(&facts.old_name))),
        (Some(old), None) if facts.rollback => called_off(old),
        (None, Some(_)) if facts.rollback => Next::Stuck(format!(
            "{} not found: the update has got as far as giving {} its name; run it to its end, and then \
             update to the old image",
            full_name(&facts.old_name),
            full_name(&facts.next_name)
        )),
        (Some(old), None) => begin(facts, old),
        (None, Some(next)) if facts.rename => rename(facts, next),
        (None, Some(next)) => finish(next),
        (Some(old), Some(next)) => both(facts, old, next),
    }
}

/// Only the old one is there.
fn begin(facts: &Facts, old: &Value) -> Next {
    let Some(wanted) = &facts.wanted else {
        if annotation(old, PARTNER).is_none() {
            return Next::Done;
        }
        return Next::Stuck(format!(
            "{} not found; describe it with --image or -f",
            full_name(&facts.next_name)
        ));
    };
    if wanted.is(old, &facts.key) {
        return Next::Done;
    }
    if annotation(old, PARTNER) != Some(&facts.next_name) || desired(old) != Some(0) {
        return prepare(facts, old);
    }
    if let Some(step) = set_apart(facts, old) {
        return step;
    }
    create(facts, old, wanted.object.clone(), &wanted.hash)
}

/// The first write: the label for new pods, and how to continue after a crash.
fn prepare(facts: &Facts, old: &Value) -> Next {
    let value = template_label(old, &facts.key).map_or_else(|| hash(old), str::to_owned);
    let patch = json!({
        "metadata": identity(old, &[("annotations", json!({PARTNER: facts.next_name, DESIRED: "0"}))]),
        "spec": {"template": {"metadata": {"labels": {&facts.key: value}}}},
    });
    let says = format!("prepare {} for an update to {}", full_name(name(old)), full_name(&facts.next_name));
    write(says, Change::Patch { name: name(old).to_owned(), patch })
}

/// What a write is decided from: the server refuses it if that has changed.
fn identity(object: &Value, more: &[(&str, Value)]) -> Value {
    let known = ["uid", "resourceVersion"]
        .map(|field| (field, Value::from(text(object, &format!("/metadata/{field}")))));
    known.iter().chain(more).map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

/// Makes a controller select its own pods only. It must lose none of them on the way: first new pods get the label,
/// then the existing ones. Only when its controller has seen all of them does the selector ask for the label.
fn set_apart(facts: &Facts, controller: &Value) -> Option<Next> {
    let key = &facts.key;
    if is_unique(controller, key) {
        return None;
    }
    let full = full_name(name(controller));
    let patched =
        |says: String, patch| Some(write(says, Change::Patch { name: name(controller).to_owned(), patch }));
    let Some(value) = template_label(controller, key) else {
        let labels = json!({key: hash(controller)});
        return patched(
            format!("label new pods of {full}"),
            json!({"metadata": identity(controller, &[]), "spec": {"template": {"metadata": {"labels": labels}}}}),
        );
    };
    if !is_observed(controller) {
        return Some(Next::Wait(format!("the last change of {full} to be observed")));
    }
    let lacks = |pod: &&Value| {
        pod.pointer("/metadata/labels").and_then(|labels| labels.get(key)?.as_str()) != Some(value)
    };
    if let Some(pod) = facts.pods_of(controller).find(lacks) {
        let patch = json!({"metadata": identity(pod, &[("labels", json!({key: value}))])});
        return Some(write(
            format!("label pod/{}", name(pod)),
            Change::PatchPod { name: name(pod).to_owned(), patch },
        ));
    }
    let has = |field: &str| number(controller, &format!("/status/{field}"));
    if has("fullyLabeledReplicas") != has("replicas") || has("replicas") != size(controller) {
        return Some(Next::Wait(format!("all pods of {full} to be there and labelled")));
    }
    patched(
        format!("let {full} select its own pods only"),
        json!({"metadata": identity(controller, &[]), "spec": {"selector": {key: value}}}),
    )
}

/// The next one, with no pods yet.
fn create(facts: &Facts, old: &Value, object: Value, hash: &str) -> Next {
    let object = merged(
        object,
        &json!({
            "metadata": {
                "name": facts.next_name,
                "namespace": text(old, "/metadata/namespace"),
                "annotations": {PARTNER: facts.old_name, DESIRED: size(old).to_string()},
            },
            "spec": {
                "replicas": 0,
                "selector": {&facts.key: hash},
                "template": {"metadata": {"labels": {&facts.key: hash}}},
            },
        }),
    );
    write(format!("create {}", full_name(&facts.next_name)), Change::Create(object))
}

/// An object with more fields.
pub(crate) fn merged(mut object: Value, more: &Value) -> Value {
    json_patch::merge(&mut object, more);
    object
}

fn both(facts: &Facts, old: &Value, next: &Value) -> Next {
    if let Some(wanted) =
        facts.wanted.as_ref().filter(|wanted| !facts.rollback && !wanted.is(next, &facts.key))
    {
        let asked: Vec<&str> =
            super::facts::images(&wanted.object).into_iter().map(|(_, image)| image).collect();
        let has: Vec<&str> = super::facts::images(next).into_iter().map(|(_, image)| image).collect();
        return Next::Stuck(format!(
            "{} is being updated to {} with {}, and this asks for {}; finish that, or call it off with --rollback",
            full_name(&facts.old_name),
            full_name(&facts.next_name),
            has.join(", "),
            asked.join(", ")
        ));
    }
    for controller in [old, next] {
        if let Some(step) = set_apart(facts, controller) {
            return step;
        }
    }
    if facts.rollback { roll(next, old) } else { roll(old, next) }
}

/// One up, one down, until all pods are the target's.
fn roll(source: &Value, target: &Value) -> Next {
    let noted = desired(target).max(desired(source)).filter(|all| *all > 0);
    let all = noted.unwrap_or_else(|| size(source));
    for (controller, wants) in [(target, all), (source, 0)] {
        if desired(controller) != Some(wants) {
            let annotations = json!({DESIRED: wants.to_string()});
            let patch = json!({"metadata": identity(controller, &[("annotations", annotations)])});
            let says = format!(
                "note that {} gets {} in the end",
                full_name(name(controller)),
                counted(wants, "pod")
            );
            return write(says, Change::Patch { name: name(controller).to_owned(), patch });
        }
    }
    let reached = size(target);
    if !is_observed(target) || available(target) < reached {
        let pods = counted(reached, "pod");
        return Next::Wait(format!("{pods} of {} to be available", full_name(name(target))));
    }
    if size(source) > all.saturating_sub(reached).max(0) {
        return resize(source, size(source).saturating_sub(1));
    }
    if reached < all {
        return resize(target, reached.saturating_add(1));
    }
    if !is_observed(source) || number(source, "/status/replicas") > 0 {
        return Next::Wait(format!("the last pods of {} to go", full_name(name(source))));
    }
    delete(source)
}

fn resize(controller: &Value, to: i64) -> Next {
    let patch = json!({"metadata": identity(controller, &[]), "spec": {"replicas": to}});
    let (name, full) = (name(controller).to_owned(), full_name(name(controller)));
    if to > size(controller) {
        return write(format!("scale {full} up to {to}"), Change::Up { name, patch });
    }
    write(format!("scale {full} down to {to}"), Change::Patch { name, patch })
}

fn delete(controller: &Value) -> Next {
    let change = Change::Delete {
        name: name(controller).to_owned(),
        uid: text(controller, "/metadata/uid").to_owned(),
        version: text(controller, "/metadata/resourceVersion").to_owned(),
    };
    write(format!("delete {} and leave its pods, if any", full_name(name(controller))), change)
}

/// The next controller takes the old name: a copy is made, which cannot create pods before it has adopted those that
/// there are.
fn rename(facts: &Facts, next: &Value) -> Next {
    if !is_unique(next, &facts.key) {
        return Next::Stuck(format!(
            "the label {} does not tell the pods of {} from others; give the --deployment-label-key that the \
             update began with",
            facts.key,
            full_name(name(next))
        ));
    }
    let class = text(next, "/spec/template/spec/priorityClassName");
    let label = template_label(next, &facts.key).unwrap_or_default();
    let object = merged(
        stripped(next, &facts.key),
        &json!({
            "metadata": {
                "name": facts.old_name,
                "namespace": text(next, "/metadata/namespace"),
                "annotations": {HELD: class},
            },
            "spec": {
                "replicas": size(next),
                "selector": {&facts.key: label},
                "template": {
                    "metadata": {"labels": {&facts.key: label}},
                    "spec": {"priorityClassName": NO_CLASS},
                },
            },
        }),
    );
    let says = format!("create {} like {}", full_name(&facts.old_name), full_name(name(next)));
    write(says, Change::Create(object))
}

/// The copy is there. The pods become its own, and then it may create others.
fn renamed(facts: &Facts, old: &Value) -> Next {
    if facts.rollback {
        return Next::Stuck(format!(
            "the update of {} has got as far as its name; run it to its end without --rollback, and then \
             update to the old image",
            full_name(&facts.old_name)
        ));
    }
    if let Some(next) = &facts.next {
        if is_deleting(next) {
            return Next::Wait(format!(
                "the garbage collector to let go of the pods of {}",
                full_name(name(next))
            ));
        }
        return delete(next);
    }
    if let Some(pod) = facts.loose(old).next() {
        return Next::Wait(format!("{} to adopt pod/{}", full_name(name(old)), name(pod)));
    }
    let class = annotation(old, HELD).filter(|class| !class.is_empty());
    let patch = json!({
        "metadata": identity(old, &[("annotations", json!({HELD: null}))]),
        "spec": {"template": {"spec": {"priorityClassName": class}}},
    });
    let says = format!("let {} create pods", full_name(name(old)));
    write(says, Change::Patch { name: name(old).to_owned(), patch })
}

/// The notes for a crash are not needed any more.
fn finish(controller: &Value) -> Next {
    if annotation(controller, PARTNER).is_none() && annotation(controller, DESIRED).is_none() {
        return Next::Done;
    }
    let annotations = json!({PARTNER: null, DESIRED: null});
    let patch = json!({"metadata": identity(controller, &[("annotations", annotations)])});
    let says = format!("finish {}", full_name(name(controller)));
    write(says, Change::Patch { name: name(controller).to_owned(), patch })
}

/// A rollback with a next controller that is gone, or was never there.
fn called_off(old: &Value) -> Next {
    if annotation(old, PARTNER).is_some() || desired(old).is_some() {
        return finish(old);
    }
    Next::Done
}
