//! Which Deployment has its pods read next.
//!
//! All Deployments together share a few requests a second. Those that a failure policy judges come first, since their
//! pods may be failing now; one request in four is for the others all the same. Among both, namespaces alternate.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::index::Key;
use crate::rotation::Rotation;

/// This many requests in a row are for Deployments that are judged, while others wait.
const JUDGED_IN_A_ROW: usize = 3;
/// A Deployment that does not come in this many intervals after its time keeps nobody waiting.
const INTERVALS_LATE: u32 = 5;

/// Who waits, and when the last request was made.
#[derive(Default)]
pub(crate) struct Line {
    judged: Rotation,
    others: Rotation,
    /// How many requests in a row were for those that are judged.
    in_a_row: usize,
    /// When each of them should come.
    told: HashMap<Key, Instant>,
    last: Option<Instant>,
}

impl Line {
    /// A Deployment wants a request. Returns when it may make it; now, if it is next in line.
    pub(super) fn ask(&mut self, key: &Key, is_judged: bool, interval: Duration, now: Instant) -> Instant {
        let (own, other) = match is_judged {
            true => (&mut self.judged, &mut self.others),
            false => (&mut self.others, &mut self.judged),
        };
        other.leave(key);
        own.enter(key);
        self.told.insert(key.clone(), now);
        let free = self.last.map_or(now, |last| now.max(last + interval));
        if free == now && self.is_first_of_those_there(key, is_judged, interval * INTERVALS_LATE, now) {
            self.begins(key, is_judged, now);
            return now;
        }
        // The Deployment comes again at the next free time, even if those before it do not.
        let before = u32::try_from(self.before(key, is_judged)).unwrap_or(u32::MAX);
        let wait = interval.saturating_mul(before.max(u32::from(free == now)));
        self.told.insert(key.clone(), free + wait);
        free + wait
    }

    /// The Deployment wants no request any more.
    pub(crate) fn leave(&mut self, key: &Key) {
        if self.told.remove(key).is_some() {
            self.judged.leave(key);
            self.others.leave(key);
        }
    }

    fn begins(&mut self, key: &Key, is_judged: bool, now: Instant) {
        if is_judged {
            self.judged.take(key);
            self.in_a_row = if self.others.is_empty() { 0 } else { self.in_a_row + 1 };
        } else {
            self.others.take(key);
            self.in_a_row = 0;
        }
        self.told.remove(key);
        self.last = Some(now);
    }

    /// Whether no other one that should come now is before this one in line. One with a later time keeps its place, and
    /// leaves a request to others that would be made by nobody.
    fn is_first_of_those_there(&self, key: &Key, is_judged: bool, late: Duration, now: Instant) -> bool {
        let own = if is_judged { &self.judged } else { &self.others };
        let place = own.before(key);
        let are_others_next = self.in_a_row >= JUDGED_IN_A_ROW;
        let is_there = |told: &Instant| *told <= now && now <= *told + late;
        let there = self.told.iter().filter(|(other, told)| *other != key && is_there(told));
        !there.map(|(other, _)| own.before(other)).any(|other| match other {
            Some(other) => Some(other) < place,
            None => are_others_next == is_judged,
        })
    }

    /// How many requests are made before that of a Deployment in the line.
    fn before(&self, key: &Key, is_judged: bool) -> usize {
        if is_judged {
            let own = self.judged.before(key).unwrap_or_default();
            own + self.others.len().min((own + self.in_a_row) / JUDGED_IN_A_ROW)
        } else {
            let own = self.others.before(key).unwrap_or_default();
            own + self.judged.len().min((own + 1) * JUDGED_IN_A_ROW - self.in_a_row.min(JUDGED_IN_A_ROW))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::durations::LOOK_INTERVAL;

    use super::*;

    fn key(namespace: &str, name: usize) -> Key {
        Key { namespace: namespace.to_owned(), name: format!("{name:04}") }
    }

    /// Deployments that come when they should. Each that made its request wants the next one when that is set.
    struct Bench {
        line: Line,
        now: Instant,
        /// When each comes, and whether it is judged.
        comes: Vec<(Instant, Key, bool)>,
        /// How often anybody came.
        calls: usize,
    }

    impl Bench {
        fn new() -> Self {
            Self { line: Line::default(), now: Instant::now(), comes: Vec::new(), calls: 0 }
        }

        fn joins(&mut self, key: Key, is_judged: bool) {
            self.comes.push((self.now, key, is_judged));
        }

        /// The next one in line.
        fn next(&mut self) -> (Duration, Key) {
            let begin = self.now;
            loop {
                let first = (0..self.comes.len()).min_by_key(|index| self.comes[*index].0).expect("somebody");
                let (time, key, is_judged) = self.comes.swap_remove(first);
                self.now = self.now.max(time);
                self.calls += 1;
                assert!(self.calls < 100_000, "nobody has a turn");
                let told = self.line.ask(&key, is_judged, LOOK_INTERVAL, self.now);
                if told <= self.now {
                    return (self.now - begin, key);
                }
                self.comes.push((told, key, is_judged));
            }
        }
    }

    #[test]
    fn many_in_one_namespace_do_not_delay_another() {
        let mut bench = Bench::new();
        (0..1500).for_each(|name| bench.joins(key("b", name), false));
        (0..100).for_each(|_| _ = bench.next());
        for is_judged in [true, false, true] {
            bench.joins(key("a", 0), is_judged);
            let begin = bench.now;
            while bench.next().1.namespace != "a" {}
            assert!(bench.now - begin <= 2 * LOOK_INTERVAL, "{:?}", bench.now - begin);
        }
    }

    #[test]
    fn the_judged_come_first_and_the_others_are_not_forgotten() {
        let mut bench = Bench::new();
        (0..40).for_each(|name| bench.joins(key("b", name), true));
        (0..40).for_each(|name| bench.joins(key("a", name), false));
        let order: String = (0..16).map(|_| bench.next().1.namespace).collect();
        assert_eq!(order, "bbbbabbbabbbabbb", "the first came alone");
    }

    #[test]
    fn nobody_comes_much_more_often_than_there_are_requests() {
        let mut bench = Bench::new();
        (0..1500).for_each(|name| bench.joins(key("b", name), false));
        let begin = bench.now;
        for round in 0..1500 {
            if round % 75 == 0 {
                bench.joins(key("a", round), true);
            }
            bench.next();
        }
        assert!(bench.now - begin <= 1500 * LOOK_INTERVAL, "at most five in a second");
        assert!(bench.calls < 4 * 1500, "{} calls", bench.calls);
    }

    #[test]
    fn one_that_stays_away_keeps_nobody_waiting_for_long() {
        let mut bench = Bench::new();
        bench.joins(key("b", 0), false);
        bench.next();
        (1..4).for_each(|name| bench.joins(key("b", name), false));
        (1..4).for_each(|_| {
            let (_, key, is_judged) = bench.comes.remove(0);
            let told = bench.line.ask(&key, is_judged, LOOK_INTERVAL, bench.now);
            bench.comes.push((told, key, is_judged));
        });
        bench.comes.remove(0);
        let (took, came) = bench.next();
        assert_eq!(came, key("b", 2));
        assert!(took <= LOOK_INTERVAL * (INTERVALS_LATE + 2), "{took:?}");
        assert_eq!(bench.next().1, key("b", 3));
    }

    /// Rollouts end, or are deleted, while they wait.
    #[test]
    fn one_that_was_told_a_late_time_keeps_nobody_waiting_once_the_others_are_gone() {
        for is_judged in [true, false] {
            let (mut line, begin) = (Line::default(), Instant::now());
            let ask = |line: &mut Line, name: usize| line.ask(&key("b", name), false, LOOK_INTERVAL, begin);
            let last = (0..1500).map(|name| ask(&mut line, name)).last().expect("some");
            assert!(last > begin + 1000 * LOOK_INTERVAL);
            (0..1499).for_each(|name| line.leave(&key("b", name)));
            for look in 1..10 {
                let now = begin + 75 * look * LOOK_INTERVAL;
                assert_eq!(line.ask(&key("a", 0), is_judged, LOOK_INTERVAL, now), now, "look {look}");
            }
            assert_eq!(line.ask(&key("b", 1499), false, LOOK_INTERVAL, last), last, "it has its own turn");
        }
    }
}
