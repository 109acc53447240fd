//! One cell: its id, and the configuration that its result follows from.

use memwarden_core::Digest;
use serde_json::Value;
use std::fmt;

/// The name of a cell, for example `ehr/full/plugin/warden`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(String);

impl CellId {
    /// From the values of its axes.
    #[must_use]
    pub fn of(parts: &[&str]) -> Self {
        Self(parts.join("/"))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A cell of a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its name, distinct within the experiment.
    pub id: CellId,
    /// A JSON object with everything that the result depends on.
    pub config: Value,
}

impl Cell {
    /// A cell.
    #[must_use]
    pub const fn new(id: CellId, config: Value) -> Self {
        Self { id, config }
    }

    /// SHA-256 of id and configuration. Keys of a JSON object are in order here, so one configuration has one digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(format!("{}\n{}", self.id, self.config).as_bytes())
    }
}

/// A number that depends on words and on `seed`.
#[must_use]
pub fn seed_of(words: &[&str], seed: u64) -> u64 {
    let digest = Digest::of(format!("{seed}\n{}", words.join("\n")).as_bytes());
    let bytes = digest.as_bytes().iter().take(8);
    bytes.fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_digest_follows_id_and_configuration_and_not_the_order_of_keys() {
        let cell = |id: &str, config| Cell::new(CellId::of(&[id]), config).digest();
        let known = cell("a", json!({"x": 1, "y": 2}));
        assert_eq!(known, cell("a", json!({"y": 2, "x": 1})));
        assert_ne!(known, cell("b", json!({"x": 1, "y": 2})));
        assert_ne!(known, cell("a", json!({"x": 1, "y": 3})));
    }
}
