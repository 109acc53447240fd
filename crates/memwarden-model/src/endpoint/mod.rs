//! A model behind an OpenAI-compatible endpoint: what is sent, what is read, when it is sent again.
//!
//! `config` is what a caller sets · `http` sends one request and reads its body within limits · `wire` is the
//! protocol's JSON · `stream` reads a streamed reply · `gate` bounds how many requests run at once. Blocking, and no
//! async runtime.

mod config;
mod gate;
mod http;
mod retry;
mod stream;
mod wire;

pub use config::{ApiKey, Delivery, EndpointConfig, JsonMode, KeyError};

use crate::backend::{Attempt, Backend, EncodeCall, Vectors};
use crate::pace::Pace;
use gate::Gate;
use http::{Answer, Http};
use memwarden_core::model::{ChatCall, Finish, ModelError, Reply};
use retry::Patience;
use serde_json::Value;
use std::num::NonZeroUsize;
use std::time::Duration;

/// A model behind an endpoint.
#[derive(Debug)]
pub(crate) struct Endpoint {
    config: EndpointConfig,
    http: Http,
    gate: Gate,
}

impl Endpoint {
    pub(crate) fn new(config: EndpointConfig) -> Self {
        Self {
            http: Http::new(&config),
            gate: Gate::new(config.at_once),
            config,
        }
    }

    /// Sends `body` until it is answered or patience ends; `read` makes a reply of an answer.
    fn ask<T>(
        &self,
        path: &str,
        body: &Value,
        pace: &dyn Pace,
        read: impl Fn(&mut Answer) -> Result<T, ModelError>,
    ) -> Attempt<T> {
        let patience = Patience::of(&self.config);
        let mut waiting = Duration::ZERO;
        let mut serving = Duration::ZERO;
        let (mut retries, mut unsettled) = (0, 0);
        loop {
            let queued = pace.running();
            let turn = self.gate.enter();
            let sent = pace.running();
            waiting += sent.saturating_sub(queued);
            let answer = self.http.post(path, body);
            let (status, retry_after) = answer.as_ref().map_or((None, None), |answer| {
                (Some(answer.status()), answer.retry_after())
            });
            let result = answer.and_then(|mut answer| {
                if (200..300).contains(&answer.status()) {
                    read(&mut answer)
                } else {
                    Err(self.refusal(&mut answer))
                }
            });
            let ended = pace.running();
            serving += ended.saturating_sub(sent);
            // Others have their turn while this call waits.
            drop(turn);
            let pause = match &result {
                Err(error) => patience.pause(error, retries, retry_after.as_deref(), pace),
                Ok(_) => None,
            };
            let Some(pause) = pause else {
                return Attempt {
                    result,
                    status,
                    retries,
                    unsettled,
                    spent: None,
                    waiting,
                    serving,
                };
            };
            pace.wait(pause);
            waiting += pace.running().saturating_sub(ended);
            retries += 1;
            unsettled += u32::from(matches!(status, Some(502 | 504)));
        }
    }

    fn refusal(&self, answer: &mut Answer) -> ModelError {
        let status = answer.status();
        // A refusal whose body cannot be read is still that refusal.
        let said = answer.read_whole().unwrap_or_default();
        let reason =
            wire::error_message(&said).unwrap_or_else(|| String::from_utf8_lossy(&said).into_owned());
        ModelError::Upstream {
            model: self.config.model.clone(),
            status,
            reason: short(&self.config.redact(&reason)),
        }
    }

    /// A reply, its finish reason as somebody else's word.
    fn tidy(&self, reply: Reply) -> Reply {
        let finish = Finish::from_word(&short(&self.config.redact(reply.finish.as_str())));
        Reply { finish, ..reply }
    }

    fn malformed(&self, reason: &str) -> ModelError {
        ModelError::Malformed {
            model: self.config.model.clone(),
            reason: short(&self.config.redact(reason)),
        }
    }
}

impl Backend for Endpoint {
    fn model(&self) -> &str {
        &self.config.model
    }

    fn at_once(&self) -> NonZeroUsize {
        self.config.at_once
    }

    fn chat(&self, call: &ChatCall<'_>, pace: &dyn Pace) -> Attempt<Reply> {
        let body = match wire::chat_request(&self.config, call) {
            Ok(body) => body,
            Err(reason) => {
                return Attempt::timed(pace, || {
                    Err(ModelError::Call {
                        model: self.config.model.clone(),
                        reason,
                    })
                });
            }
        };
        self.ask("chat/completions", &body, pace, |answer| {
            let reply = match self.config.delivery {
                Delivery::Whole => {
                    let bytes = answer.read_whole()?;
                    wire::chat_reply(&bytes).map_err(|reason| self.malformed(&reason))
                }
                Delivery::Streamed => stream::read(answer, &self.config.model).map_err(|error| match error {
                    ModelError::Malformed { reason, .. } => self.malformed(&reason),
                    other => other,
                }),
            };
            reply.map(|reply| self.tidy(reply))
        })
    }

    fn embed(&self, call: &EncodeCall<'_>, pace: &dyn Pace) -> Attempt<Vectors> {
        let body = wire::embedding_request(&self.config, call.texts);
        self.ask("embeddings", &body, pace, |answer| {
            let bytes = answer.read_whole()?;
            wire::vectors(&bytes, call.texts.len()).map_err(|reason| self.malformed(&reason))
        })
    }
}

/// What somebody else said, in one line of at most 300 characters.
pub(crate) fn short(text: &str) -> String {
    const MOST: usize = 300;
    let flat: String = text
        .chars()
        .take(MOST + 1)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if flat.chars().count() <= MOST {
        return flat.trim().to_owned();
    }
    flat.chars().take(MOST).chain(['…']).collect()
}
