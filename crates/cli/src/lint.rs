//! `lint`, of this program and of the operator's: manifests, checked offline.

use std::path::PathBuf;

use admission::lint::files::texts;
use admission::lint::{Finding, Linter, Report, Which};
use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::code::Code;

/// `lint`.
#[derive(Debug, Args)]
pub struct LintArguments {
    /// A YAML or JSON file, a directory with .yaml, .yml, and .json files (subdirectories are skipped), or -
    /// for standard input. May be repeated.
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// Format of the findings.
    #[arg(short = 'o', long, value_name = "FORMAT", default_value = "text")]
    output: LintOutput,
    /// Also check apps/v1 Deployments, as if their apiVersion were rollwright.dev/v1.
    #[arg(long)]
    include_apps: bool,
}

/// Form of what `lint` finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LintOutput {
    /// A line each: FILE:LINE: NAME: MESSAGE.
    Text,
    /// One JSON array.
    Json,
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
pub enum LintError {
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
#[derive(Debug)]
pub struct Verdict {
    /// The findings.
    pub out: String,
    /// What could not be read, and how many Deployments were checked.
    pub err: String,
    /// Failed for manifests that the server would refuse, and Usage for what cannot be read, as for wrong flags.
    pub code: Code,
}

/// Checks the files.
///
/// # Errors
/// When nothing can be checked, or a finding cannot be shown.
pub fn lint(arguments: &LintArguments) -> Result<Verdict, LintError> {
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
    let summary = format!("checked {checked}, skipped {skipped}, found {count}");
    let hint = if checked == 0 && count == 0 { hint(arguments.include_apps) } else { "" };
    let err = format!("{}{summary}{hint}\n", unreadable.concat());
    let code = match (unreadable.is_empty(), count) {
        (false, _) => Code::Usage,
        (true, 0) => Code::Done,
        (true, _) => Code::Failed,
    };
    Ok(Verdict { out, err, code })
}

/// What to do where nothing was checked: who lints expects that something was.
fn hint(include_apps: bool) -> &'static str {
    if include_apps {
        "; there is no Deployment of rollwright.dev/v1 or apps/v1 in these files"
    } else {
        "; there is no Deployment of rollwright.dev/v1 in these files, and --include-apps checks those of apps/v1, too"
    }
}

impl Located<'_> {
    fn line(&self) -> String {
        let Finding { line, name, message, .. } = self.finding;
        let name = if name.is_empty() { String::new() } else { format!("{name}: ") };
        format!("{}:{line}: {name}{message}\n", self.file)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn check(files: &[&str], output: LintOutput) -> (Code, String, String) {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");
        let files = files.iter().map(|file| format!("{root}{file}").into()).collect();
        let verdict = lint(&LintArguments { files, output, include_apps: false }).unwrap();
        (verdict.code, verdict.out.replace(root, ""), verdict.err.replace(root, ""))
    }

    #[test]
    fn what_is_clean_is_zero_and_silent() {
        let (code, out, err) = check(&["examples"], LintOutput::Text);
        assert_eq!((code, out.as_str()), (Code::Done, ""));
        assert!(err.ends_with("found 0\n") && !err.contains("checked 0"), "{err}");
    }

    #[test]
    fn what_the_server_would_refuse_is_one_with_file_and_line() {
        let file = "tests/invalid/replicas-negative.yaml";
        let (code, out, _) = check(&[file, "examples"], LintOutput::Text);
        assert_eq!(code, Code::Failed);
        let wanted = "spec.replicas in body should be greater than or equal to 0";
        assert!(
            out.lines().any(|line| line.starts_with(&format!("{file}:")) && line.ends_with(wanted)),
            "{out}"
        );
        let (code, out, _) = check(&["tests/invalid"], LintOutput::Json);
        assert_eq!(code, Code::Failed);
        let found: Vec<Value> = serde_json::from_str(&out).unwrap();
        let is_whole = |it: &Value| it["line"].as_u64().unwrap() > 0 && it["message"].is_string();
        assert!(found.len() > 30 && found.iter().all(is_whole), "{out}");
    }

    #[test]
    fn what_cannot_be_read_is_two_and_the_rest_is_checked() {
        let (code, out, err) = check(&["absent.yaml", "src", "tests/invalid"], LintOutput::Text);
        assert_eq!(code, Code::Usage);
        assert!(
            err.contains("reading absent.yaml: ") && err.contains("no .yaml, .yml or .json file in src"),
            "{err}"
        );
        assert!(!out.is_empty());
    }

    #[test]
    fn where_nothing_was_checked_a_hint_says_what_would_be() {
        let folder = std::env::temp_dir().join(format!("lint-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("apps.yaml");
        std::fs::write(&file, "apiVersion: apps/v1\nkind: Deployment\n").unwrap();
        let arguments = |include_apps| LintArguments {
            files: vec![file.clone()],
            output: LintOutput::Text,
            include_apps,
        };
        let verdict = lint(&arguments(false)).unwrap();
        assert_eq!(verdict.code, Code::Done);
        assert!(
            verdict.err.ends_with(
                "found 0; there is no Deployment of rollwright.dev/v1 in these files, and \
            --include-apps checks those of apps/v1, too\n"
            ),
            "{}",
            verdict.err
        );
        assert!(lint(&arguments(true)).unwrap().err.starts_with("checked 1, skipped 0, found "));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
