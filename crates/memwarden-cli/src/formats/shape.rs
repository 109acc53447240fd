//! Tells by its fields what one JSON object is. It reads no field's value but `type`.

use super::fields::Fields;
use super::place::{Place, described};
use super::{Collector, Format, Problem, jsonl, mcp, mem0};
use serde_json::Value;

/// What one row of a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// An entity of the MCP memory server.
    Entity,
    /// A relation of the MCP memory server.
    Relation,
    /// A memory as mem0 lists it.
    Memory,
    /// A row with `content`.
    Row,
}

impl Shape {
    /// The shape of a value, if it is one that can be read.
    pub(super) fn of(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let has = |name| map.contains_key(name);
        match map.get("type").and_then(Value::as_str) {
            Some("entity") if has("name") => return Some(Self::Entity),
            Some("relation") if has("from") => return Some(Self::Relation),
            _ => {}
        }
        if has("name") && (has("entityType") || has("observations")) {
            Some(Self::Entity)
        } else if has("from") && has("to") && has("relationType") {
            Some(Self::Relation)
        } else if has("memory") {
            Some(Self::Memory)
        } else if has("content") {
            Some(Self::Row)
        } else {
            None
        }
    }

    /// The format that such rows belong to.
    pub(super) const fn format(self) -> Format {
        match self {
            Self::Entity | Self::Relation => Format::McpMemory,
            Self::Memory => Format::Mem0,
            Self::Row => Format::Jsonl,
        }
    }

    /// Reads a row of this shape.
    pub(super) fn read(self, row: Fields, collector: &mut Collector) {
        let done = match self {
            Self::Entity => mcp::entity(row, collector),
            Self::Relation => mcp::relation(row, collector),
            Self::Memory => mem0::memory(row, collector),
            Self::Row => jsonl::row(row, collector),
        };
        if let Err(problem) = done {
            collector.problem(problem);
        }
    }
}

/// The format that most rows have; of equally frequent ones the first in the order of [`Format`].
pub(super) fn most_frequent(shapes: &[Option<Shape>]) -> Option<Format> {
    let count = |format| {
        shapes
            .iter()
            .flatten()
            .filter(|shape| shape.format() == format)
            .count()
    };
    [Format::Mem0, Format::Jsonl, Format::McpMemory]
        .into_iter()
        .map(|format| (count(format), format))
        .filter(|(count, _)| *count > 0)
        .max_by_key(|(count, _)| *count)
        .map(|(_, format)| format)
}

/// The problem with a value that does not belong into a file of this format.
pub(super) fn unexpected(place: &Place, value: &Value, format: Format) -> Problem {
    let expected = match format {
        Format::McpMemory => {
            "an entity with `name` and `observations`, or a relation with `from`, `to` and `relationType`"
        }
        Format::Jsonl => "an object with `content`",
        Format::Mem0 => "an object with `memory`",
        Format::LettaAgentFile => "a memory block or a passage",
        _ => "a memory",
    };
    let kind = value.get("type").filter(|_| format == Format::McpMemory);
    let of_type = kind.map_or_else(String::new, |kind| {
        format!(" whose `type` is {}", described(kind))
    });
    Problem {
        place: place.clone(),
        message: format!("{}{of_type}: expected {expected}", described(value)),
    }
}
