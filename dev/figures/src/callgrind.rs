//! Instructions per plan, counted by valgrind: no machine that CI runs on gives access to its processor's counters.

use std::path::Path;
use std::process::Command;

use crate::Failure;
use crate::record::Figures;
use crate::snapshots::Case;

/// Two runs that differ by as many plans, so that starting does not count.
const FEW: u32 = 100;
const MANY: u32 = 600;

/// For all cases. `program` is one that makes plans when it is called with `plan CASE TIMES`; `directory`
/// is for what valgrind writes.
///
/// # Errors
/// If valgrind fails.
pub fn measure(program: &Path, directory: &Path) -> Result<Figures, Failure> {
    let each = Case::ALL.iter().map(|case| {
        let instructions = |times| count(program, directory, case.name, times);
        let plans = f64::from(MANY - FEW);
        Ok((
            format!("instructions per plan, {}", case.about),
            (instructions(MANY)? - instructions(FEW)?) / plans,
        ))
    });
    each.collect()
}

fn count(program: &Path, directory: &Path, case: &str, times: u32) -> Result<f64, Failure> {
    let failed = |what: &str| Failure::Program(format!("valgrind, counting {times} plans {case}: {what}"));
    let out = directory.join(format!("callgrind.{case}.{times}"));
    std::fs::create_dir_all(directory).map_err(|error| failed(&error.to_string()))?;
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&out);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--quiet"]).arg(option);
    valgrind.arg(program).args(["plan", case, &times.to_string()]);
    let output = valgrind.output().map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    let text = std::fs::read_to_string(&out).map_err(|error| failed(&error.to_string()))?;
    total(&text).ok_or_else(|| failed("no total in what it wrote"))
}

/// The line `totals:` of what callgrind writes.
fn total(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_total() {
        assert_eq!(total("events: Ir\nfn=(1)\n0 12\ntotals: 4711\n"), Some(4711.0));
        assert_eq!(total("events: Ir\n"), None);
    }
}
