//! How long an answer is awaited, how often a request is tried, and what the user learns in the meantime.
//!
//! The client's library would try again for minutes without a word. So it does not try again, and this module does.

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::contact::Contact;
use super::unserved::{Cause, Place, Unserved, tries};
use crate::terminal::{clean, tell};

/// How long a server may give no sign of life, unless the user sets a limit.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// The same for writes, which an API server itself ends after 34 s.
const WRITE_SILENCE_MAX: Duration = Duration::from_secs(40);
/// Before the second and the third try.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(750)];
/// When the user learns what is awaited, and how often again.
pub(super) const TELL_AFTER: Duration = Duration::from_secs(1);
const TELL_AGAIN: Duration = Duration::from_secs(10);
/// As much as anybody reads of a page that is no answer of an API server.
const WORDS_MAX: usize = 200;

/// Sends the requests of a verb.
#[derive(Clone)]
pub(super) struct Patience {
    client: Client,
    place: Arc<Place>,
    /// What the user wants as limit for a request; zero is no limit.
    limit: Option<Duration>,
    told: Arc<Mutex<Option<Instant>>>,
    pub(super) contact: Contact,
    /// Whether each request is printed.
    pub(super) is_logged: bool,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    /// The answer has no end.
    Watch,
    Write,
}

impl Kind {
    fn of<B>(request: &Request<B>) -> Self {
        let query = request.uri().query().unwrap_or_default();
        let asks = |pair: &str| query.split('&').any(|one| one == pair);
        match *request.method() {
            Method::GET if asks("watch=true") => Self::Watch,
            Method::GET => Self::Read,
            // A question about rights is asked by a write that changes nothing.
            _ if asks("dryRun=All") || request.uri().path().ends_with("accessreviews") => Self::Read,
            _ => Self::Write,
        }
    }
}

/// Until when an answer is awaited.
#[derive(Clone, Copy)]
struct Limit {
    end: Option<Instant>,
    silence: Option<Duration>,
    /// What was set, for people.
    set: Duration,
}

impl Limit {
    fn of(limit: Option<Duration>, kind: Kind) -> Self {
        let default = if kind == Kind::Write { WRITE_SILENCE_MAX } else { SILENCE_MAX };
        match limit {
            None => Self { end: None, silence: Some(default), set: default },
            Some(Duration::ZERO) => Self { end: None, silence: None, set: Duration::ZERO },
            Some(set) => Self { end: Instant::now().checked_add(set), silence: None, set },
        }
    }

    /// Waits for the next sign of life.
    async fn hold<T>(self, sign: impl Future<Output = T>) -> Result<T, Cause> {
        let quiet = self.silence.map(|silence| Instant::now() + silence);
        match self.end.or(quiet) {
            None => Ok(sign.await),
            Some(end) => timeout_at(end, sign).await.map_err(|_| Cause::Silence(self.set)),
        }
    }

    /// Whether there is time for another try after this pause, in a request that began then.
    fn allows(self, pause: Duration, begun: Instant) -> bool {
        let end = self.end.or(self.silence.map(|silence| begun + silence));
        let next = Instant::now().checked_add(pause);
        next.is_some_and(|next| end.is_none_or(|end| next < end))
    }
}

impl Patience {
    pub(super) fn new(client: Client, place: Arc<Place>, limit: Option<Duration>) -> Self {
        Self { client, place, limit, told: Arc::default(), contact: Contact::default(), is_logged: false }
    }

    /// Sends a request, again if need be and if that is safe. A log has it on standard error, as kubectl prints it.
    pub(super) async fn send(self, request: Request<Body>) -> Result<Response<Body>, Unserved> {
        // The client ends some paths with a `?` and no query.
        let path = request.uri().to_string();
        let asked = format!("{} {}{}", request.method(), self.place.server, path.trim_end_matches('?'));
        let begun = Instant::now();
        self.contact.asks();
        let answer = self.send_patiently(request).await;
        self.contact.ends(answer.is_ok());
        if self.is_logged {
            let outcome = match &answer {
                Ok(answer) => answer.status().to_string(),
                Err(error) => format!("failed ({error})"),
            };
            tell(&format!("{asked} {outcome} in {} milliseconds", begun.elapsed().as_millis()));
        }
        answer
    }

    async fn send_patiently(&self, request: Request<Body>) -> Result<Response<Body>, Unserved> {
        let (kind, begun) = (Kind::of(&request), Instant::now());
        let limit = Limit::of(self.limit, kind);
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap_or_default();
        let mut last = None;
        let mut tried = 0;
        loop {
            tried += 1;
            let request = Request::from_parts(head.clone(), Body::from(body.clone()));
            let answer = self.narrated(begun, tried, last.as_ref(), self.attempt(request, kind, limit)).await;
            let cause = match answer {
                Ok(answer) => return Ok(answer),
                Err(cause) => cause,
            };
            let pause = pause(kind, &cause, tried).filter(|pause| limit.allows(*pause, begun));
            let Some(pause) = pause else {
                let is_write = kind == Kind::Write;
                return Err(Unserved { place: self.place.clone(), cause, tried, is_write });
            };
            self.narrated(begun, tried, Some(&cause), sleep(pause)).await;
            last = Some(cause);
        }
    }

    /// Sends a request once. The answer is whole, except that of a watch.
    async fn attempt(
        &self,
        request: Request<Body>,
        kind: Kind,
        limit: Limit,
    ) -> Result<Response<Body>, Cause> {
        let answer = limit.hold(self.client.send(request)).await?.map_err(|error| Cause::of(&error))?;
        if kind == Kind::Watch && answer.status().is_success() {
            return Ok(answer);
        }
        let (head, mut body) = answer.into_parts();
        let mut whole = Vec::new();
        while let Some(frame) = limit.hold(body.frame()).await? {
            let frame = frame.map_err(|error| Cause::of(&error))?;
            whole.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        }
        let answer = Response::from_parts(head, whole);
        if kind == Kind::Watch && answer.status() == StatusCode::GONE {
            return Ok(gone(answer));
        }
        refusal(&answer).map_or_else(|| Ok(answer.map(Body::from)), Err)
    }

    /// Waits for this, and prints what is awaited when that lasts.
    async fn narrated<T>(
        &self,
        begun: Instant,
        tried: usize,
        last: Option<&Cause>,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return done,
                () = self.silence(begun) => {}
            }
            let refused = match last {
                Some(Cause::Refused { status, .. }) => format!("; the last answer was {status}"),
                _ => String::new(),
            };
            // Requests one after the other make one wait.
            let lost = self.contact.lost_for().unwrap_or_default().max(begun.elapsed()).as_secs();
            let (server, tried) = (&self.place.server, tries(tried));
            tell(&format!("waiting for {server} to answer for {lost}s, tried {tried}{refused}"));
            *self.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
    }

    /// Waits until it is time to print something. Requests at the same time share one line.
    async fn silence(&self, begun: Instant) {
        loop {
            let told = *self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let due = (begun + TELL_AFTER).max(told.map_or(begun, |told| told + TELL_AGAIN));
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
    }
}

/// How long to wait before the next try; `None` if there is none.
fn pause(kind: Kind, cause: &Cause, tried: usize) -> Option<Duration> {
    let Cause::Refused { status, retry_after, .. } = cause else { return None };
    let is_safe = match kind {
        Kind::Read => *status != StatusCode::UNAUTHORIZED,
        // A server that sheds load has done nothing. After all others, nobody knows.
        Kind::Write => *status == StatusCode::TOO_MANY_REQUESTS,
        // The watcher tries again by itself.
        Kind::Watch => false,
    };
    let planned = PAUSES.get(tried - 1).filter(|_| is_safe)?;
    Some(retry_after.unwrap_or_default().max(*planned))
}

/// The news that a watch is too old, as an event: for the status alone, the client's library never lists again.
fn gone(mut answer: Response<Vec<u8>>) -> Response<Body> {
    *answer.status_mut() = StatusCode::OK;
    answer.map(|status| Body::from([b"{\"type\":\"ERROR\",\"object\":", &status[..], b"}\n"].concat()))
}

/// What is wrong with an answer, if a verb cannot work with it.
fn refusal(answer: &Response<Vec<u8>>) -> Option<Cause> {
    let (status, body) = (answer.status(), answer.body());
    let typed = serde_json::from_slice::<Typed>(body);
    match status.as_u16() {
        401 | 429 | 502..=504 => {
            let after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            let retry_after = after.map(Duration::from_secs);
            Some(Cause::Refused { status, message: message(body), retry_after })
        }
        300..=399 => Some(Cause::Garbled(status.to_string())),
        // An API server has these words for a path that it does not serve.
        404 if body.starts_with(b"404 page not found") => None,
        500..=599 if !body.starts_with(b"<") => None,
        _ => typed.err().map(|error| foreign(status, body, &error)),
    }
}

/// What every object of the API has, a refusal too.
#[derive(Deserialize)]
struct Typed {
    #[expect(dead_code, reason = "that it is there is enough")]
    kind: String,
}

/// What something else than an API server answers.
fn foreign(status: StatusCode, body: &[u8], error: &serde_json::Error) -> Cause {
    let words = if body.starts_with(b"{") { error.to_string() } else { message(body) };
    Cause::Garbled(format!("{status}: {words}"))
}

/// The server's own words, or the beginning of what a proxy sends.
fn message(body: &[u8]) -> String {
    let status = serde_json::from_slice::<Status>(body);
    let words = status.map_or_else(|_| String::from_utf8_lossy(body).trim().to_owned(), |it| it.message);
    clean(&words).chars().take(WORDS_MAX).collect()
}
