//! `-o jsonpath=…`: kubectl's templates of `JSONPath`. A library reads and evaluates the paths by RFC 9535. This module
//! reads what kubectl puts around them, and writes kubectl's spellings of names as the RFC has them.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json_path::JsonPath;

/// Text, paths, and loops.
#[derive(Clone, Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Path(JsonPath),
    /// `{range PATH}…{end}`.
    Range(JsonPath, Vec<Piece>),
}

impl Template {
    /// Reads a template. One without braces is a path.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('{') {
            return Ok(Self(vec![Piece::Path(path(text)?)]));
        }
        let mut open: Vec<(JsonPath, Vec<Piece>)> = Vec::new();
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let end = outside_quotes(after, '}').ok_or_else(|| format!("\"{{{after}\" lacks its }}"))?;
            let (inner, after) = after.split_at(end);
            rest = after.get(1..).unwrap_or_default();
            match inner.trim() {
                "end" => {
                    let (over, outer) = open.pop().ok_or("{end} has no {range …} before it")?;
                    let inner = std::mem::replace(&mut pieces, outer);
                    pieces.push(Piece::Range(over, inner));
                }
                loops if loops.starts_with("range ") => {
                    let over = path(loops.trim_start_matches("range "))?;
                    open.push((over, std::mem::take(&mut pieces)));
                }
                quoted if quoted.starts_with(['"', '\'']) => pieces.push(Piece::Text(unquoted(quoted)?)),
                one if one.starts_with('$') && !open.is_empty() => {
                    return Err(format!("{{{one}}} begins at the root, which a {{range …}} cannot"));
                }
                one => pieces.push(Piece::Path(path(one)?)),
            }
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        if open.is_empty() { Ok(Self(pieces)) } else { Err("{range …} lacks its {end}".to_owned()) }
    }

    /// The first path that leads to no field, in words.
    pub(crate) fn unmatched(&self, document: &Value) -> Option<String> {
        all_unmatched(&self.0, &[document])
    }

    /// What it makes of a document.
    pub(crate) fn render(&self, document: &Value) -> String {
        rendered(&self.0, document)
    }
}

fn rendered(pieces: &[Piece], value: &Value) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Path(path) => shown(path, value).join(" "),
        Piece::Range(over, inner) => {
            over.query(value).all().iter().map(|item| rendered(inner, item)).collect()
        }
    };
    pieces.iter().map(piece).collect()
}

fn all_unmatched(pieces: &[Piece], values: &[&Value]) -> Option<String> {
    pieces.iter().find_map(|piece| match piece {
        Piece::Text(_) => None,
        Piece::Path(path) => unmatched(path, values),
        Piece::Range(over, inner) => unmatched(over, values).or_else(|| {
            let items: Vec<&Value> = values.iter().flat_map(|value| over.query(value).all()).collect();
            all_unmatched(inner, &items)
        }),
    })
}

/// The first name in a path that no value has where the path leads to objects, and the names that these have. A list
/// that is empty, a filter, and a null are no reason to wonder.
pub(crate) fn unmatched(path: &JsonPath, values: &[&Value]) -> Option<String> {
    let found = |path: &JsonPath| values.iter().flat_map(|value| path.query(value).all()).collect::<Vec<_>>();
    let whole = path.to_string();
    for (end, _) in whole.match_indices("']") {
        let (to, _) = whole.split_at(end + 2);
        let from = to.rfind("['").and_then(|start| JsonPath::parse(to.get(..start)?).ok());
        let (Some(from), Ok(path)) = (from, JsonPath::parse(to)) else { continue };
        if !found(&path).is_empty() {
            continue;
        }
        let objects = found(&from).into_iter().filter_map(Value::as_object);
        let known: BTreeSet<&str> = objects.flat_map(|object| object.keys().map(String::as_str)).collect();
        let known: Vec<&str> = known.into_iter().collect();
        let name = to.trim_start_matches('$').replace("['", ".").replace("']", "");
        return (!known.is_empty())
            .then(|| format!("the document has no field {name}; there are: {}", known.join(", ")));
    }
    None
}

/// What a path finds, each as text: a string as it is, and anything else as JSON.
pub(crate) fn shown(path: &JsonPath, value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    path.query(value).all().into_iter().map(text).collect()
}

/// Reads one path in kubectl's spelling: `.items[*].metadata.labels.app\.kubernetes\.io/name`.
pub(crate) fn path(text: &str) -> Result<JsonPath, String> {
    let spelled = spelled(text.trim())?;
    JsonPath::parse(&spelled).map_err(|error| format!("the path {text} cannot be read: {error}"))
}

/// The path as RFC 9535 spells it: `$['items'][*]['metadata']`.
fn spelled(path: &str) -> Result<String, String> {
    let mut spelled = String::from("$");
    let mut rest = path.strip_prefix(['$', '@']).unwrap_or(path);
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let end = outside_quotes(inner, ']').ok_or_else(|| format!("\"{rest}\" lacks its ]"))?;
            let (inner, after) = inner.split_at(end);
            // kubectl wants a backslash before a dot in quotes, too.
            spelled.push_str(&format!("[{}]", inner.replace("\\.", ".")));
            rest = after.get(1..).unwrap_or_default();
            continue;
        }
        let is_deep = rest.starts_with("..");
        rest = rest.trim_start_matches('.');
        if is_deep {
            spelled.push_str("..");
        }
        let (name, after) = name(rest);
        rest = after;
        match name.as_str() {
            "" => {}
            "*" => spelled.push_str("[*]"),
            name => spelled.push_str(&format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))),
        }
    }
    Ok(spelled)
}

/// The name at the beginning, in which a backslash makes the next letter part of it, and what follows.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((place, letter)) = letters.next() {
        match letter {
            '.' | '[' => return (name, text.get(place..).unwrap_or_default()),
            '\\' => name.extend(letters.next().map(|(_, next)| next)),
            _ => name.push(letter),
        }
    }
    (name, "")
}

/// Where a bracket ends: outside quotes, and outside brackets that begin inside.
fn outside_quotes(text: &str, end: char) -> Option<usize> {
    let (mut quote, mut depth, mut is_escaped) = (None, 0_usize, false);
    for (place, letter) in text.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match (quote, letter) {
            (_, '\\') => is_escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, letter) if letter == end && depth == 0 => return Some(place),
            (None, '[') => depth += 1,
            (None, ']') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
    }
    None
}

/// `"\n"` and the like.
fn unquoted(quoted: &str) -> Result<String, String> {
    let wrong = || format!("{{{quoted}}} must be a text in quotes, such as {{\"\\n\"}}");
    let quote = quoted.chars().next().ok_or_else(wrong)?;
    let inner = quoted.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).ok_or_else(wrong)?;
    let mut text = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.push(match letters.next().ok_or_else(wrong)? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            _ if letter == quote => return Err(wrong()),
            _ => text.push(letter),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({"items": [
            {"name": "web", "ready": 2, "labels": {"app.kubernetes.io/name": "w"}, "ports": [80, 443],
             "conditions": [{"type": "Available", "status": "True"}, {"type": "Stalled", "status": "False"}]},
            {"name": "db", "ready": 0, "labels": {"app.kubernetes.io/name": "d"}, "ports": []},
        ]})
    }

    fn rendered(template: &str) -> Result<String, String> {
        Template::parse(template).map(|template| template.render(&document()))
    }

    #[test]
    fn templates_of_kubectl_are_understood() {
        for (template, shown) in [
            ("{.items[*].name}", "web db"),
            (".items[0].ready", "2"),
            ("{.items[-1:].name}", "db"),
            ("{$.items[0]['name']}", "web"),
            ("{.items[0]['name','ready']}", "web 2"),
            ("{.items[0].ports}", "[80,443]"),
            ("{..status}", "True False"),
            ("{.items[0].labels.app\\.kubernetes\\.io/name}", "w"),
            ("{.items[1].labels['app\\.kubernetes\\.io/name']}", "d"),
            ("{.items[?(@.ready==0)].name}", "db"),
            ("{.items[0].conditions[?(@.type==\"Stalled\")].status}", "False"),
            ("{range .items[*]}{.name}{\"\\t\"}{@.ready}{'\\n'}{end}", "web\t2\ndb\t0\n"),
            ("{range .items[*]}{range .ports[*]}{@},{end};{end}", "80,443,;;"),
            ("name: {.items[0].name}!", "name: web!"),
            ("{.absent.member}", ""),
        ] {
            assert_eq!(rendered(template).as_deref(), Ok(shown), "{template}");
        }
    }

    #[test]
    fn a_name_that_leads_nowhere_is_named_with_those_that_there_are() {
        let told = |template: &str| Template::parse(template).unwrap().unmatched(&document());
        let none =
            |name: &str, known: &str| Some(format!("the document has no field {name}; there are: {known}"));
        let known = "conditions, labels, name, ports, ready";
        assert_eq!(told("{.items[*].name} {.metadata.name}"), none(".metadata", "items"));
        assert_eq!(told("{range .items[*]}{.name}{.metadata.name}{end}"), none(".metadata", known));
        assert_eq!(
            told("{.items[?(@.ready==0)].labels.app}"),
            none(".items[?(@.ready==0)].labels.app", "app.kubernetes.io/name")
        );
        for silent in ["{.items[0].name}", "{.items[?(@.ready==7)].x}", "{.items[1].ports[*].x}", "{..x}"] {
            assert_eq!(told(silent), None, "{silent}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (template, problem) in [
            ("{.items", "lacks its }"),
            ("{.items[0}", "lacks its }"),
            (".items[0", "lacks its ]"),
            ("{range .items[*]}{.name}", "{range …} lacks its {end}"),
            ("{end}", "{end} has no {range …} before it"),
            ("{\"open}", "lacks its }"),
            ("{range .items[*]}{$.name}{end}", "begins at the root"),
            ("{.items[?(@.a~\"b\")]}", "the path .items[?(@.a~\"b\")] cannot be read"),
            ("{.items[x]}", "cannot be read"),
        ] {
            let found = rendered(template).err().unwrap_or_default();
            assert!(found.contains(problem), "{template}: {found}");
        }
    }
}
