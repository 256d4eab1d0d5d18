//! The definition of rollwright.dev: when its objects go with it, and when it cannot be used.

use crate::talk;

use apiserver::{ApiServer, embed};
use http::Method;
use serde_json::{Value, json};
use talk::ask;
use world::Conventions;

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/deployments.rollwright.dev";
const OURS: &str = "/apis/rollwright.dev/v1/namespaces/default/deployments";
const NOTHING: &Value = &Value::Null;

fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "rollwright.dev/v1", "kind": "Deployment", "metadata": { "name": name },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "main:v1" }] },
            },
        },
    })
}

/// A server with a Rollwright Deployment.
async fn server() -> ApiServer {
    let cluster = embed(api::crd::crd(None).unwrap(), Box::new(Conventions::default())).unwrap();
    let mut server = ApiServer::new(&cluster);
    assert_eq!(ask(&mut server, Method::POST, OURS, &deployment("web")).await.0, 201);
    server
}

#[tokio::test]
async fn a_refused_deletion_takes_no_deployment_with_it() {
    let mut server = server().await;
    let (_, definition) = ask(&mut server, Method::GET, DEFINITION, NOTHING).await;
    let uid = &definition["metadata"]["uid"];
    let version = &definition["metadata"]["resourceVersion"];
    let on =
        |uid: &Value, version: &Value| json!({ "preconditions": { "uid": uid, "resourceVersion": version } });
    for wrong in [on(&json!("another"), version), on(uid, &json!("1"))] {
        let (code, answer) = ask(&mut server, Method::DELETE, DEFINITION, &wrong).await;
        assert_eq!((code, &answer["reason"]), (409, &json!("Conflict")), "{answer}");
        assert_eq!(ask(&mut server, Method::GET, &format!("{OURS}/web"), NOTHING).await.0, 200);
    }
    let dry = json!({ "dryRun": ["All"] });
    assert_eq!(ask(&mut server, Method::DELETE, DEFINITION, &dry).await.0, 200);
    assert_eq!(ask(&mut server, Method::GET, &format!("{OURS}/web"), NOTHING).await.0, 200);
    let (code, answer) = ask(&mut server, Method::DELETE, DEFINITION, &on(uid, version)).await;
    assert_eq!(code, 200, "{answer}");
    assert_eq!(ask(&mut server, Method::GET, OURS, NOTHING).await.0, 404);
    // A new definition does not bring them back.
    let all = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(ask(&mut server, Method::POST, all, &api::crd::crd(None).unwrap()).await.0, 201);
    let (code, list) = ask(&mut server, Method::GET, OURS, NOTHING).await;
    assert_eq!((code, &list["items"]), (200, &json!([])));
}

#[tokio::test]
async fn what_cannot_be_validated_is_not_stored() {
    let mut server = server().await;
    let mut definition = ask(&mut server, Method::GET, DEFINITION, NOTHING).await.1;
    let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    schema["multipleOf"] = json!(2);
    assert_eq!(ask(&mut server, Method::PUT, DEFINITION, &definition).await.0, 200);
    let (code, answer) = ask(&mut server, Method::POST, OURS, &deployment("shop")).await;
    assert_eq!(code, 500, "{answer}");
    let message = answer["message"].as_str().unwrap();
    assert!(message.starts_with("deployments.rollwright.dev cannot be served here: "), "{message}");
    assert!(message.contains("multipleOf is not supported"), "{message}");
    let patch = json!({ "spec": { "replicas": -1 } });
    assert_eq!(ask(&mut server, Method::PATCH, &format!("{OURS}/web"), &patch).await.0, 500);
    // What is there can be read, and the definition be put right.
    assert_eq!(ask(&mut server, Method::GET, &format!("{OURS}/web"), NOTHING).await.0, 200);
    let put_right = api::crd::crd(None).unwrap();
    let spec = json!({ "spec": put_right["spec"] });
    assert_eq!(ask(&mut server, Method::PATCH, DEFINITION, &spec).await.0, 200);
    assert_eq!(ask(&mut server, Method::POST, OURS, &deployment("shop")).await.0, 201);

    assert_eq!(ask(&mut server, Method::DELETE, DEFINITION, NOTHING).await.0, 200);
    definition["metadata"] = json!({ "name": "deployments.rollwright.dev" });
    let all = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = ask(&mut server, Method::POST, all, &definition).await;
    assert_eq!(code, 500, "{answer}");
    assert_eq!(ask(&mut server, Method::GET, DEFINITION, NOTHING).await.0, 404);
}
