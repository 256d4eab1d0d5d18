//! Commands that proceed in small steps. Each step follows from the present state: killed anywhere, the same command
//! continues.

use std::time::Duration;

use crate::args::output::Output;
use crate::deadline::Deadline;
use crate::failure::Failure;
use crate::output::print;
use crate::terminal::tell;

/// Between two looks at what is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// What is next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next<C> {
    /// This.
    Write(Box<Write<C>>),
    /// Nothing until this has happened by itself.
    Wait(String),
    /// All is as it should be.
    Done,
    /// The command cannot continue, for this reason, until somebody has done something.
    Stuck(String),
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write<C> {
    /// What it does, for people.
    pub(crate) says: String,
    pub(crate) change: C,
}

impl<C> From<Write<C>> for Next<C> {
    fn from(write: Write<C>) -> Self {
        Self::Write(Box::new(write))
    }
}

/// The outcome of a request.
pub(crate) enum Answer {
    Done,
    /// Something has changed since the request was decided, in the words of the server.
    Stale(String),
}

/// What a command waits for before it decides again.
pub(crate) fn again(says: &str, why: &str) -> String {
    format!("the API server to accept the request to {says}, which it refused: {why}")
}

/// How far a command has come, as far as it is for people to know.
pub(crate) struct Progress {
    deadline: Deadline,
    awaited: String,
    /// Standard output is for one document at the end.
    is_for_programs: bool,
    /// Whether a request was made.
    pub(crate) has_tried: bool,
    /// Whether one succeeded.
    pub(crate) has_written: bool,
}

impl Progress {
    /// The time to wait begins now; 0 is no limit.
    pub(crate) fn begin(timeout: Duration, output: &Output) -> Self {
        Self {
            deadline: Deadline::after(timeout),
            awaited: String::new(),
            is_for_programs: output.format.is_some(),
            has_tried: false,
            has_written: false,
        }
    }

    /// What of the cluster is waited for, unless the command waits for an answer.
    pub(crate) fn awaited(&self) -> Option<&str> {
        (!self.awaited.is_empty()).then_some(&self.awaited)
    }

    /// The time to wait begins again.
    pub(crate) fn begin_again(&mut self) {
        self.deadline = self.deadline.again();
    }

    /// The outcome of this; `None` once the time to wait is over.
    pub(crate) async fn hold<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.deadline.hold(work).await
    }

    /// Something was written: prints what.
    pub(crate) fn wrote(&mut self, says: &str) -> Result<(), Failure> {
        self.has_written = true;
        self.awaited.clear();
        if self.is_for_programs {
            tell(says);
            return Ok(());
        }
        print(&format!("{says}\n"))
    }

    /// Waits a moment, and prints for what if that is new. Returns false when the time is over.
    pub(crate) async fn wait(&mut self, what: &str) -> bool {
        if self.deadline.is_over() {
            return false;
        }
        if self.awaited != what {
            tell(&format!("waiting for {what}"));
            what.clone_into(&mut self.awaited);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        true
    }
}
