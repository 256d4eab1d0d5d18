use super::*;
use crate::index::Sight;
use crate::index::tests::{key, set, workload};

fn index() -> Index {
    let mut index = Index::new(Sight::Whole);
    index.apply_workload(workload("web", "w", "web", 10));
    index.apply_set(set("web-1", Some("w"), "web", 11));
    index
}

fn is_waiting(ledger: &mut Ledger, index: &Index) -> bool {
    matches!(ledger.check(&key("web"), index), Readiness::Wait(_))
}

#[tokio::test(start_paused = true)]
async fn a_write_is_waited_for_until_its_kind_shows_it() {
    let (mut index, mut ledger) = (index(), Ledger::default());
    assert_eq!(ledger.check(&key("web"), &index), Readiness::Ready);
    ledger.wrote_set(&key("web"), "20");
    index.apply_workload(workload("web", "w", "web", 30));
    assert!(is_waiting(&mut ledger, &index), "versions of another kind say nothing");
    assert_eq!(ledger.check(&key("api"), &index), Readiness::Ready);
    index.apply_set(set("other", None, "other", 21));
    assert_eq!(ledger.check(&key("web"), &index), Readiness::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_changed_nothing_is_not_waited_for() {
    let (index, mut ledger) = (index(), Ledger::default());
    ledger.wrote_workload(&key("web"), "10");
    ledger.wrote_set(&key("web"), "11");
    assert_eq!(ledger.check(&key("web"), &index), Readiness::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_waited_for() {
    let (mut index, mut ledger) = (index(), Ledger::default());
    ledger.deleted_set(&key("web"), "uid-web-1");
    assert!(is_waiting(&mut ledger, &index));
    index.delete_set("uid-web-1", "22");
    assert_eq!(ledger.check(&key("web"), &index), Readiness::Ready);
}

#[tokio::test(start_paused = true)]
async fn patience_ends() {
    let (index, mut ledger) = (index(), Ledger::default());
    ledger.wrote_set(&key("web"), "20");
    tokio::time::advance(PATIENCE).await;
    assert_eq!(ledger.check(&key("web"), &index), Readiness::Overdue);
    ledger.clear(&key("web"));
    assert_eq!(ledger.check(&key("web"), &index), Readiness::Ready);
}

#[tokio::test(start_paused = true)]
async fn versions_that_are_no_numbers_are_not_waited_for() {
    let (index, mut ledger) = (index(), Ledger::default());
    ledger.wrote_set(&key("web"), "blue");
    assert_eq!(ledger.check(&key("web"), &index), Readiness::Ready);
}
