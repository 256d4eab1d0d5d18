//! Waiting until a controller has nothing to do any more.

use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::usage;

const LOOK: Duration = Duration::from_millis(500);
/// A controller at rest keeps its clocks; this much in one look is work.
const WORK: Duration = Duration::from_millis(20);
/// Calm for so many looks in a row.
const CALM: u32 = 12;
const DEADLINE: Duration = Duration::from_secs(1800);

/// Waits until the process has been at rest for six seconds. Returns how long it was at work.
pub(crate) async fn calm(pid: u32) -> Result<Duration, Failure> {
    let started = Instant::now();
    let (mut before, mut looks, mut at_work) = (usage::of(pid)?.cpu, 0, Duration::ZERO);
    while looks < CALM {
        if started.elapsed() > DEADLINE {
            return Err(Failure::Other(format!("process {pid} does not come to rest")));
        }
        tokio::time::sleep(LOOK).await;
        let cpu = usage::of(pid)?.cpu;
        if cpu.saturating_sub(before) > WORK {
            (looks, at_work) = (0, started.elapsed());
        } else {
            looks += 1;
        }
        before = cpu;
    }
    Ok(at_work)
}
