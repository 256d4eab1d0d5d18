//! `kubectl apply`, server-side apply by two managers: the same template as in apps/v1.

use serde_json::{Value, json};

use crate::suite::{Flavour, Suite, accepted_corpus_text, suite, template};

/// What a second party adds: a container, and entries in lists of the first container and the pod.
fn overlay(flavour: Flavour, manifest: &Value) -> Value {
    let name = manifest["metadata"]["name"].as_str().unwrap();
    let first = &template(manifest)["spec"]["containers"][0]["name"];
    let spec = json!({"template": {
        "metadata": {"annotations": {"second.example.com/was-here": "yes"}},
        "spec": {
            "containers": [
                {
                    "name": first,
                    "env": [{"name": "SECOND", "value": "2"}],
                    "volumeMounts": [{"name": "second", "mountPath": "/second"}],
                },
                {"name": "second", "image": "registry.example/second:v1"},
            ],
            "volumes": [{"name": "second", "emptyDir": {}}],
            "hostAliases": [{"ip": "192.0.2.2", "hostnames": ["second"]}],
            "imagePullSecrets": [{"name": "second"}],
        },
    }});
    Suite::deployment(flavour, name, &spec)
}

/// The first party's manifest after a change: another image, no variables, no tolerations.
fn changed(manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    let pod = manifest["spec"]["template"]["spec"].as_object_mut().unwrap();
    pod.remove("tolerations");
    let container = pod["containers"][0].as_object_mut().unwrap();
    container.insert("image".into(), json!("registry.example/app:v2"));
    container.remove("env");
    manifest
}

fn of(flavour: Flavour, manifest: &Value) -> Value {
    let mut manifest = manifest.clone();
    manifest["apiVersion"] = json!(flavour.api_version());
    manifest["metadata"].as_object_mut().unwrap().remove("namespace");
    manifest
}

async fn assert_alike(suite: &Suite, name: &str, step: &str) -> Value {
    let apps = template(&suite.get(Flavour::Apps, name).await);
    let ours = template(&suite.get(Flavour::Ours, name).await);
    assert_eq!(suite.as_stored(&ours).await.unwrap(), apps, "{name}: {step}");
    ours
}

#[tokio::test(flavor = "multi_thread")]
async fn two_server_side_appliers_keep_out_of_each_others_way() {
    let suite = suite().await;
    for manifest in suite.read(&accepted_corpus_text(Flavour::Ours)).await {
        let name = manifest["metadata"]["name"].as_str().unwrap();
        let steps = [
            ("one applies", "one", manifest.clone()),
            ("two adds", "two", overlay(Flavour::Ours, &manifest)),
            ("one changes its part", "one", changed(&manifest)),
        ];
        let mut last = Value::Null;
        for (step, manager, object) in steps {
            for flavour in Flavour::BOTH {
                let applied = suite.apply(flavour, manager, &of(flavour, &object)).await;
                applied.unwrap_or_else(|message| panic!("{flavour:?} {name}: {step}: {message}"));
            }
            last = assert_alike(&suite, name, step).await;
        }
        // What the second one added has survived the first one's change.
        let pod = &last["spec"];
        let names = |list: &Value| -> Vec<Value> {
            list.as_array().unwrap().iter().map(|item| item["name"].clone()).collect()
        };
        assert!(names(&pod["containers"]).contains(&json!("second")), "{name}");
        assert_eq!(names(&pod["containers"][0]["env"]), [json!("SECOND")], "{name}");
        // And goes when its owner lets go.
        let nothing = json!({"template": {"metadata": {"annotations": {}}}});
        for flavour in Flavour::BOTH {
            suite.apply(flavour, "two", &Suite::deployment(flavour, name, &nothing)).await.unwrap();
        }
        let last = assert_alike(&suite, name, "two lets go").await;
        assert!(!names(&last["spec"]["containers"]).contains(&json!("second")), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn client_side_apply_gives_the_same_template() {
    let suite = suite().await;
    let manifests = suite.read(&accepted_corpus_text(Flavour::Ours)).await;
    for flavour in Flavour::BOTH {
        suite.kubectl.apply(&accepted_corpus_text(flavour)).await.unwrap();
    }
    for manifest in &manifests {
        assert_alike(&suite, manifest["metadata"]["name"].as_str().unwrap(), "applied").await;
    }
    for flavour in Flavour::BOTH {
        let items: Vec<Value> = manifests.iter().map(|manifest| of(flavour, &changed(manifest))).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        suite.kubectl.apply(&list.to_string()).await.unwrap();
    }
    for manifest in &manifests {
        let name = manifest["metadata"]["name"].as_str().unwrap();
        let ours = assert_alike(&suite, name, "applied again").await;
        assert_eq!(ours["spec"]["containers"][0]["image"], "registry.example/app:v2", "{name}");
    }
}

/// What nobody changed is no change: nothing is stored in a list that its author did not write.
#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_client_side_apply_says_so() {
    let suite = suite().await;
    let ports = json!([{"containerPort": 80}, {"name": "dns", "containerPort": 53, "protocol": "UDP"}]);
    let spec = json!({"selector": {"matchLabels": {"app": "web"}}, "template": {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "imagePullSecrets": [{"name": "registry"}],
            "initContainers": [{"name": "init", "image": "init:v1", "ports": ports}],
            "containers": [{"name": "web", "image": "web:v1", "ports": ports}],
        },
    }});
    for flavour in Flavour::BOTH {
        let manifest = Suite::deployment(flavour, "unchanged", &spec).to_string();
        let first = suite.kubectl.apply(&manifest).await.unwrap();
        assert!(first.trim().ends_with("created"), "{flavour:?}: {first}");
        let again = suite.kubectl.apply(&manifest).await.unwrap();
        assert!(again.trim().ends_with("unchanged"), "{flavour:?}: {again}");
    }
    assert_alike(&suite, "unchanged", "applied twice").await;
}

/// What that costs (`docs/reference/differences-from-apps-v1.md`): a second party that adds a port by server-side
/// apply is refused on rollwright.dev, since the list has one owner. Nothing is lost unless it insists.
#[tokio::test(flavor = "multi_thread")]
async fn server_side_apply_takes_ports_whole() {
    let suite = suite().await;
    let of = |ports: &Value| {
        json!({"selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:v1", "ports": ports}]},
        }})
    };
    let (own, added) = (json!([{"containerPort": 80}]), json!([{"containerPort": 81}]));
    for (flavour, number) in [(Flavour::Apps, 2), (Flavour::Ours, 1)] {
        let one = Suite::deployment(flavour, "ports", &of(&own));
        suite.apply(flavour, "one", &one).await.unwrap();
        let second = suite.apply(flavour, "two", &Suite::deployment(flavour, "ports", &of(&added))).await;
        let stored = template(&suite.get(flavour, "ports").await);
        assert_eq!(stored["spec"]["containers"][0]["ports"].as_array().unwrap().len(), number, "{flavour:?}");
        if flavour == Flavour::Ours {
            let refused = second.unwrap_err();
            assert!(refused.contains(".spec.template.spec.containers[name=\"web\"].ports"), "{refused}");
        }
    }
}

/// A difference of `docs/reference/differences-from-apps-v1.md`: kubectl merges lists by key only for kinds that it
/// knows, and takes those of Rollwright whole.
#[tokio::test(flavor = "multi_thread")]
async fn client_side_apply_takes_lists_whole() {
    let suite = suite().await;
    let spec = json!({"selector": {"matchLabels": {"app": "web"}}, "template": {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:v1"}]},
    }});
    let mut containers = Vec::new();
    for flavour in Flavour::BOTH {
        let manifest = Suite::deployment(flavour, "foreign", &spec);
        suite.kubectl.apply(&manifest.to_string()).await.unwrap();
        let foreign = json!({"template": {"spec": {"containers": [{"name": "side", "image": "side:v1"}]}}});
        let foreign = Suite::deployment(flavour, "foreign", &foreign);
        suite.apply(flavour, "injector", &foreign).await.unwrap();
        let mut manifest = manifest;
        manifest["spec"]["template"]["spec"]["containers"][0]["image"] = json!("web:v2");
        suite.kubectl.apply(&manifest.to_string()).await.unwrap();
        let stored = template(&suite.get(flavour, "foreign").await);
        containers.push(stored["spec"]["containers"].as_array().unwrap().len());
    }
    assert_eq!(containers, [2, 1]);
}

/// Under server-side apply a null is an absent value, except where a CRD has no form for it.
#[tokio::test(flavor = "multi_thread")]
async fn nulls_under_server_side_apply() {
    let suite = suite().await;
    let cases = [
        ("/strategy", json!({"type": "Recreate", "rollingUpdate": null}), true),
        ("/replicas", Value::Null, true),
        ("/progressDeadlineSeconds", Value::Null, true),
        ("/template/metadata/creationTimestamp", Value::Null, true),
        ("/template/spec/nodeSelector", Value::Null, true),
        ("/template/spec/containers/0/resources", json!({"limits": null}), true),
        ("/template/spec/containers/0/imagePullPolicy", Value::Null, false),
        ("/template/spec/nodeSelector", json!({"a": null}), false),
    ];
    for (i, (pointer, value, taken)) in cases.into_iter().enumerate() {
        let mut spec = json!({"selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:v1"}]},
        }});
        crate::cases::set(&mut spec, pointer, &value);
        let name = format!("null-{i}");
        let apps = Suite::deployment(Flavour::Apps, &name, &spec);
        suite.apply(Flavour::Apps, "one", &apps).await.unwrap();
        let ours = suite.apply(Flavour::Ours, "one", &Suite::deployment(Flavour::Ours, &name, &spec)).await;
        assert_eq!(ours.is_ok(), taken, "{pointer} = {value}: {ours:?}");
        if taken {
            assert_alike(&suite, &name, pointer).await;
        }
    }
}
