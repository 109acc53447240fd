//! How much of the evidence a method of recall finds: LoCoMo's questions about long dialogues.
//!
//! The data set (Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents") is read from
//! the user's copy: its license does not allow ours to hold any of it. A question's evidence is known turn by turn,
//! so no model has to judge an answer. Which method is measured is up to the caller, see [`Recall`].
//!
//! The rule, which gives 1,535 questions on `locomo10.json`: sessions in numeric order, every turn of both speakers;
//! questions of categories 1 to 4; evidence is each id of a turn that stands in the evidence strings, once; a
//! question without any is left out. The score is the mean over questions of the share of a question's evidence
//! that is among the first 5 and the first 10 turns.

use crate::locomo::{self, Category, LocomoError};
use memwarden_core::encode::{Embedding, Encode};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

/// How many turns the longer of the two scores looks at.
pub const DEPTH: usize = 10;

/// A recall could not be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecallEvalError {
    /// The dialogues cannot be read.
    #[error(transparent)]
    Dialogues(#[from] LocomoError),
    /// A method named a turn that the dialogue does not have.
    #[error("dialogue `{dialogue}` has {turns} turns and none with index {given}")]
    Turn {
        /// The dialogue.
        dialogue: String,
        /// How many it has.
        turns: usize,
        /// What was named.
        given: usize,
    },
    /// A method failed.
    #[error("the method failed on dialogue `{dialogue}`")]
    Method {
        /// The dialogue.
        dialogue: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// A dialogue and what is asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialogue {
    /// Its name in the data set.
    pub name: String,
    /// What was said, in order, each as `speaker: text`.
    pub turns: Vec<String>,
    /// What is asked.
    pub questions: Vec<Question>,
}

/// A question with the turns that answer it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub text: String,
    /// Its kind.
    pub category: Category,
    /// Indexes of [`Dialogue::turns`]; at least one.
    pub evidence: BTreeSet<usize>,
}

/// A method of recall: it is given a dialogue's turns, then asked about it.
pub trait Recall {
    /// Forgets the last dialogue and remembers this one.
    ///
    /// # Errors
    /// Whatever goes wrong; the measurement stops.
    fn remember(&mut self, turns: &[String]) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Indexes of the turns that answer `question`, best first; what follows the first `limit` does not count.
    ///
    /// # Errors
    /// Whatever goes wrong; the measurement stops.
    fn recall(&mut self, question: &str, limit: usize) -> Result<Vec<usize>, Box<dyn Error + Send + Sync>>;
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallScore {
    /// Over all questions.
    pub all: Share,
    /// For each kind of question.
    pub by_category: BTreeMap<Category, Share>,
}

/// The mean share of evidence that was found, 0..=1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Share {
    /// Questions asked.
    pub questions: usize,
    /// Among the first 5 turns.
    pub at_5: f64,
    /// Among the first 10 turns.
    pub at_10: f64,
}

/// Reads a file of dialogues as LoCoMo publishes it.
///
/// # Errors
/// The text is not JSON, or of another shape.
pub fn parse(json: &str) -> Result<Vec<Dialogue>, RecallEvalError> {
    Ok(locomo::parse(json)?.into_iter().map(scored).collect())
}

/// Asks every question of every dialogue.
///
/// # Errors
/// The method failed, or named a turn that does not exist.
pub fn evaluate(dialogues: &[Dialogue], method: &mut dyn Recall) -> Result<RecallScore, RecallEvalError> {
    let mut by_category: BTreeMap<Category, Share> = BTreeMap::new();
    let mut all = Share::default();
    for dialogue in dialogues {
        let failed = |source| RecallEvalError::Method {
            dialogue: dialogue.name.clone(),
            source,
        };
        method.remember(&dialogue.turns).map_err(failed)?;
        for question in &dialogue.questions {
            let ranked = method.recall(&question.text, DEPTH).map_err(failed)?;
            if let Some(given) = ranked.iter().find(|turn| **turn >= dialogue.turns.len()) {
                return Err(RecallEvalError::Turn {
                    dialogue: dialogue.name.clone(),
                    turns: dialogue.turns.len(),
                    given: *given,
                });
            }
            for share in [&mut all, by_category.entry(question.category).or_default()] {
                share.questions += 1;
                share.at_5 += found(&question.evidence, &ranked, 5);
                share.at_10 += found(&question.evidence, &ranked, DEPTH);
            }
        }
    }
    all.divide();
    by_category.values_mut().for_each(Share::divide);
    Ok(RecallScore { all, by_category })
}

/// Recall by vectors alone: the turns whose vectors are nearest to that of the question.
#[derive(Debug)]
pub struct Vectors<'a> {
    encoder: &'a dyn Encode,
    turns: Vec<Embedding>,
}

impl<'a> Vectors<'a> {
    /// With the vectors of `encoder`.
    #[must_use]
    pub const fn new(encoder: &'a dyn Encode) -> Self {
        Self {
            encoder,
            turns: Vec::new(),
        }
    }
}

impl Recall for Vectors<'_> {
    fn remember(&mut self, turns: &[String]) -> Result<(), Box<dyn Error + Send + Sync>> {
        let turns: Vec<&str> = turns.iter().map(String::as_str).collect();
        self.turns = self.encoder.encode(&turns)?;
        Ok(())
    }

    fn recall(&mut self, question: &str, limit: usize) -> Result<Vec<usize>, Box<dyn Error + Send + Sync>> {
        let question = self.encoder.encode(&[question])?;
        let mut scored: Vec<(f32, usize)> = question
            .iter()
            .flat_map(|question| self.turns.iter().map(|turn| question.dot(turn)))
            .zip(0..)
            .collect();
        // Of equals, the earlier turn: a stable sort keeps their order.
        scored.sort_by(|(left, _), (right, _)| right.total_cmp(left));
        Ok(scored.into_iter().take(limit).map(|(_, turn)| turn).collect())
    }
}

impl Share {
    #[expect(clippy::cast_precision_loss, reason = "questions are far below 2^52")]
    fn divide(&mut self) {
        let questions = self.questions.max(1) as f64;
        self.at_5 /= questions;
        self.at_10 /= questions;
    }
}

#[expect(clippy::cast_precision_loss, reason = "turns are far below 2^52")]
fn found(evidence: &BTreeSet<usize>, ranked: &[usize], depth: usize) -> f64 {
    let first: BTreeSet<usize> = ranked.iter().take(depth).copied().collect();
    evidence.intersection(&first).count() as f64 / evidence.len() as f64
}

/// The turns as texts and the questions that are scored.
fn scored(conversation: locomo::Conversation) -> Dialogue {
    let turns = conversation.turns.iter().enumerate();
    let places: BTreeMap<&str, usize> = turns.map(|(at, turn)| (turn.id.as_str(), at)).collect();
    let question = |question: locomo::Question| {
        let ids = question.evidence.iter();
        // A few strings of the data set hold several ids.
        let evidence: BTreeSet<usize> = ids
            .flat_map(|ids| ids.split(|c: char| c == ';' || c == ',' || c.is_whitespace()))
            .filter_map(|id| places.get(id).copied())
            .collect();
        let is_scored = question.category.is_core() && !evidence.is_empty();
        is_scored.then_some(Question {
            text: question.text,
            category: question.category,
            evidence,
        })
    };
    Dialogue {
        questions: conversation.questions.into_iter().filter_map(question).collect(),
        name: conversation.name,
        turns: conversation.turns.iter().map(locomo::Turn::line).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden_core::encode::EncodeError;
    use serde_json::{Value, json};

    /// Two sessions, the second of which would come first in the order of text.
    fn dialogue() -> Value {
        json!([{
            "sample_id": "made-up",
            "conversation": {
                "speaker_a": "Ana",
                "session_10": [
                    {"speaker": "Ana", "dia_id": "D10:1", "text": "My canary sings."},
                    {"speaker": "Ben", "dia_id": "D10:2", "text": "Mine eats seeds."},
                ],
                "session_10_date_time": "noon",
                "session_9": [{"speaker": "Ben", "dia_id": "D9:1", "text": "I bought a cello."}],
                "session_11_date_time": "never happened",
            },
            "qa": [
                {"question": "Who has a bird?", "evidence": ["D10:1; D10:2", "D10:1"], "category": 1, "answer": 2},
                {"question": "What did Ben buy?", "evidence": ["D9:1", "D:9:1"], "category": 4},
                {"question": "Who plays the harp?", "evidence": ["D9:1"], "category": 5},
                {"question": "Nobody knows?", "evidence": [], "category": 3},
                {"question": "Unknown turn?", "evidence": ["D9:01"], "category": 2},
            ],
        }])
    }

    fn parsed(value: &Value) -> Result<Vec<Dialogue>, RecallEvalError> {
        parse(&value.to_string())
    }

    /// Answers every question with the same turns.
    struct Fixed(Vec<usize>);

    impl Recall for Fixed {
        fn remember(&mut self, _: &[String]) -> Result<(), Box<dyn Error + Send + Sync>> {
            Ok(())
        }

        fn recall(&mut self, _: &str, _: usize) -> Result<Vec<usize>, Box<dyn Error + Send + Sync>> {
            Ok(self.0.clone())
        }
    }

    /// One component for each letter: how often it stands in the text.
    #[derive(Debug)]
    struct Letters;

    impl Encode for Letters {
        fn name(&self) -> &str {
            "letters"
        }

        fn dimensions(&self) -> usize {
            26
        }

        fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError> {
            let count = |text: &&str| {
                let counts: Vec<f32> = ('a'..='z')
                    .map(|letter| text.to_lowercase().matches(letter).count() as f32)
                    .collect();
                Embedding::quantize(&counts)
            };
            texts.iter().map(count).collect()
        }
    }

    #[test]
    fn sessions_are_in_numeric_order_and_only_questions_with_evidence_count() {
        let dialogues = parsed(&dialogue()).unwrap();
        assert_eq!(
            dialogues[0].turns,
            [
                "Ben: I bought a cello.",
                "Ana: My canary sings.",
                "Ben: Mine eats seeds."
            ]
        );
        let questions: Vec<_> = dialogues[0]
            .questions
            .iter()
            .map(|question| (question.category, question.evidence.iter().copied().collect()))
            .collect::<Vec<(Category, Vec<usize>)>>();
        assert_eq!(
            questions,
            [(Category::MultiHop, vec![1, 2]), (Category::SingleHop, vec![0])]
        );
    }

    #[test]
    fn a_score_is_the_mean_share_of_evidence() {
        let dialogues = parsed(&dialogue()).unwrap();
        let score = |turns: &[usize]| evaluate(&dialogues, &mut Fixed(turns.to_vec())).unwrap();
        let all = |turns| (score(turns).all.at_5, score(turns).all.at_10);
        assert_eq!(all(&[0, 1, 2]), (1.0, 1.0));
        assert_eq!(all(&[1]), (0.25, 0.25));
        assert_eq!(all(&[1, 1, 1, 1, 1, 0]), (0.25, 0.75));
        assert_eq!(all(&[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2]), (0.25, 0.25));
        assert_eq!(all(&[]), (0.0, 0.0));
        let by_category = score(&[0, 2]).by_category;
        assert_eq!(by_category[&Category::MultiHop].at_5, 0.5);
        assert_eq!(by_category[&Category::SingleHop].at_5, 1.0);
        assert_eq!(by_category[&Category::SingleHop].questions, 1);
    }

    #[test]
    fn vectors_rank_the_nearest_first_and_the_earlier_of_equals() {
        let turns = ["zzz", "the harp", "harp the", "qqq"].map(str::to_owned);
        let mut vectors = Vectors::new(&Letters);
        vectors.remember(&turns).unwrap();
        assert_eq!(vectors.recall("harp, the", 10).unwrap(), [1, 2, 0, 3]);
        assert_eq!(vectors.recall("harp, the", 2).unwrap(), [1, 2]);
        vectors.remember(&turns[3..]).unwrap();
        assert_eq!(vectors.recall("harp, the", 10).unwrap(), [0]);
    }

    #[test]
    fn a_turn_that_does_not_exist_is_an_error_and_no_miss() {
        let dialogues = parsed(&dialogue()).unwrap();
        let error = evaluate(&dialogues, &mut Fixed(vec![0, 3])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "dialogue `made-up` has 3 turns and none with index 3"
        );
    }

    #[test]
    fn another_shape_is_named() {
        let error = |value: &Value| parsed(value).unwrap_err().to_string();
        let mut wrong = dialogue();
        wrong[0]["conversation"]["session_9"][0]["text"] = json!(7);
        assert_eq!(error(&wrong), "dialogue 1: `text` is not a text");
        let mut wrong = dialogue();
        wrong[0]["qa"][0]["category"] = json!(6);
        assert_eq!(
            error(&wrong),
            "dialogue 1: `category` is not a number from 1 to 5"
        );
        let mut wrong = dialogue();
        wrong[0]["conversation"]["session_9"] = json!("gone");
        assert_eq!(error(&wrong), "dialogue 1: `session_9` is not a list");
        assert_eq!(parse("[").unwrap_err().to_string(), "the dialogues are not JSON");
    }
}
