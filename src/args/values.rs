//! Values of flags: how they are read, and the errors for those that cannot be.

use std::net::SocketAddr;
use std::time::Duration;

use plan::Flavour;
use tracing_subscriber::EnvFilter;

/// A time span; `None` stands for 0.
pub(crate) type Interval = Option<Duration>;

/// The levels of the log.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bind {
    /// Not at all.
    Nowhere,
    /// Here.
    At(SocketAddr),
}

pub(super) fn flavour(text: &str) -> Result<Flavour, String> {
    let all = [Flavour::Rollwright, Flavour::AppsV1];
    let known = all.into_iter().find(|flavour| flavour.api_version() == text);
    known.ok_or_else(|| "must be rollwright.dev/v1 or apps/v1".to_owned())
}

pub(super) fn interval(text: &str) -> Result<Interval, String> {
    let (digits, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(digits) => (digits, text.chars().last().unwrap_or('s')),
        None => (text, 's'),
    };
    let factor = match unit {
        'h' => 3600,
        'm' => 60,
        _ => 1,
    };
    let count: u64 = digits.parse().map_err(|_| "must be a time such as 30s, 5m or 1h".to_owned())?;
    let seconds = count.checked_mul(factor).filter(|seconds| *seconds <= 366 * 24 * 3600);
    let seconds = seconds.ok_or_else(|| "must be at most a year".to_owned())?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}

/// A level or directives. Another word would be taken for the name of a module, and hardly anything would be logged.
pub(super) fn log_level(text: &str) -> Result<String, String> {
    let is_level = text.is_empty() || LEVELS.iter().any(|level| text.eq_ignore_ascii_case(level));
    if is_level || (text.contains([',', '=']) && EnvFilter::try_new(text).is_ok()) {
        return Ok(text.to_owned());
    }
    Err(format!("must be {}, or directives such as info,rollwright=debug", LEVELS.join(", ")))
}

pub(super) fn page(text: &str) -> Result<http::Uri, String> {
    let uri = text.parse::<http::Uri>().ok();
    let uri = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https")));
    uri.ok_or_else(|| "must be a URL such as http://rollwright-metrics:8080/readyz".to_owned())
}

pub(super) fn bind_address(text: &str) -> Result<Bind, String> {
    if text == "0" {
        return Ok(Bind::Nowhere);
    }
    let full = if text.starts_with(':') { format!("0.0.0.0{text}") } else { text.to_owned() };
    full.parse().map(Bind::At).map_err(|_| "must be ADDRESS:PORT, :PORT, or 0 for no listener".to_owned())
}

/// Whole seconds, one at least.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    interval(text)?.ok_or_else(|| "must be at least a second".to_owned())
}

/// A name of a namespace: an RFC 1123 label.
pub(super) fn namespace(text: &str) -> Result<String, String> {
    let is_label = text.len() <= 63 && is_dns_label(text);
    is_label.then(|| text.to_owned()).ok_or_else(|| {
        "must be a namespace name: at most 63 lower case letters, digits and '-', with a letter \
         or digit at either end"
            .to_owned()
    })
}

/// A name of an object: RFC 1123 labels with dots between them.
pub(super) fn lease_name(text: &str) -> Result<String, String> {
    let is_name = text.len() <= 253 && text.split('.').all(is_dns_label);
    is_name.then(|| text.to_owned()).ok_or_else(|| {
        "must be an object name: at most 253 lower case letters, digits, '-' and '.', with a \
         letter or digit at either end"
            .to_owned()
    })
}

fn is_dns_label(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}
