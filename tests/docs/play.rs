//! Runs the blocks of a page, one after the other.

use std::error::Error;
use std::time::{Duration, Instant};

use tokio::process::Child;
use tokio::runtime::Runtime;

use crate::page::{Block, Form, Page};
use crate::place::Place;
use crate::show::{Step, shows, steps};

pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// How long one block of commands may take; it is there for those that never end.
const BLOCK: Duration = Duration::from_secs(180);
/// How long a command that only looks is repeated until it shows what the page shows.
const SOON: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(200);
/// What a command in the background writes, relative to the clone.
const BACKGROUND: &str = "../background.log";
/// Commands that only look.
const LOOKS: &[&str] = &[
    "kubectl get ",
    "kubectl describe ",
    "kubectl rollwright why ",
    "kubectl rollwright get ",
    "kubectl rollwright history ",
    "kubectl rollwright list",
];

/// Runs a page.
pub(crate) fn play(page: &Page) -> Result<(), String> {
    let runtime = Runtime::new().map_err(|error| error.to_string())?;
    let mut place = Place::new(&page.name).map_err(|error| error.to_string())?;
    let result = runtime.block_on(all(page, &mut place));
    drop(runtime);
    place.end();
    result
}

async fn all(page: &Page, place: &mut Place) -> Result<(), String> {
    let mut left_running: Vec<(&Block, Child)> = Vec::new();
    for block in page.blocks.iter().filter(|block| block.is_run()) {
        let outcome = match block.form {
            Form::Script => script(place, block).await,
            Form::Console => console(place, block).await,
            Form::Background => background(place, block).await.map(|child| left_running.push((block, child))),
        };
        if let Err(error) = outcome {
            // Where it has ended by itself, that may be why.
            let ended = still_running(page, place, &mut left_running).err().unwrap_or_default();
            return Err(format!("{}:{}: {error}\n{ended}", page.path, block.line));
        }
    }
    still_running(page, place, &mut left_running)
}

fn still_running(page: &Page, place: &Place, children: &mut [(&Block, Child)]) -> Result<(), String> {
    for (block, child) in children {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            let said = place.read(BACKGROUND);
            return Err(format!("{}:{}: ended by itself with {status}\n{said}", page.path, block.line));
        }
    }
    Ok(())
}

async fn script(place: &mut Place, block: &Block) -> Outcome {
    let (said, success) = run(place, block, &block.text).await?;
    if success { Ok(()) } else { Err(format!("failed:\n{}\n{said}", block.text).into()) }
}

async fn background(place: &mut Place, block: &Block) -> Outcome<Child> {
    let script = format!("exec >{BACKGROUND} 2>&1\nexec {}", block.text);
    Ok(place.shell(&block.how, &script).await?.spawn()?)
}

async fn console(place: &mut Place, block: &Block) -> Outcome {
    for Step { command, expected } in steps(&block.text)? {
        let begin = Instant::now();
        loop {
            let (said, _) = run(place, block, &command).await?;
            if shows(&expected, &said) {
                break;
            }
            let only_looks = LOOKS.iter().any(|look| command.starts_with(look));
            if !only_looks || begin.elapsed() > SOON {
                return Err(format!("$ {command}\nprints:\n{said}\nand the page says:\n{expected}").into());
            }
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(())
}

/// The output of a script on both streams, and whether it succeeds.
async fn run(place: &mut Place, block: &Block, script: &str) -> Outcome<(String, bool)> {
    let mut shell = place.shell(&block.how, &format!("exec 2>&1\n{script}")).await?;
    let output = tokio::time::timeout(BLOCK, shell.output());
    let output = output.await.map_err(|_| format!("did not end within {BLOCK:?}:\n{script}"))??;
    let shown = String::from_utf8_lossy(&output.stdout);
    let shown = shown.split_inclusive('\n').filter(|line| !is_log_of_client(line)).collect();
    Ok((shown, output.status.success()))
}

/// Whether kubectl's client logs that its own `wait` has ended, and the watch with it, as it does now and then.
fn is_log_of_client(line: &str) -> bool {
    line.starts_with('I') && line.contains("reflector.go:") && line.contains("watch ended with error")
}
