//! Parameters of an action: JSON values in their one canonical spelling (RFC 8785).
//!
//! What differs in any character after parsing hashes differently: permits and approvals are bound to this
//! hash. Reading JSON, and refusing duplicate keys, is the boundary's task.

use crate::{CanonicalValue, Digest};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Deepest nesting.
pub const MAX_PARAMETER_DEPTH: usize = 16;
/// Most parameters of one object.
pub const MAX_PARAMETERS: usize = 128;
/// Longest string in bytes.
pub const MAX_PARAMETER_BYTES: usize = 65_536;
/// Largest whole number that JSON carries exactly (RFC 7493 §2.2).
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// A parameter's value.
#[derive(Debug, Clone, PartialEq)]
pub enum ParamValue {
    /// `null`.
    Null,
    /// A truth value.
    Boolean(bool),
    /// A finite number; whole ones at most 2^53 - 1 in magnitude.
    Number(f64),
    /// Text.
    String(String),
    /// A list.
    List(Vec<ParamValue>),
    /// An object.
    Object(BTreeMap<String, ParamValue>),
}

/// Parameters that cannot be bound to anything.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// A number that other programs may read differently.
    #[error("parameter `{at}` is {given}: expected a finite number, whole ones at most 9007199254740991")]
    Number {
        /// Where.
        at: String,
        /// What was given.
        given: String,
    },
    /// Text with a character that is not seen.
    #[error("parameter `{at}` has the invisible character U+{code:04X}: expected visible text")]
    Invisible {
        /// Where.
        at: String,
        /// The character.
        code: u32,
    },
    /// Too much of something.
    #[error("parameter `{at}` has too many {what}: expected at most {limit}")]
    TooMuch {
        /// Where.
        at: String,
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// The checked parameters of one action.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params(BTreeMap<String, ParamValue>);

impl Params {
    /// Checks parameters.
    ///
    /// # Errors
    /// [`ParamError`], naming the parameter.
    pub fn new(values: BTreeMap<String, ParamValue>) -> Result<Self, ParamError> {
        let root = ParamValue::Object(values);
        check(&root, "", 0)?;
        match root {
            ParamValue::Object(values) => Ok(Self(values)),
            _ => Ok(Self::default()),
        }
    }

    /// One parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.get(name)
    }

    /// All parameters by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParamValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A parameter that is text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(ParamValue::String(text)) => Some(text),
            _ => None,
        }
    }

    /// RFC 8785 form of the parameters alone.
    #[must_use]
    pub fn to_canonical_json(&self) -> String {
        ParamValue::Object(self.0.clone()).to_canonical_json()
    }
}

impl ParamValue {
    /// RFC 8785 form.
    ///
    /// ```
    /// use memwarden_core::ParamValue;
    /// let list = ParamValue::List(vec![ParamValue::Number(1e21), ParamValue::Number(10.0), ParamValue::String("€\n".into())]);
    /// assert_eq!(list.to_canonical_json(), "[1e+21,10,\"€\\n\"]");
    /// ```
    #[must_use]
    pub fn to_canonical_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => out.push_str(ryu_js::Buffer::new().format(*value)),
            Self::String(text) => write_string(text, out),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                // RFC 8785 §3.2.3: by UTF-16 code units, which differs from byte order above U+FFFF.
                let mut sorted: Vec<_> = members.iter().collect();
                sorted.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
                out.push('{');
                for (at, (name, value)) in sorted.into_iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The scalar values in it, in canonical form; `None` for one that no text can mention: a truth value,
    /// `null`, an empty list or object. The names of an object's members count as values: whoever chooses them
    /// can say as much with them.
    #[must_use]
    pub fn scalars(&self) -> Vec<Option<CanonicalValue>> {
        match self {
            Self::Null | Self::Boolean(_) => vec![None],
            Self::Number(value) => {
                vec![Some(CanonicalValue::of_number(
                    ryu_js::Buffer::new().format(*value),
                ))]
            }
            Self::String(text) => vec![Some(CanonicalValue::of_text(text))],
            Self::List(items) if items.is_empty() => vec![None],
            Self::List(items) => items.iter().flat_map(Self::scalars).collect(),
            Self::Object(members) if members.is_empty() => vec![None],
            Self::Object(members) => members
                .iter()
                .flat_map(|(name, value)| {
                    std::iter::once(Some(CanonicalValue::of_text(name))).chain(value.scalars())
                })
                .collect(),
        }
    }
}

/// RFC 8785 §3.2.2.2.
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn check(value: &ParamValue, at: &str, depth: usize) -> Result<(), ParamError> {
    let too_much = |what, limit| {
        Err(ParamError::TooMuch {
            at: at.to_owned(),
            what,
            limit,
        })
    };
    if depth > MAX_PARAMETER_DEPTH {
        return too_much("levels", MAX_PARAMETER_DEPTH);
    }
    match value {
        ParamValue::Null | ParamValue::Boolean(_) => Ok(()),
        ParamValue::Number(number) => {
            let exact = number.is_finite() && (number.fract() != 0.0 || number.abs() <= MAX_SAFE_INTEGER);
            if exact {
                Ok(())
            } else {
                Err(ParamError::Number {
                    at: at.to_owned(),
                    given: number.to_string(),
                })
            }
        }
        ParamValue::String(text) => check_text(text, at),
        ParamValue::List(items) => {
            if items.len() > MAX_PARAMETERS {
                return too_much("items", MAX_PARAMETERS);
            }
            items
                .iter()
                .enumerate()
                .try_for_each(|(i, item)| check(item, &format!("{at}[{i}]"), depth + 1))
        }
        ParamValue::Object(members) => {
            if members.len() > MAX_PARAMETERS {
                return too_much("members", MAX_PARAMETERS);
            }
            members.iter().try_for_each(|(name, member)| {
                let at = if at.is_empty() {
                    name.clone()
                } else {
                    format!("{at}.{name}")
                };
                check_text(name, &at)?;
                check(member, &at, depth + 1)
            })
        }
    }
}

fn check_text(text: &str, at: &str) -> Result<(), ParamError> {
    if text.len() > MAX_PARAMETER_BYTES {
        return Err(ParamError::TooMuch {
            at: at.to_owned(),
            what: "bytes",
            limit: MAX_PARAMETER_BYTES,
        });
    }
    match text.chars().find(|c| is_invisible(*c)) {
        Some(c) => Err(ParamError::Invisible {
            at: at.to_owned(),
            code: u32::from(c),
        }),
        None => Ok(()),
    }
}

/// Control, bidirectional, zero-width and tag characters; line breaks and tabs are visible.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// RFC 8785 hash of an action: what permits are bound to.
#[must_use]
pub fn action_hash(tool: &str, params: &Params, namespace: &str, context: &str) -> Digest {
    let object = BTreeMap::from([
        ("context".to_owned(), ParamValue::String(context.to_owned())),
        ("namespace".to_owned(), ParamValue::String(namespace.to_owned())),
        ("parameters".to_owned(), ParamValue::Object(params.0.clone())),
        ("tool".to_owned(), ParamValue::String(tool.to_owned())),
    ]);
    Digest::of(ParamValue::Object(object).to_canonical_json().as_bytes())
}

/// What approvals are bound to: the action, the policy in force and the epoch.
#[must_use]
pub fn approval_hash(action: &Digest, policy: &Digest, epoch: u32) -> Digest {
    let object = BTreeMap::from([
        ("action".to_owned(), ParamValue::String(action.to_string())),
        ("epoch".to_owned(), ParamValue::Number(f64::from(epoch))),
        ("policy".to_owned(), ParamValue::String(policy.to_string())),
    ]);
    Digest::of(ParamValue::Object(object).to_canonical_json().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(values: &[(&str, ParamValue)]) -> Result<Params, ParamError> {
        Params::new(
            values
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
        )
    }

    fn string(text: &str) -> ParamValue {
        ParamValue::String(text.to_owned())
    }

    #[test]
    fn keys_are_sorted_by_utf_16_as_rfc_8785_shows() {
        // RFC 8785 §3.2.3, the names of its example.
        let names = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"];
        let object = names
            .iter()
            .map(|name| ((*name).to_owned(), ParamValue::Null))
            .collect();
        let json = ParamValue::Object(object).to_canonical_json();
        let order = [
            "\\r",
            "1",
            "\u{80}",
            "\u{f6}",
            "\u{20ac}",
            "\u{1f600}",
            "\u{fb33}",
        ];
        let places: Vec<_> = order
            .iter()
            .map(|name| json.find(&format!("\"{name}\"")).unwrap())
            .collect();
        assert!(places.is_sorted(), "{json}");
    }

    #[test]
    fn an_action_hashes_the_same_only_if_every_character_is_the_same() {
        let hash = |payee: &str| {
            action_hash(
                "pay",
                &params(&[("payee", string(payee))]).unwrap(),
                "default",
                "c",
            )
        };
        assert_eq!(hash("ACME"), hash("ACME"));
        for other in ["acme", "ACME ", "ＡＣＭＥ", "АСМЕ"] {
            assert_ne!(hash("ACME"), hash(other), "{other}");
        }
        let number = |value| {
            params(&[("n", ParamValue::Number(value))])
                .unwrap()
                .to_canonical_json()
        };
        assert_eq!(number(10.0), r#"{"n":10}"#);
    }

    #[test]
    fn what_cannot_be_bound_is_refused_by_name() {
        let refused = |value| params(&[("amount", value)]).unwrap_err().to_string();
        assert!(refused(ParamValue::Number(f64::NAN)).contains("`amount`"));
        assert!(refused(ParamValue::Number(1e17)).contains("9007199254740991"));
        assert!(refused(string("10\u{202e}0")).contains("U+202E"));
        let deep = (0..20).fold(ParamValue::Null, |inner, _| ParamValue::List(vec![inner]));
        assert!(refused(deep).contains("levels"));
    }
}
