//! The server's own step of admission: what it does to an object on its way into the store.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use admission::{Crd, FieldValidation};
use serde_json::Value;
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
    /// What a strict decoder says of the body itself.
    pub(crate) complaints: Vec<String>,
}

/// The step.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    scope: Mutex<Scope>,
    /// The definition as it was last read, by its version.
    custom: Mutex<Option<(u64, Arc<Crd>)>>,
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

    /// The request is over; says what it is to be warned of.
    pub(crate) fn leave(&self) -> Vec<String> {
        let scope = std::mem::take(&mut *self.scope());
        if scope.validation == FieldValidation::Warn { scope.complaints } else { Vec::new() }
    }

    fn scope(&self) -> MutexGuard<'_, Scope> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn crd(&self, store: &Store) -> Option<Arc<Crd>> {
        let definition = definition::installed(store)?;
        let mut known = self.custom.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|(version, _)| *version != definition.version()) {
            let crd = Crd::parse(&definition.to_value()).ok()?;
            *known = Some((definition.version(), Arc::new(crd)));
        }
        known.as_ref().map(|(_, crd)| crd.clone())
    }

    /// Decodes and validates an object of the custom kind.
    fn custom(&self, crd: &Crd, request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
        let mut value = object.to_value();
        let mut sent = value.clone();
        if let (Some(stored), Some(metadata)) = (request.stored, sent.get_mut("metadata")) {
            // It is counted later.
            put(metadata, "generation", stored.generation());
        }
        let unknown = crd.decode(&mut value).map_err(|why| refused(&crd.undecodable(&why)))?;
        self.complain(crd, &sent, unknown)?;
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
        if let Some(stored) = request.stored
            && stored.spec == object.spec
            && stored.rest == object.rest
            && !object.is_deleting()
        {
            // What made a difference has been dropped again.
            object.set_metadata("generation", stored.generation().into());
        }
        Ok(())
    }

    /// Refuses unknown and duplicate fields, or keeps them for a warning.
    fn complain(&self, crd: &Crd, sent: &Value, unknown: Vec<String>) -> Result<(), Refused> {
        let mut scope = self.scope();
        scope.complaints.extend(unknown);
        if scope.validation != FieldValidation::Strict || scope.complaints.is_empty() {
            return Ok(());
        }
        Err(refused(&match scope.verb {
            Verb::Patch => admission::patch_refused(sent, &scope.complaints),
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
            if let Some(crd) = self.crd(store) {
                self.custom(&crd, request, object)?;
            }
        } else if !self.scope().manager.is_empty() {
            // What acts inside of the cluster knows what it writes.
            built_in(request, object)?;
        }
        let is_deployment = matches!(request.resource, Resource::Deployments | Resource::AppsDeployments);
        let scope = self.scope();
        if is_deployment && request.subresource == Subresource::Status && !scope.manager.is_empty() {
            managed::note_status(object, request.stored, &scope, store.now());
        }
        Ok(())
    }
}

/// What holds for the metadata of all built-in kinds.
fn built_in(request: &Request<'_>, object: &mut Object) -> Result<(), Refused> {
    let value = || {
        let metadata = Value::clone(&object.metadata);
        serde_json::json!({ "metadata": metadata })
    };
    let mut causes = match request.stored {
        None => admission::metadata::on_create(&value()),
        Some(stored) if stored.metadata != object.metadata => {
            let old = Value::clone(&stored.metadata);
            admission::metadata::on_update(&value(), &serde_json::json!({ "metadata": old }))
        }
        Some(_) => Vec::new(),
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
