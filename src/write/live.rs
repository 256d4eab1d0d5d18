//! The engine's requests: each goes out to the API server as it is, and what happened is logged.

use std::borrow::Cow;

use api::decode::Parts;
use api::encode::raw;
use engine::index::Key;
use engine::port::{self, Labels, Note, Reply, Request};
use engine::reconcile::{Outcome, Refusal};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, Preconditions, PropagationPolicy};
use kube::core::request::Error as Malformed;
use plan::keys::{MANAGED_LABEL, MANAGED_VALUE, reason};
use plan::selector::LabelSelector;
use plan::{Action, Blocker, OwnerChange};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tracing::{debug, info, warn};

use crate::client::object::{Kind, Object};
use crate::client::requests::{Authority, Server};
use crate::write::Writer;
use crate::write::manager::{patch_params, post_params};
use crate::write::pages::{BYTES_MAX, Page, Place, Pod};

/// The API server, for requests under one authority.
pub(crate) struct Live<'a> {
    pub(crate) writer: &'a Writer,
    pub(crate) authority: Authority<'a>,
}

impl port::Object for Object {
    fn parts(&self) -> Parts<'_> {
        Object::parts(self)
    }

    fn version(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.resource_version())
    }
}

type Sent = Result<http::Request<Vec<u8>>, Malformed>;

impl Live<'_> {
    /// Sends one request, and awaits its answer.
    pub(crate) async fn send(&self, request: Request) -> Result<Reply<Object>, Refusal> {
        match request {
            Request::Get { kind, namespace, name } => {
                let (kind, in_metrics) = self.kind(kind);
                let request = Server::requests(kind, &namespace).get(&name, &GetParams::default());
                self.read("get", in_metrics, request).await
            }
            Request::ListReplicaSets { namespace, labels, selector, from } => {
                self.list(&namespace, labels, selector.as_ref(), from).await
            }
            Request::ListPods { key, uid, selector } => {
                self.writer.pods.of(&key, &uid, selector).await.map(Reply::Pods)
            }
            Request::PagePods { namespace, selector, from } => {
                let params = ListParams::default().labels(&selector);
                let (pods, next) = self.page::<Pod>(Kind::Pod, &namespace, params, from).await?;
                Ok(Reply::Values(pods.into_iter().map(Pod::into_value).collect(), next))
            }
            Request::ListWarnings { namespace, uid } => {
                let fields = format!("involvedObject.uid={uid},type=Warning");
                let params = ListParams::default().fields(&fields);
                let (events, next) = self.page::<Object>(Kind::Event, &namespace, params, None).await?;
                Ok(Reply::Values(events.into_iter().map(|object| object.body).collect(), next))
            }
            Request::Create { kind, namespace, object, is_dry_run } => {
                self.create(kind, &namespace, object, is_dry_run).await
            }
            Request::Patch { kind, namespace, name, patch, of_status, wants_object } => {
                let (namespace, name) = (namespace.as_str(), name.as_str());
                self.patch(Patched { kind, namespace, name, patch, of_status, wants_object }).await
            }
            Request::Delete { kind, namespace, name, uid, version } => {
                self.delete(kind, &namespace, &name, uid, version).await
            }
        }
    }

    fn server(&self) -> &Server {
        &self.writer.server
    }

    /// What kind it is, and its name in metrics.
    fn kind(&self, kind: port::Kind) -> (Kind, &'static str) {
        match kind {
            port::Kind::Deployment => (Kind::Deployment(self.writer.flavour), "deployments"),
            port::Kind::ReplicaSet => (Kind::ReplicaSet, "replicasets"),
            port::Kind::Job => (Kind::Job, "jobs"),
        }
    }

    async fn read(
        &self,
        verb: &'static str,
        kind: &'static str,
        request: Sent,
    ) -> Result<Reply<Object>, Refusal> {
        self.server().exchange(verb, kind, request, self.authority).await.map(Reply::Object)
    }

    async fn write(
        &self,
        verb: &'static str,
        kind: &'static str,
        request: Sent,
    ) -> Result<Reply<Object>, Refusal> {
        let written = self.server().write(verb, kind, request, self.authority).await?;
        Ok(Reply::Version(written.resource_version().to_owned()))
    }

    async fn list(
        &self,
        namespace: &str,
        labels: Labels,
        selector: Option<&LabelSelector>,
        from: Option<String>,
    ) -> Result<Reply<Object>, Refusal> {
        let managed = match labels {
            Labels::Any => None,
            Labels::Unmanaged => Some(format!("{MANAGED_LABEL}!={MANAGED_VALUE}")),
        };
        let parts: Vec<String> = managed.into_iter().chain(selector.map(ToString::to_string)).collect();
        let label_selector = Some(parts.join(",")).filter(|labels| !labels.is_empty());
        let params = ListParams { label_selector, ..ListParams::default() };
        let (objects, next) = self.page(Kind::ReplicaSet, namespace, params, from).await?;
        Ok(Reply::Page(objects, next))
    }

    /// A page of a list, which begins where the page before ended, and where the next one begins. One that was too
    /// large has no objects, and begins again with fewer.
    async fn page<T: DeserializeOwned>(
        &self,
        kind: Kind,
        namespace: &str,
        params: ListParams,
        from: Option<String>,
    ) -> Result<(Vec<T>, Option<String>), Refusal> {
        let in_metrics = match kind {
            Kind::Pod => "pods",
            Kind::Event => "events",
            _ => "replicasets",
        };
        let place = Place::from(from.as_deref());
        let params = ListParams { limit: Some(place.limit), continue_token: place.token(), ..params };
        let request = Server::requests(kind, namespace).list(&params);
        let read = self.server().read_within(BYTES_MAX, "list", in_metrics, request, self.authority).await?;
        let Some((mut page, bytes)): Option<(Page<T>, usize)> = read else {
            let smaller = place.smaller().ok_or_else(|| too_large(in_metrics))?;
            return Ok((Vec::new(), Some(smaller.to_string())));
        };
        let next = page.next(place, bytes);
        Ok((page.items, next))
    }

    async fn create(
        &self,
        kind: port::Kind,
        namespace: &str,
        object: Box<RawValue>,
        is_dry_run: bool,
    ) -> Result<Reply<Object>, Refusal> {
        let (kind, in_metrics) = self.kind(kind);
        let requests = Server::requests(kind, namespace);
        let body = String::from(Box::<str>::from(object)).into_bytes();
        let request = requests.create(&post_params(is_dry_run), body);
        if is_dry_run {
            self.read("dry_run", in_metrics, request).await
        } else {
            self.write("create", in_metrics, request).await
        }
    }

    async fn patch(&self, patched: Patched<'_>) -> Result<Reply<Object>, Refusal> {
        let Patched { kind, namespace, name, patch, of_status, wants_object } = patched;
        let (kind, in_metrics) = self.kind(kind);
        let (requests, params) = (Server::requests(kind, namespace), patch_params());
        let (patch, media_type) = body_of(patch);
        let (verb, request) = match of_status {
            true => ("patch_status", requests.patch_subresource("status", name, &params, &patch)),
            false => ("patch", requests.patch(name, &params, &patch)),
        };
        let request = request.map(|mut request| {
            request.headers_mut().insert(CONTENT_TYPE, media_type);
            request
        });
        if wants_object {
            self.read(verb, in_metrics, request).await
        } else {
            self.write(verb, in_metrics, request).await
        }
    }

    async fn delete(
        &self,
        kind: port::Kind,
        namespace: &str,
        name: &str,
        uid: String,
        version: Option<String>,
    ) -> Result<Reply<Object>, Refusal> {
        // The pods of a Job would stay by default.
        // GA-9: the Job stays until its pod is gone.
        let propagation_policy = (kind == port::Kind::Job).then_some(PropagationPolicy::Foreground);
        let (kind, in_metrics) = self.kind(kind);
        let preconditions = Some(Preconditions { uid: Some(uid), resource_version: version });
        let params = DeleteParams { preconditions, propagation_policy, ..DeleteParams::default() };
        let request = Server::requests(kind, namespace).delete(name, &params);
        self.write("delete", in_metrics, request).await
    }
}

/// The server stores no object that large.
fn too_large(what: &str) -> Refusal {
    Refusal::new(0, "", format!("the server's answer to a list of {what} has more than {BYTES_MAX} bytes"))
}

/// A patch, and of what.
struct Patched<'a> {
    kind: port::Kind,
    namespace: &'a str,
    name: &'a str,
    patch: port::Patch,
    of_status: bool,
    wants_object: bool,
}

/// A patch and its media type. kube would take one of RFC 6902 as a tree.
fn body_of(patch: port::Patch) -> (Patch<Box<RawValue>>, HeaderValue) {
    let (body, media_type) = match patch {
        port::Patch::Merge(patch) => (raw(&patch), "application/merge-patch+json"),
        port::Patch::Strategic(patch) => (raw(&patch), "application/strategic-merge-patch+json"),
        port::Patch::Json(patch) => (patch, "application/json-patch+json"),
    };
    (Patch::Merge(body), HeaderValue::from_static(media_type))
}

/// Logs what happened in an attempt at this Deployment.
pub(crate) fn log(key: &Key, note: &Note<'_>) {
    match note {
        Note::ReadsEarly => {
            debug!(%key, "edited, and the cache may not show everything yet; reading live");
        }
        Note::ReadsLive => warn!(%key, "the cache does not show our last write; reading live"),
        Note::Acted(_, action, Ok(())) => acted(key, action),
        Note::Acted(_, _, Err(refusal)) => {
            debug!(%key, code = refusal.code, message = refusal.message, "refused");
        }
        Note::OwnerChanged(OwnerChange::Adopt(target)) => info!(%key, set = target.name, "adopt ReplicaSet"),
        Note::OwnerChanged(OwnerChange::Release(target)) => {
            info!(%key, set = target.name, "release ReplicaSet");
        }
        Note::Event(_, event) if event.reason == reason::NEWER_SPEC => {
            warn!(%key, message = event.message, "left as it is: this operator is too old");
        }
        Note::LabelRestored(set) => {
            warn!(%key, set, "a ReplicaSet of ours had lost its label {MANAGED_LABEL}; it was put back");
        }
        Note::LeftAlone(set) => info!(%key, set, "a ReplicaSet lost our label and its owner: left alone"),
        Note::LabelsOrphan(set) => info!(%key, set, "label orphan, to be adopted"),
        Note::Orphan(set, command) => {
            warn!(%key, set, command, "an orphaned ReplicaSet matches and lacks our label");
        }
        Note::Changed(set, field) => {
            warn!(
                %key, set, field,
                "the template of a ReplicaSet was changed when it was created: a webhook or a policy changes ReplicaSets; \
                 exempt those of Deployments from it"
            );
        }
        Note::GivesWay(rival, message) => {
            warn!(%key, manager = rival.manager, message, "gives way to another controller");
        }
        Note::DryRunRefused(refusal) => {
            debug!(%key, code = refusal.code, message = refusal.message, "dry run refused");
        }
        Note::Why(why) => info!(%key, why, "rollout"),
        Note::Blocked(blockers) => blocked(key, blockers),
        Note::Ended(Outcome { writes, requeue, deviations, .. }) => {
            debug!(%key, writes, wake = ?requeue, ?deviations, "pass");
        }
        Note::CacheBehind | Note::Begins(..) | Note::Owner(..) | Note::DryRun(_) | Note::Found(_) => {}
        Note::Event(..) | Note::PodsNoMore | Note::Forgotten | Note::Requeued => {}
    }
}

/// One line per action that was carried out.
fn acted(key: &Key, action: &Action) {
    match action {
        Action::SetSelector(selector) => info!(%key, %selector, "selector taken from the template"),
        Action::CreateReplicaSet(set) => info!(%key, set = set.name, size = set.size, "create ReplicaSet"),
        Action::UpdateReplicaSet(update) if update.size_from == update.size_to => {
            info!(%key, set = update.target.name, "update ReplicaSet");
        }
        Action::UpdateReplicaSet(update) => {
            info!(%key, set = update.target.name, from = update.size_from, to = update.size_to, "scale ReplicaSet");
        }
        Action::DeleteReplicaSet(target) => info!(%key, set = target.name, "delete ReplicaSet"),
        Action::CreateJob(new) => info!(%key, job = new.name, "create Job"),
        Action::DeleteJob { name, .. } => info!(%key, job = name, "delete Job"),
        Action::WriteStatus(_) => debug!(%key, "write status"),
        Action::RollBack(write) if write.template.is_some() => info!(%key, "roll back"),
        Action::RollBack(_) => info!(%key, "clear rollback request"),
    }
}

/// Causes, each once.
fn blocked(key: &Key, blockers: &[Blocker]) {
    if blockers.is_empty() {
        info!(%key, "the rollout is blocked no more");
    }
    for Blocker { cause, container, reason, pods, of, message, .. } in blockers {
        warn!(%key, cause, container, reason, pods, of, message, "the rollout is blocked");
    }
}
