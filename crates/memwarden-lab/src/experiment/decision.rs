//! What a model decides between named options, parsed strictly.
//!
//! Two ways to ask, one meaning: a chat answers `{"decision": "…"}`, or, for a small model that keeps to no form, the
//! option whose words are likelier after the prompt is taken, as they are or against a question about nothing
//! ([`Decider::ForcedChoice`]). A reply that is cut off, is
//! no such JSON or names something else is an error with a name, counted, and never a decision.

use super::{ExperimentError, fault};
use memwarden::model::{Asked, Choice, choose};
use memwarden_core::model::{Chat, ChatCall, Message, ModelError, Purpose, ReplyShape, Score};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The key of a decision.
const KEY: &str = "decision";

/// Enough for the JSON object and nothing else.
pub(super) const MAX_TOKENS: NonZeroU32 = NonZeroU32::MIN.saturating_add(63);

/// How a small model is made to choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForcedChoice {
    /// The likelier option, by the probability of its whole reply.
    Likelier,
    /// The option that gains most over a question about nothing (Holtzman et al. 2021, arXiv 2104.08315): a model that
    /// likes one of the words whatever it reads still decides by what it reads.
    Calibrated,
}

/// How a decision is asked for.
#[derive(Debug, Clone)]
pub enum Decider {
    /// The reply is read.
    Reply(Arc<dyn Chat>),
    /// The options are weighed.
    ForcedChoice {
        /// What weighs them.
        score: Arc<dyn Score>,
        /// What the options weigh after a question about nothing, which is taken off; `None` takes nothing off.
        usual: Option<Choice>,
    },
}

/// What came of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// One of the options, by its place.
    Option(usize),
    /// No decision; the name of the error.
    Error(&'static str),
}

impl Decider {
    /// Weighs options; `nothing` is the question about nothing by which the weights are calibrated, if they are.
    ///
    /// # Errors
    /// A model that does not weigh that one.
    pub fn forced(
        score: Arc<dyn Score>,
        purpose: &Purpose,
        nothing: Option<&[Message]>,
        options: &[&str],
    ) -> Result<Self, ExperimentError> {
        let usual = nothing.map(|nothing| weigh(&*score, purpose, nothing, options));
        let usual = usual.transpose()?;
        Ok(Self::ForcedChoice { score, usual })
    }

    /// Asks for one of `options`; `seeds` are as many questions with the same words, one decision each.
    ///
    /// # Errors
    /// No options; a model that was not reached.
    pub fn decide(
        &self,
        purpose: &Purpose,
        messages: &[Message],
        options: &[&str],
        seeds: &[u64],
    ) -> Result<Vec<Decision>, ExperimentError> {
        if options.is_empty() {
            return Err(ExperimentError::Unexpected(
                "a decision between no options".to_owned(),
            ));
        }
        match self {
            Self::Reply(chat) => replies(&**chat, purpose, messages, options, seeds),
            // Nothing is left to chance here, so one weighing answers for all seeds.
            Self::ForcedChoice { score, usual } => {
                if usual
                    .as_ref()
                    .is_some_and(|usual| usual.scores.len() != options.len())
                {
                    return Err(ExperimentError::Unexpected(
                        "other options than those that were weighed before".to_owned(),
                    ));
                }
                let weighed = weigh(&**score, purpose, messages, options).map(|with| match usual {
                    None => with,
                    Some(usual) => with.calibrated_by(usual),
                });
                let decision = match weighed {
                    Err(error) => Decision::Error(fault(error)?),
                    Ok(choice) => choice.best().map_or(Decision::Error("empty"), Decision::Option),
                };
                Ok(vec![decision; seeds.len()])
            }
        }
    }
}

/// The JSON schema of an object with one key, whose value is one of the options.
#[must_use]
pub fn schema(key: &str, options: &[&str]) -> String {
    json!({
        "type": "object",
        "properties": {key: {"type": "string", "enum": options}},
        "required": [key],
        "additionalProperties": false,
    })
    .to_string()
}

fn replies(
    chat: &dyn Chat,
    purpose: &Purpose,
    messages: &[Message],
    options: &[&str],
    seeds: &[u64],
) -> Result<Vec<Decision>, ExperimentError> {
    let schema = schema(KEY, options);
    let calls: Vec<ChatCall<'_>> = seeds
        .iter()
        .map(|seed| ChatCall {
            seed: Some(*seed),
            shape: ReplyShape::Json {
                name: "decision",
                schema: &schema,
            },
            ..ChatCall::new(purpose, messages, MAX_TOKENS)
        })
        .collect();
    let read = |reply| match reply {
        Err(error) => Ok(Decision::Error(fault(error)?)),
        Ok(memwarden_core::model::Reply { text, .. }) => Ok(parse(KEY, &text, options)),
    };
    chat.chat(&calls).into_iter().map(read).collect()
}

/// Reads a reply in the form of [`schema`].
#[must_use]
pub fn parse(key: &str, text: &str, options: &[&str]) -> Decision {
    let Ok(Value::Object(object)) = serde_json::from_str(text) else {
        return Decision::Error("schema");
    };
    let said = object.get(key).and_then(Value::as_str);
    let at = said.and_then(|said| options.iter().position(|option| *option == said));
    match at {
        Some(at) if object.len() == 1 => Decision::Option(at),
        _ => Decision::Error("schema"),
    }
}

/// How likely each option is as the model's reply, which is begun in the very form that the prompt asks for.
fn weigh(
    score: &dyn Score,
    purpose: &Purpose,
    messages: &[Message],
    options: &[&str],
) -> Result<Choice, ModelError> {
    let replies: Vec<String> = options.iter().map(|option| format!("{option}\"}}")).collect();
    let replies: Vec<&str> = replies.iter().map(String::as_str).collect();
    let asked = Asked {
        conversation: messages,
        prefix: "{\"decision\": \"",
    };
    choose(score, purpose, asked, &replies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden_core::model::{ScoreCall, Scored, TokenScore};

    const OPTIONS: [&str; 2] = ["skip", "check"];

    #[test]
    fn only_the_object_that_was_asked_for_is_a_decision() {
        let parse = |text| parse(KEY, text, &OPTIONS);
        assert_eq!(parse("{\"decision\": \"check\"}"), Decision::Option(1));
        for no in [
            "skip",
            "{\"decision\": \"Skip\"}",
            "{\"decision\": \"skip\", \"why\": \"x\"}",
            "{\"decision\": [\"skip\"]}",
            "I would say {\"decision\": \"skip\"}",
            "",
        ] {
            assert_eq!(parse(no), Decision::Error("schema"), "{no}");
        }
    }

    /// Gives the tokens of a continuation these log-probabilities.
    #[derive(Debug)]
    struct Weighs(fn(&ScoreCall<'_>) -> Vec<f64>);

    impl Score for Weighs {
        fn model(&self) -> &str {
            "weighs"
        }

        fn score(&self, calls: &[ScoreCall<'_>]) -> Vec<Result<Scored, ModelError>> {
            let token = |log_probability| TokenScore {
                text: "x".to_owned(),
                log_probability,
            };
            let weigh = |call: &ScoreCall<'_>| Scored {
                tokens: (self.0)(call).into_iter().map(token).collect(),
                usage: None,
            };
            calls.iter().map(|call| Ok(weigh(call))).collect()
        }
    }

    fn is_skip(call: &ScoreCall<'_>) -> bool {
        call.continuation.starts_with("skip")
    }

    #[test]
    fn a_forced_choice_takes_the_likelier_option() {
        let decider = Decider::ForcedChoice {
            score: Arc::new(Weighs(|call| vec![if is_skip(call) { -2.0 } else { -0.1 }])),
            usual: None,
        };
        let purpose = "answer".parse().unwrap();
        let asked = [Message::user("Is it done?")];
        let decided = decider.decide(&purpose, &asked, &OPTIONS, &[1, 2]).unwrap();
        assert_eq!(decided, [Decision::Option(1), Decision::Option(1)]);
        assert!(decider.decide(&purpose, &asked, &[], &[1]).is_err());
    }

    #[test]
    fn calibrated_by_a_question_about_nothing_a_model_that_likes_one_word_decides_by_what_it_reads() {
        // Likes the first option in any case, and the second one more than usual where the question is long.
        let biased = Weighs(|call| {
            let long = call.conversation.iter().any(|message| message.text.len() > 3);
            vec![match (is_skip(call), long) {
                (true, _) => -0.5,
                (false, true) => -2.0,
                (false, false) => -4.0,
            }]
        });
        let biased: Arc<dyn Score> = Arc::new(biased);
        let purpose = "answer".parse().unwrap();
        let asked = [Message::user("Is it done?")];
        let decided = |without: Option<&str>| {
            let nothing = without.map(|text| [Message::user(text)]);
            let nothing = nothing.as_ref().map(<[Message; 1]>::as_slice);
            let decider = Decider::forced(Arc::clone(&biased), &purpose, nothing, &OPTIONS).unwrap();
            decider.decide(&purpose, &asked, &OPTIONS, &[1]).unwrap()
        };
        assert_eq!(decided(None), [Decision::Option(0)]);
        assert_eq!(decided(Some("N/A")), [Decision::Option(1)]);
        assert_eq!(
            decided(Some("Is it done?")),
            [Decision::Option(0)],
            "the first of equals"
        );
    }

    #[test]
    fn a_reply_is_as_likely_as_all_its_tokens_together() {
        // The second option has three tokens, each likelier than the first's only one.
        let wordy: Arc<dyn Score> = Arc::new(Weighs(
            |call| if is_skip(call) { vec![-1.2] } else { vec![-0.5; 3] },
        ));
        let purpose = "answer".parse().unwrap();
        let asked = [Message::user("Is it done?")];
        let decider = Decider::forced(Arc::clone(&wordy), &purpose, None, &OPTIONS).unwrap();
        let decided = decider.decide(&purpose, &asked, &OPTIONS, &[1]).unwrap();
        assert_eq!(decided, [Decision::Option(0)]);
        let weighed = Decider::forced(wordy, &purpose, Some(&asked), &OPTIONS).unwrap();
        weighed.decide(&purpose, &asked, &["skip"], &[1]).unwrap_err();
    }

    /// Cannot be reached.
    #[derive(Debug)]
    struct Gone;

    impl Gone {
        fn lost() -> ModelError {
            ModelError::Unreachable {
                model: "gone".to_owned(),
                reason: "connection refused".to_owned(),
            }
        }
    }

    impl Score for Gone {
        fn model(&self) -> &str {
            "gone"
        }

        fn score(&self, calls: &[ScoreCall<'_>]) -> Vec<Result<Scored, ModelError>> {
            calls.iter().map(|_| Err(Self::lost())).collect()
        }
    }

    impl Chat for Gone {
        fn model(&self) -> &str {
            "gone"
        }

        fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<memwarden_core::model::Reply, ModelError>> {
            calls.iter().map(|_| Err(Self::lost())).collect()
        }
    }

    #[test]
    fn a_model_that_is_not_there_decides_nothing_and_is_no_fault_of_a_decision() {
        let purpose = "answer".parse().unwrap();
        let asked = [Message::user("Is it done?")];
        for decider in [
            Decider::Reply(Arc::new(Gone)),
            Decider::ForcedChoice {
                score: Arc::new(Gone),
                usual: None,
            },
        ] {
            let error = decider.decide(&purpose, &asked, &OPTIONS, &[1]).unwrap_err();
            assert!(matches!(error, ExperimentError::Model(_)), "{error}");
        }
    }
}
