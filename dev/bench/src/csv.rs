//! All figures of all rounds, one a line, written as they come: a run of hours that is broken off keeps
//! what it had.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::failure::Failure;
use crate::figure::Figure;
use crate::round::Round;

const HEAD: &str = "scenario,round,side,operation,figure,value";

/// A file of figures, or none.
#[derive(Default)]
pub(crate) struct Csv {
    file: Option<File>,
}

impl Csv {
    /// `<date>.csv` in this directory. Runs of one day add to the same file.
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        let date = jiff::Timestamp::now().strftime("%Y-%m-%d");
        let path = directory.join(format!("{date}.csv"));
        let opened = fs::create_dir_all(directory)
            .and_then(|()| File::options().create(true).append(true).open(&path))
            .and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(Failure::io(format!("opening {}", path.display())))?;
        let mut csv = Self { file: Some(file) };
        if length == 0 {
            csv.line(HEAD)?;
        }
        Ok(csv)
    }

    /// Everything of a round.
    pub(crate) fn add(&mut self, scenario: &str, number: usize, round: &Round) -> Result<(), Failure> {
        let head = format!("{scenario},{number},{}", round.side.short());
        for phase in &round.phases {
            let head = format!("{head},{}", phase.operation.name());
            for figure in Figure::ALL {
                if let Some(value) = figure.of(round, &[phase.operation]) {
                    self.line(&format!("{head},\"{}\",{value:.4}", figure.name()))?;
                }
            }
            for (kind, count) in &phase.traffic.by_kind {
                self.line(&format!("{head},{kind} in all,{count}"))?;
            }
        }
        self.line(&format!("{head},,start-up (s),{:.4}", round.start_up.as_secs_f64()))?;
        self.line(&format!("{head},,resident at most (bytes),{}", round.usage.peak))
    }

    /// A figure that is of no operation.
    pub(crate) fn value(&mut self, head: &str, figure: &str, value: f64) -> Result<(), Failure> {
        self.line(&format!("{head},,\"{figure}\",{value:.4}"))
    }

    fn line(&mut self, line: &str) -> Result<(), Failure> {
        let Some(file) = &mut self.file else { return Ok(()) };
        writeln!(file, "{line}").map_err(Failure::io("writing the figures"))
    }
}
