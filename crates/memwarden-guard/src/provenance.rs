//! Layer 2 (FARMA §IV-B): what the *declared* source of an entry says about it.
//!
//! For: the label and the taint that layers 3 to 5 read. Not for: authority. A declaration proves nothing; an
//! attacker declares `agent` and gets taint 0, which is what the paper's attack does (§III-B).

use crate::stage::Undeclared;
use memwarden_core::{Entry, Taint};

/// Taint that each derivation step adds, in hundredths (FARMA §IV-B: "any propagation increment triggers
/// rejection" above 0.4; the size is our reading).
pub const TAINT_STEP: u32 = 10;

/// What a declared source is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    /// `system`, `agent`; `user` is our reading, the paper names no class for it. Taint 0.
    Trusted,
    /// `tool`, `external`. Taint 0.4.
    External,
    /// Any other source, or none. Taint 1.0.
    Poisoned,
    /// No source, under a policy that makes nothing of that ([`Undeclared::Unlabeled`]). Taint 0.
    Unlabeled,
}

impl Label {
    /// The label of an entry, from its declared source in any ASCII case, blanks around it ignored;
    /// `undeclared` decides where nothing is left.
    #[must_use]
    pub fn of(entry: &Entry, undeclared: Undeclared) -> Self {
        let source = entry.source.as_deref().unwrap_or_default().trim();
        let is = |names: &[&str]| names.iter().any(|name| source.eq_ignore_ascii_case(name));
        if is(&["system", "agent", "user"]) {
            Self::Trusted
        } else if is(&["tool", "external"]) {
            Self::External
        } else if source.is_empty() && undeclared == Undeclared::Unlabeled {
            Self::Unlabeled
        } else {
            Self::Poisoned
        }
    }

    /// The name used in findings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::External => "external",
            Self::Poisoned => "poisoned",
            Self::Unlabeled => "unlabeled",
        }
    }

    /// What a score is multiplied with under [`crate::Weigh::Declared`]: 1.0 for user, agent and system, 0.5 for tool
    /// and external, 0.2 for a source that is not known (arXiv 2609.22818 §3.2; the numbers are our reading).
    #[must_use]
    pub const fn trust(self) -> f64 {
        match self {
            Self::Trusted | Self::Unlabeled => 1.0,
            Self::External => 0.5,
            Self::Poisoned => 0.2,
        }
    }

    /// Whether the declared source speaks against the entry.
    #[must_use]
    pub const fn is_suspect(self) -> bool {
        match self {
            Self::External | Self::Poisoned => true,
            Self::Trusted | Self::Unlabeled => false,
        }
    }

    /// Taint of an entry of this label that was derived from nothing.
    #[must_use]
    pub const fn base_taint(self) -> Taint {
        match self {
            Self::Trusted | Self::Unlabeled => TRUSTED,
            Self::External => EXTERNAL,
            Self::Poisoned => POISONED,
        }
    }
}

const TRUSTED: Taint = hundredths(0);
const EXTERNAL: Taint = hundredths(40);
const POISONED: Taint = hundredths(100);

/// Evaluated while compiling: a constant out of range does not build.
const fn hundredths(value: u32) -> Taint {
    match Taint::from_hundredths(value) {
        Ok(taint) => taint,
        #[expect(clippy::panic, reason = "runs in the compiler only")]
        Err(_) => panic!(),
    }
}

/// The higher of the label's own taint and the parents' highest taint plus one step, at most 1.0.
pub(crate) fn taint(entry: &Entry, inherited: Option<Taint>, undeclared: Undeclared) -> Taint {
    let own = Label::of(entry, undeclared).base_taint();
    inherited.map_or(own, |taint| own.max(taint.propagated(1, TAINT_STEP)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(source: Option<&str>, inherited: Option<u32>) -> u32 {
        read(source, inherited, Undeclared::Poisoned)
    }

    fn read(source: Option<&str>, inherited: Option<u32>, undeclared: Undeclared) -> u32 {
        let mut entry = Entry::new("text");
        entry.source = source.map(str::to_owned);
        taint(&entry, inherited.map(hundredths), undeclared).hundredths()
    }

    #[test]
    fn the_declared_source_gives_the_base_taint() {
        for source in ["system", "agent", "user", "AGENT", " Agent "] {
            assert_eq!(declared(Some(source), None), 0, "{source}");
        }
        for source in ["tool", "external", "TOOL"] {
            assert_eq!(declared(Some(source), None), 40, "{source}");
        }
        for source in [None, Some(""), Some("web"), Some("agent2"), Some("unknown")] {
            assert_eq!(declared(source, None), 100, "{source:?}");
        }
    }

    #[test]
    fn only_a_missing_declaration_can_be_left_unlabeled() {
        for source in [None, Some(""), Some(" \t")] {
            assert_eq!(read(source, None, Undeclared::Unlabeled), 0, "{source:?}");
        }
        assert_eq!(read(Some("web"), None, Undeclared::Unlabeled), 100);
        assert_eq!(read(Some("tool"), None, Undeclared::Unlabeled), 40);
        assert_eq!(
            read(None, Some(40), Undeclared::Unlabeled),
            50,
            "what it inherits stays"
        );
    }

    #[test]
    fn derivation_adds_a_step_and_never_lowers() {
        assert_eq!(declared(Some("agent"), Some(0)), 10);
        assert_eq!(declared(Some("agent"), Some(40)), 50);
        assert_eq!(declared(Some("tool"), Some(0)), 40);
        assert_eq!(declared(Some("agent"), Some(95)), 100);
        assert_eq!(declared(None, Some(0)), 100);
    }
}
