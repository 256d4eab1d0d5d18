//! Explores one world, or those that `make explore` is about.

use std::process::ExitCode;

use explore::{Breakage, Report, Scope, Search, Strategy};

const USAGE: &str = "\
Visits every state of a small Deployment, and checks each. Without flags: the worlds of `make explore`.

--replicas N     spec.replicas, and the largest number that the user asks for (3)
--templates N    how many templates the user has (2)
--surge N        maxSurge, in pods (1)
--unavailable N  maxUnavailable, in pods (0)
--recreate       Recreate instead of RollingUpdate
--history N      spec.revisionHistoryLimit (0)
--edits N        how many edits the user makes (1)
--crashes N      how often the operator crashes (0)
--scales N       how often somebody else scales a ReplicaSet (0)
--failures N     how many pods fail (0)
--pins           an edit may also pin a template's ReplicaSet
--reverts        with a failure policy; an edit may also abort the declared revision
--strict         AV-2 where a cut counts on a report of an earlier size, too
--break RULE     breaks floor, surge, pause, preconditions or ledger, to see that it is found
--states-max N   gives up after so many states (20000000)";

/// The command line.
struct Arguments {
    scope: Option<Scope>,
    states_max: usize,
}

impl Arguments {
    fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words;
        let mut arguments = Self { scope: None, states_max: 20_000_000 };
        while let Some(flag) = words.next() {
            if flag == "--states-max" {
                arguments.states_max = number(&flag, words.next())?;
                continue;
            }
            let scope = arguments.scope.get_or_insert_with(Scope::small);
            match flag.as_str() {
                "--recreate" => scope.strategy = Strategy::Recreate,
                "--pins" => scope.pins = true,
                "--reverts" => scope.reverts = true,
                "--strict" => scope.is_strict = true,
                "--break" => scope.breakage = breakage(words.next().as_deref())?,
                _ => count(scope, &flag, number(&flag, words.next())?)?,
            }
        }
        Ok(arguments)
    }
}

fn number<T: std::str::FromStr>(flag: &str, word: Option<String>) -> Result<T, String> {
    word.and_then(|word| word.parse().ok()).ok_or_else(|| format!("{flag} wants a number"))
}

fn count(scope: &mut Scope, flag: &str, value: u8) -> Result<(), String> {
    let (mut surge, mut unavailable) = match scope.strategy {
        Strategy::RollingUpdate { surge, unavailable } => (surge, unavailable),
        Strategy::Recreate => (0, 0),
    };
    let place = match flag {
        "--replicas" => &mut scope.replicas,
        "--templates" => &mut scope.templates,
        "--history" => &mut scope.history,
        "--edits" => &mut scope.edits,
        "--crashes" => &mut scope.crashes,
        "--scales" => &mut scope.scales,
        "--failures" => &mut scope.failures,
        "--surge" => &mut surge,
        "--unavailable" => &mut unavailable,
        _ => return Err(format!("{flag} is unknown")),
    };
    *place = value;
    if flag == "--surge" || flag == "--unavailable" {
        scope.strategy = Strategy::RollingUpdate { surge, unavailable };
    }
    Ok(())
}

fn breakage(word: Option<&str>) -> Result<Breakage, String> {
    Ok(match word {
        Some("floor") => Breakage::Floor,
        Some("surge") => Breakage::Surge,
        Some("pause") => Breakage::Pause,
        Some("preconditions") => Breakage::Preconditions,
        Some("ledger") => Breakage::Ledger,
        _ => return Err("--break wants floor, surge, pause, preconditions or ledger".to_owned()),
    })
}

fn explore(scope: Scope, states_max: usize) -> bool {
    let Scope {
        replicas, templates, strategy, history, edits, crashes, scales, failures, pins, reverts, ..
    } = scope;
    println!(
        "{replicas} replicas, {templates} templates, {strategy:?}, history {history}; \
         at most {edits} edits, {crashes} crashes, {scales} foreign scales, {failures} failed pods{}{}",
        if pins { ", with pins" } else { "" },
        if reverts { ", with aborts" } else { "" }
    );
    let report = Search::new(scope, states_max).run();
    print(&report);
    report.violation.is_none() && report.counts.is_complete
}

fn print(report: &Report) {
    let counts = &report.counts;
    if let Some(violation) = &report.violation {
        for line in &violation.trace {
            println!("  {line}");
        }
        println!("  VIOLATION after {} steps: {}", violation.trace.len() / 2, violation.rule);
    }
    let [accepted, conflicts, gone] = counts.writes;
    let [others, held] = counts.reverts;
    if others + held > 0 {
        println!("  first reports: {others} that another revision runs, {held} that none is good");
    }
    println!(
        "  {} states, {} steps, depth {}, {} snapshots planned, writes {accepted} accepted {conflicts} \
         conflicts {gone} taken or gone, {} cuts on old reports, way to rest {}, {:.1} s{}",
        counts.states,
        counts.steps,
        counts.depth,
        counts.views,
        counts.trusting_cuts,
        counts.to_rest,
        report.time.as_secs_f64(),
        if counts.is_complete || report.violation.is_some() { "" } else { "; NOT COMPLETE" },
    );
}

fn main() -> ExitCode {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let scopes = arguments.scope.map_or_else(Scope::all, |scope| vec![scope]);
    let mut is_clean = true;
    for scope in scopes {
        is_clean &= explore(scope, arguments.states_max);
    }
    if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
