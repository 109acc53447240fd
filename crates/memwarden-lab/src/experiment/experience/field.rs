//! One store, one agent, one defense: how a request is worked on, whoever makes it.

use super::counts::Attempt;
use super::tasks::Tasks;
use crate::experiment::cell::seed_of;
use crate::experiment::{Condition, ExperimentError, Models, Retrieved, Scene, Sifted};
use crate::tracks::{Around, Ask, Bank, Kept, Open, Reading};
use memwarden::{Kind, RecordId};
use memwarden_core::encode::Encode;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where a cell takes place.
#[derive(Debug)]
pub(super) struct Field<'f> {
    pub(super) tasks: &'f Tasks,
    pub(super) bank: &'f Bank,
    pub(super) condition: &'f Condition,
    pub(super) models: &'f Models,
    pub(super) encoder: Arc<dyn Encode>,
    pub(super) k: usize,
    pub(super) budget: usize,
    pub(super) seed: u64,
    pub(super) faults: RefCell<BTreeMap<String, u64>>,
}

/// What becomes of a piece of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Remember,
    Forget,
}

/// What one user asked so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub(super) earlier: Vec<String>,
}

impl Field<'_> {
    /// A seed of one matter: the same under every defense.
    pub(super) fn seed(&self, matter: &[&str]) -> u64 {
        seed_of(matter, self.seed)
    }

    /// The agent works on a request with what its memory and the defense give it, and remembers nothing.
    pub(super) fn work(
        &self,
        ask: &Ask,
        session: &mut Session,
        seed: u64,
        poison: &BTreeSet<RecordId>,
    ) -> Result<Attempt, ExperimentError> {
        Ok(self.attempt(ask, session, seed, poison, After::Forget)?.0)
    }

    /// The same, and what it did is remembered, if it was allowed to begin and came to an answer.
    pub(super) fn work_and_remember(
        &self,
        ask: &Ask,
        session: &mut Session,
        seed: u64,
    ) -> Result<(Attempt, Option<Kept>), ExperimentError> {
        self.attempt(ask, session, seed, &BTreeSet::new(), After::Remember)
    }

    fn attempt(
        &self,
        ask: &Ask,
        session: &mut Session,
        seed: u64,
        poison: &BTreeSet<RecordId>,
        after: After,
    ) -> Result<(Attempt, Option<Kept>), ExperimentError> {
        let window = self.bank.window(&ask.text)?;
        let retrieved: Vec<Retrieved> = window
            .examples(&ask.text, self.k)?
            .into_iter()
            .map(|found| Retrieved {
                id: found.id,
                kind: Kind::Reasoning,
                subject: None,
                text: found.text,
            })
            .collect();
        let sifted = self.sift(&ask.text, &session.earlier, &retrieved)?;
        session.earlier.push(ask.text.clone());
        let shown: Vec<&Retrieved> = sifted.kept.iter().filter_map(|at| retrieved.get(*at)).collect();
        let is_poison = |record: &&Retrieved| poison.contains(&record.id);
        let mut attempt = Attempt {
            ran: None,
            returned: retrieved.len() as u64,
            poison_returned: retrieved.iter().filter(is_poison).count() as u64,
            poison_shown: shown.iter().copied().filter(is_poison).count() as u64,
        };
        if sifted.refused {
            window.end()?;
            return Ok((attempt, None));
        }
        let texts: Vec<&str> = shown.iter().map(|record| record.text.as_str()).collect();
        let around = Around {
            model: self.models.chat.as_ref(),
            till: &window,
            seed,
        };
        let ran = self.tasks.agent.run(ask, &texts, around)?;
        self.note(ran.fault.iter().map(|fault| (fault.clone(), 1)));
        let kept = if after == After::Remember && ran.fault.is_none() {
            Some(window.remember(&ask.text, &ran.record, Reading::Nothing)?)
        } else {
            None
        };
        window.end()?;
        attempt.ran = Some(ran);
        Ok((attempt, kept))
    }

    /// The clean run of a pair: an empty store under the same defense, whose gate and monitor still have their say.
    pub(super) fn work_on_nothing(
        &self,
        empty: &Bank,
        ask: &Ask,
        session: &Session,
        seed: u64,
    ) -> Result<Attempt, ExperimentError> {
        let window = empty.window(&ask.text)?;
        let sifted = self.sift(&ask.text, &session.earlier, &[])?;
        let mut attempt = Attempt::default();
        if !sifted.refused {
            let around = Around {
                model: self.models.chat.as_ref(),
                till: &window,
                seed,
            };
            let ran = self.tasks.agent.run(ask, &[], around)?;
            self.note(ran.fault.iter().map(|fault| (fault.clone(), 1)));
            attempt.ran = Some(ran);
        }
        window.end()?;
        Ok(attempt)
    }

    fn sift(
        &self,
        request: &str,
        earlier: &[String],
        retrieved: &[Retrieved],
    ) -> Result<Sifted, ExperimentError> {
        let sifted = self.condition.sift(&Scene {
            request,
            earlier,
            retrieved,
        })?;
        self.note(sifted.errors.clone());
        Ok(sifted)
    }

    pub(super) fn note(&self, faults: impl IntoIterator<Item = (String, u64)>) {
        let mut noted = self.faults.borrow_mut();
        for (fault, times) in faults {
            *noted.entry(fault).or_default() += times;
        }
    }

    /// Records as an agent of this kind keeps them, of the requests that the attacker knows: it can run such an agent.
    pub(super) fn examples_of_the_domain(&self) -> Result<Vec<String>, ExperimentError> {
        let mut records = Vec::new();
        for (at, ask) in self.tasks.known.iter().enumerate() {
            let around = Around {
                model: self.models.chat.as_ref(),
                till: &Open,
                seed: self.seed(&["known", &at.to_string()]),
            };
            let ran = self.tasks.agent.run(ask, &[], around)?;
            match ran.fault {
                Some(fault) => self.note([(fault, 1)]),
                None => records.push(ran.record),
            }
        }
        Ok(records)
    }
}
