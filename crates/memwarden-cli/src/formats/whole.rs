//! Reads a file of any format for a scan: every text in it, also where the file is damaged or foreign.
//!
//! Not for `import`, which takes only what is a memory for certain and what a store would take.

use super::collector::{Collector, Taking};
use super::place::{Place, escaped};
use super::strings::{reads_like_text, strings_in, strings_of};
use super::text::{decoded, is_binary};
use super::{Format, FormatError, Imported, Parsed, Problem, chroma, crewai, database, letta, prose};
use super::{first_line, line_message, read_document, read_lines};
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;

/// Largest text or JSON file that is read: a JSON document takes about ten times its size in memory.
pub const MAX_TEXT_BYTES: u64 = 64 << 20;
/// Largest database that is read; all of it is held in memory, so that the file is never opened by SQLite.
pub const MAX_DATABASE_BYTES: u64 = 512 << 20;

/// What every SQLite database begins with.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// Names that end so are JSON, however damaged.
const JSON_EXTENSIONS: [&str; 4] = ["json", "jsonl", "ndjson", "af"];
/// Names that end so are Markdown.
const MARKDOWN_EXTENSIONS: [&str; 4] = ["md", "mdx", "mdc", "markdown"];
/// Rules for coding agents, which are Markdown without saying so.
const MARKDOWN_NAMES: [&str; 3] = [".cursorrules", ".windsurfrules", ".clinerules"];

/// Reads every text of a file. The name helps to tell Markdown from other text, and says what a damaged file was.
///
/// ```
/// use memwarden_cli::formats::{Format, read};
/// let read = read("MEMORY.md", b"# Build\n- Use the small runner.\n").unwrap();
/// assert_eq!(read.format, Format::Markdown);
/// assert_eq!(read.entries[1].entry.content, "Use the small runner.");
/// assert_eq!(read.entries[1].place.to_string(), "line 2");
/// ```
///
/// # Errors
/// The file is too large, is binary, or is a database that is damaged or holds Python pickles.
pub fn read(file_name: &str, bytes: &[u8]) -> Result<Parsed, FormatError> {
    let file = || escaped(file_name);
    let limit = max_bytes(bytes);
    let given = bytes.len() as u64;
    if given > limit {
        let file = file();
        return Err(FormatError::TooLarge { file, given, limit });
    }
    let mut collector = Collector::new(bytes.len(), Taking::Everything);
    if is_database(bytes) {
        let format = database::read(file_name, bytes, &mut collector)?;
        return Ok(collector.finish(format));
    }
    let named = Named::of(file_name);
    if is_foreign(file_name, bytes) {
        return Err(FormatError::Binary { file: file() });
    }
    let decoded = decoded(bytes);
    if let Some(problem) = decoded.problem {
        collector.problem(problem);
    }
    let text = &*decoded.text;
    let begins_json = text.trim_start().starts_with(['{', '[', '"']);
    let as_json = if named == Named::Json || begins_json {
        json(text, named, &mut collector)
    } else {
        None
    };
    let format = as_json.unwrap_or_else(|| {
        let format = match named {
            Named::Markdown => Format::Markdown,
            Named::Json | Named::PlainText | Named::Nothing => Format::Text,
        };
        prose::read(text, format, &mut collector);
        format
    });
    Ok(collector.finish(format))
}

/// Whether a file is a SQLite database, by its first bytes.
pub(crate) fn is_database(bytes: &[u8]) -> bool {
    bytes.starts_with(SQLITE_MAGIC)
}

/// How large a file that begins so may be.
pub(crate) fn max_bytes(head: &[u8]) -> u64 {
    if is_database(head) {
        MAX_DATABASE_BYTES
    } else {
        MAX_TEXT_BYTES
    }
}

/// Whether a file is binary and of no kind that [`read`] knows, by its name and its first bytes.
pub(crate) fn is_foreign(file_name: &str, head: &[u8]) -> bool {
    !is_database(head) && Named::of(file_name) == Named::Nothing && is_binary(head)
}

/// Whether a file is Markdown by its name.
pub(crate) fn is_markdown(file_name: &str) -> bool {
    Named::of(file_name) == Named::Markdown
}

/// What a file's name says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Json,
    Markdown,
    PlainText,
    Nothing,
}

impl Named {
    fn of(file_name: &str) -> Self {
        let path = Path::new(file_name);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_lowercase();
        let extension = extension.as_str();
        if JSON_EXTENSIONS.contains(&extension) {
            Self::Json
        } else if MARKDOWN_EXTENSIONS.contains(&extension) || MARKDOWN_NAMES.contains(&&*name) {
            Self::Markdown
        } else if extension == "txt" {
            Self::PlainText
        } else {
            Self::Nothing
        }
    }
}

/// Reads JSON, JSON lines, or what is left of them; none if it is neither.
fn json(text: &str, named: Named, collector: &mut Collector) -> Option<Format> {
    if text.trim().is_empty() {
        return None;
    }
    let error = match serde_json::from_str::<Value>(text) {
        Ok(Value::String(inner)) => return Some(inner_document(&inner, collector)),
        Ok(value) => return Some(document(text, value, collector)),
        Err(error) => error,
    };
    if let Ok(format) = read_lines(text, collector) {
        lines_left(text, format, collector);
        return Some(format);
    }
    if is_lines(text) {
        lines_left(text, Format::JsonLines, collector);
        return Some(Format::JsonLines);
    }
    let whole = serde_json::from_str::<IgnoredAny>(text).is_ok();
    if !whole {
        if named != Named::Json {
            return None;
        }
        collector.problem(Problem {
            place: Place::document(),
            message: format!("{error}: what can be told apart of it is read as text"),
        });
    }
    let before = collector.entries().len();
    strings_in(text, &Place::document(), &mut |place, id, text| {
        collector.text(place, Format::Json, id, text);
    });
    // Text that was named JSON has no strings to find.
    (whole || collector.entries().len() > before).then_some(Format::Json)
}

/// Most lines open an object, and one at least is whole.
fn is_lines(text: &str) -> bool {
    let (mut lines, mut open, mut whole) = (0_usize, 0_usize, false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        lines += 1;
        if line.starts_with('{') {
            open += 1;
            whole = whole || serde_json::from_str::<IgnoredAny>(line).is_ok();
        }
    }
    whole && lines > 1 && open * 2 > lines
}

/// What a JSON string holds; some agent files were saved as JSON twice.
fn inner_document(inner: &str, collector: &mut Collector) -> Format {
    match serde_json::from_str::<Value>(inner) {
        Ok(value) if !value.is_string() => document(inner, value, collector),
        _ => {
            collector.text(&Place::document(), Format::Json, None, inner);
            Format::Json
        }
    }
}

fn document(text: &str, value: Value, collector: &mut Collector) -> Format {
    if chroma::is_dump(&value) {
        chroma::read_dump(value, collector);
        return Format::Chroma;
    }
    if crewai::is_dump(&value) {
        crewai::read_dump(value, collector);
        return Format::CrewAi;
    }
    if let Ok(format) = read_document(value, first_line(text), collector) {
        document_left(text, format, collector);
        return format;
    }
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        strings_of(&value, &Place::document(), &mut |place, id, text| {
            collector.text(place, Format::Json, id, text);
        });
    }
    Format::Json
}

/// The texts of a document that stand where its format has nothing to be read, or something else.
fn document_left(text: &str, format: Format, collector: &mut Collector) {
    let messages = format == Format::LettaAgentFile;
    if collector.problems().is_empty() && !messages {
        return;
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let mut left = Left::after(collector);
    if messages {
        letta::messages(&value, &mut |place, id, text| left.take(place, id, text));
    }
    let pointers: Vec<String> = if collector.has_unlisted() {
        vec![String::new()]
    } else {
        let places = collector.problems().iter().map(|problem| &problem.place);
        places
            .filter_map(|place| match place {
                Place::Pointer(pointer) => Some(pointer.clone()),
                Place::Line(..) => Some(String::new()),
                Place::Text { .. } | Place::Cell(_) => None,
            })
            .collect()
    };
    for pointer in pointers {
        if let Some(value) = value.pointer(&pointer) {
            strings_of(value, &Place::Pointer(pointer), &mut |place, id, text| {
                left.take(place, id, text);
            });
        }
    }
    left.give(format, collector);
}

/// The texts of lines that gave no entry, or not all that they hold.
fn lines_left(text: &str, format: Format, collector: &mut Collector) {
    let mut left = Left::after(collector);
    let line_of = |place: &Place| match place {
        Place::Line(number, _) => Some(*number),
        _ => None,
    };
    let read: HashSet<usize> = collector
        .entries()
        .iter()
        .filter_map(|found| line_of(&found.place))
        .collect();
    let damaged: HashSet<usize> = collector
        .problems()
        .iter()
        .filter_map(|problem| line_of(&problem.place))
        .collect();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let done = read.contains(&number) && !damaged.contains(&number) && !collector.has_unlisted();
        if done || line.trim().is_empty() {
            continue;
        }
        let place = Place::line(number);
        let before = left.taken.len();
        strings_in(line, &place, &mut |place, id, text| left.take(place, id, text));
        if let Err(error) = serde_json::from_str::<IgnoredAny>(line) {
            // A line may be text that lies between the others, or be cut before its first quote.
            if left.taken.len() == before && reads_like_text(line) {
                left.take(&place, None, line);
            }
            if format == Format::JsonLines {
                let message = line_message(&error);
                collector.problem(Problem { place, message });
            }
        }
    }
    left.give(format, collector);
}

/// Texts that no entry holds yet.
pub(super) struct Left {
    hasher: RandomState,
    held: HashSet<u64>,
    taken: Vec<(Place, Option<String>, String)>,
}

impl Left {
    /// Nothing, beside what the collector holds.
    pub(super) fn after(collector: &Collector) -> Self {
        let mut left = Self {
            hasher: RandomState::new(),
            held: HashSet::new(),
            taken: Vec::new(),
        };
        for Imported { entry, .. } in collector.entries() {
            left.hold(&entry.content);
            if let Some(subject) = &entry.subject {
                left.hold(subject);
            }
            // What is screened beside an entry is not screened again.
            if let Some(metadata) = &entry.metadata
                && left.hold(metadata)
                && let Ok(value) = serde_json::from_str(metadata)
            {
                strings_of(&value, &Place::document(), &mut |_, _, text| {
                    left.hold(text);
                });
            }
        }
        left
    }

    fn hold(&mut self, text: &str) -> bool {
        self.held.insert(self.hasher.hash_one(text))
    }

    /// Takes a text if nothing holds it yet.
    pub(super) fn take(&mut self, place: &Place, id: Option<&str>, text: &str) {
        if self.hold(text) {
            self.taken
                .push((place.clone(), id.map(str::to_owned), text.to_owned()));
        }
    }

    /// Hands over what was taken.
    pub(super) fn give(self, format: Format, collector: &mut Collector) {
        for (place, id, text) in self.taken {
            collector.text(&place, format, id.as_deref(), text);
        }
    }
}
