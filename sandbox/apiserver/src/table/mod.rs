//! Tables: what `kubectl get` prints, made by the server.

mod cell;
mod custom;
mod event;
mod node;
mod plain;
mod pod;
mod workload;

use jiff::Timestamp;
use serde_json::{Value, json};
use world::{Object, Refused, Resource, Store};

use crate::member::put;
use crate::query::Query;
use cell::definition;

/// What of an object goes into its row besides the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    pub(crate) fn of(query: &Query) -> Result<Self, Refused> {
        match query.text("includeObject") {
            None | Some("Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::Nothing),
            Some("Object") => Ok(Self::Object),
            Some(other) => {
                Err(Refused::bad_request(format!("unrecognized includeObject value: \"{other}\"")))
            }
        }
    }
}

/// Makes the tables of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Printer {
    resource: Resource,
    include: Include,
    custom: Option<custom::Columns>,
}

impl Printer {
    pub(crate) fn new(store: &Store, resource: Resource, include: Include) -> Self {
        let custom = (resource == Resource::Deployments).then(|| custom::Columns::of(store));
        Self { resource, include, custom }
    }

    /// A table of objects; a watch sends the columns only once.
    pub(crate) fn table(
        &self,
        objects: &[Object],
        metadata: &Value,
        has_columns: bool,
        now: Timestamp,
    ) -> Value {
        let rows: Vec<_> = objects.iter().map(|object| self.row(object, now)).collect();
        let columns = if has_columns { self.columns() } else { Value::Null };
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            "columnDefinitions": columns, "rows": rows,
        })
    }

    fn columns(&self) -> Value {
        if let Some(custom) = &self.custom {
            return custom.definitions();
        }
        let columns = match self.resource {
            Resource::Pods => &pod::COLUMNS[..],
            Resource::ReplicaSets => &workload::REPLICA_SET[..],
            Resource::Jobs => &workload::JOB[..],
            Resource::AppsDeployments | Resource::Deployments => &workload::DEPLOYMENT[..],
            Resource::Events => &event::COLUMNS[..],
            Resource::Nodes => &node::COLUMNS[..],
            Resource::Namespaces => &plain::NAMESPACE[..],
            Resource::Leases => &plain::LEASE[..],
            Resource::ConfigMaps => &plain::CONFIG_MAP[..],
            Resource::Services => &plain::SERVICE[..],
            Resource::ServiceAccounts
            | Resource::ResourceQuotas
            | Resource::HorizontalPodAutoscalers
            | Resource::PodDisruptionBudgets => &plain::NAME_AND_AGE[..],
            Resource::CustomResourceDefinitions => &plain::DEFINITION[..],
        };
        columns.iter().map(|(name, kind, priority)| definition(name, kind, *priority, "")).collect()
    }

    fn row(&self, object: &Object, now: Timestamp) -> Value {
        let cells = match &self.custom {
            Some(custom) => custom.cells(object, now),
            None => match self.resource {
                Resource::Pods => pod::cells(object, now),
                Resource::ReplicaSets => workload::replica_set(object, now),
                Resource::Jobs => workload::job(object, now),
                Resource::AppsDeployments | Resource::Deployments => workload::deployment(object, now),
                Resource::Events => event::cells(object, now),
                Resource::Nodes => node::cells(object, now),
                _ => plain::cells(object, now),
            },
        };
        let mut row = json!({ "cells": cells });
        if self.resource == Resource::Pods
            && let Some(conditions) = pod::row_conditions(object)
        {
            put(&mut row, "conditions", conditions);
        }
        match self.include {
            Include::Nothing => put(&mut row, "object", Value::Null),
            Include::Metadata => put(&mut row, "object", partial(object)),
            Include::Object => put(&mut row, "object", object.to_value()),
        }
        row
    }
}

/// The metadata of an object, as an object of its own.
pub(crate) fn partial(object: &Object) -> Value {
    let metadata = object.whole_metadata();
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}
