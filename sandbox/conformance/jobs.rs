//! Jobs: what is filled in and refused, how they end, and what goes with them.

use serde_json::{Value, json};

use crate::talk::{Scenario, Talk, scenario};

pub(crate) fn all() -> Vec<Scenario> {
    vec![
        scenario!(what_is_filled_in),
        scenario!(what_is_refused),
        scenario!(ends),
        scenario!(a_deleted_job),
        scenario!(columns),
    ]
}

/// A Job that is not retried. Its pod ends soon, with this exit code.
fn job(name: &str, code: u8) -> Value {
    let annotations = json!({ "fake.rollwright.dev/exit-code": code.to_string(), "fake.rollwright.dev/ends-after-ms": "100" });
    let containers = json!([{ "name": "main", "image": "main:v1" }]);
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": { "name": name },
        "spec": { "backoffLimit": 0, "template": {
            "metadata": { "annotations": annotations },
            "spec": { "restartPolicy": "Never", "containers": containers },
        } },
    })
}

fn jobs(talk: &Talk<'_>, rest: &str) -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs{rest}", talk.namespace)
}

async fn what_is_filled_in(talk: &mut Talk<'_>) {
    let all = jobs(talk, "");
    // A pod that nobody may schedule leaves the status alone.
    let mut held = job("held", 0);
    held["spec"]["template"]["spec"]["schedulingGates"] = json!([{ "name": "example.com/hold" }]);
    talk.ask("POST", &format!("{all}?dryRun=All"), &held).await;
    talk.ask("GET", &jobs(talk, "/held"), &Value::Null).await;
    held["spec"]["template"]["metadata"]["labels"] = json!({ "app": "held" });
    held["spec"]["parallelism"] = json!(1);
    let made = talk.ask("POST", &all, &held).await;
    talk.ask("POST", &all, &held).await;
    talk.until(&jobs(talk, "/held"), |answer| answer["status"]["active"] == 1).await;
    let labels =
        json!({ "metadata": { "labels": { "new": "label" } }, "spec": { "activeDeadlineSeconds": 600 } });
    talk.patch("merge-patch", &jobs(talk, "/held"), &labels).await;
    talk.patch("merge-patch", &jobs(talk, "/held"), &json!({ "spec": { "completions": 3 } })).await;
    let named = talk.ask("GET", &format!("{all}?labelSelector=app%3Dheld"), &Value::Null).await;
    assert_eq!(named["items"][0]["metadata"]["uid"], made["metadata"]["uid"], "{named}");
}

async fn what_is_refused(talk: &mut Talk<'_>) {
    let all = jobs(talk, "");
    for policy in [Value::Null, json!("Always"), json!("Sometimes")] {
        let mut wrong = job("wrong", 0);
        wrong["spec"]["template"]["spec"]["restartPolicy"] = policy;
        wrong["spec"]["backoffLimit"] = json!(-1);
        talk.ask("POST", &format!("{all}?dryRun=All"), &wrong).await;
    }
    let mut wrong = job("wrong", 0);
    wrong["spec"].as_object_mut().unwrap().remove("template");
    talk.ask("POST", &all, &wrong).await;
    let mut wrong = job("wrong", 0);
    wrong["spec"]["template"]["spec"]["containers"][0]["image"] = json!("");
    talk.kubectl(&["create", "-f", "-"], &wrong.to_string()).await;
    talk.ask("DELETE", &jobs(talk, "/nobody"), &Value::Null).await;
}

/// The last state of a Job that has ended; its pod has a name of chance.
async fn ends(talk: &mut Talk<'_>) {
    for (name, code, end) in [("good", 0, "Complete"), ("failed", 3, "Failed")] {
        talk.ask("POST", &jobs(talk, ""), &job(name, code)).await;
        let has_ended = |answer: &Value| answer["status"]["conditions"][1]["type"] == end;
        talk.until(&jobs(talk, &format!("/{name}")), has_ended).await;
        let pods =
            talk.until_unseen(&talk.core(&format!("pods?labelSelector=job-name%3D{name}")), |_| true).await;
        let pod = &pods["items"][0];
        let terminated = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
        let (phase, code, reason) = (&pod["status"]["phase"], &terminated["exitCode"], &terminated["reason"]);
        let owner = &pod["metadata"]["ownerReferences"][0];
        let (held, generated) = (&pod["metadata"]["finalizers"], &pod["metadata"]["generateName"]);
        talk.note(&format!("{phase} {code} {reason} {held} {generated} {} {}", owner["kind"], owner["name"]));
    }
}

async fn a_deleted_job(talk: &mut Talk<'_>) {
    let pods = talk.core("pods?labelSelector=job-name%3Dcheck");
    for policy in ["Background", "Foreground", ""] {
        let mut forever = job("check", 0);
        forever["spec"]["template"]["metadata"]["annotations"]["fake.rollwright.dev/ends-after-ms"] =
            json!("never");
        let made = talk.ask("POST", &jobs(talk, ""), &forever).await;
        talk.until(&jobs(talk, "/check"), |answer| answer["status"]["ready"] == 1).await;
        let mut options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": "another" },
        });
        talk.ask("DELETE", &jobs(talk, "/check"), &options).await;
        options["preconditions"]["uid"] = made["metadata"]["uid"].clone();
        if !policy.is_empty() {
            options["propagationPolicy"] = json!(policy);
        }
        let answer = talk.delete_unseen(&jobs(talk, "/check"), &options).await;
        talk.note(&format!("{} {}", answer["metadata"]["finalizers"], answer["details"]["kind"]));
        talk.until(&jobs(talk, "/check"), |answer| answer["code"] == 404).await;
        let is_left = policy.is_empty();
        let is_over = |answer: &Value| {
            let items = answer["items"].as_array().unwrap();
            let let_go = |pod: &Value| {
                pod["metadata"]["finalizers"].is_null() && pod["metadata"]["ownerReferences"].is_null()
            };
            if is_left { items.iter().all(let_go) } else { items.is_empty() }
        };
        let left = talk.until_unseen(&pods, is_over).await;
        talk.note(&format!("{} left after {policy}", left["items"].as_array().unwrap().len()));
    }
}

async fn columns(talk: &mut Talk<'_>) {
    for (name, code) in [("good", 0), ("failed", 1)] {
        talk.kubectl(&["create", "-f", "-"], &job(name, code).to_string()).await;
    }
    for (condition, name) in [("complete", "good"), ("failed", "failed")] {
        let arguments =
            ["wait", &format!("--for=condition={condition}"), "--timeout=40s", &format!("job/{name}")];
        talk.kubectl(&arguments, "").await;
    }
    crate::kubectl::table(talk, &["get", "jobs"]).await;
    crate::kubectl::table(talk, &["get", "jobs", "good", "--no-headers=false"]).await;
    talk.kubectl(&["delete", "job", "good", "failed"], "").await;
    talk.kubectl(&["get", "jobs,pods"], "").await;
}
