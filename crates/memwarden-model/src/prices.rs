//! What tokens cost: a table with a date, in TOML.
//!
//! ```toml
//! date = "2026-11-30"
//!
//! [[price]]
//! model = "example-small"
//! prompt = 0.15       # US dollars for a million tokens
//! completion = 0.60
//! ```
//!
//! A model has one price. Two entries for it are refused with both lines: in the paper that this follows ("The
//! Price of Safety", arXiv 2609.22818) a stale entry overrode the right one and every cost was wrong five-fold.

use crate::call::Cost;
use memwarden_core::model::Usage;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// A price table was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PriceError {
    /// Not TOML, or other fields than expected.
    #[error("the price table cannot be read: {reason}")]
    Unreadable {
        /// Where and what.
        reason: String,
    },
    /// The date is none.
    #[error("date `{given}` of the price table is not valid: expected YYYY-MM-DD")]
    Date {
        /// What was given.
        given: String,
    },
    /// A price for a model without a name.
    #[error("`model` in line {line} is empty: expected the name that calls give")]
    Model {
        /// Where.
        line: usize,
    },
    /// Two prices for one model.
    #[error("model `{model}` has two prices, in line {first} and in line {second}: keep one")]
    Duplicate {
        /// The model.
        model: String,
        /// The line of the first entry's `model`.
        first: usize,
        /// The line of the second's.
        second: usize,
    },
    /// A price below zero, not finite, too large, or of more than six decimals.
    #[error(
        "{field} `{given}` in line {line} is not a price: expected dollars for a million tokens, 0 to 1000000, of at \
         most 6 decimals"
    )]
    Amount {
        /// `prompt` or `completion`.
        field: &'static str,
        /// What was given.
        given: String,
        /// Where.
        line: usize,
    },
}

/// The price of one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Of one token that is sent.
    pub prompt: Cost,
    /// Of one token that comes back.
    pub completion: Cost,
}

impl Price {
    /// What these tokens cost; `None` where that is more than can be written.
    #[must_use]
    pub fn of(self, usage: &Usage) -> Option<Cost> {
        let prompt = self.prompt.picodollars().checked_mul(usage.prompt)?;
        let completion = self.completion.picodollars().checked_mul(usage.completion)?;
        prompt.checked_add(completion).map(Cost::from_picodollars)
    }
}

/// The prices of models on a day. The empty table knows no price: every cost is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prices {
    date: Option<String>,
    prices: BTreeMap<String, Price>,
}

impl Prices {
    /// Reads a table.
    ///
    /// # Errors
    /// [`PriceError`].
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let table: Table = toml::from_str(text).map_err(|error| PriceError::Unreadable {
            reason: error.to_string().trim_end().to_owned(),
        })?;
        if !is_date(&table.date) {
            return Err(PriceError::Date { given: table.date });
        }
        let mut prices = BTreeMap::new();
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        for entry in table.price {
            let second = line_of(text, &entry.model);
            let model = entry.model.into_inner();
            if model.trim().is_empty() {
                return Err(PriceError::Model { line: second });
            }
            if let Some(first) = lines.insert(model.clone(), second) {
                return Err(PriceError::Duplicate { model, first, second });
            }
            let price = Price {
                prompt: amount(text, "prompt", &entry.prompt)?,
                completion: amount(text, "completion", &entry.completion)?,
            };
            prices.insert(model, price);
        }
        Ok(Self {
            date: Some(table.date),
            prices,
        })
    }

    /// The day of the table; `None` for the empty one.
    #[must_use]
    pub fn date(&self) -> Option<&str> {
        self.date.as_deref()
    }

    /// The price of a model by its exact name; `None` where it is unknown.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<Price> {
        self.prices.get(model).copied()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    date: String,
    #[serde(default)]
    price: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    model: Spanned<String>,
    prompt: Spanned<f64>,
    completion: Spanned<f64>,
}

/// Dollars for a million tokens are microdollars a token, times 10⁶ picodollars.
fn amount(text: &str, field: &'static str, given: &Spanned<f64>) -> Result<Cost, PriceError> {
    const LARGEST: f64 = 1_000_000.0;
    let scaled = given.get_ref() * 1e6;
    let whole = scaled.round();
    if !(0.0..=LARGEST).contains(given.get_ref()) || (scaled - whole).abs() > 1e-3 {
        return Err(PriceError::Amount {
            field,
            given: given.get_ref().to_string(),
            line: line_of(text, given),
        });
    }
    Ok(Cost::from_picodollars(whole as u64))
}

fn line_of<T>(text: &str, spanned: &Spanned<T>) -> usize {
    let before = text.as_bytes().iter().take(spanned.span().start);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// A day that there was, as YYYY-MM-DD, of this millennium.
fn is_date(text: &str) -> bool {
    let date = text.parse::<jiff::civil::Date>();
    date.is_ok_and(|date| date.to_string() == text && date.year() >= 2000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden_core::model::UsageSource;

    const TABLE: &str =
        "date = \"2026-11-30\"\n\n[[price]]\nmodel = \"small\"\nprompt = 0.15\ncompletion = 0.6\n";

    fn tokens(prompt: u64, completion: u64) -> Usage {
        Usage {
            prompt,
            completion,
            source: UsageSource::Provider,
        }
    }

    #[test]
    fn a_million_tokens_cost_what_the_table_says() {
        let price = Prices::parse(TABLE).unwrap().of("small").unwrap();
        assert_eq!(price.of(&tokens(1_000_000, 0)).unwrap().to_string(), "0.15");
        assert_eq!(price.of(&tokens(1, 1)).unwrap().to_string(), "0.00000075");
        // A sum that cannot be written is none.
        assert_eq!(price.of(&tokens(u64::MAX, 1)), None);
    }

    #[test]
    fn two_prices_for_one_model_are_refused_with_both_lines() {
        let twice = format!("{TABLE}\n[[price]]\nprompt = 9\ncompletion = 9\nmodel = \"small\"\n");
        let error = Prices::parse(&twice).unwrap_err();
        assert_eq!(
            error.to_string(),
            "model `small` has two prices, in line 4 and in line 11: keep one"
        );
    }

    #[test]
    fn a_model_that_is_not_in_the_table_has_no_price_rather_than_none_to_pay() {
        let prices = Prices::parse(TABLE).unwrap();
        assert_eq!(prices.of("Small"), None);
        assert_eq!(prices.of("small-2026"), None);
        assert_eq!(Prices::default().of("small"), None);
    }

    #[test]
    fn what_is_no_price_is_refused_with_its_line() {
        for bad in ["-0.15", "nan", "inf", "1e9", "0.00000015"] {
            let error = Prices::parse(&TABLE.replace("0.15", bad)).unwrap_err();
            assert!(
                matches!(
                    error,
                    PriceError::Amount {
                        field: "prompt",
                        line: 5,
                        ..
                    }
                ),
                "{bad}: {error}"
            );
        }
    }

    #[test]
    fn a_table_says_of_which_day_it_is() {
        assert_eq!(Prices::parse(TABLE).unwrap().date(), Some("2026-11-30"));
        for bad in [
            "2026-13-01",
            "2026-02-31",
            "2026-02-29",
            "30.11.2026",
            "2026-1-1",
            "20261130",
            "2026-11-30T00:00",
            "",
        ] {
            let error = Prices::parse(&TABLE.replace("2026-11-30", bad)).unwrap_err();
            assert!(matches!(error, PriceError::Date { .. }), "{bad}: {error}");
        }
        assert!(matches!(Prices::parse(""), Err(PriceError::Unreadable { .. })));
        let other = TABLE.replace("completion", "output");
        assert!(matches!(
            Prices::parse(&other),
            Err(PriceError::Unreadable { .. })
        ));
    }

    #[test]
    fn a_price_without_a_model_is_refused_with_its_line() {
        for name in ["", " "] {
            let error = Prices::parse(&TABLE.replace("small", name)).unwrap_err();
            assert!(matches!(error, PriceError::Model { line: 3.. }), "{error}");
        }
    }
}
