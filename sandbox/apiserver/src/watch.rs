//! Watches: a stream of what happens to the objects of a request.

use std::sync::Arc;
use std::time::Duration;

use admission::Cause;
use bytes::Bytes;
use futures::Stream;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;
use tokio::time::Instant;
use world::{Change, ChangeKind, Object, Refused, Resource, Store};

use crate::criteria::Criteria;
use crate::holder::{Door, enter};
use crate::invalid;
use crate::media::Form;
use crate::member::put;
use crate::query::Query;
use crate::read::table_of_one;
use crate::table::{Include, Printer, partial};

/// How long a watch without a timeout lasts.
const DEFAULT_LIFE: Duration = Duration::from_secs(1800);
/// A client that wants bookmarks gets one this often.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// The last bookmark comes this long before the end.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Marks the bookmark after the objects that there were at the beginning.
const INITIAL_END: &str = "k8s.io/initial-events-end";

/// A watch as it was asked for, and where it is.
pub(crate) struct Watch {
    door: Arc<dyn Door>,
    versions: Receiver<u64>,
    resource: Resource,
    namespace: Option<String>,
    criteria: Criteria,
    form: Form,
    printer: Printer,
    /// Columns go with the first event only.
    has_sent_columns: bool,
    cursor: u64,
    /// What is sent before anything happens.
    first: Option<Bytes>,
    bookmark_at: Option<Instant>,
    end: Instant,
    is_over: bool,
}

impl Watch {
    /// Begins a watch: from a version, or with all objects there are.
    pub(crate) fn begin(
        door: &Arc<dyn Door>,
        store: &Store,
        (resource, namespace): (Resource, Option<String>),
        form: Form,
        query: &Query,
    ) -> Result<Self, Refused> {
        let life = query.number("timeoutSeconds").map_or(DEFAULT_LIFE, Duration::from_secs);
        let (now, wants_bookmarks) = (Instant::now(), query.is_set("allowWatchBookmarks"));
        let sends_initial = query.text("sendInitialEvents").map(|_| query.is_set("sendInitialEvents"));
        if sends_initial.is_some() && query.text("resourceVersionMatch") != Some("NotOlderThan") {
            let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            return Err(invalid::options("ListOptions", Cause::forbidden("resourceVersionMatch", why)));
        }
        let from = query.version()?;
        let life = life.max(Duration::from_millis(1));
        let mut watch = Self {
            door: door.clone(),
            versions: door.versions(),
            resource,
            namespace,
            criteria: Criteria::of(resource, query)?,
            form,
            printer: Printer::new(store, resource, Include::of(query)?),
            has_sent_columns: false,
            cursor: from.unwrap_or_else(|| store.version()),
            first: None,
            bookmark_at: wants_bookmarks
                .then(|| now + BOOKMARK_EVERY.min(life.saturating_sub(LAST_BOOKMARK))),
            end: now + life,
            is_over: false,
        };
        if sends_initial.unwrap_or(from.is_none()) {
            watch.first = Some(watch.initial(store, sends_initial == Some(true) && wants_bookmarks));
        }
        Ok(watch)
    }

    /// The events, in chunks.
    pub(crate) fn stream(self) -> impl Stream<Item = Bytes> + Send {
        futures::stream::unfold(self, |mut watch| async move {
            let chunk = watch.next().await?;
            Some((chunk, watch))
        })
    }

    fn selects(&self, object: &Object) -> bool {
        let namespace = self.namespace.as_deref();
        namespace.is_none_or(|namespace| namespace == object.namespace()) && self.criteria.matches(object)
    }

    /// Every object, as if it came into being now.
    fn initial(&mut self, store: &Store, has_end: bool) -> Bytes {
        self.cursor = store.version();
        let namespace = self.namespace.clone();
        let objects = store.list(self.resource, namespace.as_deref());
        let objects: Vec<Object> = objects.filter(|object| self.criteria.matches(object)).cloned().collect();
        let mut chunk = Vec::new();
        for object in &objects {
            self.write(&mut chunk, "ADDED", object, store);
        }
        if has_end {
            self.write_bookmark(&mut chunk, store, true);
        }
        Bytes::from(chunk)
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Some(first);
        }
        while !self.is_over {
            self.versions.borrow_and_update();
            let door = self.door.clone();
            let news = enter(door.as_ref(), |store| self.news(store)).unwrap_or_default();
            if !news.is_empty() {
                return Some(Bytes::from(news));
            }
            let bookmark = self.bookmark_at.filter(|at| *at < self.end);
            tokio::select! {
                changed = self.versions.changed() => self.is_over = changed.is_err(),
                () = tokio::time::sleep_until(bookmark.unwrap_or(self.end)) => match bookmark {
                    Some(_) => return Some(self.bookmark()),
                    None => self.is_over = true,
                },
            }
        }
        None
    }

    /// What has happened since the cursor.
    fn news(&mut self, store: &Store) -> Vec<u8> {
        let mut chunk = Vec::new();
        match store.changes(self.resource, self.cursor) {
            Ok(changes) => {
                for change in changes {
                    if let Some((kind, object)) = self.event(change) {
                        self.write(&mut chunk, kind, &object, store);
                    }
                }
                self.cursor = self.cursor.max(store.version());
            }
            Err(expired) => {
                // An error in the stream: the request itself was a good one.
                self.is_over = true;
                let status = Refused::new(410, "Expired", expired.to_string()).to_status();
                line(&mut chunk, "ERROR", &without_details(status));
            }
        }
        chunk
    }

    /// A change as this watch sees it: what comes into the selection is added, what leaves it is
    /// deleted.
    fn event(&self, change: &Change) -> Option<(&'static str, Object)> {
        let is_in = change.kind != ChangeKind::Deleted && self.selects(&change.object);
        let was_in = change.before.as_ref().is_some_and(|before| self.selects(before));
        match (was_in, is_in) {
            (false, false) => None,
            (false, true) => Some(("ADDED", change.object.clone())),
            (true, true) => Some(("MODIFIED", change.object.clone())),
            (true, false) if change.kind == ChangeKind::Deleted => Some(("DELETED", change.object.clone())),
            (true, false) => {
                let mut object = change.before.clone()?;
                object.set_version(change.version);
                Some(("DELETED", object))
            }
        }
    }

    fn write(&mut self, chunk: &mut Vec<u8>, kind: &str, object: &Object, store: &Store) {
        let value = match self.form {
            Form::Whole | Form::Discovery => object.to_value(),
            Form::Metadata => partial(object),
            Form::Table => {
                let has_columns = !std::mem::replace(&mut self.has_sent_columns, true);
                table_of_one(&self.printer, object, has_columns, store.now())
            }
        };
        line(chunk, kind, &value);
    }

    fn bookmark(&mut self) -> Bytes {
        let next = Instant::now() + BOOKMARK_EVERY;
        let last = self.end.checked_sub(LAST_BOOKMARK).unwrap_or(self.end);
        let is_last = self.bookmark_at.is_some_and(|at| at >= last);
        self.bookmark_at = (!is_last).then(|| next.min(last));
        let door = self.door.clone();
        let chunk = enter(door.as_ref(), |store| {
            let mut chunk = self.news(store);
            if !self.is_over {
                self.write_bookmark(&mut chunk, store, false);
            }
            chunk
        });
        Bytes::from(chunk.unwrap_or_default())
    }

    fn write_bookmark(&mut self, chunk: &mut Vec<u8>, store: &Store, is_end: bool) {
        let mut metadata = json!({ "resourceVersion": self.cursor.to_string(), "creationTimestamp": null });
        if is_end {
            put(&mut metadata, "annotations", json!({ INITIAL_END: "true" }));
        }
        let value = json!({ "metadata": metadata });
        let object = Object::from_value(self.resource, value);
        self.write(chunk, "BOOKMARK", &object, store);
    }
}

fn without_details(mut status: Value) -> Value {
    if let Some(members) = status.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    status
}

fn line(chunk: &mut Vec<u8>, kind: &str, object: &Value) {
    let event = json!({ "type": kind, "object": object });
    chunk.extend_from_slice(event.to_string().as_bytes());
    chunk.push(b'\n');
}
