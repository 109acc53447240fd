//! Short ways to make calls and to read the meter; time that moves only when somebody waits.

use memwarden_core::Timestamp;
use memwarden_core::model::{Chat as _, ChatCall, Message, ModelError, Purpose, Reply};
use memwarden_model::{ApiKey, By, EndpointConfig, Meter, Metered, Pace, Prices, Sum};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// 2026-11-30T12:00:00Z.
pub const NOON_US: u64 = 1_796_040_000_000_000;

pub const PRICES: &str =
    "date = \"2026-11-30\"\n[[price]]\nmodel = \"gpt-4o-mini\"\nprompt = 0.15\ncompletion = 0.6\n";

#[derive(Debug, Default)]
pub struct TestPace {
    pub waits: Mutex<Vec<Duration>>,
}

impl TestPace {
    pub fn waits(&self) -> Vec<Duration> {
        self.waits.lock().unwrap().clone()
    }
}

impl Pace for TestPace {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(NOON_US)
    }

    fn running(&self) -> Duration {
        self.waits.lock().unwrap().iter().sum()
    }

    fn wait(&self, pause: Duration) {
        self.waits.lock().unwrap().push(pause);
    }

    fn jitter(&self) -> f64 {
        0.5
    }
}

pub fn purpose(name: &str) -> Purpose {
    name.parse().unwrap()
}

pub fn meter() -> Arc<Meter> {
    Arc::new(Meter::in_memory(Prices::parse(PRICES).unwrap()))
}

pub fn config(url: &str) -> EndpointConfig {
    let mut config = EndpointConfig::new(url, "gpt-4o-mini");
    config.timeout = Duration::from_secs(20);
    config
}

/// A key as a file holds it.
pub fn key(text: &str) -> ApiKey {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    std::fs::write(&path, format!("{text}\n")).unwrap();
    ApiKey::from_file(&path).unwrap()
}

/// A model whose pauses take no time, and those pauses.
pub fn paced(config: EndpointConfig, meter: &Arc<Meter>) -> (Metered, Arc<TestPace>) {
    let pace = Arc::new(TestPace::default());
    let model = Metered::endpoint(config, Arc::clone(meter)).with_pace(pace.clone());
    (model, pace)
}

/// One question for `answer`.
pub fn ask(model: &Metered) -> Result<Reply, ModelError> {
    ask_with(model, |_| {})
}

pub fn ask_with(model: &Metered, change: impl FnOnce(&mut ChatCall<'_>)) -> Result<Reply, ModelError> {
    let (purpose, messages) = (purpose("answer"), [Message::user("What is due on the 25th?")]);
    let mut call = ChatCall::new(&purpose, &messages, NonZeroU32::new(64).unwrap());
    change(&mut call);
    model.chat(&[call]).pop().unwrap()
}

pub fn total(meter: &Meter) -> Sum {
    meter.report(By::Purpose).total
}

pub fn failures(meter: &Meter) -> Vec<(String, u64)> {
    total(meter).failed.into_iter().collect()
}

/// A whole reply of the protocol.
pub fn reply(text: &str, finish: &str) -> String {
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"id": "x", "model": "gpt-4o-mini-2024-07-18", "unknown": [1], "choices": [{{"index": 0, "message": {{"role": "assistant", "content": {text}}}, "finish_reason": "{finish}"}}], "usage": {{"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}}}}"#
    )
}
