//! The field that an unknown one probably stands for.

use crate::schema::Schema;

/// One in this many letters may be wrong.
const LETTERS_FOR_ONE: usize = 3;

/// The path of the known field with the most similar name, beside the unknown one at this path.
pub(super) fn nearest(schema: &Schema, path: &str) -> Option<String> {
    let (parents, unknown) = path.rsplit_once('.').map_or(("", path), |(parents, last)| (parents, last));
    let mut at = schema;
    for part in parents.split('.').filter(|part| !part.is_empty()) {
        let (name, index) = part.split_once('[').map_or((part, None), |(name, index)| (name, Some(index)));
        at = at.entry(name)?;
        at = if index.is_some() { at.items.as_deref()? } else { at };
    }
    let distance = |name: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &unknown.to_lowercase());
    let (distance, name) = at.properties.keys().map(|name| (distance(name), name)).min()?;
    let is_similar = distance <= (unknown.len() / LETTERS_FOR_ONE).max(1);
    let dot = if parents.is_empty() { "" } else { "." };
    is_similar.then(|| format!("{parents}{dot}{name}"))
}
