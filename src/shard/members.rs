//! Takes namespaces in as the watch shows them, and lets go of those that leave, for the reconcilers of all
//! APIs.

use std::sync::Arc;
use std::time::Instant;

use engine::durations::HANDOVER;
use engine::namespaces::{Namespaces, Sighting};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::{Api, ResourceExt as _};
use tokio::task::JoinSet;
use tracing::{error, info};

use super::{Shard, intake};
use crate::client::object::{Kind, Object};
use crate::clock;
use crate::reconcile::reconciler::Reconciler;
use crate::watch::caches::Cache;
use crate::watch::renewal::Orders;
use crate::watch::{self, Sink};

/// An API's reconciler, and its caches.
pub(crate) type Member = (Arc<Reconciler>, Vec<Cache>);

impl Shard {
    /// Starts to watch namespaces, and takes them in as they come.
    pub(crate) fn start(self: &Arc<Self>, members: Vec<Member>, tasks: &mut JoinSet<()>) {
        info!(selector = %self.selector, "managing Deployments of namespaces with these labels only");
        for (reconciler, caches) in &members {
            let (shard, reconciler, caches) = (self.clone(), reconciler.clone(), caches.clone());
            tasks.spawn(intake::take_in(shard, reconciler, caches));
        }
        let members = Arc::new(members);
        let api = Api::<PartialObjectMeta<Object>>::all_with(self.watch.client.clone(), &Kind::Namespace);
        let sink = Listener { shard: self.clone(), members: members.clone() };
        let pulse = self.watch.pulse.clone();
        tasks.spawn(watch::watch(api, watch::config(None), pulse, Orders::none(), sink));
        tasks.spawn(self.clone().settle(members));
    }

    /// Takes namespaces in when they have been left alone for long enough.
    async fn settle(self: Arc<Self>, members: Arc<Vec<Member>>) {
        loop {
            let next = self.settle_now(&members);
            let due = async {
                match next {
                    Some(due) => tokio::time::sleep_until(due.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = due => {}
                () = self.news.notified() => {}
            }
        }
    }

    /// Returns when to look again.
    fn settle_now(&self, members: &[Member]) -> Option<Instant> {
        let now = clock::now();
        let mut namespaces = self.namespaces();
        let settled = namespaces.settle(now);
        for namespace in &settled {
            info!(namespace, "this namespace is ours now");
            members.iter().for_each(|(reconciler, _)| reconciler.index().take_in(namespace));
        }
        self.show(&namespaces);
        let opens = self.listed.borrow().map(|listed| listed + HANDOVER);
        let is_open = opens.is_some_and(|opens| opens <= now);
        let next_due = namespaces.next_due().into_iter().chain(opens.filter(|_| !is_open)).min();
        drop(namespaces);
        if !settled.is_empty() {
            self.lists_came();
        }
        self.is_open.send_if_modified(|known| !std::mem::replace(known, is_open) && is_open);
        next_due
    }

    fn show(&self, namespaces: &Namespaces) {
        let count = namespaces.count();
        for (standing, count) in
            [("ours", count.ours), ("joining", count.joining), ("elsewhere", count.elsewhere)]
        {
            let gauge = self.metrics.namespaces.with_label_values(&[standing]);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
}

/// What the watch of namespaces feeds.
struct Listener {
    shard: Arc<Shard>,
    members: Arc<Vec<Member>>,
}

impl Listener {
    /// Takes a change over. A namespace that leaves the shard is let go before anybody else comes to know: of the
    /// locks, that of the namespaces is taken first.
    fn reconsider(&self, change: impl FnOnce(&mut Namespaces) -> Vec<String>) {
        let mut namespaces = self.shard.namespaces();
        let left = change(&mut namespaces);
        for namespace in &left {
            info!(namespace, "this namespace is ours no more");
            self.shard.looks().remove(namespace);
            for (reconciler, caches) in self.members.iter() {
                reconciler.queue.feed(|engine, now| engine.let_go(namespace, now));
                caches.iter().for_each(|cache| cache.quarantine.let_go(namespace));
            }
        }
        drop(namespaces);
        self.shard.news.notify_one();
    }
}

impl Sink<PartialObjectMeta<Object>> for Listener {
    type Item = Sighting;

    fn read(&self, object: PartialObjectMeta<Object>) -> Option<Sighting> {
        let version = object.resource_version().unwrap_or_default();
        Some(Sighting { is_selected: self.shard.selects(&object), name: object.name_any(), version })
    }

    fn reset(&self, items: Vec<Sighting>) {
        let now = clock::now();
        self.reconsider(|namespaces| namespaces.reset(items, now));
        if self.shard.listed.send_if_modified(|listed| listed.replace(listed.unwrap_or(now)).is_none()) {
            info!(selector = %self.shard.selector, "namespaces are known; those of this shard are left alone for {} s", HANDOVER.as_secs());
            self.shard.news.notify_one();
        }
    }

    fn apply(&self, item: Sighting) {
        let (now, name) = (clock::now(), item.name.clone());
        self.reconsider(|namespaces| Vec::from_iter(namespaces.apply(item, now).then_some(name)));
    }

    fn delete(&self, object: &PartialObjectMeta<Object>) {
        let name = object.name_any();
        self.reconsider(|namespaces| Vec::from_iter(namespaces.delete(&name).then_some(name)));
    }

    fn failed(&self, error: &watcher::Error, failures: u32) {
        let is_forbidden = matches!(
            error,
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 403
        );
        if is_forbidden && failures % 15 == 1 {
            error!("--selector needs the rights to get, list and watch namespaces; waiting for them");
        }
        watch::log_failure(&self.shard.metrics, "namespaces", error, failures);
    }
}
