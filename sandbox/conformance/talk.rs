//! Talking to a server, and what is kept of its answers.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::{Value, json};

use crate::servers::{Server, unique};

const DEADLINE: Duration = Duration::from_secs(40);

type Story = for<'a> fn(&'a mut Talk<'_>) -> Pin<Box<dyn Future<Output = ()> + 'a>>;

/// A scenario: what is asked, by name.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) story: Story,
}

impl Scenario {
    /// Plays it in a namespace of its own; what was answered?
    pub(crate) async fn run(&self, server: &Server) -> Result<Vec<String>, String> {
        let namespace = format!("c-{}", unique());
        let mut talk = Talk { server, namespace, lines: Vec::new(), chance: HashMap::new() };
        let object =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": talk.namespace } });
        let (code, answer) =
            talk.send("POST", "/api/v1/namespaces", "application/json", object.to_string()).await;
        if code != 201 {
            return Err(answer.to_string());
        }
        (self.story)(&mut talk).await;
        let path = format!("/api/v1/namespaces/{}", talk.namespace);
        talk.send("DELETE", &path, "application/json", String::new()).await;
        Ok(talk.lines)
    }
}

/// Makes a scenario of an async function.
macro_rules! scenario {
    ($name:ident) => {
        $crate::talk::Scenario {
            name: concat!(module_path!(), "::", stringify!($name)),
            story: |talk| Box::pin($name(talk)),
        }
    };
}
pub(crate) use scenario;

/// A conversation with a server.
pub(crate) struct Talk<'a> {
    pub(crate) server: &'a Server,
    pub(crate) namespace: String,
    lines: Vec<String>,
    /// Names of chance, and what they are replaced by.
    chance: HashMap<String, String>,
}

impl Talk<'_> {
    /// The path of Rollwright Deployments.
    pub(crate) fn ours(&self, rest: &str) -> String {
        format!("/apis/rollwright.dev/v1/namespaces/{}/deployments{rest}", self.namespace)
    }

    /// The path of a built-in kind of the core group.
    pub(crate) fn core(&self, rest: &str) -> String {
        format!("/api/v1/namespaces/{}/{rest}", self.namespace)
    }

    /// The path of a kind of apps/v1.
    pub(crate) fn apps(&self, rest: &str) -> String {
        format!("/apis/apps/v1/namespaces/{}/{rest}", self.namespace)
    }

    async fn send(&self, method: &str, path: &str, content_type: &str, body: String) -> (u16, Value) {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .header("Accept", "application/json")
            .body(Body::from(body.into_bytes()))
            .unwrap();
        let response = self.server.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Asks, and keeps the answer.
    pub(crate) async fn ask(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.ask_as(method, path, "application/json", body).await
    }

    /// Asks for a change.
    pub(crate) async fn patch(&mut self, kind: &str, path: &str, body: &Value) -> Value {
        let content_type = match kind {
            "apply" => "application/apply-patch+yaml".to_owned(),
            kind => format!("application/{kind}+json"),
        };
        self.ask_as("PATCH", path, &content_type, body.to_string()).await
    }

    /// Asks for a change, and does not keep the answer.
    pub(crate) async fn patch_unseen(&mut self, path: &str, body: &Value) -> Value {
        self.send("PATCH", path, "application/merge-patch+json", body.to_string()).await.1
    }

    /// Asks for a deletion, and does not keep the answer.
    pub(crate) async fn delete_unseen(&self, path: &str, options: &Value) -> Value {
        self.send("DELETE", path, "application/json", options.to_string()).await.1
    }

    pub(crate) async fn ask_as(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: String,
    ) -> Value {
        let (code, answer) = self.send(method, path, content_type, body).await;
        let shown = self.plain(&answer);
        // The tokens of two servers differ.
        let path = path.split("continue=").next().unwrap_or_default().replace(&self.namespace, "NS");
        self.lines.push(format!("{method} {path}: {code} {shown}"));
        answer
    }

    /// Waits for an answer that will do, and keeps that one.
    pub(crate) async fn until(&mut self, path: &str, is_enough: impl Fn(&Value) -> bool) -> Value {
        self.until_unseen(path, is_enough).await;
        self.ask("GET", path, &Value::Null).await
    }

    /// The same, without keeping it.
    pub(crate) async fn until_unseen(&self, path: &str, is_enough: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            let (_, answer) = self.send("GET", path, "application/json", String::new()).await;
            if is_enough(&answer) || begin.elapsed() > DEADLINE {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Watches for as long as the path asks, and keeps every event.
    pub(crate) async fn watch(&mut self, path: &str) {
        let (code, answer) = self.send("GET", path, "application/json", String::new()).await;
        let path = path.split('?').next().unwrap_or_default().replace(&self.namespace, "NS");
        match answer {
            Value::String(text) => {
                for line in text.lines() {
                    let event: Value = serde_json::from_str(line).unwrap();
                    let shown = self.plain(&event);
                    self.lines.push(format!("WATCH {path}: {shown}"));
                }
            }
            other => {
                let shown = self.plain(&other);
                self.lines.push(format!("WATCH {path}: {code} {shown}"));
            }
        }
    }

    /// Runs kubectl in the namespace, and keeps what it prints, but for ages.
    pub(crate) async fn kubectl(&mut self, arguments: &[&str], input: &str) -> String {
        let tool = self.server.kubectl.in_namespace(&self.namespace);
        let output = tool.output(arguments, input).await.unwrap();
        let text = format!("{}{}", output.stdout, output.stderr).replace(&self.namespace, "NS");
        let text: String = text.split_inclusive('\n').filter(|line| !is_log_of_client(line)).collect();
        let text = with_sorted_causes(&text);
        self.lines.push(format!("kubectl {}: {}\n{text}", arguments.join(" "), output.success));
        output.stdout
    }

    /// Keeps a line of the scenario's own.
    pub(crate) fn note(&mut self, line: &str) {
        self.lines.push(line.replace(&self.namespace, "NS"));
    }

    /// An answer without what differs between any two servers.
    fn plain(&mut self, answer: &Value) -> String {
        let mut answer = answer.clone();
        self.replace(&mut answer, "");
        let mut text = answer.to_string().replace(&self.namespace, "NS");
        for (name, stand_in) in &self.chance {
            match stand_in.starts_with("uid") {
                true => text = text.replace(name, stand_in),
                false => text = text.replace(&format!("({name})"), stand_in),
            }
        }
        // `too old resource version: 1 (4711)`.
        match (text.find("too old resource version"), text.find("(")) {
            (Some(_), Some(open)) => text.split_at(open).0.to_owned(),
            _ => text,
        }
    }

    fn replace(&mut self, value: &mut Value, member: &str) {
        match value {
            Value::Object(members) => {
                members.remove("managedFields");
                members.remove("storageVersionHash");
                // Of a list it is that of the whole cluster, in which others write too.
                let is_list =
                    members.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
                if let Some(metadata) = members.get_mut("metadata").filter(|_| is_list) {
                    metadata.as_object_mut().unwrap().remove("resourceVersion");
                }
                members.iter_mut().for_each(|(name, member)| self.replace(member, name));
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.replace(item, member)),
            Value::String(text) => {
                let kind = match member {
                    "uid" => "uid",
                    "resourceVersion" => "version",
                    "continue" => "token",
                    _ if member.ends_with("Timestamp")
                        || member.ends_with("Time")
                        || member == "startedAt" =>
                    {
                        "time"
                    }
                    _ => return,
                };
                *text = self.stand_in(kind, text);
            }
            _ => {}
        }
    }

    fn stand_in(&mut self, kind: &str, text: &str) -> String {
        if matches!(kind, "time" | "token") {
            return kind.to_owned();
        }
        let count = self.chance.values().filter(|known| known.starts_with(kind)).count();
        self.chance.entry(text.to_owned()).or_insert_with(|| format!("{kind}-{count}")).clone()
    }
}

/// Whether kubectl's client logs that it canceled a request of its own, as it does on a busy machine.
fn is_log_of_client(line: &str) -> bool {
    line.starts_with('E') && line.contains("request.go:") && line.contains("request canceled")
}

/// Several causes come in the order of a Go map.
fn with_sorted_causes(text: &str) -> String {
    let (mut causes, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("* "));
    causes.sort_unstable();
    [rest, causes].concat().join("\n")
}
