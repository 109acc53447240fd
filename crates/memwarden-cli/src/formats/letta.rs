//! Letta agent files: memory blocks and archival passages.
//!
//! Not messages (context, not long-term memory) except for a scan, not tools, not source files (documents, not memories).

use super::fields::{Fields, metadata};
use super::place::Place;
use super::strings::{Each, strings_of};
use super::{Collector, Format, Problem, read_each};
use memwarden_core::Entry;
use serde_json::Value;

/// Where blocks stand: in the file (current), in an agent (given inline), or in the oldest files.
const BLOCK_LISTS: [&str; 3] = ["blocks", "memory_blocks", "core_memory"];
/// Where archival passages stand; which one depends on the exporter.
const PASSAGE_LISTS: [&str; 3] = ["passages", "archival_passages", "archival_memory"];

/// Reads an agent file.
pub(super) fn read(document: Value, collector: &mut Collector) {
    match Fields::of(Place::document(), document, "an object") {
        Err(problem) => collector.problem(problem),
        Ok(mut file) => {
            lists(&mut file, collector);
            match file.optional_list("agents") {
                Err(problem) => collector.problem(problem),
                Ok(agents) => {
                    for (index, agent) in agents.into_iter().enumerate() {
                        let place = Place::document().field("agents").item(index);
                        match Fields::of(place, agent, "an agent") {
                            Ok(mut agent) => lists(&mut agent, collector),
                            Err(problem) => collector.problem(problem),
                        }
                    }
                }
            }
        }
    }
}

/// Calls `each` with the texts of every message that is not the system's, for a scan: they are no long-term memory,
/// but they come back into the context of whoever loads the file.
pub(super) fn messages(document: &Value, each: &mut Each<'_>) {
    let agents = document
        .get("agents")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let in_agents = agents.enumerate().map(|(index, agent)| {
        let place = Place::document().field("agents").item(index);
        (place, agent)
    });
    for (place, holder) in in_agents.chain([(Place::document(), document)]) {
        let messages = holder
            .get("messages")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        for (index, message) in messages.enumerate() {
            let place = place.field("messages").item(index);
            if message.get("role").and_then(Value::as_str) != Some("system") {
                strings_of(message, &place, each);
            }
        }
    }
}

/// Reads the blocks and passages that one object holds.
fn lists(holder: &mut Fields, collector: &mut Collector) {
    let blocks = BLOCK_LISTS.map(|name| (name, block as fn(_, &mut _) -> _));
    let passages = PASSAGE_LISTS.map(|name| (name, passage as _));
    for (name, read) in blocks.into_iter().chain(passages) {
        match holder.optional_list(name) {
            Err(problem) => collector.problem(problem),
            Ok(items) => {
                let list = holder.place.field(name);
                read_each(&list, items, Format::LettaAgentFile, read, collector);
            }
        }
    }
}

/// A block: its label is the subject, its value the content. A block without a value is no memory yet.
fn block(mut block: Fields, collector: &mut Collector) -> Result<(), Problem> {
    if block
        .get("value")
        .and_then(Value::as_str)
        .is_some_and(|value| value.trim().is_empty())
    {
        return Ok(());
    }
    let subject = Some(block.text("label")?);
    let content = block.text("value")?;
    entry(block, subject, content, collector)
}

/// A passage: text under the name that the exporter used.
fn passage(mut passage: Fields, collector: &mut Collector) -> Result<(), Problem> {
    let name = if passage.get("content").is_some() {
        "content"
    } else {
        "text"
    };
    let content = passage.text(name)?;
    entry(passage, None, content, collector)
}

fn entry(
    fields: Fields,
    subject: Option<String>,
    content: String,
    collector: &mut Collector,
) -> Result<(), Problem> {
    let id = fields.id()?;
    let place = fields.place.clone();
    let mut rest = fields.rest();
    rest.retain(|_, value| !value.is_null());
    let entry = Entry {
        subject,
        metadata: metadata(rest),
        ..Entry::new(content)
    };
    collector.entry(&place, Format::LettaAgentFile, id.as_deref(), entry);
    Ok(())
}
