//! Where a tile or an entry bundle lies in a static log (C2SP tlog-tiles).

use crate::encoding::decimal;
use crate::tree::TILE_WIDTH;
use std::fmt;
use std::str::FromStr;

/// Text that is not the path of a tile or entry bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a tile path: expected `tile/<level or entries>/<index>[.p/<width>]`")]
pub struct TilePathError {
    /// The text, cut to 80 characters.
    pub given: String,
}

/// What a file under `tile/` holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TileContent {
    /// Hashes of a level, 0 to 63.
    Hashes(u8),
    /// Leaves, each behind its length.
    Entries,
}

/// The path of a tile or entry bundle.
///
/// ```
/// use memwarden_ledger::{TileContent, TilePath, tile_path};
/// assert_eq!(tile_path(0, 1_234_067, 256), "tile/0/x001/x234/067");
/// let path: TilePath = "tile/entries/000.p/44".parse()?;
/// assert_eq!(path, TilePath { content: TileContent::Entries, index: 0, width: 44 });
/// # Ok::<(), memwarden_ledger::TilePathError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TilePath {
    /// What it holds.
    pub content: TileContent,
    /// Its index in the level.
    pub index: u64,
    /// How many hashes or leaves: 1 to 256. Less than 256 makes it partial.
    pub width: u16,
}

/// The path of the tile `index` of `level` with `width` hashes.
#[must_use]
pub fn tile_path(level: u8, index: u64, width: u16) -> String {
    TilePath {
        content: TileContent::Hashes(level),
        index,
        width,
    }
    .to_string()
}

/// The path of the bundle `index` with `width` leaves.
#[must_use]
pub fn entries_path(index: u64, width: u16) -> String {
    TilePath {
        content: TileContent::Entries,
        index,
        width,
    }
    .to_string()
}

impl fmt::Display for TilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.content {
            TileContent::Hashes(level) => write!(f, "tile/{level}")?,
            TileContent::Entries => f.write_str("tile/entries")?,
        }
        let mut groups = vec![self.index % 1000];
        let mut rest = self.index / 1000;
        while rest > 0 {
            groups.push(rest % 1000);
            rest /= 1000;
        }
        while let Some(group) = groups.pop() {
            let mark = if groups.is_empty() { "" } else { "x" };
            write!(f, "/{mark}{group:03}")?;
        }
        if usize::from(self.width) < TILE_WIDTH {
            write!(f, ".p/{}", self.width)?;
        }
        Ok(())
    }
}

impl FromStr for TilePath {
    type Err = TilePathError;

    fn from_str(text: &str) -> Result<Self, TilePathError> {
        parse(text).ok_or_else(|| TilePathError {
            given: text.chars().take(80).collect(),
        })
    }
}

fn parse(text: &str) -> Option<TilePath> {
    let (content, rest) = text.strip_prefix("tile/")?.split_once('/')?;
    let content = match content {
        "entries" => TileContent::Entries,
        level => TileContent::Hashes(u8::try_from(decimal(level)?).ok().filter(|level| *level < 64)?),
    };
    let (index, width) = match rest.split_once(".p/") {
        None => (rest, 256),
        Some((index, width)) => (
            index,
            u16::try_from(decimal(width)?)
                .ok()
                .filter(|width| (1..256).contains(width))?,
        ),
    };
    let mut value = 0u64;
    let mut groups = index.split('/').peekable();
    let mut leading = true;
    while let Some(group) = groups.next() {
        let last = groups.peek().is_none();
        let digits = if last { group } else { group.strip_prefix('x')? };
        if digits.len() != 3 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // A leading group of zeros would be a second path for the same tile.
        if leading && !last && digits == "000" {
            return None;
        }
        leading = false;
        value = value.checked_mul(1000)?.checked_add(digits.parse().ok()?)?;
    }
    Some(TilePath {
        content,
        index: value,
        width,
    })
}
