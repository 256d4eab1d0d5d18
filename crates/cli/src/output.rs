//! What is printed, and how.

use std::io::{IsTerminal as _, Write as _};

use serde_json::Value;

use crate::args::Format;
use crate::failure::Failure;

/// Prints text as it is.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a document for programs; names are one a line.
pub(crate) fn document(format: Format, document: &Value, names: &[String]) -> Result<(), Failure> {
    match format {
        Format::Json => print(&format!("{document:#}\n")),
        Format::Yaml => print(&yaml(document)?),
        Format::Name => print(&names.iter().map(|name| format!("{name}\n")).collect::<String>()),
    }
}

/// A document as YAML.
pub(crate) fn yaml(document: &Value) -> Result<String, Failure> {
    serde_saphyr::to_string(document).map_err(|error| Failure::Rollout(format!("writing YAML: {error}")))
}

/// Whether standard output is a terminal that may be coloured and redrawn.
pub(crate) fn is_lively() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A colour, if there are to be colours (<https://no-color.org>).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Red,
    Green,
    Cyan,
}

/// Text in a colour on a terminal, plain elsewhere.
pub(crate) fn coloured(colour: Colour, text: &str) -> String {
    let is_plain = !is_lively() || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_plain {
        return text.to_owned();
    }
    let code = match colour {
        Colour::Red => 31,
        Colour::Green => 32,
        Colour::Cyan => 36,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Text from the cluster without control characters, which could write over the screen.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
