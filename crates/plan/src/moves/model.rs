//! The sizes beside those of `docs/internals/steps-model.py`, which computes them from the rules alone (SP-1, SP-3).

use std::process::Command;

use super::tests::{aim, steps, text};
use super::*;
use crate::model::intstr::IntOrPercent;
use crate::model::steps::{Steps, UpdateStep};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/internals/steps-model.py");

/// A line of the model: the start, and the sizes after each write.
fn line(text: &str) -> (Aim, Vec<Counted>, bool, Vec<&str>) {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |index: usize| words[index].parse::<i64>().unwrap();
    let (total, surge, unavailable, other) = (number(0), number(1), number(2), number(4));
    let updated = words[3].parse().map_or(IntOrPercent::Text(words[3].to_owned()), IntOrPercent::Int);
    let ceiling = Steps(&[UpdateStep { updated, until: Vec::new(), gate: None }]).ceiling(0, total);
    let floor = total - unavailable.min(total);
    let aim = Aim { run: Some(2), keep: Some(0), ceiling, total, cap: total + surge, floor, ..aim() };
    let set = |size: i64| Counted { size, available: size, ..Counted::default() };
    (aim, [total - other, other, 0].map(set).into(), words[5] == "dead", words[6..].to_vec())
}

/// The sizes of the planner, after each write.
fn path(aim: &Aim, mut sets: Vec<Counted>, is_dead: bool) -> Vec<String> {
    let mut path = vec![text(&sets)];
    for _ in 0..50 {
        if is_dead {
            sets[1].available = 0;
        }
        for step in steps(&moves(&sets, aim)) {
            sets[step.set].size = step.to;
            path.push(text(&sets));
        }
        sets.iter_mut().for_each(|set| set.available = set.size);
    }
    path
}

#[test]
fn sizes_are_those_of_the_model() {
    // `make check` needs Python; where there is none, the other tests of sizes have to do.
    let Ok(output) = Command::new("python3").arg(MODEL).output() else {
        eprintln!("no python3: the model was not run");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let mut number = 0;
    for text in lines.lines() {
        let (aim, sets, is_dead, expected) = line(text);
        assert_eq!(path(&aim, sets, is_dead), expected, "{text}");
        number += 1;
    }
    assert!(number > 7_000, "{number} lines");
}
