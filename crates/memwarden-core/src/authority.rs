//! How much a memory may do: an order, never text.

use std::fmt;

/// What a memory is good for, weakest first.
///
/// `Act` may supply a parameter of an action, `Inform` may be read as a statement, `None` may only be
/// shown. Written authority is fixed when a record is sealed; effective authority is a function of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Authority {
    /// Shown with its provenance, nothing more.
    None,
    /// A statement of a known agent.
    Inform,
    /// May supply a parameter of an action.
    Act,
}

impl Authority {
    /// Every authority, the lowest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Inform, Self::Act];

    /// The name used in output and policies.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Inform => "inform",
            Self::Act => "act",
        }
    }

    /// The byte that stands for it in a leaf.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Inform => 1,
            Self::Act => 2,
        }
    }

    /// The authority that `code` stands for.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::None),
            1 => Some(Self::Inform),
            2 => Some(Self::Act),
            _ => None,
        }
    }

    /// Written authority of a derived entry: the lowest of the writer's class and all declared parents.
    ///
    /// ```
    /// use memwarden_core::Authority::{Act, Inform, None};
    /// assert_eq!(memwarden_core::Authority::derive(Act, [Inform, Act]), Inform);
    /// assert_eq!(memwarden_core::Authority::derive(Inform, []), Inform);
    /// assert_eq!(memwarden_core::Authority::derive(Act, [Act, None]), None);
    /// ```
    #[must_use]
    pub fn derive(class: Self, parents: impl IntoIterator<Item = Self>) -> Self {
        parents.into_iter().fold(class, Self::min)
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A taint value was outside its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("taint `{given}` is out of range: expected 0 to 100 hundredths")]
pub struct TaintError {
    /// The hundredths that were given.
    pub given: u32,
}

/// Distrust in the *declared* source of an entry, in integer hundredths from 0 (trusted) to 100.
///
/// Integers, so that a threshold met exactly is met on every machine. Used by the published layered guard;
/// the origin rules never read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Taint(u32);

impl Taint {
    /// From hundredths, 0 to 100.
    ///
    /// # Errors
    /// [`TaintError`] above 100.
    pub const fn from_hundredths(hundredths: u32) -> Result<Self, TaintError> {
        if hundredths > 100 {
            Err(TaintError { given: hundredths })
        } else {
            Ok(Self(hundredths))
        }
    }

    /// Hundredths, 0 to 100.
    #[must_use]
    pub const fn hundredths(self) -> u32 {
        self.0
    }

    /// The taint after `steps` derivation steps of `step` hundredths each, capped at 100.
    #[must_use]
    pub const fn propagated(self, steps: u32, step: u32) -> Self {
        let sum = self.0.saturating_add(steps.saturating_mul(step));
        Self(if sum > 100 { 100 } else { sum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_authority() -> impl Strategy<Value = Authority> {
        prop_oneof![
            Just(Authority::None),
            Just(Authority::Inform),
            Just(Authority::Act)
        ]
    }

    proptest! {
        #[test]
        fn derivation_never_raises_authority(class in any_authority(), parents in prop::collection::vec(any_authority(), 0..8)) {
            let written = Authority::derive(class, parents.clone());
            prop_assert!(written <= class);
            prop_assert!(parents.iter().all(|parent| written <= *parent));
        }
    }
}
