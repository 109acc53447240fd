//! What the agents work on, and the checks that they can run over it.
//!
//! The data are small and made from a seed; the checks are real: they read the very bytes whose digest a receipt
//! names, and fail on bytes that deserve it.

mod batch;
mod order;
mod question;

use super::Agent;
use crate::split_mix::SplitMix64;
use memwarden_core::{Digest, Outcome, Subject};

/// Whether the data of a job deserve to pass their check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// They do.
    Good,
    /// They have a fault that the check finds.
    Faulty,
}

/// One thing to do: a batch, a question or an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Whose.
    pub agent: Agent,
    /// What kind of thing it is.
    pub kind: String,
    /// Its id.
    pub item: String,
    /// Everything that there is about it, as text.
    pub text: String,
    /// What a lookup finds, where it is not worked out from the text.
    pub found: Option<String>,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// How it ended.
    pub outcome: Outcome,
    /// What it covered: the job, and of an order the listing that won, or all of them if none did.
    pub covered: Vec<Subject>,
    /// What the work comes to: an answer, or the listing that won.
    pub result: Option<String>,
    /// What is wrong, one sentence each.
    pub faults: Vec<String>,
}

impl Job {
    /// Makes the data of one job.
    #[must_use]
    pub fn new(agent: Agent, kind: &str, item: &str, quality: Quality, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let text = match agent {
            Agent::Ehr => batch::write(kind, item, quality, &mut random),
            Agent::ReactQa => question::write(kind, item, quality, &mut random),
            Agent::Rap => order::write(kind, item, quality, &mut random),
        };
        Self {
            agent,
            kind: kind.to_owned(),
            item: item.to_owned(),
            text,
            found: None,
        }
    }

    /// What the gate calls it: the digest is of its very bytes.
    #[must_use]
    pub fn subject(&self) -> Subject {
        Subject {
            kind: self.agent.item().to_owned(),
            id: self.item.clone(),
            digest: Digest::of(self.text.as_bytes()),
        }
    }

    /// The listings of an order, as subjects, in their order on the page; nothing for other jobs.
    #[must_use]
    pub fn listings(&self) -> Vec<Subject> {
        match self.agent {
            Agent::Rap => order::listings(&self.text),
            Agent::Ehr | Agent::ReactQa => Vec::new(),
        }
    }

    /// Runs the check.
    #[must_use]
    pub fn check(&self) -> Checked {
        let (faults, result, listings) = match self.agent {
            Agent::Ehr => (batch::faults(&self.text), None, Vec::new()),
            Agent::ReactQa => match self
                .found
                .clone()
                .map_or_else(|| question::answer(&self.text), Ok)
            {
                Ok(answer) => (Vec::new(), Some(answer), Vec::new()),
                Err(fault) => (vec![fault], None, Vec::new()),
            },
            Agent::Rap => match order::compare(&self.text) {
                Ok(best) => (Vec::new(), Some(best.id.clone()), vec![best]),
                Err(fault) => (vec![fault], None, self.listings()),
            },
        };
        Checked {
            outcome: if faults.is_empty() {
                Outcome::Passed
            } else {
                Outcome::Failed
            },
            covered: std::iter::once(self.subject()).chain(listings).collect(),
            result,
            faults,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_passes_good_data_and_finds_the_fault_in_faulty_ones() {
        for agent in Agent::ALL {
            for seed in 0..40 {
                let job = |quality| Job::new(*agent, agent.kinds()[0], "X-7", quality, seed);
                let good = job(Quality::Good).check();
                assert_eq!(good.outcome, Outcome::Passed, "{agent} {seed}: {:?}", good.faults);
                let faulty = job(Quality::Faulty).check();
                assert_eq!(faulty.outcome, Outcome::Failed, "{agent} {seed}");
                assert!(!faulty.faults.is_empty());
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_bytes_and_another_one_makes_others() {
        for agent in Agent::ALL {
            let job = |seed| Job::new(*agent, agent.kinds()[0], "X-7", Quality::Good, seed);
            assert_eq!(job(3), job(3));
            let distinct: std::collections::BTreeSet<_> = (0..20).map(|seed| job(seed).text).collect();
            assert!(distinct.len() > 10, "{agent}");
        }
    }

    #[test]
    fn a_comparison_covers_the_order_and_the_listing_that_won() {
        let job = Job::new(Agent::Rap, Agent::Rap.kinds()[0], "O-7", Quality::Good, 5);
        let checked = job.check();
        assert_eq!(checked.covered.len(), 2);
        assert_eq!(checked.covered[0], job.subject());
        assert!(job.listings().contains(&checked.covered[1]));
        assert_eq!(job.listings().len(), 3);
    }
}
