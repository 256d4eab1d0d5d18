//! `--dry-run`: the writes of a migration, in lines or in a document.

use serde_json::json;

use super::facts::Facts;
use super::preview::preview;
use crate::args::output::Output;
use crate::code::Code;
use crate::failure::Failure;
use crate::output::{document, print};

/// Prints the writes to come, and makes none.
pub(super) fn show(facts: &Facts, output: &Output) -> Result<Code, Failure> {
    let lines = preview(facts.clone()).map_err(Failure::Rollout)?;
    if let Some(format) = &output.format {
        let name = facts.target_name();
        document(format, &json!({"name": name, "steps": lines}), &[name])?;
        return Ok(Code::Done);
    }
    if lines.is_empty() {
        return already(facts);
    }
    let text: String = lines.iter().map(|line| format!("{line} (dry run)\n")).collect();
    print(&text)?;
    Ok(Code::Done)
}

/// Prints that the migration is over.
pub(super) fn already(facts: &Facts) -> Result<Code, Failure> {
    print(&format!("{} already exists; nothing to do\n", facts.target_name()))?;
    Ok(Code::Done)
}
