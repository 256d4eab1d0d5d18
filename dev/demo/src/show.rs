//! Runs the steps of the story one after the other: acts, takes in what the API server reports, holds it against the
//! limits, draws it, and decides whether the step has reached what it should.

use std::pin::pin;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::time::Interval;

use crate::failure::Failure;
use crate::frame::{Scene, Status, StepView};
use crate::ground::Ground;
use crate::limits::{Guard, Limits};
use crate::screen::Screen;
use crate::stage::Stage;
use crate::story;
use crate::watches::Watches;
use crate::world::World;

const TICK: Duration = Duration::from_millis(60);
/// Two of two cores may be compiling meanwhile.
const DEADLINE: Duration = Duration::from_secs(90);

/// What was seen, if that is what was waited for; else what is missing.
pub(crate) type Verdict = Result<String, String>;

/// One step of the story.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What a person would type.
    pub(crate) command: String,
    pub(crate) expected: String,
    pub(crate) deadline: Duration,
    /// How long what was seen must stay as it is; zero for a moment in passing.
    pub(crate) hold: Duration,
    pub(crate) limits: Option<Limits>,
}

impl Step {
    /// A step that passes immediately, under no limits.
    pub(crate) fn new(
        name: &'static str,
        title: &'static str,
        command: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let (command, expected) = (command.into(), expected.into());
        Self { name, title, command, expected, deadline: DEADLINE, hold: Duration::ZERO, limits: None }
    }

    /// The step with a state that must stay for this long, with a minimum of pods that serve and a maximum of pods that
    /// the ReplicaSets ask for.
    pub(crate) fn within(self, floor: usize, ceiling: i64, hold: Duration) -> Self {
        Self { limits: Some(Limits { floor, ceiling }), hold, ..self }
    }
}

/// The outcome of a step.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) expected: String,
    pub(crate) seen: String,
    /// The limits that held meanwhile.
    pub(crate) guard: Option<Guard>,
    pub(crate) took: Duration,
    pub(crate) reached: bool,
}

/// The running demo.
pub(crate) struct Show {
    pub(crate) stage: Stage,
    pub(crate) screen: Screen,
    pub(crate) outcomes: Vec<Outcome>,
    ground: Ground,
    world: World,
    watches: Option<Watches>,
    signals: mpsc::Receiver<()>,
    ticks: Interval,
    start: Instant,
}

impl Show {
    /// A show that has not begun.
    pub(crate) fn new(stage: Stage, screen: Screen, signals: mpsc::Receiver<()>, ground: Ground) -> Self {
        Self {
            stage,
            screen,
            outcomes: Vec::new(),
            ground,
            world: World::default(),
            watches: None,
            signals,
            ticks: tokio::time::interval(TICK),
            start: Instant::now(),
        }
    }

    /// Starts to listen to the API server.
    pub(crate) fn watch(&mut self, client: &kube::Client) {
        self.watches = Some(Watches::start(client));
    }

    /// Runs one step to its end: until the action is done and the check passes for as long as the step demands.
    ///
    /// # Errors
    /// If the action fails, a limit is broken, the deadline passes, the cluster
    /// or the operator ends, or a signal comes.
    pub(crate) async fn perform<A>(
        &mut self,
        step: Step,
        action: A,
        check: impl FnMut(&World) -> Verdict,
    ) -> Result<(), Failure>
    where
        A: Future<Output = Result<String, Failure>>,
    {
        self.screen.say(&format!("step {}. {}: {}", self.outcomes.len() + 1, step.title, step.expected));
        self.screen.say(&format!("$ {}", step.command));
        let start = Instant::now();
        let mut run = Run {
            status: Status::Waiting(format!("waiting for: {}", step.expected)),
            guard: step.limits.map(Guard::new),
            start,
            since: None,
        };
        let result = self.run(&step, &mut run, action, check).await;
        self.draw(&step, &run);
        let seen = match (&result, run.status.clone()) {
            (Ok(()), Status::Reached(seen) | Status::Waiting(seen)) => seen,
            (Err(Failure::Deadline { seen, .. }), _) => seen.clone(),
            (Err(failure), _) => failure.to_string().lines().next().unwrap_or_default().to_owned(),
        };
        let reached = result.is_ok();
        // What was held afterwards, for sure or to be seen, is no time it took.
        let took = run.since.map_or_else(|| start.elapsed(), |since| since.duration_since(start));
        self.screen.say(&format!("{} {}: {seen}", if reached { "✔" } else { "✘" }, step.name));
        self.outcomes.push(Outcome {
            name: step.name,
            expected: step.expected,
            seen,
            guard: run.guard,
            took,
            reached,
        });
        result
    }

    async fn run<A>(
        &mut self,
        step: &Step,
        run: &mut Run,
        action: A,
        mut check: impl FnMut(&World) -> Verdict,
    ) -> Result<(), Failure>
    where
        A: Future<Output = Result<String, Failure>>,
    {
        if let Some(guard) = &mut run.guard {
            guard.look(&self.world).map_err(Failure::Broken)?;
        }
        let mut action = pin!(action);
        let mut done: Option<String> = None;
        let hold = if step.hold.is_zero() { step.hold } else { step.hold.max(self.screen.beat()) };
        loop {
            let world = tokio::select! {
                result = &mut action, if done.is_none() => { done = Some(result?); None }
                world = self.next() => world?,
            };
            if let Some(world) = world {
                self.world = world;
                if let Some(guard) = &mut run.guard {
                    guard.look(&self.world).map_err(Failure::Broken)?;
                }
            }
            if let Some(done) = &done {
                let verdict =
                    check(&self.world).map(|seen| if done.is_empty() { seen } else { done.clone() });
                if run.judge(verdict, hold) {
                    return Ok(());
                }
            }
            if run.start.elapsed() > step.deadline + hold {
                let (Status::Waiting(seen) | Status::Reached(seen)) = &run.status;
                return Err(Failure::Deadline { deadline: step.deadline, seen: seen.clone() });
            }
            self.draw(step, run);
        }
    }

    /// Waits until the world is another, or until it is time to draw it.
    async fn next(&mut self) -> Result<Option<World>, Failure> {
        let change = async {
            match &mut self.watches {
                Some(watches) => watches.change().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Changes first, so that a check never sees a state that is known to be old.
            biased;
            _ = self.signals.recv() => Err(Failure::Interrupted),
            world = change => Ok(Some(world)),
            _ = self.ticks.tick() => self.stage.check().map(|()| None),
        }
    }

    fn draw(&mut self, step: &Step, run: &Run) {
        let scene = Scene {
            server: self.stage.server(),
            world: &self.world,
            now: Timestamp::now(),
            elapsed: self.start.elapsed(),
            ground: self.ground,
            plan: &story::plan(self.ground),
            over: self.outcomes.len(),
            step: StepView {
                title: step.title,
                command: &step.command,
                status: &run.status,
                took: run.start.elapsed(),
                deadline: step.deadline,
            },
            guard: run.guard.as_ref(),
        };
        self.screen.show(&scene);
    }
}

/// How far the running step is.
struct Run {
    status: Status,
    guard: Option<Guard>,
    start: Instant,
    /// Since when the check passes in the same way.
    since: Option<Instant>,
}

impl Run {
    /// Takes note of a verdict; true when it has been the same yes for long enough.
    fn judge(&mut self, verdict: Verdict, hold: Duration) -> bool {
        let status = match verdict {
            Ok(seen) => Status::Reached(seen),
            Err(missing) => Status::Waiting(missing),
        };
        if status != self.status {
            self.since = None;
        }
        self.status = status;
        match self.status {
            Status::Waiting(_) => false,
            Status::Reached(_) => self.since.get_or_insert_with(Instant::now).elapsed() >= hold,
        }
    }
}
