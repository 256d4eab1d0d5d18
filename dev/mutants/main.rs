//! Bugs of the past, put in again one at a time: for each, seeds are played until a check finds it.
//!
//! A seed counts only if the same scenario is clean without the bug. The table goes to standard
//! output as Markdown; the end is a failure if a bug was not found in time. docs/internals/mutants.md has
//! the last results.

use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Parser;
use plan::bug::{self, Bug};
use sim::tenant::pair;
use sim::{Scenario, Settings};

/// Restores bugs of the past, and prints which check finds each.
#[derive(Debug, Parser)]
struct Arguments {
    /// Seconds that the search for one bug may take.
    #[arg(long, default_value_t = 180)]
    seconds: u64,
    /// Threads that search.
    #[arg(long, default_value_t = 2)]
    threads: u64,
    /// The seed to begin with.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Only bugs with a name that contains this.
    #[arg(long)]
    only: Option<String>,
    /// Plays this seed only, with each bug and without one, and prints the last events.
    #[arg(long)]
    seed: Option<u64>,
}

/// What found a bug.
struct Find {
    seed: u64,
    check: String,
    text: String,
}

/// What a search came to.
struct Search {
    find: Option<Find>,
    seconds: f64,
    rollouts: u64,
}

fn main() -> ExitCode {
    // A panic is one of the ways in which a bug shows.
    std::panic::set_hook(Box::new(|_| {}));
    match check_all(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody listens any more.
            _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn check_all(arguments: &Arguments) -> std::io::Result<bool> {
    let mut out = std::io::stdout().lock();
    let is_wanted =
        |bug: &&Bug| arguments.only.as_ref().is_none_or(|only| bug.name().contains(only.as_str()));
    let bugs: Vec<Bug> = Bug::ALL.iter().filter(is_wanted).copied().collect();
    if let Some(seed) = arguments.seed {
        return show(&bugs, seed, &mut out);
    }
    writeln!(out, "| bug | had by | found by | seed | seconds | rollouts | as |")?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    let mut missed = Vec::new();
    for bug in &bugs {
        let Search { find, seconds, rollouts } = search(*bug, arguments);
        let (name, source) = (bug.name(), bug.source());
        match find {
            Some(Find { seed, check, text }) => {
                let text = text.replace('|', "/").replace('\n', " ");
                writeln!(
                    out,
                    "| {name} | {source} | {check} | {seed} | {seconds:.1} | {rollouts} | {text} |"
                )?;
            }
            None => {
                missed.push(name);
                writeln!(out, "| {name} | {source} | **nothing** | | {seconds:.1} | {rollouts} | |")?;
            }
        }
        out.flush()?;
    }
    writeln!(out, "\n{} of {} bugs found", bugs.len() - missed.len(), bugs.len())?;
    if !missed.is_empty() {
        writeln!(out, "not found: {}", missed.join(", "))?;
    }
    Ok(missed.is_empty() && !bugs.is_empty())
}

fn search(bug: Bug, arguments: &Arguments) -> Search {
    let started = Instant::now();
    let deadline = started + Duration::from_secs(arguments.seconds);
    let (next, rollouts) = (AtomicU64::new(arguments.first), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    let found = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..arguments.threads.max(1) {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) && Instant::now() < deadline {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let Some(find) = try_seed(bug, seed, &rollouts) else { continue };
                    is_over.store(true, Ordering::Relaxed);
                    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                    if found.as_ref().is_none_or(|known: &Find| known.seed > find.seed) {
                        *found = Some(find);
                    }
                }
            });
        }
    });
    let find = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    Search { find, seconds: started.elapsed().as_secs_f64(), rollouts: rollouts.into_inner() }
}

/// Prints what happens in the scenario of a seed, with each of the bugs and without one.
fn show(bugs: &[Bug], seed: u64, out: &mut impl std::io::Write) -> std::io::Result<bool> {
    let scenario = scenario(seed);
    writeln!(out, "{scenario:#?}")?;
    for bug in bugs.iter().copied().map(Some).chain([None]) {
        bug::inject(bug);
        let report = sim::play(&scenario, &Settings { verbose: true, ..Settings::default() });
        bug::inject(None);
        writeln!(out, "with {}:", bug.map_or("no bug", Bug::name))?;
        for line in &report.lines {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{:?}", report.violation)?;
    }
    Ok(true)
}

/// Of four scenarios one has a theme, and two have slots, cooldowns and competing controllers, as `make sim` plays
/// them.
fn scenario(seed: u64) -> Scenario {
    match seed % 4 {
        0 => Scenario::of(seed),
        1 => Scenario::themed(seed),
        _ => Scenario::drawn(seed),
    }
}

/// What finds the bug in the scenario of a seed, if that scenario is clean without it.
fn try_seed(bug: Bug, seed: u64, rollouts: &AtomicU64) -> Option<Find> {
    let (check, text) = play(Some(bug), seed, rollouts)?;
    play(None, seed, rollouts).is_none().then_some(Find { seed, check, text })
}

/// Plays the scenario of a seed; the check that failed, and its words.
fn play(bug: Option<Bug>, seed: u64, rollouts: &AtomicU64) -> Option<(String, String)> {
    bug::inject(bug);
    let scenario = scenario(seed);
    let played = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let report = sim::play(&scenario, &Settings::default());
        let found = report.violation.map(|violation| (violation.check.to_owned(), violation.text));
        // One seed of ten is played beside a hostile tenant, too.
        let beside = || pair::play(seed).difference.map(|text| (pair::CHECK.to_owned(), text));
        (report.rollouts, found.or_else(|| if seed % 10 == 9 { beside() } else { None }))
    }));
    bug::inject(None);
    match played {
        Ok((played, found)) => {
            rollouts.fetch_add(played, Ordering::Relaxed);
            found
        }
        Err(payload) => {
            let text = payload.downcast_ref::<String>().cloned();
            let text = text.or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Some(("panic".to_owned(), text.unwrap_or_default()))
        }
    }
}
