//! Objects in manifests.

use std::path::Path;

use plan::Flavour;
use serde_json::Value;

use crate::deployment::FLAVOURS;
use crate::failure::Failure;
use crate::name;

/// The objects of this kind in files of YAML or JSON, in those of a directory, or in standard input (`-`).
pub(crate) fn read(place: &str, kind: &str) -> Result<Vec<Value>, Failure> {
    let texts = admission::lint::files::texts(Path::new(place))
        .map_err(|problem| Failure::Usage(format!("-f: {problem}")))?;
    let mut found = Vec::new();
    for (file, text) in texts {
        let objects = admission::lint::objects(&text);
        found.extend(objects.map_err(|problem| Failure::Usage(format!("-f {file}: {problem}")))?);
    }
    found.retain(|object| object.get("kind").and_then(Value::as_str) == Some(kind));
    if found.is_empty() {
        return Err(Failure::Usage(format!("-f {place}: there is no {kind} in it")));
    }
    Ok(found)
}

/// The API and the name of a Deployment in a manifest.
pub(crate) fn identity(object: &Value) -> Result<(Flavour, &str), Failure> {
    let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let flavour = FLAVOURS.into_iter().find(|flavour| flavour.api_version() == version);
    let flavour = flavour.ok_or_else(|| {
        Failure::Usage(format!("apiVersion \"{version}\" must be rollwright.dev/v1 or apps/v1"))
    })?;
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        return Err(Failure::Usage("metadata.name: a Deployment needs a name".to_owned()));
    }
    Ok((flavour, name::of_object("Deployment", name)?))
}
