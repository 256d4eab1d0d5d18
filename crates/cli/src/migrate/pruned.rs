//! What the server drops of a spec without a word, because the definition lacks the field. Pods have it, and the next
//! rollout would lose it.

use serde_json::Value;

use crate::cluster::Deployment;
use crate::migrate::facts::Facts;
use crate::migrate::write;
use diagnosis::text;
use plan::Flavour;

/// Fields that a message names.
const NAMED: usize = 5;

/// What to report if the definition lacks fields that the source has, judged by what the server stores of it. Defaults
/// that the server adds are no loss. apps/v1 needs no such check: the template of the ReplicaSet decides there.
pub(crate) fn pruned(facts: &Facts, source: &Deployment, stored: &Value) -> Option<String> {
    if facts.to == Flavour::AppsV1 {
        return None;
    }
    let mut lost = Vec::new();
    let mut sent = write::manifest(facts, source);
    if let Some(spec) = sent.get_mut("spec").and_then(Value::as_object_mut) {
        // The way in which it is sent, not a field of the source.
        spec.remove("paused");
    }
    collect("spec", sent.get("spec").unwrap_or(&Value::Null), stored.get("spec"), &mut lost);
    if lost.is_empty() {
        return None;
    }
    let more = lost.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    lost.truncate(NAMED);
    Some(format!(
        "the definition of {} has no {}{more}: the API server would drop that without a message; upgrade the definition \
         first, rollwright crd --from-cluster | kubectl apply --server-side -f -",
        facts.to.api_version(),
        lost.join(", ")
    ))
}

/// Adds the paths of what is missing. A field that is null is no field.
fn collect(path: &str, sent: &Value, stored: Option<&Value>, lost: &mut Vec<String>) {
    match (sent, stored) {
        (Value::Null, _) => {}
        (_, None) => lost.push(path.to_owned()),
        (Value::Object(sent), Some(Value::Object(stored))) => {
            for (key, value) in sent {
                collect(&format!("{path}.{key}"), value, stored.get(key), lost);
            }
        }
        (Value::Array(sent), Some(Value::Array(stored))) => {
            // A webhook may add elements in front.
            let named =
                |name: &str| stored.iter().find(|found| !name.is_empty() && text(found, "/name") == name);
            for (index, element) in sent.iter().enumerate() {
                let name = text(element, "/name");
                let found = stored.get(index).filter(|found| text(found, "/name") == name);
                collect(&format!("{path}[{index}]"), element, found.or_else(|| named(name)), lost);
            }
        }
        // Another value is the work of a webhook.
        (_, Some(_)) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lost(sent: &Value, stored: &Value) -> Vec<String> {
        let mut lost = Vec::new();
        collect("spec", sent, Some(stored), &mut lost);
        lost
    }

    #[test]
    fn only_losses_count() {
        let sent = json!({"replicas": 3, "template": {"spec": {
            "nodeName": null, "hostUsers": false, "securityContext": {},
            "containers": [{"name": "app", "image": "app:v1", "args": ["-v", "-x"],
                            "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "x"}]}],
        }}});
        assert_eq!(lost(&sent, &sent), [""; 0]);
        let mut stored = sent.clone();
        stored["progressDeadlineSeconds"] = json!(600);
        let spec = &mut stored["template"]["spec"];
        spec["containers"][0]["image"] = json!("mirror/app:v1");
        spec["containers"][0]["imagePullPolicy"] = json!("Always");
        spec["containers"].as_array_mut().unwrap().insert(0, json!({"name": "proxy"}));
        assert_eq!(lost(&sent, &stored), [""; 0], "defaults and webhooks");
        let spec = stored["template"]["spec"].as_object_mut().unwrap();
        spec.remove("hostUsers");
        spec.remove("securityContext");
        let app = &mut spec["containers"][1];
        app["args"] = json!(["-v"]);
        app["resizePolicy"][0] = json!({"resourceName": "cpu"});
        assert_eq!(
            lost(&sent, &stored),
            [
                "spec.template.spec.containers[0].args[1]",
                "spec.template.spec.containers[0].resizePolicy[0].restartPolicy",
                "spec.template.spec.hostUsers",
                "spec.template.spec.securityContext",
            ]
        );
        assert_eq!(lost(&json!({"a": {"b": 1}}), &json!({})), ["spec.a"]);
    }
}
