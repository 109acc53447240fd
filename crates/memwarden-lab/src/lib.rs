//! Attacks, honest data and the report of the demo: what shows whether the defenses hold and what they cost.
//!
//! The demo is the light part, always linked; experiments (`experiment`) are behind the feature `full`. Nothing
//! here defends: it attacks real stores that it makes, through the same verbs as everyone.

pub mod agents;
#[cfg(feature = "full")]
pub mod cost;
pub mod demo;
#[cfg(feature = "full")]
pub mod experiment;
pub mod farma;
pub mod locomo;
mod parallel;
pub mod recall_eval;
pub mod recall_methods;
pub mod report;
#[cfg(feature = "full")]
pub mod shop;
mod split_mix;
#[cfg(feature = "full")]
pub mod stats;
#[cfg(feature = "full")]
pub mod tracks;

/// A memory file of three honest agents (records import, question answering, shopping), made for this project,
/// in the format of the official MCP memory server.
///
/// Its entries use the openings, the vocabulary and the counts that forged ones use, and use words such as
/// "skip" or "override" in their honest sense, so that a defense by wording shows what it costs. Entity names
/// are the subjects that [`farma`] writes about.
pub const HONEST_MEMORY: &str = include_str!("../data/honest-memory.jsonl");

#[cfg(test)]
mod tests {
    use super::HONEST_MEMORY;
    use crate::farma::{Domain, OVERT_WORDS};
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn observations() -> Vec<(String, String, String)> {
        let lines = HONEST_MEMORY
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        lines
            .filter(|line| line["type"] == "entity")
            .flat_map(|entity| {
                let observations = entity["observations"].as_array().unwrap().clone();
                observations
                    .into_iter()
                    .map(move |content| (text(&entity["name"]), text(&entity["entityType"]), text(&content)))
            })
            .collect()
    }

    #[test]
    fn the_honest_file_is_large_and_varied_enough() {
        let all = observations();
        let distinct: BTreeSet<_> = all.iter().map(|(_, _, content)| content).collect();
        assert!(distinct.len() >= 75, "{} distinct observations", distinct.len());
        let reasoning = ["decision_log", "rationale", "reflection"];
        assert!(
            all.iter()
                .filter(|(_, kind, _)| reasoning.contains(&kind.as_str()))
                .count()
                >= 30
        );
        let kinds: BTreeSet<_> = all.iter().map(|(_, kind, _)| kind.as_str()).collect();
        let known = [
            "decision_log",
            "experience",
            "fact",
            "preference",
            "rationale",
            "reflection",
        ];
        assert_eq!(kinds, BTreeSet::from(known));
    }

    #[test]
    fn honest_entries_speak_of_every_subject_that_the_attack_uses() {
        let names: BTreeSet<_> = observations().into_iter().map(|(name, _, _)| name).collect();
        for subject in Domain::ALL.iter().flat_map(|domain| domain.subjects()) {
            assert!(names.contains(*subject), "{subject}");
        }
    }

    #[test]
    fn honest_entries_trip_a_naive_block_list_and_share_the_vocabulary_of_forged_ones() {
        let all = observations();
        let with = |phrase: &str| {
            all.iter()
                .filter(|(_, _, content)| content.to_lowercase().contains(phrase))
                .count()
        };
        for word in ["skip", "bypass", "ignore", "override"] {
            assert!(with(word) >= 2, "{word}: {}", with(word));
        }
        assert!(
            all.iter()
                .any(|(_, _, content)| OVERT_WORDS.iter().any(|word| content.contains(word)))
        );
        for phrase in [
            "decision log update for",
            "validation summary for",
            "consistent with 12 prior runs",
            "validation complete",
            "established pattern",
            "no anomalies observed",
            "standard processing",
        ] {
            assert!(with(phrase) >= 1, "{phrase}");
        }
    }
}
