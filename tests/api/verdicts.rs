//! The same specs to both kinds: the same verdict, or a difference of
//! `docs/reference/differences-from-apps-v1.md` (S1.21–S1.28, S1.32).
//!
//! The specs are the cases of `tests/messages/verdicts.json`, and `verdict` is how the two compare:
//!
//! - `Taken`: by both, with the same template
//! - `Refused`: by both
//! - `AppsOnly`: taken by apps/v1 only, such as a key twice in a list that rollwright.dev merges by key
//! - `OursOnly`: taken by rollwright.dev only; what is wrong comes to light when a `ReplicaSet` is made of it
//! - `Unlike`: taken by both, with templates that differ; a null in a map is an empty string in apps/v1, and no entry
//!   in rollwright.dev

use serde_json::Value;

use crate::cases::changed;
use crate::messages::file;
use crate::suite::{Flavour, Suite, suite, template};

async fn judge(suite: &Suite, spec: &Value) -> (&'static str, String) {
    let apps = suite.try_create(Flavour::Apps, spec).await;
    let ours = suite.try_create(Flavour::Ours, spec).await;
    match (apps, ours) {
        (Ok(apps), Ok(ours)) => match suite.as_stored(&template(&ours)).await {
            Ok(stored) if stored == template(&apps) => ("Taken", String::new()),
            other => ("Unlike", format!("apps/v1 {}, ours {other:?}", template(&apps))),
        },
        (Err(_), Err(message)) => ("Refused", message),
        (Ok(_), Err(message)) => ("AppsOnly", message),
        (Err(message), Ok(_)) => ("OursOnly", message),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_kinds_judge_as_the_file_says() {
    let suite = suite().await;
    let file = file("verdicts");
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 200, "{} specs", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let spec = &changed(&file["base"], case, "set")["spec"];
        let (verdict, detail) = judge(&suite, spec).await;
        if case["verdict"] != verdict {
            wrong.push(format!("{}: {verdict}, not {} ({detail})", case["set"], case["verdict"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
