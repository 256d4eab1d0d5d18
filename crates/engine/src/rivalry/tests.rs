use serde_json::{Value, json};

use super::*;

fn counters(replicas: i64) -> Counters {
    Counters::of(&Status { replicas, ..Status::default() })
}

pub(crate) fn sighting(version: u64, replicas: i64, manager: &str) -> Sighting {
    let writer = Some(Writer { manager: manager.to_owned(), time: version.to_string() });
    Sighting { uid: "w".to_owned(), version, counters: counters(replicas), writer }
}

/// The operator writes 3 replicas, somebody writes another number, and the operator is about to write 3 again.
struct Fight {
    rivalry: Rivalry,
    version: u64,
    now: Instant,
}

/// One Deployment that is left to a competing controller from then on.
pub(crate) fn lost(now: Instant) -> Rivalry {
    let mut fight = Fight { now, ..Fight::new() };
    assert!((0..UNDONE_MAX).any(|_| fight.round("other").is_some()));
    fight.rivalry
}

impl Fight {
    fn new() -> Self {
        Self { rivalry: Rivalry::default(), version: 0, now: Instant::now() }
    }

    fn next(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn saw(&mut self, sighting: Sighting) {
        self.rivalry.saw(sighting, self.now);
    }

    fn write(&mut self) {
        let version = self.next();
        self.rivalry.wrote(version, counters(3));
        self.saw(sighting(version, 3, FIELD_MANAGER));
    }

    fn foreign(&mut self, manager: &str) {
        let version = self.next();
        self.saw(sighting(version, 77, manager));
    }

    /// One write of the operator that is undone; the manager that it gives way to.
    fn round(&mut self, manager: &str) -> Option<String> {
        self.write();
        self.foreign(manager);
        self.object()
    }

    fn object(&mut self) -> Option<String> {
        self.rivalry.objection(&counters(3), self.now).map(|rival| rival.manager)
    }

    fn yields(&mut self) -> bool {
        self.rivalry.yields_until(self.now).is_some()
    }
}

#[test]
fn the_third_time_within_a_minute_we_give_way() {
    let mut fight = Fight::new();
    assert_eq!(fight.round("other"), None);
    assert_eq!(fight.round("other"), None);
    assert!(!fight.yields());
    assert_eq!(fight.round("other").as_deref(), Some("other"));
    assert!(fight.yields());
}

#[test]
fn slow_or_divided_foes_are_repaired() {
    let mut fight = Fight::new();
    for _ in 0..6 {
        assert_eq!(fight.round("other"), None);
        fight.now += RIVAL_WINDOW / 2;
    }
    let mut fight = Fight::new();
    for manager in ["a", "b", "c", "a", "b", "c"] {
        assert_eq!(fight.round(manager), None, "{manager}");
    }
}

#[test]
fn what_is_no_undoing_does_not_count() {
    let mut fight = Fight::new();
    // Many foreign writes between two of the operator's are one undoing, and a refused repair is none.
    fight.write();
    for _ in 0..9 {
        fight.foreign("other");
        assert_eq!(fight.object(), None);
    }
    // Before the operator's first write.
    let mut fight = Fight::new();
    for _ in 0..9 {
        fight.foreign("other");
        assert_eq!(fight.object(), None);
    }
    // Another operator.
    for _ in 0..9 {
        assert_eq!(fight.round(FIELD_MANAGER), None);
    }
    // The ReplicaSets have moved on: the counters are not what the operator wrote before.
    for _ in 0..9 {
        fight.write();
        fight.foreign("other");
        assert!(fight.rivalry.objection(&counters(4), fight.now).is_none());
    }
    // What the operator wrote still stands, although somebody wrote something else.
    for _ in 0..9 {
        fight.write();
        let version = fight.next();
        fight.saw(sighting(version, 3, "other"));
        assert_eq!(fight.object(), None);
    }
}

#[test]
fn silence_ends_it_and_one_more_undoing_begins_it_anew() {
    let mut fight = Fight::new();
    while fight.round("other").is_none() {}
    for _ in 0..5 {
        fight.now += RIVAL_SILENCE * 2 / 3;
        fight.foreign("other");
        assert!(fight.yields(), "it is still heard of");
    }
    fight.now += RIVAL_SILENCE * 2 / 3;
    // A change of the spec is not a write by the competing controller.
    let writer = fight.version;
    let version = fight.next();
    fight.saw(Sighting { version, ..sighting(writer, 77, "other") });
    assert!(fight.yields());
    fight.now += RIVAL_SILENCE / 3;
    assert!(!fight.yields());
    assert_eq!(fight.round("other").as_deref(), Some("other"));
    assert!(fight.yields());
    fight.now += RIVAL_SILENCE;
    assert!(!fight.yields());
    fight.now += RIVAL_WINDOW;
    assert_eq!(fight.round("other"), None, "all is forgiven");
}

#[test]
fn the_last_writer_is_read_from_managed_fields() {
    let entry = |manager: &str, time: &str, subresource: &str| json!({"manager": manager, "time": time, "subresource": subresource, "operation": "Update"});
    let last = |entries: Value| {
        Writer::of_status(serde_json::from_value(entries).unwrap()).map(|writer| writer.manager)
    };
    let (early, late) = ("2026-04-01T12:00:00Z", "2026-04-01T12:00:01Z");
    assert_eq!(last(json!([])), None);
    assert_eq!(last(json!("garbage")), None);
    assert_eq!(last(json!([{"manager": "kubectl", "time": late}])), None, "not the status");
    let both = |ours: &str, theirs: &str| {
        last(json!([
            entry(FIELD_MANAGER, ours, "status"),
            entry("other", theirs, "status"),
            entry("x", late, "")
        ]))
    };
    assert_eq!(both(late, early).as_deref(), Some(FIELD_MANAGER));
    assert_eq!(both(early, late).as_deref(), Some("other"));
    assert_eq!(both(late, late).as_deref(), Some("other"));
}
