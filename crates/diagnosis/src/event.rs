//! What only events show: a probe that fails, a volume that is not mounted.

use serde_json::Value;

use crate::read::text;
use crate::words::Words;

/// The latest event about a pod with one of these reasons.
pub(crate) fn latest<'a>(pod: &Value, events: &'a [Value], reasons: &[&str]) -> Option<&'a Value> {
    let uid = text(pod, "/metadata/uid");
    let is_about = |event: &&Value| {
        !uid.is_empty()
            && text(event, "/involvedObject/uid") == uid
            && reasons.contains(&text(event, "/reason"))
    };
    // Of equal times, or without any, the last one.
    events.iter().filter(is_about).max_by_key(|event| time(event))
}

/// RFC 3339 in UTC, as the API writes it, sorts as text.
fn time(event: &Value) -> &str {
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime"];
    times.into_iter().map(|path| text(event, path)).find(|time| !time.is_empty()).unwrap_or_default()
}

/// The message of an event of a failing probe. The output of a command in the container, or a URL that it redirected
/// to, are the workload's own words. By default, only what the kubelet chose to write is left of them.
pub(crate) fn of_probe(message: &str, words: Words) -> String {
    let message = message.trim().trim_end_matches('.');
    if words >= Words::OfProbes {
        return message.to_owned();
    }
    let known = ["Readiness probe", "Liveness probe", "Startup probe"];
    let Some(probe) = known.into_iter().find(|probe| message.starts_with(probe)) else {
        return "a probe fails".to_owned();
    };
    let (_, said) = message.split_once(": ").unwrap_or_default();
    match kubelets_own(said) {
        Some(own) => format!("{probe} failed: {own}"),
        None => format!("{probe} failed"),
    }
}

fn kubelets_own(said: &str) -> Option<String> {
    const STATUS: &str = "HTTP probe failed with statuscode: ";
    if let Some(code) = said.strip_prefix(STATUS) {
        let code: String = code.chars().take_while(char::is_ascii_digit).take(3).collect();
        return Some(format!("{STATUS}{code}"));
    }
    // A command may write these too; they are no secret.
    let phrases = ["connection refused", "no route to host", "i/o timeout", "context deadline exceeded"];
    phrases.into_iter().find(|phrase| said.contains(phrase)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_probe_is_repeated_only_on_request() {
        let cases = [
            ("Readiness probe failed: password=hunter2", "Readiness probe failed"),
            (
                "Readiness probe failed: HTTP probe failed with statuscode: 503hunter2",
                "Readiness probe failed: HTTP probe failed with statuscode: 503",
            ),
            (
                "Startup probe failed: Get \"http://10.0.0.1/?password=hunter2\": dial tcp: connection refused",
                "Startup probe failed: connection refused",
            ),
            ("Liveness probe errored: rpc error: hunter2", "Liveness probe failed"),
            ("hunter2", "a probe fails"),
        ];
        for (message, withheld) in cases {
            assert_eq!(of_probe(message, Words::Withheld), withheld);
            assert_eq!(of_probe(message, Words::OfProbes), message);
        }
    }
}
