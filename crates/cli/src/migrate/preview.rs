//! A migration played through in memory: what each write makes of the cluster, with controllers that immediately do
//! what the migration waits for.

use api::encode;
use json_patch::merge;
use plan::Flavour;
use plan::keys::condition;
use plan::template::Template;
use serde_json::{Value, json};

use crate::cluster::Deployment;
use crate::migrate::facts::{Facts, is_managed, name, uid};
use crate::migrate::step::{Next, next};
use crate::migrate::write::{Change, Write};
use diagnosis::{controller_of, text};

/// More than any migration takes: two writes for each ReplicaSet that a Deployment may keep.
const WRITES_MAX: usize = 10_000;

/// The writes to come, in words.
///
/// # Errors
/// Why it would stop.
pub(crate) fn preview(mut facts: Facts) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    while lines.len() < WRITES_MAX {
        match next(&facts) {
            Next::Write(write) => {
                apply(&mut facts, &write)?;
                settle(&mut facts);
                lines.push(write.says);
            }
            Next::Wait(what) => {
                let before = format!("{facts:?}");
                settle(&mut facts);
                if before == format!("{facts:?}") {
                    return Err(format!("it would wait for {what}"));
                }
            }
            Next::Done => return Ok(lines),
            Next::Stuck(reason) => return Err(reason),
        }
    }
    Err("it would not end".to_owned())
}

/// What the server makes of a write.
pub(crate) fn apply(facts: &mut Facts, write: &Write) -> Result<(), String> {
    match &write.change {
        Change::Create(object) => {
            // The server fills defaults in; the pods run the resulting template.
            let mut body = match &facts.dry_run {
                Some(Ok(stored)) => stored.clone(),
                _ => object.clone(),
            };
            if facts.to == Flavour::AppsV1
                && let Some((current, _)) = facts.current()
            {
                let template = current.pointer("/spec/template").unwrap_or(&Value::Null);
                merge(&mut body, &json!({"spec": {"template": Template::of(template).without_hash_label()}}));
            }
            let uid = format!("new-{}", facts.to.api_version());
            merge(&mut body, &json!({"metadata": {"uid": uid, "generation": 1}}));
            facts.target = Some(Deployment { flavour: facts.to, body });
        }
        Change::Replace(operations) => {
            let target = facts.target.as_mut().ok_or("there is nothing to patch")?;
            for operation in operations.as_array().into_iter().flatten() {
                if let Some(field) = target.body.pointer_mut(text(operation, "/path"))
                    && text(operation, "/op") != "test"
                {
                    *field = operation.get("value").cloned().unwrap_or_default();
                }
            }
            raise(&mut target.body);
        }
        Change::PatchTarget(patch) => {
            let target = facts.target.as_mut().ok_or("there is nothing to patch")?;
            merge(&mut target.body, patch);
            raise(&mut target.body);
        }
        Change::RollOut(patch) => roll_out(facts, patch)?,
        Change::PatchSet { name, patch } => merge(find(&mut facts.sets, name)?, patch),
        Change::PatchScaler { name, patch } => merge(find(&mut facts.scalers, name)?, patch),
        Change::DeleteSource { uid, .. } => {
            facts.source = None;
            for set in &mut facts.sets {
                if controller_of(set) == Some(uid) {
                    merge(set, &json!({"metadata": {"ownerReferences": []}}));
                }
            }
        }
    }
    Ok(())
}

/// All pods of the source are of its template as soon as it is patched.
fn roll_out(facts: &mut Facts, patch: &Value) -> Result<(), String> {
    let source = facts.source.as_mut().ok_or("there is nothing to patch")?;
    merge(&mut source.body, patch);
    merge(&mut source.body, &json!({"status": {"target": null}}));
    if let Some(Value::Array(conditions)) = source.body.pointer_mut("/status/conditions") {
        conditions.retain(|condition| text(condition, "/type") != condition::STALLED);
    }
    raise(&mut source.body);
    let owner = uid(source).to_owned();
    let wants = source.spec().replicas.map_or(1, i64::from);
    let declared = facts.current().map(|(set, _)| name(set).to_owned());
    for set in facts.sets.iter_mut().filter(|set| controller_of(set) == Some(owner.as_str())) {
        let size = if declared.as_deref() == Some(name(set)) { wants } else { 0 };
        merge(set, &json!({"spec": {"replicas": size}, "status": {"replicas": size}}));
    }
    Ok(())
}

fn raise(body: &mut Value) {
    let generation = body.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    merge(body, &json!({"metadata": {"generation": generation.saturating_add(1)}}));
}

fn find<'a>(objects: &'a mut [Value], wanted: &str) -> Result<&'a mut Value, String> {
    objects.iter_mut().find(|object| name(object) == wanted).ok_or_else(|| format!("{wanted} is not there"))
}

/// Both controllers see what there is, and adopt what they may.
pub(crate) fn settle(facts: &mut Facts) {
    for deployment in [&mut facts.target, &mut facts.source].into_iter().flatten() {
        let generation = deployment.body.pointer("/metadata/generation").cloned().unwrap_or_default();
        merge(&mut deployment.body, &json!({"status": encode::observed(&generation)}));
        let owner = json!([{
            "apiVersion": deployment.flavour.api_version(),
            "kind": "Deployment",
            "name": deployment.name(),
            "uid": uid(deployment),
            "controller": true,
        }]);
        for set in &mut facts.sets {
            let is_seen = deployment.flavour == Flavour::AppsV1 || is_managed(set);
            if controller_of(set).is_none() && is_seen {
                merge(set, &json!({"metadata": {"ownerReferences": owner}}));
            }
        }
    }
}
