//! The CustomResourceDefinition of the one custom kind: while it is there, the kind is served.

use admission::Crd;
use serde_json::{Value, json};
use world::{Key, Mode, Object, Refused, Resource, Store};

/// Name of the definition.
pub(crate) const NAME: &str = "deployments.rollwright.dev";

/// The definition, if it is installed.
pub(crate) fn installed(store: &Store) -> Option<&Object> {
    store.get(&Key::new(Resource::CustomResourceDefinitions, "", NAME))
}

/// Whether a kind is served now.
pub(crate) fn is_served(store: &Store, resource: Resource) -> bool {
    resource != Resource::Deployments || installed(store).is_some()
}

/// The version that is served.
pub(crate) fn version(definition: &Object) -> Option<&Value> {
    definition.spec.get("versions")?.as_array()?.iter().find(|version| version["name"] == "v1")
}

/// Reads a definition.
///
/// # Errors
/// When its schema contains something that is not understood here: nothing would be validated.
pub(crate) fn read(definition: &Object) -> Result<Crd, Refused> {
    Crd::parse(&definition.to_value()).map_err(|why| {
        Refused::new(500, "InternalError", format!("{} cannot be served here: {why}", definition.name()))
    })
}

/// Installs the definition: from now on its kind is served.
///
/// # Errors
/// When it is another definition, cannot be read, or is there already.
pub fn establish(store: &mut Store, definition: Value, mode: Mode) -> Result<Object, Refused> {
    let mut object = Object::from_value(Resource::CustomResourceDefinitions, definition);
    if object.name() != NAME {
        let why = format!("the only custom kind that is served here is that of {NAME}");
        return Err(Refused::forbidden(object.resource, object.name(), &why));
    }
    read(&object)?;
    let now = store.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let condition = |kind: &str, reason: &str, message: &str| json!({ "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now });
    let status = json!({
        "acceptedNames": object.spec.get("names"),
        "storedVersions": ["v1"],
        "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    });
    object.status = std::sync::Arc::new(status.into());
    store.create(object, mode)
}
