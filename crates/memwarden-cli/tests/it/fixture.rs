//! A store in a temporary directory, and the program that is run on it.

use assert_cmd::Command;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What one run of the program left.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Answer {
    /// The text on stdout of a run that must have ended with this code.
    #[track_caller]
    pub fn ended(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:#?}");
        &self.out
    }

    /// The JSON on stdout.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A store with its keys and its witness.
pub struct Store {
    pub dir: tempfile::TempDir,
}

impl Store {
    /// A new store with the default policy.
    pub fn new() -> Self {
        let store = Self::unmade();
        store.run(&["init"]).ended(0);
        store
    }

    pub fn with_policy(policy: &str) -> Self {
        let store = Self::unmade();
        store.run(&["init", "--policy", policy]).ended(0);
        store
    }

    /// Places in which nothing lies yet.
    pub fn unmade() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The path as an argument.
    pub fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    pub fn database(&self) -> PathBuf {
        self.path("store").join("memwarden.db")
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.at(name)
    }

    /// Runs a command for a person.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) -> Answer {
        self.feed(arguments, b"")
    }

    /// Runs a command with something on its stdin.
    #[track_caller]
    pub fn feed(&self, arguments: &[&str], input: &[u8]) -> Answer {
        let mut command = Command::cargo_bin("memwarden").unwrap();
        for name in ["STORE", "KEYS", "WITNESS", "CREDENTIAL", "ENCODER", "MODELS"] {
            command.env_remove(format!("MEMWARDEN_{name}"));
        }
        for place in ["store", "keys", "witness"] {
            command.arg(format!("--{place}")).arg(self.path(place));
        }
        let output = command.args(arguments).write_stdin(input).output().unwrap();
        let answer = Answer {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        self.check_output(arguments, &answer);
        answer
    }

    /// Runs a command for a program; it must end well.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> Value {
        let answer = self.run(&[&["--json"], arguments].concat());
        answer.ended(0);
        answer.json()
    }

    /// Runs a command for a program that must be refused with this exit code and error code: the message.
    #[track_caller]
    pub fn refused(&self, arguments: &[&str], exit: i32, code: &str) -> String {
        let answer = self.run(&[&["--json"], arguments].concat());
        answer.ended(exit);
        let error = answer.json()["error"].clone();
        assert_eq!(error["code"], code, "{answer:#?}");
        error["message"].as_str().unwrap().to_owned()
    }

    /// Remembers a text and returns its id.
    #[track_caller]
    pub fn keep(&self, text: &str) -> String {
        id(&self.json(&["remember", text]))
    }

    /// The texts that a recall serves.
    #[track_caller]
    pub fn recalled(&self, words: &str) -> Vec<String> {
        let served = self.json(&["recall", words]);
        let hits = served["hits"].as_array().unwrap();
        hits.iter()
            .map(|hit| hit["content"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Sends lines to one `rpc` process; the answers.
    #[track_caller]
    pub fn lines(&self, lines: impl AsRef<[u8]>) -> Vec<Value> {
        self.lines_as("agent", lines)
    }

    #[track_caller]
    pub fn lines_as(&self, credential: &str, lines: impl AsRef<[u8]>) -> Vec<Value> {
        let answer = self.feed(&["--credential", credential, "rpc"], lines.as_ref());
        answer.ended(0);
        answer
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Sends one request that must be answered with a result.
    #[track_caller]
    pub fn ask_as(&self, credential: &str, op: &str, params: &Value) -> Value {
        let answers = self.lines_as(
            credential,
            json!({"id": 1, "op": op, "params": params}).to_string(),
        );
        assert!(answers[0]["error"].is_null(), "{op}: {answers:#?}");
        answers[0]["result"].clone()
    }

    /// Everything that bad input must not change: records by status in each namespace, and the principals.
    #[track_caller]
    pub fn holdings(&self) -> Value {
        let status = self.json(&["status"]);
        json!([
            status["namespaces"],
            status["principals"],
            status["policy"],
            status["epoch"]
        ])
    }

    /// Secrets must not get out and nothing that is printed may act on a terminal.
    #[track_caller]
    fn check_output(&self, arguments: &[&str], answer: &Answer) {
        for text in [&answer.out, &answer.err] {
            for secret in self.secrets() {
                assert!(!text.contains(&secret), "`{arguments:?}` shows a secret");
            }
            // JSON writes control characters as escapes, except those that are text in it. CSV ends lines in two.
            let acts = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
            assert!(
                !text.replace("\r\n", "\n").contains(acts),
                "`{arguments:?}` prints a control character: {text:?}"
            );
        }
        if arguments.contains(&"--json") && !answer.out.is_empty() && !arguments.contains(&"rpc") {
            answer.json();
        }
    }

    /// Each secret in the key directory.
    fn secrets(&self) -> Vec<String> {
        let Ok(files) = std::fs::read_dir(self.path("keys")) else {
            return Vec::new();
        };
        let mut secrets = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            // A private key is five parts between plus signs, of which the last may hold more of them.
            let secret = match text.strip_prefix("PRIVATE+KEY+") {
                Some(key) => key.splitn(3, '+').nth(2),
                None => text.split(' ').nth(4),
            };
            secrets.extend(secret.map(|secret| secret.trim().to_owned()));
        }
        secrets
    }
}

/// The id in an answer.
#[track_caller]
pub fn id(answer: &Value) -> String {
    answer["id"]
        .as_str()
        .unwrap_or_else(|| panic!("no id: {answer:#}"))
        .to_owned()
}

/// Whether any file beneath `directory` holds these bytes.
pub fn found_in_files(directory: &Path, wanted: &str) -> bool {
    std::fs::read_dir(directory).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found_in_files(&path, wanted)
        } else {
            let bytes = std::fs::read(&path).unwrap();
            bytes
                .windows(wanted.len())
                .any(|window| window == wanted.as_bytes())
        }
    })
}
