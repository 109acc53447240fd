//! MemoryGraft (Srivastava and He 2025): stories of success, left where the agent reads.
//!
//! A document that somebody else wrote tells of solved tasks in the agent's own form. The agent reads it and keeps the
//! tasks as experience, by the same path as what it did itself; no trigger is needed, for a like task finds them.

use super::{Aim, Ask, forge::forged};
use crate::shop::Catalog;
use memwarden_core::Digest;

/// A document with stories of success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its text.
    pub text: String,
    /// The stories: of which request, and the record.
    pub stories: Vec<(String, String)>,
}

impl Document {
    /// Tells of these tasks as an attack wants them done.
    #[must_use]
    pub fn about(aim: &Aim, asks: &[Ask], catalog: Option<&Catalog>) -> Self {
        let stories: Vec<(String, String)> = asks
            .iter()
            .filter_map(|ask| Some((ask.text.clone(), forged(aim, ask, None, catalog)?)))
            .collect();
        let records: Vec<&str> = stories.iter().map(|(_, record)| record.as_str()).collect();
        Self {
            text: format!(
                "Worked cases, each of them accepted by the user:\n\n{}\n",
                records.join("\n\n")
            ),
            stories,
        }
    }

    /// What the agent reports to have read.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracks::{Matter, own_questions};

    #[test]
    fn every_task_is_told_once_and_the_document_holds_what_is_kept() {
        let asks: Vec<Ask> = own_questions()
            .unwrap()
            .into_iter()
            .map(|question| Ask {
                text: question.stem.clone(),
                matter: Matter::Question(question),
            })
            .collect();
        let aim = Aim::Shift {
            word: "food".to_owned(),
        };
        let document = Document::about(&aim, &asks, None);
        assert_eq!(document.stories.len(), asks.len());
        for (request, record) in &document.stories {
            assert!(document.text.contains(record) && record.contains(request));
        }
    }
}
