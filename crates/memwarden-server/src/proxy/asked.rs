//! What the meter has to know of a request: the model, and, if the endpoint does not count, what was sent.
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

/// The model that a request names.
///
/// A body without one is refused here: it could be passed on, but not accounted for. So is one that names two, of
/// which the endpoint might take the other.
pub(super) fn model(body: &[u8]) -> Result<String, Problem> {
    #[derive(Deserialize)]
    struct Named {
        model: String,
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
    Ok(named.model)
}

/// What was sent, for counting.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prompt {
    /// Texts, in order.
    pub(super) texts: Vec<String>,
    /// Messages among which they stood.
    pub(super) messages: u64,
    /// Tokens that came as such.
    pub(super) tokens: u64,
}

/// Everything in a request that the model reads.
pub(super) fn prompt(route: Route, body: &[u8]) -> Prompt {
    let mut prompt = Prompt::default();
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else {
        return prompt;
    };
    match route {
        Route::Chat => {
            for message in body
                .get("messages")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                prompt.texts.extend(message_texts(message));
                prompt.messages += 1;
            }
            // The model reads the descriptions of tools as text, in a form that only the provider knows.
            for name in ["tools", "functions", "response_format"] {
                prompt.texts.extend(body.get(name).map(Value::to_string));
            }
        }
        Route::Embeddings => {
            if let Some(input) = body.get("input") {
                inputs(input, &mut prompt);
            }
        }
    }
    prompt
}

/// The texts of a message, or of a piece of one in a stream.
pub(super) fn message_texts(message: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    match message.get("content") {
        Some(Value::String(text)) => texts.push(text.clone()),
        Some(Value::Array(parts)) => {
            let parts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.extend(parts.map(str::to_owned));
        }
        _ => {}
    }
    for name in ["refusal", "reasoning_content"] {
        texts.extend(message.get(name).and_then(Value::as_str).map(str::to_owned));
    }
    let calls = message
        .get("tool_calls")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    for function in calls
        .filter_map(|call| call.get("function"))
        .chain(message.get("function_call"))
    {
        for name in ["name", "arguments"] {
            texts.extend(function.get(name).and_then(Value::as_str).map(str::to_owned));
        }
    }
    texts
}

fn inputs(input: &Value, prompt: &mut Prompt) {
    match input {
        Value::String(text) => prompt.texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| inputs(item, prompt)),
        Value::Number(_) => prompt.tokens += 1,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_cannot_be_accounted_for_is_refused() {
        assert_eq!(model(br#"{"model":"m","new":[1]}"#).unwrap(), "m");
        for body in [
            "",
            "[]",
            "{}",
            r#"{"model":1}"#,
            r#"{"model":""}"#,
            r#"{"model":"a","model":"b"}"#,
        ] {
            assert_eq!(model(body.as_bytes()).unwrap_err().code(), "bad_body", "{body}");
        }
    }

    #[test]
    fn what_the_model_reads_is_counted_whatever_its_form() {
        let body = br#"{"model":"m","messages":[{"role":"system","content":"be kind"},
            {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{}}]},
            {"role":"assistant","content":null,"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]}"#;
        assert_eq!(prompt(Route::Chat, body).texts, ["be kind", "look", "f", "{}"]);
        let tokens = prompt(Route::Embeddings, br#"{"model":"m","input":["a b",[1,2,3]]}"#);
        assert_eq!((tokens.texts, tokens.tokens), (vec!["a b".to_owned()], 3));
    }
}
