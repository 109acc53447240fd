//! A request for a chat, read. What would change the reply and is not done here is refused, not ignored; what is only
//! for the provider's books (`user`, `metadata`, `store`) is left aside.

use super::problem::Problem;
use memwarden::core::model::{ChatCall, Message, Purpose, ReplyShape, Speaker, TokenLogprobs};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::num::NonZeroU32;

/// The most tokens of a reply to a request that sets no limit.
const MAX_TOKENS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1023);

/// A question, and how its answer is to be given.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) model: String,
    messages: Vec<Message>,
    max_tokens: NonZeroU32,
    temperature: f32,
    seed: Option<u64>,
    /// Name and schema.
    shape: Option<(String, String)>,
    pub(super) logprobs: TokenLogprobs,
    /// As a stream, and whether with usage.
    pub(super) stream: Option<StreamUsage>,
}

/// Whether a stream ends with its usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamUsage {
    Left,
    Included,
}

impl Asked {
    /// Reads a body.
    pub(super) fn read(body: &[u8]) -> Result<Self, Problem> {
        let body: Body = serde_json::from_slice(body).map_err(|error| Problem::Json(error.to_string()))?;
        for (field, value, usual) in [
            ("n", &body.n, 1.0),
            ("top_p", &body.top_p, 1.0),
            ("frequency_penalty", &body.frequency_penalty, 0.0),
            ("presence_penalty", &body.presence_penalty, 0.0),
            ("top_logprobs", &body.top_logprobs, 0.0),
        ] {
            if value.is_some_and(|value| (value - usual).abs() > 0.0) {
                let reason = format!("not done here: expected {usual} or nothing");
                return Err(Problem::Field { field, reason });
            }
        }
        for (field, value) in [
            ("tools", &body.tools),
            ("functions", &body.functions),
            ("stop", &body.stop),
            ("logit_bias", &body.logit_bias),
        ] {
            let is_empty = match value {
                None | Some(Value::Null) => true,
                Some(Value::Array(items)) => items.is_empty(),
                Some(Value::Object(fields)) => fields.is_empty(),
                Some(_) => false,
            };
            if !is_empty {
                let reason = "not done here: expected nothing".to_owned();
                return Err(Problem::Field { field, reason });
            }
        }
        let messages: Result<Vec<_>, _> = body.messages.into_iter().map(Said::into_message).collect();
        let max_tokens = match body.max_completion_tokens.or(body.max_tokens) {
            None => MAX_TOKENS,
            Some(given) => NonZeroU32::new(given).ok_or_else(|| Problem::Field {
                field: "max_tokens",
                reason: "`0`: expected 1 or more".to_owned(),
            })?,
        };
        let stream = body.stream.unwrap_or_default().then(|| {
            let usage = body.stream_options.and_then(|options| options.include_usage);
            if usage.unwrap_or_default() {
                StreamUsage::Included
            } else {
                StreamUsage::Left
            }
        });
        Ok(Self {
            model: body.model,
            messages: messages?,
            max_tokens,
            // The protocol's default.
            temperature: body.temperature.unwrap_or(1.0),
            // Only its bits matter.
            seed: body.seed.map(i64::cast_unsigned),
            shape: body.response_format.map_or(Ok(None), Format::into_shape)?,
            logprobs: if body.logprobs.unwrap_or_default() {
                TokenLogprobs::Need
            } else {
                TokenLogprobs::Leave
            },
            stream,
        })
    }

    /// As a call.
    pub(super) fn call<'a>(&'a self, purpose: &'a Purpose) -> ChatCall<'a> {
        ChatCall {
            temperature: self.temperature,
            seed: self.seed,
            shape: match &self.shape {
                None => ReplyShape::Text,
                Some((name, schema)) => ReplyShape::Json { name, schema },
            },
            logprobs: self.logprobs,
            ..ChatCall::new(purpose, &self.messages, self.max_tokens)
        }
    }
}

#[derive(Deserialize)]
struct Body {
    model: String,
    messages: Vec<Said>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f32>,
    seed: Option<i64>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    logprobs: Option<bool>,
    response_format: Option<Format>,
    n: Option<f64>,
    top_p: Option<f64>,
    frequency_penalty: Option<f64>,
    presence_penalty: Option<f64>,
    top_logprobs: Option<f64>,
    tools: Option<Value>,
    functions: Option<Value>,
    stop: Option<Value>,
    logit_bias: Option<Value>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct Said {
    role: String,
    content: Option<Content>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
}

impl Said {
    fn into_message(self) -> Result<Message, Problem> {
        let wrong = |reason: String| Problem::Field {
            field: "messages",
            reason,
        };
        let speaker = match self.role.as_str() {
            "system" | "developer" => Speaker::System,
            "user" => Speaker::User,
            "assistant" => Speaker::Assistant,
            other => {
                return Err(wrong(format!(
                    "role `{other}`: expected system, user or assistant"
                )));
            }
        };
        let text = match self.content {
            None => return Err(wrong("a message has no content".to_owned())),
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => {
                let mut text = String::new();
                for part in parts {
                    match part.text {
                        Some(more) if part.kind == "text" => text.push_str(&more),
                        _ => return Err(wrong(format!("a part of type `{}`: expected text", part.kind))),
                    }
                }
                text
            }
        };
        Ok(Message { speaker, text })
    }
}

#[derive(Deserialize)]
struct Format {
    #[serde(rename = "type")]
    kind: String,
    json_schema: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
    schema: Box<RawValue>,
}

impl Format {
    fn into_shape(self) -> Result<Option<(String, String)>, Problem> {
        match (self.kind.as_str(), self.json_schema) {
            ("text", _) => Ok(None),
            ("json_schema", Some(named)) => Ok(Some((named.name, named.schema.get().to_owned()))),
            (kind, _) => Err(Problem::Field {
                field: "response_format",
                reason: format!("`{kind}`: expected text, or json_schema with a name and a schema"),
            }),
        }
    }
}
