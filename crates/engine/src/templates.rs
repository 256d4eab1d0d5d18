//! Templates that the watch has just delivered, for the reconciles that are about to need them.
//!
//! The cache keeps no templates, and a template is needed once, when its ReplicaSet is created. This keeps
//! one until the status reports its generation: while its Deployment is queued, waits for a slot, or
//! begins.

use std::collections::HashMap;

use plan::Workload;
use plan::template::Json;
use plan::template::Template;

use crate::index::Key;

/// As much text is kept, in all. What has no room is read from the server when it is needed.
const BYTES_MAX: usize = 4 << 20;

/// By Deployment.
#[derive(Default)]
pub(crate) struct Templates {
    kept: HashMap<Key, Kept>,
    bytes: usize,
}

struct Kept {
    uid: String,
    generation: i64,
    template: Template,
}

impl Templates {
    /// A Deployment was seen, with this template. It is needed until its generation is reported.
    pub(crate) fn saw(&mut self, key: &Key, workload: &Workload, template: Json<'_>) {
        self.forget(key);
        let is_needed = workload.status.observed_generation < workload.generation && !workload.deleting;
        let Some(template) =
            is_needed.then(|| template.text()).filter(|template| self.has_room_for(template))
        else {
            return;
        };
        self.bytes += template.text().len();
        let (uid, generation) = (workload.uid.clone(), workload.generation);
        self.kept.insert(key.clone(), Kept { uid, generation, template });
    }

    fn has_room_for(&self, template: &Template) -> bool {
        self.bytes + template.text().len() <= BYTES_MAX
    }

    /// The template of this very object in this very generation.
    pub(crate) fn of(&self, key: &Key, workload: &Workload) -> Option<Template> {
        let kept = self.kept.get(key)?;
        let is_it = kept.uid == workload.uid && kept.generation == workload.generation;
        is_it.then(|| kept.template.clone())
    }

    /// The template is needed no more.
    pub(crate) fn forget(&mut self, key: &Key) {
        if let Some(kept) = self.kept.remove(key) {
            self.bytes -= kept.template.text().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::index::tests::{key, workload};

    fn saw(templates: &mut Templates, name: &str, workload: &Workload, template: &Value) {
        templates.saw(&key(name), workload, template.into());
    }

    fn kept(templates: &Templates, name: &str, workload: &Workload) -> Option<Value> {
        templates.of(&key(name), workload).map(|template| template.tree())
    }

    #[test]
    fn a_template_is_kept_until_its_generation_is_reported() {
        let mut templates = Templates::default();
        let mut web = workload("web", "w", "web", 1);
        let template = json!({ "spec": { "containers": [] } });
        saw(&mut templates, "web", &web, &template);
        assert_eq!(kept(&templates, "web", &web), Some(template.clone()));
        let other = Workload { generation: 2, ..web.clone() };
        assert_eq!(kept(&templates, "web", &other), None, "another generation");
        let anew = Workload { uid: "v".to_owned(), ..web.clone() };
        assert_eq!(kept(&templates, "web", &anew), None, "another object");
        web.status.observed_generation = 1;
        saw(&mut templates, "web", &web, &template);
        assert_eq!((kept(&templates, "web", &web), templates.bytes), (None, 0));
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut templates = Templates::default();
        let web = workload("web", "w", "web", 1);
        let large = Value::from("x".repeat(BYTES_MAX / 3));
        for name in ["a", "b", "c", "d"] {
            saw(&mut templates, name, &web, &large);
        }
        let all = |templates: &Templates| ["a", "b", "c", "d"].map(|it| kept(templates, it, &web).is_some());
        assert_eq!(all(&templates), [true, true, false, false]);
        templates.forget(&key("a"));
        saw(&mut templates, "d", &web, &large);
        assert_eq!(all(&templates), [false, true, false, true]);
        assert!(templates.bytes <= BYTES_MAX);
    }
}
