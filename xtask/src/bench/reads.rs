//! Opening a store and verifying its log.

use super::measure::{Bar, Figure, Rounds, Unit, ms};
use super::{Bench, RECORDS};
use crate::scratch;
use memwarden::{Depth, Role, Warden};
use miette::{IntoDiagnostic as _, Result, bail};
use std::time::Instant;

const OPEN_BELOW_MS: f64 = 1_000.0;
const VERIFY_AT_LEAST: f64 = 300_000.0;

impl Bench<'_> {
    /// Opening: the whole log is verified and every row compared with it.
    pub(super) fn open(&self) -> Result<Figure> {
        eprintln!("bench: opening");
        let mut times = Vec::new();
        for _ in 0..self.rounds {
            let started = Instant::now();
            let warden = Warden::open(&scratch::places(self.trial)).into_diagnostic()?;
            times.push(ms(started.elapsed()));
            drop(warden);
        }
        let ours = Rounds::new(Unit::Milliseconds, times);
        Ok(Figure {
            what: format!("open a store of {RECORDS} records"),
            bars: vec![Bar::below("open", &ours, OPEN_BELOW_MS)],
            ours,
            theirs: None,
            ratio: None,
        })
    }

    /// `ledger verify`, and `--deep`, in log entries a second.
    pub(super) fn verify(&self) -> Result<Vec<Figure>> {
        eprintln!("bench: verifying");
        let warden = Warden::open(&scratch::places(self.trial)).into_diagnostic()?;
        let agent = scratch::handle(self.trial, &warden, Role::Agent).into_diagnostic()?;
        let mut figures = Vec::new();
        for (depth, what) in [
            (Depth::Log, "ledger verify"),
            (Depth::Deep, "ledger verify --deep"),
        ] {
            let mut rates = Vec::new();
            for _ in 0..self.rounds {
                let started = Instant::now();
                let report = agent.verify(depth, None).into_diagnostic()?;
                let took = started.elapsed().as_secs_f64();
                if !report.is_intact() {
                    bail!("the store that was just written is damaged: {:?}", report.damage);
                }
                rates.push(entries(report.entries) / took);
            }
            let ours = Rounds::new(Unit::PerSecond, rates);
            let bars = match depth {
                Depth::Log => vec![Bar::at_least(what, &ours, VERIFY_AT_LEAST)],
                Depth::Deep => Vec::new(),
            };
            figures.push(Figure {
                what: format!("{what}, entries"),
                ours,
                theirs: None,
                ratio: None,
                bars,
            });
        }
        Ok(figures)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
const fn entries(count: u64) -> f64 {
    count as f64
}
