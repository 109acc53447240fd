//! Where each byte of a normalized text came from.
//!
//! For: giving findings a span in the text as it is stored. Not for: views, which have one span as a whole.

use std::ops::Range;

/// The way back from a normalized text to its source, as runs of equal shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Offsets {
    /// Byte for byte the same places.
    Identity,
    /// In order of both texts.
    Pieces(Vec<Piece>),
}

/// A stretch of the normalized text that begins at `out`; it ends where the next piece begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    out: usize,
    source: usize,
    source_end: usize,
    shape: Shape,
}

/// How the bytes of a piece relate to those of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Character for character of equal length.
    Even,
    /// Only as a whole.
    Block,
}

impl Offsets {
    /// The span of the source that `range` of the normalized text came from. What was removed at either end is
    /// left out, what was removed inside is in.
    pub(super) fn source(&self, range: &Range<usize>, source: &str) -> Range<usize> {
        let (start, end) = match self {
            Self::Identity => (range.start, range.end),
            Self::Pieces(pieces) => (
                holding(pieces, range.start).map_or(0, |piece| piece.start(range.start)),
                holding(pieces, range.end.saturating_sub(1)).map_or(0, |piece| piece.end(range.end)),
            ),
        };
        let start = source.floor_char_boundary(start);
        start..source.ceil_char_boundary(end).max(start)
    }

    /// Appends the origin of the next character, of `length` bytes, which begins at `out`.
    pub(super) fn push(&mut self, out: usize, source: Range<usize>, length: usize) {
        let shape = if length == source.len() {
            Shape::Even
        } else {
            Shape::Block
        };
        self.add(out, source, shape);
    }

    /// Appends a stretch that is byte for byte as long as its source.
    pub(super) fn push_even(&mut self, out: usize, source: Range<usize>) {
        self.add(out, source, Shape::Even);
    }

    fn add(&mut self, out: usize, source: Range<usize>, shape: Shape) {
        let Self::Pieces(pieces) = self else { return };
        if let Some(last) = pieces.last_mut() {
            let follows = last.source_end == source.start && shape == Shape::Even;
            if follows && last.shape == Shape::Even {
                last.source_end = source.end;
                return;
            }
            // Several characters out of one cluster.
            if last.source == source.start && last.source_end == source.end {
                last.shape = Shape::Block;
                return;
            }
        }
        pieces.push(Piece {
            out,
            source: source.start,
            source_end: source.end,
            shape,
        });
    }
}

impl Piece {
    fn start(self, at: usize) -> usize {
        match self.shape {
            Shape::Even => self
                .source
                .saturating_add(at.saturating_sub(self.out))
                .min(self.source_end),
            Shape::Block => self.source,
        }
    }

    fn end(self, at: usize) -> usize {
        match self.shape {
            Shape::Even => self.start(at),
            Shape::Block => self.source_end,
        }
    }
}

/// The piece that the byte at `at` lies in.
fn holding(pieces: &[Piece], at: usize) -> Option<Piece> {
    let after = pieces.partition_point(|piece| piece.out <= at);
    pieces.get(after.checked_sub(1)?).copied()
}
