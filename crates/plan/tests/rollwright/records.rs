//! `status.rollout` and `status.history`: a record opens with its revision, and closes once.

use plan::keys::{CHANGE_CAUSE, CHANGED_BY, RESTARTED_AT};
use plan::{Author, Blocker, Findings, LastScale, Outcome, Pin, Record, Scaler, StatusWrite, Trigger};
use serde_json::json;

use crate::rollwright::failing::come_up;
use crate::world::{World, ours, template, written};

/// A world and the records that its status writes closed.
struct Told {
    world: World,
    history: Vec<Record>,
    last_scale: Option<LastScale>,
}

fn told() -> Told {
    let world = ours().that(|it| it.progress_deadline_seconds = Some(600));
    Told { world, history: Vec::new(), last_scale: None }
}

impl Told {
    /// One reconcile, a second later.
    fn reconcile(&mut self) -> bool {
        self.world.wait(1);
        let plan = self.world.proceed();
        if let Some(StatusWrite { ended, last_scale, .. }) = written(&plan) {
            self.history.extend(ended.clone());
            self.last_scale = last_scale.clone().or(self.last_scale.take());
        }
        !plan.actions.is_empty()
    }

    /// Reconciles in which each ReplicaSet has the pods that it should have, until nothing is left to do.
    fn settle(&mut self) {
        for _ in 0..30 {
            let is_busy = self.reconcile();
            come_up(&mut self.world, &[]);
            if !is_busy && !self.reconcile() {
                return;
            }
        }
        panic!("still busy");
    }

    /// Reconciles until this rollout runs, with pods that stay as they are.
    fn begin(&mut self, id: i64) {
        let is_there = (0..5).any(|_| {
            self.reconcile();
            self.running().is_some_and(|running| running.id == id)
        });
        assert!(is_there, "{:?}", self.running());
    }

    fn running(&self) -> Option<&Record> {
        self.world.observed.workload.status.ours.rollout.as_deref()
    }

    fn outcomes(&self) -> Vec<(i64, i64, Option<Trigger>, Option<Outcome>)> {
        let outcome = |record: &Record| record.end.as_ref().map(|end| end.outcome);
        self.history.iter().map(|it| (it.id, it.revision, it.trigger, outcome(it))).collect()
    }
}

const FIRST: (i64, i64, Option<Trigger>, Option<Outcome>) =
    (1, 1, Some(Trigger::TemplateChanged), Some(Outcome::Succeeded));

fn by(manager: &str) -> Option<Author> {
    Some(Author { manager: manager.to_owned(), operation: "Update".to_owned(), user: None })
}

#[test]
fn a_rollout_has_one_record_from_its_revision_to_its_end() {
    let mut told = told();
    told.reconcile();
    let running = told.running().unwrap();
    assert_eq!((running.id, running.revision, running.from, running.end.as_ref()), (1, 1, None, None));
    assert_eq!(running.images, [("app".to_owned(), "a".to_owned())]);
    told.settle();
    assert_eq!(told.outcomes(), [FIRST]);
    assert_eq!(told.running(), None);
    let (history, started) = (&told.world.observed.workload.status.ours.history, told.history[0].start_time);
    assert_eq!((history.id, history.length, history.start_time), (1, 1, started));
    assert!(told.history[0].end.as_ref().unwrap().time > started.unwrap());
}

/// A template that was declared under a pin is what the next one is compared with, and what ran is what it followed.
#[test]
fn a_pin_and_a_pause_hide_neither_what_was_declared_nor_what_ran() {
    let mut told = told();
    told.settle();
    let hash = told.history[0].hash.clone();
    told.world.observed.workload.pin = Some(Pin { pod_template_hash: hash, ..Pin::default() });
    let mut other = template("b");
    other["spec"]["nodeName"] = json!("n");
    told.world.set_template(other);
    told.settle();
    told.world.observed.workload.paused = true;
    told.settle();
    told.world.set_template(template("c"));
    told.settle();
    (told.world.observed.workload.pin, told.world.observed.workload.paused) = (None, false);
    told.settle();
    let record = told.history.last().unwrap();
    assert_eq!((record.trigger, record.from), (Some(Trigger::TemplateChanged), Some(1)));
}

#[test]
fn triggers_authors_and_causes_are_those_of_the_new_template() {
    let mut told = told();
    told.settle();
    let mut restarted = template("b");
    restarted["metadata"]["annotations"] = json!({ RESTARTED_AT: "now" });
    let mut other = restarted.clone();
    other["spec"]["nodeName"] = json!("n");
    for (template, trigger) in
        [(template("b"), Trigger::NewImage), (restarted, Trigger::Restart), (other, Trigger::TemplateChanged)]
    {
        told.world.set_template(template);
        let workload = &mut told.world.observed.workload;
        workload.authors.template = by(trigger.as_str());
        workload.annotations.insert(CHANGED_BY.to_owned(), "dev-1".to_owned());
        workload.annotations.insert(CHANGE_CAUSE.to_owned(), trigger.as_str().to_owned());
        told.settle();
        let record = told.history.last().unwrap();
        assert_eq!((record.trigger, record.cause.as_deref()), (Some(trigger), Some(trigger.as_str())));
        let author = Author { user: Some("dev-1".to_owned()), ..by(trigger.as_str()).unwrap() };
        assert_eq!(record.author, Some(author));
        assert_eq!((record.lowest_available, record.from), (3, Some(record.revision - 1)));
        assert_eq!(record.highest_pods, 4, "surge");
    }
    let ids: Vec<i64> = told.history.iter().map(|record| record.id).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
}

#[test]
fn another_template_supersedes_a_rollout_and_a_rollback_cancels_it() {
    let mut told = told();
    told.settle();
    told.world.set_template(template("b"));
    told.begin(2);
    told.world.set_template(template("c"));
    told.begin(3);
    let superseded = (2, 2, Some(Trigger::NewImage), Some(Outcome::Superseded));
    assert_eq!(told.outcomes(), [FIRST, superseded]);
    let workload = &mut told.world.observed.workload;
    (workload.rollback_to, workload.generation) = (Some(1), workload.generation + 1);
    (workload.authors.template, workload.authors.rollback) = (by("helm"), by("kubectl-edit"));
    workload.annotations.insert(CHANGED_BY.to_owned(), "dev-5".to_owned());
    for _ in 0..5 {
        if told.world.observed.workload.rollback_to.is_some() {
            told.reconcile();
        }
    }
    // The request is gone, and with it its owner.
    told.world.observed.workload.authors.rollback = None;
    told.settle();
    let cancelled = (3, 3, Some(Trigger::NewImage), Some(Outcome::Cancelled));
    let back = (4, 4, Some(Trigger::Rollback), Some(Outcome::Succeeded));
    assert_eq!(told.outcomes(), [FIRST, superseded, cancelled, back]);
    let author = Author { user: Some("dev-5".to_owned()), ..by("kubectl-edit").unwrap() };
    assert_eq!(told.history[3].author, Some(author));
    let person = |set: &plan::ReplicaSet| set.annotations.get(CHANGED_BY).cloned();
    let people: Vec<_> = told.world.observed.sets.iter().map(|set| (set.size, person(set))).collect();
    let back = Some("dev-5".to_owned());
    assert_eq!(people.iter().filter(|of_set| of_set.1 == back).collect::<Vec<_>>(), [&(3, back.clone())]);
    // The same template by hand, after another one, is no rollback.
    told.world.set_template(template("c"));
    told.settle();
    told.world.set_template(template("a"));
    told.settle();
    assert_eq!(told.history.last().unwrap().trigger, Some(Trigger::NewImage));
}

#[test]
fn a_rollout_past_its_deadline_has_failed_once_and_says_why() {
    let mut told = told();
    told.settle();
    told.world.set_template(template("b"));
    told.reconcile();
    told.reconcile();
    told.world.wait(700);
    told.reconcile();
    let end = told.history.last().unwrap().end.clone().unwrap();
    assert_eq!((end.outcome, end.reason.as_deref()), (Outcome::Failed, Some("ProgressDeadlineExceeded")));
    assert!(end.message.as_deref().unwrap().contains("0 of 3 available"), "{end:?}");
    told.settle();
    assert_eq!(told.outcomes().len(), 2, "it comes late, and has its record already");
    told.world.set_template(template("c"));
    told.settle();
    assert_eq!(told.outcomes()[2], (3, 3, Some(Trigger::NewImage), Some(Outcome::Succeeded)));
}

#[test]
fn a_rollout_that_fails_names_what_blocked_it() {
    let mut told = told();
    told.settle();
    told.world.set_template(template("b"));
    told.reconcile();
    told.reconcile();
    let set = told.world.plan().awaited.and_then(|awaited| awaited.set);
    let blocker = Blocker {
        cause: "ImagePull".to_owned(),
        pods: 1,
        of: 3,
        message: "cannot pull the image b".to_owned(),
        ..Blocker::default()
    };
    told.world.observed.answers.findings = Some(Findings { set, blockers: vec![blocker] });
    told.world.wait(700);
    told.reconcile();
    let end = told.history.last().unwrap().end.clone().unwrap();
    assert_eq!((end.outcome, end.reason.as_deref()), (Outcome::Failed, Some("ImagePull")));
    assert_eq!(end.message.as_deref(), Some("1 of 3 pods cannot pull the image b"));
}

#[test]
fn a_rollout_of_no_pods_opens_and_closes_in_one_write() {
    let mut told = told();
    told.world.observed.workload.replicas = 0;
    told.settle();
    assert_eq!(told.outcomes(), [FIRST]);
    assert_eq!(told.history[0].start_time, told.history[0].end.as_ref().map(|end| end.time));
}

#[test]
fn a_change_of_size_is_told_with_its_author_and_opens_no_record() {
    let mut told = told();
    told.settle();
    let workload = &mut told.world.observed.workload;
    (workload.replicas, workload.generation) = (5, workload.generation + 1);
    let by = Scaler { manager: "hpa".to_owned(), subresource: "scale".to_owned(), time: None };
    workload.authors.replicas = Some(by.clone());
    told.settle();
    let LastScale { from, to, by: said } = told.last_scale.clone().unwrap();
    assert_eq!((from, to, said.manager.as_str()), (3, 5, "hpa"));
    assert!(said.time.is_some(), "the time of the write, if the field has none");
    assert_eq!(told.outcomes(), [FIRST]);
}

/// A status of the operator before has neither a history nor a running rollout.
#[test]
fn an_upgrade_opens_no_record_and_the_next_rollout_is_the_first() {
    let mut told = told();
    told.settle();
    let ours = &mut told.world.observed.workload.status.ours;
    (ours.rollout, ours.history) = (None, Default::default());
    (ours.outline, ours.replicas) = (None, None);
    told.history.clear();
    told.settle();
    assert_eq!((told.outcomes(), told.last_scale.clone()), (vec![], None));
    told.world.set_template(template("b"));
    told.settle();
    let first = (1, 2, Some(Trigger::TemplateChanged), Some(Outcome::Succeeded));
    assert_eq!(told.outcomes(), [first]);
}
