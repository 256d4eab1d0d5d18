//! Where and when something was measured.

use std::fs;
use std::time::Duration;

use cluster::Release;
use jiff::Timestamp;

/// The load averages of one, five and fifteen minutes.
pub(crate) fn load() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(", ")
}

/// A line for above the tables; `before` is the load at the start.
pub(crate) fn describe(before: &str, took: Duration) -> String {
    let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown", |(_, model)| model);
    let seconds = took.as_secs();
    let kubernetes = Release::selected().map_or("unknown", Release::version);
    format!(
        "{date}, Kubernetes {kubernetes}, {cores} cores ({model}) that server, kubelet and controllers share; \
         load before: {before}; {seconds} s in all."
    )
}
