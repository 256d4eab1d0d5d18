//! What is drawn of a Deployment, and of what its users do.

use super::{Act, Rollout, Share, Start, Step};
use crate::chance::Dice;

fn share(dice: &mut Dice) -> Share {
    if dice.percent(40) {
        Share::Percent(dice.one_of(&[10, 25, 34, 50, 100], 25))
    } else {
        Share::Pods(i64::try_from(dice.below(4)).unwrap_or(0))
    }
}

fn rollout(dice: &mut Dice) -> Rollout {
    if dice.percent(15) {
        return Rollout::Recreate;
    }
    let (surge, unavailable) = (share(dice), share(dice));
    match (surge, unavailable) {
        // The API server refuses both to be 0.
        (Share::Pods(0), Share::Pods(0)) => Rollout::Rolling(Share::Pods(1), Share::Pods(0)),
        _ => Rollout::Rolling(surge, unavailable),
    }
}

fn size(dice: &mut Dice) -> i64 {
    let most = dice.one_of(&[3, 6, 10, 12], 10);
    let least = u64::from(dice.percent(90));
    i64::try_from(dice.between(least, most)).unwrap_or(1)
}

pub(crate) fn start(dice: &mut Dice) -> Start {
    Start {
        replicas: size(dice),
        strategy: rollout(dice),
        min_ready_seconds: if dice.percent(20) { dice.one_of(&[1, 2, 5], 1) } else { 0 },
        history_limit: dice.one_of(&[0, 1, 2, 10], 10),
        deadline_seconds: dice.one_of(&[10, 60, 600], 600),
    }
}

/// Which kinds of steps a seed knows: a random part of all.
pub(crate) fn steps(dice: &mut Dice, start: &Start) -> Vec<Step> {
    let known = dice.draw();
    let pace = dice.one_of(&[500, 3000, 10_000, 40_000], 3000);
    let count = dice.between(1, 7);
    let mut at = 0;
    let mut image = 0;
    let mut replicas = start.replicas;
    let mut steps = Vec::new();
    for _ in 0..count {
        at += dice.between(1, pace);
        let kind = dice.below(24);
        let act = if kind < 8 || known & (1 << kind) == 0 {
            image = next_image(dice, image);
            Act::Template(image)
        } else {
            other_act(dice, kind, &mut image, &mut replicas)
        };
        let is_pause = act == Act::Pause(true);
        if matches!(act, Act::RollBack(_)) && dice.percent(25) {
            // Back and forth, until it is refused.
            let again = (1..4).map(|times| Step { at: at + times * pace, act: Act::RollBack(0) });
            steps.extend(again);
        }
        steps.push(Step { at, act });
        if is_pause {
            steps.push(Step { at: at + dice.between(1, 2 * pace), act: Act::Pause(false) });
        }
    }
    steps
}

fn next_image(dice: &mut Dice, image: u8) -> u8 {
    match dice.below(10) {
        0 => 8,
        1 => 0,
        _ => (image + 1) % 6,
    }
}

fn other_act(dice: &mut Dice, kind: u64, image: &mut u8, replicas: &mut i64) -> Act {
    let which = u8::try_from(dice.below(8)).unwrap_or(0);
    match kind {
        8 | 9 => {
            *replicas = size(dice);
            Act::Scale(*replicas)
        }
        10 => {
            *image = next_image(dice, *image);
            *replicas = size(dice);
            Act::TemplateAndScale(*image, *replicas)
        }
        11 | 12 => Act::Pause(true),
        13 => Act::RollBack(i64::try_from(dice.below(4)).unwrap_or(0)),
        14 => Act::Strategy(rollout(dice)),
        15 => Act::HistoryLimit(i64::try_from(dice.below(4)).unwrap_or(0)),
        16 => Act::MinReady(i64::try_from(dice.below(4)).unwrap_or(0)),
        17 => Act::Annotate(which),
        18 => Act::OrphanAndReturn,
        19 => Act::ScaleSet(which, size(dice)),
        20 => Act::Garbage(which, u8::try_from(dice.below(12)).unwrap_or(0)),
        21 => match dice.below(3) {
            0 => Act::Unlabel(which),
            1 => Act::Unmark(which),
            _ => Act::Disown(which),
        },
        22 => Act::DeleteSet(which),
        _ if dice.percent(50) => Act::DeletePod(which),
        _ => Act::Restart(which),
    }
}
