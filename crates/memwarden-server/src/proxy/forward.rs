//! One call: read, sent on, and its reply handed to the relay.

use super::account::{Account, End};
use super::asked::{self, Route};
use super::problem::Problem;
use super::relay::Relay;
use super::reply::{Delivery, Seen};
use super::{Limits, Settings, headers, labels, upstream};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http::header::{CONTENT_TYPE, EXPECT, HeaderMap};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use memwarden::model::Meter;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Most that is read and thrown away of a body that is too long, so that its sender comes to read the refusal.
const DRAINED: usize = 256 << 20;

/// What all calls share.
#[derive(Debug)]
pub(super) struct Shared {
    settings: Settings,
    sender: upstream::Sender,
    meter: Arc<Meter>,
}

impl Shared {
    pub(super) fn new(settings: Settings, meter: Arc<Meter>) -> Result<Self, rustls::Error> {
        Ok(Self {
            settings,
            sender: upstream::sender()?,
            meter,
        })
    }

    pub(super) const fn limits(&self) -> &Limits {
        &self.settings.limits
    }
}

/// Sends on a call that costs, and opens its account.
pub(super) async fn metered(
    shared: &Arc<Shared>,
    route: Route,
    in_path: Option<&str>,
    request: Request,
) -> Result<Response, Problem> {
    let limits = shared.limits();
    let (parts, body) = request.into_parts();
    let body = collect(body, &parts.headers, limits).await?;
    let labels = labels::read(&parts.headers, in_path, shared.settings.default_purpose.as_ref())?;
    let asked = asked::read(&body)?;
    // A call that is sent is paid for: one that could not be entered is not sent.
    shared
        .meter
        .ready()
        .map_err(|error| Problem::Unmetered(error.to_string()))?;
    let mut account = Account::open(
        Arc::clone(&shared.meter),
        labels,
        asked.model,
        route,
        body.clone(),
    );
    let response = match send(shared, parts, body).await {
        Ok(response) => response,
        Err(problem) => {
            account.close(End::of(&problem));
            return Err(problem);
        }
    };
    let status = response.status();
    if status.is_redirection() {
        // Clients follow it past the proxy, and past the meter.
        account.refused(status);
        account.close(End::Came);
        return Err(Problem::Redirect {
            upstream: shared.settings.upstream.to_string(),
            status,
        });
    }
    if status.is_success() {
        let delivery = delivery(response.headers());
        account.accepted(
            status,
            Seen::new(route, delivery, asked.choices, limits.reply_bytes),
        );
    } else {
        account.refused(status);
    }
    Ok(relayed(response, Some(account), limits.silence))
}

/// Sends on a call that costs nothing.
pub(super) async fn plain(shared: &Arc<Shared>, request: Request) -> Result<Response, Problem> {
    let limits = shared.limits();
    let (parts, body) = request.into_parts();
    if leads_elsewhere(parts.uri.path()) {
        return Err(Problem::Route(parts.uri.path().chars().take(200).collect()));
    }
    let body = collect(body, &parts.headers, limits).await?;
    let response = send(shared, parts, body).await?;
    Ok(relayed(response, None, limits.silence))
}

/// Whether a path, as an endpoint may come to read it, leaves the place where it stands (RFC 3986, section 5.2.4).
fn leads_elsewhere(path: &str) -> bool {
    // What is encoded twice is decoded as often by those that decode twice.
    let mut once = String::with_capacity(path.len());
    for character in path.to_ascii_lowercase().chars() {
        once.push(character);
        if once.ends_with("%25") {
            once.truncate(once.len() - 2);
        }
    }
    let path = once
        .replace("%2e", ".")
        .replace("%2f", "/")
        .replace("%5c", "/")
        .replace('\\', "/");
    path.split('/')
        .any(|segment| matches!(segment.split(';').next(), Some("." | "..")))
}

/// The whole body, if it is short enough and comes without long silence.
async fn collect(mut body: Body, headers: &HeaderMap, limits: &Limits) -> Result<Bytes, Problem> {
    let limit = limits.request_bytes;
    let announced = http_body::Body::size_hint(&body).lower();
    let is_long = usize::try_from(announced).map_or(true, |announced| announced > limit);
    if is_long && headers.contains_key(EXPECT) {
        // Its sender waits for a word before it sends.
        return Err(Problem::TooLarge { limit });
    }
    let mut kept = BytesMut::new();
    let mut length = 0_usize;
    loop {
        let Ok(frame) = timeout(limits.silence, body.frame()).await else {
            return Err(Problem::Stalled(limits.silence.as_secs()));
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| Problem::Unread(error.to_string()))?;
        // Trailers of a request are no part of the protocol.
        let Ok(data) = frame.into_data() else { continue };
        length = length.saturating_add(data.len());
        if length <= limit {
            kept.extend_from_slice(&data);
        } else if length > limit.saturating_add(DRAINED) {
            break;
        }
    }
    if length > limit {
        return Err(Problem::TooLarge { limit });
    }
    Ok(kept.freeze())
}

/// Sends the very bytes on and waits for the head of the reply.
async fn send(
    shared: &Shared,
    mut parts: http::request::Parts,
    body: Bytes,
) -> Result<http::Response<Incoming>, Problem> {
    let upstream = &shared.settings.upstream;
    let unreachable = |why: String| Problem::Unreachable {
        upstream: upstream.to_string(),
        why,
    };
    // Below a nest, what is left of the path follows `/v1`.
    let uri = upstream.uri(parts.uri.path(), parts.uri.query());
    headers::of_request(&mut parts.headers);
    let mut request = http::Request::new(Full::new(body));
    *request.method_mut() = parts.method;
    *request.uri_mut() = uri.map_err(|error| unreachable(error.to_string()))?;
    *request.headers_mut() = parts.headers;
    match timeout(shared.limits().head, shared.sender.request(request)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) if error.is_connect() => Err(unreachable(cause(&error))),
        Ok(Err(error)) => Err(Problem::Closed {
            upstream: upstream.to_string(),
            why: cause(&error),
        }),
        Err(_) => Err(Problem::Timeout {
            upstream: upstream.to_string(),
            limit: shared.limits().head,
        }),
    }
}

fn relayed(response: http::Response<Incoming>, account: Option<Account>, silence: Duration) -> Response {
    let (mut parts, body) = response.into_parts();
    headers::of_reply(&mut parts.headers);
    let mut response = Response::new(Body::new(Relay::start(body, account, silence)));
    *response.status_mut() = parts.status;
    *response.headers_mut() = parts.headers;
    response
}

fn delivery(headers: &HeaderMap) -> Delivery {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_stream = kind.is_some_and(|kind| {
        let name = kind.split(';').next().unwrap_or_default();
        name.trim().eq_ignore_ascii_case("text/event-stream")
    });
    if is_stream {
        Delivery::Stream
    } else {
        Delivery::Whole
    }
}

/// The innermost reason of an error; the outer ones say only that it was a request.
fn cause(error: &hyper_util::client::legacy::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_out_of_its_place_is_known_in_every_spelling() {
        for path in [
            "/models/../../x",
            "/models/.",
            "/models/a%2F..%2f..%2Fx",
            "/models/%2e%2E/x",
            "/models/..%5Cx",
            "/models/%252e%252e/x",
            "/models/..;a/x",
        ] {
            assert!(leads_elsewhere(path), "{path}");
        }
        for path in [
            "/models",
            "/models/org%2Ftoy",
            "/models/a..b",
            "/models/v1.5",
            "/models/...",
        ] {
            assert!(!leads_elsewhere(path), "{path}");
        }
    }
}
