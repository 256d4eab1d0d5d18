//! Gates of steps, and hooks: Jobs that have to succeed (GA-1 to GA-8).

use plan::intstr::IntOrPercent;
use plan::keys::{ABORT, PROMOTE, RESUME, ROLLOUT, condition};
use plan::{
    Action, Answers, Failure, FailureAction, FoundJob, Job, JobSpec, JobState, Pin, Step, Until, UpdateStep,
    Verdict,
};

use crate::rollwright::failing::{memory, named, policy};
use crate::rollwright::pinning::{count, says};
use crate::rollwright::stepping::{Played, declare, play, request, sizes, stepped};
use crate::world::{World, template};

pub(super) fn job(digest: &str) -> Option<JobSpec> {
    Some(JobSpec { digest: digest.to_owned(), timeout_seconds: 60 })
}

/// 10 replicas of revision 2. The first step, of 1 pod, has a gate, and the second one of 5 has none.
pub(super) fn gated() -> World {
    stepped(10, &["1", "50%/5"]).that(|it| {
        it.steps[0].gate = job("g");
        it.steps[0].until = vec![Until::Gate];
    })
}

/// The Jobs that there are, with what they come to from now on.
pub(super) fn become_(world: &mut World, state: &JobState) {
    world.jobs.values_mut().for_each(|job| job.state = state.clone());
}

pub(super) fn failed() -> JobState {
    JobState::Failed("exit code 1".to_owned())
}

pub(super) fn jobs(world: &World) -> Vec<&str> {
    world.jobs.keys().map(String::as_str).collect()
}

pub(super) fn why(world: &World) -> String {
    world.clone().plan().why.to_string()
}

pub(super) fn new_pods(world: &World, image: &str) -> i64 {
    world.find(&named(world, image)).size
}

#[test]
fn no_pod_of_the_next_step_comes_before_the_job_succeeds_and_it_is_made_once() {
    let mut world = gated();
    declare(&mut world, "c", 200, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-1-1"], "9+1"));
    assert_eq!(
        why(&world),
        "step 1 of 3: 1 of 10 updated, rests until Job web-3-1-1 succeeds (its pod does not run yet)"
    );
    become_(&mut world, &JobState::Running);
    // Its time does not begin before its pod runs.
    play(&mut world, 50, &[]);
    assert!(why(&world).contains("(running since 2026-"), "{}", why(&world));
    assert_eq!(says(&world, condition::PROGRESSING).1, "RestingAtStep");
    assert_eq!(play(&mut world, 5, &[]).writes, 0, "waiting causes no writes");
    become_(&mut world, &JobState::Succeeded);
    let played = play(&mut world, 40, &[]);
    assert_eq!((count(&played.events, "JobPassed"), sizes(&world).as_str()), (1, "0+10"));
    assert_eq!(jobs(&world), ["web-3-1-1"]);
    // A revision that is declared again runs its gates again, unless it is good and skips steps.
    world.observed.workload.good_skips_steps = false;
    declare(&mut world, "b", 100, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-1-1", "web-4-1-1"], "1+9"));
}

#[test]
fn a_gate_that_fails_without_a_policy_rests_until_somebody_forces_it() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &failed());
    let played = play(&mut world, 300, &[]);
    assert_eq!((count(&played.events, "JobFailed"), sizes(&world).as_str()), (1, "9+1"));
    assert_eq!(why(&world), "step 1 of 3: 1 of 10 updated, rests because Job web-3-1-1 failed (exit code 1)");
    assert_eq!(says(&world, condition::STALLED), ("True".to_owned(), "GateFailed".to_owned()));
    let played = request(&mut world, PROMOTE, "3/all", 20, &[]);
    assert_eq!((count(&played.events, "PromotionRefused"), sizes(&world).as_str()), (1, "9+1"));
    let played = request(&mut world, PROMOTE, "3/all/force", 60, &[]);
    assert_eq!(sizes(&world), "0+10");
    assert!(played.ended[0].promotions[0].is_forced);
}

#[test]
fn an_edited_gate_is_another_job() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.steps[0].gate = job("other");
    play(&mut world, 30, &[]);
    assert_eq!(jobs(&world), ["web-3-1-2"], "the one before is deleted");
    become_(&mut world, &failed());
    play(&mut world, 30, &[]);
    world.observed.workload.steps[0].gate = job("mended");
    play(&mut world, 30, &[]);
    assert_eq!(jobs(&world), ["web-3-1-2", "web-3-1-3"]);
    world.observed.workload.steps[0].gate = None;
    world.observed.workload.steps[0].until.clear();
    play(&mut world, 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-1-2"], "0+10"));
}

#[test]
fn a_gate_that_fails_or_takes_too_long_fails_the_revision_by_its_policy() {
    for (state, cause) in [
        (failed(), "the gate of step 1 failed: exit code 1"),
        (JobState::Running, "the gate of step 1 failed: it ran for longer than 60 s (timeoutSeconds)"),
    ] {
        let mut world = gated().that(|it| it.failure_policy = policy(FailureAction::Revert));
        declare(&mut world, "c", 30, &[]);
        become_(&mut world, &state);
        play(&mut world, 120, &[]);
        assert_eq!(memory(&world, &named(&world, "c"))["cause"], cause);
        assert_eq!(sizes(&world), "10+0");
    }
}

#[test]
fn a_job_that_somebody_deletes_is_made_again_once() {
    let mut world = gated().that(|it| it.failure_policy = policy(FailureAction::Revert));
    declare(&mut world, "c", 30, &[]);
    world.jobs.clear();
    play(&mut world, 30, &[]);
    assert_eq!(jobs(&world), ["web-3-1-2"]);
    become_(&mut world, &JobState::Deleting);
    play(&mut world, 30, &[]);
    assert!(why(&world).contains("(unknown: Job web-3-1-2 is being deleted, and its pod still runs)"));
    world.jobs.clear();
    play(&mut world, 300, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec![], "9+1"));
    assert!(
        why(&world).contains("(unknown: somebody deleted Job web-3-1-2, as the one before)"),
        "{}",
        why(&world)
    );
}

#[test]
fn a_job_of_another_owner_never_counts() {
    let mut world = gated();
    let foreign = Job {
        uid: "x".into(),
        controller_uid: Some("y".into()),
        digest: "g".into(),
        state: JobState::Succeeded,
    };
    declare(&mut world, "c", 2, &[]);
    let set = named(&world, "c");
    world.jobs.insert("web-3-1-1".to_owned(), foreign);
    // The server refuses the name; the next reconcile finds out why.
    for _ in 0..30 {
        world.wait(1);
        let plan = world.plan();
        for (index, planned) in plan.actions.iter().enumerate() {
            match &planned.action {
                Action::CreateJob(new) if world.jobs.contains_key(&new.name) => {
                    let failure = Failure::NameTaken(None);
                    let after = plan::after_failure(&world.observed, &plan, index, &failure, world.now);
                    assert!(matches!(after.verdict, Verdict::Continue), "{:?}", after.verdict);
                }
                action => world.act(action),
            }
        }
        crate::rollwright::come_up(&mut world, &[]);
    }
    assert_eq!((jobs(&world), world.find(&set).size), (vec!["web-3-1-1", "web-3-1-2"], 1));
}

/// The operator died before it stored that it had created the Job, and somebody edited the template then.
#[test]
fn a_job_of_an_earlier_template_ends_before_another_begins() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    let job = world.jobs.get_mut("web-3-1-1").unwrap();
    (job.uid, job.digest, job.state) = ("x".to_owned(), "earlier".to_owned(), JobState::Running);
    play(&mut world, 30, &[]);
    assert_eq!(jobs(&world), ["web-3-1-2"]);
}

#[test]
fn a_job_that_cannot_be_created_is_no_success_and_is_tried_again() {
    let mut world = gated();
    world.set_template(template("c"));
    // Until the gate is due.
    let is_due = |world: &World| {
        let plan = world.clone().plan();
        matches!(plan.actions.first().map(|it| &it.action), Some(Action::CreateJob(_)))
    };
    for _ in 0..30 {
        if !is_due(&world) {
            play(&mut world, 1, &[]);
        }
    }
    let plan = world.plan();
    let failure = Failure::Refused("exceeded quota: jobs".to_owned());
    let after = plan::after_failure(&world.observed, &plan, 0, &failure, world.now);
    let Verdict::PlanWithoutJob(text) = after.verdict else { panic!("{:?}", after.verdict) };
    world.observed.answers = Answers { job_refused: Some(text), ..Answers::default() };
    let plan = world.plan();
    assert!(plan.actions.iter().all(|it| !matches!(it.action, Action::CreateJob(_))));
    world.apply(&plan);
    let message = &world.observed.workload.status.condition(condition::PROGRESSING).unwrap().message;
    assert!(message.ends_with("until Job web-3-1-1 succeeds (unknown: exceeded quota: jobs)"), "{message}");
    play(&mut world, 20, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-1-1"], "9+1"));
}

#[test]
fn a_job_that_the_server_does_not_accept_is_the_first_thing_that_the_status_reports() {
    for is_switched_off in [false, true] {
        let mut world = gated();
        world.refuses_jobs = Some("spec.template.spec.restartPolicy: Required".to_owned());
        world.observed.options.runs_jobs = !is_switched_off;
        declare(&mut world, "c", 100, &[]);
        assert_eq!((sizes(&world).as_str(), world.observed.sets.len()), ("10", 2), "nothing is touched");
        assert_eq!(says(&world, condition::STALLED), ("True".to_owned(), "JobRefused".to_owned()));
        let words = if is_switched_off { "start it with --jobs" } else { "restartPolicy: Required" };
        assert!(why(&world).contains(words), "{}", why(&world));
        assert_eq!(play(&mut world, 60, &[]).writes, 0);
        (world.refuses_jobs, world.observed.options.runs_jobs) = (None, true);
        play(&mut world, 60, &[]);
        assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-1-1"], "9+1"));
    }
}

#[test]
fn neither_a_pin_nor_a_rollback_nor_a_good_revision_runs_a_job() {
    let back: [fn(&mut World); 3] = [
        |world| world.set_template(template("b")),
        |world| world.observed.workload.rollback_to = Some(2),
        |world| {
            world.observed.workload.pin = Some(Pin { pod_template_hash: "b".to_owned(), ..Pin::default() });
        },
    ];
    for (number, go_back) in back.into_iter().enumerate() {
        let mut world = gated().that(|it| (it.before_hook, it.after_hook) = (job("b"), job("a")));
        declare(&mut world, "c", 30, &[]);
        assert_eq!(jobs(&world), ["web-3-before-1"], "case {number}");
        // A good one skips steps by default; a rollback runs none in any case.
        world.observed.workload.good_skips_steps = number != 1;
        go_back(&mut world);
        play(&mut world, 60, &[]);
        assert_eq!((jobs(&world), new_pods(&world, "b")), (vec![], 10), "case {number}");
    }
}

#[test]
fn a_newer_template_and_an_abort_delete_the_job_of_the_one_before() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &JobState::Running);
    declare(&mut world, "d", 60, &[]);
    assert_eq!(jobs(&world), ["web-4-1-1"]);
    request(&mut world, ABORT, "4", 60, &[]);
    assert_eq!((jobs(&world), new_pods(&world, "b")), (vec![], 10));
}

#[test]
fn a_pause_lets_a_job_end_and_starts_none() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    world.observed.workload.paused = true;
    play(&mut world, 30, &[]);
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 30, &[]);
    assert_eq!(sizes(&world), "9+1");
    // Its time to live is over.
    world.jobs.clear();
    world.observed.workload.paused = false;
    play(&mut world, 60, &[]);
    assert_eq!((jobs(&world).len(), sizes(&world).as_str()), (0, "0+10"));
    let mut world = gated();
    world.set_template(template("c"));
    play(&mut world, 1, &[]);
    world.observed.workload.paused = true;
    play(&mut world, 60, &[]);
    assert!(jobs(&world).is_empty());
}

/// The operator dies after each single write, so that each reconcile has at most one.
#[test]
fn a_crash_makes_no_job_twice_and_loses_no_result() {
    let mut world = gated().that(|it| (it.before_hook, it.after_hook) = (job("b"), job("a")));
    world.set_template(template("c"));
    let mut made = Vec::new();
    for second in 0..400 {
        world.wait(1);
        // The server refuses a Job that is there, and the reconcile continues.
        let is_there =
            |action: &Action| matches!(action, Action::CreateJob(new) if world.jobs.contains_key(&new.name));
        let plan = world.clone().plan();
        let Some(first) = plan.actions.into_iter().find(|it| !is_there(&it.action)) else {
            let next = if second % 2 == 0 { JobState::Running } else { JobState::Succeeded };
            become_(&mut world, &next);
            continue;
        };
        if let Action::CreateJob(new) = &first.action {
            made.push(new.name.clone());
        }
        world.act(&first.action);
        crate::rollwright::come_up(&mut world, &[]);
    }
    assert_eq!(
        (made.join(" ").as_str(), sizes(&world).as_str()),
        ("web-3-before-1 web-3-1-2 web-3-after-3", "0+10")
    );
    assert!(matches!(world.step(), Step::Act(plan) if plan.actions.is_empty()));
    let Played { writes, .. } = play(&mut world, 60, &[]);
    assert_eq!(writes, 0);
}

/// What a restart holds begins no Job, and takes no time (HO-3).
#[test]
fn a_rollout_that_is_held_starts_no_job_and_its_time_stands_still() {
    let mut world = gated().that(|it| (it.before_hook, it.resumes_by_word) = (job("b"), true));
    world.observed.options.epoch = Some([1, 0, 0]);
    declare(&mut world, "c", 30, &[]);
    become_(&mut world, &JobState::Running);
    play(&mut world, 5, &[]);
    world.observed.options.epoch = Some([2, 0, 0]);
    play(&mut world, 200, &[]);
    assert_eq!(says(&world, condition::STALLED).1, "HeldAfterRestart");
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 60, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-before-1"], "10+0"));
    let word = world.find(&named(&world, "c")).word_to_resume().unwrap();
    request(&mut world, RESUME, &word, 30, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-1-2", "web-3-before-1"], "9+1"));
}

/// GA-2: the template may be the same.
#[test]
fn a_result_counts_for_no_step_of_an_edited_list() {
    let mut world = gated().that(|it| {
        it.steps[1] = UpdateStep { updated: IntOrPercent::Int(3), ..it.steps[0].clone() };
        it.steps.push(UpdateStep { updated: IntOrPercent::Int(5), ..it.steps[0].clone() });
    });
    declare(&mut world, "c", 30, &[]);
    for _ in 0..2 {
        become_(&mut world, &JobState::Succeeded);
        play(&mut world, 30, &[]);
    }
    assert_eq!((jobs(&world).len(), sizes(&world).as_str()), (3, "5+5"));
    // The third step is the second one now.
    world.observed.workload.steps.remove(2);
    world.observed.workload.steps[1].updated = IntOrPercent::Int(8);
    play(&mut world, 60, &[]);
    assert_eq!((jobs(&world).last(), sizes(&world).as_str()), (Some(&"web-3-2-4"), "2+8"));
}

/// The write that stores which Job was begun is lost, and the gate is edited meanwhile.
#[test]
fn a_job_of_an_earlier_template_never_counts() {
    let mut world = gated();
    declare(&mut world, "c", 30, &[]);
    let set = named(&world, "c");
    let stored = memory(&world, &set).to_string().replace("\"template\":\"g\"", "\"template\":\"h\"");
    world.find_mut(&set).annotations.insert(ROLLOUT.to_owned(), stored);
    world.observed.workload.steps[0].gate = job("h");
    become_(&mut world, &JobState::Succeeded);
    play(&mut world, 30, &[]);
    assert_eq!((jobs(&world), sizes(&world).as_str()), (vec!["web-3-1-1", "web-3-1-2"], "9+1"));
}

/// GA-2: a reconcile reads one Job, and the write that forgets that of an earlier revision was lost.
#[test]
fn a_job_of_an_earlier_revision_is_deleted_before_or_after_that_of_the_declared_one() {
    for (seconds, beside) in [(1, vec!["web-4-1-1"]), (30, vec!["web-3-1-1", "web-4-1-1"])] {
        let mut world = gated();
        declare(&mut world, "c", 30, &[]);
        let (set, mut earlier) = (named(&world, "c"), world.jobs.clone());
        let open = world.find(&set).annotations[ROLLOUT].clone();
        declare(&mut world, "d", seconds, &[]);
        world.find_mut(&set).annotations.insert(ROLLOUT.to_owned(), open);
        world.jobs.append(&mut earlier);
        let before = world.jobs.len();
        for _ in 0..20 {
            let job = Err("timed out".to_owned());
            world.observed.answers.job = Some(FoundJob { name: "web-3-1-1".to_owned(), job });
            play(&mut world, 1, &[]);
        }
        assert_eq!(world.jobs.len(), before, "none begins beside one that cannot be read");
        play(&mut world, 30, &[]);
        assert_eq!(jobs(&world), beside);
        assert_eq!(play(&mut world, 30, &[]).writes, 0);
        become_(&mut world, &JobState::Succeeded);
        play(&mut world, 60, &[]);
        assert_eq!((jobs(&world), new_pods(&world, "d")), (vec!["web-4-1-1"], 10));
    }
}
