//! A reply as the protocol writes it, whole or as events.

use super::asked::StreamUsage;
use memwarden::core::model::{Reply, ReplyToken, TokenLogprobs, Usage};
use serde_json::{Value, json};

/// A reply and what stands around it.
#[derive(Debug)]
pub(super) struct Said<'a> {
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) model: &'a str,
    pub(super) reply: &'a Reply,
    pub(super) logprobs: TokenLogprobs,
}

impl Said<'_> {
    /// One object.
    pub(super) fn whole(&self) -> Value {
        let choices = json!([{
            "index": 0,
            "message": {"role": "assistant", "content": self.reply.text, "refusal": null},
            "logprobs": self.weights(&self.reply.tokens),
            "finish_reason": self.reply.finish.as_str(),
        }]);
        self.object(
            "chat.completion",
            &choices,
            Some(usage(self.reply.usage.as_ref())),
        )
    }

    /// Events, to the closing `[DONE]`.
    pub(super) fn stream(&self, with_usage: StreamUsage) -> String {
        let mut events = String::new();
        // Where usage is included, every event has the field, and all but the last have nothing in it.
        let none = (with_usage == StreamUsage::Included).then_some(Value::Null);
        let mut send = |choices: &Value, usage: Option<Value>| {
            let body = self.object("chat.completion.chunk", choices, usage);
            events.push_str(&format!("data: {body}\n\n"));
        };
        let mut say = |delta: Value, logprobs: Value, finish: Option<&str>| {
            let choice = json!({"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": finish});
            send(&json!([choice]), none.clone());
        };
        say(json!({"role": "assistant", "content": ""}), Value::Null, None);
        if self.logprobs == TokenLogprobs::Need {
            for token in &self.reply.tokens {
                let weights = self.weights(std::slice::from_ref(token));
                say(json!({"content": token.text}), weights, None);
            }
        } else {
            for piece in self.reply.text.split_inclusive(char::is_whitespace) {
                say(json!({"content": piece}), Value::Null, None);
            }
        }
        say(json!({}), Value::Null, Some(self.reply.finish.as_str()));
        if with_usage == StreamUsage::Included {
            send(&json!([]), Some(usage(self.reply.usage.as_ref())));
        }
        events.push_str("data: [DONE]\n\n");
        events
    }

    fn object(&self, kind: &str, choices: &Value, usage: Option<Value>) -> Value {
        let mut object = json!({
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
        });
        if let (Some(fields), Some(usage)) = (object.as_object_mut(), usage) {
            fields.insert("usage".to_owned(), usage);
        }
        object
    }

    fn weights(&self, tokens: &[ReplyToken]) -> Value {
        if self.logprobs == TokenLogprobs::Leave {
            return Value::Null;
        }
        let content: Vec<Value> = tokens
            .iter()
            .map(|token| {
                json!({
                    "token": token.text,
                    "logprob": token.log_probability,
                    "bytes": token.text.as_bytes(),
                    "top_logprobs": [],
                })
            })
            .collect();
        json!({"content": content, "refusal": null})
    }
}

fn usage(usage: Option<&Usage>) -> Value {
    usage.map_or(Value::Null, |usage| {
        json!({
            "prompt_tokens": usage.prompt,
            "completion_tokens": usage.completion,
            "total_tokens": usage.prompt + usage.completion,
        })
    })
}
