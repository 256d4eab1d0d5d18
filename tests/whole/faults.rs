//! What may go wrong between the operator and the server: a layer on the server's service.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use apiserver::ApiServer;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Bytes;
use kube::client::Body;
use tokio::sync::watch;
use tokio::time::Instant;
use tower::{BoxError, Service};

use super::clock;
use super::law::Law;
mod answers;
mod asked;

use answers::{broken, bytes, refused};
use asked::Asked;
pub(super) use asked::On;

/// How often a watch that trickles brings a byte.
const TRICKLE: Duration = Duration::from_secs(1);
const BLANK: &[u8] = b" ";
const GARBAGE: &[u8] = b"{\"type\": nonsense}\n";

/// The fate of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The requests are refused with this code.
    Refuse(u16),
    /// The requests are refused with this code, and the client should try again after this many seconds.
    RefuseFor(u16, u64),
    /// The requests are refused with this code and very many words, after this time.
    RefuseLate(u16, Duration),
    /// Starts of a watch are refused with 410 until there is a new list.
    Expire,
    /// The requests are carried out, and the connection ends before the answer.
    Lose,
    /// The requests are carried out, and refused with this code all the same.
    RefuseAfter(u16),
    /// The requests are carried out, and never answered.
    Swallow,
    /// The connection ends before they are carried out.
    Drop,
    /// The requests are never answered, and not carried out.
    Hang,
    /// The requests are answered this much later.
    Late(Duration),
}

struct Rule {
    on: On,
    fault: Fault,
    left: u32,
    met: u32,
}

/// What has become of the watches that were open at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Streams {
    /// Watches up to this one are cut.
    cut: u64,
    /// Watches up to this one are silent for ever,
    frozen: u64,
    /// if they are of this kind, or of one of these, with `|` between them; `None` for all.
    frozen_kind: Option<&'static str>,
    /// A silent watch brings a byte each second, of a line that never ends.
    trickles: bool,
    /// What comes on watches up to this one is no JSON.
    garbled: u64,
    /// Nothing gets through, in either direction.
    is_held: bool,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    /// Requests that would change something, dry runs among them, as time, verb and path.
    writes: Vec<String>,
    watches: u64,
    /// Requests that read, but for watches: when, and path and query.
    reads: Vec<(Instant, String)>,
    /// When something but the lease was first written since the last question.
    first_write: Option<Instant>,
    last_write: Option<Instant>,
    /// How far the server's clock has jumped.
    jumped: Duration,
    /// After this many writes to ReplicaSets nothing gets through any more.
    writes_left: Option<u32>,
    /// Whether anything ever went wrong.
    is_disturbed: bool,
}

/// The service with faults.
#[derive(Clone)]
pub(super) struct Faulty {
    server: ApiServer,
    law: Arc<Law>,
    /// Who has to hold the lease for what is written here.
    writer: Arc<OnceLock<String>>,
    state: Arc<Mutex<State>>,
    streams: watch::Sender<Streams>,
}

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

impl Faulty {
    pub(super) fn new(server: ApiServer, law: Arc<Law>) -> Self {
        let (state, streams) = (Arc::default(), watch::channel(Streams::default()).0);
        Self { server, law, writer: Arc::default(), state, streams }
    }

    /// Nothing may be written here but by the holder of the lease, under this name.
    pub(super) fn is_of(&self, writer: &str) {
        self.writer.set(writer.to_owned()).unwrap();
    }

    /// This many requests meet a fault from now on.
    pub(super) fn arm(&self, on: On, fault: Fault, times: u32) {
        self.disturb(|state| state.rules.push(Rule { on, fault, left: times, met: 0 }));
    }

    /// No more faults. Returns how many requests met one.
    pub(super) fn heal(&self) -> u32 {
        self.with(|state| state.rules.drain(..).map(|rule| rule.met).sum())
    }

    /// How many requests have met a fault that is armed.
    pub(super) fn met(&self) -> u32 {
        self.with(|state| state.rules.iter().map(|rule| rule.met).sum())
    }

    /// All watches that are open break off.
    pub(super) fn cut(&self) {
        let through = self.disturb(|state| state.watches);
        self.streams.send_modify(|streams| streams.cut = through);
    }

    /// Nothing comes on the watches that are open any more, and no end either: half-open connections.
    pub(super) fn freeze(&self) {
        self.freeze_those_of(None);
    }

    /// The same for the watches of one kind: what they show lags behind.
    pub(super) fn freeze_those_of(&self, kind: Option<&'static str>) {
        let through = self.disturb(|state| state.watches);
        self.streams.send_modify(|streams| {
            (streams.frozen, streams.frozen_kind, streams.trickles) = (through, kind, false);
        });
    }

    /// The watches that are open bring bytes, but no line any more.
    pub(super) fn trickle(&self) {
        self.freeze();
        self.streams.send_modify(|streams| streams.trickles = true);
    }

    /// Whatever the watches that are open have to bring from now on cannot be read.
    pub(super) fn garble(&self) {
        let through = self.disturb(|state| state.watches);
        self.streams.send_modify(|streams| streams.garbled = through);
    }

    /// Nothing gets through in either direction, as if the process were stopped, until it is let go.
    pub(super) fn hold(&self) {
        self.disturb(|_| ());
        self.streams.send_modify(|streams| streams.is_held = true);
    }

    /// What has been held gets through, if anybody still waits for it.
    pub(super) fn let_go(&self) {
        self.streams.send_modify(|streams| streams.is_held = false);
    }

    /// Holds everything from the answer to this write to a ReplicaSet on: as if the process were
    /// killed between two writes.
    pub(super) fn hold_after(&self, writes: u32) {
        self.disturb(|state| state.writes_left = Some(writes));
    }

    /// Waits until everything is held.
    pub(super) async fn held(&self) {
        let mut streams = self.streams.subscribe();
        streams.wait_for(|streams| streams.is_held).await.unwrap();
    }

    async fn passage(&self) {
        let mut streams = self.streams.subscribe();
        streams.wait_for(|streams| !streams.is_held).await.unwrap();
    }

    /// When something but the lease was written first since this was asked last.
    pub(super) fn take_first_write(&self) -> Option<Instant> {
        self.with(|state| state.first_write.take())
    }

    /// The requests that have read something, but for watches, and how far the server has come when one starts.
    pub(super) fn reads(&self) -> Vec<(Instant, String)> {
        let is_read = |(_, read): &&(Instant, String)| !read.ends_with("limit=1");
        self.with(|state| state.reads.iter().filter(is_read).cloned().collect())
    }

    /// When something but the lease and events was written last.
    pub(super) fn last_write(&self) -> Option<Instant> {
        self.with(|state| state.last_write)
    }

    /// Takes what has been written since it was asked last.
    pub(super) fn take_writes(&self) -> Vec<String> {
        self.with(|state| std::mem::take(&mut state.writes))
    }

    fn with<R>(&self, action: impl FnOnce(&mut State) -> R) -> R {
        action(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something goes wrong.
    fn disturb<R>(&self, action: impl FnOnce(&mut State) -> R) -> R {
        self.with(|state| {
            state.is_disturbed = true;
            action(state)
        })
    }

    /// Notes a request, and draws its fault.
    fn note(&self, asked: &Asked) -> Option<Fault> {
        // The server may answer from what it had long ago, if the request allows it.
        if asked.query.contains("resourceVersion=") && !asked.is_watch() {
            self.law.accuse(&format!("{}?{}: a list that may be old", asked.path, asked.query));
        }
        self.with(|state| {
            if asked.method == Method::GET && !asked.is_watch() {
                state.reads.push((Instant::now(), format!("{}?{}", asked.path, asked.query)));
            } else if asked.method != Method::GET {
                let query = if asked.is_write() { "" } else { "?dryRun=All" };
                state.writes.push(format!("{} {} {}{query}", clock::timestamp(), asked.method, asked.path));
            }
            for rule in state.rules.iter_mut().filter(|rule| rule.fault == Fault::Expire) {
                if matches!(rule.on, On::Watch(kind) if asked.is(On::List(kind))) {
                    rule.left = 0;
                }
            }
            let rule = state.rules.iter_mut().find(|rule| rule.left > 0 && asked.is(rule.on))?;
            rule.left -= 1;
            rule.met += 1;
            Some(rule.fault)
        })
    }

    /// The body of a watch that may be cut or frozen.
    fn stream(&self, answer: Response<apiserver::Body>, asked: &Asked) -> Answer {
        let number = self.with(|state| {
            state.watches += 1;
            state.watches
        });
        let (parts, body) = answer.into_parts();
        let open = Some((body, self.streams.subscribe()));
        let path = asked.path.clone();
        let frames = futures::stream::unfold(open, move |open| {
            let path = path.clone();
            async move {
                let (mut body, mut streams) = open?;
                loop {
                    let now = *streams.borrow_and_update();
                    if now.cut >= number {
                        return Some((Err::<Frame<Bytes>, BoxError>(broken()), None));
                    }
                    let is_of_kind =
                        now.frozen_kind.is_none_or(|kinds| kinds.split('|').any(|kind| path.contains(kind)));
                    let is_frozen = now.is_held || (now.frozen >= number && is_of_kind);
                    tokio::select! {
                        biased;
                        changed = streams.changed() => if changed.is_err() { return None },
                        frame = body.frame(), if !is_frozen => {
                            let Ok(frame) = frame?;
                            let frame = if now.garbled >= number { bytes(GARBAGE) } else { frame };
                            return Some((Ok(frame), Some((body, streams))));
                        }
                        () = tokio::time::sleep(TRICKLE), if is_frozen && now.trickles => {
                            return Some((Ok(bytes(BLANK)), Some((body, streams))));
                        }
                    }
                }
            }
        });
        Response::from_parts(parts, StreamBody::new(frames).boxed_unsync())
    }

    /// The server's clock jumps forward.
    pub(super) fn jump(&self, by: Duration) {
        self.disturb(|state| state.jumped += by);
    }

    /// An answer as of now, by the server's clock.
    fn dated(&self, answer: Answer) -> Answer {
        answers::dated(answer, clock::steady() + self.with(|state| state.jumped))
    }

    async fn forward(mut self, request: Request<Body>, asked: &Asked) -> Result<Answer, BoxError> {
        let is_write = asked.is_write() && !asked.is(On::All("leases"));
        let before = is_write.then(|| self.law.sizes());
        // An operator with a lease may have lost it to another one.
        let is_undisturbed = self.writer.get().is_none() && !self.with(|state| state.is_disturbed);
        if is_write {
            self.law.witness(|_| false, is_undisturbed);
        }
        let Ok(answer) = self.server.call(request).await;
        if is_write {
            self.law.witness(|object| asked.concerns(object), is_undisturbed);
        }
        if let Some(before) = before.filter(|_| answer.status().is_success()) {
            let what = format!("{} {}", asked.method, asked.path);
            self.law.judge(&what, self.writer.get().map(String::as_str), &before);
            self.note_written(asked);
            self.passage().await;
        }
        if asked.is_watch() && answer.status().is_success() {
            return Ok(self.dated(self.stream(answer, asked)));
        }
        Ok(self.dated(answer.map(|body| body.map_err(|never| match never {}).boxed_unsync())))
    }

    fn note_written(&self, asked: &Asked) {
        let is_last = self.with(|state| {
            let now = Instant::now();
            state.first_write.get_or_insert(now);
            // Events report what was done, also later.
            if !asked.is(On::All("events")) {
                state.last_write = Some(now);
            }
            if !asked.is(On::Write("replicasets")) {
                return false;
            }
            state.writes_left = state.writes_left.map(|left| left.saturating_sub(1));
            state.writes_left.take_if(|left| *left == 0).is_some()
        });
        if is_last {
            self.hold();
        }
    }
}

impl Service<Request<Body>> for Faulty {
    type Response = Answer;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let asked = Asked::of(&request);
        let fault = self.note(&asked);
        let service = self.clone();
        Box::pin(async move {
            service.passage().await;
            let forward = service.clone().forward(request, &asked);
            match fault {
                None => forward.await,
                Some(Fault::Expire) => Ok(refused(410, None, 1)),
                Some(Fault::Refuse(code)) => Ok(refused(code, None, 1)),
                Some(Fault::RefuseFor(code, seconds)) => Ok(refused(code, Some(seconds), 1)),
                Some(Fault::RefuseLate(code, time)) => {
                    tokio::time::sleep(time).await;
                    Ok(refused(code, None, 50_000))
                }
                Some(Fault::Lose) => {
                    let _ = forward.await;
                    Err(broken())
                }
                Some(Fault::RefuseAfter(code)) => {
                    let _ = forward.await;
                    Ok(refused(code, None, 1))
                }
                Some(Fault::Swallow) => {
                    let _ = forward.await;
                    std::future::pending().await
                }
                Some(Fault::Drop) => Err(broken()),
                Some(Fault::Hang) => std::future::pending().await,
                Some(Fault::Late(time)) => {
                    tokio::time::sleep(time).await;
                    forward.await
                }
            }
        })
    }
}
