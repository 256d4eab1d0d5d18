//! A view of a Deployment, or of all, that stays open. [`model`] and [`render`] are pure; this module moves what
//! happens outside to the model, and what the model wants to the cluster.

mod all;
mod chart;
mod cut;
mod footer;
mod ink;
mod list;
mod lives;
mod model;
mod moves;
mod pods;
mod render;
mod screen;
mod seen;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crossterm::event::EventStream;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use jiff::Timestamp;

use crate::cluster::{Cluster, Deployment};
use crate::code::Code;
use crate::failure::Failure;
use crate::terminal::{NOTICES, stopped};
pub(crate) use all::{Change, changes, watch_all};
use ink::Ink;
use model::{Effect, Model, Talk};
use screen::Screen;
pub(crate) use screen::is_possible;

/// Times on the screen move on at this pace.
const TICK: Duration = Duration::from_secs(1);

/// How somebody left a view.
enum Leave {
    Back(Code),
    Quit(Code),
}

/// What the cluster answered.
enum Answer {
    Rights(Option<bool>),
    Talk(Result<Talk, Failure>),
}

/// Shows a Deployment until somebody leaves the view; the exit codes are those of `status`.
pub(crate) async fn watch(
    cluster: &Cluster,
    deployment: Deployment,
    revisions: usize,
) -> Result<Code, Failure> {
    let mut screen = Screen::enter()?;
    let mut keys = EventStream::new();
    let model = model(&deployment);
    match show(&mut screen, &mut keys, cluster, &deployment, (model, revisions)).await? {
        Leave::Back(code) | Leave::Quit(code) => Ok(code),
    }
}

fn model(deployment: &Deployment) -> Model {
    Model::new(deployment.name().to_owned(), Timestamp::now(), Ink::from_environment())
}

async fn show(
    screen: &mut Screen,
    keys: &mut EventStream,
    cluster: &Cluster,
    deployment: &Deployment,
    (mut model, revisions): (Model, usize),
) -> Result<Leave, Failure> {
    let mut news = Box::pin(seen::follow(cluster, deployment, revisions));
    let mut asked: FuturesUnordered<BoxFuture<'_, Answer>> = FuturesUnordered::new();
    // Each key patches the Deployment.
    let group = deployment.flavour.api_version().split('/').next().unwrap_or_default();
    let may = cluster.may("patch", (group, "deployments"), Some(deployment.name()));
    asked.push(may.map(|may| Answer::Rights(may.ok())).boxed());
    let mut tick = tokio::time::interval(TICK);
    let mut stop = std::pin::pin!(stopped());
    loop {
        (model.now, model.notice) = (Timestamp::now(), NOTICES.last());
        screen.draw(|frame| {
            model.width = frame.area().width.into();
            render::render(&model, frame);
        })?;
        let effect = tokio::select! {
            event = keys.next() => match event {
                Some(event) => screen::key(&event?).map_or(Effect::Nothing, |key| model.press(key)),
                None => Effect::Quit,
            },
            Some(seen) = news.next() => {
                model.now = Timestamp::now();
                model.see(seen);
                Effect::Nothing
            }
            Some(answer) = asked.next() => {
                match answer {
                    Answer::Rights(may) => model.may_patch = may,
                    Answer::Talk(heard) => model.hear(heard),
                }
                Effect::Nothing
            }
            _ = tick.tick() => Effect::Nothing,
            () = &mut stop => Effect::Quit,
        };
        match effect {
            Effect::Nothing => {}
            Effect::Leave => return Ok(Leave::Back(code(&model))),
            Effect::Quit => return Ok(Leave::Quit(code(&model))),
            Effect::Ask(verb) => {
                let question = async move {
                    let question = moves::ask(cluster, deployment, verb).await;
                    Answer::Talk(question.map(|it| Talk::Question(Box::new(it))))
                };
                asked.push(question.boxed());
            }
            Effect::CarryOut(question) => {
                let done = async move {
                    Answer::Talk(moves::carry_out(cluster, deployment, &question).await.map(Talk::Done))
                };
                asked.push(done.boxed());
            }
        }
    }
}

/// How the process ends that showed this.
fn code(model: &Model) -> Code {
    if model.is_gone {
        return Code::NotFound;
    }
    model.seen.as_deref().map_or(Code::Unfinished, |seen| seen.tree.rollout.code())
}
