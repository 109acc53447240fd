//! Time as the model room sees it: when a call was made, how long it took, and pauses before the next try.

use memwarden_core::Timestamp;
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::LazyLock;
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A source of time and chance for retries; tests bring their own.
pub trait Pace: Send + Sync + fmt::Debug {
    /// Now, in microseconds since the Unix epoch.
    fn now(&self) -> Timestamp;

    /// How long this clock has run, whatever it was set to meanwhile.
    fn running(&self) -> Duration;

    /// Returns after `pause`.
    fn wait(&self, pause: Duration);

    /// Evenly spread over 0 ≤ x < 1, so that clients that failed together do not come back together.
    fn jitter(&self) -> f64;
}

/// The machine's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemPace;

impl Pace for SystemPace {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }

    fn running(&self) -> Duration {
        static STARTED: LazyLock<Instant> = LazyLock::new(Instant::now);
        STARTED.elapsed()
    }

    fn wait(&self, pause: Duration) {
        // Nothing is ever sent and the sender lives on, so this ends with the time.
        let (_sender, nothing) = mpsc::channel::<()>();
        let _ = nothing.recv_timeout(pause);
    }

    fn jitter(&self) -> f64 {
        // Each state has fresh keys from the system.
        let random = RandomState::new().build_hasher().finish() >> 11;
        random as f64 / (1_u64 << 53) as f64
    }
}
