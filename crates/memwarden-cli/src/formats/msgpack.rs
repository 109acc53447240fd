//! MessagePack as LangGraph writes it, turned into JSON values. Nothing is constructed and nothing is run: an
//! extension, which names a class and its arguments, becomes the list that it holds.

use serde_json::{Map, Number, Value};

/// Most levels, extensions included; as many as serde allows in JSON.
const MAX_DEPTH: usize = 128;

/// The value that the bytes hold, or what is wrong with them.
pub(super) fn to_json(bytes: &[u8]) -> Result<Value, String> {
    decode(bytes, MAX_DEPTH)
}

fn decode(mut bytes: &[u8], depth: usize) -> Result<Value, String> {
    let value =
        rmpv::decode::read_value_with_max_depth(&mut bytes, depth).map_err(|error| error.to_string())?;
    if !bytes.is_empty() {
        return Err(format!("{} bytes follow the value", bytes.len()));
    }
    Ok(converted(value, depth))
}

fn converted(value: rmpv::Value, depth: usize) -> Value {
    let below = depth.saturating_sub(1);
    match value {
        rmpv::Value::Nil => Value::Null,
        rmpv::Value::Boolean(value) => Value::Bool(value),
        rmpv::Value::Integer(value) => value
            .as_i64()
            .map(Value::from)
            .or_else(|| value.as_u64().map(Value::from))
            .unwrap_or_default(),
        rmpv::Value::F32(value) => Number::from_f64(value.into()).map_or(Value::Null, Value::Number),
        rmpv::Value::F64(value) => Number::from_f64(value).map_or(Value::Null, Value::Number),
        rmpv::Value::String(text) => Value::String(String::from_utf8_lossy(text.as_bytes()).into_owned()),
        rmpv::Value::Binary(bytes) => String::from_utf8(bytes).map_or(Value::Null, Value::String),
        rmpv::Value::Array(items) => items.into_iter().map(|item| converted(item, below)).collect(),
        rmpv::Value::Map(pairs) => object(pairs, below),
        rmpv::Value::Ext(_, payload) => match decode(&payload, below) {
            Ok(value) => value,
            // Not MessagePack inside: a time, or an array of numbers.
            Err(_) => String::from_utf8(payload).map_or(Value::Null, Value::String),
        },
    }
}

fn object(pairs: Vec<(rmpv::Value, rmpv::Value)>, depth: usize) -> Value {
    let mut map = Map::new();
    for (key, value) in pairs {
        let key = match converted(key, depth) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        map.insert(key, converted(value, depth));
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmpv::Value as Packed;

    fn packed(value: &Packed) -> Vec<u8> {
        let mut bytes = Vec::new();
        rmpv::encode::write_value(&mut bytes, value).unwrap();
        bytes
    }

    #[test]
    fn an_extension_becomes_what_it_holds() {
        let fields = Packed::Map(vec![("content".into(), "The gate opens at nine.".into())]);
        let inner = Packed::Array(vec!["chat.messages".into(), "Human".into(), fields]);
        let message = Packed::Ext(5, packed(&inner));
        let value = to_json(&packed(&Packed::Array(vec![message, Packed::Nil, 7.into()]))).unwrap();
        assert_eq!(
            value,
            serde_json::json!([["chat.messages", "Human", {"content": "The gate opens at nine."}], null, 7])
        );
    }

    #[test]
    fn depth_cuts_and_trailing_bytes_are_errors_that_do_not_overflow() {
        let deep = vec![0x91; 1_000_000];
        assert!(to_json(&deep).is_err());
        assert!(to_json(&packed(&Packed::from("whole"))[..3]).is_err());
        assert!(to_json(&[0xc0, 0xc0]).unwrap_err().contains("1 bytes follow"));
        let mut nested = packed(&Packed::from("bottom"));
        for _ in 0..300 {
            nested = packed(&Packed::Ext(0, nested));
        }
        assert!(to_json(&nested).is_ok());
    }
}
