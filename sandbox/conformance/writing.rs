//! Writes: versions, conflicts, generations, subresources, patches, dry runs, refusals.

use serde_json::{Value, json};

use crate::talk::{Scenario, Talk, scenario};

pub(crate) fn all() -> Vec<Scenario> {
    vec![
        scenario!(versions_and_conflicts),
        scenario!(status_is_written_apart),
        scenario!(sizes),
        scenario!(patches),
        scenario!(dry_runs),
        scenario!(refusals),
        scenario!(pods_with_namespaces_of_the_host),
        scenario!(bodies_that_do_not_fit),
        scenario!(unknown_fields),
        scenario!(applied),
    ]
}

/// A Rollwright Deployment that nobody reconciles.
pub(crate) fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "rollwright.dev/v1", "kind": "Deployment",
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "replicas": 2, "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "main:v1" }] },
            },
        },
    })
}

pub(crate) fn config_map(name: &str, label: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "colour": label } }, "data": { "a": "1" },
    })
}

async fn versions_and_conflicts(talk: &mut Talk<'_>) {
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    let first = talk.ask("POST", &all, &deployment("web")).await;
    talk.ask("POST", &all, &deployment("web")).await;
    // A write that changes nothing makes no version.
    talk.ask("PUT", &web, &first).await;
    let mut changed = first.clone();
    changed["spec"]["replicas"] = json!(3);
    talk.ask("PUT", &web, &changed).await;
    // The version that it was made from is gone.
    talk.ask("PUT", &web, &changed).await;
    changed["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    talk.ask("PUT", &web, &changed).await;
    let stale = json!({ "metadata": { "resourceVersion": first["metadata"]["resourceVersion"] }, "spec": { "replicas": 5 } });
    talk.patch("merge-patch", &web, &stale).await;
    let other = json!({ "metadata": { "uid": "somebody-else" }, "spec": { "replicas": 5 } });
    talk.patch("merge-patch", &web, &other).await;
    talk.patch("merge-patch", &web, &json!({ "metadata": { "labels": { "new": "label" } } })).await;
    talk.patch("merge-patch", &web, &json!({ "metadata": { "labels": { "new": "label" } } })).await;
    let maps = talk.core("configmaps");
    let map = talk.ask("POST", &maps, &config_map("a", "red")).await;
    let mut changed = map.clone();
    changed["data"]["a"] = json!("2");
    changed["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    talk.ask("PUT", &format!("{maps}/a"), &changed).await;
    talk.ask("PUT", &format!("{maps}/a"), &map).await;
}

async fn status_is_written_apart(talk: &mut Talk<'_>) {
    let mut object = deployment("web");
    object["status"] = json!({ "replicas": 7 });
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    talk.ask("POST", &all, &object).await;
    talk.patch("merge-patch", &web, &json!({ "status": { "replicas": 7 } })).await;
    let both = json!({ "spec": { "replicas": 9 }, "metadata": { "labels": { "x": "y" } }, "status": { "replicas": 2, "readyReplicas": 1 } });
    talk.patch("merge-patch", &format!("{web}/status"), &both).await;
    talk.patch("merge-patch", &format!("{web}/status"), &json!({ "status": { "replicas": 2 } })).await;
    talk.patch("merge-patch", &format!("{web}/status"), &json!({ "status": { "replicas": -2 } })).await;
    talk.ask("GET", &format!("{web}/status"), &Value::Null).await;
}

async fn sizes(talk: &mut Talk<'_>) {
    let (all, scale) = (talk.ours(""), talk.ours("/web/scale"));
    talk.ask("POST", &all, &deployment("web")).await;
    let size = talk.ask("GET", &scale, &Value::Null).await;
    let mut larger = size.clone();
    larger["spec"]["replicas"] = json!(4);
    talk.ask("PUT", &format!("{scale}?dryRun=All"), &larger).await;
    talk.ask("PUT", &scale, &larger).await;
    talk.ask("PUT", &scale, &larger).await;
    talk.patch("merge-patch", &scale, &json!({ "spec": { "replicas": 5 } })).await;
    talk.patch("merge-patch", &scale, &json!({ "spec": { "replicas": -1 } })).await;
    talk.ask("GET", &talk.ours("/web"), &Value::Null).await;
    talk.ask("GET", &talk.ours("/nobody/scale"), &Value::Null).await;
}

async fn patches(talk: &mut Talk<'_>) {
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    talk.ask("POST", &all, &deployment("web")).await;
    talk.patch("merge-patch", &web, &json!({ "metadata": { "annotations": { "a": "1", "b": "2" } } })).await;
    talk.patch("merge-patch", &web, &json!({ "metadata": { "annotations": { "a": null } } })).await;
    talk.patch("json-patch", &web, &json!([{ "op": "replace", "path": "/spec/replicas", "value": 6 }])).await;
    talk.patch("json-patch", &web, &json!([{ "op": "test", "path": "/spec/replicas", "value": 7 }])).await;
    talk.patch("json-patch", &web, &json!([{ "op": "remove", "path": "/spec/nothing" }])).await;
    talk.patch("strategic-merge-patch", &web, &json!({ "spec": { "replicas": 1 } })).await;
    talk.patch("merge-patch", &talk.ours("/nobody"), &json!({ "spec": { "replicas": 1 } })).await;
    let maps = talk.core("configmaps");
    talk.ask("POST", &maps, &config_map("a", "red")).await;
    let finalizers = json!({ "metadata": { "finalizers": ["example.com/one"] }, "data": { "b": "2" } });
    talk.patch("strategic-merge-patch", &format!("{maps}/a"), &finalizers).await;
    let finalizers = json!({ "metadata": { "finalizers": ["example.com/two"] }, "data": { "a": null } });
    talk.patch("strategic-merge-patch", &format!("{maps}/a"), &finalizers).await;
    talk.patch("merge-patch", &format!("{maps}/a"), &json!({ "metadata": { "finalizers": null } })).await;
}

async fn dry_runs(talk: &mut Talk<'_>) {
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    talk.ask("POST", &format!("{all}?dryRun=All"), &deployment("web")).await;
    talk.ask("GET", &web, &Value::Null).await;
    talk.ask("POST", &all, &deployment("web")).await;
    talk.ask("POST", &format!("{all}?dryRun=All"), &deployment("web")).await;
    talk.patch("merge-patch", &format!("{web}?dryRun=All"), &json!({ "spec": { "replicas": 8 } })).await;
    talk.patch("merge-patch", &format!("{web}?dryRun=All"), &json!({ "spec": { "replicas": -8 } })).await;
    talk.ask("DELETE", &format!("{web}?dryRun=All"), &Value::Null).await;
    talk.ask("GET", &web, &Value::Null).await;
}

async fn refusals(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    talk.ask("GET", &talk.ours("/nobody"), &Value::Null).await;
    talk.ask("GET", &talk.core("pods/nobody"), &Value::Null).await;
    talk.ask("DELETE", &talk.apps("replicasets/nobody"), &Value::Null).await;
    talk.ask("PUT", &format!("{maps}/nobody"), &config_map("nobody", "red")).await;
}

/// The rule of Pod Security that the world knows.
async fn pods_with_namespaces_of_the_host(talk: &mut Talk<'_>) {
    let level = json!({ "metadata": { "labels": { "pod-security.kubernetes.io/enforce": "baseline" } } });
    talk.patch_unseen(&format!("/api/v1/namespaces/{}", talk.namespace), &level).await;
    for fields in [&["hostNetwork"][..], &["hostIPC", "hostPID"], &["hostPID", "hostNetwork"]] {
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
            "spec": { "containers": [{ "name": "main", "image": "main:v1" }] },
        });
        for field in fields {
            pod["spec"][field] = json!(true);
        }
        talk.ask("POST", &talk.core("pods"), &pod).await;
    }
}

async fn bodies_that_do_not_fit(talk: &mut Talk<'_>) {
    let (all, maps) = (talk.ours(""), talk.core("configmaps"));
    talk.ask("POST", &maps, &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {} })).await;
    talk.ask("POST", &all, &config_map("a", "red")).await;
    talk.ask("POST", &maps, &config_map("Not_A_Name", "red")).await;
    talk.ask("POST", &maps, &config_map("a", "not a label!")).await;
    let mut elsewhere = config_map("a", "red");
    elsewhere["metadata"]["namespace"] = json!("elsewhere");
    talk.ask("POST", &maps, &elsewhere).await;
    talk.ask("POST", &maps, &config_map("a", "red")).await;
    talk.ask("PUT", &format!("{maps}/a"), &config_map("b", "red")).await;
    talk.ask("POST", "/api/v1/namespaces/nowhere/configmaps", &config_map("a", "red")).await;
    talk.ask("GET", "/apis/nothing.example.com/v1/things", &Value::Null).await;
    let mut invalid = deployment("web");
    invalid["spec"]["replicas"] = json!(-1);
    talk.ask("POST", &all, &invalid).await;
    talk.ask(
        "POST",
        &all,
        &json!({ "apiVersion": "rollwright.dev/v1", "kind": "Deployment", "metadata": { "name": "web" } }),
    )
    .await;
}

async fn unknown_fields(talk: &mut Talk<'_>) {
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    let mut object = deployment("web");
    object["spec"]["colour"] = json!("red");
    talk.ask("POST", &format!("{all}?fieldValidation=Strict"), &object).await;
    talk.ask("POST", &format!("{all}?fieldValidation=Ignore"), &object).await;
    // The message quotes the whole object, with all that differs between any two servers.
    let strict = format!("{web}?fieldValidation=Strict");
    let refused = talk.patch_unseen(&strict, &json!({ "spec": { "colour": "red" } })).await;
    let message = refused["message"].as_str().unwrap();
    let (_, complaint) = message.rsplit_once("strict decoding error").unwrap();
    talk.note(&format!("{} {} {complaint}", refused["code"], refused["reason"]));
    // Dropped again, so nothing changes.
    talk.patch("merge-patch", &web, &json!({ "spec": { "colour": "red" } })).await;
}

async fn applied(talk: &mut Talk<'_>) {
    let web = talk.ours("/web");
    talk.patch("apply", &web, &deployment("web")).await;
    talk.patch("apply", &format!("{web}?fieldManager=one"), &deployment("web")).await;
    let mut changed = deployment("web");
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("main:v2");
    talk.patch("apply", &format!("{web}?fieldManager=one"), &changed).await;
    let side = json!({
        "apiVersion": "rollwright.dev/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "template": { "spec": { "containers": [{ "name": "side", "image": "side:v1" }] } } },
    });
    talk.patch("apply", &format!("{web}?fieldManager=two"), &side).await;
}
