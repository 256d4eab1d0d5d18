//! Tables and targets of the idle fleets and of those that grow.

use std::fmt::Write as _;
use std::path::Path;

use crate::csv::Csv;
use crate::failure::Failure;
use crate::found::{Found, Restless};
use crate::growth::{self, Growth};
use crate::idle::{self, Idle};
use crate::report::mebibytes;
use crate::side::Side;
use crate::target::{Outcome, Verdict};

/// How many Deployments, idle and growing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes<'a> {
    pub(crate) idle: &'a [usize],
    pub(crate) growth: &'a [usize],
}

/// Of runs that have other things to show.
pub(crate) const NONE: Sizes<'static> = Sizes { idle: &[], growth: &[] };
pub(crate) const FULL: Sizes<'static> = Sizes { idle: &[1_000, 5_000, 10_000], growth: &[1_000, 5_000] };

/// What a cache may need, in MiB and as a share of what Kubernetes' controller needs.
const RESIDENT_MAX: f64 = 64.0;
/// What that is about.
const RESIDENT_AMONG: usize = 10_000;
const RESIDENT_SHARE: f64 = 0.15;
/// By how much an edit may cost more, or less, among ten times as many Deployments.
const FLAT: f64 = 0.1;

/// All of it that was wanted.
#[derive(Default)]
pub(crate) struct Large {
    idle: Found<Idle>,
    growth: Found<Growth>,
}

impl Large {
    pub(crate) async fn measure(
        operator: &Path,
        sizes: Sizes<'_>,
        sides: &[Side],
        wanted: impl Fn(&str) -> bool,
        csv: &mut Csv,
    ) -> Result<Self, Failure> {
        let mut large = Self::default();
        for size in sizes.idle.iter().filter(|_| wanted("idle")) {
            let found = idle::measure(operator, *size, sides).await?;
            found.measured.iter().try_for_each(|idle| idle.write(csv))?;
            large.idle.append(found);
        }
        for size in sizes.growth.iter().filter(|_| wanted("growth")) {
            let found = growth::measure(operator, *size, sides).await?;
            found.measured.iter().try_for_each(|growth| growth.write(csv))?;
            large.growth.append(found);
        }
        Ok(large)
    }

    /// The targets, among the most Deployments that there were.
    pub(crate) fn verdicts(&self) -> Vec<Verdict> {
        let Some(most) = self.idle.measured.iter().map(|idle| idle.deployments).max() else {
            return Vec::new();
        };
        let verdict = |what: &str, target: &str, judge: &dyn Fn(&Idle) -> Option<(bool, String)>| {
            let outcome = |side| {
                let measured = self.at(side, most).and_then(judge);
                match measured {
                    Some((true, text)) => Outcome::Met(text),
                    Some((false, text)) => Outcome::NotMet(text),
                    None => Outcome::NotMeasured,
                }
            };
            let results = [Side::OurKind, Side::AppsV1].map(outcome);
            Verdict { what: what.to_owned(), target: target.to_owned(), results }
        };
        let upstream = self.at(Side::Upstream, most).map(|idle| mebibytes(idle.started.peak));
        let resident = |idle: &Idle| {
            let resident = mebibytes(idle.started.peak);
            // Fewer Deployments can only show that it is missed.
            let is_judged = most >= RESIDENT_AMONG || resident > RESIDENT_MAX;
            is_judged.then(|| (resident <= RESIDENT_MAX, format!("{resident:.1} MiB")))
        };
        let share = |idle: &Idle| {
            let share = mebibytes(idle.started.peak) / upstream?;
            Some((share <= RESIDENT_SHARE, format!("{share:.3} ×")))
        };
        let requests = |idle: &Idle| {
            let (writes, reads) = (idle.quiet_writes, idle.quiet_reads);
            Some((writes + reads == 0, format!("{writes} writes, {reads} reads")))
        };
        let growth = |idle: &Idle| {
            let is_counted = |other: &&Idle| other.side == idle.side && !other.cpu_per_edit.is_zero();
            let least = self.idle.measured.iter().filter(is_counted);
            let least =
                least.min_by_key(|other| other.deployments).filter(|other| other.deployments < most)?;
            let ratio = idle.cpu_per_edit.as_secs_f64() / least.cpu_per_edit.as_secs_f64();
            let text = format!("{ratio:.2} × of {}", least.deployments);
            Some(((ratio - 1.0).abs() <= FLAT, text))
        };
        let early = |idle: &Idle| {
            let seconds = idle.edited_early.as_secs_f64();
            Some((seconds <= 5.0, format!("{seconds:.1} s")))
        };
        vec![
            verdict(&format!("an edit during the start, {most} idle Deployments"), "≤ 5 s", &early),
            verdict(&format!("memory at most, {most} idle Deployments"), "≤ 64 MiB with 10,000", &resident),
            verdict("the same, against Kubernetes", "≤ 0.15 ×", &share),
            verdict("requests while idle, watches and lease aside", "0", &requests),
            verdict("CPU per edit as the namespace grows", "± 10 %", &growth),
        ]
    }

    fn at(&self, side: Side, deployments: usize) -> Option<&Idle> {
        self.idle.measured.iter().find(|idle| idle.side == side && idle.deployments == deployments)
    }

    /// Everything that was measured.
    pub(crate) fn report(&self) -> String {
        let mut text = String::new();
        if !self.idle.measured.is_empty() {
            let _ = write!(
                text,
                "### `idle`\n\nDeployments without pods, each with 5 old revisions, all templates of 5 KiB; then 200 of \
                 them get a new one.\n\n\
                 | | Deployments | start-up (s) | an edit during it (s) | CPU of it (s) | writes of it | \
                 most memory (MiB) | idle (MiB) | writes and reads in {rest} s | CPU in {rest} s (ms) | CPU per edit (ms) | requests per edit |\n\
                 |---|---|---|---|---|---|---|---|---|---|---|---|\n",
                rest = idle::QUIET.as_secs(),
            );
        }
        for idle in &self.idle.measured {
            let _ = writeln!(
                text,
                "| {} | {} | {:.1} | {:.1} | {:.2} | {} | {:.1} | {:.1} | {} and {} | {} | {:.2} | {:.2} |",
                idle.side.name(),
                idle.deployments,
                idle.start_up.as_secs_f64(),
                idle.edited_early.as_secs_f64(),
                idle.started.cpu.as_secs_f64(),
                idle.start_up_writes,
                mebibytes(idle.started.peak),
                mebibytes(idle.quiet.resident),
                idle.quiet_writes,
                idle.quiet_reads,
                idle.quiet.cpu.saturating_sub(idle.started.cpu).as_millis(),
                idle.cpu_per_edit.as_secs_f64() * 1000.0,
                idle.requests_per_edit,
            );
        }
        text.push_str(&restless(&self.idle.restless));
        if !self.growth.measured.is_empty() {
            text.push_str(
                "\n### growth\n\nAll Deployments of one namespace, without pods, get a new template at once, five \
                 times: seconds, and seconds of CPU.\n\n\
                 | | Deployments | 1 old revision | 2 | 3 | 4 | 5 | most memory (MiB) |\n\
                 |---|---|---|---|---|---|---|---|\n",
            );
        }
        for growth in &self.growth.measured {
            let rolls = growth
                .rolls
                .iter()
                .map(|roll| format!("{:.1} ({:.1})", roll.time.as_secs_f64(), roll.cpu.as_secs_f64()));
            let rolls = rolls.collect::<Vec<_>>().join(" | ");
            let (side, most) = (growth.side.name(), mebibytes(growth.usage.peak));
            let _ = writeln!(text, "| {side} | {} | {rolls} | {most:.1} |", growth.deployments);
        }
        text.push_str(&restless(&self.growth.restless));
        text
    }
}

/// Who has no line in the table above, and why.
fn restless(restless: &[Restless]) -> String {
    let line = |one: &Restless| {
        format!(
            "\n{} did not come to rest among {} Deployments within {} s; it held {:.1} MiB then.\n",
            one.side.name(),
            one.deployments,
            one.after.as_secs(),
            mebibytes(one.resident),
        )
    };
    restless.iter().map(line).collect()
}
