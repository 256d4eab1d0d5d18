//! The table of faults, `docs/internals/faults.tsv`.

use std::fmt;
use std::fs;
use std::time::Duration;

use crate::failure::Outcome;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/internals/faults.tsv");

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

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { fault, place, injected, recovery, bound, writes } = self;
        let (recovery, bound) = (recovery.as_secs_f64(), bound.as_secs());
        write!(formatter, "{fault}\t{place}\t{injected}\t{recovery:.1}\t{bound}\t{writes}")
    }
}

/// Writes the table, if that is wanted and all is in it.
pub(crate) fn publish(Findings { rows, notes }: &Findings, is_whole: bool) -> Outcome {
    if rows.is_empty() || std::env::var("UPDATE").as_deref() != Ok("1") {
        return Ok(());
    }
    if !is_whole {
        println!("docs/internals/faults.tsv stays as it is: not all scenarios ran and passed");
        return Ok(());
    }
    let notes = in_order(notes).into_iter().map(|note| format!("# {note}\n"));
    fs::write(TABLE, table(&in_order(rows)) + &notes.collect::<String>())?;
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
        "# Measured {} on {} cores; {injected} faults in {} rows, all passed.\n\
         fault\twhere\tinjected\trecovered after (s)\tbound (s)\twrites\n{}\n",
        now.strftime("%Y-%m-%d"),
        std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        rows.len(),
        lines.join("\n"),
    )
}
