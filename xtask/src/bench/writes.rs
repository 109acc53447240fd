//! Commits and records in a second, against a bare loop that takes turns.

use super::bare::Bare;
use super::measure::{Bar, Figure, Rounds, Unit};
use super::{Bench, RECORDS, WRITERS};
use crate::scratch;
use memwarden::{Entry, Handle, Namespace, Role, Warden};
use miette::{IntoDiagnostic as _, Result, miette};
use std::time::{Duration, Instant};

/// Rows of which each stands in a transaction of its own, in one turn.
const SINGLE: u64 = 200;
/// Rows of each of many writers in one turn.
const EACH_OF_MANY: u64 = 100;
/// Turns of each side in one round: short ones, so that a busy moment of the disk falls on both.
const SINGLE_TURNS: u64 = 10;
const MANY_TURNS: u64 = 3;
const SINGLE_AT_LEAST: f64 = 0.60;
const MANY_AT_LEAST: f64 = 0.50;

impl Bench<'_> {
    /// One writer, one row per commit.
    pub(super) fn single(&self, bare: &mut Bare) -> Result<Figure> {
        let agent = self.agent()?;
        let namespace = Namespace::default();
        self.take_turns(
            "one writer, one row per commit",
            (SINGLE, if self.quick { 2 } else { SINGLE_TURNS }),
            SINGLE_AT_LEAST,
            &mut |texts| {
                texts
                    .iter()
                    .try_for_each(|text| bare.commit(std::slice::from_ref(text)))
            },
            &|texts| {
                let entries = texts.into_iter().map(super::entry);
                let mut written = entries.map(|entry| agent.remember(&namespace, entry).map(|_| ()));
                written.try_for_each(|outcome| outcome.into_diagnostic())
            },
        )
    }

    /// Many writers against a bare loop with as many rows per commit.
    pub(super) fn many(&self, bare: &mut Bare) -> Result<Figure> {
        let agent = self.agent()?;
        let rows = usize::try_from(WRITERS).into_diagnostic()?;
        let share = usize::try_from(EACH_OF_MANY).into_diagnostic()?;
        self.take_turns(
            &format!("{WRITERS} writers against {WRITERS} rows per commit"),
            (EACH_OF_MANY * WRITERS, if self.quick { 1 } else { MANY_TURNS }),
            MANY_AT_LEAST,
            &mut |texts| texts.chunks(rows).try_for_each(|rows| bare.commit(rows)),
            &|texts| write_at_once(&agent, &texts, share),
        )
    }

    /// Lets both sides write texts of their own, a turn each, and compares the rounds.
    fn take_turns(
        &self,
        what: &str,
        (rows, turns): (u64, u64),
        limit: f64,
        theirs: &mut dyn FnMut(&[String]) -> Result<()>,
        ours: &dyn Fn(Vec<String>) -> Result<()>,
    ) -> Result<Figure> {
        eprintln!("bench: {what}, {} rounds", self.rounds);
        let (mut our_rates, mut their_rates) = (Vec::new(), Vec::new());
        let mut next = RECORDS;
        for _ in 0..self.rounds {
            let (mut our_time, mut their_time) = (Duration::ZERO, Duration::ZERO);
            for _ in 0..turns {
                let texts: Vec<String> = (next..next + rows).map(|n| self.texts.text(n)).collect();
                next += rows;
                let started = Instant::now();
                theirs(&texts)?;
                their_time += started.elapsed();
                let started = Instant::now();
                ours(texts)?;
                our_time += started.elapsed();
            }
            our_rates.push(rate(rows * turns, our_time));
            their_rates.push(rate(rows * turns, their_time));
        }
        let ratio = our_rates
            .iter()
            .zip(&their_rates)
            .map(|(ours, theirs)| ours / theirs);
        let ratio = Rounds::new(Unit::Ratio, ratio.collect());
        Ok(Figure {
            what: what.to_owned(),
            ours: Rounds::new(Unit::PerSecond, our_rates),
            theirs: Some(Rounds::new(Unit::PerSecond, their_rates)),
            bars: vec![Bar::at_least(what, &ratio, limit)],
            ratio: Some(ratio),
        })
    }

    fn agent(&self) -> Result<Handle> {
        let warden = Warden::open(&scratch::places(self.trial)).into_diagnostic()?;
        scratch::handle(self.trial, &warden, Role::Agent).into_diagnostic()
    }
}

/// Each thread writes its share, one entry after the other.
fn write_at_once(agent: &Handle, texts: &[String], per_writer: usize) -> Result<()> {
    let shares: Vec<Vec<Entry>> = texts
        .chunks(per_writer)
        .map(|share| share.iter().map(super::entry).collect())
        .collect();
    let namespace = Namespace::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .into_iter()
            .map(|share| {
                let namespace = &namespace;
                scope.spawn(move || {
                    share
                        .into_iter()
                        .try_for_each(|entry| agent.remember(namespace, entry).map(|_| ()))
                })
            })
            .collect();
        for thread in threads {
            let written = thread.join().map_err(|_| miette!("a writer panicked"))?;
            written.into_diagnostic()?;
        }
        Ok(())
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
const fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}
