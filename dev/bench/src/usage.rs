//! What a process has cost, as Linux counts it.

use std::fs;
use std::time::Duration;

use crate::failure::Failure;

/// Processor time and memory of one process up to now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// In user and kernel mode, all threads.
    pub(crate) cpu: Duration,
    /// Resident bytes now.
    pub(crate) resident: u64,
    /// The most that ever was resident, in bytes.
    pub(crate) peak: u64,
}

/// Reads the kernel's figures of a process.
///
/// # Errors
/// If it is gone.
pub(crate) fn of(pid: u32) -> Result<Usage, Failure> {
    let read = |file: &str| {
        let path = format!("/proc/{pid}/{file}");
        fs::read_to_string(&path).map_err(Failure::io(format!("reading {path}")))
    };
    let status = read("status")?;
    Ok(Usage {
        cpu: cpu(&read("stat")?),
        resident: memory(&status, "VmRSS:"),
        peak: memory(&status, "VmHWM:"),
    })
}

/// The 14th and 15th field, in clock ticks; the second is a name that may hold blanks.
fn cpu(stat: &str) -> Duration {
    let fields = stat.rsplit_once(')').map_or(stat, |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1))
}

fn memory(status: &str, field: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_our_own() {
        let usage = of(std::process::id()).unwrap();
        assert!(usage.peak > 0);
        assert_eq!(memory("VmHWM:\t  12 kB\nVmRSS:\t  10 kB\n", "VmRSS:"), 10 * 1024);
        assert_eq!(cpu("1 (a b) c) S 1 1 1 0 -1 0 1 2 3 4 150 50 9 9"), Duration::from_secs(2));
    }
}
