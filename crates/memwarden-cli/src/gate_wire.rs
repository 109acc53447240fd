//! The JSON forms of actions and decisions.

use crate::output;
use memwarden::core::{Decided, Outcome, ParamValue, Params};
use memwarden::{Authorized, Receipted};
use serde_json::{Value, json};

/// Parameters from a JSON object whose keys were checked to be distinct; absent counts as none.
pub(crate) fn params(value: &Value) -> Result<Params, String> {
    let members = match value {
        Value::Null => return Ok(Params::default()),
        Value::Object(members) => members,
        _ => return Err("`params` is not an object: expected {name: value}".to_owned()),
    };
    let values = members
        .iter()
        .map(|(name, value)| Ok((name.clone(), param(name, value)?)));
    let values: Result<_, String> = values.collect();
    Params::new(values?).map_err(|error| error.to_string())
}

fn param(name: &str, value: &Value) -> Result<ParamValue, String> {
    Ok(match value {
        Value::Null => ParamValue::Null,
        Value::Bool(value) => ParamValue::Boolean(*value),
        Value::Number(number) => {
            // Two spellings of one double are one value (RFC 8785); one that no double holds is refused.
            let exact = number
                .as_i64()
                .is_none_or(|whole| whole.unsigned_abs() <= 9_007_199_254_740_991);
            let double = number
                .as_f64()
                .filter(|_| exact && (number.is_f64() || number.as_i64().is_some()));
            let expected = "expected a number that a double holds exactly";
            ParamValue::Number(double.ok_or_else(|| format!("parameter `{name}` is {number}: {expected}"))?)
        }
        Value::String(text) => ParamValue::String(text.clone()),
        Value::Array(items) => ParamValue::List(
            items
                .iter()
                .map(|item| param(name, item))
                .collect::<Result<_, _>>()?,
        ),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(name, value)| Ok((name.clone(), param(name, value)?)));
            ParamValue::Object(members.collect::<Result<_, String>>()?)
        }
    })
}

/// How a step ended.
pub(crate) fn outcome(text: &str) -> Result<Outcome, String> {
    [Outcome::Passed, Outcome::Failed, Outcome::Error]
        .into_iter()
        .find(|outcome| outcome.as_str() == text)
        .ok_or_else(|| {
            format!(
                "`outcome` is `{}`: expected passed, failed or error",
                crate::wire::short(text)
            )
        })
}

pub(crate) fn decided(decided: &Decided) -> Value {
    let reasons = decided.reasons.iter().map(|reason| {
        json!({
            "check": reason.check.as_str(),
            "about": reason.about,
            "text": reason.text,
            "records": reason.records.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    });
    json!({
        "decision": decided.decision.as_str(),
        "reasons": reasons.collect::<Vec<_>>(),
        "evidence": decided.evidence,
    })
}

pub(crate) fn authorized(authorized: &Authorized) -> Value {
    let mut value = decided(&authorized.decided);
    if let Some(object) = value.as_object_mut() {
        object.insert(
            "permit".to_owned(),
            json!(authorized.permit.map(|id| id.to_string())),
        );
        object.insert("action_sha256".to_owned(), json!(authorized.action.to_string()));
        object.insert("approved".to_owned(), json!(authorized.approved));
        object.insert("position".to_owned(), json!(authorized.position));
    }
    value
}

pub(crate) fn receipted(receipted: &Receipted) -> Value {
    json!({
        "position": receipted.position,
        "expires": output::time(receipted.expires),
        "findings": crate::wire::findings(&receipted.findings),
    })
}
