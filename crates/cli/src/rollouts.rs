//! The rollouts of a Deployment, as `status.rollout` and `status.history` record them (rollwright.dev).

use api::{Author, DeploymentStatus, Promotion, Rollout};
use jiff::Timestamp;
use plan::{Outcome, Trigger};

use crate::history::Revision;
use crate::table::{Draw, NONE, age, line};
use crate::terminal::clean;

/// What `history` prints for apps/v1, which has no place for records.
pub(crate) const OUTLINE: &str = "This is an outline, from the ReplicaSets: apps/v1 keeps no record of a rollout, \
                                  such as when it began and how it ended.\n";

/// The rollouts that the status shows, oldest first.
pub(crate) fn of(status: &DeploymentStatus) -> Vec<&Rollout> {
    let ended = status.history.iter().flatten().rev().filter(|rollout| rollout.outcome.is_some());
    ended.chain(&status.rollout).collect()
}

/// Why a rollback may lead to nothing better than what runs, as far as the records show: after a comma; else empty.
pub(crate) fn left_behind(status: &DeploymentStatus, revision: &Revision) -> String {
    let all = of(status);
    let mut newest_first = all.iter().rev();
    let hash = revision.hash();
    let Some(its) = newest_first.find(|it| hash.is_some() && it.pod_template_hash.as_deref() == hash) else {
        return String::new();
    };
    let is_away = |it: &&&Rollout| {
        it.trigger.as_deref() == Some(Trigger::Rollback.as_str()) && it.from == its.revision && it.id > its.id
    };
    let is = |outcome: Outcome| its.outcome.as_deref() == Some(outcome.as_str());
    if is(Outcome::Failed) {
        clean(&format!(", which failed ({})", its.reason.as_deref().unwrap_or("for an unknown reason")))
    } else if is(Outcome::Cancelled) {
        ", which was cancelled before its end".to_owned()
    } else if all.iter().any(|it| is_away(&it)) {
        ", which was rolled back before".to_owned()
    } else {
        String::new()
    }
}

/// The table of them, and that of their promotions; empty if there are none.
pub(crate) fn listing(rollouts: &[&Rollout], now: Timestamp, draw: Draw<'_>) -> String {
    if rollouts.is_empty() {
        return String::new();
    }
    let heading = line(["ROLLOUT", "REVISION", "TRIGGER", "AUTHOR", "TOOK", "OUTCOME"]);
    let lines = rollouts.iter().map(|rollout| {
        let revision = rollout.revision.map_or_else(|| NONE.to_owned(), |number| number.to_string());
        line([
            &rollout.id.to_string(),
            &revision,
            &trigger(rollout),
            &author(rollout.author.as_ref()),
            &took(rollout, now),
            &outcome(rollout),
        ])
    });
    let told = draw(&[heading].into_iter().chain(lines).collect::<Vec<_>>());
    format!("{told}{}", promotions(rollouts, now, draw))
}

/// The table of promotions after an empty line; empty if nobody promoted.
fn promotions(rollouts: &[&Rollout], now: Timestamp, draw: Draw<'_>) -> String {
    let mut lines = vec![line(["ROLLOUT", "STEP", "PROMOTED-BY", "AGE"])];
    for (place, rollout) in rollouts.iter().enumerate() {
        let earlier = rollouts.iter().take(place).filter(|earlier| earlier.revision == rollout.revision);
        let known: Vec<&Promotion> =
            earlier.flat_map(|earlier| earlier.promotions.iter().flatten()).collect();
        // Another rollout of the same revision has those of the one before, too.
        let new = rollout.promotions.iter().flatten().filter(|promotion| !known.contains(promotion));
        lines.extend(new.map(|promotion| {
            line([
                &rollout.id.to_string(),
                &promotion.step.to_string(),
                &format!(
                    "{}{}",
                    promotion.manager.as_deref().unwrap_or(NONE),
                    if promotion.forced == Some(true) { " (forced)" } else { "" }
                ),
                &ago(promotion, now),
            ])
        }));
    }
    if lines.len() > 1 { format!("\n{}", draw(&lines)) } else { String::new() }
}

/// How long ago it was carried out.
fn ago(promotion: &Promotion, now: Timestamp) -> String {
    age(&promotion.time.as_ref().map_or_else(String::new, |time| time.0.to_string()), now)
}

/// The last promotion in a sentence, after a blank; empty if there was none.
pub(crate) fn promoted(rollout: &Rollout, now: Timestamp) -> String {
    let Some(last) = rollout.promotions.iter().flatten().next_back() else { return String::new() };
    let manager = last.manager.as_deref().map_or_else(String::new, |manager| format!(" by {manager}"));
    let ago = last.time.as_ref().map_or_else(String::new, |_| format!(" {} ago", ago(last, now)));
    clean(&format!(" The last promotion was to step {}{manager}{ago}.", last.step))
}

/// Why it began; of a pin with the reason that somebody gave.
fn trigger(rollout: &Rollout) -> String {
    let trigger = rollout.trigger.as_deref().unwrap_or(NONE);
    match rollout.cause.as_deref().filter(|_| trigger == Trigger::Pin.as_str()) {
        Some(reason) => format!("{trigger}: {reason}"),
        None => trigger.to_owned(),
    }
}

/// The person, if somebody noted one, and the program.
fn author(author: Option<&Author>) -> String {
    let Some(Author { manager, user, .. }) = author else { return NONE.to_owned() };
    match (user.as_deref(), manager.as_deref()) {
        (Some(user), Some(manager)) => format!("{user} ({manager})"),
        (Some(one), None) | (None, Some(one)) => one.to_owned(),
        (None, None) => NONE.to_owned(),
    }
}

/// How long it took, or has taken so far.
fn took(rollout: &Rollout, now: Timestamp) -> String {
    let Some(start) = &rollout.start_time else { return "<unknown>".to_owned() };
    age(&start.0.to_string(), rollout.completion_time.as_ref().map_or(now, |end| end.0))
}

fn outcome(rollout: &Rollout) -> String {
    match (rollout.outcome.as_deref(), rollout.reason.as_deref()) {
        (Some(outcome), Some(reason)) => format!("{outcome}: {reason}"),
        (Some(outcome), None) => outcome.to_owned(),
        (None, _) => "running".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::table::table;

    #[test]
    fn rollouts_are_listed_oldest_first_with_the_one_that_runs() {
        let status: DeploymentStatus = serde_json::from_value(json!({
            "rollout": {"id": 3, "revision": 3, "trigger": "Rollback", "startTime": "2026-04-01T12:10:00Z"},
            "history": [
                {"id": 2, "revision": 2, "trigger": "NewImage", "author": {"manager": "helm", "user": "dev-1"},
                 "startTime": "2026-04-01T12:00:00Z", "completionTime": "2026-04-01T12:10:00Z", "outcome": "Failed",
                 "reason": "ProgressDeadlineExceeded"},
                {"id": 1, "revision": 1, "author": {"manager": "kubectl\u{1b}[2J"}, "outcome": "Succeeded"},
                {"id": "garbage"}, 7,
            ],
        }))
        .unwrap_or_default();
        let now = "2026-04-01T12:10:05Z".parse().unwrap_or_default();
        let text = listing(&of(&status), now, &table);
        let lines: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
            .collect();
        assert_eq!(lines[0], ["ROLLOUT", "REVISION", "TRIGGER", "AUTHOR", "TOOK", "OUTCOME"]);
        assert_eq!(lines[1][..3], ["1", "1", "<none>"]);
        assert!(!text.contains('\u{1b}'), "{text:?}");
        assert_eq!(
            lines[2],
            ["2", "2", "NewImage", "dev-1 (helm)", "10m", "Failed: ProgressDeadlineExceeded"]
        );
        assert_eq!(lines[3], ["3", "3", "Rollback", "<none>", "5s", "running"]);
        assert_eq!(lines.len(), 4);
        assert_eq!(listing(&[], now, &table), "");
    }

    #[test]
    fn promotions_are_listed_once_with_their_rollout() {
        let first = json!({"step": 2, "manager": "kubectl-annotate\u{1b}", "time": "2026-04-01T12:00:00Z"});
        let second = json!({"step": 4, "manager": "rollwright-cli", "time": "2026-04-01T12:10:00Z",
            "forced": true});
        let status: DeploymentStatus = serde_json::from_value(json!({
            // A pin held it up in between.
            "rollout": {"id": 4, "revision": 2, "step": 4, "promotions": [first, second]},
            "history": [
                {"id": 3, "revision": 1, "trigger": "Pin", "outcome": "Succeeded"},
                {"id": 2, "revision": 2, "outcome": "Cancelled", "promotions": [first]},
                {"id": 1, "revision": 1, "outcome": "Succeeded", "promotions": [{"step": 2}]},
            ],
        }))
        .unwrap_or_default();
        let now = "2026-04-01T12:10:05Z".parse().unwrap_or_default();
        let text = listing(&of(&status), now, &table);
        let (_, text) = text.split_once("\n\n").unwrap_or_default();
        let expected = "ROLLOUT   STEP   PROMOTED-BY               AGE\n\
                        1         2      <none>                    <unknown>\n\
                        2         2      kubectl-annotate\\u{1b}    10m\n\
                        4         4      rollwright-cli (forced)   5s\n";
        assert_eq!(text, expected);
        let mut rollout = status.rollout.unwrap_or_default();
        assert_eq!(promoted(&rollout, now), " The last promotion was to step 4 by rollwright-cli 5s ago.");
        rollout.promotions = None;
        assert_eq!(promoted(&rollout, now), "");
    }

    #[test]
    fn what_failed_or_was_left_is_named() {
        let mut status: DeploymentStatus = serde_json::from_value(json!({
            "rollout": {"id": 4, "revision": 8, "podTemplateHash": "h5", "trigger": "Rollback", "from": 7},
            "history": [
                {"id": 3, "revision": 7, "podTemplateHash": "h7", "outcome": "Succeeded"},
                {"id": 2, "revision": 6, "podTemplateHash": "h6", "outcome": "Failed", "reason": "ImagePull"},
                {"id": 1, "revision": 5, "podTemplateHash": "h5", "outcome": "Cancelled"},
            ],
        }))
        .unwrap_or_default();
        let revisions = crate::pinned::samples::revisions();
        let left = |status: &DeploymentStatus| {
            revisions.iter().map(|it| left_behind(status, it)).collect::<Vec<_>>()
        };
        assert_eq!(left(&status), [", which was rolled back before", ", which failed (ImagePull)", ""]);
        status.rollout = None;
        assert_eq!(left(&status)[0], "");
        assert_eq!(left(&status)[2], ", which was cancelled before its end");
    }

    #[test]
    fn a_pin_shows_its_reason() {
        let of = |trigger: &str, cause: Option<&str>| Rollout {
            trigger: Some(trigger.to_owned()),
            cause: cause.map(str::to_owned),
            ..Rollout::default()
        };
        assert_eq!(trigger(&of("Pin", Some("INC-4711"))), "Pin: INC-4711");
        assert_eq!(trigger(&of("Pin", None)), "Pin");
        assert_eq!(trigger(&of("Revert", None)), "Revert");
        assert_eq!(trigger(&of("NewImage", Some("release 2"))), "NewImage");
    }
}
