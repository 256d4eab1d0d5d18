//! Require a bearer token that the API server authorizes for the path: TokenReview, then
//! SubjectAccessReview, as in controller-runtime.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use engine::reconcile::Refusal;
use http::{HeaderMap, StatusCode, header};
use kube::api::PostParams;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::client::object::{Kind, Object};
use crate::client::requests::Server;

/// How long an answer is believed; a right that was taken away ends within this time.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);
/// Answers remembered. Scrapers are few, and a client that tries tokens must not fill the memory.
const REMEMBERED_MAX: usize = 256;
/// Questions to the API server at a time: unknown tokens must not keep it busy.
const ASKED_MAX: usize = 4;
/// A token is a kilobyte or so.
const TOKEN_MAX: usize = 16 * 1024;

/// Why somebody may not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// Without a token, or with one that nobody has.
    Unauthenticated,
    /// Known, and without the right.
    Forbidden,
    /// The API server does not answer that.
    Unknown,
}

impl Denied {
    /// What HTTP calls it.
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::Unknown => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The text of the answer.
    pub(crate) fn text(self, path: &str) -> String {
        match self {
            Self::Unauthenticated => "a bearer token of the cluster is needed".to_owned(),
            Self::Forbidden => format!("a role with nonResourceURLs: [{path}], verbs: [get] is needed"),
            Self::Unknown => "the API server cannot be asked who may read this".to_owned(),
        }
    }
}

type Verdict = Result<(), Denied>;
type Digest = [u8; 32];

/// Lets in who may read.
pub(crate) struct Gate {
    server: Server,
    known: Mutex<HashMap<Digest, (Instant, Verdict)>>,
    questions: Semaphore,
}

impl Gate {
    /// Asks this API server.
    pub(crate) fn new(server: Server) -> Self {
        Self { server, known: Mutex::default(), questions: Semaphore::new(ASKED_MAX) }
    }

    /// Whether who sent these headers may get this path.
    pub(crate) async fn check(&self, headers: &HeaderMap, path: &str) -> Verdict {
        let token = bearer(headers).ok_or(Denied::Unauthenticated)?;
        let digest = digest(token, path);
        if let Some(verdict) = self.recall(&digest) {
            return verdict;
        }
        let _permit = self.questions.acquire().await.map_err(|_| Denied::Unknown)?;
        // Somebody with the same token may have asked during the wait.
        if let Some(verdict) = self.recall(&digest) {
            return verdict;
        }
        let verdict = match self.ask(token, path).await {
            Ok(verdict) => verdict,
            Err(refusal) => {
                warn!(code = refusal.code, error = refusal.message, "nobody knows who may read the metrics");
                return Err(Denied::Unknown);
            }
        };
        self.remember(digest, verdict);
        verdict
    }

    fn recall(&self, digest: &Digest) -> Option<Verdict> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, verdict) = known.get(digest)?;
        (since.elapsed() < REMEMBERED_FOR).then_some(*verdict)
    }

    fn remember(&self, digest: Digest, verdict: Verdict) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED_MAX {
            known.retain(|_, (since, _)| since.elapsed() < REMEMBERED_FOR);
        }
        if known.len() >= REMEMBERED_MAX {
            // Those who may read come again anyway.
            known.retain(|_, (_, verdict)| verdict.is_ok());
        }
        if known.len() < REMEMBERED_MAX {
            known.insert(digest, (Instant::now(), verdict));
        }
    }

    async fn ask(&self, token: &str, path: &str) -> Result<Verdict, Refusal> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
        });
        let reviewed = self.create(Kind::TokenReview, "tokenreviews", review).await?;
        if reviewed.pointer("/status/authenticated") != Some(&Value::Bool(true)) {
            return Ok(Err(Denied::Unauthenticated));
        }
        let user = reviewed.pointer("/status/user").unwrap_or(&Value::Null);
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": user.get("username"),
                "groups": user.get("groups"),
                "uid": user.get("uid"),
                "extra": user.get("extra"),
                "nonResourceAttributes": {"path": path, "verb": "get"},
            },
        });
        let reviewed = self.create(Kind::SubjectAccessReview, "subjectaccessreviews", review).await?;
        if reviewed.pointer("/status/allowed") == Some(&Value::Bool(true)) {
            return Ok(Ok(()));
        }
        debug!(user = ?user.get("username"), path, "not allowed to read");
        Ok(Err(Denied::Forbidden))
    }

    async fn create(&self, kind: Kind, plural: &'static str, body: Value) -> Result<Value, Refusal> {
        let api = self.server.cluster_objects(kind);
        let (params, body) = (PostParams::default(), Object::new(body));
        let request = api.create(&params, &body);
        self.server.send("create", plural, request).await.map(|object| object.body)
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    let is_one = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= TOKEN_MAX;
    is_one.then_some(token)
}

/// No token is kept.
fn digest(token: &str, path: &str) -> Digest {
    Sha256::new().chain_update(path).chain_update([0]).chain_update(token).finalize().into()
}

#[cfg(test)]
pub(crate) mod tests;
