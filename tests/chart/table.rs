//! The table of rights in docs/how-to/security.md is what the chart grants.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::rights::{Right, of_rule};
use crate::values::{objects, read, render};

/// All that the chart can grant for rollwright.dev.
const ALL: [&str; 5] = [
    "--set=controller.jobs=true",
    "--set=leaderElection.enabled=true",
    "--set=metrics.auth=token",
    "--set=replicaCount=2",
    "--set=selector=shard=a",
];

#[test]
fn the_table_of_rights_is_what_the_chart_grants() {
    let rendered = objects(&render("default", &ALL).unwrap());
    let is_binding =
        |object: &&Value| object["kind"].as_str().is_some_and(|kind| kind.ends_with("RoleBinding"));
    let mut granted = BTreeSet::new();
    for binding in rendered.iter().filter(is_binding) {
        let role = &binding["roleRef"];
        let is_bound =
            |object: &&Value| object["kind"] == role["kind"] && object["metadata"]["name"] == role["name"];
        let role = rendered.iter().find(is_bound).unwrap_or_else(|| panic!("no {role}"));
        granted.extend(role["rules"].as_array().unwrap().iter().flat_map(of_rule));
    }
    assert_eq!(documented(&read("docs/how-to/security.md")), granted);
}

/// The rights of the page's first table. Empty cells mean the same as those above them.
fn documented(page: &str) -> BTreeSet<Right> {
    let table = page.split("## Rights\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let (mut group, mut resource) = (String::new(), String::new());
    let mut rights = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let &[in_group, of_resource, verbs, _] = cells.as_slice() else { panic!("{row}") };
        match in_group {
            "" => {}
            "–" => group.clear(),
            name => group = name.trim_matches('`').to_owned(),
        }
        if let Some(name) = of_resource.split('`').nth(1) {
            resource = name.to_owned();
        }
        rights.extend(verbs.split(", ").map(|verb| (group.clone(), resource.clone(), verb.to_owned())));
    }
    rights
}
