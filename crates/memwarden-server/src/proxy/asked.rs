//! What the meter has to know of a request: the model, and how many choices it asks for. `prompt` reads what was sent,
//! where the endpoint does not count it.
//!
//! Nothing here changes a request. Fields that are not read are not looked at.

use super::problem::Problem;
use serde::Deserialize;
use serde_json::Value;

/// Longest name of a model, in bytes. A line of the meter has an end.
const LONGEST_MODEL: usize = 512;

/// What is asked of the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/embeddings`
    Embeddings,
}

/// What a request names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) model: String,
    /// Replies to one prompt, `n` of the protocol.
    pub(super) choices: usize,
}

/// Reads a request.
///
/// A body that names no model is refused here: it could be passed on, but not accounted for. So is one that names two,
/// of which the endpoint might take the other.
pub(super) fn read(body: &[u8]) -> Result<Asked, Problem> {
    #[derive(Deserialize)]
    struct Named {
        model: String,
        n: Option<Value>,
    }
    // A list of the right values would be read as well.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::Json("expected `{` at its begin".to_owned()));
    }
    let named: Named = serde_json::from_slice(body).map_err(|error| Problem::Json(error.to_string()))?;
    if named.model.is_empty() {
        return Err(Problem::Json("`model` is empty; expected a name".to_owned()));
    }
    if named.model.len() > LONGEST_MODEL {
        return Err(Problem::Json(format!(
            "`model` is longer than {LONGEST_MODEL} bytes"
        )));
    }
    let choices = named.n.as_ref().and_then(Value::as_u64).unwrap_or(1);
    Ok(Asked {
        model: named.model,
        choices: usize::try_from(choices).unwrap_or(usize::MAX),
    })
}

/// The texts of a message that came, or of a piece of one in a stream.
pub(super) fn message_texts(message: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    match message.get("content") {
        Some(Value::String(text)) => texts.push(text.as_str()),
        Some(Value::Array(parts)) => {
            texts.extend(parts.iter().filter_map(|part| part.get("text")?.as_str()));
        }
        _ => {}
    }
    for name in ["refusal", "reasoning_content"] {
        texts.extend(message.get(name).and_then(Value::as_str));
    }
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let functions = calls
        .into_iter()
        .flatten()
        .filter_map(|call| call.get("function"));
    for function in functions.chain(message.get("function_call")) {
        for name in ["name", "arguments"] {
            texts.extend(function.get(name).and_then(Value::as_str));
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_cannot_be_accounted_for_is_refused() {
        let asked = read(b" {\"model\":\"m\",\"new\":[1],\"n\":3}").unwrap();
        assert_eq!((asked.model.as_str(), asked.choices), ("m", 3));
        assert_eq!(read(br#"{"model":"m","n":null}"#).unwrap().choices, 1);
        for body in [
            "",
            "[]",
            "{}",
            r#"["gpt-4o"]"#,
            r#"["gpt-4o", 1]"#,
            r#"{"model":1}"#,
            r#"{"model":""}"#,
            r#"{"model":"a","model":"b"}"#,
        ] {
            assert_eq!(read(body.as_bytes()).unwrap_err().code(), "bad_body", "{body}");
        }
    }
}
