//! What every target checks: bytes of a file are read, screened and reported, or refused with a message.
//!
//! No panic, no overflow, no endless loop, no raw control character in a report, and nothing that is imported without
//! having passed the checks of an entry.

use memwarden::core::model::{Chat as _, ChatCall, Message, Purpose, Score as _, ScoreCall};
use memwarden::guard::preset;
use memwarden::model::{Gguf, LanguageModel, Meter, Metered, Prices};
use memwarden_cli::formats;
use memwarden_core::Limits;
use rusqlite::Connection;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

/// The whole way of a file through `import` and `scan`.
pub fn file(name: &str, bytes: &[u8]) {
    if let Ok(parsed) = formats::parse(name, bytes, Limits::default()) {
        for imported in &parsed.entries {
            assert_eq!(imported.entry.check(Limits::default()), Ok(()));
        }
    }
    if let Ok(parsed) = formats::read(name, bytes) {
        assert!(
            parsed
                .entries
                .iter()
                .all(|found| !found.entry.content.trim().is_empty())
        );
    }
    let policy = preset("sentinel-full").expect("the preset is built in");
    match memwarden_cli::scan::in_memory(name, bytes, &policy) {
        Ok(report) => assert!(!report.contains(|c: char| c.is_control() && c != '\n')),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The same for a value as LangGraph keeps it.
pub fn langgraph_value(bytes: &[u8]) {
    let mut database = Connection::open_in_memory().expect("memory is there");
    database
        .execute_batch(
            "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB)",
        )
        .expect("the table is made");
    let rows = [("msgpack", bytes), ("json", bytes), ("", bytes)];
    for (kind, value) in rows {
        database
            .execute(
                "INSERT INTO checkpoints VALUES ('t', 'c', ?1, ?2, NULL)",
                (kind, value),
            )
            .expect("the row is written");
    }
    let image = database.serialize("main").expect("the database is written");
    file("checkpoints.sqlite", &image);
}

/// A language model: read and asked, or refused with a message.
pub fn gguf(bytes: &[u8]) {
    let file = Gguf::parse(Path::new("model.gguf"), bytes.to_vec());
    let model = match file.and_then(LanguageModel::from_gguf) {
        Ok(model) => Metered::local(model, Arc::new(Meter::in_memory(Prices::default()))),
        Err(error) => {
            assert!(!error.to_string().contains(char::is_control));
            return;
        }
    };
    let purpose: Purpose = "fuzz".parse().expect("it is a name");
    let scored = model.score(&[ScoreCall::new(&purpose, "the", " memory")]).remove(0);
    assert!(scored.is_err() || scored.is_ok_and(|scored| scored.log_probability() <= 0.0));
    let messages = [Message::user("the memory")];
    let call = ChatCall::new(&purpose, &messages, NonZeroU32::MIN);
    let _ = model.chat(&[call]);
}

/// A baseline file.
pub fn baseline(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        match memwarden_cli::scan::baseline::parse(text) {
            Ok(known) => assert!(
                known
                    .iter()
                    .all(|known| known.content.len() == 64 && known.rule.contains('/'))
            ),
            Err(message) => assert!(!message.contains(|c: char| c.is_control())),
        }
    }
}

/// The header of a file of weights.
pub fn safetensors(bytes: &[u8]) {
    match memwarden::model::read_header(std::path::Path::new("weights"), bytes) {
        Ok(shapes) => assert!(shapes.len() <= bytes.len()),
        Err(error) => assert!(error.to_string().contains("`weights`")),
    }
}
