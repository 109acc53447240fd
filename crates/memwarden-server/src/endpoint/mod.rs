//! An OpenAI-compatible endpoint over a model: what `memwarden serve-model` answers with.
//!
//! It knows a [`Chat`] and no model. Replies come whole from it, so a stream is a finished reply in pieces. It has no
//! keys: whoever reaches the port can ask.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use memwarden::model::{Meter, Metered, Prices};
//! use memwarden_server::endpoint::Endpoint;
//! use std::sync::Arc;
//!
//! let model = Metered::simulated(1, Arc::new(Meter::in_memory(Prices::default())))?;
//! let endpoint = Endpoint::bind("127.0.0.1:0".parse()?, Arc::new(model.passing_on()))?;
//! println!("{}", endpoint.address());
//! endpoint.stopper().stop();
//! endpoint.run()?;
//! # Ok(())
//! # }
//! ```

mod asked;
mod problem;
mod said;

use crate::service::{Service, ServiceError, Stopper};
use asked::Asked;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use memwarden::core::model::{Chat, ModelError, Purpose, Reply};
use problem::Problem;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Semaphore;

/// Longest body of a request, in bytes.
const REQUEST_BYTES: usize = 8 << 20;
/// Longest wait for the body of a request.
const REQUEST_TIME: Duration = Duration::from_secs(60);
/// Requests that are answered or wait for their turn; one more is told to come again.
const AT_ONCE: usize = 32;
/// How long open requests may go on after the stop.
const GRACE: Duration = Duration::from_secs(10);
/// What the model's tokens are spent on; who asks may say more to a proxy before this.
const PURPOSE: &str = "serve";

/// An endpoint that has its port.
#[derive(Debug)]
pub struct Endpoint {
    service: Service,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    model: Arc<dyn Chat>,
    turns: Arc<Semaphore>,
    count: AtomicU64,
}

impl Endpoint {
    /// Takes the port. No request is answered before [`Endpoint::run`].
    ///
    /// # Errors
    ///
    /// If the address is taken or not ours, or the system gives no threads.
    pub fn bind(listen: SocketAddr, model: Arc<dyn Chat>) -> Result<Self, ServiceError> {
        Ok(Self {
            service: Service::bind(listen, "memwarden-endpoint")?,
            shared: Arc::new(Shared {
                model,
                turns: Arc::new(Semaphore::new(AT_ONCE)),
                count: AtomicU64::new(0),
            }),
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.service.address()
    }

    /// What stops it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.service.stopper()
    }

    /// Also stops at SIGINT and SIGTERM.
    ///
    /// # Errors
    ///
    /// If the system refuses the handlers.
    pub fn stop_on_signals(&self) -> Result<(), ServiceError> {
        self.service.stop_on_signals()
    }

    /// Answers until it is stopped. A reply that is still being made after the grace is given up.
    ///
    /// # Errors
    ///
    /// If the system takes the listener away.
    pub fn run(self) -> Result<(), ServiceError> {
        let app = Router::new()
            .route("/v1/chat/completions", post(chat))
            .route("/v1/models", get(models))
            .route("/v1/models/{*model}", get(model))
            .fallback(no_route)
            .method_not_allowed_fallback(wrong_method)
            .with_state(self.shared);
        let (runtime, served) = self.service.run(app, GRACE);
        // A thread that still computes cannot be stopped, and nobody waits for what it says.
        runtime.shutdown_background();
        served
    }
}

type Serving = State<Arc<Shared>>;

async fn chat(State(shared): Serving, request: Request) -> Result<Response, Problem> {
    let body = axum::body::to_bytes(request.into_body(), REQUEST_BYTES);
    let body = match tokio::time::timeout(REQUEST_TIME, body).await {
        Ok(Ok(body)) => body,
        Ok(Err(error)) => return Err(Problem::Unread(error.to_string())),
        Err(_) => return Err(Problem::Stalled(REQUEST_TIME.as_secs())),
    };
    let asked = Asked::read(&body)?;
    let name = shared.model.model().to_owned();
    if asked.model != name {
        return Err(Problem::Model {
            asked: asked.model,
            served: name,
        });
    }
    let number = shared.count.fetch_add(1, Ordering::Relaxed);
    let Ok(turn) = Arc::clone(&shared.turns).try_acquire_owned() else {
        return Err(Problem::Busy(AT_ONCE));
    };
    let model = Arc::clone(&shared.model);
    let answered = tokio::task::spawn_blocking(move || {
        // Kept until the model is done: it goes on computing for a client that has left.
        let _turn = turn;
        let reply = answer(model.as_ref(), &asked);
        (reply, asked)
    });
    let (reply, asked) = answered.await.map_err(|error| Problem::Lost(error.to_string()))?;
    let said = said::Said {
        id: format!("chatcmpl-{}-{number}", std::process::id()),
        created: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        model: &name,
        reply: &reply?,
        logprobs: asked.logprobs,
    };
    Ok(match asked.stream {
        None => json_response(said.whole()),
        Some(usage) => {
            let mut response = Response::new(Body::from(said.stream(usage)));
            let kind = HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
    })
}

fn answer(model: &dyn Chat, asked: &Asked) -> Result<Reply, Problem> {
    let purpose: Purpose = PURPOSE
        .parse()
        .map_err(|error: memwarden::core::model::LabelError| Problem::Lost(error.to_string()))?;
    let reply = model.chat(&[asked.call(&purpose)]).pop().unwrap_or_else(|| {
        Err(ModelError::Failed {
            model: model.model().to_owned(),
            reason: "it gave no reply".to_owned(),
        })
    });
    reply.map_err(Problem::Refused)
}

async fn models(State(shared): Serving) -> Response {
    json_response(json!({"object": "list", "data": [about(shared.model.model())]}))
}

async fn model(State(shared): Serving, Path(asked): Path<String>) -> Result<Response, Problem> {
    let served = shared.model.model();
    if asked == served {
        return Ok(json_response(about(served)));
    }
    Err(Problem::Model {
        asked,
        served: served.to_owned(),
    })
}

fn about(model: &str) -> serde_json::Value {
    json!({"id": model, "object": "model", "created": 0, "owned_by": "local"})
}

#[expect(clippy::needless_pass_by_value, reason = "a value that is only written")]
fn json_response(value: serde_json::Value) -> Response {
    let mut response = (StatusCode::OK, value.to_string()).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn no_route(request: Request) -> Problem {
    Problem::Route(request.uri().path().chars().take(200).collect())
}

async fn wrong_method(request: Request) -> Problem {
    let is_list = request.uri().path().contains("/models");
    Problem::Method {
        method: request.method().to_string(),
        expected: if is_list { Method::GET } else { Method::POST },
    }
}
