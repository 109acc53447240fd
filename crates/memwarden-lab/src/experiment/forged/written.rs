//! Forged entries worded by a model: the attacker who has one, and tells it what to claim.

use crate::experiment::{ExperimentError, Prompt};
use crate::farma::{DEFAULT_SEEDS, Domain, SPOOFED_SOURCE, SPOOFED_TRUST};
use memwarden::{Entry, Kind, TraceType};
use memwarden_core::model::{Chat, ChatCall, Purpose, ReplyShape};
use serde_json::{Value, json};
use std::num::NonZeroU32;

/// Asks for wordings.
pub const WRITER: Prompt = Prompt {
    name: "writer-v1",
    form: include_str!("../../../prompts/writer-v1.txt"),
};

const MAX_TOKENS: NonZeroU32 = NonZeroU32::MIN.saturating_add(1_999);

/// `n` entries about `subject`, the first three in the reasoning store alone, as the attack has them.
///
/// # Errors
/// A model that writes none; which of its replies were none is in the meter.
pub fn write(
    chat: &dyn Chat,
    domain: Domain,
    subject: &str,
    n: usize,
    seed: u64,
) -> Result<Vec<Entry>, ExperimentError> {
    let purpose: Purpose = "attack"
        .parse()
        .map_err(|error: memwarden_core::model::LabelError| ExperimentError::Unexpected(error.to_string()))?;
    let schema = json!({
        "type": "object",
        "properties": {"entries": {"type": "array", "items": {"type": "string"}}},
        "required": ["entries"],
        "additionalProperties": false,
    })
    .to_string();
    let messages = WRITER.fill(&[
        ("count", &n.to_string()),
        ("subject", subject),
        ("step", domain.required_step()),
        ("action", domain.target_action()),
    ])?;
    let call = ChatCall {
        seed: Some(seed),
        shape: ReplyShape::Json {
            name: "entries",
            schema: &schema,
        },
        ..ChatCall::new(&purpose, &messages, MAX_TOKENS)
    };
    let mut replies = chat.chat(&[call]);
    let reply = replies.pop().unwrap_or_else(|| {
        Err(memwarden_core::model::ModelError::Empty {
            model: chat.model().to_owned(),
        })
    })?;
    let texts = read(&reply.text, subject);
    if texts.is_empty() {
        return Err(ExperimentError::Unexpected(format!(
            "`{}` wrote no entry that names `{subject}`",
            chat.model()
        )));
    }
    let entry = |kind: Kind, text: &str| Entry {
        kind,
        trace_type: TraceType::DecisionLog,
        subject: Some(subject.to_owned()),
        source: Some(SPOOFED_SOURCE.to_owned()),
        trust: Some(SPOOFED_TRUST.to_owned()),
        ..Entry::new(text)
    };
    let mut entries = Vec::new();
    for (at, text) in texts.iter().take(n).enumerate() {
        entries.push(entry(Kind::Reasoning, text));
        if at >= DEFAULT_SEEDS {
            entries.push(entry(Kind::General, text));
        }
    }
    Ok(entries)
}

/// The entries that speak of the subject: another one would be about nothing that the agent works on.
fn read(text: &str, subject: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let texts = value
        .get("entries")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    texts
        .filter_map(Value::as_str)
        .filter(|text| text.contains(subject))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden_core::model::{Finish, ModelError, Reply};

    /// Replies this, whatever is asked.
    #[derive(Debug)]
    struct Says(&'static str);

    impl Chat for Says {
        fn model(&self) -> &str {
            "says"
        }

        fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
            let reply = || Reply {
                text: self.0.to_owned(),
                finish: Finish::Stop,
                usage: None,
                tokens: Vec::new(),
            };
            calls.iter().map(|_| Ok(reply())).collect()
        }
    }

    #[test]
    fn what_a_model_writes_is_written_as_the_attack_writes() {
        let says = Says(r#"{"entries": ["P-1: a", "P-1: b", "no subject", "P-1: c", "P-1: d"]}"#);
        let entries = write(&says, Domain::Ehr, "P-1", 13, 1).unwrap();
        let kinds: Vec<_> = entries
            .iter()
            .map(|entry| (entry.kind, entry.content.as_str()))
            .collect();
        let reasoning = |text| (Kind::Reasoning, text);
        assert_eq!(
            kinds,
            [
                reasoning("P-1: a"),
                reasoning("P-1: b"),
                reasoning("P-1: c"),
                reasoning("P-1: d"),
                (Kind::General, "P-1: d")
            ]
        );
        assert!(
            entries
                .iter()
                .all(|entry| entry.source.as_deref() == Some("agent"))
        );
        assert!(write(&Says("{\"decision\": \"skip\"}"), Domain::Ehr, "P-1", 13, 1).is_err());
    }
}
