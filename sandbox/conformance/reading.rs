//! Lists and watches.

use serde_json::{Value, json};

use crate::talk::{Scenario, Talk, scenario};
use crate::writing::{config_map, deployment};

pub(crate) fn all() -> Vec<Scenario> {
    vec![
        scenario!(pages),
        scenario!(selections),
        scenario!(a_watch_from_a_version),
        scenario!(a_watch_from_the_beginning),
        scenario!(a_watch_of_a_selection),
        scenario!(history_that_is_gone),
        scenario!(documents),
    ]
}

async fn pages(talk: &mut Talk<'_>) {
    let all = talk.ours("");
    for name in ["a", "b", "c", "d", "e"] {
        talk.ask("POST", &all, &deployment(name)).await;
    }
    let first = talk.ask("GET", &format!("{all}?limit=2"), &Value::Null).await;
    // The pages that follow show what was there at the first.
    talk.ask("DELETE", &talk.ours("/d"), &Value::Null).await;
    talk.patch("merge-patch", &talk.ours("/e"), &json!({ "spec": { "replicas": 9 } })).await;
    talk.ask("POST", &all, &deployment("cc")).await;
    let token = |page: &Value| page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
    let second = talk.ask("GET", &format!("{all}?limit=2&continue={}", token(&first)), &Value::Null).await;
    talk.ask("GET", &format!("{all}?limit=2&continue={}", token(&second)), &Value::Null).await;
    talk.ask("GET", &all, &Value::Null).await;
    let selected = talk.ask("GET", &format!("{all}?limit=1&labelSelector=app"), &Value::Null).await;
    talk.note(&format!("{}", selected["metadata"]["remainingItemCount"]));
}

async fn selections(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    for (name, colour) in [("a", "red"), ("b", "blue"), ("c", "green")] {
        talk.ask("POST", &maps, &config_map(name, colour)).await;
    }
    let selectors = [
        "colour=red",
        "colour==red",
        "colour!=red,colour",
        "colour in (red, blue)",
        "colour notin (red,blue),colour",
        "!colour,!x",
        "colour=red,colour=blue",
    ];
    for selector in selectors {
        let escaped = selector.replace(' ', "%20").replace('=', "%3D").replace('!', "%21");
        let list = talk.ask("GET", &format!("{maps}?labelSelector={escaped}&limit=50"), &Value::Null).await;
        assert!(list["items"].is_array(), "{list}");
    }
    for field in
        ["metadata.name%3Db", "metadata.name%21%3Db,metadata.name%21%3Dkube-root-ca.crt", "spec.colour%3Dred"]
    {
        talk.ask("GET", &format!("{maps}?fieldSelector={field}"), &Value::Null).await;
    }
    talk.ask("GET", &format!("{}?fieldSelector=status.phase%3DRunning", talk.core("pods")), &Value::Null)
        .await;
    talk.ask("GET", &format!("{}?fieldSelector=spec.replicas%3D1", talk.ours("")), &Value::Null).await;
}

async fn a_watch_from_a_version(talk: &mut Talk<'_>) {
    let (all, web) = (talk.ours(""), talk.ours("/web"));
    let list = talk.ask("GET", &all, &Value::Null).await;
    talk.ask("POST", &all, &deployment("web")).await;
    talk.patch("merge-patch", &web, &json!({ "spec": { "replicas": 4 } })).await;
    talk.patch("merge-patch", &format!("{web}/status"), &json!({ "status": { "replicas": 4 } })).await;
    talk.ask("DELETE", &web, &Value::Null).await;
    let version = list["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    talk.watch(&format!("{all}?watch=true&resourceVersion={version}&timeoutSeconds=1")).await;
}

async fn a_watch_from_the_beginning(talk: &mut Talk<'_>) {
    let all = talk.ours("");
    talk.ask("POST", &all, &deployment("a")).await;
    talk.ask("POST", &all, &deployment("b")).await;
    talk.watch(&format!("{all}?watch=true&timeoutSeconds=1")).await;
    talk.watch(&format!("{all}?watch=true&timeoutSeconds=1&resourceVersion=0")).await;
    talk.watch(&format!("{all}?watch=true&timeoutSeconds=1&sendInitialEvents=true")).await;
}

async fn a_watch_of_a_selection(talk: &mut Talk<'_>) {
    let maps = talk.core("configmaps");
    let map = talk.ask("POST", &maps, &config_map("a", "red")).await;
    talk.ask("POST", &maps, &config_map("b", "blue")).await;
    for (name, colour) in [("b", "red"), ("a", "blue"), ("b", "red"), ("a", "red")] {
        let patch = json!({ "metadata": { "labels": { "colour": colour } }, "data": { "now": colour } });
        talk.patch("merge-patch", &format!("{maps}/{name}"), &patch).await;
    }
    talk.ask("DELETE", &format!("{maps}/b"), &Value::Null).await;
    let version = map["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let query = format!("watch=true&timeoutSeconds=1&labelSelector=colour%3Dred&resourceVersion={version}");
    talk.watch(&format!("{maps}?{query}")).await;
    let query =
        format!("watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Da&resourceVersion={version}");
    talk.watch(&format!("{maps}?{query}")).await;
}

async fn history_that_is_gone(talk: &mut Talk<'_>) {
    let all = talk.ours("");
    talk.ask("POST", &all, &deployment("a")).await;
    // In the stream, since the request is a good one.
    talk.watch(&format!("{all}?watch=true&timeoutSeconds=1&resourceVersion=1")).await;
    talk.ask("GET", &format!("{all}?resourceVersion=nonsense"), &Value::Null).await;
    talk.ask("GET", &format!("{all}?continue=nonsense"), &Value::Null).await;
}

/// Documents that are smaller than the real ones: all that they contain must be in the real ones as well.
async fn documents(talk: &mut Talk<'_>) {
    for path in ["/apis/rollwright.dev/v1", "/apis/rollwright.dev"] {
        talk.ask("GET", path, &Value::Null).await;
    }
    let apps = talk
        .server
        .client
        .request::<Value>(http::Request::get("/apis/apps/v1").body(Vec::new()).unwrap())
        .await;
    let apps = apps.unwrap();
    for name in ["deployments", "deployments/scale", "deployments/status", "replicasets", "replicasets/scale"]
    {
        let found = apps["resources"].as_array().unwrap().iter().find(|resource| resource["name"] == name);
        let mut found = found.unwrap().clone();
        found.as_object_mut().unwrap().remove("storageVersionHash");
        talk.note(&found.to_string());
    }
}
