//! Classifies a change of an object: a write of the active controller, or something else, counted by type.

use std::sync::Arc;

use jiff::Timestamp;
use plan::keys::REVISION;
use plan::{ReplicaSet, Workload};
use serde_json::Value;

use crate::author::{self, Author, Path};
use crate::fleet::{Fleet, Item};
use engine::index::Key;
use engine::rivalry::FIELD_MANAGER;

/// A write of the controller in charge.
#[derive(Clone, Debug)]
pub(crate) struct Sighting {
    /// The Deployment that it was made for.
    pub(crate) key: Key,
    /// uid of that Deployment.
    pub(crate) uid: String,
    /// The resourceVersion that it came to.
    pub(crate) version: u64,
    /// When it was seen.
    pub(crate) at: Timestamp,
    pub(crate) write: Write,
}

/// What was written.
#[derive(Clone, Debug)]
pub(crate) enum Write {
    Create {
        after: Arc<Item<ReplicaSet>>,
    },
    Update {
        before: Arc<Item<ReplicaSet>>,
        after: Arc<Item<ReplicaSet>>,
    },
    Delete {
        before: Arc<Item<ReplicaSet>>,
    },
    Status {
        before: Arc<Item<Workload>>,
        after: Arc<Item<Workload>>,
    },
    /// Spec or annotations of the Deployment itself: a rollback, a selector.
    Workload {
        before: Arc<Item<Workload>>,
        after: Arc<Item<Workload>>,
    },
}

impl Write {
    /// One word, for counters and names of cases.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Delete { .. } => "delete",
            Self::Status { .. } => "status",
            Self::Workload { .. } => "rollback",
            Self::Update { before, after } => {
                let (before, after) = (&before.decoded, &after.decoded);
                match (&before.controller_uid, &after.controller_uid) {
                    (None, Some(_)) => "adopt",
                    (Some(_), None) => "release",
                    _ if before.size != after.size => "scale",
                    _ => "annotate",
                }
            }
        }
    }
}

/// What is not compared, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ignored {
    /// The status of a ReplicaSet: by the ReplicaSet controller.
    SetStatus,
    /// A ReplicaSet changed by somebody else: scaled by hand, edited.
    SetByOthers,
    /// Labels, finalizers, a mark of deletion: nothing that the controller writes.
    SetMetadata,
    /// A ReplicaSet that none of the Deployments controls.
    NoOwner,
    /// A ReplicaSet that went with its Deployment.
    WithItsDeployment,
    /// A ReplicaSet that had pods: the controller deletes none of those, so somebody else did.
    DeletedByOthers,
    /// A Deployment was created, edited or deleted.
    DeploymentByOthers,
    /// A status written by somebody else.
    StatusByOthers,
    /// A name was taken: names follow from a hash that differs between Rollwright and Kubernetes.
    Collision,
    /// The object does not show who wrote it.
    NoAuthor,
    /// What happened before the caches were filled, or while a watch was interrupted.
    Missed,
    /// An object that cannot be read.
    Unreadable,
}

impl Ignored {
    /// One word, for counters.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::SetStatus => "replicaset-status",
            Self::SetByOthers => "replicaset-by-others",
            Self::SetMetadata => "replicaset-metadata",
            Self::NoOwner => "no-owner",
            Self::WithItsDeployment => "with-its-deployment",
            Self::DeletedByOthers => "deleted-by-others",
            Self::DeploymentByOthers => "deployment-by-others",
            Self::StatusByOthers => "status-by-others",
            Self::Collision => "collision",
            Self::NoAuthor => "no-author",
            Self::Missed => "missed",
            Self::Unreadable => "unreadable",
        }
    }
}

/// What a change was.
#[derive(Debug)]
pub(crate) enum Noticed {
    Write(Box<Sighting>),
    Ignored(Ignored),
}

/// A change of one object: what it was before, if anything, and its author.
pub(crate) struct Change<'a, T> {
    pub(crate) version: u64,
    pub(crate) at: Timestamp,
    pub(crate) before: Option<Arc<Item<T>>>,
    pub(crate) after: Option<Arc<Item<T>>>,
    pub(crate) managed_fields: &'a Value,
}

/// Who is in charge, by name of the field manager.
pub(crate) struct InCharge {
    pub(crate) manager: String,
}

impl InCharge {
    fn author(&self, managed_fields: &Value, changes: &[Path], subresource: &str) -> Author {
        author::author(managed_fields, changes, subresource, &self.manager)
    }

    /// A Deployment was created, changed or deleted.
    pub(crate) fn workload(&self, key: &Key, change: Change<'_, Workload>) -> Noticed {
        let (Some(before), Some(after)) = (change.before, change.after) else {
            return Noticed::Ignored(Ignored::DeploymentByOthers);
        };
        let (old, new) = (&before.decoded, &after.decoded);
        if old.uid != new.uid {
            return Noticed::Ignored(Ignored::DeploymentByOthers);
        }
        let mut status = author::changes(&before.body, &after.body, &["status"]);
        let spec = author::changes(&before.body, &after.body, &["spec"]);
        let annotations = author::changes(&before.body, &after.body, &["metadata", "annotations"]);
        let revision = old.annotations.get(REVISION) != new.annotations.get(REVISION);
        if status.is_empty() && spec.is_empty() && revision && annotations.len() == 1 {
            // The revision travels with a status write (S5.6), and here it is all that the write changes.
            status.clone_from(&annotations);
        }
        let sighting = |write| {
            let (key, uid) = (key.clone(), new.uid.clone());
            Noticed::Write(Box::new(Sighting { key, uid, version: change.version, at: change.at, write }))
        };
        if status.is_empty() {
            let changes: Vec<Path> = spec.into_iter().chain(annotations).collect();
            if changes.is_empty() {
                return Noticed::Ignored(Ignored::DeploymentByOthers);
            }
            return match self.author(change.managed_fields, &changes, "") {
                Author::Controller => sighting(Write::Workload { before, after: after.clone() }),
                Author::Other(_) => Noticed::Ignored(Ignored::DeploymentByOthers),
                Author::Unknown => Noticed::Ignored(Ignored::NoAuthor),
            };
        }
        match self.author(change.managed_fields, &status, "status") {
            Author::Controller if old.status.collision_count != new.status.collision_count => {
                Noticed::Ignored(Ignored::Collision)
            }
            Author::Controller => sighting(Write::Status { before, after: after.clone() }),
            Author::Other(_) => Noticed::Ignored(Ignored::StatusByOthers),
            Author::Unknown => Noticed::Ignored(Ignored::NoAuthor),
        }
    }

    /// A ReplicaSet was created, changed or deleted.
    pub(crate) fn set(&self, fleet: &Fleet, namespace: &str, change: Change<'_, ReplicaSet>) -> Noticed {
        let owner_of = |item: &Option<Arc<Item<ReplicaSet>>>| {
            item.as_ref().and_then(|item| item.decoded.controller_uid.clone())
        };
        // Of an adoption it is the new one, of a release the old one.
        let Some(uid) = owner_of(&change.after).or_else(|| owner_of(&change.before)) else {
            return Noticed::Ignored(Ignored::NoOwner);
        };
        let Some(key) = fleet.key_of(namespace, &uid).cloned() else {
            return Noticed::Ignored(match change.after {
                None => Ignored::WithItsDeployment,
                Some(_) => Ignored::NoOwner,
            });
        };
        let (version, at, managed_fields) = (change.version, change.at, change.managed_fields);
        let write = match (change.before, change.after) {
            (None, None) => return Noticed::Ignored(Ignored::NoOwner),
            (None, Some(after)) => self.created(after, managed_fields),
            (Some(before), Some(after)) => self.changed(before, after, managed_fields),
            (Some(before), None) => deleted(fleet, &key, before),
        };
        match write {
            Ok(write) => Noticed::Write(Box::new(Sighting { key, uid, version, at, write })),
            Err(ignored) => Noticed::Ignored(ignored),
        }
    }

    fn created(&self, after: Arc<Item<ReplicaSet>>, managed_fields: &Value) -> Result<Write, Ignored> {
        let fields = author::changes(&Value::Null, &after.body, &["spec"]);
        match self.author(managed_fields, &fields, "") {
            Author::Controller => Ok(Write::Create { after }),
            Author::Other(_) => Err(Ignored::SetByOthers),
            Author::Unknown => Err(Ignored::NoAuthor),
        }
    }

    fn changed(
        &self,
        before: Arc<Item<ReplicaSet>>,
        after: Arc<Item<ReplicaSet>>,
        managed_fields: &Value,
    ) -> Result<Write, Ignored> {
        let roots = [&["spec"][..], &["metadata", "annotations"], &["metadata", "ownerReferences"]];
        let changes: Vec<Path> =
            roots.iter().flat_map(|root| author::changes(&before.body, &after.body, root)).collect();
        if changes.is_empty() {
            let status = before.body.get("status") != after.body.get("status");
            return Err(if status { Ignored::SetStatus } else { Ignored::SetMetadata });
        }
        match self.author(managed_fields, &changes, "") {
            Author::Controller => Ok(Write::Update { before, after }),
            // Rollwright drops the managers of its ReplicaSets.
            Author::Unknown if self.manager == FIELD_MANAGER => Ok(Write::Update { before, after }),
            Author::Other(_) => Err(Ignored::SetByOthers),
            Author::Unknown => Err(Ignored::NoAuthor),
        }
    }
}

/// Nothing shows who deleted a ReplicaSet. The controller deletes only idle ones of a Deployment that stays (S11.5);
/// whatever looks like that is compared.
fn deleted(fleet: &Fleet, key: &Key, before: Arc<Item<ReplicaSet>>) -> Result<Write, Ignored> {
    if fleet.workload(key).is_none_or(|workload| workload.decoded.deleting) {
        return Err(Ignored::WithItsDeployment);
    }
    let set = &before.decoded;
    if set.size > 0 || set.status.replicas > 0 {
        return Err(Ignored::DeletedByOthers);
    }
    Ok(Write::Delete { before })
}
