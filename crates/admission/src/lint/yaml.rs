//! YAML as kubectl reads it, with the line of every field.
//!
//! kubectl turns YAML into JSON by the rules of YAML 1.1 (`yes` is a truth value, `010` is 8), and so
//! does this; libraries for YAML 1.2 read these otherwise. Positions are those of the parser.

use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};
use serde_json::{Map, Number, Value};

/// How deep values may be nested.
const DEPTH_MAX: usize = 100;
/// How many values aliases may add to a document.
const ALIASED_MAX: usize = 100_000;

/// One document of a file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    pub(crate) lines: Lines,
    /// Fields that are there twice, with the line of the second.
    pub(crate) duplicates: Vec<(String, usize)>,
}

/// Where fields are.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    first: usize,
    by_path: BTreeMap<String, usize>,
}

/// A text that is not YAML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) line: usize,
    pub(crate) problem: String,
}

impl Lines {
    /// The line of a field, or of the nearest one around it that is there.
    pub(crate) fn of(&self, path: &str) -> usize {
        let mut path = path;
        loop {
            if let Some(line) = self.by_path.get(path) {
                return *line;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = path.get(..end).unwrap_or_default(),
                None => return self.first,
            }
        }
    }
}

/// A list or map that is being read.
enum Open {
    List(Vec<Value>),
    /// Entries; the key for the value that comes next; keys that were written here and not merged.
    Map(Map<String, Value>, Option<String>, BTreeSet<String>),
}

struct Frame {
    open: Open,
    path: String,
    anchor: usize,
}

#[derive(Default)]
struct Reader {
    frames: Vec<Frame>,
    anchors: BTreeMap<usize, Value>,
    aliased: usize,
    lines: Lines,
    duplicates: Vec<(String, usize)>,
    done: Option<Value>,
}

/// All documents up to the end, or up to the first mistake.
pub(crate) fn read(text: &str) -> (Vec<Document>, Option<Malformed>) {
    let mut documents = Vec::new();
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let malformed = Malformed { line: error.marker().line(), problem: error.info().to_owned() };
                return (documents, Some(malformed));
            }
        };
        if let Event::DocumentStart(_) = event {
            reader = Reader::default();
        } else if let Event::DocumentEnd = event {
            let Reader { done, lines, duplicates, .. } = std::mem::take(&mut reader);
            if let Some(value) = done.filter(|value| !value.is_null()) {
                documents.push(Document { value, lines, duplicates });
            }
        } else if let Err(problem) = reader.take(event, span) {
            return (documents, Some(Malformed { line: span.start.line(), problem }));
        }
    }
    (documents, None)
}

impl Reader {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), String> {
        let line = span.start.line();
        match event {
            Event::MappingStart(anchor, _) => {
                self.open(Open::Map(Map::new(), None, BTreeSet::new()), anchor, line)
            }
            Event::SequenceStart(anchor, _) => self.open(Open::List(Vec::new()), anchor, line),
            Event::MappingEnd | Event::SequenceEnd => {
                let Some(frame) = self.frames.pop() else { return Ok(()) };
                let value = match frame.open {
                    Open::List(items) => Value::Array(items),
                    Open::Map(entries, _, _) => Value::Object(entries),
                };
                if frame.anchor > 0 {
                    self.anchors.insert(frame.anchor, value.clone());
                }
                self.put(value)
            }
            Event::Scalar(text, style, anchor, tag) => {
                if let Some(path) = self.key(&text, style) {
                    self.start_entry(&text, style, path, line);
                    return Ok(());
                }
                self.note(line);
                let value = scalar(&text, style, tag.as_deref());
                if anchor > 0 {
                    self.anchors.insert(anchor, value.clone());
                }
                self.put(value)
            }
            Event::Alias(anchor) => {
                self.note(line);
                let value = self.anchors.get(&anchor).cloned().ok_or("unknown anchor")?;
                self.aliased = self.aliased.saturating_add(size(&value));
                if self.aliased > ALIASED_MAX {
                    return Err("document contains excessive aliasing".to_owned());
                }
                self.put(value)
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, open: Open, anchor: usize, line: usize) -> Result<(), String> {
        if self.frames.len() >= DEPTH_MAX {
            return Err(format!("nested more than {DEPTH_MAX} deep"));
        }
        self.note(line);
        let path = self.path();
        self.frames.push(Frame { open, path, anchor });
        Ok(())
    }

    /// Path of the value that comes next.
    fn path(&self) -> String {
        let Some(Frame { open, path, .. }) = self.frames.last() else { return String::new() };
        match open {
            Open::List(items) => format!("{path}[{}]", items.len()),
            Open::Map(_, key, _) => join(path, key.as_deref().unwrap_or_default()),
        }
    }

    /// Values have the line of their key; those without one their own.
    fn note(&mut self, line: usize) {
        if self.frames.is_empty() {
            self.lines.first = line;
        }
        let path = self.path();
        self.lines.by_path.entry(path).or_insert(line);
    }

    /// The path of an entry, if a key comes next.
    fn key(&self, text: &str, style: ScalarStyle) -> Option<String> {
        match self.frames.last() {
            Some(Frame { open: Open::Map(_, None, _), path, .. }) => Some(join(path, &key(text, style))),
            _ => None,
        }
    }

    fn start_entry(&mut self, text: &str, style: ScalarStyle, path: String, line: usize) {
        let name = key(text, style);
        if let Some(Frame { open: Open::Map(_, next, written), .. }) = self.frames.last_mut() {
            if !is_merge(&name) && !written.insert(name.clone()) {
                self.duplicates.push((path.clone(), line));
            }
            *next = Some(name);
        }
        self.lines.by_path.insert(path, line);
    }

    /// Puts a value where it belongs.
    fn put(&mut self, value: Value) -> Result<(), String> {
        match self.frames.last_mut().map(|frame| &mut frame.open) {
            None => self.done = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Map(entries, next, written)) => {
                let name = next.take().ok_or("a key must be a text")?;
                if is_merge(&name) {
                    merge(entries, value, written)?;
                } else {
                    entries.insert(name, value);
                }
            }
        }
        Ok(())
    }
}

fn is_merge(name: &str) -> bool {
    name == "<<"
}

/// `<<`: the entries of other maps, as far as they are not written here.
fn merge(entries: &mut Map<String, Value>, value: Value, written: &BTreeSet<String>) -> Result<(), String> {
    match value {
        Value::Object(other) => {
            for (name, value) in other {
                if !written.contains(&name) {
                    entries.entry(name).or_insert(value);
                }
            }
            Ok(())
        }
        Value::Array(others) => others.into_iter().try_for_each(|other| merge(entries, other, written)),
        _ => Err("map merge requires map or sequence of maps as the value".to_owned()),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// How many values there are in a value.
fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(size).sum::<usize>().saturating_add(1),
        Value::Object(entries) => entries.values().map(size).sum::<usize>().saturating_add(1),
        _ => 1,
    }
}

/// A key is a text in JSON, whatever it is in YAML.
fn key(text: &str, style: ScalarStyle) -> String {
    match scalar(text, style, None) {
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        _ => text.to_owned(),
    }
}

/// By the rules of YAML 1.1, as Go's `yaml.v2` reads it.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return Value::from(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    if !text.starts_with(['+', '-', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']) {
        return Value::from(text);
    }
    let plain = text.replace('_', "");
    integer(&plain).or_else(|| float(&plain)).map_or_else(|| Value::from(text), Value::Number)
}

fn integer(text: &str) -> Option<Number> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..)?),
        Some("0b") => (2, lower.get(2..)?),
        Some("0o") => (8, lower.get(2..)?),
        Some(start) if start.starts_with('0') => (8, lower.get(1..)?),
        _ => (10, lower.as_str()),
    };
    // A second sign would pass.
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    if is_negative { Some(Number::from(0_i64.checked_sub_unsigned(size)?)) } else { Some(Number::from(size)) }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn float(text: &str) -> Option<Number> {
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if !text.chars().all(is_part) || !text.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    Number::from_f64(text.parse().ok()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]
mod tests {
    use serde_json::json;

    use super::{Malformed, read};

    #[test]
    fn scalars_are_what_kubectl_makes_of_them() {
        let text = "[yes, Off, n, 'yes', !!str 5, 010, 0x1F, 0o17, 1_000, -3, +7, 1.5, .5, 1e3, 25%, ~, \
                    null, '', 1.2.3, 10Gi, 2024-01-01, 09, 08.5]";
        let (documents, malformed) = read(text);
        assert_eq!(malformed, None);
        let wanted = json!([
            true,
            false,
            false,
            "yes",
            "5",
            8,
            31,
            15,
            1000,
            -3,
            7,
            1.5,
            0.5,
            1000.0,
            "25%",
            null,
            null,
            "",
            "1.2.3",
            "10Gi",
            "2024-01-01",
            9.0,
            8.5
        ]);
        assert_eq!(documents[0].value, wanted);
    }

    #[test]
    fn every_field_has_its_line() {
        let text = "# first\na: 1\nb:\n  c:\n  - x: 1\n    w: 2\n  - z\n---\n---\nd: {e: 1,\n  f: 2}\n";
        let (documents, _) = read(text);
        assert_eq!(documents.len(), 2, "an empty one is none");
        let line = |path: &str| documents[0].lines.of(path);
        let wanted = [("a", 2), ("b", 3), ("b.c", 4), ("b.c[0]", 5), ("b.c[0].w", 6), ("b.c[1]", 7)];
        for (path, expected) in wanted {
            assert_eq!(line(path), expected, "{path}");
        }
        assert_eq!(line("b.c[1].absent.deep"), 7, "the nearest around it");
        assert_eq!(line("absent"), 2);
        assert_eq!(documents[1].lines.of("d.f"), 11);
    }

    #[test]
    fn anchors_and_merges_are_followed_within_bounds() {
        let (documents, _) = read("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}\nc: *x\n");
        let wanted = json!({"a": {"p": 1, "q": 2}, "b": {"p": 1, "q": 3}, "c": {"p": 1, "q": 2}});
        assert_eq!(documents[0].value, wanted);
        let mut text = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for n in 1..8 {
            let before = n - 1;
            text += &format!("a{n}: &a{n} [{}]\n", vec![format!("*a{before}"); 10].join(","));
        }
        let (_, malformed) = read(&text);
        assert_eq!(malformed.unwrap().problem, "document contains excessive aliasing");
        let (_, malformed) = read(&"[".repeat(5000));
        assert!(malformed.is_some());
    }

    #[test]
    fn mistakes_have_a_line_too() {
        let (documents, malformed) = read("a: 1\na: 2\n---\nb: [1\nc: }\n");
        assert_eq!(documents[0].duplicates, [("a".to_owned(), 2)]);
        assert!(matches!(malformed, Some(Malformed { line: 4..=5, .. })), "{malformed:?}");
    }
}
