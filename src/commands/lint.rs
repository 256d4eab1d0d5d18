//! `rollwright lint`: manifests, checked offline.

use admission::lint::files::texts;
use admission::lint::{Finding, Linter, Report, Which};
use serde::Serialize;

use crate::args::{LintArguments, LintOutput};

/// The exit code for manifests that the server would refuse.
const FOUND: u8 = 1;
/// The exit code for what cannot be read; wrong flags have the same.
const UNREADABLE: u8 = 2;

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LintError {
    /// The built-in definition is damaged.
    #[error("the built-in definition: {0}")]
    Definition(String),
    /// A finding that cannot be shown.
    #[error("printing what was found: {0}")]
    Json(#[from] serde_json::Error),
}

/// A finding and the file that it is in.
#[derive(Serialize)]
struct Located<'a> {
    file: &'a str,
    #[serde(flatten)]
    finding: &'a Finding,
}

/// What to print on standard output and on standard error, and the exit code.
pub(crate) struct Verdict {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: u8,
}

/// Checks the files.
pub(crate) fn run(arguments: &LintArguments) -> Result<Verdict, LintError> {
    let which = if arguments.include_apps { Which::AppsToo } else { Which::Ours };
    let linter = Linter::new(which).map_err(LintError::Definition)?;
    let mut reports: Vec<(String, Report)> = Vec::new();
    let mut unreadable = Vec::new();
    for path in &arguments.files {
        match texts(path) {
            Ok(texts) => {
                reports.extend(texts.into_iter().map(|(name, text)| (name, linter.check(&text))));
            }
            Err(problem) => unreadable.push(format!("error: {problem}\n")),
        }
    }
    let findings = || {
        reports
            .iter()
            .flat_map(|(file, report)| report.findings.iter().map(move |finding| Located { file, finding }))
    };
    let out = match arguments.output {
        LintOutput::Text => findings().map(|located| located.line()).collect(),
        LintOutput::Json => serde_json::to_string_pretty(&findings().collect::<Vec<_>>())? + "\n",
    };
    let count = findings().count();
    let checked: usize = reports.iter().map(|(_, report)| report.checked).sum();
    let skipped: usize = reports.iter().map(|(_, report)| report.skipped).sum();
    let err = format!("{}checked {checked}, skipped {skipped}, found {count}\n", unreadable.concat());
    let code = match (unreadable.is_empty(), count) {
        (false, _) => UNREADABLE,
        (true, 0) => 0,
        (true, _) => FOUND,
    };
    Ok(Verdict { out, err, code })
}

impl Located<'_> {
    fn line(&self) -> String {
        let Finding { line, name, message, .. } = self.finding;
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        format!("{}:{line}: {name}{message}\n", self.file)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use serde_json::Value;

    use super::run;
    use crate::args::{LintArguments, LintOutput};

    fn check(files: &[&str], output: LintOutput) -> (u8, String, String) {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/");
        let files = files.iter().map(|file| format!("{root}{file}").into()).collect();
        let verdict = run(&LintArguments { files, output, include_apps: false }).unwrap();
        (verdict.code, verdict.out.replace(root, ""), verdict.err.replace(root, ""))
    }

    #[test]
    fn what_is_clean_is_zero_and_silent() {
        let (code, out, err) = check(&["examples"], LintOutput::Text);
        assert_eq!((code, out.as_str()), (0, ""));
        assert!(err.ends_with("found 0\n") && !err.contains("checked 0"), "{err}");
    }

    #[test]
    fn what_the_server_would_refuse_is_one_with_file_and_line() {
        let file = "tests/invalid/replicas-negative.yaml";
        let (code, out, _) = check(&[file, "examples"], LintOutput::Text);
        assert_eq!(code, 1);
        let wanted = "spec.replicas in body should be greater than or equal to 0";
        assert!(
            out.lines().any(|line| line.starts_with(&format!("{file}:")) && line.ends_with(wanted)),
            "{out}"
        );
        let (code, out, _) = check(&["tests/invalid"], LintOutput::Json);
        assert_eq!(code, 1);
        let found: Vec<Value> = serde_json::from_str(&out).unwrap();
        let is_whole = |it: &Value| it["line"].as_u64().unwrap() > 0 && it["message"].is_string();
        assert!(found.len() > 30 && found.iter().all(is_whole), "{out}");
    }

    #[test]
    fn what_cannot_be_read_is_two_and_the_rest_is_checked() {
        let (code, out, err) = check(&["absent.yaml", "src", "tests/invalid"], LintOutput::Text);
        assert_eq!(code, 2);
        assert!(
            err.contains("reading absent.yaml: ") && err.contains("no .yaml, .yml or .json file in src"),
            "{err}"
        );
        assert!(!out.is_empty());
    }
}
