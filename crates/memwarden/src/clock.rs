//! Where time comes from. The core never asks; the façade asks exactly here.

use memwarden_core::{Finding, Score, Severity, Timestamp};
use memwarden_guard::ORIGIN_STAGE;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that is further off than this has jumped (`origin`, "Release, quotas, time").
pub const CLOCK_JUMP: Duration = Duration::from_secs(300);
/// The rule of a finding about a clock that jumped.
pub const CLOCK_JUMP_RULE: &str = "clock-jump";

/// A source of wall-clock time. Entry times never go backwards, whatever it returns.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now, in microseconds since the Unix epoch.
    fn now(&self) -> Timestamp;

    /// How long this clock has run, whatever it was set to meanwhile. The default is the machine's own count.
    fn running(&self) -> Duration {
        static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
        STARTED.elapsed()
    }
}

/// What two looks at a clock tell of it.
#[derive(Debug)]
pub(crate) struct ClockWatch {
    last: Mutex<(Timestamp, Duration)>,
}

impl ClockWatch {
    /// The first look.
    pub(crate) fn of(clock: &dyn Clock) -> Self {
        Self {
            last: Mutex::new((clock.now(), clock.running())),
        }
    }

    /// A finding if the clock lies more than [`CLOCK_JUMP`] behind the newest entry of the log, or was set
    /// forward by more than that since the last look. A machine that slept looks as if it had been set forward.
    pub(crate) fn look(&self, clock: &dyn Clock, newest: Timestamp) -> Option<Finding> {
        let (now, running) = (clock.now(), clock.running());
        let (then, ran) = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *last, (now, running))
        };
        if let Some(reason) = behind(now, newest) {
            return Some(jump(reason));
        }
        let passed = u64::try_from(running.saturating_sub(ran).as_micros()).unwrap_or(u64::MAX);
        let ahead = now
            .as_micros()
            .saturating_sub(then.as_micros())
            .saturating_sub(passed);
        (ahead > limit()).then(|| {
            let seconds = ahead / 1_000_000;
            jump(format!(
                "the clock was set forward by {seconds} s since the last entry"
            ))
        })
    }
}

/// What to say of a clock that lies more than [`CLOCK_JUMP`] behind the newest entry.
pub(crate) fn behind(now: Timestamp, newest: Timestamp) -> Option<String> {
    let behind = newest.as_micros().saturating_sub(now.as_micros());
    let seconds = behind / 1_000_000;
    (behind > limit())
        .then(|| format!("the clock lies {seconds} s behind the newest entry, whose time counts"))
}

fn limit() -> u64 {
    u64::try_from(CLOCK_JUMP.as_micros()).unwrap_or(u64::MAX)
}

fn jump(reason: String) -> Finding {
    Finding {
        stage: ORIGIN_STAGE.to_owned(),
        rule: CLOCK_JUMP_RULE.to_owned(),
        severity: Severity::Warning,
        score: Score::MAX,
        span: None,
        reason,
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}
