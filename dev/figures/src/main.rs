//! `rollwright-figures`: measures what no machine's speed changes, and compares with what is recorded.

use std::hint::black_box;
use std::process::ExitCode;

use cap::Cap;
use clap::{Parser, Subcommand};
use figures::record::{self, Figures};
use figures::snapshots::{Case, NOW};
use figures::{Failure, cache, callgrind, rollouts};
use mimalloc::MiMalloc;

/// The allocator of the operator, which counts here.
#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

/// Measures what no machine's speed changes, and compares with docs/internals/benchmarks.json.
#[derive(Parser)]
#[command(name = "rollwright-figures", version)]
struct Arguments {
    /// Count the instructions of a plan too, which needs valgrind.
    #[arg(long)]
    instructions: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the same plan so often, for valgrind to count.
    Plan {
        /// Which.
        #[arg(value_parser = Case::named)]
        case: Case,
        /// How often.
        times: u32,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Some(Command::Plan { case, times }) => plan(&case, times).map(|()| true),
        None => check(arguments.instructions),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn plan(case: &Case, times: u32) -> Result<(), Failure> {
    let observed = case.snapshot()?;
    for _ in 0..times {
        drop(black_box(plan::plan(black_box(&observed), NOW)));
    }
    Ok(())
}

/// Whether all is as recorded. What is not does not hide what comes after it.
fn check(with_instructions: bool) -> Result<bool, Failure> {
    let mut is_fine = settle("simulator", &rollouts::measure()?);
    is_fine &= settle("cache", &cache::measure(|| ALLOCATOR.allocated())?);
    if with_instructions {
        let program = std::env::current_exe();
        let program = program.map_err(|error| Failure::Program(format!("finding this program: {error}")))?;
        let directory = program.with_file_name("figures");
        is_fine &= settle("planner", &callgrind::measure(&program, &directory)?);
    }
    Ok(is_fine)
}

fn settle(section: &str, measured: &Figures) -> bool {
    match record::settle(&record::path(), section, measured, record::is_update()) {
        Ok(text) => {
            print!("{text}");
            true
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            false
        }
    }
}
