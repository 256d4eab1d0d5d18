//! The view of all Deployments.

use plan::Flavour;
use serde_json::{Value, json};

use super::*;
use crate::cluster::Deployment;
use crate::live::list::{Chosen, List};
use crate::state::States;

fn deployment(index: i64, more: &Value) -> Deployment {
    let names = ["cart", "checkout", "search", "storefront-recommendations", "payments", "mail"];
    let name = format!("{}-{index:04}", names[usize::try_from(index % 6).unwrap()]);
    let image = format!("registry.example.com/platform/{name}:v{}", index % 40);
    let mut body = json!({
        "metadata": {"name": name, "namespace": "shop", "generation": 2, "uid": name,
                     "creationTimestamp": at(-90_000 - index * 977).to_string()},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                 "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": image}]}}},
        "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 3,
                   "availableReplicas": 3, "conditions": []},
    });
    json_patch::merge(&mut body, more);
    let flavour = if index % 5 == 4 { Flavour::AppsV1 } else { Flavour::Rollwright };
    Deployment { flavour, body }
}

/// What is unlike the others, by its place among the names.
fn exceptions(index: i64) -> Value {
    match index {
        700 => json!({"status": {"availableReplicas": 2, "readyReplicas": 2, "conditions": [
            {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]}}),
        1205 => json!({"status": {"availableReplicas": 1, "readyReplicas": 1,
                                  "blockers": [{"cause": "ImagePull", "pods": 2, "totalPods": 3}]}}),
        41 | 42 | 1310 => json!({"status": {"availableReplicas": 2, "readyReplicas": 2}}),
        90 | 91 => json!({"status": {"conditions": [
            {"type": "Progressing", "status": "Unknown", "reason": "Queued"}]}}),
        300 => json!({"spec": {"paused": true}}),
        _ => json!({}),
    }
}

fn two_thousand() -> List {
    let mut list = List::new(Some("shop".to_owned()), States::default(), at(0), Ink { has_color: true });
    for index in 0..2000 {
        list.set(deployment(index, &exceptions(index)));
    }
    list.is_whole = true;
    list
}

fn compare_list(name: &str, list: &List) {
    compare(name, &|frame| list.render(frame));
}

fn opened(list: &mut List) -> String {
    match list.press(Key::Enter) {
        Chosen::Open(deployment) => deployment.name().to_owned(),
        Chosen::Nothing | Chosen::Leave => String::new(),
    }
}

#[test]
fn two_thousand_deployments() {
    let mut list = two_thousand();
    compare_list("list", &list);
    list.press(Key::Letter('G'));
    compare_list("list-end", &list);
}

#[test]
fn the_choice_stays_with_its_deployment() {
    let mut list = two_thousand();
    let first = opened(&mut list);
    list.press(Key::Down);
    list.press(Key::Down);
    let chosen = opened(&mut list);
    assert_ne!(chosen, first);
    // A Deployment that is blocked comes first.
    let late = json!({"status": {"blockers": [{"cause": "CrashLoop"}], "availableReplicas": 0}});
    list.set(deployment(6, &late));
    assert_eq!(opened(&mut list), chosen);
    list.press(Key::Letter('g'));
    assert_eq!(opened(&mut list), "cart-0006");
    assert!(matches!(list.press(Key::Escape), Chosen::Leave));
}

#[test]
fn what_a_new_list_lacks_is_gone() {
    let mut list = List::new(None, States::default(), at(0), Ink { has_color: true });
    assert!(matches!(list.press(Key::Enter), Chosen::Nothing));
    list.press(Key::Down);
    list.set(deployment(0, &json!({})));
    list.set(deployment(4, &json!({})));
    list.retain(Flavour::Rollwright, &std::collections::BTreeSet::new());
    assert_eq!(opened(&mut list), "payments-0004", "the other API has its own list");
    list.remove(&deployment(4, &json!({})));
    assert!(matches!(list.press(Key::Enter), Chosen::Nothing));
    screen(SIZES[1], |frame| list.render(frame));
}
