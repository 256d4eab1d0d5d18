//! `get`: the tree, once or until the rollout has ended.

use std::time::Duration;

use futures::StreamExt as _;

use crate::args::GetArguments;
use crate::cluster::{Cluster, Deployment};
use crate::code::Code;
use crate::failure::Failure;
use crate::live;
use crate::output::{document, event, print};
use crate::reach::contact::Interruption;
use crate::reported;
use crate::rollout::Phase;
use crate::signs::LOOK_AGAIN;
use crate::tree::Tree;
use crate::verbs::subject::Subject;
use crate::watched::{changes, grown};

/// Events that arrive together are shown once.
const GATHER: Duration = Duration::from_millis(200);

pub(crate) async fn get(subject: &Subject, arguments: &GetArguments) -> Result<Code, Failure> {
    let Subject { cluster, deployment } = subject;
    if arguments.watch && arguments.output.format.is_none() && live::is_possible() {
        return live::watch(cluster, deployment.clone(), arguments.revisions).await;
    }
    let tree = read(cluster, deployment.clone(), arguments.revisions).await?;
    if !arguments.watch {
        show(&tree, arguments)?;
        return Ok(Code::Done);
    }
    follow(cluster, tree, arguments).await
}

async fn read(cluster: &Cluster, deployment: Deployment, revisions: usize) -> Result<Tree, Failure> {
    let sets = cluster.sets_of(&deployment).await?;
    let pods = match cluster.selected(&cluster.pods(), &deployment).await {
        Ok(pods) => Some(pods),
        // What the operator reports needs no right to pods.
        Err(Failure::Forbidden(_)) => None,
        Err(failure) => return Err(failure),
    };
    let mut tree = grown(cluster, deployment, (sets, pods.as_deref()), revisions).await;
    if matches!(tree.rollout.phase, Phase::Progressing | Phase::Failed) {
        tree.rollout.message = reported::added_to(&tree.rollout.message, &tree.deployment.body);
    }
    if pods.is_none() {
        tree.rollout.message.push_str(" (you may not list its pods)");
    }
    Ok(tree)
}

fn show(tree: &Tree, arguments: &GetArguments) -> Result<(), Failure> {
    let names = [tree.deployment.full_name()];
    match arguments.output.document() {
        Some(format) if arguments.watch => event(&format, &tree.document(), &names),
        Some(format) => document(&format, &tree.document(), &names),
        None => print(&tree.text(jiff::Timestamp::now(), &arguments.output)),
    }
}

/// Shows the tree again at every change; the exit codes are those of `status`.
async fn follow(cluster: &Cluster, mut tree: Tree, arguments: &GetArguments) -> Result<Code, Failure> {
    let mut changes = Box::pin(changes(cluster, &tree.deployment).ready_chunks(64));
    let (mut last, mut interruption) = (None, Interruption::default());
    loop {
        if last.as_ref() != Some(&tree.rollout) {
            show(&tree, arguments)?;
        }
        last = Some(tree.rollout.clone());
        match tree.rollout.code() {
            Code::Unfinished => {}
            // Who has just pinned a revision wants to see its pods come.
            Code::Failed if tree.is_on_the_way() => {}
            code => return Ok(code),
        }
        tokio::time::sleep(GATHER).await;
        // While nobody looks at the Deployment, its controller may end, or begin to run.
        let patience = if tree.is_awaited { LOOK_AGAIN } else { Duration::MAX };
        if let Ok(None) = tokio::time::timeout(patience, changes.next()).await {
            return Err(Failure::Rollout("the watch has ended; try again".to_owned()));
        }
        tree = read_again(cluster, &tree, arguments.revisions, &mut interruption).await?;
    }
}

/// The tree as it is now; a failure that may pass does not end the watch.
async fn read_again(
    cluster: &Cluster,
    tree: &Tree,
    revisions: usize,
    interruption: &mut Interruption,
) -> Result<Tree, Failure> {
    loop {
        let failure = match cluster.read_again(&tree.deployment).await {
            Ok(deployment) => read(cluster, deployment, revisions).await,
            Err(failure) => Err(failure),
        };
        match failure {
            Err(failure) if failure.is_temporary() => interruption.note(&failure),
            read => {
                interruption.end();
                return read;
            }
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
