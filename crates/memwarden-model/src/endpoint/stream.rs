//! A streamed reply: server-sent events, put together again.
//!
//! A reply is whole when a finish reason and then `[DONE]` have come. A stream that ends before is
//! [`ModelError::Cut`], whatever has come by then.

use super::http::Answer;
use super::wire::{Logprobs, WireUsage};
use memwarden_core::model::{Finish, ModelError, Reply, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::io::BufRead as _;

pub(super) fn read(answer: &mut Answer, model: &str) -> Result<Reply, ModelError> {
    let malformed = |reason: String| ModelError::Malformed {
        model: model.to_owned(),
        reason,
    };
    let mut parts = Parts::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = answer.body.read_until(b'\n', &mut line);
        let read = read.map_err(|error| answer.failed(error, parts.text.len()))?;
        if read == 0 {
            return Err(ModelError::Cut {
                model: model.to_owned(),
                received: parts.text.len(),
            });
        }
        let Some(data) = data_of(&line) else {
            continue;
        };
        if data == b"[DONE]" {
            return parts.whole().map_err(malformed);
        }
        // A last line without its end was cut; the next read will say so.
        if line.last() == Some(&b'\n') {
            parts.add(data).map_err(malformed)?;
        }
    }
}

/// The value of a `data` field; `None` for comments, other fields and the ends of events.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    Some(line.strip_prefix(b"data:")?.trim_ascii())
}

#[derive(Default)]
struct Parts {
    text: String,
    finish: Option<String>,
    usage: Option<Usage>,
    tokens: Vec<memwarden_core::model::ReplyToken>,
}

impl Parts {
    fn add(&mut self, data: &[u8]) -> Result<(), String> {
        let event: Event = serde_json::from_slice(data).map_err(|error| error.to_string())?;
        if let Some(error) = event.error {
            let said = error.get("message").and_then(Value::as_str);
            return Err(format!(
                "an error in the stream: {}",
                said.unwrap_or("of no message")
            ));
        }
        if let Some(usage) = event.usage {
            self.usage = usage.chat();
        }
        // The last event of a stream with usage has no choice.
        for choice in event.choices {
            if choice.index != 0 {
                return Err("it has more than one choice".to_owned());
            }
            self.text
                .push_str(choice.delta.content.as_deref().unwrap_or_default());
            self.finish = choice.finish_reason.or(self.finish.take());
            if let Some(logprobs) = choice.logprobs {
                self.tokens.extend(logprobs.tokens()?);
            }
        }
        Ok(())
    }

    fn whole(self) -> Result<Reply, String> {
        let finish = self
            .finish
            .ok_or("the stream is done and finish_reason is missing")?;
        Ok(Reply {
            text: self.text,
            finish: Finish::from_word(&finish),
            usage: self.usage,
            tokens: self.tokens,
        })
    }
}

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<WireUsage>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
    logprobs: Option<Logprobs>,
}

#[derive(Deserialize, Default)]
struct Delta {
    content: Option<String>,
}
