//! Where the demo draws: a terminal, redrawn in place, or anything else, one
//! line per change.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

use crate::frame::{self, Scene, Status};
use crate::ink::{Colour, Line, Style};
use crate::world::{Condition, Deployment, Set, World};

const FRAME_EVERY: Duration = Duration::from_millis(60);
/// How long a terminal shows what a step has reached before the next begins.
const BEAT: Duration = Duration::from_millis(1500);
const SIZE_DEFAULT: (usize, usize) = (100, 40);

/// Cursor hidden, on the terminal's second screen.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[2J";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The output of the demo.
#[derive(Debug)]
pub(crate) struct Screen {
    colour: Colour,
    start: Instant,
    mode: Mode,
}

#[derive(Debug)]
enum Mode {
    /// Frames, while the second screen is open.
    Frames { open: bool, drawn: Option<Instant>, last: Vec<Line> },
    /// Lines, with what was printed last about each thing.
    Lines { said: BTreeMap<String, String> },
}

impl Screen {
    /// Looks at what standard output is.
    pub(crate) fn new() -> Self {
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        let is_terminal = io::stdout().is_terminal() && !is_dumb;
        let colour = if is_terminal && !is_set("NO_COLOR") { Colour::On } else { Colour::Off };
        let mode = if is_terminal {
            Mode::Frames { open: false, drawn: None, last: Vec::new() }
        } else {
            Mode::Lines { said: BTreeMap::new() }
        };
        Self { colour, start: Instant::now(), mode }
    }

    /// How long people need to see what has been reached.
    pub(crate) fn beat(&self) -> Duration {
        if matches!(self.mode, Mode::Frames { .. }) { BEAT } else { Duration::ZERO }
    }

    /// Opens the second screen of a terminal.
    pub(crate) fn open(&mut self) {
        if let Mode::Frames { open, .. } = &mut self.mode {
            *open = true;
            put(ENTER);
        }
    }

    /// Gives the terminal back as it was, with the last picture on it.
    pub(crate) fn close(&mut self) {
        let Mode::Frames { open, last, .. } = &mut self.mode else { return };
        if !std::mem::take(open) {
            return;
        }
        let last = std::mem::take(last);
        put(LEAVE);
        last.iter().for_each(|line| self.print(line));
    }

    /// Shows the present state; cheap when nothing has changed.
    pub(crate) fn show(&mut self, scene: &Scene<'_>) {
        match &mut self.mode {
            Mode::Frames { open: false, .. } => {}
            Mode::Frames { drawn, last, .. } => {
                let is_news = matches!(scene.step.status, Status::Reached(_));
                if !is_news && drawn.is_some_and(|drawn| drawn.elapsed() < FRAME_EVERY) {
                    return;
                }
                *drawn = Some(Instant::now());
                let (width, height) = size();
                let lines = frame::draw(scene, width, height);
                if lines == *last {
                    return;
                }
                let text: Vec<String> = lines.iter().map(|line| line.render(self.colour, width)).collect();
                // Home; every line clears its rest; the last also what is below.
                put(&format!("\x1b[H{}\x1b[K\x1b[J", text.join("\x1b[K\r\n")));
                *last = lines;
            }
            Mode::Lines { .. } => self.say_changes(scene.world),
        }
    }

    /// Characters that a line on the ordinary screen may have.
    pub(crate) fn width(&self) -> usize {
        if matches!(self.mode, Mode::Frames { .. }) { size().0 } else { usize::MAX }
    }

    /// A line of its own, in line mode only: a terminal shows it in the frame.
    pub(crate) fn say(&self, text: &str) {
        if matches!(self.mode, Mode::Lines { .. }) {
            self.print(&Line::of(
                Style::Plain,
                format!("[{:>6.1}s] {text}", self.start.elapsed().as_secs_f64()),
            ));
        }
    }

    /// A line on the ordinary screen.
    pub(crate) fn print(&self, line: &Line) {
        put(&format!("{}\n", line.render(self.colour, usize::MAX)));
    }

    fn say_changes(&mut self, world: &World) {
        let Mode::Lines { said } = &mut self.mode else { return };
        let mut news = Vec::new();
        for Statement { key, text } in statements(world) {
            if said.get(&key) != Some(&text) {
                news.push(text.clone());
                said.insert(key, text);
            }
        }
        for text in news {
            self.say(&text);
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

/// A line to print; printed again when it is different.
struct Statement {
    key: String,
    text: String,
}

/// What there is to print, in order.
fn statements(world: &World) -> Vec<Statement> {
    let mut all = Vec::new();
    for event in &world.events {
        let times = if event.count > 1 { format!(" (×{})", event.count) } else { String::new() };
        let text = format!("  event {}: {}{times}", event.reason, event.message);
        all.push(Statement { key: format!("event {}", event.name), text });
    }
    for (_, set) in world.newest_first() {
        let Set { name, revision, image, desired, current, ready } = set;
        let counts = format!("desired {desired}, current {current}, ready {ready}");
        let text = format!("  replicaset {name}: revision {revision}, {image}: {counts}");
        all.push(Statement { key: format!("set {name}"), text });
    }
    if let Some(deployment) = &world.deployment {
        let Deployment { revision, ready, wanted, updated, available, .. } = deployment;
        let paused = if deployment.paused { ", paused" } else { "" };
        let counts = format!("ready {ready}/{wanted}, up-to-date {updated}, available {available}");
        let text = format!("  deployment web: revision {revision}, {counts}{paused}");
        all.push(Statement { key: "deployment".to_owned(), text });
        for Condition { kind, status, reason, message } in &deployment.conditions {
            let text = format!("  condition {kind}: {status} {reason}: {message}");
            all.push(Statement { key: format!("condition {kind}"), text });
        }
    }
    all
}

fn size() -> (usize, usize) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        Ok(_) | Err(_) => SIZE_DEFAULT,
    }
}

/// A closed pipe ends the show, not the checks.
fn put(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
