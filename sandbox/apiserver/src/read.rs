//! get and list, and the forms in which objects are answered.

use jiff::Timestamp;
use serde_json::{Value, json};
use world::{Key, Object, Refused, Resource, Store};

use crate::criteria::Criteria;
use crate::media::Form;
use crate::member::put;
use crate::page::{self, Page};
use crate::query::Query;
use crate::table::{Include, Printer, partial};

/// Annotation of a namespace: with `"true"`, nobody may list its pods.
const PODS_FORBIDDEN: &str = "fake.rollwright.dev/pods-forbidden";

/// Whether objects of a kind may be listed, or watched, in a namespace. It is the only right that somebody may
/// lack here.
///
/// # Errors
/// 403, in the words of RBAC.
pub(crate) fn authorize(
    store: &Store,
    resource: Resource,
    namespace: Option<&str>,
    verb: &str,
) -> Result<(), Refused> {
    let Some(name) = namespace.filter(|_| resource == Resource::Pods) else { return Ok(()) };
    let namespace = store.get(&Key::new(Resource::Namespaces, "", name));
    if namespace.is_none_or(|namespace| namespace.annotation(PODS_FORBIDDEN) != Some("true")) {
        return Ok(());
    }
    let message = format!(
        "pods is forbidden: User \"system:anonymous\" cannot {verb} resource \"pods\" in API group \"\" in \
         the namespace \"{name}\""
    );
    Err(Refused::new(403, "Forbidden", message))
}

/// An object in a form.
pub(crate) fn shown(store: &Store, object: &Object, form: Form, query: &Query) -> Result<Value, Refused> {
    match form {
        Form::Whole | Form::Discovery => Ok(object.to_value()),
        Form::Metadata => Ok(partial(object)),
        Form::Table => {
            let printer = Printer::new(store, object.resource, Include::of(query)?);
            Ok(table_of_one(&printer, object, true, store.now()))
        }
    }
}

/// An object as a table of one row.
pub(crate) fn table_of_one(printer: &Printer, object: &Object, has_columns: bool, now: Timestamp) -> Value {
    let metadata = json!({ "resourceVersion": object.version().to_string() });
    printer.table(std::slice::from_ref(object), &metadata, has_columns, now)
}

/// The list that a query asks for.
pub(crate) fn list(
    store: &Store,
    resource: Resource,
    namespace: Option<&str>,
    form: Form,
    query: &Query,
) -> Result<Value, Refused> {
    let criteria = Criteria::of(resource, query)?;
    let page = page::page(store, resource, namespace, &criteria, query)?;
    let mut metadata = metadata(&page);
    if form == Form::Whole && resource == Resource::Deployments && page.token.is_none() {
        // Lists of custom kinds show that there is no more.
        put(&mut metadata, "continue", "");
    }
    match form {
        Form::Table => {
            let printer = Printer::new(store, resource, Include::of(query)?);
            Ok(printer.table(&page.objects, &metadata, true, store.now()))
        }
        Form::Metadata => {
            let items: Vec<_> = page.objects.iter().map(partial).collect();
            Ok(json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "items": items,
            }))
        }
        Form::Whole | Form::Discovery => Ok(of_objects(resource, &page.objects, &metadata)),
    }
}

/// Objects as a list of their kind.
pub(crate) fn of_objects(resource: Resource, objects: &[Object], metadata: &Value) -> Value {
    let items: Vec<_> = objects.iter().map(|object| item(resource, object)).collect();
    json!({
        "kind": format!("{}List", resource.kind()), "apiVersion": resource.api_version(),
        "metadata": metadata, "items": items,
    })
}

/// Items of built-in kinds do not have their kind; the list has it.
fn item(resource: Resource, object: &Object) -> Value {
    let mut value = object.to_value();
    if resource != Resource::Deployments
        && let Some(members) = value.as_object_mut()
    {
        members.remove("kind");
        members.remove("apiVersion");
    }
    value
}

fn metadata(page: &Page) -> Value {
    let mut metadata = json!({ "resourceVersion": page.version.to_string() });
    if let Some(token) = &page.token {
        put(&mut metadata, "continue", token.as_str());
    }
    if let Some(remaining) = page.remaining {
        put(&mut metadata, "remainingItemCount", remaining);
    }
    metadata
}
