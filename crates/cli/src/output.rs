//! What is printed, and how. Everything that this program prints goes through this module, because names, messages, and
//! annotations are text that other people chose.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::args::output::Format;
use crate::failure::Failure;
use crate::terminal::{clean, is_deceptive, tell, visible};

/// Prints text for people.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write(&visible(text))
}

/// Lines that are printed in the place of those before.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    rows: usize,
}

impl Drawn {
    /// Prints a text in their place, in as many lines of the terminal as it takes: nothing of it is cut off.
    pub(crate) fn redraw(&mut self, text: &str) -> Result<(), Failure> {
        let width = crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns)).max(20);
        write(&self.replaced(text, width))
    }

    /// Takes them away.
    pub(crate) fn erase(&mut self) -> Result<(), Failure> {
        if self.rows == 0 { Ok(()) } else { write(&self.cleared()) }
    }

    fn replaced(&mut self, text: &str, width: usize) -> String {
        let text = clean(text);
        let lines = textwrap::wrap(&text, width);
        let cleared = self.cleared();
        self.rows = lines.len();
        // A terminal that has become narrower must not wrap them again: they could not be taken back.
        format!("{cleared}\u{1b}[?7l{}\u{1b}[?7h", lines.join("\r\n"))
    }

    fn cleared(&mut self) -> String {
        let above = std::mem::take(&mut self.rows).saturating_sub(1);
        format!("\r\u{1b}[2K{}", "\u{1b}[A\u{1b}[2K".repeat(above))
    }
}

/// Prints text in which some lines are those of a comparison, in colours if they are on.
pub(crate) fn print_comparison(text: &str) -> Result<(), Failure> {
    let is_plain = !is_lively() || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_plain { print(text) } else { write(&text.lines().map(coloured).collect::<String>()) }
}

/// A line of a comparison (<https://no-color.org>).
fn coloured(line: &str) -> String {
    let shown = visible(line);
    let code = match line {
        _ if line.starts_with("--- ") || line.starts_with("+++ ") => return format!("{shown}\n"),
        _ if line.starts_with('-') => 31,
        _ if line.starts_with('+') => 32,
        _ if line.starts_with("@@") => 36,
        _ => return format!("{shown}\n"),
    };
    format!("\u{1b}[{code}m{shown}\u{1b}[0m\n")
}

/// Every byte that the program prints on standard output.
fn write(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Prints a document for programs; names are one a line.
pub(crate) fn document(format: &Format, document: &Value, names: &[String]) -> Result<(), Failure> {
    if let Some(line) = format.unmatched(document).filter(|_| !HAS_TOLD.swap(true, Ordering::Relaxed)) {
        tell(&format!("warning: {line}"));
    }
    match format {
        Format::Json => print(&json(&format!("{:#}\n", without_managers(document)))),
        Format::Yaml => {
            let document = without_managers(document);
            let yaml = yaml(&document)?;
            // YAML has no plain form for some of these characters, and JSON is YAML.
            let text = if yaml.chars().any(is_deceptive) { json(&format!("{document:#}\n")) } else { yaml };
            let is_first = !HAS_YAML.swap(true, Ordering::Relaxed);
            print(&if is_first { text } else { format!("---\n{text}") })
        }
        Format::Name => print(&names.iter().map(|name| format!("{name}\n")).collect::<String>()),
        Format::JsonPath(template) => print(&template.render(document)),
        Format::Columns(columns) => print(&columns.table(document)),
        // A verb with a wide table prints it.
        Format::Wide => Ok(()),
    }
}

/// Prints one of many documents that follow each other: of JSON, each has a line.
pub(crate) fn event(format: &Format, value: &Value, names: &[String]) -> Result<(), Failure> {
    match format {
        Format::Json => print(&json(&format!("{value}\n"))),
        _ => document(format, value, names),
    }
}

/// A document without `metadata.managedFields`, which kubectl leaves out, too.
fn without_managers(document: &Value) -> Cow<'_, Value> {
    let mut shown = Cow::Borrowed(document);
    if document.pointer("/metadata/managedFields").is_some()
        && let Some(metadata) = shown.to_mut().get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.retain(|key, _| key != "managedFields");
    }
    shown
}

/// Whether a path was named that leads nowhere: of many documents, the next ones have no other fields.
static HAS_TOLD: AtomicBool = AtomicBool::new(false);

/// Whether a document of YAML was printed: the next one begins with a separator.
static HAS_YAML: AtomicBool = AtomicBool::new(false);

/// Text of JSON, in which what could deceive on a terminal is written as JSON escapes it: programs read the same.
fn json(text: &str) -> String {
    let escape = |letter: char| {
        if is_deceptive(letter) { format!("\\u{:04x}", u32::from(letter)) } else { letter.to_string() }
    };
    text.chars().map(escape).collect()
}

/// A document as YAML.
pub(crate) fn yaml(document: &Value) -> Result<String, Failure> {
    serde_saphyr::to_string(document).map_err(|error| Failure::Rollout(format!("writing YAML: {error}")))
}

/// Whether standard output is a terminal that may be coloured and redrawn.
pub(crate) fn is_lively() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_colored_and_deceives_nobody() {
        assert_eq!(coloured("-image: \u{1b}[0m"), "\u{1b}[31m-image: \\u{1b}[0m\u{1b}[0m\n");
        assert_eq!(coloured("--- revision 6"), "--- revision 6\n");
    }

    #[test]
    fn a_line_that_does_not_fit_takes_more_lines_and_all_are_taken_back() {
        let mut drawn = Drawn::default();
        assert_eq!(
            drawn.replaced("[··] 0/4 the cause", 12),
            "\r\u{1b}[2K\u{1b}[?7l[··] 0/4 the\r\ncause\u{1b}[?7h"
        );
        assert_eq!(drawn.replaced("short", 12), "\r\u{1b}[2K\u{1b}[A\u{1b}[2K\u{1b}[?7lshort\u{1b}[?7h");
        assert_eq!(drawn.cleared(), "\r\u{1b}[2K");
    }

    #[test]
    fn an_object_has_no_managers_as_in_kubectl() {
        let object = |metadata: Value| json!({"kind": "Deployment", "metadata": metadata});
        let managed = object(json!({"name": "web", "managedFields": [{"manager": "kubectl"}]}));
        assert_eq!(*without_managers(&managed), object(json!({"name": "web"})));
        assert_eq!(*without_managers(&json!(["no object"])), json!(["no object"]));
    }

    #[test]
    fn a_document_says_the_same_to_programs() {
        let deceptive = json!({"message": "a\u{9b}\u{7f}\u{202e}b \u{e4} \"\\", "key\u{2067}": "\u{1b}"});
        let text = json(&deceptive.to_string());
        assert_eq!(visible(&text), text);
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(deceptive.clone()));
        assert_eq!(serde_saphyr::from_str::<Value>(&text).ok(), Some(deceptive));
    }
}
