//! Revisions of a Deployment: its ReplicaSets, by the number that the controller gave them (S5.1).

use api::decode::{self, Parts};
use plan::keys::{CHANGE_CAUSE, CHANGED_BY, HASH_LABEL, REVISION};
use plan::template::Template;
use plan::{Outline, SetStatus, Trigger};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::images;
use crate::output::yaml;
use crate::table::{Draw, NONE, age, line};
use crate::terminal::clean;

#[derive(Clone, Debug)]
pub(crate) struct Revision {
    pub(crate) number: i64,
    /// Its ReplicaSet.
    pub(crate) set: Value,
    /// The pod template as its author wrote it, defaults of the server included.
    pub(crate) template: Value,
}

impl Revision {
    fn text(&self, path: &str) -> &str {
        self.set.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    fn number_at(&self, path: &str) -> i64 {
        self.set.pointer(path).and_then(Value::as_i64).unwrap_or(0)
    }

    pub(crate) fn set_name(&self) -> &str {
        self.text("/metadata/name")
    }

    pub(crate) fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    pub(crate) fn created(&self) -> &str {
        self.text("/metadata/creationTimestamp")
    }

    pub(crate) fn desired(&self) -> i64 {
        self.number_at("/spec/replicas")
    }

    pub(crate) fn status(&self) -> SetStatus {
        decode::set_status(Parts::from(&self.set).status).unwrap_or_default()
    }

    pub(crate) fn ready(&self) -> i64 {
        self.status().ready
    }

    pub(crate) fn images(&self) -> String {
        clean(&images::of(&self.template).join(","))
    }

    pub(crate) fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.set.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten();
        all.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    fn annotation(&self, wanted: &str) -> Option<&str> {
        self.annotations().find(|(key, _)| *key == wanted).map(|(_, value)| value)
    }

    pub(crate) fn hash(&self) -> Option<&str> {
        self.set.pointer("/metadata/labels")?.get(HASH_LABEL)?.as_str()
    }

    /// For programs, with members beside its own.
    pub(crate) fn document(&self, more: &[(&str, Value)]) -> Value {
        let own = [
            ("revision", json!(self.number)),
            ("replicaSet", json!(self.set_name())),
            ("podTemplateHash", json!(self.hash())),
            ("images", json!(images::of(&self.template))),
            ("changeCause", json!(self.annotation(CHANGE_CAUSE))),
            ("changedBy", json!(self.annotation(CHANGED_BY))),
            ("created", json!(self.created())),
            ("replicas", json!(self.desired())),
            ("readyReplicas", json!(self.ready())),
        ];
        own.iter().chain(more).map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }
}

/// The revisions of these ReplicaSets, newest first. A ReplicaSet without a number is none: the controller
/// has not counted it yet.
pub(crate) fn revisions(sets: Vec<Value>) -> Vec<Revision> {
    let mut revisions: Vec<Revision> = sets.into_iter().filter_map(revision).collect();
    revisions.sort_by_key(|revision| std::cmp::Reverse(revision.number));
    revisions
}

fn revision(set: Value) -> Option<Revision> {
    let annotations = set.pointer("/metadata/annotations")?;
    let number = annotations.get(REVISION)?.as_str()?.parse().ok().filter(|number| *number > 0)?;
    let template = Template::of(set.pointer("/spec/template").unwrap_or(&Value::Null));
    let template = template.without_hash_label().tree();
    Some(Revision { number, template, set })
}

/// One revision by its number; 0 is the one before the newest.
pub(crate) fn find(revisions: &[Revision], number: i64) -> Result<&Revision, Failure> {
    let found = match number {
        0 => revisions.get(1),
        _ => revisions.iter().find(|revision| revision.number == number),
    };
    found.ok_or_else(|| match (number, revisions) {
        (0, _) => {
            Failure::Missing("there is no revision to go back to; history shows what there is".to_owned())
        }
        (_, []) => Failure::Missing(format!("revision {number} not found: there is none yet")),
        _ => {
            let known: Vec<String> = revisions.iter().map(|revision| revision.number.to_string()).collect();
            Failure::Missing(format!("revision {number} not found; there are: {}", known.join(", ")))
        }
    })
}

/// What each of these revisions changed of the one before it; nothing is known of the oldest one's. A
/// ReplicaSet does not show that an operator put its template back, so a rollback shows what it changed.
pub(crate) fn triggers(newest_first: &[Revision]) -> Vec<Option<Trigger>> {
    let outlines: Vec<_> = newest_first.iter().map(|revision| Outline::of(&revision.template)).collect();
    let before = outlines.iter().skip(1).map(Some).chain([None]);
    let pairs = outlines.iter().zip(before);
    pairs.map(|(after, before)| Some(Trigger::between(*before?, *after))).collect()
}

/// The table of `history`, oldest first as kubectl has it.
pub(crate) fn listing(revisions: &[Revision], now: jiff::Timestamp, draw: Draw<'_>) -> String {
    let mut lines = vec![line(["REVISION", "IMAGES", "READY", "AGE", "CHANGE-CAUSE"])];
    for revision in revisions.iter().rev() {
        lines.push(line([
            &revision.number.to_string(),
            &revision.images(),
            &format!("{}/{}", revision.ready(), revision.desired()),
            &age(revision.created(), now),
            revision.annotation(CHANGE_CAUSE).unwrap_or(NONE),
        ]));
    }
    draw(&lines)
}

/// The table of `history` for an API that keeps no records: what the ReplicaSets show of each rollout.
pub(crate) fn outline(revisions: &[Revision], now: jiff::Timestamp, draw: Draw<'_>) -> String {
    let heading =
        line(["REVISION", "HASH", "IMAGES", "TRIGGER", "AUTHOR", "READY", "CREATED", "CHANGE-CAUSE"]);
    let lines = revisions.iter().zip(triggers(revisions)).rev().map(|(revision, trigger)| {
        line([
            &revision.number.to_string(),
            revision.hash().unwrap_or(NONE),
            &revision.images(),
            trigger.map_or(NONE, Trigger::as_str),
            revision.annotation(CHANGED_BY).unwrap_or(NONE),
            &format!("{}/{}", revision.ready(), revision.desired()),
            &age(revision.created(), now),
            revision.annotation(CHANGE_CAUSE).unwrap_or(NONE),
        ])
    });
    draw(&[heading].into_iter().chain(lines).collect::<Vec<_>>())
}

/// What changed from one template to another: lines with `-`, `+` or a blank in front; empty if nothing.
pub(crate) fn difference(from: &Value, to: &Value) -> Result<String, Failure> {
    let (from, to) = (yaml(from)?, yaml(to)?);
    let difference = similar::TextDiff::from_lines(&from, &to);
    let mut text = String::new();
    for hunk in difference.unified_diff().context_radius(3).iter_hunks() {
        text.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let mark = match change.tag() {
                similar::ChangeTag::Delete => '-',
                similar::ChangeTag::Insert => '+',
                similar::ChangeTag::Equal => ' ',
            };
            text.push_str(&format!("{mark}{}\n", clean(change.value().trim_end_matches('\n'))));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use plan::keys::RESTARTED_AT;

    use super::*;
    use crate::table::table;

    fn set(number: &str, image: &str) -> Value {
        json!({
            "metadata": {"name": format!("web-{number}"), "annotations": {REVISION: number}},
            "spec": {"replicas": 1, "template": {
                "metadata": {"labels": {"app": "web", "pod-template-hash": "x"}},
                "spec": {"containers": [{"name": "app", "image": image}]}}},
        })
    }

    fn numbers(revisions: &[Revision]) -> Vec<i64> {
        revisions.iter().map(|revision| revision.number).collect()
    }

    #[test]
    fn revisions_are_ordered_by_number_not_by_text() {
        let sets = vec![set("9", "app:9"), set("10", "app:10"), set("nine", "app:x"), set("2", "app:2")];
        let found = revisions(sets);
        assert_eq!(numbers(&found), [10, 9, 2]);
        assert_eq!(find(&found, 0).map(|revision| revision.number).ok(), Some(9));
        assert_eq!(find(&found, 2).map(|revision| revision.number).ok(), Some(2));
        let error = find(&found, 7).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("revision 7 not found; there are: 10, 9, 2"));
    }

    #[test]
    fn a_trigger_compares_a_revision_with_the_one_before_it() {
        let mut restarted = set("3", "app:2");
        restarted["spec"]["template"]["metadata"]["annotations"] = json!({ RESTARTED_AT: "2026-04-01" });
        // Revision 2 has gone, and revision 4 changes two things.
        let found = revisions(vec![set("1", "app:1"), restarted, set("4", "app:3"), set("5", "app:4")]);
        let other = Some(Trigger::TemplateChanged);
        assert_eq!(triggers(&found), [Some(Trigger::NewImage), other, other, None]);
        let found = revisions(vec![set("2", "app:2"), found[2].set.clone()]);
        assert_eq!(triggers(&found), [Some(Trigger::Restart), None]);
        assert_eq!(triggers(&[]), []);
    }

    #[test]
    fn an_outline_shows_what_the_sets_do() {
        let mut new = set("2", "app:2");
        new["metadata"]["labels"] = json!({"pod-template-hash": "5f9c"});
        new["metadata"]["annotations"][CHANGED_BY] = json!("dev-1\u{1b}[2J");
        new["metadata"]["annotations"][CHANGE_CAUSE] = json!("release 2");
        new["metadata"]["creationTimestamp"] = json!("2026-04-01T12:00:00Z");
        new["status"] = json!({"replicas": 1, "readyReplicas": 1});
        let found = revisions(vec![set("1", "app:1"), new]);
        let text = outline(&found, "2026-04-01T12:01:00Z".parse().unwrap_or_default(), &table);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
            .collect();
        let cells = ["REVISION", "HASH", "IMAGES", "TRIGGER", "AUTHOR", "READY", "CREATED", "CHANGE-CAUSE"];
        assert_eq!(lines[0], cells);
        assert_eq!(lines[1][..5], ["1", "<none>", "app:1", "<none>", "<none>"]);
        assert_eq!(
            lines[2],
            ["2", "5f9c", "app:2", "NewImage", "dev-1\\u{1b}[2J", "1/1", "60s", "release 2"]
        );
    }

    #[test]
    fn the_hash_label_is_no_difference() {
        let found = revisions(vec![set("1", "app:1"), set("2", "app:2")]);
        let (new, old) = (find(&found, 2), find(&found, 1));
        let (Ok(new), Ok(old)) = (new, old) else { unreachable!("both are there") };
        let text = difference(&old.template, &new.template).unwrap_or_default();
        assert!(text.contains("-  - image: app:1") || text.contains("app:1"), "{text}");
        assert!(!text.contains("pod-template-hash"), "{text}");
        assert_eq!(difference(&old.template, &old.template).unwrap_or_default(), "");
    }
}
