//! `set image`, `set env`, `set resources`.

use serde_json::Value;

use super::edit;
use super::several::each_of;
use crate::args::connection::Connection;
use crate::args::set::{SetEnvArguments, SetField, SetImageArguments, SetResourcesArguments};
use crate::cluster::body;
use crate::code::Code;
use crate::failure::Failure;
use crate::output::print;
use crate::{edits, env, images, resources};

/// Carries it out; the words are read before the cluster is asked.
pub(crate) async fn set(connection: &Connection, field: &SetField) -> Result<Code, Failure> {
    match field {
        SetField::Image(arguments) => image(connection, arguments).await,
        SetField::Env(arguments) => env(connection, arguments).await,
        SetField::Resources(arguments) => resources(connection, arguments).await,
    }
}

/// Separates the Deployments from the changes, which begin at the first word that is one.
fn split(words: &[String], is_change: impl Fn(&str) -> bool) -> (&[String], &[String]) {
    let first = words.iter().position(|word| is_change(word)).unwrap_or(words.len());
    words.split_at(first)
}

async fn image(connection: &Connection, arguments: &SetImageArguments) -> Result<Code, Failure> {
    let (names, words) = split(&arguments.words, |word| word.contains('='));
    if words.is_empty() {
        return Err(Failure::Usage(
            "name at least one CONTAINER=IMAGE, for example app=nginx:1.29".to_owned(),
        ));
    }
    let changes: Vec<_> = words.iter().map(|word| images::change(word)).collect::<Result<_, _>>()?;
    each_of(connection, names, &arguments.several, async |subject| {
        let operations = images::patch(&subject.deployment.body, &changes)?;
        if operations.is_empty() {
            return edit::report(&subject.deployment, "has these images already", &arguments.writing);
        }
        let patch = edits::json_patch(Value::from(operations))?;
        edit::apply_to_template(subject, &patch, "image updated", &arguments.writing).await
    })
    .await
}

async fn env(connection: &Connection, arguments: &SetEnvArguments) -> Result<Code, Failure> {
    let (names, words) = split(&arguments.words, env::is_change);
    let changes: Vec<_> = words.iter().map(|word| env::change(word)).collect::<Result<_, _>>()?;
    let source = arguments.from.as_deref().map(env::source).transpose()?;
    if changes.is_empty() && source.is_none() && !arguments.list {
        return Err(Failure::Usage(
            "name at least one KEY=VALUE or KEY-, or --list to see what there is".to_owned(),
        ));
    }
    if arguments.list && (source.is_some() || !changes.is_empty()) {
        return Err(Failure::Usage("--list changes nothing; leave the changes out".to_owned()));
    }
    each_of(connection, names, &arguments.several, async |subject| {
        let deployment = &subject.deployment;
        if arguments.list {
            print(&env::listing(&deployment.body, &deployment.full_name(), &arguments.containers)?)?;
            return Ok(Code::Done);
        }
        let mut changes = changes.clone();
        if let Some(source) = &source {
            let object = body(subject.cluster.data(source.is_secret).get(&source.name).await?);
            changes.extend(env::references(source, &object, &arguments.prefix, &arguments.keys)?);
        }
        let operations = env::patch(&deployment.body, &arguments.containers, &changes, arguments.overwrite)?;
        if operations.is_empty() {
            return edit::report(deployment, "has these variables already", &arguments.writing);
        }
        let patch = edits::unless_changed(deployment, operations)?;
        edit::apply_to_template(subject, &patch, "env updated", &arguments.writing).await
    })
    .await
}

async fn resources(connection: &Connection, arguments: &SetResourcesArguments) -> Result<Code, Failure> {
    let amounts = |flag, text: &Option<String>| match text {
        Some(text) => resources::amounts(flag, text),
        None => Ok(Vec::new()),
    };
    let requests = amounts("--requests", &arguments.requests)?;
    let limits = amounts("--limits", &arguments.limits)?;
    each_of(connection, &arguments.words, &arguments.several, async |subject| {
        let deployment = &subject.deployment;
        let operations = resources::patch(&deployment.body, &arguments.containers, &requests, &limits)?;
        if operations.is_empty() {
            return edit::report(deployment, "has these resources already", &arguments.writing);
        }
        let patch = edits::unless_changed(deployment, operations)?;
        edit::apply_to_template(subject, &patch, "resource requirements updated", &arguments.writing).await
    })
    .await
}
