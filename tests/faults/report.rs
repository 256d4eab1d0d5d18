//! The table of faults in `docs/internals/reliability.md`.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::failure::{Failure, Outcome};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/internals/reliability.md");
const BEGIN: &str = "<!-- faults: written by `UPDATE=1 make fault-proxy` -->";
const END: &str = "<!-- end of faults -->";

/// What was measured of one fault.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// What was done.
    pub(crate) fault: String,
    /// To which requests or processes.
    pub(crate) place: String,
    /// How often.
    pub(crate) injected: u32,
    /// From its end until all was as asked.
    pub(crate) recovery: Duration,
    /// What was demanded.
    pub(crate) bound: Duration,
    /// Requests that changed or would have changed something, events aside.
    pub(crate) writes: usize,
}

/// All that was measured.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// With the place of its scenario among all.
    pub(crate) rows: Vec<(usize, Row)>,
    /// The same.
    pub(crate) notes: Vec<(usize, String)>,
}

impl Row {
    /// The same fault once more; the slower one counts.
    pub(crate) fn and(self, other: &Self) -> Self {
        Self {
            injected: self.injected + other.injected,
            recovery: self.recovery.max(other.recovery),
            writes: self.writes.max(other.writes),
            ..self
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, place, injected, recovery, bound, writes } = self;
        let (recovery, bound) = (recovery.as_secs_f64(), bound.as_secs());
        write!(formatter, "| {fault} | {place} | {injected} | {recovery:.1} | {bound} | {writes} |")
    }
}

/// Prints the table, and writes it into the document if that is wanted and all is in it.
pub(crate) fn publish(Findings { rows, notes }: &Findings, is_whole: bool) -> Outcome {
    if rows.is_empty() || std::env::var("UPDATE").as_deref() != Ok("1") {
        return Ok(());
    }
    if !is_whole {
        println!("docs/internals/reliability.md stays as it is: not all scenarios ran and passed");
        return Ok(());
    }
    let path = Path::new(DOCUMENT);
    let text = fs::read_to_string(path)?;
    let (before, rest) = text.split_once(BEGIN).ok_or_else(|| Failure::new(format!("no {BEGIN}")))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| Failure::new(format!("no {END}")))?;
    let (table, notes) = (table(&in_order(rows)), in_order(notes).join("\n- "));
    fs::write(path, format!("{before}{BEGIN}\n{table}\n\n- {notes}\n{END}{after}"))?;
    Ok(())
}

fn in_order<T: Clone>(found: &[(usize, T)]) -> Vec<T> {
    let mut found = found.to_vec();
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, found)| found).collect()
}

fn table(rows: &[Row]) -> String {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let injected: u32 = rows.iter().map(|row| row.injected).sum();
    let lines: Vec<String> = rows.iter().map(ToString::to_string).collect();
    format!(
        "Measured {} on {} cores; {injected} faults in {} rows, all passed.\n\n\
         | fault | where | injected | recovered after (s) | bound (s) | writes |\n\
         |---|---|---|---|---|---|\n{}",
        now.strftime("%Y-%m-%d"),
        std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        rows.len(),
        lines.join("\n"),
    )
}
