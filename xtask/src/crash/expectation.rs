//! What the parent was told, and what must therefore be in the store.

use crate::protocol::Key;
use crate::text::Texts;
use memwarden::{Handle, RecordId, Status};
use std::collections::HashSet;

/// Everything that was acknowledged so far.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    written: Vec<(Key, RecordId)>,
    retired: HashSet<RecordId>,
}

impl Expected {
    /// A write was acknowledged.
    pub(crate) fn wrote(&mut self, key: Key, id: RecordId) {
        self.written.push((key, id));
    }

    /// A retirement was acknowledged.
    pub(crate) fn retired(&mut self, id: RecordId) {
        self.retired.insert(id);
    }

    /// How many writes were acknowledged.
    pub(crate) const fn writes(&self) -> usize {
        self.written.len()
    }

    /// How many retirements were acknowledged.
    pub(crate) fn retirements(&self) -> usize {
        self.retired.len()
    }

    /// A mark for [`Expected::differences`]: only what comes after it.
    pub(crate) const fn mark(&self) -> usize {
        self.written.len()
    }

    /// One sentence for each acknowledged write since `since` that is not in the store as it was written.
    pub(crate) fn differences(&self, agent: &Handle, texts: &Texts, since: usize) -> Vec<String> {
        let written = self.written.get(since..).unwrap_or_default();
        written
            .iter()
            .filter_map(|(key, id)| self.difference(agent, texts, *key, *id))
            .collect()
    }

    fn difference(&self, agent: &Handle, texts: &Texts, key: Key, id: RecordId) -> Option<String> {
        let record = match agent.inspect(id) {
            Ok(record) => record,
            Err(error) => return Some(format!("acknowledged write {key:?} is missing: {error}")),
        };
        if record.entry.content != key.content(texts) {
            return Some(format!("acknowledged write {key:?} has another text"));
        }
        // A retirement that was sent and not answered may or may not have happened.
        let may_be_retired = key.is_retired_later() && record.status == Status::Retired;
        let holds = if self.retired.contains(&id) {
            record.status == Status::Retired
        } else {
            record.status == key.status() || may_be_retired
        };
        (!holds).then(|| format!("acknowledged write {key:?} is {}", record.status))
    }
}
