//! What the rules of the stand-in read off a prompt: its memory, record by record, and the lines around it.

use memwarden_core::model::{Message, Speaker};
use std::collections::BTreeSet;

/// A prompt, taken apart. Empty lines are left out, others trimmed.
#[derive(Debug, Default)]
pub(super) struct Prompt<'a> {
    /// The lines of each record of memory. A record starts at a line `[memory …]`, which itself is left out: it is the
    /// store's word about the record.
    pub(super) memory: Vec<Vec<&'a str>>,
    /// The lines of the user's messages outside of any memory.
    pub(super) outside: Vec<&'a str>,
}

impl<'a> Prompt<'a> {
    pub(super) fn read(messages: &'a [Message]) -> Self {
        let mut prompt = Self::default();
        for message in messages.iter().filter(|message| message.speaker == Speaker::User) {
            let mut inside = false;
            for line in message
                .text
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
            {
                if line.starts_with("<<<end of memory") {
                    inside = false;
                } else if line.starts_with("<<<memory") {
                    inside = true;
                } else if !inside {
                    prompt.outside.push(line);
                } else if line.starts_with("[memory ") {
                    prompt.memory.push(Vec::new());
                } else if let Some(record) = prompt.memory.last_mut() {
                    record.push(line);
                } else {
                    prompt.memory.push(vec![line]);
                }
            }
        }
        prompt
    }
}

/// Lower-case words.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty())
        .map(|word| word.to_lowercase().replace('’', "'"))
}

/// The words of a text that say something.
pub(super) fn telling(text: &str, empty: &BTreeSet<String>) -> BTreeSet<String> {
    words(text).filter(|word| !empty.contains(word)).collect()
}

/// The sentences of a text, without their ends.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['!', '?', ';'])
        .flat_map(|part| part.split(". "))
        .map(|sentence| sentence.trim().trim_end_matches('.'))
        .filter(|sentence| !sentence.is_empty())
}
