//! When a child is killed. Nothing sleeps: a plan counts acknowledgements and looks at the phase byte.

use super::phase::{INSIDE, PhaseFile};
use crate::random::SplitMix64;
use std::io;

/// Most acknowledgements before a kill.
const MOST_ACKNOWLEDGEMENTS: u64 = 160;
/// Most looks at the byte while a random time passes: a look takes about a microsecond.
const MOST_LOOKS: u64 = 4_000;
/// Looks after which a plan no longer waits for a commit to begin.
const PATIENCE_LOOKS: u64 = 3_000_000;

/// Where the kill shall land.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    /// At any time while the child opens the store.
    WhileOpening,
    /// At any time while it writes.
    Anywhere,
    /// So many looks after a commit began.
    InCommit(u64),
}

/// One kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Acknowledgements to wait for.
    pub(super) acknowledgements: u64,
    /// Looks at the byte before the moment.
    looks: u64,
    pub(super) moment: Moment,
}

impl Plan {
    /// One kill in twenty while the child opens the store, four in ten at any time, the others in a commit.
    pub(super) fn draw(random: &mut SplitMix64) -> Self {
        let acknowledgements = random.below(MOST_ACKNOWLEDGEMENTS + 1);
        let looks = random.below(MOST_LOOKS);
        match random.below(20) {
            0 => Self {
                acknowledgements: 0,
                looks: looks * 8,
                moment: Moment::WhileOpening,
            },
            1..=8 => Self {
                acknowledgements,
                looks,
                moment: Moment::Anywhere,
            },
            _ => Self {
                acknowledgements,
                looks,
                moment: Moment::InCommit(random.below(200)),
            },
        }
    }

    /// Lets the time pass that the plan wants after the acknowledgements.
    pub(super) fn spin(self, phase: &PhaseFile) -> io::Result<()> {
        for _ in 0..self.looks {
            phase.get()?;
        }
        if let Moment::InCommit(looks) = self.moment {
            for _ in 0..PATIENCE_LOOKS {
                if phase.get()? == INSIDE {
                    break;
                }
            }
            for _ in 0..looks {
                phase.get()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_kills_of_every_sort() {
        let draw = |seed| {
            let mut random = SplitMix64::new(seed);
            (0..200).map(|_| Plan::draw(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let moments = draw(1);
        let count = |of: fn(&Moment) -> bool| moments.iter().filter(|plan| of(&plan.moment)).count();
        assert!(count(|moment| *moment == Moment::WhileOpening) >= 3);
        assert!(count(|moment| *moment == Moment::Anywhere) >= 50);
        assert!(count(|moment| matches!(moment, Moment::InCommit(_))) >= 80);
    }
}
