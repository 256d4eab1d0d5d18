//! `strategy.type: Custom`: a process decides how far a rollout may go (CU-1 to CU-6).

use plan::intstr::IntOrPercent;
use plan::keys::{ABORT, PROMOTE, RESUME, RETRY, condition};
use plan::{Action, Event, FailureAction, JobSpec, JobState, Pin, Until, UpdateStep};

use crate::rollwright::failing::{memory, named, policy};
use crate::rollwright::gating::{become_, failed, jobs, new_pods, why};
use crate::rollwright::pinning::{count, says};
use crate::rollwright::stepping::{Played, declare, play, request, scale, sizes, stepped, steps};
use crate::world::{World, template};

pub(crate) fn process(timeout_seconds: i64) -> Vec<UpdateStep> {
    let gate = Some(JobSpec { digest: "p".to_owned(), timeout_seconds });
    vec![UpdateStep { updated: IntOrPercent::Int(0), until: vec![Until::Process], gate }]
}

/// 10 replicas of revision 2, with a process for the next one.
fn custom() -> World {
    stepped(10, &["1"]).that(|it| it.steps = process(9000))
}

/// The same, with revision 3 on its way, and its process running.
fn running() -> World {
    let mut world = custom();
    declare(&mut world, "c", 5, &[]);
    become_(&mut world, &JobState::Running);
    play(&mut world, 5, &[]);
    world
}

/// The process of the first attempt asks for these pods.
fn asks(world: &mut World, pods: &str, seconds: i64) -> Played {
    request(world, PROMOTE, &format!("3/{pods}/web-3-custom-1"), seconds, &[])
}

fn refused(events: &[Event]) -> usize {
    count(events, "PromotionRefused")
}

#[test]
fn a_rollout_goes_as_far_as_its_process_asks_and_back_again() {
    let mut world = custom();
    declare(&mut world, "c", 30, &[]);
    assert_eq!(
        (jobs(&world), sizes(&world).as_str()),
        (vec!["web-3-custom-1"], "10+0"),
        "it begins with none"
    );
    become_(&mut world, &JobState::Running);
    let played = asks(&mut world, "30%", 30);
    assert_eq!((count(&played.events, "StepReached"), sizes(&world).as_str()), (1, "7+3"));
    let words = "3 of 10 updated, 30% allowed, rests until Job web-3-custom-1 allows more, or succeeds (running since";
    assert!(why(&world).starts_with(words), "{}", why(&world));
    assert_eq!(play(&mut world, 30, &[]).writes, 0, "waiting causes no writes");
    let record = world.observed.workload.status.ours.rollout.clone().unwrap();
    assert_eq!((record.allowed.as_deref(), record.target_pods), (Some("30%"), Some(3)));
    assert!(record.rest_start_time.is_some());
    asks(&mut world, "1", 30);
    assert_eq!(sizes(&world), "9+1", "a lower number takes pods back");
    asks(&mut world, "50%", 30);
    become_(&mut world, &JobState::Succeeded);
    let played = play(&mut world, 40, &[]);
    assert_eq!((played.ended.len(), sizes(&world).as_str()), (1, "0+10"));
    assert_eq!(says(&world, condition::PROGRESSING).1, "NewReplicaSetAvailable");
    assert_eq!(world.observed.workload.status.ours.rollout, None);
    assert_eq!(play(&mut world, 30, &[]).writes, 0);
}

#[test]
fn all_pods_may_be_there_before_the_process_ends_and_go_again() {
    let mut world = running();
    asks(&mut world, "100%", 60);
    assert_eq!(sizes(&world), "0+10");
    assert_eq!(says(&world, condition::PROGRESSING).1, "RestingAtStep", "it is not complete");
    let played = asks(&mut world, "0", 60);
    let floor = |path: &String| path.split('+').map(|it| it.parse::<i64>().unwrap()).sum::<i64>();
    assert!(played.path.iter().all(|path| (10..=11).contains(&floor(path))), "{:?}", played.path);
    assert_eq!(sizes(&world), "10+0");
    asks(&mut world, "10", 60);
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 10, &[]);
    assert_eq!(says(&world, condition::PROGRESSING).1, "NewReplicaSetAvailable");
}

#[test]
fn a_process_that_fails_or_takes_too_long_fails_the_revision_by_its_policy() {
    for state in [failed(), JobState::Running] {
        let mut world = running();
        world.observed.workload.failure_policy = policy(FailureAction::Revert);
        asks(&mut world, "50%", 30);
        become_(&mut world, &state);
        world.observed.workload.steps = process(60);
        play(&mut world, 100, &[]);
        let cause = memory(&world, &named(&world, "c"))["cause"].as_str().unwrap().to_owned();
        assert!(cause.starts_with("the deployment process failed: "), "{cause}");
        assert_eq!(sizes(&world), "10+0");
        // The next try begins with what runs, and the word before it does not count.
        let played = request(&mut world, RETRY, "3", 60, &[]);
        assert!(jobs(&world).contains(&"web-3-custom-2"), "{:?}", jobs(&world));
        assert_eq!((sizes(&world).as_str(), refused(&played.events)), ("10+0", 0));
        let played = request(&mut world, PROMOTE, "3/20%/web-3-custom-1/late", 30, &[]);
        assert_eq!((sizes(&world).as_str(), refused(&played.events)), ("10+0", 1));
        request(&mut world, PROMOTE, "3/20%/web-3-custom-2", 30, &[]);
        assert_eq!(sizes(&world), "8+2");
    }
}

#[test]
fn without_a_policy_a_rollout_rests_where_its_process_failed_until_somebody_acts() {
    let mut world = running();
    asks(&mut world, "50%", 30);
    become_(&mut world, &failed());
    play(&mut world, 300, &[]);
    assert_eq!(sizes(&world), "5+5");
    assert_eq!(
        why(&world),
        "5 of 10 updated, 50% allowed, rests because Job web-3-custom-1 failed (exit code 1)"
    );
    assert_eq!(says(&world, condition::STALLED), ("True".to_owned(), "GateFailed".to_owned()));
    let played = request(&mut world, PROMOTE, "3/all", 30, &[]);
    assert_eq!((sizes(&world).as_str(), refused(&played.events)), ("5+5", 1));
    request(&mut world, PROMOTE, "3/7", 30, &[]);
    assert_eq!(sizes(&world), "3+7");
    request(&mut world, PROMOTE, "3/all/force", 30, &[]);
    assert_eq!(sizes(&world), "0+10");
}

#[test]
fn a_person_outranks_the_process() {
    let mut world = running();
    asks(&mut world, "20%", 30);
    let played = request(&mut world, PROMOTE, "3/50%", 30, &[]);
    assert_eq!((count(&played.events, "Promoted"), sizes(&world).as_str()), (1, "5+5"));
    let played = asks(&mut world, "30%", 30);
    assert_eq!((refused(&played.events), sizes(&world).as_str()), (1, "5+5"));
    assert_eq!(refused(&asks(&mut world, "60%", 30).events), 0);
    assert_eq!(sizes(&world), "4+6");
    request(&mut world, PROMOTE, "3/1", 30, &[]);
    assert_eq!(sizes(&world), "9+1");
    for nonsense in ["3/", "3/some", "3/101%", "3/-1", "3/-1%/web-3-custom-1"] {
        let played = request(&mut world, PROMOTE, nonsense, 10, &[]);
        assert_eq!((refused(&played.events), sizes(&world).as_str()), (1, "9+1"), "{nonsense}");
    }
    request(&mut world, PROMOTE, "2/100%", 10, &[]);
    assert_eq!(sizes(&world), "9+1", "a word about another revision");
    request(&mut world, ABORT, "3", 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec![], "10+0"));
}

#[test]
fn a_paused_process_may_ask_and_nothing_moves() {
    let mut world = running();
    asks(&mut world, "20%", 30);
    world.observed.workload.paused = true;
    asks(&mut world, "80%", 30);
    assert_eq!(sizes(&world), "8+2");
    world.observed.workload.paused = false;
    play(&mut world, 40, &[]);
    assert_eq!(sizes(&world), "2+8");
}

#[test]
fn what_is_allowed_follows_the_replicas() {
    let mut world = running();
    asks(&mut world, "8", 40);
    scale(&mut world, 4, 30, &[]);
    assert_eq!(sizes(&world), "0+4", "more than there are replicas is all");
    assert_eq!(says(&world, condition::PROGRESSING).1, "RestingAtStep");
    scale(&mut world, 10, 30, &[]);
    assert_eq!(sizes(&world), "2+8");
    asks(&mut world, "50%", 30);
    scale(&mut world, 20, 30, &[]);
    assert_eq!(sizes(&world), "10+10");
    scale(&mut world, 0, 30, &[]);
    scale(&mut world, 6, 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-custom-1"], "3+3"));
}

#[test]
fn a_newer_template_ends_the_process_before_another_begins() {
    let mut world = running();
    asks(&mut world, "30%", 30);
    world.set_template(template("d"));
    let mut order = Vec::new();
    for second in 0..60 {
        world.wait(1);
        if second == 30 {
            // Until then, its pod does what it does before it ends.
            world.jobs.remove("web-3-custom-1");
        }
        let plan = world.plan();
        for planned in &plan.actions {
            match &planned.action {
                Action::CreateJob(new) => order.push(format!("{second}: +{}", new.name)),
                Action::DeleteJob { name, .. } => {
                    order.push(format!("{second}: -{name}"));
                    become_(&mut world, &JobState::Deleting);
                    continue;
                }
                _ => {}
            }
            world.act(&planned.action);
        }
        crate::rollwright::come_up(&mut world, &[]);
        assert!(
            second != 20 || why(&world).contains("Job web-3-custom-1 is being deleted"),
            "{}",
            why(&world)
        );
    }
    assert_eq!(order.len(), 2, "{order:?}");
    assert!(order[0].ends_with(": -web-3-custom-1") && order[1] == "31: +web-4-custom-1", "{order:?}");
    asks(&mut world, "100%", 30);
    assert_eq!(new_pods(&world, "d"), 0, "the old process does not decide about another revision");
}

#[test]
fn neither_a_pin_nor_a_rollback_nor_a_good_revision_waits_for_a_process() {
    let back: [fn(&mut World); 3] = [
        |world| world.set_template(template("b")),
        |world| world.observed.workload.rollback_to = Some(2),
        |world| {
            world.observed.workload.pin = Some(Pin { pod_template_hash: "b".to_owned(), ..Pin::default() });
        },
    ];
    for (number, go_back) in back.into_iter().enumerate() {
        let mut world = running();
        asks(&mut world, "40%", 30);
        world.observed.workload.good_skips_steps = number != 1;
        go_back(&mut world);
        play(&mut world, 60, &[]);
        assert_eq!((jobs(&world), new_pods(&world, "b")), (vec![], 10), "case {number}");
    }
}

/// Steps that are listed again find a revision that is complete.
#[test]
fn what_has_come_to_its_end_without_steps_goes_back_to_none() {
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 40, &[]);
    world.observed.workload.steps.clear();
    play(&mut world, 60, &[]);
    world.observed.workload.steps = steps(&["30%/promoted"]);
    assert_eq!(play(&mut world, 60, &[]).path, ["0+10"]);
}

/// HO-5: only a person continues what a restart holds.
#[test]
fn no_process_releases_a_hold() {
    let mut world = custom().that(|it| it.resumes_by_word = true);
    world.observed.options.epoch = Some([1, 0, 0]);
    declare(&mut world, "c", 5, &[]);
    become_(&mut world, &JobState::Running);
    asks(&mut world, "20%", 30);
    world.observed.options.epoch = Some([2, 0, 0]);
    asks(&mut world, "60%", 30);
    assert_eq!(
        (says(&world, condition::STALLED).1.as_str(), sizes(&world).as_str()),
        ("HeldAfterRestart", "8+2")
    );
    let word = world.find(&named(&world, "c")).word_to_resume().unwrap();
    request(&mut world, RESUME, &word, 60, &[]);
    assert_eq!(sizes(&world), "4+6");
    world.observed.options.epoch = Some([3, 0, 0]);
    play(&mut world, 30, &[]);
    request(&mut world, PROMOTE, "3/70%", 30, &[]);
    assert_eq!(sizes(&world), "3+7", "a person does");
}

#[test]
fn another_strategy_takes_over_where_the_rollout_is() {
    let mut world = stepped(10, &["30%/promoted"]);
    declare(&mut world, "c", 40, &[]);
    world.observed.workload.steps = process(9000);
    play(&mut world, 30, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-custom-1"], "7+3"));
    become_(&mut world, &JobState::Running);
    asks(&mut world, "50%", 30);
    assert_eq!(sizes(&world), "5+5");
    world.observed.workload.steps = steps(&["30%/promoted", "60%/promoted"]);
    play(&mut world, 40, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec![], "4+6"));
    world.observed.workload.steps = process(9000);
    play(&mut world, 10, &[]);
    world.observed.workload.steps.clear();
    play(&mut world, 40, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec![], "0+10"));
    world.observed.workload.steps = process(9000);
    play(&mut world, 40, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec![], "0+10"), "what is complete needs no process");
}

#[test]
fn a_first_rollout_and_one_without_replicas_have_no_process() {
    let mut world = crate::world::ours();
    (world.observed.workload.steps, world.observed.workload.progress_deadline_seconds) =
        (process(9000), Some(600));
    play(&mut world, 30, &[]);
    assert!(jobs(&world).is_empty());
    assert_eq!(says(&world, condition::PROGRESSING).1, "NewReplicaSetAvailable");
    let mut world = custom();
    scale(&mut world, 0, 10, &[]);
    declare(&mut world, "c", 30, &[]);
    assert!(jobs(&world).is_empty());
    scale(&mut world, 4, 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-custom-1"], "4+0"));
}
