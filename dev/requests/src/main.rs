//! The program that `dev/law` runs in both trees.

use std::io::{BufWriter, Write};
use std::num::NonZero;
use std::process::ExitCode;
use std::thread;

use requests::{Failure, Inputs};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("usage: law scenarios | law digests SCENARIOS CASES... | law show ID SCENARIOS CASES...")]
    Usage,
    #[error("there is no case {0}")]
    Unknown(String),
    #[error(transparent)]
    Input(#[from] Failure),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Output(#[from] std::io::Error),
}

fn main() -> ExitCode {
    // A panic is an outcome, and is compared.
    std::panic::set_hook(Box::new(|_| {}));
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("law: {problem}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Problem> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (verb, rest) = arguments.split_first().ok_or(Problem::Usage)?;
    match (verb.as_str(), rest) {
        ("scenarios", []) => {
            for scenario in Inputs::scenarios() {
                writeln!(out, "{}", scenario?)?;
            }
        }
        ("digests", [scenarios, cases @ ..]) => {
            let inputs = Inputs::read(scenarios, cases)?;
            for (index, digest) in digests(&inputs).iter().enumerate() {
                writeln!(out, "{} {digest:016x}", inputs.id(index))?;
            }
        }
        ("show", [id, scenarios, cases @ ..]) => show(&Inputs::read(scenarios, cases)?, id, &mut out)?,
        _ => return Err(Problem::Usage),
    }
    Ok(out.flush()?)
}

/// The digests of all inputs, made on all cores.
fn digests(inputs: &Inputs) -> Vec<u64> {
    let (threads, count) = (thread::available_parallelism().map_or(1, NonZero::get), inputs.count());
    let every_nth = |first| (first..count).step_by(threads).map(|index| inputs.digest(index)).collect();
    let every_nth = &every_nth;
    let shares: Vec<Vec<u64>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|first| scope.spawn(move || every_nth(first))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or_default()).collect()
    });
    (0..count).map_while(|index| shares.get(index % threads)?.get(index / threads).copied()).collect()
}

/// Prints the requests of one input: a line each, and then its body.
fn show(inputs: &Inputs, id: &str, out: &mut impl Write) -> Result<(), Problem> {
    let found = (0..inputs.count()).find(|index| inputs.id(*index) == id);
    let index = found.ok_or_else(|| Problem::Unknown(id.to_owned()))?;
    for (heading, body) in inputs.requests(index) {
        writeln!(out, "{heading}\n{body:#}")?;
    }
    Ok(())
}
