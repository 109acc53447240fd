//! Takes the fields of one JSON object, each with the error that names field, value and expectation.

use super::Problem;
use super::place::{Place, described};
use memwarden_core::EntryError;
use serde_json::{Map, Value};

/// The fields of one object that were not taken yet, and where the object stands.
#[derive(Debug)]
pub(super) struct Fields {
    /// Where the object stands.
    pub(super) place: Place,
    map: Map<String, Value>,
}

impl Fields {
    /// The fields of the object at `place`.
    pub(super) const fn new(place: Place, map: Map<String, Value>) -> Self {
        Self { place, map }
    }

    /// The fields of `value` at `place`, which must be an object.
    pub(super) fn of(place: Place, value: Value, expected: &str) -> Result<Self, Problem> {
        match value {
            Value::Object(map) => Ok(Self { place, map }),
            other => Err(Problem {
                message: format!("{}: expected {expected}", described(&other)),
                place,
            }),
        }
    }

    /// Takes a text that must be there and not be blank.
    pub(super) fn text(&mut self, name: &str) -> Result<String, Problem> {
        match self.map.remove(name) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
            found => Err(self.wrong(name, found.as_ref(), "text that is not empty")),
        }
    }

    /// Takes a text that may be absent or null.
    pub(super) fn optional_text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            found => Err(self.wrong(name, found.as_ref(), "text")),
        }
    }

    /// Takes a value of one of our named types, absent or null for none.
    pub(super) fn optional_name<T>(&mut self, name: &str) -> Result<Option<T>, Problem>
    where
        T: std::str::FromStr<Err = EntryError>,
    {
        let text = self.optional_text(name)?;
        text.map(|text| text.parse())
            .transpose()
            .map_err(|error: EntryError| self.problem(error.to_string()))
    }

    /// Takes a value of one of our named types if it is one; anything else stays among the other fields.
    pub(super) fn known_name<T>(&mut self, name: &str) -> Option<T>
    where
        T: std::str::FromStr<Err = EntryError>,
    {
        let known = self.map.get(name)?.as_str()?.parse().ok()?;
        self.map.remove(name);
        Some(known)
    }

    /// Takes an object if it is one; anything else stays among the other fields.
    pub(super) fn known_object(&mut self, name: &str) -> Option<Map<String, Value>> {
        self.map.get(name)?.as_object()?;
        match self.map.remove(name) {
            Some(Value::Object(map)) => Some(map),
            _ => None,
        }
    }

    /// Takes a declaration: text becomes the declaration, anything else stays among the other fields.
    pub(super) fn declaration(&mut self, name: &str) -> Option<String> {
        self.map.get(name)?.as_str()?;
        match self.map.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Takes a list that must be there.
    pub(super) fn list(&mut self, name: &str) -> Result<Vec<Value>, Problem> {
        match self.map.remove(name) {
            Some(Value::Array(items)) => Ok(items),
            found => Err(self.wrong(name, found.as_ref(), "a list")),
        }
    }

    /// Takes a list that may be absent or null.
    pub(super) fn optional_list(&mut self, name: &str) -> Result<Vec<Value>, Problem> {
        match self.map.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(_) => self.list(name),
        }
    }

    /// Takes an object that may be absent or null.
    pub(super) fn optional_object(&mut self, name: &str) -> Result<Option<Map<String, Value>>, Problem> {
        match self.map.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(map)) => Ok(Some(map)),
            found => Err(self.wrong(name, found.as_ref(), "an object")),
        }
    }

    /// The id of the object in its own file: text or a whole number; it stays among the other fields.
    pub(super) fn id(&self) -> Result<Option<String>, Problem> {
        match self.map.get("id") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(id)) => Ok(Some(id.clone())),
            Some(Value::Number(id)) if id.is_i64() || id.is_u64() => Ok(Some(id.to_string())),
            found => Err(self.wrong("id", found, "text or a whole number")),
        }
    }

    /// Looks at a field without taking it.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// Drops a field.
    pub(super) fn discard(&mut self, name: &str) {
        self.map.remove(name);
    }

    /// The fields that nobody took.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.map
    }

    /// A problem with this object.
    pub(super) fn problem(&self, message: String) -> Problem {
        Problem {
            place: self.place.clone(),
            message,
        }
    }

    fn wrong(&self, name: &str, found: Option<&Value>, expected: &str) -> Problem {
        self.problem(match found {
            None => format!("field `{name}` is missing: expected {expected}"),
            Some(value) => format!("field `{name}` is {}: expected {expected}", described(value)),
        })
    }
}

/// The metadata that holds these fields, none if there are none.
pub(super) fn metadata(map: Map<String, Value>) -> Option<String> {
    (!map.is_empty()).then(|| Value::Object(map).to_string())
}
