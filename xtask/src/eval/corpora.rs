//! The open corpora beside the project, read where they lie.
//!
//! For: texts with their family or kind and its class. Not for: keeping any of them; nothing here is written down
//! but counts, and `--errors` prints to the terminal alone.

use miette::{Context as _, IntoDiagnostic as _, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// One in so many texts of each group is held out of tuning.
const HELD_OUT: u64 = 5;

/// Texts of one corpus in groups.
pub(super) struct Corpus {
    pub(super) groups: Vec<Group>,
}

/// A family of attacks or a kind of ordinary text.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) texts: Vec<Text>,
}

pub(super) struct Text {
    pub(super) content: String,
    pub(super) part: Part,
}

/// Whether a text was looked at while the lists were written. `--errors` never shows one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Tuned,
    HeldOut,
}

impl Corpus {
    /// `open.jsonl` in `directory`, grouped by `key`, with the classes in the file of this name.
    pub(super) fn read(directory: &Path, key: &str, classes: &str) -> Result<Self> {
        let read = |name: &str| {
            let path = directory.join(name);
            std::fs::read_to_string(&path)
                .into_diagnostic()
                .wrap_err_with(|| format!("`{}` cannot be read", path.display()))
        };
        let classes: Value = serde_json::from_str(&read(classes)?).into_diagnostic()?;
        let class_of = |name: &str| {
            let class = classes.get("classes").and_then(|all| all.get(name));
            class.and_then(Value::as_str).unwrap_or("unclassified").to_owned()
        };
        let mut groups: BTreeMap<String, Vec<Text>> = BTreeMap::new();
        for line in read("open.jsonl")?.lines().filter(|line| !line.trim().is_empty()) {
            let row: Value = serde_json::from_str(line).into_diagnostic()?;
            let string = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default();
            let part = if hash(string("id")).is_multiple_of(HELD_OUT) {
                Part::HeldOut
            } else {
                Part::Tuned
            };
            let content = string("content").to_owned();
            let group = groups.entry(string(key).to_owned()).or_default();
            group.push(Text { content, part });
        }
        let mut groups: Vec<Group> = groups
            .into_iter()
            .map(|(name, texts)| Group {
                class: class_of(&name),
                name,
                texts,
            })
            .collect();
        groups.sort_by(|a, b| (&a.class, b.texts.len(), &a.name).cmp(&(&b.class, a.texts.len(), &b.name)));
        Ok(Self { groups })
    }
}

/// FNV-1a: the same part on every machine.
fn hash(id: &str) -> u64 {
    id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
