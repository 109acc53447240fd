//! What the wording of an entry asks of whoever reads it: the stages `injection`, `standing-order` and
//! `precedent`.
//!
//! For: triage by wording, in many languages, in time linear in the text. One automaton over everything that any
//! shape may begin with runs over each view of the text; only behind a hit is that list's expression tried, over
//! a bounded window. Not for: authority, which wording cannot give or take, nor for what a finding leads to.

mod context;
mod evidence;
mod findings;
mod lexicon;
mod scan;
mod spaced;

pub(crate) use findings::findings;
pub(crate) use scan::{Scan, scan};

use crate::stage::Stage;
use serde::Deserialize;

/// Compiles the word lists now rather than at the first text.
pub(crate) fn prepare() {
    let _ = lexicon::lexicon();
}

/// The stages that read shapes of wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Topic {
    /// Instructions to the reader: overrides, extraction, personas, fake turns.
    Injection,
    /// Planted preferences and orders that hold from now on.
    StandingOrder,
    /// Claims that a check is done or need not be.
    Precedent,
}

impl Topic {
    /// Its stage.
    pub(crate) const fn stage(self) -> Stage {
        match self {
            Self::Injection => Stage::Injection,
            Self::StandingOrder => Stage::StandingOrder,
            Self::Precedent => Stage::Precedent,
        }
    }
}

/// A word as the first view holds it.
fn fold(word: &str) -> String {
    crate::normalize(word).text().to_owned()
}
