//! The simulator's command line.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;
use sim::coverage::{OFTEN, PREMISES, PREMISES_OF, RECORDED, RECORDED_ONCE_IN, WANTED};
use sim::tenant::pair;
use sim::{Coverage, Report, Settings};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Plays rollouts in an in-memory cluster, with faults, and checks every write.
#[derive(Debug, Parser)]
struct Arguments {
    /// Rollouts to play.
    #[arg(long, default_value_t = 200_000)]
    rollouts: u64,
    /// Threads to play them on.
    #[arg(long, default_value_t = 2)]
    threads: u64,
    /// The seed to begin with.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Plays this seed only, and prints its last events.
    #[arg(long)]
    seed: Option<u64>,
    /// Plays this many seeds twice and compares.
    #[arg(long)]
    determinism: Option<u64>,
    /// Plain rollouts of ten pods without faults, to measure speed.
    #[arg(long)]
    plain: bool,
    /// One Deployment a seed, and an operator without slots, cooldowns and competing controllers.
    #[arg(long)]
    alone: bool,
    /// All Deployments of rollwright.dev have gates and hooks.
    #[arg(long)]
    gates: bool,
    /// Lets the operator die around every write of a few scenarios.
    #[arg(long)]
    crash_matrix: bool,
    /// Plays this many seeds with a hostile tenant and without it, and compares.
    #[arg(long)]
    tenant: Option<u64>,
    /// Makes a failing scenario small, and prints it.
    #[arg(long)]
    shrink: bool,
}

impl Arguments {
    fn settings(&self) -> Settings {
        Settings { plain: self.plain, alone: self.alone, gated: self.gates, ..Settings::default() }
    }

    /// Whether everything that should happen can.
    fn is_whole(&self) -> bool {
        !self.plain && !self.alone && !self.gates
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match (arguments.seed, arguments.determinism) {
        (Some(seed), _) => replay(seed, &arguments),
        (None, Some(count)) => compare(count, &arguments),
        (None, None) if arguments.crash_matrix => matrix(),
        (None, None) => match arguments.tenant {
            Some(count) => tenant(count, &arguments),
            None => campaign(&arguments),
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody listens any more.
            _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn replay(seed: u64, arguments: &Arguments) -> std::io::Result<bool> {
    let mut out = std::io::stdout().lock();
    let mut scenario = sim::scenario(seed, &arguments.settings());
    if arguments.shrink
        && let Some(violation) = sim::play(&scenario, &Settings::default()).violation
    {
        scenario = sim::shrink::shrink(&scenario, violation.check);
        writeln!(out, "{}", serde_json::to_string(&scenario).unwrap_or_default())?;
    }
    let report = sim::play(&scenario, &Settings { verbose: true, ..Settings::default() });
    writeln!(out, "{scenario:#?}")?;
    for line in &report.lines {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "hash {:016x}, {:?}", report.hash, report.counts)?;
    match &report.violation {
        Some(violation) => writeln!(out, "{}: {}", violation.check, violation.text)?,
        None => writeln!(out, "ok")?,
    }
    Ok(report.violation.is_none())
}

fn compare(count: u64, arguments: &Arguments) -> std::io::Result<bool> {
    let settings = arguments.settings();
    let seeds = arguments.first..arguments.first + count;
    let differ = seeds.filter(|seed| sim::run(*seed, &settings).hash != sim::run(*seed, &settings).hash);
    let differ: Vec<u64> = differ.collect();
    writeln!(std::io::stdout(), "{count} seeds twice: {} differ {differ:?}", differ.len())?;
    Ok(differ.is_empty())
}

fn tenant(count: u64, arguments: &Arguments) -> std::io::Result<bool> {
    let (mut out, started) = (std::io::stdout().lock(), Instant::now());
    let sum = pair::Sum::of(arguments.first..arguments.first + count);
    for (lure, (seeds, times)) in &sum.lures {
        writeln!(out, "{seeds:>10} seeds, {times:>10} times: {lure}")?;
    }
    for (seed, difference) in &sum.differences {
        writeln!(out, "seed {seed}: {}: {difference}", pair::CHECK)?;
    }
    let (seconds, differ, missing) = (started.elapsed().as_secs_f64(), sum.differences.len(), sum.missing());
    writeln!(out, "{count} seeds in {seconds:.1} s: {differ} differ; too seldom: {missing:?}")?;
    Ok(differ == 0 && missing.is_empty())
}

fn matrix() -> std::io::Result<bool> {
    let mut out = std::io::stdout().lock();
    let (mut kills, mut records, mut failures) = (0, 0, 0);
    for row in sim::matrix::all() {
        let flavour = if row.is_apps { "apps/v1" } else { "rollwright" };
        let count = row.failures.len();
        writeln!(
            out,
            "{flavour:<11} {:<17} {:>3} writes {:>4} kills {:>4} records {count:>3} failures",
            row.name, row.writes, row.kills, row.records
        )?;
        for (nth, mode, text) in row.failures.iter().take(5) {
            writeln!(out, "    write {nth} {mode:?}: {text}")?;
        }
        kills += row.kills;
        records += row.records;
        failures += count;
    }
    writeln!(out, "{kills} kills, {records} records compared, {failures} failures")?;
    Ok(failures == 0)
}

#[derive(Default)]
struct Sum {
    rollouts: u64,
    seeds: u64,
    writes: u64,
    events: u64,
    coverage: Coverage,
    /// In how many seeds each of [`OFTEN`] happened.
    often: [u64; OFTEN.len()],
    failures: Vec<(u64, Report)>,
}

/// Failing seeds after which a run ends.
const FAILURES_MAX: usize = 20;

fn campaign(arguments: &Arguments) -> std::io::Result<bool> {
    let started = Instant::now();
    let settings = arguments.settings();
    let (next, done) = (AtomicU64::new(arguments.first), AtomicU64::new(0));
    let sum = Mutex::new(Sum::default());
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(|| work(&next, &done, arguments.rollouts, &settings, &sum));
        }
    });
    let mut sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.failures.sort_by_key(|(seed, _)| *seed);
    print(&sum, arguments, started.elapsed().as_secs_f64())
}

fn work(next: &AtomicU64, done: &AtomicU64, wanted: u64, settings: &Settings, sum: &Mutex<Sum>) {
    let mut own = Sum::default();
    while done.load(Ordering::Relaxed) < wanted && own.failures.len() < FAILURES_MAX {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let report = sim::run(seed, settings);
        done.fetch_add(report.rollouts, Ordering::Relaxed);
        own.rollouts += report.rollouts;
        own.seeds += 1;
        own.writes += report.counts.writes;
        own.events += report.counts.events;
        own.coverage.merge(&report.coverage);
        for (count, name) in own.often.iter_mut().zip(OFTEN) {
            *count += u64::from(report.coverage.count(name) > 0);
        }
        if report.violation.is_some() {
            own.failures.push((seed, report));
        }
    }
    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
    sum.rollouts += own.rollouts;
    sum.seeds += own.seeds;
    sum.writes += own.writes;
    sum.events += own.events;
    sum.coverage.merge(&own.coverage);
    for (count, own) in sum.often.iter_mut().zip(own.often) {
        *count += own;
    }
    sum.failures.extend(own.failures);
}

fn print(sum: &Sum, arguments: &Arguments, seconds: f64) -> std::io::Result<bool> {
    let mut out = std::io::stdout().lock();
    for (name, count) in sum.coverage.iter() {
        writeln!(out, "{count:>10}  {name}")?;
    }
    for (count, name) in sum.often.iter().zip(OFTEN) {
        writeln!(out, "{count:>10}  seeds of {} with: {name}", sum.seeds)?;
    }
    let seldom = sum.often.iter().zip(OFTEN).filter(|(count, _)| **count * 100 < sum.seeds);
    let seldom: Vec<_> = seldom.map(|(_, name)| name).collect();
    let missing: Vec<_> = WANTED.iter().filter(|name| sum.coverage.count(name) == 0).collect();
    let rare = RECORDED.iter().filter(|name| sum.coverage.count(name) * RECORDED_ONCE_IN < sum.rollouts);
    let rare: Vec<_> = rare.collect();
    let is_few = |(name, least): &&(&str, u64)| sum.coverage.count(name) < least * sum.rollouts / PREMISES_OF;
    let few: Vec<_> = PREMISES.iter().filter(is_few).collect();
    for (seed, report) in &sum.failures {
        if let Some(violation) = &report.violation {
            writeln!(out, "seed {seed}: {}: {}", violation.check, violation.text)?;
        }
    }
    let Sum { rollouts, seeds, writes, events, .. } = sum;
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let rate = *rollouts as f64 / seconds;
    writeln!(
        out,
        "{rollouts} rollouts of {seeds} seeds in {seconds:.1} s ({rate:.0} a second on {} threads), {writes} writes \
         checked, {events} events, {} failures",
        arguments.threads,
        sum.failures.len()
    )?;
    if arguments.is_whole() && !missing.is_empty() {
        writeln!(out, "never happened: {missing:?}")?;
    }
    if arguments.is_whole() && !seldom.is_empty() {
        writeln!(out, "in less than one seed of a hundred: {seldom:?}")?;
    }
    if arguments.is_whole() && !rare.is_empty() {
        writeln!(out, "less than once in {RECORDED_ONCE_IN} rollouts: {rare:?}")?;
    }
    if arguments.is_whole() && !few.is_empty() {
        writeln!(out, "below the minimum for {PREMISES_OF} rollouts: {few:?}")?;
    }
    let happened = missing.is_empty() && seldom.is_empty() && rare.is_empty() && few.is_empty();
    Ok(sum.failures.is_empty() && (!arguments.is_whole() || happened))
}
