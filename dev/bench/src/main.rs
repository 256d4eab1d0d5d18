//! `rollwright-bench`: the operator beside Kubernetes' own deployment controller, in turns, each round on a
//! fresh control plane with the same ReplicaSet controller and the same fake kubelet.

mod calm;
mod completion;
mod csv;
mod failure;
mod figure;
mod fleet;
mod found;
mod ground;
mod growth;
mod idle;
mod lag;
mod large;
mod machine;
mod manifest;
mod news;
mod played;
mod report;
mod round;
mod scenario;
mod side;
mod surcharge;
mod target;
mod traffic;
mod trouble;
mod usage;

use std::error::Error as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};

use crate::csv::Csv;
use crate::failure::Failure;
use crate::large::{Large, Sizes};
use crate::news::News;
use crate::played::Played;
use crate::scenario::Scenario;
use crate::side::Side;

/// Measures Rollwright beside Kubernetes' own deployment controller.
#[derive(Parser)]
#[command(name = "rollwright-bench", version)]
struct Arguments {
    /// How much: four minutes, an hour, or most of a day.
    #[arg(long, value_enum, default_value = "standard")]
    amount: Amount,
    /// Only the scenarios of these names, such as `500x2-8s`, `news`, `surcharge` and `idle`.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// How often each side plays each scenario; the default follows from the amount.
    #[arg(long)]
    rounds: Option<usize>,
    /// Only these sides.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Side::ALL)]
    sides: Vec<Side>,
    /// How many Deployments are idle, and grow, one after the other; the default follows from the amount.
    #[arg(long, value_name = "DEPLOYMENTS", value_delimiter = ',', value_parser = at_least_one())]
    sizes: Vec<usize>,
    /// Add all figures to a file in this directory too, named by the date.
    #[arg(long, value_name = "DIRECTORY")]
    csv: Option<PathBuf>,
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
    fn scenarios(self) -> Vec<Scenario> {
        match self {
            Self::Quick => scenario::quick(),
            Self::Standard => scenario::standard(),
            Self::Full => scenario::full(),
        }
    }

    fn sizes(self) -> Sizes<'static> {
        match self {
            Self::Quick | Self::Standard => large::NONE,
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
    let mut csv = arguments.csv.as_deref().map(Csv::open).transpose()?.unwrap_or_default();
    let mut played = Vec::new();
    for scenario in arguments.amount.scenarios().into_iter().filter(|scenario| wanted(&scenario.name())) {
        let scenario = Scenario { rounds: arguments.rounds.unwrap_or(scenario.rounds), ..scenario };
        played.push(Played::play(&operator, scenario, &arguments.sides, &mut csv).await?);
    }
    // Neither fits into four minutes, so there they have to be named.
    let extra = |name: &str| {
        wanted(name) && (!arguments.only.is_empty() || !matches!(arguments.amount, Amount::Quick))
    };
    let mut news = None;
    if extra(news::NAME) {
        let rounds = arguments.rounds.unwrap_or(news::ROUNDS);
        news = Some(News::measure(&operator, rounds, &arguments.sides, &mut csv).await?);
    }
    let surcharge = if extra(surcharge::NAME) { surcharge::measure().await? } else { String::new() };
    let sizes = match arguments.sizes.as_slice() {
        [] => arguments.amount.sizes(),
        sizes => Sizes { idle: sizes, growth: sizes },
    };
    let large = Large::measure(&operator, sizes, &arguments.sides, wanted, &mut csv).await?;
    let mut verdicts = target::judge(&played, news.as_ref());
    verdicts.extend(large.verdicts());
    let mut text = format!("{}\n", report::targets(&verdicts));
    for played in &played {
        text.push_str(&format!("{}\n{}\n", report::scenario(played), report::writes(played)));
    }
    if let Some(news) = &news {
        text.push_str(&format!("{}\n", news.report()));
    }
    text.push_str(&surcharge);
    text.push_str(&large.report());
    let text = format!("{}\n\n{}\n", machine::describe(&load, started.elapsed()), text.trim_end());
    Ok(text)
}
