//! What is logged, and in which form.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::args::{LogArguments, LogFormat};

/// kube logs every failed request as an error by itself; the operator decides what one means.
const DEFAULT_FILTER: &str = "info,kube_client=off,kube_runtime=off";
/// In a terminal that somebody works in, only what goes wrong.
const QUIET_FILTER: &str = "error,kube_client=off,kube_runtime=off";

/// Why nothing can be logged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoggingError {
    #[error("RUST_LOG {level}: {source}")]
    Level { level: String, source: tracing_subscriber::filter::ParseError },
    #[error("the log cannot be started: {0}")]
    Start(String),
}

/// Starts logging to standard error; quietly, unless an argument sets the level.
pub(crate) fn init(arguments: &LogArguments, is_quiet: bool) -> Result<(), LoggingError> {
    let level = arguments.log_level.clone().or_else(|| std::env::var("RUST_LOG").ok());
    let directives = match level.as_deref() {
        None | Some("") if is_quiet => QUIET_FILTER.to_owned(),
        None | Some("") => DEFAULT_FILTER.to_owned(),
        // A bare level is for Rollwright; the libraries below stay quiet.
        Some(level) if !level.contains([',', '=']) => {
            format!("{level},kube_client=off,kube_runtime=off,hyper_util=off,tower=off,rustls=off")
        }
        Some(directives) => directives.to_owned(),
    };
    let filter = EnvFilter::try_new(&directives)
        .map_err(|source| LoggingError::Level { level: directives.clone(), source })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let started = match arguments.log_format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    started.map_err(|error| LoggingError::Start(error.to_string()))
}
