//! Kubeconfigs: which files count, and what the flags choose from them, as for kubectl.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kube::config::{AuthInfo, Cluster, Context, Kubeconfig, KubeconfigError, NamedCluster, NamedContext};

use super::address;
use super::unusable::{Used, unreadable};
use crate::args::connection::Connection;
use crate::failure::Failure;

/// A kubeconfig, and where it is from.
#[derive(Debug)]
pub(crate) struct Source {
    kubeconfig: Kubeconfig,
    /// The files, for messages.
    pub(super) files: String,
}

/// What a kubeconfig has several of, each with a name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Context,
    Cluster,
    User,
}

impl Part {
    /// As the flag is called that chooses one.
    fn word(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Cluster => "cluster",
            Self::User => "user",
        }
    }
}

/// Reads the file that was named, or else those of `$KUBECONFIG` or the default one, as far as they exist.
pub(crate) fn read(named: Option<&Path>) -> Result<Source, Failure> {
    match named {
        Some(path) => {
            let kubeconfig =
                Kubeconfig::read_from(path).map_err(|error| Failure::Config(unreadable(path, &error)))?;
            Ok(Source { kubeconfig, files: path.display().to_string() })
        }
        None => merged(&paths(std::env::var_os("KUBECONFIG").as_deref())),
    }
}

fn paths(listed: Option<&OsStr>) -> Vec<PathBuf> {
    let listed = listed.iter().flat_map(std::env::split_paths);
    let listed: Vec<PathBuf> = listed.filter(|path| !path.as_os_str().is_empty()).collect();
    if listed.is_empty() {
        std::env::home_dir().into_iter().map(|home| home.join(".kube/config")).collect()
    } else {
        listed
    }
}

fn merged(paths: &[PathBuf]) -> Result<Source, Failure> {
    let mut kubeconfig = Kubeconfig::default();
    for path in paths {
        kubeconfig = match Kubeconfig::read_from(path) {
            Err(KubeconfigError::ReadConfig(error, _)) if error.kind() == ErrorKind::NotFound => kubeconfig,
            read => read
                .and_then(|next| kubeconfig.merge(next))
                .map_err(|error| Failure::Config(unreadable(path, &error)))?,
        };
    }
    let files: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    Ok(Source { kubeconfig, files: files.join(":") })
}

impl Source {
    /// Makes the context that the flags and the kubeconfig name the current one, and gives it a server.
    pub(super) fn choose(mut self, connection: &Connection) -> Result<(Kubeconfig, Used), Failure> {
        let given = |flag: &Option<String>| flag.clone().filter(|name| !name.is_empty());
        let wanted = given(&connection.context);
        if let Some(wanted) = &wanted {
            self.known(Part::Context, wanted)?;
        }
        let context_name = wanted.or_else(|| given(&self.kubeconfig.current_context));
        let mut context = self.context(context_name.as_deref())?;
        if let Some(cluster) = given(&connection.cluster) {
            self.known(Part::Cluster, &cluster)?;
            context.cluster = cluster;
        }
        if let Some(user) = given(&connection.user) {
            self.known(Part::User, &user)?;
            context.user = Some(user);
        }
        let mut cluster = self.cluster(context_name.as_deref(), &context, connection)?;
        let user = context.user.clone().filter(|name| !name.is_empty());
        let is_unknown = |user: &&str| connection.token.is_none() && !self.names(Part::User).contains(user);
        if let Some(user) = user.as_deref().filter(is_unknown) {
            let context = context_name.as_deref().unwrap_or_default();
            return Err(Failure::Config(format!(
                "{} has no user \"{user}\", which its context \"{context}\" names",
                self.files
            )));
        }
        let has_certificates = self.has_certificates(&cluster, user.as_deref(), connection);
        cluster.server = Some(self.server((&context.cluster, &cluster), connection, has_certificates)?);
        // The library looks contexts and clusters up by their names.
        let chosen = context_name.clone().unwrap_or_default();
        let (name, other) = (context.cluster.clone(), BTreeMap::new());
        let used = Used { files: self.files, context: context_name, cluster: name.clone(), user };
        self.kubeconfig.clusters = vec![NamedCluster { name, cluster: Some(cluster), other: other.clone() }];
        self.kubeconfig.contexts = vec![NamedContext { name: chosen.clone(), context: Some(context), other }];
        self.kubeconfig.current_context = Some(chosen);
        Ok((self.kubeconfig, used))
    }

    /// The names of its contexts, clusters, or users.
    pub(crate) fn names(&self, part: Part) -> Vec<&str> {
        let Kubeconfig { contexts, clusters, auth_infos, .. } = &self.kubeconfig;
        match part {
            Part::Context => contexts.iter().map(|it| it.name.as_str()).collect(),
            Part::Cluster => clusters.iter().map(|it| it.name.as_str()).collect(),
            Part::User => auth_infos.iter().map(|it| it.name.as_str()).collect(),
        }
    }

    /// Refuses a name that a flag gave and the kubeconfig does not have.
    fn known(&self, part: Part, wanted: &str) -> Result<(), Failure> {
        if self.names(part).contains(&wanted) {
            return Ok(());
        }
        let kind = part.word();
        Err(Failure::Usage(format!(
            "--{kind} {wanted}: the kubeconfig {} has no {kind} of this name; kubectl config get-{kind}s lists \
             what it has",
            self.files
        )))
    }

    /// The context of this name; an empty one without a name, since flags may name all.
    fn context(&self, name: Option<&str>) -> Result<Context, Failure> {
        let Some(name) = name else { return Ok(Context::default()) };
        let found = self.kubeconfig.contexts.iter().find(|context| context.name == name);
        found.and_then(|found| found.context.clone()).ok_or_else(|| {
            Failure::Config(format!("{} has no context \"{name}\", which is its current one", self.files))
        })
    }

    fn cluster(
        &self,
        context: Option<&str>,
        chosen: &Context,
        connection: &Connection,
    ) -> Result<Cluster, Failure> {
        let found = self.kubeconfig.clusters.iter().find(|cluster| cluster.name == chosen.cluster);
        let found = found.and_then(|found| found.cluster.clone());
        if connection.server.is_some() {
            return Ok(found.unwrap_or_default());
        }
        found.ok_or_else(|| match context {
            Some(context) => Failure::Config(format!(
                "{} has no cluster \"{}\", which its context \"{context}\" names",
                self.files, chosen.cluster
            )),
            None => Failure::Config(format!(
                "{} does not exist or has no current context; choose one with --context or kubectl config \
                 use-context",
                self.files
            )),
        })
    }

    /// Whether HOST:PORT means HTTPS.
    fn has_certificates(&self, cluster: &Cluster, user: Option<&str>, connection: &Connection) -> bool {
        let user = self.kubeconfig.auth_infos.iter().find(|it| Some(it.name.as_str()) == user);
        let has_own =
            |info: &AuthInfo| info.client_certificate.is_some() || info.client_certificate_data.is_some();
        connection.insecure_skip_tls_verify
            || cluster.insecure_skip_tls_verify == Some(true)
            || cluster.certificate_authority.is_some()
            || cluster.certificate_authority_data.is_some()
            || user.and_then(|it| it.auth_info.as_ref()).is_some_and(has_own)
    }

    fn server(
        &self,
        (cluster_name, cluster): (&str, &Cluster),
        connection: &Connection,
        has_certificates: bool,
    ) -> Result<String, Failure> {
        let given = connection.server.as_ref().or(cluster.server.as_ref()).map_or("", String::as_str);
        let uri = address::parse(given, has_certificates).ok_or_else(|| {
            let (files, form) = (&self.files, address::FORM);
            if connection.server.is_some() {
                return Failure::Usage(format!("--server {given}: {form}"));
            }
            Failure::Config(format!("server \"{given}\" of cluster \"{cluster_name}\" in {files} {form}"))
        })?;
        Ok(uri.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::File;
    use super::*;

    fn context(name: &str, namespace: &str) -> String {
        format!(
            "{{current-context: {name}, contexts: [{{name: {name}, context: {{cluster: c, namespace: {namespace}}}}}]}}"
        )
    }

    #[test]
    fn files_of_the_list_that_are_missing_are_skipped() {
        let (first, second) = (File::new(&context("one", "a")), File::new(&context("two", "b")));
        let list = format!("/nowhere/x:{}::{}:/nowhere/y", first.path(), second.path());
        let source = merged(&paths(Some(list.as_ref()))).expect("a kubeconfig");
        assert_eq!(
            (source.names(Part::Context), source.kubeconfig.current_context.as_deref()),
            (vec!["one", "two"], Some("one"))
        );
        let none = merged(&paths(Some("/nowhere/x:/nowhere/y".as_ref()))).expect("an empty kubeconfig");
        assert!(none.kubeconfig.contexts.is_empty());
        assert_eq!(none.files, "/nowhere/x:/nowhere/y");
        let broken = File::new("[");
        let list = format!("/nowhere/x:{}", broken.path());
        let error = merged(&paths(Some(list.as_ref()))).expect_err("an error");
        assert!(error.to_string().contains(broken.path()), "{error}");
        assert!(read(Some(Path::new("/nowhere/x"))).is_err(), "a file that was named");
    }

    #[test]
    fn without_a_list_there_is_the_default_file() {
        for none in [None, Some("".as_ref()), Some(":".as_ref())] {
            let paths = paths(none);
            assert!(paths.iter().all(|path| path.ends_with(".kube/config")), "{paths:?}");
        }
    }
}
