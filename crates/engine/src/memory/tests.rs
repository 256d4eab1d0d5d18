use serde_json::json;

use super::*;

fn refused(code: u16) -> Refusal {
    Refusal::new(code, "", String::new())
}

#[test]
fn a_reason_is_news_once() {
    let mut memory = Memory::default();
    assert!(memory.note_why("paused"));
    assert!(!memory.note_why("paused"));
    assert!(memory.note_why("converged"));
}

fn template(image: &str) -> Fingerprint {
    Fingerprint::of(&json!({ "image": image }))
}

#[test]
fn a_dry_run_is_remembered_for_its_template() {
    let (mut memory, now) = (Memory::default(), Instant::now());
    let (one, two) = (template("one"), template("two"));
    let answer = memory.settle_dry_run(&one, Err(refused(422)), now);
    assert_eq!(answer, Ok(DryRun::Refused));
    assert_eq!(memory.dry_run(&one), Some(DryRun::Refused));
    assert_eq!(memory.dry_run(&two), None);
    let stored = [7; 32];
    assert_eq!(memory.settle_dry_run(&two, Ok(stored), now), Ok(DryRun::Stored(stored)));
    assert_eq!(memory.dry_run(&two), Some(DryRun::Stored(stored)));
}

#[test]
fn a_quota_is_lifted_some_day() {
    let (mut memory, now) = (Memory::default(), Instant::now());
    let of = template("one");
    assert_eq!(memory.settle_dry_run(&of, Err(refused(403)), now), Ok(DryRun::Refused));
    assert_eq!(memory.dry_run(&of), None);
}

#[test]
fn a_server_that_is_unwell_is_given_time() {
    let (mut memory, start) = (Memory::default(), Instant::now());
    let of = template("one");
    let mut is_settled =
        |code: u16, now: Instant| memory.settle_dry_run(&of, Err(refused(code)), now).is_ok();
    for code in [0, 429, 500, 503, 504] {
        assert!(!is_settled(code, start), "{code}");
    }
    let late = start + DRY_RUN_PATIENCE;
    assert!(is_settled(500, late));
    for code in [400, 403, 422] {
        assert!(is_settled(code, late), "{code}");
    }
    assert!(!is_settled(500, late), "a no starts the clock anew");
}

/// Creating a ReplicaSet for want of an answer may restart every pod. One hiccup now and another later are no reason.
#[test]
fn hiccups_that_have_nothing_to_do_with_each_other_do_not_add_up() {
    let (mut memory, start) = (Memory::default(), Instant::now());
    let (one, two) = (template("one"), template("two"));
    let late = start + DRY_RUN_PATIENCE;
    let is_settled = |memory: &mut Memory, of: &Fingerprint, now: Instant| {
        memory.settle_dry_run(of, Err(refused(503)), now).is_ok()
    };
    assert!(!is_settled(&mut memory, &one, start));
    assert!(!is_settled(&mut memory, &two, late), "of another template");
    assert!(!is_settled(&mut memory, &two, late + DRY_RUN_SERIES), "long ago");
    let again = late + DRY_RUN_SERIES + DRY_RUN_PATIENCE;
    memory.start_over();
    assert!(!is_settled(&mut memory, &two, again), "before another one led");
    assert!(is_settled(&mut memory, &two, again + DRY_RUN_PATIENCE), "the server is unwell for that long");
}
