//! Which old value a new one replaces. What has not changed since it was stored is not refused
//! (the server calls this ratcheting).

use serde_json::Value;

use crate::schema::{ListType, Schema};

/// A value with the old one that it replaces.
#[derive(Clone, Copy)]
pub(crate) struct Correlated<'a> {
    schema: &'a Schema,
    new: &'a Value,
    old: &'a Value,
}

impl<'a> Correlated<'a> {
    pub(crate) fn root(schema: &'a Schema, new: &'a Value, old: &'a Value) -> Self {
        Self { schema, new, old }
    }

    pub(crate) fn key(self, name: &str) -> Option<Self> {
        let new = self.new.as_object()?.get(name)?;
        let old = self.old.as_object()?.get(name)?;
        Some(Self { schema: self.schema.entry(name)?, new, old })
    }

    pub(crate) fn index(self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        let old = old_item(self.schema, index, new, self.old)?;
        Some(Self { schema: self.schema.items.as_deref()?, new, old })
    }

    pub(crate) fn unchanged(self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if !matches!(self.schema.list_type, ListType::Map(_)) {
                    return new == old;
                }
                new.len() == old.len() && (0..new.len()).all(|i| self.index(i).is_some_and(Self::unchanged))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len() && new.keys().all(|name| self.key(name).is_some_and(Self::unchanged))
            }
            (new, old) => new == old,
        }
    }
}

/// The old item with the keys of the new one at this index; only lists merged by key have one.
pub(crate) fn old_item<'a>(schema: &Schema, index: usize, item: &Value, old: &'a Value) -> Option<&'a Value> {
    let ListType::Map(keys) = &schema.list_type else { return None };
    let items = schema.items.as_deref()?;
    let default = |name: &str| items.property(name).and_then(|property| property.default.as_ref());
    let wanted: Vec<(&String, Option<&Value>)> =
        keys.iter().map(|name| (name, item.get(name).or_else(|| default(name)))).collect();
    let same = |old: &&Value| {
        wanted.iter().all(|(name, value)| old.get(name.as_str()).or_else(|| default(name)) == *value)
    };
    let old = old.as_array()?;
    // Items rarely move, so long lists need no search.
    old.get(index).filter(same).or_else(|| old.iter().find(same))
}
