//! One request over HTTP, and its answer read within limits of size and time.

use super::config::EndpointConfig;
use memwarden_core::model::ModelError;
use serde_json::Value;
use std::io::{BufReader, ErrorKind, Read};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct Http {
    agent: ureq::Agent,
    config: EndpointConfig,
}

impl Http {
    pub(super) fn new(config: &EndpointConfig) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(config.timeout))
            // A redirect would carry the prompts to another host.
            .max_redirects(0)
            .build()
            .into();
        Self {
            agent,
            config: config.clone(),
        }
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Result<Answer, ModelError> {
        let failure = Failure::of(&self.config);
        let url = format!("{}/{path}", self.config.url.trim_end_matches('/'));
        let mut request = self.agent.post(&url).header("content-type", "application/json");
        if let Some(key) = &self.config.key {
            request = request.header("authorization", format!("Bearer {}", key.reveal()));
        }
        let response = request
            .send(body.to_string().as_bytes())
            .map_err(|error| failure.before_answer(error))?;
        let (head, body) = response.into_parts();
        let retry_after = head
            .headers
            .get("retry-after")
            .and_then(|value| value.to_str().ok());
        Ok(Answer {
            status: head.status.as_u16(),
            retry_after: retry_after.map(str::to_owned),
            body: BufReader::new(
                body.into_with_config()
                    .limit(self.config.max_answer_bytes)
                    .reader(),
            ),
            failure,
        })
    }
}

/// An answer whose body is still to be read.
pub(super) struct Answer {
    status: u16,
    retry_after: Option<String>,
    pub(super) body: BufReader<ureq::BodyReader<'static>>,
    failure: Failure,
}

impl Answer {
    pub(super) const fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn retry_after(&self) -> Option<String> {
        self.retry_after.clone()
    }

    /// The whole body.
    pub(super) fn read_whole(&mut self) -> Result<Vec<u8>, ModelError> {
        let mut bytes = Vec::new();
        let read = self.body.read_to_end(&mut bytes);
        read.map_err(|error| self.failure.in_answer(error, bytes.len()))?;
        Ok(bytes)
    }

    /// What a failure while reading means.
    pub(super) fn failed(&self, error: std::io::Error, received: usize) -> ModelError {
        self.failure.in_answer(error, received)
    }
}

/// What is said of failures.
#[derive(Debug, Clone)]
struct Failure {
    model: String,
    timeout: Duration,
}

impl Failure {
    fn of(config: &EndpointConfig) -> Self {
        Self {
            model: config.model.clone(),
            timeout: config.timeout,
        }
    }

    /// Without an answer a call is free only if the endpoint cannot have read it.
    fn before_answer(&self, error: ureq::Error) -> ModelError {
        let model = self.model.clone();
        match error {
            ureq::Error::Timeout(_) => self.timeout(),
            ureq::Error::Io(error) if error.kind() == ErrorKind::TimedOut => self.timeout(),
            ureq::Error::BadUri(reason) => ModelError::Unreachable {
                model,
                reason: format!("its endpoint's URL is not valid: {}", super::short(&reason)),
            },
            error => {
                let reason = super::short(&error.to_string());
                if is_of_connecting(&error) {
                    ModelError::Unreachable { model, reason }
                } else {
                    ModelError::Closed { model, reason }
                }
            }
        }
    }

    /// Once an answer has begun, a failure is not that the endpoint cannot be reached: it may have been charged.
    fn in_answer(&self, error: std::io::Error, received: usize) -> ModelError {
        let model = self.model.clone();
        match ureq::Error::from(error) {
            ureq::Error::Timeout(_) => self.timeout(),
            ureq::Error::Io(error) if error.kind() == ErrorKind::TimedOut => self.timeout(),
            ureq::Error::BodyExceedsLimit(limit) => ModelError::TooLarge { model, limit },
            _ => ModelError::Cut { model, received },
        }
    }

    fn timeout(&self) -> ModelError {
        ModelError::Timeout {
            model: self.model.clone(),
            limit_ms: u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Whether an error can only come before a request is written: while a name is looked up, a connection is made or its
/// TLS agreed on. What could be either counts as after.
fn is_of_connecting(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::InvalidProxyUrl
        | ureq::Error::ConnectProxyFailed(_)
        | ureq::Error::Http(_)
        | ureq::Error::Tls(_)
        | ureq::Error::TlsRequired
        | ureq::Error::Rustls(_) => true,
        ureq::Error::Io(error) => {
            let is_refused = matches!(
                error.kind(),
                ErrorKind::ConnectionRefused
                    | ErrorKind::HostUnreachable
                    | ErrorKind::NetworkUnreachable
                    | ErrorKind::NetworkDown
                    | ErrorKind::AddrNotAvailable
                    | ErrorKind::PermissionDenied
                    // So rustls says that no TLS came about.
                    | ErrorKind::InvalidData
            );
            // The system's resolver has a kind of its own, which cannot be named.
            is_refused
                || error
                    .to_string()
                    .starts_with("failed to lookup address information")
        }
        _ => false,
    }
}
