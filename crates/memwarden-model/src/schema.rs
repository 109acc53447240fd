//! Whether a reply is the JSON that was asked for: the part of JSON Schema that providers' strict modes offer.
//!
//! `type`, `properties`, `required`, `additionalProperties` (a boolean), `items`, `enum`, `const`, `minimum`,
//! `maximum`, `minItems`, `maxItems`, and what only describes. A schema that says more is refused before it is sent,
//! because what would not be checked would be believed.

use serde_json::{Map, Value};

const DESCRIBES: [&str; 7] = [
    "$schema",
    "$id",
    "title",
    "description",
    "default",
    "examples",
    "$comment",
];
const CHECKS: [&str; 11] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
];
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// A schema that can be checked in full.
#[derive(Debug, Clone)]
pub(crate) struct Schema(Value);

impl Schema {
    /// Reads a schema; the error says what in it cannot be checked.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|error| format!("the schema is not JSON: {error}"))?;
        can_check(&value, "schema")?;
        Ok(Self(value))
    }

    /// The schema, to be sent.
    pub(crate) const fn as_json(&self) -> &Value {
        &self.0
    }

    /// Checks a reply; the error says where and what.
    pub(crate) fn check(&self, reply: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(reply).map_err(|error| format!("it is not JSON: {error}"))?;
        check(&self.0, &value, "reply")
    }
}

fn can_check(schema: &Value, at: &str) -> Result<(), String> {
    let Value::Object(schema) = schema else {
        return Err(format!("`{at}` is not an object"));
    };
    for key in schema.keys() {
        if !CHECKS.contains(&key.as_str()) && !DESCRIBES.contains(&key.as_str()) {
            return Err(format!(
                "`{key}` in `{at}` is not checked: expected one of {}",
                CHECKS.join(", ")
            ));
        }
    }
    let names = types(schema);
    if schema.contains_key("type") && names.is_empty() {
        return Err(format!("`type` in `{at}` is neither a word nor a list of words"));
    }
    if let Some(name) = names.iter().find(|name| !TYPES.contains(name)) {
        return Err(format!("type `{name}` in `{at}` is not known"));
    }
    expect(schema, "required", at, |value| {
        value
            .as_array()
            .is_some_and(|names| names.iter().all(Value::is_string))
    })?;
    expect(schema, "enum", at, Value::is_array)?;
    expect(schema, "additionalProperties", at, Value::is_boolean)?;
    for bound in ["minimum", "maximum"] {
        expect(schema, bound, at, Value::is_number)?;
    }
    for bound in ["minItems", "maxItems"] {
        expect(schema, bound, at, Value::is_u64)?;
    }
    expect(schema, "properties", at, Value::is_object)?;
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (name, property) in properties {
            can_check(property, &format!("{at}.{name}"))?;
        }
    }
    schema
        .get("items")
        .map_or(Ok(()), |items| can_check(items, &format!("{at}[]")))
}

fn expect(
    schema: &Map<String, Value>,
    key: &str,
    at: &str,
    holds: impl Fn(&Value) -> bool,
) -> Result<(), String> {
    match schema.get(key) {
        Some(value) if !holds(value) => Err(format!("`{key}` in `{at}` has another form than expected")),
        _ => Ok(()),
    }
}

fn types(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) if names.iter().all(Value::is_string) => {
            names.iter().filter_map(Value::as_str).collect()
        }
        _ => Vec::new(),
    }
}

fn check(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Value::Object(schema) = schema else {
        return Ok(());
    };
    let names = types(schema);
    if !names.is_empty() && !names.iter().any(|name| is_a(value, name)) {
        return Err(format!("`{at}` is not of type {}", names.join(" or ")));
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.contains(value)
    {
        return Err(format!("`{at}` is none of the values that it may be"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Err(format!("`{at}` is not the value that it must be"));
    }
    let bound = |key| schema.get(key).and_then(Value::as_f64);
    if let Some(number) = value.as_f64()
        && (bound("minimum").is_some_and(|least| number < least)
            || bound("maximum").is_some_and(|most| number > most))
    {
        return Err(format!("`{at}` is out of its range"));
    }
    match value {
        Value::Object(fields) => check_object(schema, fields, at),
        Value::Array(items) => check_array(schema, items, at),
        _ => Ok(()),
    }
}

fn check_object(schema: &Map<String, Value>, fields: &Map<String, Value>, at: &str) -> Result<(), String> {
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Err(format!("`{at}.{name}` is missing"));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, field) in fields {
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => check(property, field, &format!("{at}.{name}"))?,
            None if is_closed => return Err(format!("`{at}` has a field that the schema does not know")),
            None => {}
        }
    }
    Ok(())
}

fn check_array(schema: &Map<String, Value>, items: &[Value], at: &str) -> Result<(), String> {
    let bound = |key| schema.get(key).and_then(Value::as_u64);
    let length = items.len() as u64;
    if bound("minItems").is_some_and(|least| length < least)
        || bound("maxItems").is_some_and(|most| length > most)
    {
        return Err(format!("`{at}` has {length} items, which is out of its range"));
    }
    if let Some(each) = schema.get("items") {
        for (index, item) in items.iter().enumerate() {
            check(each, item, &format!("{at}[{index}]"))?;
        }
    }
    Ok(())
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type": "object", "required": ["ok"], "additionalProperties": false, "properties": {
        "ok": {"type": "boolean"}, "n": {"type": ["integer", "null"], "minimum": 0},
        "tags": {"type": "array", "maxItems": 2, "items": {"enum": ["a", "b"]}}}}"#;

    #[test]
    fn a_reply_of_the_shape_is_admitted() {
        let schema = Schema::parse(SCHEMA).unwrap();
        for good in [
            r#"{"ok": true}"#,
            r#"{"ok": false, "n": 3.0, "tags": ["a", "b"]}"#,
            r#"{"ok": true, "n": null}"#,
        ] {
            assert_eq!(schema.check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn another_shape_is_refused_with_its_place() {
        let schema = Schema::parse(SCHEMA).unwrap();
        for (bad, place) in [
            (r#"{"ok": true"#, "not JSON"),
            ("[]", "`reply` is not of type object"),
            ("{}", "`reply.ok` is missing"),
            (r#"{"ok": "yes"}"#, "`reply.ok` is not of type boolean"),
            (r#"{"ok": true, "n": -1}"#, "`reply.n` is out of its range"),
            (
                r#"{"ok": true, "n": 1.5}"#,
                "`reply.n` is not of type integer or null",
            ),
            (r#"{"ok": true, "tags": ["a", "c"]}"#, "`reply.tags[1]` is none"),
            (
                r#"{"ok": true, "tags": ["a", "b", "a"]}"#,
                "`reply.tags` has 3 items",
            ),
            (
                r#"{"ok": true, "more": 1}"#,
                "a field that the schema does not know",
            ),
        ] {
            let error = schema.check(bad).unwrap_err();
            assert!(error.contains(place), "{bad}: {error}");
        }
    }

    #[test]
    fn a_schema_that_says_more_than_is_checked_is_refused() {
        for bad in [
            r#"{"pattern": "a"}"#,
            r#"{"properties": {"a": {"oneOf": []}}}"#,
            r#"{"type": "text"}"#,
            r#"{"type": 3}"#,
            r#"{"minimum": "1"}"#,
            "true",
            "{",
        ] {
            assert!(Schema::parse(bad).is_err(), "{bad}");
        }
    }
}
