//! The protocol's JSON. Fields that are not needed are not looked at; fields that are needed are not guessed.

use super::config::{Delivery, EndpointConfig, JsonMode};
use crate::backend::Vectors;
use crate::schema::Schema;
use memwarden_core::model::{
    ChatCall, Finish, Reply, ReplyShape, ReplyToken, TokenLogprobs, Usage, UsageSource,
};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn chat_request(config: &EndpointConfig, call: &ChatCall<'_>) -> Result<Value, String> {
    if !call.temperature.is_finite() || call.temperature < 0.0 {
        return Err(format!("temperature `{}` is not 0 or more", call.temperature));
    }
    let messages: Vec<Value> = call
        .messages
        .iter()
        .map(|message| json!({"role": message.speaker.as_str(), "content": message.text}))
        .collect();
    let mut body = json!({
        "model": config.model,
        "messages": messages,
        "max_tokens": call.max_tokens.get(),
        "temperature": call.temperature,
    });
    if let Some(seed) = call.seed {
        set(&mut body, "seed", json!(seed));
    }
    if call.logprobs == TokenLogprobs::Need {
        set(&mut body, "logprobs", json!(true));
    }
    if let (ReplyShape::Json { name, schema }, JsonMode::Schema) = (call.shape, config.json) {
        let schema = Schema::parse(schema)?;
        let format = json!({"name": name, "schema": schema.as_json(), "strict": true});
        set(
            &mut body,
            "response_format",
            json!({"type": "json_schema", "json_schema": format}),
        );
    }
    if config.delivery == Delivery::Streamed {
        set(&mut body, "stream", json!(true));
        set(&mut body, "stream_options", json!({"include_usage": true}));
    }
    Ok(body)
}

pub(super) fn embedding_request(config: &EndpointConfig, texts: &[&str]) -> Value {
    json!({"model": config.model, "input": texts, "encoding_format": "float"})
}

fn set(body: &mut Value, name: &str, value: Value) {
    if let Value::Object(fields) = body {
        fields.insert(name.to_owned(), value);
    }
}

pub(super) fn chat_reply(bytes: &[u8]) -> Result<Reply, String> {
    let answer: ChatAnswer = read(bytes)?;
    let mut choices = answer.choices.into_iter();
    let (Some(choice), None) = (choices.next(), choices.next()) else {
        return Err("it does not have one choice".to_owned());
    };
    let finish = choice.finish_reason.ok_or("finish_reason is missing")?;
    Ok(Reply {
        text: choice.message.content.unwrap_or_default(),
        finish: Finish::from_word(&finish),
        usage: answer.usage.and_then(WireUsage::chat),
        tokens: choice
            .logprobs
            .map(Logprobs::tokens)
            .transpose()?
            .unwrap_or_default(),
    })
}

pub(super) fn vectors(bytes: &[u8], expected: usize) -> Result<Vectors, String> {
    let answer: EmbeddingAnswer = read(bytes)?;
    if answer.data.len() != expected {
        return Err(format!("{} vectors for {expected} texts", answer.data.len()));
    }
    let mut data = answer.data;
    data.sort_by_key(|item| item.index);
    if data.iter().enumerate().any(|(place, item)| item.index != place) {
        return Err(format!(
            "the indexes of its vectors are not 0 to {}",
            expected.saturating_sub(1)
        ));
    }
    let vectors: Vec<Vec<f32>> = data.into_iter().map(|item| item.embedding).collect();
    if vectors.iter().flatten().any(|component| !component.is_finite()) {
        return Err("a component of a vector is not finite".to_owned());
    }
    Ok(Vectors {
        vectors,
        usage: answer.usage.and_then(WireUsage::embedding),
    })
}

/// What the protocol's error object says.
pub(super) fn error_message(bytes: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let error = value.get("error")?;
    error.get("message").unwrap_or(error).as_str().map(str::to_owned)
}

fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
struct ChatAnswer {
    choices: Vec<Choice>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: AnswerMessage,
    finish_reason: Option<String>,
    logprobs: Option<Logprobs>,
}

#[derive(Deserialize)]
struct AnswerMessage {
    content: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Logprobs {
    content: Option<Vec<TokenLogprob>>,
}

#[derive(Deserialize)]
struct TokenLogprob {
    token: String,
    logprob: f64,
}

impl Logprobs {
    pub(super) fn tokens(self) -> Result<Vec<ReplyToken>, String> {
        let tokens = self.content.unwrap_or_default().into_iter();
        tokens
            .map(|token| {
                if token.logprob > 0.0 || !token.logprob.is_finite() {
                    return Err(format!("`{}` is no log-probability", token.logprob));
                }
                Ok(ReplyToken {
                    text: token.token,
                    log_probability: token.logprob,
                })
            })
            .collect()
    }
}

/// Tokens as the provider counts them; a part that is missing or no count makes the whole missing.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct WireUsage(Value);

impl WireUsage {
    pub(super) fn chat(self) -> Option<Usage> {
        Some(Usage {
            prompt: self.tokens("prompt_tokens")?,
            completion: self.tokens("completion_tokens")?,
            source: UsageSource::Provider,
        })
    }

    fn embedding(self) -> Option<Usage> {
        Some(Usage {
            prompt: self.tokens("prompt_tokens")?,
            completion: 0,
            source: UsageSource::Provider,
        })
    }

    fn tokens(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }
}

#[derive(Deserialize)]
struct EmbeddingAnswer {
    data: Vec<EmbeddingItem>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct EmbeddingItem {
    index: usize,
    embedding: Vec<f32>,
}
