//! What the proxy itself refuses or cannot do, in the shape in which clients of such endpoints expect an error.
//!
//! The code tells a program which it was, and that it was the proxy that said so; an endpoint's own errors pass through
//! as they are.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;
use std::time::Duration;

/// A call that the proxy answers itself.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(
        "the call names no purpose; send the header `x-memwarden-purpose: NAME`, or use the base address \
         `…/purpose/NAME/v1`"
    )]
    NoPurpose,
    #[error("the call has two values for `{header}`, `{first}` and `{second}`; expected one")]
    TwoLabels {
        header: &'static str,
        first: String,
        second: String,
    },
    #[error("`{header}`: `{given}` cannot be used: {why}")]
    Label {
        header: &'static str,
        given: String,
        why: String,
    },
    #[error(
        "no route `{0}`; the proxy has /v1/chat/completions, /v1/embeddings and /v1/models, also below /purpose/NAME"
    )]
    Route(String),
    #[error("`{method}` is not served here; expected {expected}")]
    Method { method: String, expected: http::Method },
    #[error("the body is longer than {limit} bytes, the proxy's limit")]
    TooLarge { limit: usize },
    #[error("the body did not come whole: {0}")]
    Unread(String),
    #[error("the body did not go on for {0} seconds")]
    Stalled(u64),
    #[error("the body is no JSON object that can be metered: {0}")]
    Json(String),
    #[error("the endpoint `{upstream}` cannot be reached: {why}")]
    Unreachable { upstream: String, why: String },
    #[error("the endpoint `{upstream}` closed the connection before it answered: {why}")]
    Closed { upstream: String, why: String },
    #[error(
        "the endpoint `{upstream}` sends the call elsewhere ({status}), where it would not be metered; name that address as its upstream"
    )]
    Redirect { upstream: String, status: StatusCode },
    #[error("the call was not sent, because it could not be metered: {0}")]
    Unmetered(String),
    #[error("the endpoint `{upstream}` did not answer within {} ms", limit.as_millis())]
    Timeout { upstream: String, limit: Duration },
}

impl Problem {
    const fn status(&self) -> StatusCode {
        match self {
            Self::NoPurpose
            | Self::TwoLabels { .. }
            | Self::Label { .. }
            | Self::Unread(_)
            | Self::Json(_) => StatusCode::BAD_REQUEST,
            Self::Route(_) => StatusCode::NOT_FOUND,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Stalled(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Unreachable { .. } | Self::Closed { .. } | Self::Redirect { .. } => StatusCode::BAD_GATEWAY,
            Self::Unmetered(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// A stable name for programs.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::NoPurpose => "missing_purpose",
            Self::TwoLabels { .. } => "two_labels",
            Self::Label { .. } => "bad_label",
            Self::Route(_) => "unknown_route",
            Self::Method { .. } => "wrong_method",
            Self::TooLarge { .. } => "body_too_large",
            Self::Unread(_) => "body_cut",
            Self::Stalled(_) => "body_stalled",
            Self::Json(_) => "bad_body",
            Self::Unreachable { .. } => "upstream_unreachable",
            Self::Closed { .. } => "upstream_closed",
            Self::Redirect { .. } => "upstream_redirect",
            Self::Unmetered(_) => "meter_unwritable",
            Self::Timeout { .. } => "upstream_timeout",
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({"error": {
            "message": memwarden::visible(&self.to_string()),
            "type": "memwarden_proxy",
            "param": null,
            "code": self.code(),
        }});
        let mut response = (self.status(), body.to_string()).into_response();
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}
