//! Label selectors (S1.22, S2.10).

use std::collections::BTreeMap;

use plan::selector::LabelSelector;
use serde::Deserialize as _;

use crate::input;

/// A JSON list: a selector, and labels.
pub(crate) fn run(data: &[u8]) {
    let Some((selector, labels)) = input::pair(data) else { return };
    let Ok(selector) = LabelSelector::deserialize(&selector) else { return };
    let written = serde_json::to_value(&selector).unwrap();
    assert_eq!(LabelSelector::deserialize(&written).unwrap(), selector);
    let text = selector.to_string();
    assert_eq!(text.is_empty(), selector.is_empty() || text.is_empty());
    let labels = BTreeMap::<String, String>::deserialize(&labels).unwrap_or_default();
    assert_eq!(selector.matches(&labels), matches(&selector, &labels), "{selector} on {labels:?}");
    assert!(!selector.is_empty() || selector.matches(&labels));
}

fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = |(key, value): (&String, &String)| labels.get(key).is_some_and(|label| label == value);
    if !selector.match_labels.iter().all(equal) {
        return false;
    }
    selector.match_expressions.iter().all(|it| {
        let label = labels.get(&it.key);
        let listed = label.is_some_and(|label| it.values.iter().any(|value| value == label));
        match it.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => label.is_some(),
            "DoesNotExist" => label.is_none(),
            _ => false,
        }
    })
}
