//! Hooks: Jobs that have to succeed before the first pod of a revision, and once its rollout is complete (GA-1, GA-7).

use plan::keys::{ABORT, DESIRED_REPLICAS, HASH_LABEL, RETRY, ROLLOUT, condition};
use plan::{Action, Answers, FailureAction, FoundJob, JobState, Pin, Requeue, Strategy};

use crate::rollwright::failing::{memory, named, policy};
use crate::rollwright::gating::{become_, failed, gated, job, jobs, new_pods, why};
use crate::rollwright::pinning::{count, says};
use crate::rollwright::stepping::{declare, play, request, sizes, stepped};
use crate::world::{Kstatus, World, template};

/// 3 replicas of revision 2, with hooks before and after each rollout.
fn hooked() -> World {
    stepped(3, &[]).that(|it| (it.before_hook, it.after_hook) = (job("b"), job("a")))
}

#[test]
fn no_pod_comes_before_the_first_hook_succeeds_and_a_failed_one_stops_the_rollout() {
    let mut world = hooked();
    world.set_template(template("c"));
    let played = play(&mut world, 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-before-1"], "3+0"));
    assert_eq!(
        why(&world),
        "no pod is updated yet: it rests until Job web-3-before-1 succeeds (its pod does not run yet)"
    );
    assert_eq!(says(&world, condition::PROGRESSING), ("Unknown".to_owned(), "AwaitingHook".to_owned()));
    assert_eq!(played.path, ["3", "3+0"]);
    // What runs follows R.
    world.observed.workload.replicas = 5;
    play(&mut world, 30, &[]);
    assert_eq!(sizes(&world), "5+0");
    become_(&mut world, &failed());
    play(&mut world, 60, &[]);
    assert_eq!(says(&world, condition::STALLED), ("True".to_owned(), "RolloutFailed".to_owned()));
    assert!(
        why(&world).contains("failed (the hook before the rollout failed: exit code 1)"),
        "{}",
        why(&world)
    );
    request(&mut world, RETRY, "3", 30, &[]);
    assert_eq!(jobs(&world), ["web-3-before-1", "web-3-before-2"]);
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 60, &[]);
    assert_eq!((sizes(&world).as_str(), jobs(&world).last()), ("0+5", Some(&"web-3-before-2")));
    assert!(jobs(&world).contains(&"web-3-after-3"), "{:?}", jobs(&world));
}

#[test]
fn the_hook_after_runs_once_all_pods_are_there_and_fails_a_complete_rollout() {
    for action in [None, Some(FailureAction::Continue), Some(FailureAction::Revert)] {
        let mut world = hooked().that(|it| it.before_hook = None);
        world.observed.workload.failure_policy = action.and_then(policy);
        play(&mut world, 20, &[]);
        assert!(jobs(&world).is_empty(), "what began without a hook runs none");
        let played = declare(&mut world, "c", 60, &[]);
        assert_eq!(
            (jobs(&world), sizes(&world).as_str()),
            (vec!["web-3-after-1"], "0+3"),
            "{:?}",
            played.path
        );
        assert_eq!(
            memory(&world, &named(&world, "c"))["verdict"],
            serde_json::Value::Null,
            "it is not good yet"
        );
        become_(&mut world, &failed());
        play(&mut world, 60, &[]);
        let reverts = action == Some(FailureAction::Revert);
        assert_eq!(sizes(&world), if reverts { "3+0" } else { "0+3" });
        let reason = if reverts { "RolledBack" } else { "RolloutFailed" };
        assert_eq!(says(&world, condition::STALLED), ("True".to_owned(), reason.to_owned()), "{action:?}");
        request(&mut world, RETRY, "3", 60, &[]);
        become_(&mut world, &JobState::Succeeded);
        play(&mut world, 60, &[]);
        assert_eq!((jobs(&world), new_pods(&world, "c")), (vec!["web-3-after-1", "web-3-after-2"], 3));
        assert_eq!(memory(&world, &named(&world, "c"))["verdict"], "Good");
    }
}

/// Whatever happens meanwhile, and although nothing else has pods.
#[test]
fn a_first_rollout_gets_no_pod_before_its_hook_succeeds() {
    let mut world = crate::world::ours().that(|it| it.before_hook = job("b"));
    play(&mut world, 20, &[]);
    world.observed.workload.paused = true;
    play(&mut world, 20, &[]);
    assert_eq!(sizes(&world), "0");
    world.observed.workload.paused = false;
    world.observed.workload.replicas = 5;
    become_(&mut world, &failed());
    play(&mut world, 60, &[]);
    assert_eq!((says(&world, condition::STALLED).1.as_str(), sizes(&world).as_str()), ("RolloutFailed", "0"));
}

/// A rollout is complete only once its hook has passed, and nothing hides that.
#[test]
fn a_rollout_with_all_its_pods_waits_for_the_hook_after_it() {
    let mut world = hooked().that(|it| it.before_hook = None);
    declare(&mut world, "c", 60, &[]);
    let rests = ("Unknown".to_owned(), "AwaitingHook".to_owned());
    assert_eq!((says(&world, condition::PROGRESSING), world.kstatus()), (rests, Kstatus::InProgress));
    let words = "all pods are updated: it rests until Job web-3-after-1 succeeds (its pod does not run yet)";
    assert_eq!(why(&world), words);
    assert_eq!(play(&mut world, 700, &[]).writes, 0, "neither the deadline runs, nor is anything written");
    become_(&mut world, &JobState::Succeeded);
    let ended = play(&mut world, 10, &[]).ended;
    assert_eq!((world.kstatus(), ended.len()), (Kstatus::Current, 1));
    assert_eq!(says(&world, condition::PROGRESSING).1, "NewReplicaSetAvailable");
}

/// There is nothing to wait for.
#[test]
fn without_replicas_no_hook_runs_until_there_are_some() {
    let mut world = hooked().that(|it| it.replicas = 0);
    declare(&mut world, "c", 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str(), world.kstatus()), (vec![], "0+0", Kstatus::Current));
    world.observed.workload.replicas = 2;
    play(&mut world, 60, &[]);
    assert_eq!((jobs(&world), new_pods(&world, "c")), (vec!["web-3-before-1"], 0));
}

#[test]
fn a_good_revision_that_has_steps_fails_by_its_hooks_too() {
    let mut world = hooked().that(|it| it.good_skips_steps = false);
    declare(&mut world, "c", 30, &[]);
    for state in [JobState::Succeeded, JobState::Succeeded, JobState::Succeeded] {
        become_(&mut world, &state);
        play(&mut world, 30, &[]);
    }
    declare(&mut world, "b", 30, &[]);
    become_(&mut world, &failed());
    play(&mut world, 30, &[]);
    assert_eq!(says(&world, condition::STALLED).1, "RolloutFailed");
    assert_eq!((new_pods(&world, "b"), new_pods(&world, "c")), (0, 3));
}

/// The garbage collector deletes the Job, too.
#[test]
fn no_hook_runs_during_the_deletion_of_the_deployment() {
    let mut world = hooked();
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &JobState::Running);
    play(&mut world, 5, &[]);
    world.observed.workload.deleting = true;
    world.jobs.clear();
    play(&mut world, 30, &[]);
    assert!(jobs(&world).is_empty());
}

#[test]
fn under_recreate_the_old_pods_run_until_the_hook_before_succeeds() {
    let mut world = hooked().that(|it| it.strategy = Strategy::Recreate);
    declare(&mut world, "c", 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-before-1"], "3+0"));
    assert_eq!(says(&world, condition::PROGRESSING).1, "AwaitingHook");
    become_(&mut world, &JobState::Succeeded);
    let played = play(&mut world, 60, &[]);
    assert_eq!(played.path, ["3+0", "0+0", "0+3"]);
    assert_eq!((jobs(&world).first(), world.kstatus()), (Some(&"web-3-after-2"), Kstatus::InProgress));
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 10, &[]);
    assert_eq!((world.kstatus(), sizes(&world).as_str()), (Kstatus::Current, "0+3"));
    declare(&mut world, "d", 60, &[]);
    become_(&mut world, &failed());
    play(&mut world, 60, &[]);
    assert_eq!((new_pods(&world, "c"), says(&world, condition::STALLED).1.as_str()), (3, "RolloutFailed"));
}

/// GA-7: those that passed, too, and those of a good revision, which ran none before.
#[test]
fn a_retry_runs_all_checkpoints_again() {
    let mut world =
        gated().that(|it| (it.before_hook, it.failure_policy) = (job("b"), policy(FailureAction::Stop)));
    declare(&mut world, "c", 30, &[]);
    for state in [JobState::Succeeded, failed()] {
        become_(&mut world, &state);
        play(&mut world, 30, &[]);
    }
    assert_eq!((jobs(&world).len(), says(&world, condition::STALLED).1.as_str()), (2, "RolloutFailed"));
    request(&mut world, RETRY, "3", 30, &[]);
    assert_eq!((jobs(&world).last(), jobs(&world).len()), (Some(&"web-3-before-3"), 3));
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 30, &[]);
    assert!(jobs(&world).contains(&"web-3-1-4"), "{:?}", jobs(&world));

    declare(&mut world, "b", 60, &[]);
    request(&mut world, ABORT, "4", 60, &[]);
    assert!(!jobs(&world).contains(&"web-4-before-1"), "{:?}", jobs(&world));
    request(&mut world, RETRY, "4", 30, &[]);
    assert!(jobs(&world).contains(&"web-4-before-1"), "{:?}", jobs(&world));
}

/// The operator dies between the deletion of a Job that takes too long, and the write that stores that.
#[test]
fn a_job_that_took_too_long_does_not_run_again() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &JobState::Running);
    play(&mut world, 3, &[]);
    world.wait(60);
    world.jobs.clear();
    play(&mut world, 30, &[]);
    assert_eq!(says(&world, condition::STALLED).1, "GateFailed");
    assert!(jobs(&world).is_empty());
}

/// Neither in the reconcile that stores the failure or handles the retry, nor while it is paused.
#[test]
fn a_rollout_with_a_failed_hook_is_at_no_time_complete() {
    let mut world = hooked().that(|it| it.before_hook = None);
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &failed());
    let never_current = |world: &mut World| {
        for _ in 0..20 {
            play(world, 1, &[]);
            assert_ne!(world.kstatus(), Kstatus::Current);
        }
    };
    never_current(&mut world);
    world.observed.workload.paused = true;
    never_current(&mut world);
    assert_eq!(says(&world, condition::READY).1, "DeploymentPaused");
    world.observed.workload.paused = false;
    world.observed.workload.annotations.insert(RETRY.to_owned(), "3".to_owned());
    never_current(&mut world);
    assert_eq!(jobs(&world), ["web-3-after-1", "web-3-after-2"]);
}

/// Its author did not write it for what runs.
#[test]
fn a_hook_that_comes_later_does_not_run_although_there_was_another_one() {
    let mut world = hooked().that(|it| it.before_hook = None);
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 30, &[]);
    world.observed.workload.before_hook = job("later");
    play(&mut world, 30, &[]);
    assert_eq!((jobs(&world), world.kstatus()), (vec!["web-3-after-1"], Kstatus::Current));
}

/// Two Jobs would be read in turn: one answer takes the place of the other.
#[test]
fn a_job_succeeds_although_one_of_an_earlier_revision_is_not_forgotten() {
    let mut world = hooked();
    declare(&mut world, "c", 30, &[]);
    let set = named(&world, "b");
    let open = r#"{"jobs":{"attempts":1,"open":{"at":"after","template":"a"}},"revision":2,"version":1}"#;
    world.find_mut(&set).annotations.insert(ROLLOUT.to_owned(), open.to_owned());
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 60, &[]);
    assert_eq!(sizes(&world), "0+3");
    assert!(!world.find(&set).annotations[ROLLOUT].contains("open"));
}

#[test]
fn a_revision_begins_although_an_annotation_is_garbage() {
    let mut world = hooked();
    world.find_mut("web-b").annotations.insert(DESIRED_REPLICAS.to_owned(), "007".to_owned());
    declare(&mut world, "c", 30, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-before-1"], "3+0"));
}

/// The time of a step begins with the rollout.
#[test]
fn no_step_is_left_before_the_hook_succeeds() {
    let mut world = stepped(4, &["2/5", "3/5"]).that(|it| it.good_skips_steps = false);
    declare(&mut world, "c", 60, &[]);
    declare(&mut world, "d", 5, &[]);
    world.observed.workload.before_hook = job("b");
    for image in ["e", "d"] {
        declare(&mut world, image, 60, &[]);
    }
    assert_eq!((jobs(&world), new_pods(&world, "d")), (vec!["web-6-before-1"], 2));
    assert_eq!(memory(&world, &named(&world, "d"))["steps"]["step"], 1);
}

/// The garbage collector does it.
#[test]
fn no_job_is_deleted_during_the_deletion_of_the_deployment() {
    let mut world = hooked();
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &JobState::Running);
    (world.observed.workload.deleting, world.observed.workload.before_hook) = (true, None);
    play(&mut world, 30, &[]);
    assert_eq!(jobs(&world), ["web-3-before-1"]);
}

#[test]
fn a_hook_that_has_not_begun_has_no_job_in_words() {
    let mut world = hooked().that(|it| it.good_skips_steps = false);
    declare(&mut world, "c", 30, &[]);
    world.set_template(template("b"));
    let told =
        |world: &World| world.observed.workload.status.condition(condition::READY).unwrap().message.clone();
    for _ in 0..5 {
        play(&mut world, 1, &[]);
        assert!(!told(&world).contains("before-0"), "{}", told(&world));
    }
}

/// GA-6: an incident does not wait for a Job, also if somebody pins what is declared.
#[test]
fn a_pin_of_the_declared_revision_runs_no_job_and_waits_for_none() {
    let mut world = hooked();
    declare(&mut world, "c", 30, &[]);
    assert_eq!(jobs(&world), ["web-3-before-1"]);
    let pod_template_hash = world.find(&named(&world, "c")).labels[HASH_LABEL].clone();
    world.observed.workload.pin = Some(Pin { pod_template_hash, ..Pin::default() });
    play(&mut world, 100, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec![], "0+3"));
}

/// The reconcile that rolls back begins no Job of the revision that it leaves.
#[test]
fn a_rollback_comes_before_a_job() {
    let mut world = hooked().that(|it| it.before_hook = job("b"));
    world.set_template(template("c"));
    let is_due = |world: &World| {
        world.clone().plan().actions.iter().any(|it| matches!(it.action, Action::CreateJob(_)))
    };
    while !is_due(&world) {
        play(&mut world, 1, &[]);
    }
    world.observed.workload.rollback_to = Some(2);
    assert!(!is_due(&world));
}

/// The rollback was another rollout.
#[test]
fn a_template_that_returns_after_a_rollback_to_it_runs_its_jobs() {
    let mut world = hooked().that(|it| it.good_skips_steps = false);
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.rollback_to = Some(2);
    play(&mut world, 60, &[]);
    assert!(jobs(&world).is_empty());
    for image in ["c", "b"] {
        declare(&mut world, image, 30, &[]);
    }
    assert_eq!(jobs(&world), ["web-6-before-1"]);
}

/// GA-3: somebody may give the right back.
#[test]
fn a_job_that_cannot_be_read_is_looked_at_again_also_if_it_is_to_go() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.steps[0].gate = job("other");
    let found = FoundJob { name: "web-3-1-1".to_owned(), job: Err("forbidden".to_owned()) };
    // The first one reports it.
    let plans = [(); 2].map(|()| {
        world.observed.answers = Answers { job: Some(found.clone()), ..Answers::default() };
        world.proceed()
    });
    assert!(matches!(plans[1].requeue, Requeue::Deadline(_)), "{:?}", plans[1].requeue);
}

/// GA-8: nobody knows yet whether the gate passes.
#[test]
fn a_promotion_from_before_the_revision_skips_no_gate() {
    let mut world = gated();
    crate::rollwright::stepping::promote(&mut world, "3/all");
    let played = declare(&mut world, "c", 60, &[]);
    assert_eq!((count(&played.events, "PromotionRefused"), sizes(&world).as_str()), (1, "9+1"));
}
