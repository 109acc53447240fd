//! JSON as this project takes it: objects where objects are expected, and no key twice.
//!
//! What serde derives also accepts a list in an object's place, and lets the last of two equal keys win. A
//! line of input that says one thing twice says nothing.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A `T` that is written as an object.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// An object of `T`s.
#[derive(Debug)]
pub(crate) struct Named<T>(pub(crate) BTreeMap<String, T>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Named<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, T>()? {
                    if found.contains_key(&name) {
                        return Err(twice(&name));
                    }
                    found.insert(name, value);
                }
                Ok(Named(found))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// Any JSON value.
#[derive(Debug, Default)]
pub(crate) struct Json(pub(crate) Value);

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Json;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }

            fn visit_unit<E: Error>(self) -> Result<Json, E> {
                Ok(Json(Value::Null))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Json, E> {
                Ok(Json(Value::Bool(value)))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Json, E> {
                Ok(Json(Value::from(value)))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Json, E> {
                Ok(Json(Value::from(value)))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
                Ok(Json(Number::from_f64(value).map_or(Value::Null, Value::Number)))
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Json, E> {
                Ok(Json(Value::from(value)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
                let mut found = Vec::new();
                while let Some(Json(item)) = items.next_element()? {
                    found.push(item);
                }
                Ok(Json(Value::Array(found)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut found = Map::new();
                while let Some((name, Json(value))) = map.next_entry::<String, Json>()? {
                    if found.contains_key(&name) {
                        return Err(twice(&name));
                    }
                    found.insert(name, value);
                }
                Ok(Json(Value::Object(found)))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

fn twice<E: Error>(name: &str) -> E {
    E::custom(format!(
        "key `{}` stands twice in one object",
        crate::wire::short(name)
    ))
}

/// The text of a JSON object, as it is kept.
pub(crate) fn object_text(Named(members): Named<Json>) -> String {
    let object: Map<String, Value> = members
        .into_iter()
        .map(|(name, Json(value))| (name, value))
        .collect();
    Value::Object(object).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_it_stands() {
        let text = r#"{"a":[1,-2,0.5,"x\u00e9",true,null],"b":{"a":{}},"c":18446744073709551615}"#;
        let Json(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn a_key_that_stands_twice_is_refused_at_any_depth() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":[{"b":1,"b":2}]}"#,
            r#"{"\u0061":1,"a":2}"#,
        ] {
            let error = serde_json::from_str::<Json>(text).unwrap_err().to_string();
            assert!(error.contains("stands twice in one object"), "{error}");
            assert!(serde_json::from_str::<Named<Json>>(text).is_err());
        }
    }

    #[test]
    fn depth_is_limited() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let error = serde_json::from_str::<Json>(&deep).unwrap_err().to_string();
        assert!(error.contains("recursion limit"), "{error}");
    }

    #[test]
    fn a_list_does_not_stand_for_an_object() {
        #[derive(Debug, serde::Deserialize)]
        struct Point {
            #[expect(dead_code, reason = "only whether it is read matters")]
            x: u8,
        }
        assert!(serde_json::from_str::<Object<Point>>(r#"{"x":1}"#).is_ok());
        let error = serde_json::from_str::<Object<Point>>("[1]")
            .unwrap_err()
            .to_string();
        assert!(error.contains("expected an object"), "{error}");
    }
}
