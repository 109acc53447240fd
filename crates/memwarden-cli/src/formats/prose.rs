//! Running text and Markdown: which lines belong together.
//!
//! A list item is one entry, a paragraph is one, a heading is one and the subject of what follows it. A fenced
//! block of code stays with the paragraph or item before it, because that is what speaks of it. Every line that
//! is not blank is in exactly one entry, as it stands in the file: what a Markdown reader would not show
//! (comments, link definitions) is screened like the rest. Not a Markdown parser.

use super::Collector;
use super::Format;
use super::place::{Place, pointer_segment};
use memwarden_core::Entry;

/// Reads a text.
pub(super) fn read(text: &str, format: Format, collector: &mut Collector) {
    let mut pieces = Pieces::default();
    let mut offset = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        pieces.line(index + 1, offset, line, format);
        offset += line.len();
    }
    pieces.close();
    let mut headings: Vec<(usize, String)> = Vec::new();
    for piece in pieces.done {
        let Some(content) = text.get(piece.start..piece.end).map(str::trim_end) else {
            continue;
        };
        let place = Place::Text {
            line: piece.line,
            last_line: piece.last_line,
            offset: piece.start,
        };
        if let Some(level) = piece.heading {
            headings.retain(|(outer, _)| *outer < level);
            let title = content.trim_start_matches(['#', ' ', '\t']);
            headings.push((level, pointer_segment(title)));
        }
        let subject = headings.last().filter(|_| piece.heading.is_none());
        let entry = Entry {
            subject: subject.map(|(_, heading)| heading.clone()),
            ..Entry::new(content)
        };
        collector.entry(&place, format, None, entry);
    }
}

/// Lines that belong together.
#[derive(Debug)]
struct Piece {
    start: usize,
    end: usize,
    line: usize,
    last_line: usize,
    heading: Option<usize>,
}

#[derive(Debug, Default)]
struct Pieces {
    done: Vec<Piece>,
    open: Option<Piece>,
    /// The fence that is open: its character and how many of them.
    fence: Option<(char, usize)>,
}

impl Pieces {
    fn line(&mut self, number: usize, offset: usize, line: &str, format: Format) {
        if let Some((mark, count)) = self.fence {
            let closes = matches!(fence(line), Some((other, length)) if other == mark && length >= count)
                && line.trim().chars().all(|c| c == mark);
            if closes {
                self.fence = None;
            }
            self.extend(number, offset, line);
            if closes {
                self.close();
            }
            return;
        }
        let indent = line.len() - line.trim_start().len();
        if line.trim().is_empty() {
            self.close();
        } else if format == Format::Text {
            self.extend_or_start(number, offset, offset + indent, line);
        } else if let Some(opened) = fence(line) {
            self.reopen();
            self.fence = Some(opened);
            self.extend_or_start(number, offset, offset, line);
        } else if let Some(level) = heading(line) {
            self.close();
            self.start(number, offset + indent, offset + line.len());
            if let Some(piece) = &mut self.open {
                piece.heading = Some(level);
            }
            self.close();
        } else if let Some(marker) = item_marker(line) {
            self.close();
            self.start(number, offset + marker, offset + line.len());
        } else {
            self.extend_or_start(number, offset, offset + indent, line);
        }
    }

    fn start(&mut self, line: usize, start: usize, end: usize) {
        self.open = Some(Piece {
            start,
            end,
            line,
            last_line: line,
            heading: None,
        });
    }

    fn extend(&mut self, number: usize, offset: usize, line: &str) {
        if let Some(piece) = &mut self.open {
            piece.end = offset + line.len();
            if !line.trim().is_empty() {
                piece.last_line = number;
            }
        }
    }

    fn extend_or_start(&mut self, number: usize, offset: usize, start: usize, line: &str) {
        if self.open.is_some() {
            self.extend(number, offset, line);
        } else {
            self.start(number, start, offset + line.len());
        }
    }

    fn close(&mut self) {
        self.done.extend(self.open.take());
    }

    /// Goes on with the paragraph or item that was closed last: a fence belongs to it.
    fn reopen(&mut self) {
        if self.open.is_none() && self.done.last().is_some_and(|piece| piece.heading.is_none()) {
            self.open = self.done.pop();
        }
    }
}

/// The character of a code fence and how many of them open the line.
fn fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let count = line.chars().take_while(|c| *c == mark).count();
    (count >= 3).then_some((mark, count))
}

/// The level of a heading.
fn heading(line: &str) -> Option<usize> {
    let line = line.trim_start();
    let level = line.chars().take_while(|c| *c == '#').count();
    let after = line.chars().nth(level);
    ((1..=6).contains(&level) && after.is_none_or(char::is_whitespace)).then_some(level)
}

/// How many bytes stand before the text of a list item.
fn item_marker(line: &str) -> Option<usize> {
    let body = line.trim_start();
    let digits = body.chars().take_while(char::is_ascii_digit).count();
    let mark = if digits == 0 {
        body.starts_with(['-', '*', '+']).then_some(1)
    } else {
        let after = body.chars().nth(digits);
        (digits <= 9 && matches!(after, Some('.' | ')'))).then_some(digits + 1)
    }?;
    let rest = body.get(mark..)?;
    let text = rest.trim_start();
    (rest.starts_with([' ', '\t']) && !text.is_empty()).then(|| line.len() - text.len())
}

#[cfg(test)]
mod tests {
    use super::super::collector::Taking;
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    fn entries(text: &str) -> Vec<super::super::Imported> {
        let mut collector = Collector::new(text.len(), Taking::Everything);
        read(text, Format::Markdown, &mut collector);
        collector.finish(Format::Markdown).entries
    }

    #[test]
    fn items_paragraphs_and_headings_are_entries_and_fences_stay_with_their_paragraph() {
        let text = "# Build\n\nUse the small runner\nfor pull requests:\n\n```sh\nmake\n\n# not a heading\n```\n\n\
                    - first item\n  goes on\n- second item\n  1. nested\n\n<!-- hidden\nnote -->\n## Style\n* tabs\n";
        let shown: String = entries(text)
            .iter()
            .map(|found| {
                let subject = found.entry.subject.as_deref().unwrap_or("-");
                format!("{} [{subject}] {:?}\n", found.place, found.entry.content)
            })
            .collect();
        expect![[r###"
            line 1 [-] "# Build"
            lines 3-10 [Build] "Use the small runner\nfor pull requests:\n\n```sh\nmake\n\n# not a heading\n```"
            lines 12-13 [Build] "first item\n  goes on"
            line 14 [Build] "second item"
            line 15 [Build] "nested"
            lines 17-18 [Build] "<!-- hidden\nnote -->"
            line 19 [-] "## Style"
            line 20 [Style] "tabs"
        "###]]
        .assert_eq(&shown);
    }

    proptest! {
        #[test]
        fn every_line_that_is_not_blank_is_in_exactly_one_entry(
            lines in prop::collection::vec("(|  )(# |- |12\\. |```|~~~|)[a-c ]{0,3}", 0..30)
        ) {
            let text = lines.join("\n");
            let found = entries(&text);
            for (index, line) in lines.iter().enumerate() {
                let covering = found.iter().filter(|found| match found.place {
                    Place::Text { line, last_line, .. } => (line..=last_line).contains(&(index + 1)),
                    _ => false,
                });
                let covering = covering.count();
                if line.trim().is_empty() {
                    prop_assert!(covering <= 1);
                } else {
                    prop_assert_eq!(covering, 1, "{:?} of {:?}: {:?}", line, text, found);
                }
            }
            for entry in &found {
                let Place::Text { offset, .. } = entry.place else { panic!("{entry:?}") };
                prop_assert!(text.get(offset..).unwrap().starts_with(&entry.entry.content));
            }
        }
    }
}
