//! Whether a request is sent again, and after what pause.
//!
//! Again: what was refused for a while (408, 429, 500, 502, 503, 504) or never arrived. Not again: what may have been
//! answered and charged (a time-out, a connection that was closed, a cut stream) and what will be refused again (400, 401,
//! 404). A gateway that gave up (502, 504) is asked again, and the call is then of unknown cost.

use super::config::EndpointConfig;
use crate::pace::Pace;
use memwarden_core::Timestamp;
use memwarden_core::model::ModelError;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    retries: u32,
    first: Duration,
    longest: Duration,
}

impl Patience {
    pub(super) const fn of(config: &EndpointConfig) -> Self {
        Self {
            retries: config.retries,
            first: config.first_pause,
            longest: config.longest_pause,
        }
    }

    /// The pause before the next try; `None` where there is none.
    pub(super) fn pause(
        self,
        error: &ModelError,
        tried_again: u32,
        retry_after: Option<&str>,
        pace: &dyn Pace,
    ) -> Option<Duration> {
        let passes = match error {
            ModelError::Upstream { status, .. } => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
            ModelError::Unreachable { .. } => true,
            _ => false,
        };
        if !passes || tried_again >= self.retries {
            return None;
        }
        if let Some(asked) = retry_after.and_then(|text| seconds(text, pace.now())) {
            // Never earlier than asked; later by chance, so that those who were refused together do not come back together.
            let spread = self.first.mul_f64(pace.jitter().clamp(0.0, 1.0));
            return (asked <= self.longest).then(|| asked.saturating_add(spread));
        }
        let doubled = self
            .first
            .saturating_mul(2_u32.saturating_pow(tried_again))
            .min(self.longest);
        Some(doubled.mul_f64(0.5 + pace.jitter().clamp(0.0, 1.0) / 2.0))
    }
}

/// The value of Retry-After (RFC 9110, 10.2.3): seconds, or a date. Seconds may have decimals, which the RFC has not but
/// endpoints do; a number that is too large is the longest time and not none.
fn seconds(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    let is_number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_number {
        let seconds: f64 = text.parse().ok()?;
        return Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
    }
    let then = jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_microsecond();
    let then = u64::try_from(then).ok()?;
    Some(Duration::from_micros(then.saturating_sub(now.as_micros())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = Timestamp::from_micros(784_111_777_000_000);
        assert_eq!(seconds(" 7 ", now), Some(Duration::from_secs(7)));
        assert_eq!(
            seconds("Sun, 06 Nov 1994 08:49:40 GMT", now),
            Some(Duration::from_secs(3))
        );
        assert_eq!(
            seconds("Sun, 06 Nov 1994 08:00:00 GMT", now),
            Some(Duration::ZERO)
        );
        assert_eq!(seconds("7.5", now), Some(Duration::from_millis(7_500)));
        let long = seconds("99999999999", now).unwrap();
        assert!(long > Duration::from_secs(u32::MAX.into()));
        assert_eq!(seconds(&"9".repeat(400), now), Some(Duration::MAX));
        for bad in ["-1", "soon", "", "1.2.3", "1e3", ".5"] {
            assert_eq!(seconds(bad, now), None, "{bad}");
        }
    }
}
