//! The server's own step of admission: what it does to an object on its way into the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admission::{Crd, FieldValidation, built_in, job, metadata};
use serde_json::json;
use world::{Admission, Object, Operation, Refused, Request, Resource, Store, Subresource};

use crate::invalid::{self, refused};
use crate::member::put;
use crate::{defaults, definition, managed};

/// How the request that is carried out now writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verb {
    /// With a whole object.
    #[default]
    Whole,
    /// With a change of one.
    Patch,
    /// With an applied configuration.
    Apply,
}

/// What the request that is carried out now asks for. The store is locked meanwhile, so there is
/// only one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Who writes; empty outside of requests.
    pub(crate) manager: String,
    pub(crate) verb: Verb,
    pub(crate) validation: FieldValidation,
    /// What a strict decoder finds in the body itself.
    pub(crate) complaints: Vec<String>,
}

/// The step.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    scope: Mutex<Scope>,
    /// The definition as it was last read, by its version.
    custom: Mutex<Option<(u64, Arc<Crd>)>>,
    /// Rollwright Deployments by uid, with the version that they had when they were first written again: until then
    /// their status is a default of the schema, and is not stored.
    created: Mutex<HashMap<String, u64>>,
}

impl Gate {
    pub(crate) fn install(store: &mut Store) -> Arc<Self> {
        let gate = Arc::new(Self::default());
        store.add_admission(gate.clone());
        gate
    }

    pub(crate) fn enter(&self, scope: Scope) {
        *self.scope() = scope;
    }

    /// The request is over; returns the warnings for it.
    pub(crate) fn leave(&self) -> Vec<String> {
        let scope = std::mem::take(&mut *self.scope());
        if scope.validation == FieldValidation::Warn { scope.complaints } else { Vec::new() }
    }

    fn created(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn scope(&self) -> MutexGuard<'_, Scope> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The definition of the custom kind, if it is installed.
    fn crd(&self, store: &Store) -> Result<Option<Arc<Crd>>, Refused> {
        let Some(definition) = definition::installed(store) else { return Ok(None) };
        let mut known = self.custom.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(version, _)| *version != definition.version()) {
            *known = Some((definition.version(), Arc::new(definition::read(definition)?)));
        }
        Ok(known.as_ref().map(|(_, crd)| crd.clone()))
    }

    /// Decodes and validates an object of the custom kind.
    fn custom(&self, crd: &Crd, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        let mut value = object.to_value();
        let unknown = crd.decode(&mut value).map_err(|why| refused(&crd.undecodable(&why)))?;
        self.complain(crd, object, unknown)?;
        if request.stored.is_none() {
            crd.prepare_create(&mut value);
        }
        let name = object.name().to_owned();
        let causes = match (request.stored, request.subresource) {
            (None, _) => crd.create(&value),
            (Some(stored), Subresource::Status) => crd.update_status(&value, &stored.to_value()),
            (Some(stored), _) => crd.update(&value, &stored.to_value()),
        };
        if !causes.is_empty() {
            return Err(refused(&crd.invalid(&name, &causes)));
        }
        // Defaults are not validated: that of the status would be refused.
        admission::default(crd.schema(), &mut value);
        replace(object, Object::from_value(object.resource, value));
        Ok(())
    }

    /// Refuses a field of a Deployment of apps/v1 that the custom kind does not have either, if the request is strict.
    fn strict(&self, store: &Store, request: &Request<'_>, object: &Object) -> Result<(), Refused> {
        let is_whole =
            (request.resource, request.subresource) == (Resource::AppsDeployments, Subresource::Main);
        if !is_whole || self.scope().validation != FieldValidation::Strict {
            return Ok(());
        }
        let Some(crd) = self.crd(store)? else { return Ok(()) };
        let mut value = object.to_value();
        put(&mut value, "status", json!({}));
        let unknown = crd.decode(&mut value).map_err(|why| refused(&crd.undecodable(&why)))?;
        self.complain(&crd, object, unknown)
    }

    /// Refuses unknown and duplicate fields, or keeps them for a warning.
    fn complain(&self, crd: &Crd, sent: &Object, unknown: Vec<String>) -> Result<(), Refused> {
        let mut scope = self.scope();
        scope.complaints.extend(unknown);
        if scope.validation != FieldValidation::Strict || scope.complaints.is_empty() {
            return Ok(());
        }
        Err(refused(&match scope.verb {
            Verb::Patch => admission::patch_refused(&sent.to_value(), &scope.complaints),
            Verb::Whole | Verb::Apply => crd.undecodable(&admission::strict_error(&scope.complaints)),
        }))
    }
}

impl Admission for Gate {
    fn admit(&self, store: &Store, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        if request.operation == Operation::Delete {
            return Ok(());
        }
        defaults::drop_empty(object);
        if request.operation == Operation::Create {
            defaults::complete(object);
        }
        if request.resource == Resource::Deployments {
            if let Some(stored) = request.stored {
                self.created().entry(stored.uid().to_owned()).or_insert(stored.version());
            }
            if let Some(crd) = self.crd(store)? {
                self.custom(&crd, request, object)?;
            }
        } else if !self.scope().manager.is_empty() {
            // What acts inside of the cluster knows what it writes.
            self.strict(store, request, object)?;
            validate(request, object)?;
        }
        let is_deployment = matches!(request.resource, Resource::Deployments | Resource::AppsDeployments);
        let scope = self.scope();
        if is_deployment && !scope.manager.is_empty() {
            managed::note(object, request.stored, request.subresource, &scope, store.now());
        }
        Ok(())
    }

    fn persists(&self, stored: &Object) -> bool {
        let is_of_ours = stored.resource == Resource::Deployments;
        is_of_ours && self.created().get(stored.uid()) == Some(&stored.version())
    }
}

/// Validates a built-in kind: ReplicaSets, Jobs and new pods as far as `admission` knows them, of others
/// the metadata.
fn validate(request: &Request<'_>, object: &Object) -> Result<(), Refused> {
    let new = object.to_value();
    let old = request.stored.map(Object::to_value);
    let mut causes = match (object.resource, request.subresource, &old) {
        (Resource::ReplicaSets, _, None) => built_in::replica_set_on_create(&new),
        (Resource::ReplicaSets, Subresource::Status, Some(old)) => {
            built_in::replica_set_on_status_update(&new, old)
        }
        (Resource::ReplicaSets, _, Some(old)) => built_in::replica_set_on_update(&new, old),
        (Resource::Pods, _, None) => built_in::pod_on_create(&new),
        (Resource::Jobs, _, None) => job::on_create(&new),
        (Resource::Jobs, Subresource::Main, Some(old)) => job::on_update(&new, old),
        (_, _, None) => metadata::on_create(&new),
        (_, _, Some(old)) => metadata::on_update(&new, old),
    };
    causes.retain(|cause| object.resource.is_namespaced() || cause.field != "metadata.namespace");
    if causes.is_empty() {
        return Ok(());
    }
    Err(invalid::object(object.resource, object.name(), &causes))
}

/// Takes over what differs; the rest stays shared with the stored version.
fn replace(object: &mut Object, admitted: Object) {
    if *object.metadata != *admitted.metadata {
        object.metadata = admitted.metadata;
    }
    if *object.spec != *admitted.spec {
        object.spec = admitted.spec;
    }
    if *object.status != *admitted.status {
        object.status = admitted.status;
    }
    if *object.rest != *admitted.rest {
        object.rest = admitted.rest;
    }
}
