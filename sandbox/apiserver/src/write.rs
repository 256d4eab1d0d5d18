//! create, update and patch.

use admission::Cause;
use serde_json::{Value, json};
use world::{Key, Mode, Object, Patch, Refused, Resource, Store, Subresource};

use crate::apply;
use crate::definition;
use crate::invalid;
use crate::member::put;
use crate::protobuf;
use crate::query::Query;

/// A write as it was asked for.
pub(crate) struct Call<'a> {
    pub(crate) resource: Resource,
    /// Empty if the resource has none.
    pub(crate) namespace: &'a str,
    /// Empty on create.
    pub(crate) name: &'a str,
    pub(crate) subresource: Subresource,
    pub(crate) query: &'a Query,
    pub(crate) content_type: &'a str,
    pub(crate) body: &'a [u8],
}

/// What was written: the HTTP status, and the object or its Scale.
pub(crate) enum Written {
    Object(u16, Object),
    Scale(Value),
}

impl Call<'_> {
    pub(crate) fn key(&self) -> Key {
        Key::new(self.resource, self.namespace, self.name)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Result<Value, Refused> {
        if self.content_type.contains("protobuf") {
            return protobuf::decode(self.body).ok_or_else(|| unsupported("application/json"));
        }
        if self.content_type.contains("cbor") {
            return Err(unsupported("application/json"));
        }
        serde_json::from_slice(self.body).map_err(|error| {
            let kind = self.resource.kind();
            Refused::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {error}"
            ))
        })
    }

    /// The body as an object that belongs where the request goes.
    fn object(&self) -> Result<Object, Refused> {
        let mut value = self.json()?;
        let text = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let (version, kind) = (text(&value, "/apiVersion"), text(&value, "/kind"));
        let expected = self.resource.api_version();
        if !version.is_empty() && version != expected {
            return Err(Refused::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({expected})"
            )));
        }
        if !kind.is_empty() && kind != self.resource.kind() {
            let (group, expected) = (self.resource.group(), self.resource.kind());
            return Err(Refused::bad_request(format!(
                "{kind} in version \"v1\" cannot be handled as a {expected}: no kind \"{kind}\" is registered \
                 for the group \"{group}\""
            )));
        }
        let namespace = text(&value, "/metadata/namespace");
        if !namespace.is_empty() && namespace != self.namespace {
            return Err(Refused::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let name = text(&value, "/metadata/name");
        if !self.name.is_empty() && !name.is_empty() && name != self.name {
            return Err(Refused::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                self.name
            )));
        }
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            if !self.namespace.is_empty() {
                metadata.insert("namespace".to_owned(), self.namespace.into());
            }
            if !self.name.is_empty() {
                metadata.insert("name".to_owned(), self.name.into());
            }
        }
        Ok(Object::from_value(self.resource, value))
    }
}

/// POST to a collection.
pub(crate) fn create(store: &mut Store, call: &Call<'_>) -> Result<Written, Refused> {
    let object = call.object()?;
    create_object(store, call, object)
}

/// Creates an object in a namespace that is there.
pub(crate) fn create_object(
    store: &mut Store,
    call: &Call<'_>,
    mut object: Object,
) -> Result<Written, Refused> {
    let mode = call.query.mode()?;
    if call.resource.is_namespaced() {
        check_namespace(store, call.namespace)?;
        object.set_metadata("namespace", call.namespace.into());
    }
    if object.name().is_empty() && object.metadata.get("generateName").is_none() {
        let cause = Cause::required("metadata.name", "name or generateName is required");
        return Err(invalid::object(call.resource, "", &[cause]));
    }
    // Only the server decides what belongs to it.
    object.set_version(0);
    object.set_metadata("managedFields", Value::Null);
    let created = if call.resource == Resource::CustomResourceDefinitions {
        definition::establish(store, object.to_value(), mode)?
    } else {
        store.create(object, mode)?
    };
    Ok(Written::Object(201, created))
}

/// A cluster that has namespaces at all takes objects only into those.
fn check_namespace(store: &Store, namespace: &str) -> Result<(), Refused> {
    let has_any = store.list(Resource::Namespaces, None).next().is_some();
    if has_any && store.get(&Key::new(Resource::Namespaces, "", namespace)).is_none() {
        return Err(Refused::not_found(Resource::Namespaces, namespace));
    }
    Ok(())
}

/// PUT of an object or a part of it.
pub(crate) fn update(store: &mut Store, call: &Call<'_>) -> Result<Written, Refused> {
    let mode = call.query.mode()?;
    if call.subresource == Subresource::Scale {
        let scale = call.json()?;
        check_size(store, call, mode, &scale)?;
        return size(store, call, mode, |store, mode| store.replace_scale(&call.key(), &scale, mode));
    }
    let object = call.object()?;
    if call.resource == Resource::Deployments && object.version() == 0 && store.get(&call.key()).is_some() {
        let cause = Cause::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
        let (group, plural) = (call.resource.group(), call.resource.plural());
        return Err(invalid::refused(&admission::invalid(group, plural, call.name, &[cause])));
    }
    changed(store, call, |store| store.replace(object, call.subresource, mode))
}

/// PATCH of an object or a part of it.
pub(crate) fn patch(store: &mut Store, call: &Call<'_>) -> Result<Written, Refused> {
    let mode = call.query.mode()?;
    let media_type = call.content_type.split(';').next().unwrap_or_default().trim();
    let patch = match media_type {
        "application/merge-patch+json" => Patch::Merge(call.json()?),
        "application/json-patch+json" => Patch::Json(call.json()?),
        "application/strategic-merge-patch+json" if call.resource != Resource::Deployments => {
            Patch::Strategic(call.json()?)
        }
        "application/apply-patch+yaml" => return apply::apply(store, call, mode),
        _ => {
            let strategic = if call.resource == Resource::Deployments {
                ""
            } else {
                "application/strategic-merge-patch+json, "
            };
            return Err(unsupported(&format!(
                "application/json-patch+json, application/merge-patch+json, {strategic}application/apply-patch+yaml"
            )));
        }
    };
    if call.subresource == Subresource::Scale {
        if let Patch::Merge(scale) = &patch {
            check_size(store, call, mode, scale)?;
        }
        return size(store, call, mode, |store, mode| {
            store.patch(&call.key(), &patch, Subresource::Scale, mode)
        });
    }
    check_uid(store, call, &patch)?;
    changed(store, call, |store| store.patch(&call.key(), &patch, call.subresource, mode))
        .map_err(inapplicable)
}

/// Answers with an object as the write left it; one that is gone by the write, in its last version.
fn changed(
    store: &mut Store,
    call: &Call<'_>,
    write: impl FnOnce(&mut Store) -> Result<Object, Refused>,
) -> Result<Written, Refused> {
    let before = store.get(&call.key()).map(Object::version);
    let mut written = write(store)?;
    if let (None, Some(version)) = (store.get(&call.key()), before) {
        written.set_version(version);
    }
    Ok(Written::Object(200, written))
}

/// A patch may not make another object of it.
fn check_uid(store: &Store, call: &Call<'_>, patch: &Patch) -> Result<(), Refused> {
    let (Patch::Merge(change) | Patch::Strategic(change)) = patch else { return Ok(()) };
    let (Some(uid), Some(stored)) = (change.pointer("/metadata/uid"), store.get(&call.key())) else {
        return Ok(());
    };
    if *uid == stored.uid() {
        return Ok(());
    }
    // The server checks it for every resource, and again for the kind.
    let cause = Cause::invalid("metadata.uid", uid, "field is immutable");
    Err(invalid::object(call.resource, call.name, &[cause.clone(), cause]))
}

/// The answer does not contain why a JSON patch does not fit.
fn inapplicable(mut refused: Refused) -> Refused {
    const MESSAGE: &str = "the server rejected our request due to an error in our request";
    if refused.message.starts_with(MESSAGE) {
        MESSAGE.clone_into(&mut refused.message);
        refused.details = json!({});
    }
    refused
}

/// A size below zero is for the definition to refuse, if there is one.
fn check_size(store: &mut Store, call: &Call<'_>, mode: Mode, scale: &Value) -> Result<(), Refused> {
    let size = scale.pointer("/spec/replicas").and_then(Value::as_i64);
    match size.filter(|size| *size < 0 && call.resource == Resource::Deployments) {
        None => Ok(()),
        Some(size) => {
            let patch = Patch::Merge(json!({ "spec": { "replicas": size } }));
            store.patch(&call.key(), &patch, Subresource::Main, mode).map(drop)
        }
    }
}

/// A write to the size; a dry run is made on a copy, to know what the Scale would be.
fn size(
    store: &mut Store,
    call: &Call<'_>,
    mode: Mode,
    write: impl FnOnce(&mut Store, Mode) -> Result<Object, Refused>,
) -> Result<Written, Refused> {
    match mode {
        Mode::Store => {
            write(store, mode)?;
            store.scale(&call.key()).map(Written::Scale)
        }
        Mode::DryRun => {
            let mut copy = store.clone();
            write(&mut copy, Mode::Store)?;
            let mut scale = copy.scale(&call.key())?;
            if let (Some(version), Some(metadata)) =
                (store.get(&call.key()).map(Object::version), scale.get_mut("metadata"))
            {
                put(metadata, "resourceVersion", version.to_string());
            }
            Ok(Written::Scale(scale))
        }
    }
}

fn unsupported(accepted: &str) -> Refused {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    Refused::new(415, "UnsupportedMediaType", message)
}
