//! Which transitions of a rollout the planner reports, and that each is reported once.

use plan::keys::{REVISION_HISTORY, reason};
use plan::{Event, Flavour};
use plan::{Transition, transitions};

use crate::rollwright::failing::come_up;
use crate::world::{World, set, template, world};

/// A Deployment with a deadline, in a world where pods come when they should.
struct Story {
    world: World,
    events: Vec<Event>,
}

impl Story {
    /// Its first rollout is complete. That replaces nothing, so its end is no event.
    fn complete(flavour: Flavour) -> Self {
        let mut story = Self::new(flavour, Some(600));
        assert_eq!(story.settle(), [Transition::Started, Transition::Completed]);
        assert_eq!(story.told(), []);
        story
    }

    fn new(flavour: Flavour, deadline: Option<i64>) -> Self {
        let world = world(flavour).that(|workload| workload.progress_deadline_seconds = deadline);
        Self { world, events: Vec::new() }
    }

    /// One reconcile that is carried out as a whole.
    fn reconcile(&mut self) -> Vec<Transition> {
        let plan = self.world.plan();
        let before = self.world.observed.workload.clone();
        self.events = plan.actions.iter().flat_map(|planned| planned.events.clone()).collect();
        self.events.retain(|event| event.reason != reason::SCALING_REPLICA_SET);
        self.world.apply(&plan);
        plan.actions.iter().flat_map(|planned| transitions(&before, &planned.action)).collect()
    }

    /// Reconciles, and pods that do as they should, until nothing is left to do.
    fn settle(&mut self) -> Vec<Transition> {
        let mut all = Vec::new();
        let mut events = Vec::new();
        for _ in 0..20 {
            all.extend(self.reconcile());
            events.append(&mut self.events);
            self.pods_come();
        }
        self.events = events;
        all
    }

    fn pods_come(&mut self) {
        come_up(&mut self.world, &[]);
    }

    fn told(&self) -> Vec<(&str, &str)> {
        self.events.iter().map(|event| (event.reason, event.message.as_str())).collect()
    }

    fn write(&mut self, image: &str) {
        self.world.set_template(template(image));
    }
}

const BOTH: [Flavour; 2] = [Flavour::Rollwright, Flavour::AppsV1];

#[test]
fn a_rollout_starts_and_completes_once() {
    for flavour in BOTH {
        let mut story = Story::complete(flavour);
        assert_eq!(story.settle(), []);
        story.write("b");
        assert_eq!(story.settle(), [Transition::Started, Transition::Completed], "{flavour:?}");
        let set = story.world.observed.sets.iter().find(|set| set.size > 0).unwrap().name.clone();
        let message = format!("Rollout of revision 2 is complete: ReplicaSet {set} has taken over");
        let told = [("NewReplicaSetAvailable", message.as_str())];
        assert_eq!(story.told(), if flavour == Flavour::Rollwright { &told[..] } else { &[] });
        assert_eq!(story.settle(), []);
    }
}

#[test]
fn a_template_that_comes_too_soon_supersedes_the_one_before() {
    for flavour in BOTH {
        let mut story = Story::complete(flavour);
        story.write("b");
        assert_eq!(story.reconcile(), [Transition::Started]);
        story.write("c");
        assert_eq!(story.reconcile(), [Transition::Started, Transition::Superseded], "{flavour:?}");
        assert_eq!(story.settle(), [Transition::Completed]);
    }
}

#[test]
fn an_earlier_template_rolls_back_what_was_under_way_or_through() {
    for flavour in BOTH {
        for is_through in [false, true] {
            let mut story = Story::complete(flavour);
            story.write("b");
            if is_through {
                assert_eq!(story.settle(), [Transition::Started, Transition::Completed]);
            } else {
                assert_eq!(story.reconcile(), [Transition::Started]);
                story.pods_come();
                assert_eq!(story.reconcile(), []);
            }
            story.write("a");
            let mut expected = vec![
                Transition::Started,
                Transition::Cancelled,
                Transition::RolledBack,
                Transition::Completed,
            ];
            if is_through {
                expected.remove(1);
            }
            assert_eq!(story.settle(), expected, "{flavour:?}, through: {is_through}");
        }
    }
}

#[test]
fn a_missed_deadline_counts_once_and_not_again_as_rolled_back_or_superseded() {
    for flavour in BOTH {
        for (next, starts) in [("a", true), ("c", true), ("b", false)] {
            let mut story = Story::complete(flavour);
            story.write("b");
            assert_eq!(story.reconcile(), [Transition::Started]);
            story.world.wait(601);
            assert_eq!(story.reconcile(), [Transition::DeadlineExceeded], "{flavour:?}");
            if flavour == Flavour::Rollwright {
                let told = story.told();
                let [(reason, message)] = told.as_slice() else { panic!("{told:?}") };
                assert_eq!(*reason, "ProgressDeadlineExceeded");
                let start = "Rollout of revision 2 has made no progress for 600 s: waiting for pods of web-";
                assert!(message.starts_with(start), "{message}");
            } else {
                assert_eq!(story.told(), []);
            }
            story.world.wait(601);
            assert_eq!(story.reconcile(), [], "once");
            if starts {
                story.write(next);
            }
            story.pods_come();
            let expected = [Transition::Started, Transition::Completed];
            assert_eq!(story.settle(), expected[usize::from(!starts)..], "{flavour:?}, then {next}");
        }
    }
}

#[test]
fn to_pause_and_resume_completes_only_what_was_left_to_do() {
    for flavour in BOTH {
        let mut story = Story::complete(flavour);
        let pause = |story: &mut Story, paused| story.world.observed.workload.paused = paused;
        pause(&mut story, true);
        assert_eq!(story.settle(), []);
        pause(&mut story, false);
        assert_eq!(story.settle(), [], "{flavour:?}: nothing was rolled out");
        assert_eq!(story.told(), []);
        story.write("b");
        assert_eq!(story.reconcile(), [Transition::Started]);
        pause(&mut story, true);
        assert_eq!(story.reconcile(), []);
        pause(&mut story, false);
        assert_eq!(story.settle(), [Transition::Completed], "{flavour:?}: it was under way");
    }
}

#[test]
fn without_a_deadline_only_the_start_shows() {
    let mut story = Story::new(Flavour::Rollwright, None);
    assert_eq!(story.settle(), [Transition::Started]);
    story.write("b");
    assert_eq!(story.settle(), [Transition::Started]);
    assert_eq!(story.told(), []);
}

/// A ReplicaSet with a revision that was lowered by hand gets it back; nobody rolled back.
#[test]
fn a_raised_revision_of_the_current_set_is_no_rollback() {
    let mut story = Story::new(Flavour::Rollwright, Some(600));
    story.world = story.world.with(set("b", 0).revision("5")).with(set("a", 3).revision("3"));
    story.world.observed.workload.status.ours.revision = Some(3);
    assert!(!story.settle().contains(&Transition::RolledBack));
    assert_eq!(story.world.find("web-a").annotations.get(REVISION_HISTORY).map(String::as_str), Some("3"));
}
