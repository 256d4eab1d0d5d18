use serde_json::json;

use super::*;
use crate::index::tests::key;

fn refused(code: u16) -> Refusal {
    Refusal { code, reason: String::new(), message: String::new(), namespace_terminating: false }
}

#[test]
fn a_reason_is_news_once() {
    let mut memory = Memory::default();
    assert!(memory.note_why(&key("web"), "w", "paused"));
    assert!(!memory.note_why(&key("web"), "w", "paused"));
    assert!(memory.note_why(&key("web"), "w", "converged"));
    assert!(memory.note_why(&key("web"), "created anew", "converged"));
}

#[test]
fn an_object_created_anew_is_scouted_for_anew() {
    let mut memory = Memory::default();
    memory.note_scouted(&key("web"), "w", vec!["orphan".to_owned()]);
    assert_eq!(memory.orphans(&key("web"), "w"), ["orphan"]);
    assert!(memory.has_scouted(&key("web"), "w"));
    assert!(!memory.has_scouted(&key("web"), "other"));
}

#[test]
fn a_dry_run_is_remembered_for_its_template() {
    let mut memory = Memory::default();
    let (one, two) = (Fingerprint::of(&json!({ "a": 1 })), Fingerprint::of(&json!({ "a": 2 })));
    memory.remember_dry_run(&key("web"), "w", one.clone(), DryRun::Refused);
    assert_eq!(memory.dry_run(&key("web"), "w", &one), Some(DryRun::Refused));
    assert_eq!(memory.dry_run(&key("web"), "w", &two), None);
    assert_eq!(memory.dry_run(&key("web"), "other", &one), None);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_unwell_is_given_time() {
    let mut memory = Memory::default();
    for code in [0, 429, 500, 503, 504] {
        assert!(memory.dry_run_may_recover(&key("web"), "w", &refused(code)), "{code}");
    }
    tokio::time::advance(DRY_RUN_PATIENCE).await;
    assert!(!memory.dry_run_may_recover(&key("web"), "w", &refused(500)));
    for code in [400, 403, 422] {
        assert!(!memory.dry_run_may_recover(&key("web"), "w", &refused(code)), "{code}");
    }
    assert!(memory.dry_run_may_recover(&key("web"), "w", &refused(500)), "a no starts the clock anew");
}
