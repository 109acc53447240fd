//! A proxy in front of an endpoint, and what its meter says.

use super::wire::{Connection, Message};
use memwarden::model::{Meter, Prices};
use memwarden_server::Stopper;
use memwarden_server::proxy::{Limits, Proxy, Settings, Upstream};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// A chat that any endpoint would take.
pub const CHAT: &str =
    r#"{"model":"toy","messages":[{"role":"user","content":"what is the capital of Norway"}]}"#;
/// An embedding.
pub const EMBED: &str = r#"{"model":"toy-embed","input":["one two","three"]}"#;

/// A token is 2 microdollars there, 8 back.
const PRICES: &str = "date = \"2026-11-30\"\n[[price]]\nmodel = \"toy\"\nprompt = 2.0\ncompletion = 8.0\n\
                      [[price]]\nmodel = \"gpt-4o\"\nprompt = 2.0\ncompletion = 8.0\n\
                      [[price]]\nmodel = \"o3\"\nprompt = 2.0\ncompletion = 8.0\n";

/// Waits for nothing for long.
pub const TIGHT: Limits = Limits {
    request_bytes: 32 << 20,
    reply_bytes: 32 << 20,
    head: Duration::from_secs(1),
    silence: Duration::from_secs(1),
    grace: Duration::from_secs(10),
};
/// Ends open calls at once.
pub const NO_GRACE: Limits = Limits {
    request_bytes: 32 << 20,
    reply_bytes: 32 << 20,
    head: Duration::from_secs(60),
    silence: Duration::from_secs(60),
    grace: Duration::ZERO,
};

/// A proxy that is running.
pub struct Proxied {
    pub address: SocketAddr,
    stopper: Stopper,
    running: Option<JoinHandle<()>>,
    dir: tempfile::TempDir,
}

impl Proxied {
    pub fn before(endpoint: SocketAddr) -> Self {
        Self::within(endpoint, Limits::default())
    }

    pub fn within(endpoint: SocketAddr, limits: Limits) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("calls.jsonl");
        Self::metered_in(&file, dir, endpoint, limits)
    }

    /// One whose meter has no room for a line.
    pub fn without_room(endpoint: SocketAddr) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self::metered_in("/dev/full".as_ref(), dir, endpoint, Limits::default())
    }

    fn metered_in(file: &Path, dir: tempfile::TempDir, endpoint: SocketAddr, limits: Limits) -> Self {
        let settings = Settings {
            listen: "127.0.0.1:0".parse().unwrap(),
            upstream: Upstream::parse(&format!("http://{endpoint}/v1")).unwrap(),
            default_purpose: None,
            limits,
        };
        let meter = Meter::append_to(file, Prices::parse(PRICES).unwrap()).unwrap();
        let proxy = Proxy::bind(settings, Arc::new(meter)).unwrap();
        Self {
            address: proxy.address(),
            stopper: proxy.stopper(),
            running: Some(std::thread::spawn(move || proxy.run().unwrap())),
            dir,
        }
    }

    pub fn stop(&self) {
        self.stopper.stop();
    }

    /// Waits until it has ended.
    pub fn join(&mut self) {
        if let Some(running) = self.running.take() {
            running.join().unwrap();
        }
    }

    pub fn post(&self, path: &str, headers: &[&str], body: &str) -> Message {
        self.send("POST", path, headers, body)
    }

    pub fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Message {
        let mut connection = Connection::to(self.address);
        self.write(&mut connection, method, path, headers, body);
        connection.message().unwrap()
    }

    /// Sends a request and leaves its answer to be read.
    pub fn write(&self, to: &mut Connection, method: &str, path: &str, headers: &[&str], body: &str) {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        to.send(head.as_bytes()).unwrap();
        to.send(body.as_bytes()).unwrap();
    }

    pub fn meter_file(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("calls.jsonl")).unwrap()
    }

    /// The lines of the meter: purpose, cell, model, tokens, who counted them, finish reason, outcome.
    pub fn calls(&self) -> Vec<String> {
        self.meter_file().lines().map(call).collect()
    }

    /// What the only call cost; `None` where nobody knows.
    #[track_caller]
    pub fn cost(&self) -> Option<u64> {
        let file = self.meter_file();
        let line: Value = serde_json::from_str(&file).unwrap();
        line["cost_picousd"].as_u64()
    }

    #[track_caller]
    pub fn only_call(&self) -> String {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls.remove(0)
    }
}

impl Drop for Proxied {
    fn drop(&mut self) {
        self.stop();
        self.join();
    }
}

fn call(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap();
    let text = |name: &str| line[name].as_str().unwrap_or("-");
    format!(
        "{} {} {} {}+{} {} {} {}",
        text("purpose"),
        text("cell"),
        text("model"),
        line["prompt_tokens"],
        line["completion_tokens"],
        text("tokens_from"),
        text("finish"),
        text("outcome")
    )
}
