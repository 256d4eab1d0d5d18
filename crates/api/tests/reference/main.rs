//! `docs/reference/api.md`, the reference of the API, is what the definition and the planner's names make.
//!
//! `UPDATE=1 cargo test -p rollwright-api` writes it anew.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a schema that is not as expected is a failed test"
)]

mod conditions;
mod fields;

use std::fmt::Write as _;

use conditions::{ENTRIES, OF_EVENTS};
use plan::intstr::IntOrPercent;
use plan::{Flavour, Strategy};
use rollwright_api::crd::{GROUP, KIND, PLURAL, SHORT_NAME, VERSION, crd};
use rollwright_api::decode::{self, Defaults};
use serde_json::{Value, json};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/api.md");

#[test]
fn the_page_is_what_the_code_makes() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(PAGE, &page).unwrap();
    }
    let stored = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        stored == page,
        "docs/reference/api.md is not what the code makes; run `make crd` and review the difference"
    );
}

/// What the page says that an absent field stands for is what the planner gets to see.
#[test]
fn absent_fields_are_what_the_page_says() {
    let definition = crd(None).unwrap();
    let spec = fields::properties(&schema(&definition)["properties"]["spec"]);
    let said = |path: &str| {
        let field = spec.iter().find(|field| field.path == path).unwrap();
        field.default.clone().unwrap()
    };
    let object = json!({"metadata": {"name": "web"}, "spec": {"template": {}}});
    let workload = decode::workload(Flavour::Rollwright, &object, Defaults::Apply).unwrap();
    assert_eq!(said("replicas"), workload.replicas.to_string());
    assert_eq!(said("minReadySeconds"), workload.min_ready_seconds.to_string());
    assert_eq!(said("revisionHistoryLimit"), workload.revision_history_limit.unwrap().to_string());
    assert_eq!(said("progressDeadlineSeconds"), workload.progress_deadline_seconds.unwrap().to_string());
    let text = |share: Option<IntOrPercent>| match share.unwrap() {
        IntOrPercent::Int(number) => number.to_string(),
        IntOrPercent::Text(text) => text,
    };
    let Strategy::RollingUpdate { max_surge, max_unavailable } = workload.strategy else {
        panic!("the default is a rolling update");
    };
    assert_eq!(said("strategy.type"), "RollingUpdate");
    assert_eq!(said("strategy.rollingUpdate.maxSurge"), text(max_surge));
    assert_eq!(said("strategy.rollingUpdate.maxUnavailable"), text(max_unavailable));
}

/// A condition or a reason that the planner gains is one that the page has to tell of.
#[test]
fn every_condition_and_reason_of_the_planner_is_there() {
    let source = include_str!("../../../plan/src/keys.rs");
    let modules = source.split_once("pub mod condition").unwrap().1;
    let (kinds, reasons) = modules.split_once("pub mod reason").unwrap();
    let values = |text: &'static str| -> Vec<&'static str> {
        let lines = text.lines().filter(|line| line.trim_start().starts_with("pub const"));
        lines.filter_map(|line| line.split('"').nth(1)).collect()
    };
    let (kinds, reasons) = (values(kinds), values(reasons));
    assert!(kinds.len() > 5 && reasons.len() > 15, "{kinds:?} {reasons:?}");
    for kind in kinds {
        assert!(ENTRIES.iter().any(|entry| entry.kind == kind), "the condition {kind} is missing");
    }
    for reason in reasons {
        let is_there = ENTRIES.iter().any(|entry| entry.reasons.contains(&reason));
        assert!(is_there || OF_EVENTS.contains(&reason), "the reason {reason} is missing");
    }
}

fn schema(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

fn page() -> String {
    let definition = crd(None).unwrap();
    let version = &definition["spec"]["versions"][0];
    let root = schema(&definition);
    let mut page = format!(
        "# API reference\n\n\
         <!-- Made by crates/api/tests/reference from the definition; `make crd` writes it anew. -->\n\n\
         `kind: {KIND}`, `apiVersion: {GROUP}/{VERSION}`. {}\n\n\
         For kubectl: `{SHORT_NAME}`, or `{PLURAL}.{GROUP}`. `kubectl explain {SHORT_NAME}.spec` tells the same in the \
         terminal. The definition is [crds/deployments.rollwright.dev.yaml](../crds/deployments.rollwright.dev.yaml); \
         where it takes or refuses something else than apps/v1 is in [migration.md](migration.md).\n\n\
         A null counts as absent where a field takes it.\n\n",
        root["description"].as_str().unwrap(),
    );
    let _ = write!(page, "## spec\n\n{}\n\n", root["properties"]["spec"]["description"].as_str().unwrap());
    page.push_str(&fields::table(&root["properties"]["spec"], true));
    page.push_str(
        "\nThe pod template has every field of Kubernetes' own, as `kubectl explain rwd.spec.template --recursive` \
         lists them; [their meaning](https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/) \
         is the same. The table has only what a Deployment limits there.\n\n",
    );
    let status = &root["properties"]["status"];
    let _ = write!(
        page,
        "## status\n\n{} Before its first look it is `{}`.\n\n",
        status["description"].as_str().unwrap(),
        status["default"],
    );
    page.push_str(&fields::table(status, false));
    page.push_str("\n`target`, `rollout` and `history` are names set aside; nothing is there yet.\n\n");
    page.push_str(&conditions());
    page.push_str(&columns(version));
    page.push_str(&scale(version));
    page
}

fn conditions() -> String {
    let mut text = "## Conditions\n\n\
        | condition | status | reason | on | means |\n|---|---|---|---|---|\n"
        .to_owned();
    let mut last = "";
    for entry in ENTRIES {
        let kind = if entry.kind == last { "" } else { entry.kind };
        last = entry.kind;
        let reasons: Vec<String> = entry.reasons.iter().map(|reason| format!("`{reason}`")).collect();
        let on = if entry.only.is_some() { "ours" } else { "both" };
        let line = format!("| {kind} | {} | {} | {on} | {} |", entry.status, reasons.join(", "), entry.means);
        let _ = writeln!(text, "{}", line.replace("|  |", "| |"));
    }
    text.push_str(
        "\nReady, Available and Progressing are always there (Progressing only with a deadline, as in apps/v1), the \
         others only while they hold. `on` says whether apps/v1 Deployments that the operator manages have them \
         too.\n\n",
    );
    text
}

fn columns(version: &Value) -> String {
    let mut text = "## Columns of kubectl get\n\n| column | from | |\n|---|---|---|\n".to_owned();
    for column in version["additionalPrinterColumns"].as_array().unwrap() {
        let wide = if column["priority"] == 1 { " With `-o wide`." } else { "" };
        let word = |key: &str| column[key].as_str().unwrap().to_owned();
        let _ = writeln!(
            text,
            "| {} | `{}` | {}{wide} |",
            word("name").to_uppercase(),
            word("jsonPath"),
            word("description")
        );
    }
    text.push('\n');
    text
}

fn scale(version: &Value) -> String {
    let scale = &version["subresources"]["scale"];
    let path = |key: &str| scale[key].as_str().unwrap();
    format!(
        "## Scale subresource\n\n`spec.replicas` is `{}`, `status.replicas` is `{}`, `status.selector` is `{}`. \
         See [ecosystem.md](ecosystem.md#autoscalers).\n",
        path("specReplicasPath"),
        path("statusReplicasPath"),
        path("labelSelectorPath"),
    )
}
