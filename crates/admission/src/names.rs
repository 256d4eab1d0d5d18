//! The forms of names, label keys, and label values, and the server's errors for others.

/// The longest DNS subdomain.
const MAX_SUBDOMAIN: usize = 253;
/// The longest label value, and the longest name part of a label key.
const MAX_LABEL: usize = 63;

const SUBDOMAIN_HELP: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
    '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS_LABEL_HELP: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
    must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const KEY_HELP: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_HELP: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
    used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// What is wrong with a name that has to be a DNS subdomain: those of Deployments, `ReplicaSets`
/// and Pods.
#[must_use]
pub fn subdomain(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > MAX_SUBDOMAIN {
        wrong.push(format!("must be no more than {MAX_SUBDOMAIN} characters"));
    }
    if !is_subdomain(name) {
        wrong.push(SUBDOMAIN_HELP.to_owned());
    }
    wrong
}

/// What is wrong with a name that has to be a DNS label: those of namespaces and containers.
#[must_use]
pub fn dns_label(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.len() > MAX_LABEL {
        wrong.push(format!("must be no more than {MAX_LABEL} characters"));
    }
    if !is_dns_label(name) {
        let help = if is_subdomain(name) { "must not contain dots" } else { DNS_LABEL_HELP };
        wrong.push(help.to_owned());
    }
    wrong
}

/// What is wrong with a prefix to which the server adds five characters.
pub(crate) fn generated(prefix: &str) -> Vec<String> {
    // A dash at its end is fine, since more follows.
    let masked = match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        _ => prefix.to_owned(),
    };
    subdomain(&masked)
}

/// What is wrong with the key of a label.
#[must_use]
pub fn label_key(key: &str) -> Vec<String> {
    let parts: Vec<&str> = key.split('/').collect();
    let mut wrong = Vec::new();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrong.push("prefix part must be non-empty".to_owned());
            } else {
                // Here the server counts in bytes.
                let long = (prefix.len() > MAX_SUBDOMAIN).then(|| too_long(MAX_SUBDOMAIN));
                let odd = (!is_subdomain(prefix)).then(|| SUBDOMAIN_HELP.to_owned());
                wrong.extend(long.into_iter().chain(odd).map(|text| format!("prefix part {text}")));
            }
            name
        }
        _ => {
            let help = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {KEY_HELP} {help}")];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_LABEL {
        wrong.push(format!("name part {}", too_long(MAX_LABEL)));
    }
    if !is_label_name(name) {
        wrong.push(format!("name part {KEY_HELP}"));
    }
    wrong
}

/// What is wrong with the value of a label.
#[must_use]
pub fn label_value(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > MAX_LABEL {
        wrong.push(too_long(MAX_LABEL));
    }
    if !value.is_empty() && !is_label_name(value) {
        wrong.push(VALUE_HELP.to_owned());
    }
    wrong
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

fn is_subdomain(name: &str) -> bool {
    name.split('.').all(is_dns_label)
}

/// Letters, digits and dashes, without a dash at either end; of any length.
fn is_dns_label(label: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    enclosed(label, plain, |byte| plain(byte) || byte == b'-')
}

fn is_label_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric();
    enclosed(name, plain, |byte| plain(byte) || matches!(byte, b'-' | b'_' | b'.'))
}

/// Whether a text is not empty and has these characters at its ends and those between.
fn enclosed(text: &str, ends: impl Fn(u8) -> bool, between: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|byte| ends(*byte))
        && bytes.last().is_some_and(|byte| ends(*byte))
        && bytes.iter().all(|byte| between(*byte))
}
