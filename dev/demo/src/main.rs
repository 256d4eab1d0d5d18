//! `make demo`: a rollout, a pause, a bad image and a rollback on a cluster in
//! memory or on a real API server, drawn live in the terminal and checked step
//! by step.

mod checks;
mod failure;
mod frame;
mod ground;
mod hand;
mod ink;
mod limits;
mod place;
mod screen;
mod show;
mod stage;
mod story;
mod summary;
mod watches;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use failure::Failure;
use ground::Ground;
use ink::{Line, Style};
use place::{Place, this_program};
use screen::Screen;
use show::Show;
use stage::Stage;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The repository, where `crds/` and `examples/` are.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// What a shell returns for a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

const NO_KUBECTL: &str = "This machine has no kubectl. The demo shows the commands that one would type into it, and sends \
     their requests itself.";

/// Shows Rollwright at work on an in-memory cluster, or on a real Kubernetes API server.
#[derive(Parser)]
#[command(name = "demo", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Play the story; fails unless every step reaches what it should.
    Play {
        /// Directory for logs and data [default: target/demo].
        #[arg(long)]
        dir: Option<PathBuf>,
        /// The operator's program [default: `rollwright` beside this one].
        #[arg(long)]
        operator: Option<PathBuf>,
        /// Play on a real control plane, which is built first if it has to be, instead of on
        /// `rollwright sandbox`.
        #[arg(long)]
        real: bool,
        /// Leave cluster and operator running afterwards.
        #[arg(long)]
        keep: bool,
    },
    /// Stop what `play --keep` left running.
    Down {
        /// Directory of the demo [default: target/demo].
        #[arg(long)]
        dir: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let result = tokio::runtime::Runtime::new()
        .map_err(Failure::io("starting", Path::new("runtime")))
        .and_then(|runtime| {
            let result = runtime.block_on(carry_out(Arguments::parse().task));
            runtime.shutdown_background();
            result
        });
    match result {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn carry_out(task: Task) -> Result<ExitCode, Failure> {
    match task {
        Task::Play { dir, operator, real, keep } => {
            let ground = if real { Ground::Real } else { Ground::Memory };
            play(Place::new(dir)?, &operator.map_or_else(beside, Ok)?, ground, keep).await
        }
        Task::Down { dir } => {
            let was_up = Place::new(dir)?.down();
            eprintln!("{}", if was_up { "the demo is down" } else { "no demo runs" });
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The operator's program among the programs of this build.
fn beside() -> Result<PathBuf, Failure> {
    Ok(this_program()?.with_file_name("rollwright"))
}

async fn play(place: Place, operator: &Path, ground: Ground, keep: bool) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let operator = operator.canonicalize().map_err(Failure::io("finding the operator", operator))?;
    if place.running().is_some() {
        return Err(Failure::Broken("a demo runs already; make demo-down stops it".to_owned()));
    }
    std::env::set_current_dir(ROOT).map_err(Failure::io("entering", Path::new(ROOT)))?;
    let kubectl = ground.find_programs()?;
    let signals = signals()?;
    let stage = Stage::start(&place, operator, ground)?;
    let mut show = Show::new(stage, Screen::new(), signals, ground);
    if kubectl.is_none() {
        show.screen.print(&Line::of(Style::Plain, NO_KUBECTL));
    }
    show.screen.open();
    let result = story::play(&mut show, ground, kubectl.clone()).await;
    show.screen.close();
    let ending = Ending { place: &place, ground, kubectl: kubectl.as_deref(), keep, start };
    Ok(finish(show, &ending, &result))
}

/// Takes over the signals that would end this process.
fn signals() -> Result<mpsc::Receiver<()>, Failure> {
    let (sender, receiver) = mpsc::channel(1);
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signals = signal(kind).map_err(Failure::io("listening for", Path::new("signals")))?;
        let sender = sender.clone();
        tokio::spawn(async move { while signals.recv().await.is_some() && sender.send(()).await.is_ok() {} });
    }
    Ok(receiver)
}

/// What the last words depend on.
struct Ending<'a> {
    place: &'a Place,
    ground: Ground,
    kubectl: Option<&'a Path>,
    keep: bool,
    start: Instant,
}

/// Ends what runs or leaves it, and reports the outcome.
fn finish(show: Show, ending: &Ending<'_>, result: &Result<(), Failure>) -> ExitCode {
    let Ending { place, ground, kubectl, keep, start } = *ending;
    let Show { stage, screen, outcomes, .. } = show;
    let interrupted = matches!(result, Err(Failure::Interrupted));
    let print = |lines: Vec<Line>| lines.iter().for_each(|line| screen.print(line));
    print(summary::table(&outcomes, start.elapsed(), screen.width()));
    if let Err(failure) = result
        && !interrupted
    {
        print(summary::failure(failure, &outcomes, &place.operator_log()));
    }
    if let Some(state) = stage.end(keep && !interrupted) {
        print(summary::by_hand(&state, place, kubectl));
    } else {
        print(summary::hint(place, ground, kubectl, result.is_ok()));
    }
    let (style, verdict, code) = match result {
        Ok(()) => (Style::Good, "Every step reached what it should.", ExitCode::SUCCESS),
        Err(Failure::Interrupted) => (Style::Warn, "Interrupted; everything is stopped.", INTERRUPTED.into()),
        Err(_) => (Style::Bad, "The demo failed; see above.", ExitCode::FAILURE),
    };
    print(vec![Line::new(), Line::of(style, verdict)]);
    code
}
