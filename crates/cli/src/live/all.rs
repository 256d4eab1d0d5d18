//! Watches the Deployments of both APIs, for the view of all and for plain lines.

use std::collections::BTreeSet;

use crossterm::event::EventStream;
use futures::{Stream, StreamExt as _, stream};
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use plan::Flavour;

use super::ink::Ink;
use super::list::{Chosen, List};
use super::model::Model;
use super::screen::{self, Screen};
use super::{Leave, TICK, model, show};
use crate::args::ListArguments;
use crate::cluster::{Cluster, Deployment, FLAVOURS, body};
use crate::code::Code;
use crate::failure::Failure;
use crate::terminal::stopped;
use crate::watched::{failure_of, watch_config};

/// What happens to the Deployments of one of the APIs.
pub(crate) enum Change {
    /// A Deployment is there, or has changed.
    There(Box<Deployment>),
    Gone(Box<Deployment>),
    /// These are all, by namespace and name.
    Whole(Flavour, BTreeSet<(String, String)>),
    Lost(Flavour, Failure),
}

/// All changes, beginning with all that are there.
pub(crate) fn changes(cluster: &Cluster, arguments: &ListArguments) -> impl Stream<Item = Change> + use<> {
    let of = |flavour: Flavour| {
        let api = cluster.deployments_of(flavour, arguments.all_namespaces);
        let mut config = watch_config();
        if let Some(selector) = &arguments.selector {
            config = config.labels(selector);
        }
        let mut names = BTreeSet::new();
        let events = watch(api, config).default_backoff();
        events.filter_map(move |event| std::future::ready(change(flavour, event, &mut names))).boxed()
    };
    stream::select(of(Flavour::Rollwright), of(Flavour::AppsV1))
}

fn change(
    flavour: Flavour,
    event: watcher::Result<Event<DynamicObject>>,
    names: &mut BTreeSet<(String, String)>,
) -> Option<Change> {
    let of = |object| Box::new(Deployment { flavour, body: body(object) });
    match event {
        Ok(Event::Init) => {
            names.clear();
            None
        }
        Ok(Event::InitApply(object)) => {
            let deployment = of(object);
            names.insert((deployment.namespace().to_owned(), deployment.name().to_owned()));
            Some(Change::There(deployment))
        }
        Ok(Event::Apply(object)) => Some(Change::There(of(object))),
        Ok(Event::Delete(object)) => Some(Change::Gone(of(object))),
        Ok(Event::InitDone) => Some(Change::Whole(flavour, std::mem::take(names))),
        // An API that is not served has no Deployments.
        Err(watcher::Error::InitialListFailed(kube::Error::Api(status))) if status.code == 404 => {
            Some(Change::Whole(flavour, BTreeSet::new()))
        }
        Err(error) => Some(Change::Lost(flavour, failure_of(&error))),
    }
}

/// Shows all Deployments until somebody leaves the view.
pub(crate) async fn watch_all(cluster: &Cluster, arguments: &ListArguments) -> Result<Code, Failure> {
    let mut screen = Screen::enter()?;
    let mut keys = EventStream::new();
    let namespace = (!arguments.all_namespaces).then(|| cluster.namespace.clone());
    let mut list = List::new(namespace, arguments.states, Timestamp::now(), Ink::from_environment());
    let mut changes = Box::pin(changes(cluster, arguments).ready_chunks(1024));
    let mut whole = BTreeSet::new();
    let mut tick = tokio::time::interval(TICK);
    let mut stop = std::pin::pin!(stopped());
    loop {
        list.now = Timestamp::now();
        screen.draw(|frame| list.render(frame))?;
        let chosen = tokio::select! {
            event = keys.next() => match event {
                Some(event) => screen::key(&event?).map_or(Chosen::Nothing, |key| list.press(key)),
                None => Chosen::Leave,
            },
            Some(changes) = changes.next() => {
                take(&mut list, changes, &mut whole);
                Chosen::Nothing
            }
            _ = tick.tick() => Chosen::Nothing,
            () = &mut stop => Chosen::Leave,
        };
        match chosen {
            Chosen::Nothing => {}
            Chosen::Leave => return Ok(Code::Done),
            Chosen::Open(deployment) => {
                let mut cluster = cluster.clone();
                deployment.namespace().clone_into(&mut cluster.namespace);
                let model = Model { has_list: true, ..model(&deployment) };
                let shown = show(&mut screen, &mut keys, &cluster, &deployment, (model, REVISIONS));
                if let Leave::Quit(_) = shown.await? {
                    return Ok(Code::Done);
                }
            }
        }
    }
}

/// As many revisions as `get` shows.
const REVISIONS: usize = 3;

fn take(list: &mut List, changes: Vec<Change>, whole: &mut BTreeSet<Flavour>) {
    for change in changes {
        match change {
            Change::There(deployment) => list.set(*deployment),
            Change::Gone(deployment) => list.remove(&deployment),
            Change::Whole(flavour, names) => {
                list.retain(flavour, &names);
                list.lost.remove(&flavour);
                whole.insert(flavour);
                list.is_whole = whole.len() == FLAVOURS.len();
            }
            Change::Lost(flavour, why) => {
                list.lost.insert(flavour, why.to_string());
            }
        }
    }
}
