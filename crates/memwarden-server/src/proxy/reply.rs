//! What the meter has to know of a reply: usage, finish reason, and whether it is whole.

use super::asked::{Route, message_texts};
use super::events::Events;
use memwarden::model::MAX_COUNTED_BYTES;
use serde::Deserialize;
use serde_json::Value;

/// Most choices of a reply that are told apart; endpoints give at most so many.
const MOST_CHOICES: usize = 128;

/// What was seen of a reply so far.
#[derive(Debug)]
pub(super) struct Seen {
    route: Route,
    form: Form,
    /// Longest reply that is kept.
    limit: usize,
    /// Choices that were asked for.
    asked: usize,
    choices: Vec<Choice>,
    /// Prompt and completion tokens, as the endpoint counts.
    usage: Option<(u64, u64)>,
    /// Why it ended, as the endpoint says.
    pub(super) finish: Option<String>,
    /// What the model said; `None` once it was more than is counted, or no text.
    pub(super) text: Option<String>,
    fault: Option<Fault>,
}

#[derive(Debug)]
enum Form {
    /// One JSON document, kept until its end.
    Whole(Vec<u8>),
    /// A stream of events.
    Stream { events: Events, done: bool },
}

/// One of several replies to a prompt.
#[derive(Debug)]
struct Choice {
    index: u64,
    has_said: bool,
    has_ended: bool,
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

/// Why a reply that came is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shortfall {
    /// It ran into its limit.
    Truncated,
    /// A filter kept it back.
    Withheld,
    /// A choice says nothing, or there is none.
    Empty,
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
    /// Of a reply of `asked` choices; one longer than `limit` bytes is not read.
    pub(super) fn new(route: Route, delivery: Delivery, asked: usize, limit: usize) -> Self {
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
            asked: asked.clamp(1, MOST_CHOICES),
            choices: Vec::new(),
            usage: None,
            finish: None,
            text: Some(String::new()),
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
                events.take(piece, |event| data.push(event.trim_ascii().to_vec()));
                *done |= data.iter().any(|event| event == b"[DONE]");
                if events.has_skipped {
                    self.text = None;
                }
                // An event without data only keeps the connection open.
                for event in data
                    .iter()
                    .filter(|event| !event.is_empty() && *event != b"[DONE]")
                {
                    self.event(event);
                }
            }
        }
    }

    /// Whether a stream has said that it is at its end.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self.form, Form::Stream { done: true, .. })
    }

    /// Whether nothing more is to come. Some endpoints leave out the mark of the end, but none leaves out why it stopped.
    fn has_ended(&self) -> bool {
        match self.form {
            Form::Whole(_) => true,
            Form::Stream { done, .. } => {
                done || (self.choices.len() >= self.asked
                    && self.choices.iter().all(|choice| choice.has_ended))
            }
        }
    }

    /// The endpoint's count of a reply that is at its end: some count on while they stream.
    pub(super) fn usage(&self) -> Option<(u64, u64)> {
        self.usage.filter(|_| self.has_ended())
    }

    /// Reads what is to be read at the end, and says what is wrong with a reply whose every byte came.
    pub(super) fn end(&mut self) -> Option<Fault> {
        match &mut self.form {
            Form::Whole(kept) => {
                let kept = std::mem::take(kept);
                if self.fault.is_none() {
                    self.whole(&kept);
                }
            }
            // An error is an end. Whatever else is wrong with a stream, one that does not say its end has none.
            Form::Stream { .. } => {
                if self.fault != Some(Fault::Failed) && !self.has_ended() {
                    self.fault = Some(Fault::Cut);
                }
            }
        }
        self.fault
    }

    /// Why a reply without fault is no answer.
    pub(super) fn shortfall(&self) -> Option<Shortfall> {
        match self.finish.as_deref() {
            _ if self.route == Route::Embeddings => None,
            Some("length") => Some(Shortfall::Truncated),
            Some("content_filter") => Some(Shortfall::Withheld),
            _ if self.choices.iter().any(|choice| !choice.has_said) => Some(Shortfall::Empty),
            _ if self.choices.is_empty() => Some(Shortfall::Empty),
            _ => None,
        }
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
                self.read(&wire);
            }
        }
    }

    fn event(&mut self, data: &[u8]) {
        match serde_json::from_slice::<Wire>(data) {
            Err(_) => self.fault = Some(Fault::Malformed),
            Ok(wire) => self.read(&wire),
        }
    }

    fn read(&mut self, wire: &Wire) {
        if let Some(given) = &wire.usage {
            self.usage = usage(self.route, given).or(self.usage);
        }
        if wire.error.is_some() {
            self.fault = Some(Fault::Failed);
        }
        for (place, value) in wire.choices.iter().flatten().enumerate() {
            self.choice(place, value);
        }
    }

    fn choice(&mut self, place: usize, value: &Value) {
        let finish = value.get("finish_reason").and_then(Value::as_str);
        if let Some(finish) = finish {
            // Of several choices, one that was cut off says most.
            if self
                .finish
                .as_deref()
                .is_none_or(|known| weight(finish) > weight(known))
            {
                self.finish = Some(finish.chars().take(64).collect());
            }
        }
        let mut has_said = false;
        for said in [value.get("message"), value.get("delta")].into_iter().flatten() {
            if said.get("audio").is_some_and(|audio| !audio.is_null()) {
                has_said = true;
                self.text = None;
            }
            for text in message_texts(said) {
                has_said |= !text.trim().is_empty();
                self.say(text);
            }
        }
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(place as u64);
        if let Some(choice) = self.choices.iter_mut().find(|choice| choice.index == index) {
            choice.has_said |= has_said;
            choice.has_ended |= finish.is_some();
        } else if self.choices.len() < MOST_CHOICES {
            self.choices.push(Choice {
                index,
                has_said,
                has_ended: finish.is_some(),
            });
        } else {
            self.fault = Some(Fault::Malformed);
        }
    }

    fn say(&mut self, text: &str) {
        if let Some(said) = &mut self.text {
            if said.len() + text.len() > MAX_COUNTED_BYTES {
                self.text = None;
            } else {
                said.push_str(text);
            }
        }
    }
}

/// How much a finish reason says of a reply of several choices.
fn weight(finish: &str) -> u8 {
    match finish {
        "length" => 2,
        "content_filter" => 1,
        _ => 0,
    }
}

/// Prompt and completion tokens; a usage without both is none, except of embeddings, which complete nothing.
fn usage(route: Route, usage: &Value) -> Option<(u64, u64)> {
    let tokens = |name| usage.get(name).and_then(Value::as_u64);
    match route {
        Route::Chat => Some((tokens("prompt_tokens")?, tokens("completion_tokens")?)),
        Route::Embeddings => Some((tokens("prompt_tokens")?, 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(route: Route, delivery: Delivery, body: &str) -> (Seen, Option<Fault>) {
        let mut seen = Seen::new(route, delivery, 1, 1_000);
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
            (seen.usage(), seen.finish.as_deref(), seen.text.as_deref()),
            (Some((3, 1)), Some("stop"), Some("hi"))
        );
    }

    #[test]
    fn embeddings_complete_nothing() {
        let body = r#"{"data":[{"embedding":[0.1]}],"usage":{"prompt_tokens":3,"total_tokens":3}}"#;
        let (seen, fault) = seen(Route::Embeddings, Delivery::Whole, body);
        assert_eq!((seen.usage(), fault), (Some((3, 0)), None));
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
        assert_eq!((read.usage(), read.is_done(), fault), (Some((5, 2)), true, None));
    }

    #[test]
    fn a_chats_usage_without_what_it_completed_is_none() {
        for given in [
            r#"{"prompt_tokens":7}"#,
            r#"{"prompt_tokens":7,"completion_tokens":-3}"#,
            r#"{"prompt_tokens":7,"completion_tokens":"3"}"#,
            r#"{"prompt_tokens":7,"completion_tokens":null}"#,
            r#"{"prompt_tokens":7.5,"completion_tokens":1}"#,
            "[7, 3]",
        ] {
            let body = format!(r#"{{"choices":[{{"message":{{"content":"hi"}}}}],"usage":{given}}}"#);
            let (seen, fault) = seen(Route::Chat, Delivery::Whole, &body);
            assert_eq!((seen.usage(), fault), (None, None), "{given}");
        }
    }

    fn event(index: u64, text: &str, finish: &str) -> String {
        let delta = format!(r#"{{"content":"{text}"}}"#);
        format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{delta},\"finish_reason\":{finish}}}]}}\n\n"
        )
    }

    #[test]
    fn a_stream_has_ended_when_each_of_its_choices_has() {
        let first = event(0, "a", "null") + &event(0, "", "\"stop\"");
        let of = |asked, body: &str| {
            let mut seen = Seen::new(Route::Chat, Delivery::Stream, asked, 1_000);
            seen.take(body.as_bytes());
            seen.end()
        };
        let second = event(1, "b", "null");
        assert_eq!(of(1, &first), None);
        assert_eq!(of(2, &first), Some(Fault::Cut), "the second has not begun");
        assert_eq!(
            of(2, &(second.clone() + &first)),
            Some(Fault::Cut),
            "the second has not ended"
        );
        assert_eq!(of(2, &(second + &first + &event(1, "", "\"stop\""))), None);
        let broken = event(0, "a", "null") + "data: {bad\n\n";
        assert_eq!(
            of(1, &broken),
            Some(Fault::Cut),
            "what is malformed has not ended"
        );
        assert_eq!(of(1, &(broken + "data: [DONE]\n\n")), Some(Fault::Malformed));
    }

    #[test]
    fn a_count_that_runs_along_counts_only_at_the_end() {
        let so_far = r#"data: {"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
        let (read, fault) = seen(Route::Chat, Delivery::Stream, &format!("{so_far}\n\n"));
        assert_eq!((read.usage(), fault), (None, Some(Fault::Cut)));
    }

    #[test]
    fn events_that_say_nothing_and_blanks_around_the_mark_change_nothing() {
        let stream = event(0, "a", "null") + "event: ping\ndata:\n\n" + ": ping\n\n" + "data: [DONE] \n\n";
        let (read, fault) = seen(Route::Chat, Delivery::Stream, &stream);
        assert_eq!((read.is_done(), fault, read.shortfall()), (true, None, None));
    }

    #[test]
    fn what_came_and_is_no_answer_is_named() {
        let shortfall = |choices: &str| {
            let (read, fault) = seen(
                Route::Chat,
                Delivery::Whole,
                &format!(r#"{{"choices":[{choices}]}}"#),
            );
            assert_eq!(fault, None);
            read.shortfall()
        };
        let choice = |index: u8, message: &str, finish: &str| {
            format!(r#"{{"index":{index},"message":{message},"finish_reason":"{finish}"}}"#)
        };
        let whole = choice(0, r#"{"content":"a"}"#, "stop");
        assert_eq!(shortfall(&whole), None);
        assert_eq!(shortfall(""), Some(Shortfall::Empty));
        assert_eq!(
            shortfall(&choice(0, r#"{"content":" \n"}"#, "stop")),
            Some(Shortfall::Empty)
        );
        assert_eq!(
            shortfall(&choice(0, r#"{"content":null}"#, "stop")),
            Some(Shortfall::Empty)
        );
        let calls = r#"{"content":null,"tool_calls":[{"function":{"name":"f","arguments":""}}]}"#;
        assert_eq!(shortfall(&choice(0, calls, "tool_calls")), None);
        let filtered = choice(1, r#"{"content":"a"}"#, "content_filter");
        assert_eq!(shortfall(&filtered), Some(Shortfall::Withheld));
        assert_eq!(
            shortfall(&format!("{whole},{filtered}")),
            Some(Shortfall::Withheld)
        );
        let cut = choice(2, r#"{"content":"a"}"#, "length");
        assert_eq!(
            shortfall(&format!("{filtered},{cut},{whole}")),
            Some(Shortfall::Truncated)
        );
        assert_eq!(
            shortfall(&format!("{whole},{}", choice(1, r#"{"content":""}"#, "stop"))),
            Some(Shortfall::Empty)
        );
    }
}
