//! `rollwright-bench`: the operator beside Kubernetes' own deployment controller, on one API server
//! with the same ReplicaSet controller and the same fake kubelet, in turns.

mod calm;
mod completion;
mod failure;
mod figure;
mod fleet;
mod found;
mod ground;
mod growth;
mod idle;
mod large;
mod machine;
mod manifest;
mod played;
mod report;
mod round;
mod scenario;
mod side;
mod target;
mod traffic;
mod usage;

use std::error::Error as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};

use crate::failure::Failure;
use crate::large::{Large, Sizes};
use crate::played::Played;
use crate::scenario::Scenario;
use crate::side::Side;

/// Measures Rollwright beside Kubernetes' own deployment controller.
#[derive(Parser)]
#[command(name = "rollwright-bench", version)]
struct Arguments {
    /// How much: three minutes, fifteen, or hours.
    #[arg(long, value_enum, default_value = "standard")]
    amount: Amount,
    /// Only the scenarios of these names.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How often each side plays each scenario, instead of what the amount says.
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these sides.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Side::ALL)]
    sides: Vec<Side>,
    /// How many Deployments are at rest, and grow, one after the other, instead of what the amount says.
    #[arg(long, value_name = "DEPLOYMENTS", value_delimiter = ',', value_parser = at_least_one())]
    sizes: Vec<usize>,
    /// Write the tables into this file too, between its marks.
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,
    /// The operator, a release build.
    #[arg(long, value_name = "FILE")]
    operator: PathBuf,
}

fn at_least_one() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Amount {
    Quick,
    Standard,
    Full,
}

impl Amount {
    fn scenarios(self) -> &'static [Scenario] {
        match self {
            Self::Quick => &scenario::QUICK,
            Self::Standard => &scenario::STANDARD,
            Self::Full => &scenario::FULL,
        }
    }

    fn sizes(self) -> Sizes<'static> {
        match self {
            Self::Quick => large::QUICK,
            Self::Standard => large::STANDARD,
            Self::Full => large::FULL,
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    tracing_subscriber::fmt().with_env_filter("error,kube_client=off").with_writer(std::io::stderr).init();
    match run(&Arguments::parse()).await {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<String, Failure> {
    let (started, load) = (Instant::now(), machine::load());
    let wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let operator = arguments.operator.canonicalize();
    let operator =
        operator.map_err(Failure::io(format!("finding the operator, {}", arguments.operator.display())))?;
    let cluster = ground::start().await?;
    let mut played = Vec::new();
    for scenario in arguments.amount.scenarios().iter().filter(|scenario| wanted(scenario.name)) {
        let rounds = arguments.rounds.unwrap_or(scenario.rounds);
        let scenario = Scenario { rounds, ..*scenario };
        played.push(Played::play(&cluster, &operator, scenario, &arguments.sides).await?);
    }
    ground::end(cluster).await?;
    let sizes = match arguments.sizes.as_slice() {
        [] => arguments.amount.sizes(),
        sizes => Sizes { idle: sizes, growth: sizes },
    };
    let large = Large::measure(&operator, sizes, &arguments.sides, wanted).await?;
    let mut verdicts = target::judge(&played);
    verdicts.extend(large.verdicts());
    let mut text = format!("{}\n", report::targets(&verdicts));
    for played in &played {
        text.push_str(&format!("{}\n", report::scenario(played)));
        if played.scenario.name == scenario::FLEET.name {
            text.push_str(&format!("{}\n", report::writes(played)));
        }
    }
    text.push_str(&large.report());
    let text = format!("{}\n\n{}\n", machine::describe(&load, started.elapsed()), text.trim_end());
    if let Some(file) = &arguments.update {
        report::update(file, &text)?;
    }
    Ok(text)
}
