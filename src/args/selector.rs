//! The labels of a shard's namespaces, in the syntax of kubectl.

use std::fmt;

use plan::Map;
use plan::selector::{LabelSelector, Requirement};
use sha2::{Digest as _, Sha256};

/// So much of the digest is in the name of a lease.
const DIGEST_LENGTH: usize = 10;

/// The namespaces of a shard. Two selectors that mean the same in other words are equal, and are written the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector(LabelSelector);

impl Selector {
    /// Reads one such as `shard=a,tier in (gold,silver),!legacy`.
    ///
    /// # Errors
    /// What is wrong with it, and what would be right; the name of the flag comes from who asks.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is empty; name labels, such as shard=a, or leave it out to manage all \
                        namespaces"
                .to_owned());
        }
        let mut requirements = split(text)?.into_iter().map(requirement).collect::<Result<Vec<_>, _>>()?;
        requirements.sort_by(|a, b| (&a.key, &a.operator, &a.values).cmp(&(&b.key, &b.operator, &b.values)));
        requirements.dedup();
        Ok(Self(LabelSelector { match_labels: Map::new(), match_expressions: requirements }))
    }

    /// Whether a namespace with these labels is one of them.
    pub(crate) fn matches(&self, labels: &Map) -> bool {
        self.0.matches(labels)
    }

    /// The name of the lease that the operators of this shard share, unless another is given.
    pub(crate) fn lease_name(&self, stem: &str) -> String {
        // As the chart makes it, which knows the selector only as it is written.
        let text: String = self.to_string().split_whitespace().collect();
        let digest = Sha256::digest(text);
        let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{stem}-{}", digits.chars().take(DIGEST_LENGTH).collect::<String>())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for Requirement { key, operator, values } in &self.0.match_expressions {
            f.write_str(separator)?;
            match (operator.as_str(), values.as_slice()) {
                ("In", [value]) => write!(f, "{key}={value}")?,
                ("NotIn", [value]) => write!(f, "{key}!={value}")?,
                ("In", values) => write!(f, "{key} in ({})", values.join(","))?,
                ("NotIn", values) => write!(f, "{key} notin ({})", values.join(","))?,
                ("Exists", _) => f.write_str(key)?,
                _ => write!(f, "!{key}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

/// The terms, which commas outside of parentheses separate.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut is_open, mut start, mut terms) = (false, 0, Vec::new());
    for (at, character) in text.char_indices() {
        match character {
            '(' if is_open => return Err("there is a ( within (…); close the first one before".to_owned()),
            ')' if !is_open => return Err("there is a ) without its (".to_owned()),
            '(' => is_open = true,
            ')' => is_open = false,
            ',' if !is_open => {
                terms.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    if is_open {
        return Err("there is a ( without its )".to_owned());
    }
    terms.extend(text.get(start..));
    Ok(terms.into_iter().map(str::trim).collect())
}

fn requirement(term: &str) -> Result<Requirement, String> {
    let (name, operator, values) = parts(term)?;
    let mut values: Vec<String> = values.into_iter().map(|value| value.trim().to_owned()).collect();
    values.sort();
    values.dedup();
    key(name.trim())?;
    values.iter().try_for_each(|text| value(text))?;
    Ok(Requirement { key: name.trim().to_owned(), operator: operator.to_owned(), values })
}

/// Key, operator and values of a term.
fn parts(term: &str) -> Result<(&str, &'static str, Vec<&str>), String> {
    if term.is_empty() {
        return Err("there is nothing between two commas, or at an end; take the comma out".to_owned());
    }
    if let Some(key) = term.strip_prefix('!') {
        return Ok((key, "DoesNotExist", Vec::new()));
    }
    if let Some((head, values)) = term.split_once('(') {
        let Some(values) = values.strip_suffix(')').filter(|values| !values.trim().is_empty()) else {
            return Err(format!("{term:?} must end with its values: key in (a,b)"));
        };
        let values = values.split(',').collect();
        return match head.trim().rsplit_once(char::is_whitespace) {
            Some((key, "in")) => Ok((key, "In", values)),
            Some((key, "notin")) => Ok((key, "NotIn", values)),
            _ => Err(format!("{term:?} must be key in (a,b) or key notin (a,b)")),
        };
    }
    if let Some((key, value)) = term.split_once("!=") {
        return Ok((key, "NotIn", vec![value]));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return Ok((key, "In", vec![value]));
    }
    if term.contains(['<', '>']) {
        return Err(format!("{term:?} compares by size, which only nodes are selected by; use in (…)"));
    }
    Ok((term, "Exists", Vec::new()))
}

fn key(text: &str) -> Result<(), String> {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let is_prefix = |prefix: &str| {
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_part = |part: &str| {
            !part.is_empty() && part.chars().all(is_inner) && !part.starts_with('-') && !part.ends_with('-')
        };
        prefix.len() <= 253 && prefix.split('.').all(is_part)
    };
    if !name.is_empty() && is_name(name) && prefix.is_none_or(is_prefix) {
        return Ok(());
    }
    Err(format!(
        "{text:?} is no key of a label: at most 63 letters, digits, '-', '_' and '.', with a letter or \
         digit at either end, after a domain and '/' if you like. Write key=value, key!=value, \
         key in (a,b), key notin (a,b), key or !key, with commas between them"
    ))
}

fn value(text: &str) -> Result<(), String> {
    if is_name(text) {
        return Ok(());
    }
    Err(format!(
        "{text:?} is no value of a label: at most 63 letters, digits, '-', '_' and '.', with a letter or \
         digit at either end"
    ))
}

/// What a value may be, and with something in it a key.
fn is_name(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_end = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let mut characters = text.chars();
    text.len() <= 63
        && text.chars().all(is_inner)
        && is_end(characters.next())
        && is_end(text.chars().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Selector::parse(text).expect(text).to_string()
    }

    #[test]
    fn one_meaning_is_written_one_way() {
        for (text, expected) in [
            ("shard=a", "shard=a"),
            (" shard == a ", "shard=a"),
            ("shard in (a)", "shard=a"),
            ("shard in (b, a ,b)", "shard in (a,b)"),
            ("shard notin (a)", "shard!=a"),
            ("z,!a,m!=1", "!a,m!=1,z"),
            ("shard=a,shard=a", "shard=a"),
            ("example.com/shard=", "example.com/shard="),
            ("shard  in(a,b)", "shard in (a,b)"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
            assert_eq!(canonical(expected), expected);
        }
    }

    #[test]
    fn what_matches_is_as_with_kubectl() {
        let labels = |pairs: &[(&str, &str)]| -> Map {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let (a, none) = (labels(&[("shard", "a"), ("tier", "gold")]), labels(&[]));
        for (text, of_a, of_none) in [
            ("shard=a", true, false),
            ("shard=b", false, false),
            ("shard!=a", false, true),
            ("shard!=b", true, true),
            ("shard", true, false),
            ("!shard", false, true),
            ("shard in (a,b)", true, false),
            ("shard notin (a,b)", false, true),
            ("shard=a,tier=gold", true, false),
            ("shard=a,!tier", false, false),
        ] {
            let selector = Selector::parse(text).expect(text);
            assert_eq!((selector.matches(&a), selector.matches(&none)), (of_a, of_none), "{text}");
        }
    }

    #[test]
    fn each_shard_has_a_lease_of_its_own() {
        let name = |text: &str| Selector::parse(text).expect(text).lease_name("rollwright");
        // What `printf %s shard=a | sha256sum` begins with.
        assert_eq!(name("shard=a"), "rollwright-3d8dfb268d");
        assert_eq!(name("shard==a"), name("shard in (a)"));
        assert_ne!(name("shard=a"), name("shard=b"));
        assert_ne!(name("shard=a"), name("!shard"));
    }
}
