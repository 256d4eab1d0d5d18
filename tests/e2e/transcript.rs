//! What `kubectl rollwright` prints, word for word: a session with every verb, compared with the one
//! that is kept in `tests/e2e/transcript/`. `UPDATE=1` keeps what is printed now.

use std::fs;
use std::path::Path;

use cluster::{Tool, User};
use regex::Regex;

use crate::command_line::tool;
use crate::failure::{Failure, Outcome, same};
use crate::history::another_second;
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both a_session_with_every_verb,
    ours words_at_tab because "the words are alike",
];

/// A session as it proceeds.
struct Session<'a> {
    world: &'a World,
    tool: Tool,
    text: String,
}

impl Session<'_> {
    /// Types a command line, and writes down the outcome.
    async fn types(&mut self, line: &str) -> Outcome {
        let words: Vec<&str> = line.split(' ').collect();
        let output = self.tool.output(&words, "").await?;
        let code = output.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        self.text.push_str(&format!("$ kubectl rollwright {line}\n{}{}", output.stdout, output.stderr));
        self.text.push_str(&format!("[exit code {code}]\n\n"));
        Ok(())
    }

    async fn each(&mut self, lines: &[&str]) -> Outcome {
        for line in lines {
            self.types(line).await?;
        }
        Ok(())
    }

    /// Waits until nothing moves any more: pods that end are shown, but not for how long.
    async fn settles(&self) -> Outcome {
        self.world.wait_pods(self.world.complete("web").await?.replicas()).await
    }
}

/// Without what differs from run to run: names of pods and namespace, ages, times, versions, and
/// how wide a column is for them.
fn masked(text: &str, namespace: &str) -> Outcome<String> {
    let masks = [
        (r"(web-[0-9a-f]{8,10})-[a-z0-9]{5}\b", "$1-POD"),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z", "TIME"),
        (r"(?m)(\S) {2,}", "$1  "),
        (r"(?m)  \d+[smh](\d+[sm])?(  |$)", "  AGE$2"),
        (r"(?m) +$", ""),
    ];
    let mut text = text.replace(namespace, "NAMESPACE");
    for (pattern, with) in masks {
        let pattern = Regex::new(pattern).map_err(|error| Failure::new(error.to_string()))?;
        text = pattern.replace_all(&text, with).into_owned();
    }
    Ok(text)
}

async fn a_session_with_every_verb(world: World) -> Outcome {
    world.create(&Manifest::new("web", 2)).await?;
    let mut session = Session { world: &world, tool: tool(&world)?, text: String::new() };
    session.settles().await?;
    session.each(&["version", "version -o json"]).await?;
    session.each(&["status web", "get web", "list", "history web", "why web", "plan web"]).await?;
    another_second(&world).await?;
    session.types("set image web app=app:v2").await?;
    session.settles().await?;
    session.types("set env web LOG=debug MODE=fast").await?;
    session.settles().await?;
    session.each(&["set env web MODE- --containers=app", "set env web --list"]).await?;
    session.settles().await?;
    session.types("set resources web --limits=memory=64Mi --requests=memory=32Mi").await?;
    session.settles().await?;
    session.each(&["history web", "history web --revision=2", "history web --diff 1 2"]).await?;
    session.each(&["undo web --to-revision=2 --dry-run=client", "undo web --to-revision=2"]).await?;
    session.settles().await?;
    session.types("pause web").await?;
    world.observed("web").await?;
    session.each(&["status web --watch=false", "resume web"]).await?;
    session.types("scale web --replicas=1").await?;
    session.settles().await?;
    session.each(&["get web -o yaml", "list -o name", "status web -o json", "why web -o json"]).await?;
    // Names of ReplicaSets depend on the time from here on.
    session.types("restart web -o name").await?;
    session.settles().await?;
    let wrong = [
        "status nothing",
        "status pod/web",
        "status web --timeout=soon",
        "undo web --to-revision=99",
        "set image web other=app:v2",
        "set env web",
        "set resources web --limits=cpu=much",
        "scale web",
        "pause",
        "pause wbe",
        "get deploymnt/web",
        "get web -o jsonpath={.message",
        "frobnicate web",
    ];
    session.each(&wrong).await?;
    let text = masked(&session.text, &world.namespace)?;
    let name = if world.flavour.is_ours() { "rollwright.txt" } else { "apps.txt" };
    kept(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/transcript").join(name), &text)
}

/// Compares with what is kept; names the first line that differs.
fn kept(path: &Path, text: &str) -> Outcome {
    if std::env::var_os("UPDATE").is_some() {
        return Ok(fs::write(path, text)?);
    }
    let expected = fs::read_to_string(path)?;
    for (number, (found, wanted)) in text.lines().zip(expected.lines()).enumerate() {
        same(&format!("line {} of {}", number + 1, path.display()), found, wanted)?;
    }
    same("the number of lines", text.lines().count(), expected.lines().count())
}

/// kubectl asks for words when somebody presses Tab, and gets names of Deployments too.
async fn words_at_tab(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    // The words have to be the last ones: no namespace is added.
    let tool = Tool::at(
        env!("CARGO_BIN_EXE_kubectl-rollwright").into(),
        world.stage.cluster.kubeconfig(User::Admin),
    );
    let asked = async |words: &[&str]| -> Outcome<String> {
        let words = [&["__complete", "--", "-n", &world.namespace], words].concat();
        Ok(tool.output(&words, "").await?.stdout)
    };
    for verb in [&["status", "w"][..], &["rollout", "undo", "w"], &["set", "image", "w"]] {
        same(&format!("{verb:?}"), asked(verb).await?.as_str(), "web\tdeployment.rollwright.dev/web\n:4\n")?;
    }
    same("a name that nobody has", asked(&["status", "x"]).await?.as_str(), ":4\n")
}
