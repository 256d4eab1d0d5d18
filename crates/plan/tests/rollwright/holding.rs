//! `spec.resumePolicy: Manual`: what a restart of the operator holds, and the word that continues it (HO-1 to HO-6).

use jiff::SignedDuration;
use plan::intstr::IntOrPercent;
use plan::keys::{PROMOTE, RESUME, ROLLOUT, condition, reason};
use plan::{Action, FailureAction, Pin, Planned, Requeue, Strategy};

use crate::rollwright::failing::{self, come_up, memory, named};
use crate::rollwright::pinning::{count, says};
use crate::rollwright::stepping::{Played, declare, play, request, scale, sizes, step, stepped};
use crate::world::{Kstatus, World, template};

/// The operator starts for this time.
fn start(world: &mut World, number: u64) {
    world.observed.options.epoch = Some([number, 0, 0]);
}

/// As [`stepped`], in the first epoch.
fn manual(replicas: i64, list: &[&str]) -> World {
    let mut world = stepped(replicas, list).that(|it| it.resumes_by_word = true);
    start(&mut world, 1);
    assert_eq!(play(&mut world, 5, &[]).writes, 0, "nothing is under way");
    world
}

/// Half of a rollout of revision 3 with pods that do not become ready, and the next start.
fn held() -> World {
    let mut world = manual(10, &[]);
    declare(&mut world, "c", 5, &["c"]);
    assert_eq!(sizes(&world), "10+1");
    start(&mut world, 2);
    world
}

fn is_held(world: &World) -> bool {
    says(world, condition::STALLED).1 == reason::HELD_AFTER_RESTART
}

/// Somebody asks to continue the rollout, as it is.
fn release(world: &mut World, image: &str, seconds: i64) -> Played {
    let word = world.find(&named(world, image)).word_to_resume().unwrap();
    request(world, RESUME, &word, seconds, &[])
}

#[test]
fn a_rollout_that_a_restart_interrupts_waits_for_a_word() {
    let mut world = held();
    let played = play(&mut world, 30, &[]);
    assert_eq!(
        (played.path.as_slice(), count(&played.events, "HeldAfterRestart")),
        (&["10+1".to_owned()][..], 1)
    );
    let held = |status: &str| (status.to_owned(), "HeldAfterRestart".to_owned());
    assert_eq!(says(&world, condition::PROGRESSING), held("Unknown"));
    assert_eq!((says(&world, condition::STALLED), world.kstatus()), (held("True"), Kstatus::Failed));
    let words = "blocked: the operator restarted while it rolled out revision 3, and spec.resumePolicy is Manual: continue \
                 with `kubectl rollwright resume deployment.rollwright.dev/web -n default`";
    assert_eq!(world.plan().why.to_string(), words);
    // Time stands still, and nothing is written.
    world.now += SignedDuration::from_hours(100);
    assert_eq!((play(&mut world, 20, &[]).writes, world.plan().requeue), (0, Requeue::OnChange));
    // A second restart is no news.
    start(&mut world, 3);
    assert_eq!(play(&mut world, 20, &[]).writes, 0);
}

/// HO-5.
#[test]
fn the_word_names_the_revision_and_the_epoch_and_counts_once() {
    let mut world = held();
    play(&mut world, 5, &[]);
    start(&mut world, 3);
    // Words about another revision, another epoch, or none.
    for text in ["3", "2/1-0-0", "3/3-0-0", "3/"] {
        assert_eq!(request(&mut world, RESUME, text, 5, &[]).writes, 0, "{text}");
    }
    let workload = |world: &World| world.observed.workload.clone();
    assert_eq!(world.find(&named(&world, "c")).word_to_resume().unwrap(), "3/1-0-0");
    world.observed.workload.annotations.insert(RESUME.to_owned(), "3/1-0-0".to_owned());
    assert!(workload(&world).is_request_due(world.find(&named(&world, "c")), RESUME));
    // The epoch is stored before anything moves: the word counts once.
    let resizes =
        |it: &Planned| matches!(&it.action, Action::UpdateReplicaSet(it) if it.size_from != it.size_to);
    assert!(!world.clone().plan().actions.iter().any(resizes));
    let played = play(&mut world, 3, &["c"]);
    assert!(!workload(&world).is_request_due(world.find(&named(&world, "c")), RESUME));
    assert_eq!(count(&played.events, "HoldReleased"), 1);
    assert_eq!(says(&world, condition::PROGRESSING), ("True".to_owned(), "ReplicaSetUpdated".to_owned()));
    assert_eq!(memory(&world, &named(&world, "c"))["epoch"], "3-0-0");
    // The word means nothing for a hold that comes later.
    start(&mut world, 4);
    assert_eq!((play(&mut world, 30, &[]).path.len(), is_held(&world)), (1, true));
    assert_eq!(release(&mut world, "c", 60).path.last().unwrap(), "0+10");
    assert_eq!((world.kstatus(), memory(&world, &named(&world, "c")).get("epoch")), (Kstatus::Current, None));
}

/// HO-1: what is complete, and what nobody began, waits for nobody. With the field unset, no epoch is written.
#[test]
fn a_restart_holds_nothing_else() {
    let mut world = manual(10, &["30%/promoted"]);
    world.set_template(template("c"));
    start(&mut world, 2);
    assert_eq!(play(&mut world, 30, &[]).path.last().unwrap(), "7+3", "nobody had begun");
    start(&mut world, 3);
    play(&mut world, 5, &[]);
    assert!(is_held(&world));
    // A template that is declared after the restart proceeds, also an old one, and a scale-up of what is complete.
    assert_eq!(declare(&mut world, "b", 60, &[]).path.last().unwrap(), "10+0");
    start(&mut world, 4);
    assert_eq!(scale(&mut world, 12, 30, &[]).path.last().unwrap(), "12+0");
    // Somebody resizes a ReplicaSet of before by hand.
    world.find_mut("web-a").size = 2;
    play(&mut world, 60, &[]);
    assert_eq!((world.find("web-a").size, is_held(&world)), (0, false));

    let mut world = held();
    world.observed.workload.resumes_by_word = false;
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "0+10");
    assert!(!world.find(&named(&world, "c")).annotations[ROLLOUT].contains("epoch"));
}

/// HO-3: the wait at a step starts again.
#[test]
fn sizes_follow_r_while_the_step_and_its_time_stand_still() {
    let mut world = manual(10, &["30%/600", "50%/promoted"]);
    declare(&mut world, "c", 400, &[]);
    start(&mut world, 2);
    assert_eq!(play(&mut world, 900, &[]).path, ["7+3"]);
    assert_eq!(scale(&mut world, 20, 10, &[]).path, ["7+3", "14+3", "14+6"]);
    assert_eq!(scale(&mut world, 0, 10, &[]).path.last().unwrap(), "0+0");
    start(&mut world, 3);
    assert_eq!(scale(&mut world, 10, 10, &[]).path, ["0+0", "7+0", "7+3"]);
    assert!(is_held(&world));
    assert_eq!(release(&mut world, "c", 590).path, ["7+3"], "the time begins again");
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "5+5");
    assert_eq!(step(&world).unwrap().step, Some(2));
    // A promotion is a word, too, unless the operator handled it before, or refuses it.
    start(&mut world, 4);
    assert_eq!(request(&mut world, PROMOTE, "3/30%", 10, &[]).path, ["5+5"]);
    assert_eq!(request(&mut world, PROMOTE, "3/all", 60, &[]).path.last().unwrap(), "0+10");
}

/// HO-4: each of these is a way out of an incident, or has nobody who serves.
#[test]
fn a_way_back_is_never_held_and_neither_is_an_outage() {
    // A rollback, with a restart in its middle.
    let mut world = manual(10, &[]);
    declare(&mut world, "c", 60, &[]);
    world.observed.workload.rollback_to = Some(2);
    // The rollback restores the template that the planner asked for.
    for _ in 0..8 {
        world.wait(1);
        world.proceed();
        come_up(&mut world, &["b"]);
    }
    assert_eq!(sizes(&world), "1+10", "its first pod is not ready");
    start(&mut world, 2);
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "10+0");

    // A pin, and what is declared when it goes.
    let mut world = held();
    world.observed.workload.pin = Some(Pin { pod_template_hash: "b".to_owned(), ..Pin::default() });
    play(&mut world, 30, &[]);
    start(&mut world, 3);
    assert_eq!(play(&mut world, 30, &[]).path, ["10+0"]);
    world.observed.workload.pin = None;
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "0+10", "its end is a word");

    // A revert.
    let mut world = held().that(|it| it.failure_policy = failing::policy(FailureAction::Revert));
    request(&mut world, plan::keys::ABORT, "3", 1, &["c"]);
    start(&mut world, 3);
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "10+0");

    // Recreate, after its cut.
    let mut world = manual(10, &[]).that(|it| it.strategy = Strategy::Recreate);
    world.set_template(template("c"));
    while sizes(&world) != "0" {
        world.proceed();
    }
    start(&mut world, 2);
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "0+10");
    // Somebody leaves fewer pods than have to be available.
    let mut world = held();
    world.find_mut("web-b").size = 2;
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "0+10");
    // The same where nothing has to be available.
    let all = || Some(IntOrPercent::Text("100%".to_owned()));
    let strategy = Strategy::RollingUpdate { max_surge: Some(IntOrPercent::Int(0)), max_unavailable: all() };
    let mut world = manual(10, &[]).that(|it| it.strategy = strategy);
    world.set_template(template("c"));
    while sizes(&world) != "0+0" {
        let plan = world.plan();
        for planned in plan.actions {
            world.act(&planned.action);
            if sizes(&world) == "0+0" {
                break;
            }
        }
    }
    start(&mut world, 2);
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "0+10");
}

/// HO-5: the pause is a word of a user, and so is its end.
#[test]
fn a_pause_that_ends_after_the_restart_continues() {
    let mut world = held();
    world.observed.workload.paused = true;
    assert_eq!(play(&mut world, 10, &[]).path.len(), 1);
    assert_eq!(says(&world, condition::PROGRESSING).1, "DeploymentPaused");
    world.observed.workload.paused = false;
    assert_eq!(play(&mut world, 60, &[]).path.last().unwrap(), "0+10");
}

/// The operator is killed after this number of writes, and what is left of that plan is lost. Returns how many there
/// were.
fn killed_after(writes: usize, list: &[&str], strategy: Option<&Strategy>) -> usize {
    let mut world = manual(10, list);
    if let Some(strategy) = strategy {
        world.observed.workload.strategy = strategy.clone();
    }
    world.set_template(template("c"));
    let mut number = 0;
    for _ in 0..60 {
        world.wait(1);
        for planned in world.plan().actions {
            world.act(&planned.action);
            number += 1;
            if number == writes {
                break;
            }
        }
        come_up(&mut world, &[]);
        if number != writes {
            continue;
        }
        for epoch in 2..4 {
            start(&mut world, epoch);
            let played = play(&mut world, 30, &[]);
            let nobody_began = world.observed.sets.len() == 2 && writes == 0;
            let is_still =
                played.path.len() == 1 || nobody_began || played.path[0] == "0" || played.path[0] == "0+0";
            assert!(is_still, "killed after {writes} writes: {:?}", played.path);
        }
        if is_held(&world) {
            release(&mut world, "c", 60);
        }
        break;
    }
    assert_eq!(
        (sizes(&world).as_str(), world.kstatus()),
        ("0+10", Kstatus::Current),
        "after {writes} writes"
    );
    number
}

/// HO-2.
#[test]
fn after_a_kill_at_any_write_no_size_moves_before_the_word() {
    let pods = |surge, unavailable| Strategy::RollingUpdate {
        max_surge: Some(IntOrPercent::Int(surge)),
        max_unavailable: Some(IntOrPercent::Int(unavailable)),
    };
    let strategies = [None, Some(Strategy::Recreate), Some(pods(3, 2)), Some(pods(0, 1)), Some(pods(0, 10))];
    for strategy in &strategies {
        for list in [&[] as &[_], &["1", "25%", "50%"]] {
            let writes = killed_after(usize::MAX, list, strategy.as_ref());
            assert!(writes > 3, "{writes}");
            for number in 1..=writes {
                killed_after(number, list, strategy.as_ref());
            }
        }
    }
}
