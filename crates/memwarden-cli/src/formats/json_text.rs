//! Walks the text of a JSON document without building it: finds its strings, and where in the text a JSON
//! pointer points to.
//!
//! It keeps its own stack, so that no nesting is too deep for it, and it goes on where a document is damaged.
//! Not for checking a document: serde does that.

use super::place::pointer_segment;
use std::collections::{HashMap, HashSet};

/// Most levels that a pointer names; below them it ends in an ellipsis, so that pointers stay short.
const MAX_NAMED_LEVELS: usize = 32;

/// Calls `each` with the pointer and the text of every string that stands as a value, in their order.
pub(super) fn each_string(text: &str, mut each: impl FnMut(&str, &str)) {
    let mut walk = Walk::new(text);
    while let Some(seen) = walk.next() {
        if let Seen::Text { raw, .. } = seen {
            let said = unquoted(raw);
            each(&walk.pointer(), &said);
        }
    }
}

/// Where the values at these pointers begin, in bytes. One pass over the text, whatever is asked for.
pub(crate) fn locate(text: &str, wanted: &HashSet<&str>) -> HashMap<String, usize> {
    let mut found = HashMap::new();
    let mut walk = Walk::new(text);
    while found.len() < wanted.len()
        && let Some(seen) = walk.next()
    {
        let (Seen::Text { at, .. } | Seen::Open { at }) = seen;
        let pointer = match seen {
            Seen::Text { .. } => walk.pointer(),
            Seen::Open { .. } => walk.pointer_of_opened(),
        };
        if wanted.contains(pointer.as_str()) {
            found.entry(pointer).or_insert(at);
        }
    }
    found
}

/// What a string of a document says. One that JSON does not allow is taken as it stands.
fn unquoted(raw: &str) -> String {
    serde_json::from_str(raw).unwrap_or_else(|_| raw.trim_matches('"').to_owned())
}

/// A value, and the byte at which it begins.
enum Seen<'a> {
    /// A string with its quotes.
    Text { at: usize, raw: &'a str },
    /// A list or an object.
    Open { at: usize },
}

/// A list or an object that is open.
enum Level<'a> {
    List { index: usize },
    Object { key: Option<&'a str>, awaits_key: bool },
}

struct Walk<'a> {
    text: &'a str,
    at: usize,
    levels: Vec<Level<'a>>,
}

impl<'a> Walk<'a> {
    const fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            levels: Vec::new(),
        }
    }

    fn next(&mut self) -> Option<Seen<'a>> {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            let at = self.at;
            self.at += 1;
            match byte {
                b'{' => {
                    self.levels.push(Level::Object {
                        key: None,
                        awaits_key: true,
                    });
                    return Some(Seen::Open { at });
                }
                b'[' => {
                    self.levels.push(Level::List { index: 0 });
                    return Some(Seen::Open { at });
                }
                b'}' | b']' => {
                    self.levels.pop();
                }
                b',' => match self.levels.last_mut() {
                    Some(Level::List { index }) => *index += 1,
                    Some(Level::Object { awaits_key, .. }) => *awaits_key = true,
                    None => {}
                },
                b'"' => {
                    let raw = self.string(at);
                    match self.levels.last_mut() {
                        Some(Level::Object { key, awaits_key }) if *awaits_key => {
                            *key = Some(raw);
                            *awaits_key = false;
                        }
                        _ => return Some(Seen::Text { at, raw }),
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// The string that begins at `start`, quotes included; one that never ends goes to the end of the text.
    fn string(&mut self, start: usize) -> &'a str {
        let mut escaped = false;
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            self.at += 1;
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => break,
                _ => {}
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The pointer of the value that was seen last.
    fn pointer(&self) -> String {
        pointer(&self.levels)
    }

    /// The pointer of the list or object that was opened last.
    fn pointer_of_opened(&self) -> String {
        pointer(self.levels.split_last().map_or(&[], |(_, outer)| outer))
    }
}

fn pointer(levels: &[Level<'_>]) -> String {
    let mut pointer = String::new();
    for (depth, level) in levels.iter().enumerate() {
        pointer.push('/');
        if depth == MAX_NAMED_LEVELS {
            pointer.push('…');
            break;
        }
        match level {
            Level::List { index } => pointer.push_str(&index.to_string()),
            Level::Object { key, .. } => {
                pointer.push_str(&pointer_segment(&unquoted(key.unwrap_or_default())))
            }
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        each_string(text, |pointer, said| {
            found.push((pointer.to_owned(), said.to_owned()))
        });
        found
    }

    #[test]
    fn strings_come_with_the_pointer_that_serde_would_take() {
        let text = r#"{"a":[1,"x",{"b/c~":"y\n\u00e9"}],"d":{"e":["}","[",",\""]}}"#;
        let document: serde_json::Value = serde_json::from_str(text).unwrap();
        let found = strings(text);
        assert_eq!(found.len(), 5);
        for (pointer, said) in &found {
            assert_eq!(document.pointer(pointer).unwrap(), said, "{pointer}");
        }
    }

    #[test]
    fn damage_does_not_end_the_walk_and_depth_does_not_overflow_it() {
        assert_eq!(strings(r#"]}{"a": "one" "b": "two", ["three"#).len(), 4);
        let deep = format!("{}\"bottom\"", "[{\"a\":".repeat(1_000_000));
        let found = strings(&deep);
        assert_eq!(found.len(), 1);
        assert!(found[0].0.ends_with('…') && found[0].0.len() < 200, "{found:?}");
    }

    #[test]
    fn a_pointer_is_located_where_its_value_begins() {
        let text = "{\n \"a\": [\n  {\"b\": \"x\"}, \"y\"]}";
        let found = locate(text, &HashSet::from(["/a/0", "/a/1", "/a/0/b", "/nowhere"]));
        let begins = |pointer: &str| text.get(found[pointer]..).unwrap();
        assert!(begins("/a/0").starts_with("{\"b\""));
        assert!(begins("/a/1").starts_with("\"y\""));
        assert!(begins("/a/0/b").starts_with("\"x\""));
        assert_eq!(found.len(), 3);
    }
}
