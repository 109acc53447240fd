//! What the endpoint refuses or cannot do, in the shape in which clients of such endpoints expect an error.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use memwarden::core::model::ModelError;
use serde_json::json;

/// A request without a reply.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error("no route `{0}`; there are /v1/chat/completions and /v1/models")]
    Route(String),
    #[error("`{method}` is not served here; expected {expected}")]
    Method { method: String, expected: Method },
    #[error("the body is too long or did not come whole: {0}")]
    Unread(String),
    #[error("the body did not come within {0} seconds")]
    Stalled(u64),
    #[error("the body is no chat: {0}")]
    Json(String),
    #[error("`{field}`: {reason}")]
    Field { field: &'static str, reason: String },
    #[error("there is no model `{asked}` here, only `{served}`")]
    Model { asked: String, served: String },
    #[error("{0} requests are being answered; try again")]
    Busy(usize),
    #[error(transparent)]
    Refused(ModelError),
    #[error("the reply was lost: {0}")]
    Lost(String),
}

impl Problem {
    const fn status(&self) -> StatusCode {
        match self {
            Self::Unread(_) | Self::Json(_) | Self::Field { .. } => StatusCode::BAD_REQUEST,
            Self::Refused(ModelError::Call { .. } | ModelError::Unsupported { .. }) => {
                StatusCode::BAD_REQUEST
            }
            Self::Route(_) | Self::Model { .. } => StatusCode::NOT_FOUND,
            Self::Method { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::Stalled(_) => StatusCode::REQUEST_TIMEOUT,
            Self::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Refused(_) | Self::Lost(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// A stable name for programs.
    const fn code(&self) -> &'static str {
        match self {
            Self::Route(_) => "unknown_route",
            Self::Method { .. } => "wrong_method",
            Self::Unread(_) => "body_cut",
            Self::Stalled(_) => "body_stalled",
            Self::Json(_) => "bad_body",
            Self::Field { .. } => "unsupported_value",
            Self::Model { .. } => "model_not_found",
            Self::Busy(_) => "busy",
            Self::Refused(error) => error.name(),
            Self::Lost(_) => "lost",
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let kind = if self.status().is_server_error() {
            "server_error"
        } else {
            "invalid_request_error"
        };
        let param = match &self {
            Self::Field { field, .. } => Some(*field),
            Self::Model { .. } => Some("model"),
            _ => None,
        };
        let body = json!({"error": {
            "message": memwarden::visible(&self.to_string()),
            "type": kind,
            "param": param,
            "code": self.code(),
        }});
        let mut response = (self.status(), body.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if matches!(self, Self::Busy(_)) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
