//! The ends of objects: finalizers, preconditions, owners, namespaces.

use serde_json::{Value, json};

use crate::talk::{Scenario, Talk, scenario};
use crate::writing::{config_map, deployment};

pub(crate) fn all() -> Vec<Scenario> {
    vec![
        scenario!(finalizers),
        scenario!(preconditions),
        scenario!(what_is_owned_goes),
        scenario!(what_is_orphaned_stays),
        scenario!(what_is_owned_goes_first),
        scenario!(a_policy_stands_until_there_is_another),
        scenario!(collections),
    ]
}

async fn finalizers(talk: &mut Talk<'_>) {
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    let mut object = deployment("web");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    talk.ask("POST", &all, &object).await;
    talk.ask("DELETE", &web, &Value::Null).await;
    talk.ask("DELETE", &web, &Value::Null).await;
    talk.ask("GET", &web, &Value::Null).await;
    let another = json!({ "metadata": { "finalizers": ["example.com/hold", "example.com/late"] } });
    talk.patch("merge-patch", &web, &another).await;
    talk.patch("merge-patch", &web, &json!({ "metadata": { "labels": { "still": "here" } } })).await;
    talk.patch("merge-patch", &web, &json!({ "metadata": { "finalizers": null } })).await;
    talk.ask("GET", &web, &Value::Null).await;
}

async fn preconditions(talk: &mut Talk<'_>) {
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    let object = talk.ask("POST", &all, &deployment("web")).await;
    let on = |field: &str, value: &Value| json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { field: value } });
    talk.ask("DELETE", &web, &on("uid", &json!("somebody-else"))).await;
    talk.patch("merge-patch", &web, &json!({ "spec": { "replicas": 9 } })).await;
    let answer =
        talk.ask("DELETE", &web, &on("resourceVersion", &object["metadata"]["resourceVersion"])).await;
    talk.note(&format!("{}", answer["reason"]));
    talk.ask("DELETE", &web, &on("uid", &object["metadata"]["uid"])).await;
    talk.ask("DELETE", &web, &Value::Null).await;
}

/// A ConfigMap that belongs to another object.
fn owned(name: &str, owner: &Value, blocks: bool) -> Value {
    let mut map = config_map(name, "red");
    map["metadata"]["ownerReferences"] = json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": blocks,
    }]);
    map
}

async fn what_is_owned_goes(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    let owner = talk.ask("POST", &maps, &config_map("owner", "red")).await;
    talk.ask("POST", &maps, &owned("owned", &owner, true)).await;
    talk.ask("DELETE", &format!("{maps}/owner"), &Value::Null).await;
    talk.until(&format!("{maps}/owned"), |answer| answer["code"] == 404).await;
}

async fn what_is_orphaned_stays(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    let owner = talk.ask("POST", &maps, &config_map("owner", "red")).await;
    talk.ask("POST", &maps, &owned("owned", &owner, true)).await;
    let orphan = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan" });
    let answer = talk.ask("DELETE", &format!("{maps}/owner"), &orphan).await;
    talk.note(&format!("{}", answer["metadata"]["finalizers"]));
    talk.until(&format!("{maps}/owner"), |answer| answer["code"] == 404).await;
    talk.until(&format!("{maps}/owned"), |answer| answer["metadata"]["ownerReferences"].is_null()).await;
}

async fn what_is_owned_goes_first(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    let owner = talk.ask("POST", &maps, &config_map("owner", "red")).await;
    talk.ask("POST", &maps, &owned("owned", &owner, true)).await;
    let first = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground" });
    talk.ask("DELETE", &format!("{maps}/owner"), &first).await;
    talk.until(&format!("{maps}/owned"), |answer| answer["code"] == 404).await;
    talk.until(&format!("{maps}/owner"), |answer| answer["code"] == 404).await;
}

/// Foreground, then no word of it, then background: by then the object has to go immediately, and what it owns later. A
/// finalizer of what it owns keeps the collector from ending this early.
async fn a_policy_stands_until_there_is_another(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    let owner = talk.ask("POST", &maps, &config_map("owner", "red")).await;
    let mut dependent = owned("owned", &owner, true);
    dependent["metadata"]["finalizers"] = json!(["example.com/hold"]);
    talk.ask("POST", &maps, &dependent).await;
    let policy =
        |name: &str| json!({ "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": name });
    talk.ask("DELETE", &format!("{maps}/owner"), &policy("Foreground")).await;
    talk.until(&format!("{maps}/owned"), |answer| !answer["metadata"]["deletionTimestamp"].is_null()).await;
    let answer = talk.ask("DELETE", &format!("{maps}/owner"), &Value::Null).await;
    talk.note(&format!("{}", answer["metadata"]["finalizers"]));
    talk.ask("DELETE", &format!("{maps}/owner"), &policy("Background")).await;
    talk.ask("GET", &format!("{maps}/owner"), &Value::Null).await;
    talk.patch("merge-patch", &format!("{maps}/owned"), &json!({ "metadata": { "finalizers": null } })).await;
    talk.until(&format!("{maps}/owned"), |answer| answer["code"] == 404).await;
}

async fn collections(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        talk.ask("POST", &maps, &config_map(name, colour)).await;
    }
    talk.ask("DELETE", &format!("{maps}?labelSelector=colour%3Dred"), &Value::Null).await;
    talk.ask("GET", &format!("{maps}?labelSelector=colour"), &Value::Null).await;
}
