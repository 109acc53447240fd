//! A TOML document with the line of every key, and readers of values that refuse with an error.
//!
//! For: the shape of values. Not for: which keys exist (`grammar`).

use super::error::{Line, PolicyError, nearest, shown};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parses `text` as TOML.
pub(super) fn document(text: &str) -> Result<Spanned<DeTable<'_>>, PolicyError> {
    DeTable::parse(text).map_err(|error| PolicyError::Syntax {
        line: error.span().map_or(Line(None), |span| line_at(text, span.start)),
        reason: shown(error.message()),
    })
}

/// A key of the document with its value.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    /// The last part of its path.
    pub(super) name: &'a str,
    /// The key with its table, as errors show it.
    pub(super) key: String,
    line: Line,
    value: &'a DeValue<'a>,
}

/// The items of `table`, which stands at `path`, in the order of the text.
pub(super) fn items<'a>(text: &str, path: &str, table: &'a DeTable<'a>) -> Vec<Item<'a>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let item = |(key, value): (&'a Spanned<_>, &'a Spanned<DeValue<'a>>)| {
        let name: &str = std::borrow::Cow::as_ref(key.get_ref());
        Item {
            name,
            key: if path.is_empty() {
                shown(name)
            } else {
                format!("{path}.{}", shown(name))
            },
            line: line_at(text, key.span().start),
            value: value.get_ref(),
        }
    };
    entries.into_iter().map(item).collect()
}

impl<'a> Item<'a> {
    /// The items of a table.
    pub(super) fn table(&self, text: &str) -> Result<Vec<Item<'a>>, PolicyError> {
        match self.value {
            DeValue::Table(table) => Ok(items(text, &self.key, table)),
            _ => Err(self.refuse_type("a table")),
        }
    }

    /// The tables of a list, each an item with the list's key and its own line.
    pub(super) fn tables(&self, text: &str, expected: &str) -> Result<Vec<Item<'a>>, PolicyError> {
        let list = self.value.as_array().ok_or_else(|| self.refuse_type(expected))?;
        let table = |value: &'a Spanned<DeValue<'a>>| {
            let item = Item {
                name: self.name,
                key: self.key.clone(),
                line: line_at(text, value.span().start),
                value: value.get_ref(),
            };
            match item.value {
                DeValue::Table(_) => Ok(item),
                _ => Err(item.refuse_type(expected)),
            }
        };
        list.iter().map(table).collect()
    }

    /// A string.
    pub(super) fn string(&self) -> Result<&'a str, PolicyError> {
        self.value.as_str().ok_or_else(|| self.refuse("a string"))
    }

    /// A list of strings.
    pub(super) fn strings(&self, expected: &str) -> Result<Vec<&'a str>, PolicyError> {
        let list = self.value.as_array().ok_or_else(|| self.refuse_type(expected))?;
        let string = |value: &'a Spanned<DeValue<'a>>| {
            let value = value.get_ref();
            value
                .as_str()
                .ok_or_else(|| self.refuse_value(&written(value), expected))
        };
        list.iter().map(string).collect()
    }

    /// One of `words`.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, PolicyError> {
        let given = self.value.as_str().unwrap_or_default();
        let found = words.iter().find(|(word, _)| *word == given);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| self.refuse(&one_of(words.iter().map(|(word, _)| *word))))
    }

    /// A decimal number from 0 with at most two decimals, in hundredths, read from its digits.
    pub(super) fn hundredths(&self) -> Result<u32, PolicyError> {
        let digits = match self.value {
            DeValue::Float(number) => hundredths(number.as_str()),
            DeValue::Integer(number) if number.radix() == 10 => hundredths(number.as_str()),
            _ => None,
        };
        digits.ok_or_else(|| self.refuse_type("a decimal number from 0 to 1 with at most two decimals"))
    }

    /// `true` or `false`, which are not strings.
    pub(super) fn boolean(&self) -> Result<bool, PolicyError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.refuse_type("true or false"))
    }

    /// A whole number from 1.
    pub(super) fn count(&self) -> Result<u64, PolicyError> {
        let number = self.value.as_integer();
        let value = number.and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok());
        // TOML's own integers end at 2^63 - 1; a store may not be able to hold more either.
        let fits = value.filter(|value| *value > 0 && i64::try_from(*value).is_ok());
        fits.ok_or_else(|| self.refuse_type("a whole number from 1 to 9223372036854775807"))
    }

    /// An error: the value as it is written is not what was expected.
    pub(super) fn refuse(&self, expected: &str) -> PolicyError {
        self.refuse_value(&written(self.value), expected)
    }

    /// The same where a string was not expected: one is shown in its quotes.
    pub(super) fn refuse_type(&self, expected: &str) -> PolicyError {
        match self.value {
            DeValue::String(text) => self.refuse_value(&format!("\"{text}\""), expected),
            value => self.refuse_value(&written(value), expected),
        }
    }

    /// An error about a part or a reading of the value.
    pub(super) fn refuse_value(&self, given: &str, expected: &str) -> PolicyError {
        PolicyError::Value {
            line: self.line,
            key: self.key.clone(),
            given: shown(given),
            expected: expected.to_owned(),
        }
    }

    /// An error: the grammar has no such key; `known` are the keys that stand there.
    pub(super) fn unknown(&self, known: &[&str]) -> PolicyError {
        PolicyError::UnknownKey {
            line: self.line,
            key: self.key.clone(),
            expected: one_of(known.iter().copied()),
            hint: hint(self.name, known),
        }
    }

    /// An error: this table has no key `name`.
    pub(super) fn missing(&self, name: &str, expected: &str) -> PolicyError {
        PolicyError::Missing {
            line: self.line,
            key: format!("{}.{name}", self.key),
            expected: expected.to_owned(),
        }
    }
}

/// A suggestion at the end of a message, or nothing.
pub(super) fn hint(given: &str, known: &[&str]) -> String {
    nearest(given, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// `a`, `b` or `c`, for a person.
pub(super) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nothing".to_owned(),
    }
}

fn written(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(value) => value.to_string(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Digits, and at most two decimals, to hundredths: no float is involved.
fn hundredths(number: &str) -> Option<u32> {
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = whole
        .bytes()
        .chain(decimals.bytes())
        .all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || decimals.len() > 2 || !all_digits {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let decimals: u32 = format!("{decimals:0<2}").parse().ok()?;
    whole.checked_mul(100)?.checked_add(decimals)
}

fn line_at(text: &str, at: usize) -> Line {
    let before = text.as_bytes().get(..at);
    Line(before.map(|before| before.iter().filter(|byte| **byte == b'\n').count() + 1))
}

#[cfg(test)]
mod tests {
    use super::hundredths;

    #[test]
    fn decimals_become_exact_hundredths() {
        for (text, value) in [
            ("0.45", 45),
            ("0.5", 50),
            ("1", 100),
            ("0.29", 29),
            ("0", 0),
            ("1.05", 105),
        ] {
            assert_eq!(hundredths(text), Some(value), "{text}");
        }
        for text in [
            "0.455",
            "-0.5",
            "nan",
            "inf",
            "1e-1",
            "",
            ".",
            "99999999999",
            "0.5.5",
        ] {
            assert_eq!(hundredths(text), None, "{text}");
        }
    }
}
