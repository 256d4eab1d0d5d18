//! What `kubectl rollwright` prints, word for word: a session with every verb, compared with the one
//! that is kept in `tests/e2e/transcript/`. `UPDATE=1` keeps what is printed now.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cluster::{NotYet, Output, Tool, User};
use regex::Regex;
use tokio::process::Command;

use crate::command_line::tool;
use crate::failure::{Failure, Outcome, ensure, same, until};
use crate::history::another_second;
use crate::manifest::Manifest;
use crate::scenario::{Scenario, scenarios};
use crate::world::World;

pub(crate) const SCENARIOS: &[Scenario] = scenarios![
    both a_session_with_every_verb,
    ours pods_through_kubectl because "pods are of neither API",
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
        let desired = self.world.complete("web").await?.replicas();
        self.world
            .wait("no pods but those desired", async || {
                let pods = self.world.pods().await.map_err(|failure| NotYet(failure.0))?;
                until(i64::try_from(pods.len()) == Ok(desired), pods.len())
            })
            .await
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
        "logs web --revision=99",
        "port-forward web http",
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

/// A program named kubectl that prints how it was called.
fn stand_in(directory: &Path) -> Outcome<PathBuf> {
    fs::create_dir_all(directory)?;
    let program = directory.join("kubectl");
    fs::write(&program, "#!/bin/sh\necho \"$@\"\n")?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(directory.to_owned())
}

/// Runs it with only this directory on the PATH.
async fn with_path(world: &World, path: &Path, line: &str) -> Outcome<Output> {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-rollwright"))
        .args(line.split(' '))
        .arg(format!("--namespace={}", world.namespace))
        .env("KUBECONFIG", world.stage.cluster.kubeconfig(User::Admin))
        .env("PATH", path)
        .output()
        .await?;
    Ok(Output {
        success: output.status.success(),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The plugin chooses the pod, and calls kubectl with the user's words. (The pods of the test cluster have no kubelet
/// that kubectl could reach.)
async fn pods_through_kubectl(world: World) -> Outcome {
    world.roll_out(&Manifest::new("web", 1)).await?;
    let directory = world.stage.cluster.directory().join(format!("kubectl-{}", world.namespace));
    let path = stand_in(&directory)?;
    let pod = world.pods().await?.swap_remove(0).metadata.name.unwrap_or_default();
    let n = format!("--namespace={}", world.namespace);
    for (line, called) in [
        ("logs web -f --tail 5", format!("{n} logs pod/{pod} --tail=5 --follow\n")),
        ("logs deploy/web -p -c app", format!("{n} logs pod/{pod} --container=app --previous\n")),
        ("port-forward web 8080:80", format!("{n} port-forward pod/{pod} 8080:80\n")),
    ] {
        let output = with_path(&world, &path, line).await?;
        same(line, output.stdout, called)?;
        same(line, output.stderr, format!("pod/{pod} of revision 1\n"))?;
    }
    let exec = Command::new(env!("CARGO_BIN_EXE_kubectl-rollwright"))
        .args(["exec", "web", "-i", &n, "--", "ls", "-l"])
        .env("KUBECONFIG", world.stage.cluster.kubeconfig(User::Admin))
        .env("PATH", &path)
        .output()
        .await?;
    same(
        "exec",
        String::from_utf8_lossy(&exec.stdout).as_ref(),
        &*format!("{n} exec pod/{pod} --stdin -- ls -l\n"),
    )?;

    let without = with_path(&world, Path::new("/nowhere"), "logs web").await?;
    same("the exit code without kubectl", without.code, Some(1))?;
    ensure(without.stderr.contains("it has to be on the PATH"), "what is missing", &without)?;
    let none = with_path(&world, &path, "logs web --revision 7").await?;
    ensure(none.stderr.contains("revision 7 not found; there are: 1"), "the revisions", &none)
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
    for verb in
        [&["status", "w"][..], &["rollout", "undo", "w"], &["set", "image", "w"], &["port-forward", "w"]]
    {
        same(&format!("{verb:?}"), asked(verb).await?.as_str(), "web\tdeployment.rollwright.dev/web\n:4\n")?;
    }
    same("a name that nobody has", asked(&["status", "x"]).await?.as_str(), ":4\n")
}
