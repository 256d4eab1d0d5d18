//! The page of all sentences: each situation with what `list`, `status`, `why`, `plan`, and `diff` print of it.
//!
//! `UPDATE=1 cargo test -p cli page` writes it again. Read it then as somebody who has a cluster to repair: each sentence
//! has to be true, and the next command has to help.

use std::fmt::Write as _;

use super::*;
use crate::migrate::unfinished;
use crate::projection::project;
use crate::state;
use crate::verbs::{compared, summary};

mod situations;

use situations::{instead_of_the_declared, of_pods, of_rollouts, queue, rolling, waits};

const PAGE: &str = include_str!("../../../tests/golden/sentences.txt");

/// When somebody asks.
const NOW: &str = "2026-04-01T12:05:00Z";

/// What is read of a Deployment, and when it looks like that.
struct Situation {
    title: &'static str,
    deployment: Deployment,
    /// As the API server stores them.
    sets: Vec<Value>,
    pods: Vec<Value>,
    overdue: Vec<Value>,
    events: Vec<Value>,
    budgets: Vec<Value>,
    unread: Unread,
    unobserved: Option<Unobserved>,
    why: Result<Why, String>,
}

impl Situation {
    fn new(title: &'static str, deployment: Deployment) -> Self {
        Self {
            title,
            deployment,
            sets: vec![samples::set(5, 0), samples::set(6, 3), samples::set(7, 0)],
            pods: Vec::new(),
            overdue: Vec::new(),
            events: Vec::new(),
            budgets: Vec::new(),
            unread: Unread::default(),
            unobserved: None,
            why: Ok(Why::WaitingForAvailable { set: "web-h7".to_owned(), available: 1, desired: 3 }),
        }
    }

    /// A rollout of revision 7 that has one pod of three.
    fn rolling(title: &'static str) -> Self {
        let sets = vec![samples::set(5, 0), samples::set(6, 2), samples::set(7, 1)];
        Self { sets, ..Self::new(title, rolling()) }
    }

    fn why(self, why: Why) -> Self {
        Self { why: Ok(why), ..self }
    }

    fn pods(self, pods: Vec<Value>) -> Self {
        Self { pods, ..self }
    }

    fn edited(mut self, change: &Value) -> Self {
        json_patch::merge(&mut self.deployment.body, change);
        self
    }

    fn found(&self) -> Diagnosis {
        let (deployment, all) = (&self.deployment, revisions(self.sets.clone()));
        diagnose(&Facts {
            deployment,
            revisions: &all,
            running: crate::pinned::running(deployment, &all),
            new_pods: &self.pods,
            overdue: &self.overdue,
            events: &self.events,
            unread: self.unread,
            budgets: &self.budgets,
            unobserved: self.unobserved,
            why: self.why.clone(),
            now: NOW.parse().unwrap(),
        })
    }

    fn print(&self, page: &mut String) {
        let Self { deployment, .. } = self;
        let all = revisions(self.sets.clone());
        let newest = all.first().map(Revision::set_name);
        let rollout = rollout::of_set(deployment.flavour, deployment.name(), &deployment.body, newest);
        let rollout = requests::awaited(deployment, &all, rollout);
        let status = match self.unobserved {
            Some(unobserved) if !rollout::is_queued(&deployment.body) => {
                unobserved.sentence(deployment.flavour, "deployment \"web\"")
            }
            _ if rollout.phase == Phase::Complete => rollout.message,
            _ => reported::added_to(&rollout.message, &deployment.body),
        };
        let found = self.found();
        check(self.title, &found);
        let _ = writeln!(page, "## {}\n\nlist:   {}\nstatus: {status}", self.title, state::words(deployment));
        let _ = writeln!(page, "why:    {} ({:?}: {})", found.text, found.verdict, found.cause);
        let _ = writeln!(page, "next:   {}", found.next.as_deref().unwrap_or("-"));
        let plan = project(deployment, &self.sets, NOW.parse().unwrap());
        if unfinished::none(deployment).is_ok() {
            let _ = writeln!(page, "plan:   {}", summary(deployment, &plan.unwrap()));
        }
        let compared = compared(deployment, &all);
        let compared = compared.unwrap_or_else(|failure| failure.to_string());
        let _ = writeln!(page, "diff:   {}\n", compared.lines().take(2).collect::<Vec<_>>().join(" / "));
    }
}

/// What a program can check of a sentence.
fn check(title: &str, found: &Diagnosis) {
    let Diagnosis { verdict, text, next, .. } = found;
    let begins = text.chars().next().unwrap();
    let is_name = text.starts_with("deployment \"") || text.starts_with("spec.");
    assert!(begins.is_uppercase() || begins.is_ascii_digit() || is_name, "{title}: {text}");
    let is_complete = *verdict == Verdict::Complete;
    assert!(is_complete || text.ends_with('.'), "{title}: {text}");
    for wrong in [
        "..",
        ". .",
        "  ",
        " .",
        ": .",
        "()",
        "None",
        "1 pods",
        "the controller is the",
        "is being deleted. The",
    ] {
        assert!(!text.contains(wrong), "{title}: {wrong:?} in {text}");
    }
    let next = next.as_deref().unwrap_or_default();
    assert!(is_complete || next.starts_with("kubectl "), "{title}: {next}");
    let is_aborted = title.starts_with("Aborted");
    assert!(!is_aborted || !text.contains("failed") && !text.contains("retry"), "{title}: {text}");
    assert!(!next.starts_with("kubectl rollwright get"), "{title}: {next} shows what is known already");
}

fn instead(why: Why) -> Why {
    Why::Instead { why: Box::new(why), words: "revision 6 runs".to_owned() }
}

/// Each thing that the controller may do. Another one does not compile before it has its sentence.
fn all_of_the_controller() -> Vec<Why> {
    let available = |available| Why::WaitingForAvailable { set: "web-h7".to_owned(), available, desired: 1 };
    let (waits, words) = (Box::new(available(0)), "1 of 1 pods cannot pull the image app:7".to_owned());
    vec![
        Why::Converged,
        Why::Deleting,
        Why::Paused,
        Why::RollingBack,
        Why::Stepping,
        available(0),
        available(3),
        Why::WaitingForTermination,
        Why::WaitingForOldPods { old: 1 },
        Why::Resting(samples::UNTIL.to_owned()),
        Why::Blocked("FailedCreate: exceeded quota: small".to_owned()),
        Why::BlockedBy { why: waits.clone(), words },
        instead(Why::Converged),
        instead(Why::Stepping),
        Why::Beside {
            why: waits,
            namespace: "shop".to_owned(),
            orphans: vec!["web-a".to_owned(), "web-b".to_owned()],
        },
    ]
}

#[test]
fn each_sentence_is_on_the_page() {
    let mut page = "# What the commands print, by situation\n\n".to_owned();
    let all = [of_pods(), of_rollouts(), instead_of_the_declared()];
    for situation in all.iter().flatten() {
        situation.print(&mut page);
    }
    let causes = Cause::ALL.iter().filter(|cause| ![Cause::Unknown, Cause::Refused].contains(cause));
    for cause in causes {
        assert!(page.contains(&format!(": {cause})")), "no situation has the cause {cause}");
    }
    page.push_str("## What the controller does\n\n");
    for why in all_of_the_controller() {
        let sentence = course::sentence(&why);
        assert!(sentence.ends_with(['.', '`']) && !sentence.contains(".."), "{sentence}");
        let _ = writeln!(page, "{sentence}");
    }
    if std::env::var_os("UPDATE").is_some() {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/sentences.txt");
        std::fs::write(place, &page).unwrap();
        return;
    }
    let differs = page.lines().zip(PAGE.lines()).find(|(now, before)| now != before);
    assert!(page == PAGE, "UPDATE=1 cargo test -p cli page writes the page again: {differs:?}");
}

#[test]
fn what_shows_no_cause_is_waited_for() {
    let starting = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}],
                          "containerStatuses": [{"name": "app", "state": {"running": {}}}]});
    let blocked = json!({"status": {"blockers": [{"cause": "ImagePull", "pods": 2, "totalPods": 3}]}});
    let other = json!({"metadata": {"name": "other"}, "status": {"disruptionsAllowed": 0}, "spec": {"selector": {
        "matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}}});
    let rolling = Situation::rolling;
    for situation in [
        rolling("Without its event, a pod may only be starting").pods(vec![pod(&starting)]),
        rolling("Who sees the pods sees more than the operator saw a moment ago").edited(&blocked),
        Situation { overdue: vec![pod(&json!({}))], ..rolling("Nothing waits for an old pod") },
        Situation { budgets: vec![other], ..rolling("A budget is of other pods") },
    ] {
        let (title, found) = (situation.title, situation.found());
        is(&found, Verdict::Waiting, "Progressing", "waiting for pods of web-h7", "status");
        assert!(!found.text.contains("PodDisruptionBudget"), "{title}: {found:?}");
    }
}

#[test]
fn of_two_causes_the_one_that_has_to_go_first_is_named() {
    let unread = Unread { pods: false, events: true };
    let missing = || waits("ImagePullBackOff", "not found");
    let found = Situation { unread, ..Situation::rolling("A cause that shows").pods(missing()) }.found();
    is(&found, Verdict::Blocked, "ImagePull", "cannot pull", "undo");
    assert!(!found.text.contains("could not be listed"), "{found:?}");
    let pinned = Situation::new("A pin", samples::pinned()).why(instead(Why::Stepping)).pods(missing());
    is(&pinned.found(), Verdict::Blocked, "Pinned", "2 pods of web-h6 cannot pull", "unpin");
    for (unobserved, verdict, cause) in [
        (Unobserved::Absent, Verdict::Blocked, "NoController"),
        (Unobserved::Unclear, Verdict::Waiting, "Queued"),
    ] {
        let queued = Situation::rolling("In the queue").edited(&queue());
        is(&Situation { unobserved: Some(unobserved), ..queued }.found(), verdict, cause, "", "");
    }
}
