//! Label and field selectors.

use serde_json::Value;
use world::{Object, Refused, Resource};

/// A requirement on a label.
#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

/// Requirements on labels; all must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Labels(Vec<Requirement>);

impl Labels {
    pub(crate) fn parse(text: &str) -> Result<Self, Refused> {
        let terms = split(text).into_iter().filter(|term| !term.is_empty());
        terms.map(requirement).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|requirement| requirement.matches(object.label(&requirement.key)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let listed = |values: &[String]| value.is_some_and(|value| values.iter().any(|one| one == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.operator {
            Operator::In(values) => listed(values),
            Operator::NotIn(values) => !listed(values),
            Operator::Exists => value.is_some(),
            Operator::Absent => value.is_none(),
            Operator::Greater(bound) => number().is_some_and(|number| number > *bound),
            Operator::Less(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Terms, at the commas that are not within parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut terms) = (0, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.extend(text.get(start..));
    terms.into_iter().map(str::trim).collect()
}

fn requirement(term: &str) -> Result<Requirement, Refused> {
    let of = |key: &str, operator| Ok(Requirement { key: key.trim().to_owned(), operator });
    if let Some(key) = term.strip_prefix('!') {
        return of(key, Operator::Absent);
    }
    if let Some((key, value)) = term.split_once("!=") {
        return of(key, Operator::NotIn(vec![value.trim().to_owned()]));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return of(key, Operator::In(vec![value.trim().to_owned()]));
    }
    if let Some((key, bound)) = term.split_once('>') {
        return of(key, Operator::Greater(number(bound)?));
    }
    if let Some((key, bound)) = term.split_once('<') {
        return of(key, Operator::Less(number(bound)?));
    }
    let Some((head, values)) = term.split_once('(') else {
        return if term.contains(char::is_whitespace) {
            Err(unreadable(term))
        } else {
            of(term, Operator::Exists)
        };
    };
    let values = values.strip_suffix(')').ok_or_else(|| unreadable(term))?;
    let values = values.split(',').map(|value| value.trim().to_owned()).collect();
    match head.trim().split_once(char::is_whitespace).map(|(key, operator)| (key, operator.trim())) {
        Some((key, "in")) => of(key, Operator::In(values)),
        Some((key, "notin")) => of(key, Operator::NotIn(values)),
        _ => Err(unreadable(term)),
    }
}

fn number(text: &str) -> Result<i64, Refused> {
    text.trim().parse().map_err(|_| unreadable(text))
}

fn unreadable(term: &str) -> Refused {
    Refused::bad_request(format!(
        "unable to parse requirement: found '{term}', expected: a requirement on a label"
    ))
}

/// Requirements on fields; all must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields(Vec<(String, String, bool)>);

impl Fields {
    pub(crate) fn parse(resource: Resource, text: &str) -> Result<Self, Refused> {
        let mut requirements = Vec::new();
        for term in text.split(',').map(str::trim).filter(|term| !term.is_empty()) {
            let (is_equal, parts) = match term.split_once("!=") {
                Some(parts) => (false, Some(parts)),
                None => (true, term.split_once("==").or_else(|| term.split_once('='))),
            };
            let Some((field, value)) = parts else {
                return Err(Refused::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                )));
            };
            if !is_supported(resource, field) {
                return Err(unsupported(resource, field));
            }
            requirements.push((field.to_owned(), value.to_owned(), is_equal));
        }
        Ok(Self(requirements))
    }

    pub(crate) fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|(field, value, is_equal)| (value_of(object, field) == *value) == *is_equal)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn unsupported(resource: Resource, field: &str) -> Refused {
    let has_fields_of_its_own = matches!(
        resource,
        Resource::Pods | Resource::Events | Resource::Namespaces | Resource::Nodes | Resource::ReplicaSets
    );
    if resource == Resource::Deployments || has_fields_of_its_own {
        return Refused::bad_request(format!("field label not supported: {field}"));
    }
    let message =
        format!("\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
    Refused::bad_request(message)
}

fn is_supported(resource: Resource, field: &str) -> bool {
    const POD: [&str; 9] = [
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ];
    const EVENT: [&str; 11] = [
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ];
    if field == "metadata.name" || (field == "metadata.namespace" && resource.is_namespaced()) {
        return true;
    }
    match resource {
        Resource::Pods => POD.contains(&field),
        Resource::Events => EVENT.contains(&field),
        Resource::Namespaces => field == "status.phase",
        Resource::Nodes => field == "spec.unschedulable",
        Resource::ReplicaSets => field == "status.replicas",
        _ => false,
    }
}

fn value_of(object: &Object, field: &str) -> String {
    let (first, rest) = field.split_once('.').unwrap_or((field, ""));
    let pointer = || format!("/{}", rest.replace('.', "/"));
    let value = match first {
        "metadata" => object.metadata.pointer(&pointer()),
        "spec" => object.spec.pointer(&pointer()),
        "status" => object.status.pointer(&pointer()),
        "source" => object.rest.get("source").and_then(|source| source.get("component")),
        _ if rest.is_empty() => object.rest.get(first),
        _ => object.rest.get(first).and_then(|part| part.pointer(&pointer())),
    };
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None if field.ends_with("hostNetwork") || field.ends_with("unschedulable") => {
            "false".to_owned()
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Object {
        let value = serde_json::json!({
            "metadata": { "name": "a", "labels": { "app": "web", "n": "3" } }, "status": { "phase": "Running" },
        });
        Object::from_value(Resource::Pods, value)
    }

    #[test]
    fn labels() {
        let cases = [
            ("app=web", true),
            ("app==web,n=3", true),
            ("app!=web", false),
            ("other!=web", true),
            ("app in (db, web),n", true),
            ("app notin (db,web)", false),
            ("!app", false),
            ("!other", true),
            ("n>2,n<4", true),
            ("", true),
        ];
        for (text, expected) in cases {
            assert_eq!(Labels::parse(text).unwrap().matches(&object()), expected, "{text}");
        }
        for text in ["app in web", "app in (web", "n>x", "a b"] {
            assert!(Labels::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fields() {
        let parse = |text| Fields::parse(Resource::Pods, text);
        for (text, expected) in
            [("metadata.name=a,status.phase!=Failed", true), ("status.phase=Failed", false)]
        {
            assert_eq!(parse(text).unwrap().matches(&object()), expected, "{text}");
        }
        assert_eq!(parse("spec.color=red").unwrap_err().message, "field label not supported: spec.color");
    }
}
