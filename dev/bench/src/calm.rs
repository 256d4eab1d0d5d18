//! Waiting until a controller has nothing to do any more.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use cluster::Cluster;

use crate::failure::Failure;
use crate::side::Side;
use crate::usage;

const LOOK: Duration = Duration::from_millis(500);
/// This much in one look is work. One that works without asking for anything takes a core; an idle one keeps its
/// clocks. Kubernetes' took 35 ms of a look, for minutes and without a request, when it had made the ReplicaSets of
/// 5,000 Deployments.
const WORK: Duration = Duration::from_millis(150);
/// Calm for this many looks in a row.
const CALM: u32 = 8;
const DEADLINE: Duration = Duration::from_secs(1800);

/// Waits until the controller with this pid has neither worked nor asked for anything for four
/// seconds, watches and its lease aside. Returns how long it was at work; `Failure::Restless` after
/// half an hour.
pub(crate) async fn calm(cluster: &Cluster, side: Side, pid: u32) -> Result<Duration, Failure> {
    let started = Instant::now();
    let (mut before, mut looks, mut at_work) = (usage::of(pid)?.cpu, 0, Duration::ZERO);
    let log = cluster.audit_log();
    let mut read = log.metadata().map_or(0, |data| data.len());
    while looks < CALM {
        if started.elapsed() > DEADLINE {
            return Err(Failure::Restless { after: DEADLINE, resident: usage::of(pid)?.resident });
        }
        tokio::time::sleep(LOOK).await;
        let cpu = usage::of(pid)?.cpu;
        if cpu.saturating_sub(before) > WORK || has_asked(&log, side, &mut read)? {
            (looks, at_work) = (0, started.elapsed());
        } else {
            looks += 1;
        }
        before = cpu;
    }
    Ok(at_work)
}

/// Whether the audit log has requests of this side behind the first `read` bytes.
fn has_asked(log: &Path, side: Side, read: &mut u64) -> Result<bool, Failure> {
    let reading = || Failure::io(format!("reading {}", log.display()));
    let mut file = File::open(log).map_err(reading())?;
    file.seek(SeekFrom::Start(*read)).map_err(reading())?;
    let user = format!("\"username\":\"{}\"", side.user());
    let (mut lines, mut line, mut has_asked) = (BufReader::new(file), String::new(), false);
    loop {
        line.clear();
        let length = lines.read_line(&mut line).map_err(reading())?;
        // The last line may be half written still.
        if !line.ends_with('\n') {
            return Ok(has_asked);
        }
        *read += length as u64;
        let is_quiet = line.contains(r#""verb":"watch""#) || line.contains(r#""resource":"leases""#);
        has_asked |= line.contains(&user) && !is_quiet;
    }
}
