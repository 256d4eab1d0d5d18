//! The service: which answer belongs to which request.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use admission::{Cause, FieldValidation};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Limited};
use world::{Key, Refused, Resource, Store, Subresource};

use crate::answer::{self, Body};
use crate::audit::{AuditLog, Entry};
use crate::definition;
use crate::delete;
use crate::discovery;
use crate::gate::{Gate, Scope, Verb};
use crate::holder::{Door, Holder, Shared, enter};
use crate::invalid;
use crate::media::{Form, negotiate};
use crate::openapi;
use crate::path::{Part, Path};
use crate::query::Query;
use crate::read;
use crate::review;
use crate::watch::Watch;
use crate::write::{self, Call, Written};

/// The most bytes of a request's body.
const BODY_MAX: usize = 3 * 1024 * 1024;
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The Kubernetes API over a store. Clones serve the same one.
#[derive(Clone)]
pub struct ApiServer {
    door: Arc<dyn Door>,
    gate: Arc<Gate>,
    audit: Option<AuditLog>,
}

/// A request, taken apart.
struct Asked {
    method: Method,
    path: Path,
    query: Query,
    headers: HeaderMap,
    body: Bytes,
}

type Answered = Result<Response<Body>, Refused>;

impl ApiServer {
    /// Serves what a holder holds.
    pub fn new<H: Holder>(shared: &Arc<Shared<H>>) -> Self {
        let gate = shared.act(|holder| Gate::install(holder.store()));
        Self { door: shared.clone(), gate, audit: None }
    }

    /// The same server with an audit log: a line of JSON for every request, as a real server writes
    /// them. When a line cannot be written, the request is answered with 500.
    #[must_use]
    pub fn with_audit_log(self, out: impl std::io::Write + Send + 'static) -> Self {
        Self { audit: Some(AuditLog::new(Box::new(out))), ..self }
    }

    fn on_store<R>(&self, action: impl FnOnce(&mut Store) -> Result<R, Refused>) -> Result<R, Refused> {
        let lost = || Refused::new(500, "InternalError", "the store did not answer");
        enter(self.door.as_ref(), action).unwrap_or_else(|| Err(lost()))
    }

    /// The time in the cluster.
    fn now(&self) -> jiff::Timestamp {
        enter(self.door.as_ref(), |store| store.now()).unwrap_or_default()
    }

    fn answer(&self, asked: &Asked) -> Response<Body> {
        self.dispatch(asked).unwrap_or_else(|refused| answer::refusal(&refused))
    }

    fn dispatch(&self, asked: &Asked) -> Answered {
        match &asked.path {
            Path::Health => Ok(answer::text(200, "ok")),
            Path::Collection { resource, namespace } => {
                self.collection(asked, *resource, namespace.as_deref())
            }
            Path::Object { resource, namespace, name, part } => {
                let key = Key::new(*resource, namespace, name);
                self.object(asked, &key, part)
            }
            Path::Unknown => Ok(nowhere()),
            Path::Review if asked.method == Method::POST => self.review(asked),
            _ if asked.method != Method::GET => Err(not_allowed()),
            Path::OpenApiV2 => Ok(openapi::version_two()),
            document => self.document(asked, document),
        }
    }

    /// Whether somebody may do something.
    fn review(&self, asked: &Asked) -> Answered {
        let call = asked.call(Resource::Namespaces, "", "", Subresource::Main);
        let review = call.json()?;
        let answered = self.on_store(|store| review::answer(store, review))?;
        Ok(answer::json(201, &answered))
    }

    /// What describes the API itself.
    fn document(&self, asked: &Asked, path: &Path) -> Answered {
        let form = negotiate(&asked.headers)?;
        let found = self.on_store(|store| {
            Ok(match path {
                Path::Legacy | Path::Groups if form == Form::Discovery => {
                    Some(discovery::aggregated(store, *path == Path::Legacy))
                }
                Path::Legacy => Some(discovery::legacy()),
                Path::Groups => Some(discovery::groups(store)),
                Path::Group(group) => discovery::group(store, group),
                Path::Resources(group) => discovery::resources(store, group),
                Path::OpenApi => Some(openapi::index(store)),
                Path::OpenApiGroup(group) => openapi::group(store, group),
                Path::Version => Some(discovery::version()),
                _ => None,
            })
        })?;
        let Some(found) = found else { return Ok(nowhere()) };
        if form == Form::Discovery && matches!(path, Path::Legacy | Path::Groups) {
            return Ok(answer::typed(
                200,
                HeaderValue::from_static(DISCOVERY),
                Bytes::from(found.to_string()),
            ));
        }
        Ok(answer::json(200, &found))
    }

    fn collection(&self, asked: &Asked, resource: Resource, namespace: Option<&str>) -> Answered {
        if !self.on_store(|store| Ok(definition::is_served(store, resource)))? {
            return Ok(nowhere());
        }
        if asked.method == Method::GET {
            let verb = if asked.query.is_set("watch") { "watch" } else { "list" };
            self.on_store(|store| read::authorize(store, resource, namespace, verb))?;
        }
        match asked.method {
            Method::GET if asked.query.is_set("watch") => {
                let form = negotiate(&asked.headers)?;
                let of = (resource, namespace.map(str::to_owned));
                let watch = self.on_store(|store| Watch::begin(&self.door, store, of, form, &asked.query))?;
                Ok(answer::stream(watch.stream()))
            }
            Method::GET => {
                let form = negotiate(&asked.headers)?;
                let list =
                    self.on_store(|store| read::list(store, resource, namespace, form, &asked.query))?;
                Ok(answer::json(200, &list))
            }
            Method::POST if namespace.is_some() || !resource.is_namespaced() => {
                let call = asked.call(resource, namespace.unwrap_or_default(), "", Subresource::Main);
                self.write(asked, &call, write::create)
            }
            Method::DELETE if namespace.is_some() || !resource.is_namespaced() => {
                let deletion = delete::options(&asked.body, &asked.query)?;
                let deleted = self.on_store(|store| {
                    delete::collection(store, resource, namespace, &asked.query, &deletion)
                })?;
                Ok(answer::json(200, &deleted))
            }
            _ => Err(not_allowed()),
        }
    }

    fn object(&self, asked: &Asked, key: &Key, part: &Part) -> Answered {
        if !self.on_store(|store| Ok(definition::is_served(store, key.resource)))? {
            return Ok(nowhere());
        }
        let subresource = match part {
            Part::Of(subresource) => *subresource,
            Part::Log => return Err(no_logs()),
            Part::Finalize => Subresource::Main,
        };
        let call = asked.call(key.resource, &key.namespace, &key.name, subresource);
        match asked.method {
            Method::GET if subresource == Subresource::Scale => {
                let scale = self.on_store(|store| store.scale(key))?;
                Ok(answer::json(200, &scale))
            }
            Method::GET => self.get(asked, key),
            Method::PUT => self.write(asked, &call, write::update),
            Method::PATCH => self.write(asked, &call, write::patch),
            Method::DELETE if subresource == Subresource::Main => {
                let deletion = delete::options(&asked.body, &asked.query)?;
                let deleted = self.on_store(|store| delete::delete(store, key, &deletion))?;
                Ok(answer::json(200, &deleted))
            }
            _ => Err(not_allowed()),
        }
    }

    fn get(&self, asked: &Asked, key: &Key) -> Answered {
        let form = negotiate(&asked.headers)?;
        let value = self.on_store(|store| {
            let object = store.get(key).ok_or_else(|| Refused::not_found(key.resource, &key.name))?;
            read::shown(store, object, form, &asked.query)
        })?;
        Ok(answer::json(200, &value))
    }

    fn write(
        &self,
        asked: &Asked,
        call: &Call<'_>,
        write: fn(&mut Store, &Call<'_>) -> Result<Written, Refused>,
    ) -> Answered {
        let form = negotiate(&asked.headers)?;
        let scope = asked.scope()?;
        let (code, value, warnings) = self.on_store(|store| {
            self.gate.enter(scope);
            let written = write(store, call);
            let warnings = self.gate.leave();
            match written? {
                Written::Object(code, object) => {
                    Ok((code, read::shown(store, &object, form, &asked.query)?, warnings))
                }
                Written::Scale(scale) => Ok((200, scale, warnings)),
            }
        })?;
        Ok(answer::with_warnings(answer::json(code, &value), &warnings))
    }
}

impl Asked {
    fn new(parts: Parts, body: Bytes) -> Self {
        let query = Query::parse(parts.uri.query().unwrap_or_default());
        Self {
            method: parts.method,
            path: Path::parse(parts.uri.path()),
            query,
            headers: parts.headers,
            body,
        }
    }

    fn header(&self, name: header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    fn call<'a>(
        &'a self,
        resource: Resource,
        namespace: &'a str,
        name: &'a str,
        subresource: Subresource,
    ) -> Call<'a> {
        let content_type = self.header(header::CONTENT_TYPE);
        Call { resource, namespace, name, subresource, query: &self.query, content_type, body: &self.body }
    }

    /// Who asks, and how to decode what it writes.
    fn scope(&self) -> Result<Scope, Refused> {
        let agent = self.header(header::USER_AGENT);
        let program = agent.split('/').next().unwrap_or_default();
        let manager = self.query.text("fieldManager").unwrap_or(program);
        let manager = if manager.is_empty() { "unknown" } else { manager };
        let is_apply = self.header(header::CONTENT_TYPE).starts_with("application/apply-patch");
        let verb = match self.method {
            Method::PATCH if is_apply => Verb::Apply,
            Method::PATCH => Verb::Patch,
            _ => Verb::Whole,
        };
        let validation = self.query.text("fieldValidation").unwrap_or_default();
        let validation = FieldValidation::parse(validation).ok_or_else(|| {
            let known = ["Ignore", "Strict", "Warn"].map(str::to_owned);
            let cause = Cause::not_supported("fieldValidation", &validation.into(), &known);
            let kind = if self.method == Method::PATCH { "PatchOptions" } else { "CreateOptions" };
            invalid::options(kind, cause)
        })?;
        let complaints = admission::duplicate_fields(&self.body);
        Ok(Scope { manager: manager.to_owned(), verb, validation, complaints })
    }
}

fn nowhere() -> Response<Body> {
    answer::text(404, "404 page not found\n")
}

fn not_allowed() -> Refused {
    Refused::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
}

fn no_logs() -> Refused {
    let message = "pod logs are not served by the sandbox: its pods run no containers";
    Refused::new(501, "NotImplemented", message)
}

impl<B> tower_service::Service<Request<B>> for ApiServer
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let entry = server
                .audit
                .clone()
                .map(|log| (log, Entry::new(&parts.method, &parts.uri, &parts.headers, server.now())));
            let response = match Limited::new(body, BODY_MAX).collect().await {
                Ok(body) => server.answer(&Asked::new(parts, body.to_bytes())),
                Err(_) => {
                    let message = format!("Request entity too large: limit is {BODY_MAX}");
                    answer::refusal(&Refused::new(413, "RequestEntityTooLarge", message))
                }
            };
            let Some((log, entry)) = entry else { return Ok(response) };
            Ok(match log.write(entry, response.status().as_u16(), server.now()) {
                Ok(()) => response,
                Err(error) => {
                    let message = format!("the audit log cannot be written: {error}");
                    answer::refusal(&Refused::new(500, "InternalError", message))
                }
            })
        })
    }
}
