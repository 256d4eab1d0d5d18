//! Installing with plain kubectl, what users see, and the files made from the server's OpenAPI.

use api::crd;
use cluster::Release;
use serde_json::{Value, json};

use crate::suite::{CRD, Flavour, golden, is_reference, path, suite};

#[tokio::test(flavor = "multi_thread")]
async fn plain_kubectl_installs_the_crd_and_the_examples() {
    let suite = suite().await;
    suite.kubectl.run(&["apply", "-f", &path("crds")]).await.unwrap();
    suite.kubectl.run(&["apply", "-f", &path("examples")]).await.unwrap();
    for resource in ["rwd", "deployments.rollwright.dev", "rollwright", "all"] {
        let names = suite.kubectl.run(&["get", resource, "-o", "name"]).await.unwrap();
        assert!(names.contains("deployment.rollwright.dev/web"), "{resource}: {names}");
    }
    suite.kubectl.run(&["scale", "rwd/hello", "--replicas=3"]).await.unwrap();
    let hello = suite.get(Flavour::Ours, "hello").await;
    assert_eq!(hello["spec"]["replicas"], 3);
}

/// S15.7: the same columns as for apps/v1, from the same facts.
#[tokio::test(flavor = "multi_thread")]
async fn columns_are_those_of_apps_v1() {
    let suite = suite().await;
    let spec = json!({"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:v1"}, {"name": "log", "image": "log:v1"}]},
    }});
    let counters = json!({
        "observedGeneration": 1, "replicas": 4, "updatedReplicas": 4, "readyReplicas": 3,
        "availableReplicas": 2, "unavailableReplicas": 2,
    });
    let mut status = counters.clone();
    let strings = json!({
        "display": {"ready": "3/4", "containers": "web,log", "images": "web:v1,log:v1"}, "selector": "app=web",
        "scaleReplicas": 4,
    });
    status.as_object_mut().unwrap().extend(strings.as_object().unwrap().clone());
    let mut tables = Vec::new();
    for (flavour, status) in [(Flavour::Apps, &counters), (Flavour::Ours, &status)] {
        suite.create(flavour, "web", &spec).await.unwrap();
        let patch = json!({"status": status});
        suite.merge(flavour, "web", "/status", &patch).await.unwrap();
        for format in ["", "wide"] {
            let resource = match flavour {
                Flavour::Apps => "deployments.v1.apps",
                Flavour::Ours => "rwd",
            };
            let mut arguments = vec!["get", resource, "web"];
            if !format.is_empty() {
                arguments.extend(["-o", format]);
            }
            let table = suite.kubectl.run(&arguments).await.unwrap();
            // The age may differ by a second; all else may not.
            let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let mut rows: Vec<Vec<String>> = table.lines().map(cells).collect();
            rows.iter_mut().for_each(|row| drop(row.remove(4)));
            tables.push(rows);
        }
    }
    // apps/v1 has no column for STATUS, TARGET and REVISION, which come after those that both have.
    for table in &mut tables[2..] {
        table[0].retain(|header| !["STATUS", "TARGET", "REVISION"].contains(&header.as_str()));
    }
    assert_eq!(tables[0], tables[2]);
    assert_eq!(tables[1], tables[3]);
    assert_eq!(tables[3][0].join(" "), "NAME READY UP-TO-DATE AVAILABLE CONTAINERS IMAGES SELECTOR");
    let url = format!("/apis/rollwright.dev/v1/namespaces/{}/deployments/web/scale", suite.namespace);
    let scale = suite.document(&url).await;
    assert_eq!(scale["spec"], json!({"replicas": 4}));
    assert_eq!(scale["status"], json!({"replicas": 4, "selector": "app=web"}));
}

/// Every field that the operator writes, and the names reserved for later, survive.
#[tokio::test(flavor = "multi_thread")]
async fn status_is_stored_as_written() {
    let suite = suite().await;
    let spec = json!({"template": {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:v1"}]},
    }});
    suite.create(Flavour::Ours, "status", &spec).await.unwrap();
    let time = "2026-01-02T03:04:05Z";
    let status = json!({
        "observedGeneration": 1, "replicas": 0, "updatedReplicas": 0, "readyReplicas": 0,
        "availableReplicas": 0, "unavailableReplicas": 0, "terminatingReplicas": 0, "collisionCount": 0,
        "revision": 9_007_199_254_740_993_i64, "selector": "app=web", "scaleReplicas": 0,
        "display": {"ready": "0/1", "containers": "web", "images": "web:v1", "summary": "Reverted"},
        "conditions": [{
            "type": "Ready", "status": "False", "reason": "R", "message": "m",
            "lastUpdateTime": time, "lastTransitionTime": time, "observedGeneration": 1,
        }],
        "rollback": {
            "requested": 0, "revision": 1, "result": "Done", "time": time,
        },
        "memory": {"anything": {"that": ["an", "operator", 1]}},
        "target": {"revision": 1, "podTemplateHash": "5f9", "reason": "Reverted", "declaredRevision": 2},
        "rollout": {"id": 2, "revision": 2, "from": 1, "startTime": time, "lowestAvailable": 0, "highestPods": 1},
        "history": [{
            "id": 1, "revision": 1, "podTemplateHash": "5f9", "images": {"web": "web:v1"}, "trigger": "TemplateChanged",
            "author": {"manager": "helm", "operation": "Update", "user": "dev-1"}, "cause": "c",
            "startTime": time, "completionTime": time, "outcome": "Failed", "reason": "ImagePull", "message": "m",
            "promotions": [{"step": 2, "manager": "kubectl-annotate", "time": time}],
            "lowestAvailable": 0, "highestPods": 1,
        }],
        "lastScale": {"from": 1, "to": 2, "manager": "kubectl", "subresource": "scale", "time": time},
        "blockers": [{"cause": "ImagePull", "container": "web", "reason": "R", "pods": 1, "totalPods": 1,
                      "message": "m", "startTime": time}],
    });
    let patch = json!({"status": status});
    let stored = suite.merge(Flavour::Ours, "status", "/status", &patch).await.unwrap();
    assert_eq!(stored["status"], status);
    // The server tracks a part as one field; otherwise each recorded rollout makes every write more expensive.
    let entries = stored["metadata"]["managedFields"].as_array().unwrap();
    let of_status = entries.iter().find(|entry| entry["subresource"] == "status").unwrap();
    let fields = &of_status["fieldsV1"]["f:status"];
    for part in ["f:history", "f:memory", "f:display", "f:rollout", "f:target", "f:rollback", "f:lastScale"] {
        assert_eq!(fields[part], json!({}), "{part}");
    }
}

/// `rollwright crd --from-cluster` on the reference is `rollwright crd`; `versions.rs` has the older release.
#[tokio::test(flavor = "multi_thread")]
async fn generated_files_come_from_the_server() {
    let suite = suite().await;
    let openapi = suite.document(crd::OPENAPI_PATH).await;
    let definitions = crd::kustomize_openapi(&suite.document(crd::OPENAPI_V2_PATH).await).unwrap();
    if is_reference() {
        golden(CRD, &crd::to_yaml(&crd::crd(Some(&openapi)).unwrap()));
        golden("deploy/kustomize-openapi.json", &crd::kustomize_text(&definitions));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_an_older_crd_lacks_are_found() {
    let suite = suite().await;
    let openapi = suite.document(crd::OPENAPI_PATH).await;
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let mut installed = suite.document(&format!("{crds}/{}", crd::CRD_NAME)).await;
    assert_eq!(crd::missing_pod_fields(&installed, &openapi), Vec::<String>::new());
    let pod = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/template/properties/spec";
    let properties =
        installed.pointer_mut(&format!("{pod}/properties")).and_then(Value::as_object_mut).unwrap();
    properties.remove("hostnameOverride");
    properties["tolerations"]["items"]["properties"]["operator"]["enum"] =
        json!(["", "Equal", "Exists", "Lt"]);
    properties["containers"]["items"]["properties"].as_object_mut().unwrap().remove("restartPolicyRules");
    // And since when there are these.
    let missing = [
        ("spec.template.spec.containers[].restartPolicyRules", "1.34"),
        ("spec.template.spec.hostnameOverride", "1.34"),
        ("spec.template.spec.tolerations[].operator=Gt", "1.35"),
    ];
    let release = Release::selected().unwrap();
    let known = missing.iter().filter(|(_, since)| release.is_since(since)).map(|(field, _)| *field);
    assert_eq!(crd::missing_pod_fields(&installed, &openapi), known.collect::<Vec<_>>());
}
