//! Requests and limits of containers, changed as `kubectl set resources` does.

use serde_json::{Map, Value};

use crate::containers;
use crate::failure::Failure;

/// Amounts by resource, for example cpu and memory.
pub(crate) type Amounts = Vec<(String, String)>;

/// Reads `cpu=200m,memory=512Mi`.
///
/// # Errors
/// When a part is not of this form; the flag is named.
pub(crate) fn amounts(flag: &str, text: &str) -> Result<Amounts, Failure> {
    let parts = text.split(',').map(|part| match part.split_once('=') {
        Some((name, amount)) if !name.is_empty() && is_quantity(amount) => {
            Ok((name.to_owned(), amount.to_owned()))
        }
        _ => Err(Failure::Usage(format!(
            "{flag}: \"{part}\" must be RESOURCE=AMOUNT, for example cpu=200m or memory=512Mi"
        ))),
    });
    parts.collect()
}

/// Digits with a suffix at most; the server reads them more closely.
fn is_quantity(text: &str) -> bool {
    let suffix = text.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let has_digits = text.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.');
    let exponent = suffix.strip_prefix(['e', 'E']).map(|rest| rest.strip_prefix(['-', '+']).unwrap_or(rest));
    let is_known = matches!(
        suffix,
        "" | "n" | "u" | "m" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei"
    );
    has_digits && (is_known || exponent.is_some_and(|digits| digits.parse::<u8>().is_ok()))
}

/// The operations that give all containers with a matching name these requests and limits; amounts that are not named
/// stay.
///
/// # Errors
/// When there is no such container.
pub(crate) fn patch(
    deployment: &Value,
    pattern: &str,
    requests: &Amounts,
    limits: &Amounts,
) -> Result<Vec<Value>, Failure> {
    let mut operations = Vec::new();
    for container in containers::matching(deployment, pattern)? {
        let before = container.body.get("resources").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut after = before.clone();
        merge(&mut after, "requests", requests);
        merge(&mut after, "limits", limits);
        if before != after {
            operations.extend(container.set("resources", &Value::from(after)));
        }
    }
    Ok(operations)
}

fn merge(resources: &mut Map<String, Value>, member: &str, amounts: &Amounts) {
    let mut all = resources.get(member).and_then(Value::as_object).cloned().unwrap_or_default();
    all.extend(amounts.iter().map(|(name, amount)| (name.clone(), Value::from(amount.as_str()))));
    if !amounts.is_empty() {
        resources.insert(member.to_owned(), Value::from(all));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Amounts {
        amounts("--limits", text).unwrap_or_default()
    }

    #[test]
    fn amounts_that_are_not_named_stay() {
        let resources = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "claims": []});
        let deployment =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "resources": resources}]}}}});
        let operations = patch(&deployment, "*", &read("cpu=200m"), &read("memory=2Gi")).unwrap_or_default();
        let expected = json!({
            "requests": {"cpu": "200m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}, "claims": []});
        assert_eq!(operations.get(1).and_then(|set| set.get("value")), Some(&expected));
        let same = patch(&deployment, "a", &read("cpu=1"), &Vec::new());
        assert_eq!(same.map(|operations| operations.len()).ok(), Some(0));
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for right in ["cpu=1", "cpu=.5", "memory=1.5Gi", "cpu=100m", "nvidia.com/gpu=1", "cpu=1e3", "x=1E-2"]
        {
            assert!(amounts("--limits", right).is_ok(), "{right}");
        }
        for wrong in ["", "cpu", "cpu=", "=1", "cpu=much", "cpu=1,", "memory=1gb", "cpu=-1", "cpu=1ee"] {
            assert!(amounts("--limits", wrong).is_err(), "{wrong}");
        }
    }
}
