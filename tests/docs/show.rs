//! Sessions on a page: commands, what they should print, and whether they do.

/// Stands for anything.
const ANYTHING: &str = "…";

/// A command, and what the page shows below it.
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) expected: String,
}

/// The steps of a session.
pub(crate) fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (_, Some(step)) if continued => {
                step.command.push('\n');
                step.command.push_str(line);
                continued = line.ends_with('\\');
            }
            (Some(command), _) => {
                continued = command.ends_with('\\');
                steps.push(Step { command: command.to_owned(), expected: String::new() });
            }
            (None, Some(step)) => {
                step.expected.push_str(line);
                step.expected.push('\n');
            }
            (None, None) => return Err(format!("a session begins with `$ `, not with {line:?}")),
        }
    }
    Ok(steps)
}

/// Whether this is what the page shows. How wide columns are does not matter.
pub(crate) fn shows(expected: &str, said: &str) -> bool {
    let lines = |text: &str| -> Vec<String> {
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut lines: Vec<String> = text.lines().map(words).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    };
    let (expected, said) = (lines(expected), lines(said));
    matches(&expected, &said, |line| line == ANYTHING, |expected, said| fits(expected, said))
}

fn fits(expected: &str, said: &str) -> bool {
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    matches(&letters(expected), &letters(said), |letter| letter.to_string() == ANYTHING, |a, b| a == b)
}

/// Whether a pattern fits, with elements that stand for any number of others.
fn matches<T>(pattern: &[T], found: &[T], any: impl Fn(&T) -> bool, same: impl Fn(&T, &T) -> bool) -> bool {
    // Row by row: which beginnings of `found` the pattern so far fits.
    let mut fitting: Vec<bool> = (0..=found.len()).map(|length| length == 0).collect();
    for element in pattern {
        let mut next = vec![false; found.len() + 1];
        let mut before = false;
        for (length, slot) in next.iter_mut().enumerate() {
            let here = fitting.get(length).copied().unwrap_or_default();
            *slot = if any(element) {
                before || here
            } else {
                let last =
                    length.checked_sub(1).and_then(|last| Some((found.get(last)?, *fitting.get(last)?)));
                last.is_some_and(|(last, fitted)| fitted && same(element, last))
            };
            before = *slot;
        }
        fitting = next;
    }
    fitting.last().copied().unwrap_or_default()
}

/// Sessions that are as the page has them, and some that are not.
pub(crate) fn selftest() -> Result<(), String> {
    let cases = [
        ("a  b\n", "a b\n\n", true),
        ("a b", "a c", false),
        ("a …\n", "a b c", true),
        ("…/4", "3/4", true),
        ("…/4", "3/5", false),
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…\nd", "a\nd", true),
        ("a\n…", "b\nc", false),
        ("", "a", false),
    ];
    for (expected, said, fits) in cases {
        if shows(expected, said) != fits {
            return Err(format!("{said:?} on a page that says {expected:?}"));
        }
    }
    let steps = steps("$ a \\\n  b\nc\n$ d\n")?;
    match steps.as_slice() {
        [first, last]
            if first.command == "a \\\n  b" && first.expected == "c\n" && last.expected.is_empty() =>
        {
            Ok(())
        }
        _ => Err("two steps".to_owned()),
    }
}
