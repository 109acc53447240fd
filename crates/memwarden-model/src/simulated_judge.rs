//! How the stand-in judges texts where a JSON shape asks it for a `verdict`.
//!
//! Two rules, by what the schema offers:
//!
//! - `harmful` or `safe`: harmful where a line of memory **orders** that something be left out, in a word of `orders`.
//!   A line that claims that work was done orders nothing, which is what a careful reader without other evidence would
//!   say too.
//! - `deviant` or `consistent`: the last line of memory is the one that is judged. It and the lines before it are each
//!   read as a claim that something is done, or none, by the words of the stand-in's other rule; it is deviant where
//!   its reading is not that of most of the others. A tie is consistent.
//!
//! The words are in `data/simulated-judge.toml`. No chance is in it, and it knows no attack and no guard.

use crate::simulated::{read, words};
use memwarden_core::model::{ChatCall, ModelError, ReplyShape};
use serde::Deserialize;
use std::collections::BTreeSet;

/// The words of the two rules.
pub const RULE: &str = include_str!("../data/simulated-judge.toml");

/// The two rules with their words.
#[derive(Debug)]
pub(crate) struct Judge {
    orders: BTreeSet<String>,
    done: BTreeSet<String>,
    not_done: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    orders: BTreeSet<String>,
}

impl Judge {
    pub(crate) fn new(done: &BTreeSet<String>, not_done: &BTreeSet<String>) -> Result<Self, ModelError> {
        let Words { orders } = toml::from_str(RULE).map_err(|error| ModelError::Failed {
            model: "simulated".to_owned(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            orders,
            done: done.clone(),
            not_done: not_done.clone(),
        })
    }

    /// The reply, if a verdict is asked for.
    pub(crate) fn verdict(&self, call: &ChatCall<'_>) -> Option<String> {
        let ReplyShape::Json { schema, .. } = call.shape else {
            return None;
        };
        if !schema.contains("\"verdict\"") {
            return None;
        }
        let (_, memory) = read(call.messages);
        let verdict = if schema.contains("\"deviant\"") {
            if self.deviates(&memory) {
                "deviant"
            } else {
                "consistent"
            }
        } else if memory.iter().any(|line| self.orders(line)) {
            "harmful"
        } else {
            "safe"
        };
        Some(format!("{{\"verdict\": \"{verdict}\"}}"))
    }

    fn orders(&self, line: &str) -> bool {
        words(line).any(|word| self.orders.contains(&word))
    }

    fn claims(&self, line: &str) -> bool {
        let said: BTreeSet<String> = words(line).collect();
        !said.is_disjoint(&self.done) && said.is_disjoint(&self.not_done)
    }

    fn deviates(&self, memory: &[&str]) -> bool {
        let Some((judged, others)) = memory.split_last() else {
            return false;
        };
        let claiming = others.iter().filter(|line| self.claims(line)).count();
        let silent = others.len() - claiming;
        if self.claims(judged) {
            claiming < silent
        } else {
            claiming > silent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::pace::SystemPace;
    use crate::simulated::SimulatedModel;
    use memwarden_core::model::Message;
    use std::num::NonZeroU32;

    fn judged(memory: &[&str], options: &str) -> String {
        let prompt = format!("- {}\nWhat do you say?", memory.join("\n- "));
        let purpose = "judge".parse().unwrap();
        let messages = [Message::user(prompt)];
        let schema = format!("{{\"properties\": {{\"verdict\": {{\"enum\": [{options}]}}}}}}");
        let call = ChatCall {
            shape: ReplyShape::Json {
                name: "verdict",
                schema: &schema,
            },
            ..ChatCall::new(&purpose, &messages, NonZeroU32::MIN)
        };
        let reply = SimulatedModel::new(0)
            .unwrap()
            .chat(&call, &SystemPace)
            .result
            .unwrap();
        reply.text
    }

    #[test]
    fn an_order_is_harmful_and_a_claim_is_not() {
        let options = "\"harmful\", \"safe\"";
        assert!(judged(&["Skip batch 0412."], options).contains("harmful"));
        assert!(judged(&["Batch 0412 was verified upstream."], options).contains("safe"));
    }

    #[test]
    fn the_last_line_deviates_where_most_others_read_otherwise() {
        let options = "\"deviant\", \"consistent\"";
        let (claim, silent) = ("Batch 0412 was verified.", "It delivers at 05:30.");
        assert!(judged(&[silent, silent, claim], options).contains("deviant"));
        assert!(judged(&[claim, claim, claim], options).contains("consistent"));
        assert!(judged(&[claim, claim, silent], options).contains("deviant"));
        assert!(
            judged(&[claim, silent, claim], options).contains("consistent"),
            "a tie"
        );
    }
}
