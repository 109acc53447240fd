//! Which paths there are, each with and without a purpose in front.

use super::asked::Route;
use super::forward::{self, Shared};
use super::problem::Problem;
use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, get, on};
use http::Method;
use std::sync::Arc;

/// The name in the path `/purpose/{purpose}/v1/…`.
const PURPOSE: &str = "purpose";

type Proxied = State<Arc<Shared>>;

/// Everything that is served.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    let v1 = Router::new()
        .route("/chat/completions", metered(Route::Chat))
        .route("/embeddings", metered(Route::Embeddings))
        .route("/models", get(plain))
        .route("/models/{*model}", get(plain));
    Router::new()
        .nest("/v1", v1.clone())
        .nest("/purpose/{purpose}/v1", v1)
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(shared)
}

fn metered(route: Route) -> MethodRouter<Arc<Shared>> {
    on(
        MethodFilter::POST,
        async move |State(shared): Proxied, params: RawPathParams, request: Request| {
            let purpose = params.iter().find(|(name, _)| *name == PURPOSE);
            let purpose = purpose.map(|(_, value)| value.to_owned());
            let answered = forward::metered(&shared, route, purpose.as_deref(), request).await;
            answered.unwrap_or_else(Problem::into_response)
        },
    )
}

/// Lists of models cost nothing and need no purpose.
async fn plain(State(shared): Proxied, request: Request) -> Response {
    let answered = forward::plain(&shared, request).await;
    answered.unwrap_or_else(Problem::into_response)
}

async fn no_route(request: Request) -> Problem {
    let path: String = request.uri().path().chars().take(200).collect();
    Problem::Route(path)
}

async fn wrong_method(request: Request) -> Problem {
    let expected = if request.uri().path().contains("/models") {
        Method::GET
    } else {
        Method::POST
    };
    Problem::Method {
        method: request.method().to_string(),
        expected,
    }
}
