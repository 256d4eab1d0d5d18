//! What clients of the command line need besides Deployments: who wrote one and when, rights, autoscalers, and budgets.

use apiserver::{ApiServer, embed};
use http::Method;
use serde_json::{Value, json};
use world::Conventions;

use crate::talk::{AGENT, ask};

const DEPLOYMENTS: &str = "/apis/rollwright.dev/v1/namespaces/default/deployments";

fn server() -> ApiServer {
    ApiServer::new(&embed(api::crd::crd(None).unwrap(), Box::new(Conventions::default())).unwrap())
}

fn deployment(version: &str) -> Value {
    let template = json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "web", "image": "web:v1" }] },
    });
    json!({
        "apiVersion": version, "kind": "Deployment", "metadata": { "name": "web" },
        "spec": { "replicas": 1, "selector": { "matchLabels": { "app": "web" } }, "template": template },
    })
}

/// Manager, subresource, and fields of `spec` of each entry.
fn writers(object: &Value) -> Vec<(String, String, Vec<String>)> {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let of = |entry: &Value| {
        assert!(entry["time"].is_string(), "{entry}");
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let fields = entry["fieldsV1"]["f:spec"].as_object().cloned().unwrap_or_default();
        (text("manager"), text("subresource"), fields.into_iter().map(|(name, _)| name).collect())
    };
    entries.iter().map(of).collect()
}

#[tokio::test]
async fn each_writer_is_noted_with_its_fields() {
    let mut server = server();
    let (code, created) = ask(&mut server, Method::POST, DEPLOYMENTS, &deployment("rollwright.dev/v1")).await;
    assert_eq!(code, 201, "{created}");
    let agent = AGENT.split('/').next().unwrap().to_owned();
    let all = ["f:replicas", "f:selector", "f:template"].map(str::to_owned).to_vec();
    assert_eq!(writers(&created), [(agent.clone(), String::new(), all.clone())]);
    let scaled = format!("{DEPLOYMENTS}/web?fieldManager=alice");
    let (_, changed) = ask(&mut server, Method::PATCH, &scaled, &json!({ "spec": { "replicas": 2 } })).await;
    let alice = ("alice".to_owned(), String::new(), vec!["f:replicas".to_owned()]);
    assert_eq!(writers(&changed), [(agent, String::new(), all), alice]);
    let (_, same) = ask(&mut server, Method::PATCH, &scaled, &json!({ "spec": { "replicas": 2 } })).await;
    assert_eq!(same["metadata"], changed["metadata"], "nothing changed");
}

#[tokio::test]
async fn a_strict_request_is_strict_for_both_kinds() {
    let mut server = server();
    for version in ["rollwright.dev/v1", "apps/v1"] {
        let uri = format!("/apis/{version}/namespaces/default/deployments?fieldValidation=Strict");
        let mut misspelled = deployment(version);
        misspelled["spec"]["replicsa"] = json!(4);
        let (code, refused) = ask(&mut server, Method::POST, &uri, &misspelled).await;
        assert_eq!(code, 400, "{refused}");
        assert!(
            refused["message"].as_str().unwrap().contains("unknown field \"spec.replicsa\""),
            "{refused}"
        );
        let (code, created) = ask(&mut server, Method::POST, &uri, &deployment(version)).await;
        assert_eq!(code, 201, "{created}");
    }
}

#[tokio::test]
async fn rights_autoscalers_and_budgets_are_served() {
    let mut server = server();
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    let (code, review) = ask(&mut server, Method::POST, reviews, &json!({ "spec": {} })).await;
    assert_eq!((code, &review["status"]["allowed"]), (201, &json!(true)), "{review}");
    for (version, kind, plural) in [
        ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
        ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ] {
        let uri = format!("/apis/{version}/namespaces/default/{plural}");
        let object =
            json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "web" }, "spec": {} });
        let (code, created) = ask(&mut server, Method::POST, &uri, &object).await;
        assert_eq!((code, &created["apiVersion"]), (201, &json!(version)), "{created}");
        let (_, list) = ask(&mut server, Method::GET, &uri, &Value::Null).await;
        assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
    }
}
