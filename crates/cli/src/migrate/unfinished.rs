//! A migration that was cut: how to recognize it, and the commands that end it.
//!
//! Its Deployment is paused, and `resume` would let its controller create pods beside those of the other one.

use diagnosis::text;
use plan::Flavour;
use serde_json::Value;

use crate::deployment::{Deployment, kind_and_group};
use crate::failure::Failure;
use crate::migrate::facts::{Facts, MIGRATED_FROM, entry};

/// A migration that has begun and has not ended.
pub(crate) struct Unfinished {
    name: String,
    namespace: String,
    to: Flavour,
    /// More flags for the command, after a blank.
    flags: String,
}

impl Unfinished {
    /// The one that made this Deployment; `None` if it is of no migration, or of one that has ended.
    pub(crate) fn of(deployment: &Deployment) -> Option<Self> {
        Self::of_body(deployment.flavour, &deployment.body)
    }

    /// The same of what the server sent.
    pub(crate) fn of_body(flavour: Flavour, body: &Value) -> Option<Self> {
        entry(body, "labels", MIGRATED_FROM)?;
        let [name, namespace] = ["/metadata/name", "/metadata/namespace"].map(|path| text(body, path));
        Some(Self::new(name, namespace, flavour, String::new()))
    }

    pub(crate) fn new(name: &str, namespace: &str, to: Flavour, flags: String) -> Self {
        Self { name: name.to_owned(), namespace: namespace.to_owned(), to, flags }
    }

    /// Its state, in a sentence without its end.
    pub(crate) fn sentence(&self) -> String {
        let name = |flavour| format!("{}/{}", kind_and_group(flavour), self.name);
        format!(
            "the migration of {} to {} is unfinished, and no pod was touched",
            name(Facts::other(self.to)),
            name(self.to)
        )
    }

    /// The command that finishes it.
    pub(crate) fn finish(&self) -> String {
        format!("{}{}", self.command(self.to), self.flags)
    }

    /// The command that returns to where it came from.
    pub(crate) fn back(&self) -> String {
        self.command(Facts::other(self.to))
    }

    /// All of it in one line.
    pub(crate) fn line(&self) -> String {
        format!("{}; to finish it: {}; to return: {}", self.sentence(), self.finish(), self.back())
    }

    fn command(&self, to: Flavour) -> String {
        let back = if to == Flavour::AppsV1 { " --back" } else { "" };
        format!("kubectl rollwright migrate deployment/{}{back} -n {}", self.name, self.namespace)
    }
}

/// Refuses what has to wait for the end of a migration.
pub(crate) fn none(deployment: &Deployment) -> Result<(), Failure> {
    Unfinished::of(deployment).map_or(Ok(()), |unfinished| Err(Failure::Paused(unfinished.line())))
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use kube::api::Patch;
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::args::writing::{DryRun, Writing};
    use crate::cluster::Cluster;
    use crate::edits;

    fn cut(flavour: Flavour) -> Deployment {
        let body = json!({
            "metadata": {"name": "web", "namespace": "shop", "labels": {MIGRATED_FROM: "uid.1"}},
            "spec": {"paused": true},
        });
        Deployment { flavour, body }
    }

    #[test]
    fn both_commands_are_those_that_migrate_takes() {
        let there = Unfinished::of(&cut(Flavour::Rollwright)).unwrap();
        let expected = "the migration of deployment.apps/web to deployment.rollwright.dev/web is unfinished, and no \
                        pod was touched; to finish it: kubectl rollwright migrate deployment/web -n shop; to return: \
                        kubectl rollwright migrate deployment/web --back -n shop";
        assert_eq!(there.line(), expected);
        let back = Unfinished::of(&cut(Flavour::AppsV1)).unwrap();
        assert_eq!(back.finish(), "kubectl rollwright migrate deployment/web --back -n shop");
        assert_eq!(back.back(), "kubectl rollwright migrate deployment/web -n shop");
    }

    /// The controller of a Deployment that is resumed too soon creates pods beside those of the other one.
    #[tokio::test]
    async fn nobody_resumes_or_changes_what_a_migration_has_paused() {
        let cut = cut(Flavour::Rollwright);
        let service = tower::service_fn(|_: http::Request<Body>| async {
            Err::<http::Response<Body>, _>(std::io::Error::other("nobody should ask"))
        });
        let cluster = Cluster::of(Client::new(service, "shop"), "shop");
        let writing = Writing::of(DryRun::None);
        let scaled = cluster.patch(&cut, &Patch::Merge(json!({"spec": {"replicas": 3}})), &writing).await;
        let refusals = [scaled.err(), edits::resume(&cut).err(), edits::heeded(&cut, "a rollback").err()];
        for refusal in refusals {
            let refusal = refusal.map(|failure| failure.to_string()).unwrap_or_default();
            assert!(refusal.contains("to finish it: kubectl rollwright migrate deployment/web"), "{refusal}");
        }
    }
}
