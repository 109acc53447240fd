//! Commits and records in a second, against a bare loop that takes turns.

use super::bare::Bare;
use super::measure::{Bar, Figure, Rounds, Unit};
use super::{Bench, RECORDS, WRITERS};
use crate::scratch;
use memwarden::{Entry, Handle, Namespace, Role, Warden};
use miette::{IntoDiagnostic as _, Result, miette};
use std::sync::Barrier;
use std::time::Instant;

/// Rows of which each stands in a transaction of its own, in one round.
const SINGLE: u64 = 2_000;
/// Rows of each of many writers in one round.
const EACH_OF_MANY: u64 = 300;
const SINGLE_AT_LEAST: f64 = 0.60;
const MANY_AT_LEAST: f64 = 0.50;

impl Bench<'_> {
    /// One writer, one row per commit.
    pub(super) fn single(&self, bare: &mut Bare) -> Result<Figure> {
        eprintln!("bench: one writer, {} rounds", self.rounds);
        let agent = self.agent()?;
        let namespace = Namespace::default();
        let count = if self.quick { SINGLE / 5 } else { SINGLE };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..u64::from(self.rounds) {
            let texts = self.fresh(round, count);
            let started = Instant::now();
            for text in &texts {
                bare.commit(std::slice::from_ref(text))?;
            }
            theirs.push(rate(count, started));
            let entries: Vec<Entry> = texts.into_iter().map(Entry::new).collect();
            let started = Instant::now();
            for entry in entries {
                agent.remember(&namespace, entry).into_diagnostic()?;
            }
            ours.push(rate(count, started));
        }
        let bar = ("one writer, commits", SINGLE_AT_LEAST);
        Ok(figure("one writer, one row per commit", ours, theirs, bar))
    }

    /// Many writers against a bare loop with as many rows per commit.
    pub(super) fn many(&self, bare: &mut Bare) -> Result<Figure> {
        eprintln!("bench: {WRITERS} writers, {} rounds", self.rounds);
        let agent = self.agent()?;
        let each = if self.quick {
            EACH_OF_MANY / 5
        } else {
            EACH_OF_MANY
        };
        let count = each * WRITERS;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for round in 0..u64::from(self.rounds) {
            let texts = self.fresh(1_000 + round, count);
            let rows = usize::try_from(WRITERS).unwrap_or(1);
            let started = Instant::now();
            for rows in texts.chunks(rows) {
                bare.commit(rows)?;
            }
            theirs.push(rate(count, started));
            let per_writer = usize::try_from(each).unwrap_or(1);
            ours.push(write_at_once(&agent, &texts, per_writer)?);
        }
        let what = format!("{WRITERS} writers against {WRITERS} rows per commit");
        let bar = (what.clone(), MANY_AT_LEAST);
        Ok(figure(&what, ours, theirs, (&bar.0, bar.1)))
    }

    fn agent(&self) -> Result<Handle> {
        let warden = Warden::open(&scratch::places(self.trial)).into_diagnostic()?;
        scratch::handle(self.trial, &warden, Role::Agent).into_diagnostic()
    }

    /// Texts that neither side holds.
    fn fresh(&self, round: u64, count: u64) -> Vec<String> {
        let first = RECORDS + round * 1_000_000;
        (first..first + count).map(|n| self.texts.text(n)).collect()
    }
}

/// Records in a second when each thread writes its share, one after the other.
fn write_at_once(agent: &Handle, texts: &[String], per_writer: usize) -> Result<f64> {
    let shares: Vec<Vec<Entry>> = texts
        .chunks(per_writer)
        .map(|share| share.iter().map(Entry::new).collect())
        .collect();
    let start = Barrier::new(shares.len() + 1);
    let namespace = Namespace::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = shares
            .into_iter()
            .map(|share| {
                let (start, namespace) = (&start, &namespace);
                scope.spawn(move || {
                    start.wait();
                    share
                        .into_iter()
                        .try_for_each(|entry| agent.remember(namespace, entry).map(|_| ()))
                })
            })
            .collect();
        start.wait();
        let started = Instant::now();
        for thread in threads {
            let written = thread.join().map_err(|_| miette!("a writer panicked"))?;
            written.into_diagnostic()?;
        }
        Ok(rate(texts.len() as u64, started))
    })
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn rate(count: u64, started: Instant) -> f64 {
    count as f64 / started.elapsed().as_secs_f64()
}

fn figure(what: &str, ours: Vec<f64>, theirs: Vec<f64>, (bar, limit): (&str, f64)) -> Figure {
    let ratio = ours
        .iter()
        .zip(&theirs)
        .map(|(ours, theirs)| ours / theirs)
        .collect();
    let ratio = Rounds::new(Unit::Ratio, ratio);
    Figure {
        what: what.to_owned(),
        ours: Rounds::new(Unit::PerSecond, ours),
        theirs: Some(Rounds::new(Unit::PerSecond, theirs)),
        bars: vec![Bar::at_least(bar, &ratio, limit)],
        ratio: Some(ratio),
    }
}
