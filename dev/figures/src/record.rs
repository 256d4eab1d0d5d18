//! What is recorded, and how it is compared with what is measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Failure;

/// More than this share of what is recorded is worse; less than 1 minus it is better.
const ALLOWED: f64 = 0.1;
/// Who measures what: every section of the file has one that does.
pub const SECTIONS: [&str; 4] = ["cache", "operator", "planner", "simulator"];
const ABOUT: &str = "Figures that no machine's speed changes; less is better. `make bench-check` compares, \
                     `UPDATE=1 make bench-check` writes; see docs/internals/benchmarks.md.";

/// Figures by name; of all of them, less is better.
pub type Figures = BTreeMap<String, f64>;

/// The recorded figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    about: String,
    figures: BTreeMap<String, Figures>,
}

/// docs/internals/benchmarks.json.
#[must_use]
pub fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/benchmarks.json")
}

/// Whether to record what is measured: `UPDATE` is set, and not to nothing.
#[must_use]
pub fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| !value.is_empty())
}

/// Compares what was measured for a section with what is recorded, or records it. Returns a line for each
/// figure; the error has those that are wrong.
///
/// # Errors
/// If a figure is worse than recorded by more than a tenth, if one was measured and not recorded or the
/// other way round, and if the file cannot be read or written.
pub fn settle(file: &Path, section: &str, measured: &Figures, is_update: bool) -> Result<String, Failure> {
    let mut record = match Record::read(file) {
        Err(Failure::Record { source, .. }) if is_update && source.kind() == std::io::ErrorKind::NotFound => {
            Record::default()
        }
        other => other?,
    };
    if is_update {
        record.put(section, measured);
        record.write(file)?;
        return Ok(lines(section, measured, "recorded"));
    }
    record.has_known_sections()?;
    record.compare(section, measured)
}

impl Record {
    fn read(file: &Path) -> Result<Self, Failure> {
        let path = || file.to_owned();
        let text =
            std::fs::read_to_string(file).map_err(|source| Failure::Record { path: path(), source })?;
        serde_json::from_str(&text).map_err(|source| Failure::Format { path: path(), source })
    }

    fn put(&mut self, section: &str, measured: &Figures) {
        ABOUT.clone_into(&mut self.about);
        let rounded = measured.iter().map(|(name, value)| (name.clone(), (value * 1000.0).round() / 1000.0));
        self.figures.insert(section.to_owned(), rounded.collect());
        self.figures.retain(|section, _| SECTIONS.contains(&section.as_str()));
    }

    fn write(&self, file: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|source| Failure::Format { path: file.to_owned(), source })?;
        let written = std::fs::write(file, format!("{text}\n"));
        written.map_err(|source| Failure::Record { path: file.to_owned(), source })
    }

    /// Nothing is recorded that nobody would look at.
    fn has_known_sections(&self) -> Result<(), Failure> {
        let unknown = self.figures.keys().find(|section| !SECTIONS.contains(&section.as_str()));
        match unknown {
            Some(section) => Err(Failure::Differs(format!(
                "docs/internals/benchmarks.json: nobody measures the section {section}; {ACCEPT}"
            ))),
            None => Ok(()),
        }
    }

    fn compare(&self, section: &str, measured: &Figures) -> Result<String, Failure> {
        let none = Figures::new();
        let recorded = self.figures.get(section).unwrap_or(&none);
        let (mut text, mut wrong) = (String::new(), String::new());
        for (name, value) in measured {
            let Some(before) = recorded.get(name) else {
                let _ = writeln!(wrong, "{section}, {name}: measured {}, not recorded", Number(*value));
                continue;
            };
            let line =
                format!("{section}, {name}: recorded {}, measured {}", Number(*before), Number(*value));
            match Verdict::of(*before, *value) {
                Verdict::Worse => {
                    let _ = writeln!(wrong, "{line}: worse by more than 10 %");
                }
                Verdict::Better => {
                    let _ = writeln!(
                        text,
                        "{line}: better by more than 10 %; UPDATE=1 make bench-check keeps it"
                    );
                }
                Verdict::Same => {
                    let _ = writeln!(text, "{line}");
                }
            }
        }
        for name in recorded.keys().filter(|name| !measured.contains_key(*name)) {
            let _ = writeln!(wrong, "{section}, {name}: recorded, not measured any more");
        }
        if wrong.is_empty() { Ok(text) } else { Err(Failure::Differs(format!("{wrong}{ACCEPT}"))) }
    }
}

const ACCEPT: &str = "if that is meant, `UPDATE=1 make bench-check` records it; the commit says why";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Worse,
    Same,
    Better,
}

impl Verdict {
    fn of(recorded: f64, measured: f64) -> Self {
        // What cannot be compared is no improvement.
        if !measured.is_finite() || measured > recorded * (1.0 + ALLOWED) {
            Self::Worse
        } else if measured < recorded * (1.0 - ALLOWED) {
            Self::Better
        } else {
            Self::Same
        }
    }
}

fn lines(section: &str, figures: &Figures, what: &str) -> String {
    figures.iter().map(|(name, value)| format!("{section}, {name}: {} {what}\n", Number(*value))).collect()
}

/// As it is written into the file.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", (self.0 * 1000.0).round() / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(of: &[(&str, f64)]) -> Figures {
        of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn recorded() -> Record {
        let mut record = Record::default();
        record.put("cache", &figures(&[("bytes", 100.0), ("requests", 0.0)]));
        record
    }

    /// The outcome of measuring these.
    fn compare(measured: &[(&str, f64)]) -> Result<String, String> {
        recorded().compare("cache", &figures(measured)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_tenth_is_allowed_and_no_more() {
        for (bytes, is_fine) in [(100.0, true), (109.0, true), (111.0, false), (f64::NAN, false)] {
            assert_eq!(compare(&[("bytes", bytes), ("requests", 0.0)]).is_ok(), is_fine, "{bytes}");
        }
        let said = compare(&[("bytes", 111.0), ("requests", 0.0)]).unwrap_err();
        for part in ["cache, bytes: recorded 100, measured 111", "UPDATE=1 make bench-check"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn of_nothing_a_tenth_is_nothing() {
        let said = compare(&[("bytes", 100.0), ("requests", 1.0)]).unwrap_err();
        assert!(said.contains("requests: recorded 0, measured 1"), "{said}");
    }

    #[test]
    fn better_is_told_and_fine() {
        let said = compare(&[("bytes", 89.0), ("requests", 0.0)]).unwrap();
        assert!(said.contains("bytes: recorded 100, measured 89: better"), "{said}");
        assert!(!compare(&[("bytes", 91.0), ("requests", 0.0)]).unwrap().contains("better"));
    }

    #[test]
    fn what_only_one_side_has_fails() {
        let said = compare(&[("bytes", 100.0)]).unwrap_err();
        assert!(said.contains("requests: recorded, not measured"), "{said}");
        let said = compare(&[("bytes", 100.0), ("requests", 0.0), ("more", 1.0)]).unwrap_err();
        assert!(said.contains("more: measured 1, not recorded"), "{said}");
        let none = recorded().compare("planner", &figures(&[("instructions", 1.0)]));
        assert!(none.is_err());
        let mut odd = recorded();
        odd.figures.insert("odd".to_owned(), Figures::new());
        assert!(odd.has_known_sections().is_err() && recorded().has_known_sections().is_ok());
    }

    #[test]
    fn an_update_is_what_is_compared_with_next() {
        let directory = std::env::temp_dir().join(format!("figures-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (file, measured) = (directory.join("record.json"), figures(&[("bytes", 1.23456)]));
        assert!(matches!(settle(&file, "cache", &measured, false), Err(Failure::Record { .. })));
        settle(&file, "cache", &measured, true).unwrap();
        settle(&file, "planner", &figures(&[("instructions", 7.0)]), true).unwrap();
        settle(&file, "cache", &measured, false).unwrap();
        assert!(settle(&file, "planner", &figures(&[("instructions", 8.0)]), false).is_err());
        std::fs::write(&file, "{").unwrap();
        assert!(matches!(settle(&file, "cache", &measured, false), Err(Failure::Format { .. })));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn the_file_has_all_sections() {
        let record = Record::read(&path()).unwrap();
        assert_eq!(record.figures.keys().collect::<Vec<_>>(), SECTIONS.iter().collect::<Vec<_>>());
    }
}
