//! Numbers of several rounds, and the bars that they are held against.

use std::fmt;
use std::time::Duration;

/// What the rounds of one side came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rounds {
    /// Sorted.
    values: Vec<f64>,
    unit: Unit,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Operations in a second.
    PerSecond,
    /// Megabytes in a second.
    MegabytesPerSecond,
    /// Milliseconds.
    Milliseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Parts of one.
    Share,
    /// Ours over theirs.
    Ratio,
}

impl Rounds {
    pub(super) fn new(unit: Unit, mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self { values, unit }
    }

    fn at(&self, index: usize) -> f64 {
        self.values.get(index).copied().unwrap_or(f64::NAN)
    }

    pub(super) fn median(&self) -> f64 {
        self.at(self.values.len() / 2)
    }

    /// The value that 99 of 100 do not exceed.
    pub(super) fn p99(&self) -> f64 {
        self.at((self.values.len() * 99).div_ceil(100).saturating_sub(1))
    }

    /// `min / median / max` with the unit.
    pub(super) fn show(&self) -> String {
        let [min, median, max] = [
            self.at(0),
            self.median(),
            self.at(self.values.len().saturating_sub(1)),
        ]
        .map(|v| self.unit.show(v));
        format!("{min} / {median} / {max}{}", self.unit.suffix())
    }
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::PerSecond => format!("{value:.0}"),
            Self::MegabytesPerSecond => format!("{value:.1}"),
            Self::Milliseconds if value >= 100.0 => format!("{value:.0}"),
            Self::Milliseconds => format!("{value:.3}"),
            Self::Nanoseconds => format!("{value:.1}"),
            Self::Share => format!("{:.1}", value * 100.0),
            Self::Ratio => format!("{value:.2}"),
        }
    }

    const fn suffix(self) -> &'static str {
        match self {
            Self::PerSecond => " /s",
            Self::MegabytesPerSecond => " MB/s",
            Self::Milliseconds => " ms",
            Self::Nanoseconds => " ns",
            Self::Share => " %",
            Self::Ratio => "",
        }
    }
}

/// One line of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    /// What was measured.
    pub(super) what: String,
    /// Our side.
    pub(super) ours: Rounds,
    /// The other side, where there is one.
    pub(super) theirs: Option<Rounds>,
    /// Ours over theirs, within each round.
    pub(super) ratio: Option<Rounds>,
    /// What it is held against.
    pub(super) bars: Vec<Bar>,
}

/// A bar, and what was reached.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bar {
    what: String,
    reached: f64,
    limit: Limit,
    unit: Unit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    AtLeast(f64),
    Below(f64),
}

impl Bar {
    pub(super) fn at_least(what: &str, rounds: &Rounds, limit: f64) -> Self {
        Self::new(what, rounds, Limit::AtLeast(limit))
    }

    pub(super) fn below(what: &str, rounds: &Rounds, limit: f64) -> Self {
        Self::new(what, rounds, Limit::Below(limit))
    }

    fn new(what: &str, rounds: &Rounds, limit: Limit) -> Self {
        Self {
            what: what.to_owned(),
            reached: rounds.median(),
            limit,
            unit: rounds.unit,
        }
    }

    /// Whether it is met. A number that is none meets nothing.
    pub(super) fn is_met(&self) -> bool {
        match self.limit {
            Limit::AtLeast(limit) => self.reached >= limit,
            Limit::Below(limit) => self.reached < limit,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let show = |value| format!("{}{}", self.unit.show(value), self.unit.suffix());
        let (word, limit) = match self.limit {
            Limit::AtLeast(limit) => ("at least", limit),
            Limit::Below(limit) => ("below", limit),
        };
        write!(
            f,
            "{}: {} (bar: {word} {}): ",
            self.what,
            show(self.reached),
            show(limit)
        )?;
        if self.is_met() {
            f.write_str("met")
        } else {
            write!(f, "short by {}", show((self.reached - limit).abs()))
        }
    }
}

/// Milliseconds of a duration.
pub(super) fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// The middle of unsorted values.
pub(super) fn median(values: Vec<f64>) -> f64 {
    Rounds::new(Unit::Ratio, values).median()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_met_or_says_how_much_is_missing() {
        let rounds = Rounds::new(Unit::Ratio, vec![0.7, 0.5, 0.55]);
        assert_eq!(rounds.show(), "0.50 / 0.55 / 0.70");
        let met = Bar::at_least("one writer", &rounds, 0.55);
        assert_eq!(met.to_string(), "one writer: 0.55 (bar: at least 0.55): met");
        let short = Bar::at_least("one writer", &rounds, 0.6);
        assert_eq!(
            short.to_string(),
            "one writer: 0.55 (bar: at least 0.60): short by 0.05"
        );
        let share = Rounds::new(Unit::Share, vec![0.125]);
        assert_eq!(
            Bar::below("checks", &share, 0.1).to_string(),
            "checks: 12.5 % (bar: below 10.0 %): short by 2.5 %"
        );
        assert!(!Bar::below("nothing", &Rounds::new(Unit::Share, vec![]), 1.0).is_met());
    }
}
