//! From JSON to dialogues.

use super::{Category, Conversation, LocomoError, Question, Turn};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reads a list of dialogues, or one dialogue, as LoCoMo publishes them.
///
/// ```
/// let dialogues = memwarden_lab::locomo::parse(memwarden_lab::locomo::LIGHTHOUSE)?;
/// assert_eq!(dialogues[0].turns[0].id, "D1:1");
/// # Ok::<(), memwarden_lab::locomo::LocomoError>(())
/// ```
///
/// # Errors
/// The text is not JSON, or of another shape.
pub fn parse(json: &str) -> Result<Vec<Conversation>, LocomoError> {
    let dialogues: Value = serde_json::from_str(json)?;
    let one = std::slice::from_ref(&dialogues);
    let list = dialogues.as_array().map_or(one, Vec::as_slice);
    list.iter()
        .enumerate()
        .map(|(index, dialogue)| Reader { dialogue: index + 1 }.dialogue(dialogue))
        .collect()
}

/// Reads one dialogue; knows which one, for errors.
#[derive(Debug, Clone, Copy)]
struct Reader {
    dialogue: usize,
}

impl Reader {
    fn dialogue(self, value: &Value) -> Result<Conversation, LocomoError> {
        let name = self.text(value, "sample_id")?;
        let conversation = value
            .get("conversation")
            .and_then(Value::as_object)
            .ok_or_else(|| self.wrong("conversation", "an object"))?;
        let mut turns = Vec::new();
        for (number, session) in self.sessions(conversation)? {
            let when = conversation.get(&format!("session_{number}_date_time"));
            let when = when.and_then(Value::as_str).unwrap_or_default();
            for turn in session {
                turns.push(Turn {
                    id: self.text(turn, "dia_id")?,
                    speaker: self.text(turn, "speaker")?,
                    text: self.text(turn, "text")?,
                    when: when.to_owned(),
                });
            }
        }
        let questions = self.list(value.get("qa"), "qa")?.iter().enumerate();
        let questions = questions
            .map(|(place, question)| self.question(place, question))
            .collect::<Result<_, _>>()?;
        Ok(Conversation {
            name,
            turns,
            questions,
        })
    }

    /// Turns by the number of their session; a date without a session is passed over.
    fn sessions(self, conversation: &Map<String, Value>) -> Result<BTreeMap<u32, &Vec<Value>>, LocomoError> {
        conversation
            .iter()
            .filter_map(|(key, session)| Some((key, key.strip_prefix("session_")?.parse().ok()?, session)))
            .map(|(key, number, session)| Ok((number, self.list(Some(session), key)?)))
            .collect()
    }

    fn question(self, place: usize, value: &Value) -> Result<Question, LocomoError> {
        let category = value.get("category").and_then(Value::as_u64);
        let category = category
            .and_then(|number| usize::try_from(number).ok()?.checked_sub(1))
            .and_then(|index| Category::ALL.get(index))
            .ok_or_else(|| self.wrong("category", "a number from 1 to 5"))?;
        let evidence = self.list(value.get("evidence"), "evidence")?.iter();
        // An adversarial question may have an answer of another kind, and some answers are numbers.
        let answer = match value.get("answer") {
            Some(Value::String(text)) if category.is_core() => text.clone(),
            Some(number @ Value::Number(_)) if category.is_core() => number.to_string(),
            _ => String::new(),
        };
        Ok(Question {
            place,
            text: self.text(value, "question")?,
            answer,
            evidence: evidence.filter_map(Value::as_str).map(str::to_owned).collect(),
            category: *category,
        })
    }

    fn list<'v>(self, value: Option<&'v Value>, field: &str) -> Result<&'v Vec<Value>, LocomoError> {
        value
            .and_then(Value::as_array)
            .ok_or_else(|| self.wrong(field, "a list"))
    }

    fn text(self, value: &Value, field: &str) -> Result<String, LocomoError> {
        let text = value.get(field).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| self.wrong(field, "a text"))
    }

    fn wrong(self, field: &str, expected: &'static str) -> LocomoError {
        LocomoError::Field {
            dialogue: self.dialogue,
            field: field.to_owned(),
            expected,
        }
    }
}
