//! Reconciles in which the server refuses a write: what is written after it.

use plan::{Action, Failure, Flavour, Plan, Verdict};

use crate::world::World;
use crate::writes::situations::{fresh, grown_and_cut, into_room, old, rolled_back, set_of, without_room};
use crate::writes::{line, steps};

/// Which write is refused, and how.
pub(crate) struct Refusal {
    pub(crate) name: &'static str,
    situation: fn(Flavour) -> World,
    is_refused: fn(&Action) -> bool,
    failure: fn(&mut World, &Plan) -> Failure,
}

pub(crate) fn all() -> Vec<Refusal> {
    let refusal = |name, situation, is_refused, failure| Refusal { name, situation, is_refused, failure };
    vec![
        refusal("refused: the new set, over quota", beside, creates, quota),
        refusal("refused: the new set, for good", beside, creates, invalid),
        refusal("refused: the new set, after others made room", without_room, creates, quota),
        refusal("refused: the new set, in a namespace that goes", beside, creates, terminating),
        refusal("refused: the new set, its name is somebody else's", beside, creates, taken),
        refusal("refused: the new set, its name was ours all along", beside, creates, found),
        refusal("refused: the new set, its name is free again", beside, creates, free),
        refusal("refused: the deletion of a set that makes room", without_room, deletes, quota),
        refusal("refused: a cut after growth and status", grown_and_cut, cuts, quota),
        refusal("refused: a cut before the growth into its room", into_room, cuts, quota),
        refusal("refused: the same, by a conflict", into_room, cuts, conflict),
        refusal("refused: the growth", grown_and_cut, grows, quota),
        refusal("refused: the template of a rollback", rolled_back, rolls_back, invalid),
    ]
}

fn beside(flavour: Flavour) -> World {
    fresh(flavour).with(old(flavour, "b", 10, "1"))
}

fn creates(action: &Action) -> bool {
    matches!(action, Action::CreateReplicaSet(_))
}

fn deletes(action: &Action) -> bool {
    matches!(action, Action::DeleteReplicaSet(_))
}

fn rolls_back(action: &Action) -> bool {
    matches!(action, Action::RollBack(_))
}

fn cuts(action: &Action) -> bool {
    matches!(action, Action::UpdateReplicaSet(update) if update.size_to < update.size_from)
}

fn grows(action: &Action) -> bool {
    matches!(action, Action::UpdateReplicaSet(update) if update.size_to > update.size_from)
}

fn quota(_: &mut World, _: &Plan) -> Failure {
    Failure::Refused("exceeded quota".to_owned())
}

fn invalid(_: &mut World, _: &Plan) -> Failure {
    Failure::Invalid("spec is invalid".to_owned())
}

fn conflict(_: &mut World, _: &Plan) -> Failure {
    Failure::Conflict("the object has been modified".to_owned())
}

fn terminating(_: &mut World, _: &Plan) -> Failure {
    Failure::NamespaceTerminating("the namespace is being terminated".to_owned())
}

fn free(_: &mut World, _: &Plan) -> Failure {
    Failure::NameTaken(None)
}

fn taken(world: &mut World, plan: &Plan) -> Failure {
    let there = set_of(world.observed.flavour, "a", 3).named(new_name(plan)).owned_by("somebody else");
    Failure::NameTaken(Some(Box::new(world.replica_set(there))))
}

fn found(world: &mut World, plan: &Plan) -> Failure {
    let there = set_of(world.observed.flavour, "a", 3).named(new_name(plan));
    Failure::NameTaken(Some(Box::new(world.replica_set(there))))
}

fn new_name(plan: &Plan) -> &str {
    let mut actions = plan.actions.iter();
    let name = actions.find_map(|planned| match &planned.action {
        Action::CreateReplicaSet(new) => Some(new.name.as_str()),
        _ => None,
    });
    name.unwrap()
}

impl Refusal {
    /// What is written up to the refusal, what follows from it, and the plan that comes next.
    pub(crate) fn lines(&self, flavour: Flavour) -> Vec<String> {
        let mut world = (self.situation)(flavour);
        let (planned, plan) = steps(&mut world);
        let Some(index) = plan.actions.iter().position(|planned| (self.is_refused)(&planned.action)) else {
            return vec!["(no such write)".to_owned()];
        };
        let asked = planned.len() - plan.actions.len();
        let mut lines: Vec<_> = planned.iter().take(asked + index).cloned().collect();
        lines.push(format!("(refused) {}", planned[asked + index]));
        let failure = (self.failure)(&mut world, &plan);
        let after = plan::after_failure(&world.observed, &plan, index, &failure, world.now);
        lines.extend(after.actions.iter().map(|planned| line(&world, &planned.action)));
        match after.verdict {
            Verdict::Continue => lines.extend(planned.into_iter().skip(asked + index + 1)),
            Verdict::End => lines.push("(end)".to_owned()),
            Verdict::Retry(_) => lines.push("(retry)".to_owned()),
            Verdict::GiveUp(_) => lines.push("(give up)".to_owned()),
            Verdict::PlanAgain(set) => {
                world.observed.sets.push(*set);
                lines.push("(plan again)".to_owned());
                lines.extend(steps(&mut world).0);
            }
            Verdict::PlanWithoutCuts(_) => {
                world.observed.answers.refuses_cuts = true;
                lines.push("(plan without cuts)".to_owned());
                lines.extend(steps(&mut world).0);
            }
            Verdict::PlanWithoutJob(_) => panic!("no situation has a Job"),
            Verdict::PlanWithoutCreation(_) => {
                world.observed.answers.refuses_creation = true;
                lines.push("(plan without creation)".to_owned());
                lines.extend(steps(&mut world).0);
            }
        }
        lines
    }
}
