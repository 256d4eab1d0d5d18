//! `rollwright-bench`: the operator beside Kubernetes' own deployment controller, in turns, each round on a
//! fresh control plane with the same ReplicaSet controller and the same fake kubelet.

mod calm;
mod failure;
mod figure;
mod fleet;
mod ground;
mod idle;
mod lag;
mod machine;
mod news;
mod report;
mod rollouts;
mod scenario;
mod side;
mod stage;
mod surcharge;
mod target;
mod traffic;
mod usage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, ValueEnum};

use crate::failure::Failure;
use crate::figure::Figure;
use crate::report::Csv;
use crate::scenario::{MORE, QUICK, STANDARD, Scenario};
use crate::side::Side;

/// Measures Rollwright beside Kubernetes' own deployment controller.
#[derive(Parser)]
#[command(name = "rollwright-bench", version)]
struct Arguments {
    /// How much: five minutes, an hour, or some hours.
    #[arg(long, value_enum, default_value = "standard")]
    amount: Amount,
    /// These scenarios instead: `news`, `surcharge`, and any number in the names of others, such as `500x2-8s`,
    /// `idle-10000`, and `growth-5000`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<Scenario>,
    /// How often each side plays each scenario; the default follows from the amount and the scenario.
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these sides.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Side::ALL)]
    sides: Vec<Side>,
    /// Add all figures to a file in this directory too, named by the date.
    #[arg(long, value_name = "DIRECTORY")]
    csv: Option<PathBuf>,
    /// The operator, a release build.
    #[arg(long, value_name = "FILE")]
    operator: PathBuf,
    /// Argo Rollouts' controller, beside its definitions: it plays the rollouts, too.
    #[arg(long, value_name = "FILE")]
    peer: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Amount {
    Quick,
    Standard,
    Full,
}

impl Amount {
    fn scenarios(self) -> Result<Vec<Scenario>, Failure> {
        let names = match self {
            Self::Quick => QUICK.to_vec(),
            Self::Standard => STANDARD.to_vec(),
            Self::Full => [STANDARD, MORE].concat(),
        };
        names.into_iter().map(|name| name.parse().map_err(Failure::Other)).collect()
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_env_filter("error,kube_client=off").with_writer(std::io::stderr).init();
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => cluster::report(&error),
    }
}

/// Prints the table of each scenario as soon as it is over.
async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (started, load) = (Instant::now(), machine::load());
    let operator = arguments.operator.canonicalize();
    let operator =
        operator.map_err(Failure::io(format!("finding the operator, {}", arguments.operator.display())))?;
    let mut csv = arguments.csv.as_deref().map(Csv::open).transpose()?.unwrap_or_default();
    let chosen = &arguments.only;
    for scenario in if chosen.is_empty() { arguments.amount.scenarios()? } else { chosen.clone() } {
        let usual = if arguments.amount == Amount::Quick { 1 } else { scenario.rounds() };
        let mut played = Vec::new();
        // The sides in turns: A B C A B C.
        let rounds = arguments.rounds.unwrap_or(usual);
        let sides = arguments.sides.iter().map(|side| (*side, &operator));
        let sides = sides.chain(arguments.peer.iter().map(|peer| (Side::ArgoRollouts, peer)));
        for (number, (side, program)) in
            (1..=rounds).flat_map(|number| sides.clone().map(move |side| (number, side)))
        {
            let started = Instant::now();
            let figures = play(scenario, program, side).await?;
            let seconds = started.elapsed().as_secs();
            eprintln!("{scenario}: round {number} of {rounds}, {}: {seconds} s", side.name());
            csv.add(scenario, number, side, &figures)?;
            played.push((side, figures));
        }
        println!("{}", report::table(scenario, rounds, &played));
    }
    println!("{}", machine::describe(&load, started.elapsed()));
    Ok(())
}

/// A controller that did not become idle has these figures instead: it must not cost hours of measuring the others.
async fn play(scenario: Scenario, operator: &Path, side: Side) -> Result<Vec<Figure>, Failure> {
    match scenario.play(operator, side).await {
        Err(Failure::Restless { after, resident }) => Ok(vec![
            Figure::new("", "not idle after (s)", after.as_secs_f64()),
            Figure::new("", "memory then (MiB)", figure::mebibytes(resident)),
        ]),
        figures => figures,
    }
}
