//! What goes wrong in the scenario of a seed.

use serde::{Deserialize, Serialize};

use super::{Fault, Millis, Trouble};
use crate::chance::Dice;

/// What goes wrong with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteFault {
    /// The operator dies before it is sent.
    CrashBefore,
    /// The write is carried out, and the operator dies before the answer comes.
    CrashCommitted,
    /// The operator dies when it has the answer.
    CrashAfter,
    /// The operator dies, and the write arrives this much later.
    Zombie(Millis),
    /// Refused with this code.
    Refused(u16),
    /// Carried out, but answered with 504.
    LostAnswer,
    /// Carried out, but not answered until the deadline.
    Silence,
    /// The request takes this long.
    Slow(Millis),
    /// Refused, and the server asks for no request for this many seconds (`Retry-After`).
    RetryAfter(u64),
}

/// What goes wrong with a look at pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LookFault {
    /// Refused with this code.
    Refused(u16),
    /// Not answered until the deadline.
    Silence,
    /// The request takes this long.
    Slow(Millis),
    /// The request is answered this late, with what was true before.
    Stale(Millis),
}

pub(super) fn all(dice: &mut Dice, end: Millis) -> Vec<Fault> {
    let mut faults = Vec::new();
    if dice.percent(15) {
        return faults;
    }
    let known = dice.draw();
    if known & 1 == 0 {
        let rate = dice.one_of(&[3, 10, 30], 10);
        let modes = dice.draw() | 1;
        for nth in 0..80 {
            if dice.percent(rate) {
                faults.extend(write_fault(dice, modes).map(|fault| Fault::Write(nth, fault)));
            }
        }
    }
    if known & 2 == 0 {
        let code = dice.one_of(&[403, 429, 500, 503, 504], 500);
        faults.extend((0..60).filter(|_| dice.percent(8)).map(|nth| Fault::Read(nth, code)));
    }
    for _ in 0..dice.below(5) {
        let duration = dice.one_of(&[200, 3000, 20_000, 60_000, 300_000], 3000);
        let trouble = trouble(dice);
        faults.push(Fault::During(dice.below(end), dice.between(1, duration), trouble));
    }
    faults
}

fn write_fault(dice: &mut Dice, modes: u64) -> Option<WriteFault> {
    let kind = dice.below(9);
    if modes & (1 << kind) == 0 {
        return None;
    }
    Some(match kind {
        0 => WriteFault::Refused(dice.one_of(&[403, 409, 422, 429, 500, 503], 500)),
        1 => WriteFault::CrashBefore,
        2 => WriteFault::CrashCommitted,
        3 => WriteFault::CrashAfter,
        4 => WriteFault::Zombie(dice.one_of(&[10, 1000, 60_000, 300_000], 1000)),
        5 => WriteFault::LostAnswer,
        6 => WriteFault::Silence,
        7 => WriteFault::Refused(dice.one_of(&[409, 429, 500], 409)),
        _ => WriteFault::Slow(dice.between(1, 9000)),
    })
}

fn trouble(dice: &mut Dice) -> Trouble {
    match dice.below(16) {
        0 => Trouble::WorkloadLag,
        1 | 2 => Trouble::SetLag,
        3 => Trouble::Disconnect,
        4 => Trouble::Expired,
        5 => Trouble::Outage(dice.one_of(&[429, 500, 503, 504], 503)),
        6 => Trouble::Clock(dice.one_of(&[-600, -7, 7, 600], 600)),
        7 => Trouble::PodQuota,
        8 => Trouble::SetQuota,
        9 => Trouble::Webhook,
        10 => Trouble::NodeLoss(u8::try_from(dice.below(3)).unwrap_or(0)),
        11 => Trouble::SlowSets,
        12 | 13 => Trouble::Twin,
        14 => Trouble::Down,
        _ => Trouble::TimeTravel(dice.one_of(&[1, 10, 60], 10)),
    }
}
