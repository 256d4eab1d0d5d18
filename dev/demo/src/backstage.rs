//! The story's hold on its stage: starts that process, gives it orders,
//! hears its reports, and ends it or leaves it behind.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::ground::Ground;
use crate::place::{Place, this_program};
use crate::stage::KEEP;

/// Longer than the stage gives the operator and each part of the cluster.
const END_DEADLINE: Duration = Duration::from_secs(25);
const KEEP_DEADLINE: Duration = Duration::from_secs(5);

/// What the stage says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The cluster is up at this URL.
    Cluster(String),
    /// The operator runs under this pid.
    Operator(u32),
    /// The operator ended by itself, in this way.
    OperatorEnded(String),
    /// Cluster and operator will stay.
    Kept,
    /// The stage itself is gone, or speaks nonsense.
    Closed,
}

/// A running stage.
#[derive(Debug)]
pub(crate) struct Backstage {
    place: Place,
    child: Child,
    orders: Option<Orders>,
    reports: mpsc::Receiver<Report>,
}

impl Backstage {
    /// Starts the stage, out of reach of this terminal's Ctrl-C.
    pub(crate) fn start(place: &Place, operator: &PathBuf, ground: Ground) -> Result<Self, Failure> {
        let log = place.stage_log();
        let file = File::create(&log).map_err(Failure::io("creating", &log))?;
        let program = this_program()?;
        let mut child = Command::new(&program)
            .arg("stage")
            // Tells the owner of the cluster to those who want to stop it.
            .arg(format!("--dir={}", place.cluster().display()))
            .arg("--operator")
            .arg(operator)
            .args((ground == Ground::Real).then_some("--real"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file)
            .process_group(0)
            .spawn()
            .map_err(Failure::io("starting", &program))?;
        let orders = child.stdin.take().map(Orders::new);
        let (sender, reports) = mpsc::channel(8);
        if let Some(pipe) = child.stdout.take() {
            tokio::spawn(async move {
                let mut lines = BufReader::new(pipe).lines();
                while let Ok(Some(line)) = lines.next_line().await {
                    if sender.send(parse(&line)).await.is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { place: place.clone(), child, orders, reports })
    }

    /// Gives orders while somebody else hears the reports.
    pub(crate) fn orders(&self) -> Result<Orders, Failure> {
        self.orders.clone().ok_or_else(|| self.failure(&Report::Closed))
    }

    /// The next thing the stage says.
    pub(crate) async fn report(&mut self) -> Report {
        self.reports.recv().await.unwrap_or(Report::Closed)
    }

    /// The failure that an unexpected report stands for.
    pub(crate) fn failure(&self, report: &Report) -> Failure {
        match report {
            Report::OperatorEnded(how) => {
                Failure::Broken(format!("the operator ended by itself ({how}); see the end of its log below"))
            }
            Report::Closed => Failure::Stage {
                what: "the process that holds the cluster ended by itself".to_owned(),
                log: self.place.stage_log(),
            },
            Report::Cluster(_) | Report::Operator(_) | Report::Kept => {
                Failure::Broken(format!("the process that holds the cluster said {report:?} unasked"))
            }
        }
    }

    /// Leaves cluster and operator running in the background.
    pub(crate) async fn keep(mut self) -> Result<(), Failure> {
        self.orders()?.give(KEEP).await?;
        let kept = async {
            loop {
                match self.reports.recv().await {
                    Some(Report::Kept) => return true,
                    None => return false,
                    Some(_) => {}
                }
            }
        };
        match tokio::time::timeout(KEEP_DEADLINE, kept).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(self.failure(&Report::Closed)),
        }
    }

    /// Stops operator and cluster and waits until they are gone.
    pub(crate) async fn end(mut self) {
        drop(self.orders.take());
        if tokio::time::timeout(END_DEADLINE, self.child.wait()).await.is_err() {
            // The watchdog of the cluster ends its parts.
            let _ = self.child.kill().await;
        }
        self.place.kill_stray_operator();
    }
}

/// Passes orders on to the stage. When the last clone is dropped the stage
/// takes it for the end.
#[derive(Clone, Debug)]
pub(crate) struct Orders(mpsc::Sender<&'static str>);

impl Orders {
    fn new(mut pipe: ChildStdin) -> Self {
        let (sender, mut receiver) = mpsc::channel::<&str>(4);
        tokio::spawn(async move {
            while let Some(order) = receiver.recv().await {
                let line = format!("{order}\n");
                if pipe.write_all(line.as_bytes()).await.is_err() || pipe.flush().await.is_err() {
                    return;
                }
            }
        });
        Self(sender)
    }

    /// Gives an order.
    pub(crate) async fn give(&self, order: &'static str) -> Result<(), Failure> {
        let gone = |_| Failure::Broken("the process that holds the cluster takes no orders".to_owned());
        self.0.send(order).await.map_err(gone)
    }
}

fn parse(line: &str) -> Report {
    match line.split_once(' ') {
        Some(("cluster", server)) => Report::Cluster(server.to_owned()),
        Some(("operator", pid)) => pid.parse().map_or(Report::Closed, Report::Operator),
        Some(("ended", how)) => Report::OperatorEnded(how.to_owned()),
        None if line == "kept" => Report::Kept,
        _ => Report::Closed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_reports() {
        assert_eq!(parse("cluster https://127.0.0.1:1"), Report::Cluster("https://127.0.0.1:1".to_owned()));
        assert_eq!(parse("operator 12"), Report::Operator(12));
        assert_eq!(parse("ended exit status: 1"), Report::OperatorEnded("exit status: 1".to_owned()));
        assert_eq!(parse("kept"), Report::Kept);
        assert_eq!(parse("unknown order"), Report::Closed);
    }
}
