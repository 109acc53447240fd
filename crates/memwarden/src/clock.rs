//! Where time comes from. The core never asks; the façade asks exactly here.

use memwarden_core::Timestamp;
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of wall-clock time. Entry times never go backwards, whatever it returns.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// Now, in microseconds since the Unix epoch.
    fn now(&self) -> Timestamp;
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
