//! What the meter has to know of a reply: usage, finish reason, and whether it is whole.

use super::asked::{Route, message_texts};
use super::events::Events;
use serde::Deserialize;
use serde_json::Value;

/// What was seen of a reply so far.
#[derive(Debug)]
pub(super) struct Seen {
    route: Route,
    form: Form,
    /// Longest reply that is kept.
    limit: usize,
    /// Prompt and completion tokens, as the endpoint counts.
    pub(super) usage: Option<(u64, u64)>,
    /// Why it ended, as the endpoint says.
    pub(super) finish: Option<String>,
    /// What the model said.
    pub(super) text: String,
    fault: Option<Fault>,
}

#[derive(Debug)]
enum Form {
    /// One JSON document, kept until its end.
    Whole(Vec<u8>),
    /// A stream of events.
    Stream { events: Events, done: bool },
}

/// Why a reply whose every byte came is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not of the protocol.
    Malformed,
    /// The endpoint reported an error within it.
    Failed,
    /// It is too long to be read.
    TooLarge,
    /// It is a stream that ends without saying so.
    Cut,
}

/// The part of a reply, or of an event, that is read.
#[derive(Debug, Deserialize)]
struct Wire {
    choices: Option<Vec<Value>>,
    data: Option<Vec<serde::de::IgnoredAny>>,
    usage: Option<Value>,
    error: Option<serde::de::IgnoredAny>,
}

/// Whether a reply comes as a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    Whole,
    Stream,
}

impl Seen {
    pub(super) fn new(route: Route, delivery: Delivery, limit: usize) -> Self {
        let form = match delivery {
            Delivery::Whole => Form::Whole(Vec::new()),
            Delivery::Stream => Form::Stream {
                events: Events::default(),
                done: false,
            },
        };
        Self {
            route,
            form,
            limit,
            usage: None,
            finish: None,
            text: String::new(),
            fault: None,
        }
    }

    /// Takes the next piece of the body.
    pub(super) fn take(&mut self, piece: &[u8]) {
        match &mut self.form {
            Form::Whole(kept) if kept.len() + piece.len() > self.limit => {
                kept.clear();
                self.fault = Some(Fault::TooLarge);
            }
            Form::Whole(kept) => {
                if self.fault.is_none() {
                    kept.extend_from_slice(piece);
                }
            }
            Form::Stream { events, done } => {
                let mut data = Vec::new();
                events.take(piece, |event| data.push(event.to_vec()));
                *done |= data.iter().any(|event| event == b"[DONE]");
                for event in data.iter().filter(|event| *event != b"[DONE]") {
                    self.event(event);
                }
            }
        }
    }

    /// Whether a stream has said that it is at its end.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self.form, Form::Stream { done: true, .. })
    }

    /// Reads what is to be read at the end, and says what is wrong with a reply whose every byte came.
    pub(super) fn end(&mut self) -> Option<Fault> {
        if self.fault.is_none() {
            match &mut self.form {
                Form::Whole(kept) => {
                    let kept = std::mem::take(kept);
                    self.whole(&kept);
                }
                // Some endpoints leave out the mark, but none leaves out why it stopped.
                Form::Stream { done: false, .. } if self.finish.is_none() => self.fault = Some(Fault::Cut),
                Form::Stream { .. } => {}
            }
        }
        self.fault
    }

    fn whole(&mut self, kept: &[u8]) {
        match serde_json::from_slice::<Wire>(kept) {
            Err(_) => self.fault = Some(Fault::Malformed),
            Ok(wire) => {
                let is_reply = match self.route {
                    Route::Chat => wire.choices.is_some(),
                    Route::Embeddings => wire.data.is_some(),
                };
                if !is_reply {
                    self.fault = Some(Fault::Malformed);
                }
                self.read(wire);
            }
        }
    }

    fn event(&mut self, data: &[u8]) {
        match serde_json::from_slice::<Wire>(data) {
            Err(_) => self.fault = Some(Fault::Malformed),
            Ok(wire) => self.read(wire),
        }
    }

    fn read(&mut self, wire: Wire) {
        if let Some(usage) = wire.usage.as_ref().and_then(usage) {
            self.usage = Some(usage);
        }
        if wire.error.is_some() {
            self.fault = Some(Fault::Failed);
        }
        for choice in wire.choices.into_iter().flatten() {
            if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
                // Of several choices, one that was cut off says most.
                if self.finish.as_deref() != Some("length") {
                    self.finish = Some(finish.chars().take(64).collect());
                }
            }
            for said in [choice.get("message"), choice.get("delta")].into_iter().flatten() {
                for text in message_texts(said) {
                    if self.text.len() + text.len() <= self.limit {
                        self.text.push_str(&text);
                    }
                }
            }
        }
    }
}

/// Prompt and completion tokens; a usage without the first is none.
fn usage(usage: &Value) -> Option<(u64, u64)> {
    let prompt = usage.get("prompt_tokens")?.as_u64()?;
    let completion = usage.get("completion_tokens").and_then(Value::as_u64);
    Some((prompt, completion.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(route: Route, delivery: Delivery, body: &str) -> (Seen, Option<Fault>) {
        let mut seen = Seen::new(route, delivery, 1_000);
        for piece in body.as_bytes().chunks(7) {
            seen.take(piece);
        }
        let fault = seen.end();
        (seen, fault)
    }

    #[test]
    fn a_whole_reply_is_read_at_its_end() {
        let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],
            "usage":{"prompt_tokens":3,"completion_tokens":1}}"#;
        let (seen, fault) = seen(Route::Chat, Delivery::Whole, body);
        assert_eq!(fault, None);
        assert_eq!(
            (seen.usage, seen.finish.as_deref(), seen.text.as_str()),
            (Some((3, 1)), Some("stop"), "hi")
        );
    }

    #[test]
    fn embeddings_complete_nothing() {
        let body = r#"{"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":3,"total_tokens":3}}"#;
        let (seen, fault) = seen(Route::Embeddings, Delivery::Whole, body);
        assert_eq!((seen.usage, fault), (Some((3, 0)), None));
    }

    #[test]
    fn a_reply_that_is_none_is_named() {
        let fault = |route, delivery, body: &str| seen(route, delivery, body).1;
        assert_eq!(
            fault(Route::Chat, Delivery::Whole, "<html>"),
            Some(Fault::Malformed)
        );
        assert_eq!(
            fault(Route::Chat, Delivery::Whole, r#"{"data":[]}"#),
            Some(Fault::Malformed)
        );
        let long = format!(r#"{{"choices":[],"x":"{}"}}"#, "x".repeat(2_000));
        assert_eq!(fault(Route::Chat, Delivery::Whole, &long), Some(Fault::TooLarge));
        let stream = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        assert_eq!(fault(Route::Chat, Delivery::Stream, stream), Some(Fault::Cut));
        let failed = "data: {\"error\":{\"message\":\"overloaded\"}}\n\ndata: [DONE]\n\n";
        assert_eq!(fault(Route::Chat, Delivery::Stream, failed), Some(Fault::Failed));
    }

    #[test]
    fn a_stream_is_whole_when_it_says_so() {
        let finished = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n";
        let (read, fault) = seen(Route::Chat, Delivery::Stream, finished);
        assert_eq!(
            (read.finish.as_deref(), read.is_done(), fault),
            (Some("length"), false, None)
        );
        let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
        let (read, fault) = seen(Route::Chat, Delivery::Stream, usage);
        assert_eq!((read.usage, read.is_done(), fault), (Some((5, 2)), true, None));
    }
}
