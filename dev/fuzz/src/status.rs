//! The stored status, and what is decided from it (S9).

use api::{decode, encode};
use plan::{Flavour, Status};

use crate::input;

/// A JSON list: a status before and after.
pub(crate) fn run(data: &[u8]) {
    let Some((old, new)) = input::pair(data) else { return };
    let read = |value| decode::status(value).map(Status::from);
    let (Ok(old), Ok(new)) = (read(&old), read(&new)) else { return };
    for status in [&old, &new] {
        settled(status);
    }
    let now = "2026-04-01T12:00:00Z".parse().unwrap();
    let _total = new.is_better_than(&old);
    for condition in &new.conditions {
        for deadline in [0, new.replicas, i64::from(i32::MAX)] {
            let _total = condition.is_timed_out(deadline, now);
            let _total = new.requeue_after(deadline, now);
        }
        let mut conditions = old.conditions.clone();
        condition.clone().set_in(&mut conditions);
        let again = conditions.clone();
        condition.clone().set_in(&mut conditions);
        assert_eq!(again, conditions);
    }
}

/// What was written is read back as it was.
fn settled(status: &Status) {
    for flavour in [Flavour::Rollwright, Flavour::AppsV1] {
        let written = encode::status(flavour, status);
        let read = decode::status(&written).unwrap().into();
        assert_eq!(encode::status(flavour, &read), written);
    }
}
