//! The endpoint over a model that says what it is told, asked by bytes on a socket.

use super::wire::{Connection, Message};
use memwarden::core::model::{
    Chat, ChatCall, Finish, ModelError, Reply, ReplyShape, ReplyToken, TokenLogprobs, Usage, UsageSource,
};
use memwarden_server::Stopper;
use memwarden_server::endpoint::Endpoint;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;

/// Repeats the last message; `long` comes back cut off, `broken` fails, `slow` waits until nobody holds its perch.
#[derive(Debug)]
struct Parrot {
    perch: Arc<RwLock<()>>,
    /// Hears of each slow call.
    begun: Sender<()>,
}

impl Chat for Parrot {
    fn model(&self) -> &str {
        "parrot"
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        if calls
            .iter()
            .any(|call| call.messages.last().unwrap().text == "slow")
        {
            self.begun.send(()).unwrap();
            drop(self.perch.read().unwrap());
        }
        calls.iter().map(say).collect()
    }
}

fn say(call: &ChatCall<'_>) -> Result<Reply, ModelError> {
    let said = &call.messages.last().unwrap().text;
    if said == "broken" {
        return Err(ModelError::Failed {
            model: "parrot".to_owned(),
            reason: "its \u{1b}[31m feathers".to_owned(),
        });
    }
    let text = match call.shape {
        ReplyShape::Text => said.clone(),
        ReplyShape::Json { name, schema } => format!("{name} {schema}"),
    };
    let tokens = match call.logprobs {
        TokenLogprobs::Leave => Vec::new(),
        TokenLogprobs::Need => vec![ReplyToken {
            text: text.clone(),
            log_probability: -0.5,
        }],
    };
    Ok(Reply {
        finish: if said == "long" {
            Finish::Length
        } else {
            Finish::Stop
        },
        usage: Some(Usage {
            prompt: call.messages.len() as u64,
            completion: u64::from(call.max_tokens.get()),
            source: UsageSource::Provider,
        }),
        text,
        tokens,
    })
}

struct Serving {
    address: SocketAddr,
    stopper: Stopper,
    running: Option<JoinHandle<()>>,
}

impl Serving {
    fn start() -> Self {
        Self::of(Parrot {
            perch: Arc::default(),
            begun: channel().0,
        })
    }

    fn of(parrot: Parrot) -> Self {
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap(), Arc::new(parrot)).unwrap();
        Self {
            address: endpoint.address(),
            stopper: endpoint.stopper(),
            running: Some(std::thread::spawn(move || endpoint.run().unwrap())),
        }
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Message {
        self.begin(method, path, body).message().unwrap()
    }

    /// Sends without waiting for the answer.
    fn begin(&self, method: &str, path: &str, body: &str) -> Connection {
        let mut connection = Connection::to(self.address);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        connection.send(head.as_bytes()).unwrap();
        connection.send(body.as_bytes()).unwrap();
        connection
    }

    fn ask(&self, text: &str, more: &Value) -> Message {
        let mut body =
            json!({"model": "parrot", "messages": [{"role": "user", "content": text}], "max_tokens": 7});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        self.send("POST", "/v1/chat/completions", &body.to_string())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(running) = self.running.take() {
            running.join().unwrap();
        }
    }
}

fn code_of(message: &Message) -> String {
    json(message)["error"]["code"].as_str().unwrap().to_owned()
}

fn json(message: &Message) -> Value {
    serde_json::from_str(message.text()).unwrap()
}

#[test]
fn a_reply_comes_with_its_reason_to_end_and_its_usage() {
    let serving = Serving::start();
    for (said, finish) in [("good morning", "stop"), ("long", "length")] {
        let answer = serving.ask(said, &json!({"user": "someone", "temperature": 0, "seed": -1}));
        assert_eq!(answer.status(), 200);
        let body = json(&answer);
        assert_eq!(body["object"], "chat.completion");
        assert_eq!(body["choices"][0]["message"]["content"], said);
        assert_eq!(body["choices"][0]["finish_reason"], finish);
        assert_eq!(body["choices"][0]["logprobs"], Value::Null);
        assert_eq!(
            body["usage"],
            json!({"prompt_tokens": 1, "completion_tokens": 7, "total_tokens": 8})
        );
    }
}

#[test]
fn a_stream_holds_the_same_reply_in_pieces() {
    let serving = Serving::start();
    let answer = serving.ask(
        "a b\nc",
        &json!({"stream": true, "stream_options": {"include_usage": true}}),
    );
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let events: Vec<&str> = answer
        .text()
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .collect();
    assert_eq!(events.last(), Some(&"data: [DONE]"));
    let bodies: Vec<Value> = events[..events.len() - 1]
        .iter()
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    let said: String = bodies
        .iter()
        .filter_map(|body| body["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(said, "a b\nc");
    let ended: Vec<&Value> = bodies
        .iter()
        .filter(|body| body["choices"][0]["finish_reason"] == "stop")
        .collect();
    assert_eq!(ended.len(), 1);
    let last = bodies.last().unwrap();
    assert_eq!(
        (&last["choices"], &last["usage"]["total_tokens"]),
        (&json!([]), &json!(8))
    );
    assert!(
        bodies[..bodies.len() - 1]
            .iter()
            .all(|body| body["usage"].is_null())
    );
    let without = serving.ask("a b", &json!({"stream": true}));
    assert!(!without.text().contains("usage"));
}

#[test]
fn shape_and_log_probabilities_are_asked_of_the_model() {
    let serving = Serving::start();
    let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "integer"}}});
    let body = json(&serving.ask("x", &json!({"response_format": format, "logprobs": true})));
    assert_eq!(
        body["choices"][0]["message"]["content"],
        r#"n {"type":"integer"}"#
    );
    assert_eq!(body["choices"][0]["logprobs"]["content"][0]["logprob"], -0.5);
    let parts = json!([{"role": "developer", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "half "}, {"type": "text", "text": "and half"}]}]);
    let body = json(&serving.ask("", &json!({"messages": parts})));
    assert_eq!(body["choices"][0]["message"]["content"], "half and half");
    assert_eq!(body["usage"]["prompt_tokens"], 2);
}

#[test]
fn what_is_not_done_is_refused_and_not_ignored() {
    let serving = Serving::start();
    for (more, status, code, named) in [
        (json!({"model": "parakeet"}), 404, "model_not_found", "`parakeet`"),
        (json!({"n": 2}), 400, "unsupported_value", "`n`"),
        (json!({"top_p": 0.5}), 400, "unsupported_value", "`top_p`"),
        (json!({"stop": "x"}), 400, "unsupported_value", "`stop`"),
        (
            json!({"tools": [{"type": "function"}]}),
            400,
            "unsupported_value",
            "`tools`",
        ),
        (json!({"max_tokens": 0}), 400, "unsupported_value", "`max_tokens`"),
        (
            json!({"response_format": {"type": "json_object"}}),
            400,
            "unsupported_value",
            "`json_object`",
        ),
        (
            json!({"messages": [{"role": "tool", "content": "x"}]}),
            400,
            "unsupported_value",
            "role `tool`",
        ),
        (
            json!({"messages": [{"role": "user"}]}),
            400,
            "unsupported_value",
            "no content",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
            400,
            "unsupported_value",
            "`image_url`",
        ),
        (json!({"messages": "x"}), 400, "bad_body", "invalid type"),
        (
            json!({"messages": [{"role": "user", "content": "broken"}]}),
            500,
            "failed",
            "feathers",
        ),
    ] {
        let answer = serving.ask("x", &more);
        assert_eq!(
            (answer.status(), code_of(&answer).as_str()),
            (status, code),
            "{more}"
        );
        assert!(answer.text().contains(named), "{more}: {}", answer.text());
        assert!(
            !json(&answer)["error"]["message"]
                .as_str()
                .unwrap()
                .contains('\u{1b}')
        );
    }
    // Nothing asked for is nothing refused.
    let usual =
        json!({"n": 1, "top_p": 1.0, "stop": null, "tools": [], "logit_bias": {}, "presence_penalty": 0});
    assert_eq!(serving.ask("x", &usual).status(), 200);
    let cut = serving.send("POST", "/v1/chat/completions", "{");
    assert_eq!((cut.status(), code_of(&cut).as_str()), (400, "bad_body"));
}

#[test]
fn who_leaves_does_not_make_room_while_the_model_computes() {
    let perch = Arc::<RwLock<()>>::default();
    let (begun, slow) = channel();
    let serving = Serving::of(Parrot {
        perch: Arc::clone(&perch),
        begun,
    });
    let held = perch.write().unwrap();
    let body = json!({"model": "parrot", "messages": [{"role": "user", "content": "slow"}]}).to_string();
    let leaving: Vec<Connection> = (0..32)
        .map(|_| serving.begin("POST", "/v1/chat/completions", &body))
        .collect();
    let is_full = || serving.ask("quick", &json!({})).status() == 429;
    (0..32).for_each(|_| slow.recv().unwrap());
    drop(leaving);
    for _ in 0..400 {
        assert!(is_full(), "a place is free, and the model still has 32 calls");
    }
    drop(held);
    while is_full() {}
}

#[test]
fn models_are_listed_and_other_paths_are_not_there() {
    let serving = Serving::start();
    assert_eq!(
        json(&serving.send("GET", "/v1/models", ""))["data"][0]["id"],
        "parrot"
    );
    assert_eq!(
        json(&serving.send("GET", "/v1/models/parrot", ""))["id"],
        "parrot"
    );
    for (method, path, status) in [
        ("GET", "/v1/models/other", 404),
        ("GET", "/v1/embeddings", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
    ] {
        assert_eq!(serving.send(method, path, "").status(), status, "{method} {path}");
    }
}
