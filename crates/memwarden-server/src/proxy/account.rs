//! The line in the meter for one call. It is written exactly once, whatever becomes of the call: an account that is
//! dropped open says that the client left.

use super::asked::Route;
use super::labels::Labels;
use super::problem::Problem;
use super::prompt;
use super::relay::Verdict;
use super::reply::{Fault, Seen, Shortfall};
use bytes::Bytes;
use http::StatusCode;
use memwarden::core::Timestamp;
use memwarden::core::model::{Ability, Finish, Usage, UsageSource};
use memwarden::model::{Call, Counted, Meter, Outcome, Served, TokenCount};
use memwarden::{Clock as _, SystemClock};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a call came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Every byte of the reply came.
    Came,
    /// The reply broke off.
    Cut,
    /// The endpoint sent nothing for too long.
    Silent,
    /// The endpoint could not be reached.
    Unreachable,
    /// The endpoint hung up before it answered.
    Closed,
    /// The client left or read no further, or the proxy was stopped.
    Left,
}

impl End {
    /// The end of a call that the proxy had to answer itself.
    pub(super) const fn of(problem: &Problem) -> Self {
        match problem {
            Problem::Timeout { .. } => Self::Silent,
            Problem::Closed { .. } => Self::Closed,
            _ => Self::Unreachable,
        }
    }
}

/// The account of a call that is not at its end, or was written.
#[derive(Debug)]
pub(super) struct Account {
    meter: Arc<Meter>,
    labels: Labels,
    model: String,
    route: Route,
    /// What was sent, for counting.
    body: Bytes,
    at: Timestamp,
    sent: Instant,
    status: Option<StatusCode>,
    seen: Option<Seen>,
    written: Option<Verdict>,
}

impl Account {
    pub(super) fn open(meter: Arc<Meter>, labels: Labels, model: String, route: Route, body: Bytes) -> Self {
        Self {
            meter,
            labels,
            model,
            route,
            body,
            at: SystemClock.now(),
            sent: Instant::now(),
            status: None,
            seen: None,
            written: None,
        }
    }

    /// The endpoint took the call; `seen` will read its reply.
    pub(super) fn accepted(&mut self, status: StatusCode, seen: Seen) {
        self.status = Some(status);
        self.seen = Some(seen);
    }

    /// The endpoint answered with an error, whose body is not read.
    pub(super) fn refused(&mut self, status: StatusCode) {
        self.status = Some(status);
    }

    /// Reads along. Whether the reply has said that it is at its end.
    pub(super) fn take(&mut self, piece: &[u8]) -> bool {
        self.seen.as_mut().is_some_and(|seen| {
            seen.take(piece);
            seen.is_done()
        })
    }

    /// Closes within a task, and lets others go on where that takes long.
    pub(super) fn close_in_place(&mut self, end: End) -> Verdict {
        let counts = self.seen.as_ref().is_some_and(|seen| seen.usage().is_none());
        if self.written.is_none() && counts {
            // Whole replies are read, and what nobody counted is counted.
            return tokio::task::block_in_place(|| self.close(end));
        }
        self.close(end)
    }

    /// Writes the line, if it is not written, and says what the client may be told.
    pub(super) fn close(&mut self, end: End) -> Verdict {
        if let Some(verdict) = self.written {
            return verdict;
        }
        let (error, verdict) = self.outcome(end);
        let call = Call {
            at: self.at,
            ability: match self.route {
                Route::Chat => Ability::Chat,
                Route::Embeddings => Ability::Encode,
            },
            purpose: self.labels.purpose.clone(),
            model: self.model.clone(),
            cell: self.labels.cell.clone(),
            served: Served::Live,
            usage: self.usage(error),
            outcome: error.map_or(Outcome::Whole, |name| Outcome::Failed(name.to_owned())),
            status: self.status.map(|status| status.as_u16()),
            finish: self
                .seen
                .as_ref()
                .and_then(|seen| seen.finish.as_deref())
                .map(Finish::from_word),
            retries: 0,
            unsettled: 0,
            waiting: Duration::ZERO,
            serving: self.sent.elapsed(),
        };
        let verdict = match self.meter.record(&call) {
            Ok(_) => verdict,
            Err(error) => {
                eprintln!("memwarden proxy: a call was not metered, and its reply cut: {error}");
                Verdict::Cut
            }
        };
        self.written = Some(verdict);
        verdict
    }

    /// The name of what went wrong, as `ModelError` has it (and `left`), and what the client may be told.
    fn outcome(&mut self, end: End) -> (Option<&'static str>, Verdict) {
        let refused = self.status.is_some_and(|status| !status.is_success());
        match end {
            End::Unreachable => (Some("unreachable"), Verdict::Cut),
            End::Closed => (Some("closed"), Verdict::Cut),
            End::Silent => (Some("timeout"), Verdict::Cut),
            End::Cut => (Some("cut"), Verdict::Cut),
            End::Left => (Some("left"), Verdict::Cut),
            End::Came if refused => (Some("upstream"), Verdict::Whole),
            End::Came => match self.seen.as_mut().and_then(Seen::end) {
                Some(Fault::Cut) => (Some("cut"), Verdict::Cut),
                Some(Fault::Malformed) => (Some("malformed"), Verdict::Whole),
                Some(Fault::Failed) => (Some("failed"), Verdict::Whole),
                Some(Fault::TooLarge) => (Some("too-large"), Verdict::Whole),
                None => (self.shortfall(), Verdict::Whole),
            },
        }
    }

    fn shortfall(&self) -> Option<&'static str> {
        Some(match self.seen.as_ref()?.shortfall()? {
            Shortfall::Truncated => "truncated",
            Shortfall::Withheld => "withheld",
            Shortfall::Empty => "empty",
        })
    }

    /// The endpoint's count; or else ours, of what was sent and what came. None where nothing can be said: there was no
    /// reply, it did not come whole, or it was not read.
    fn usage(&self, error: Option<&str>) -> Option<Usage> {
        let seen = self.seen.as_ref()?;
        if let Some((prompt, completion)) = seen.usage() {
            return Some(Usage {
                prompt,
                completion,
                source: UsageSource::Provider,
            });
        }
        if !matches!(error, None | Some("truncated" | "withheld" | "empty")) {
            return None;
        }
        let counted = match self.route {
            Route::Chat => Counted::Reply,
            Route::Embeddings => Counted::Texts,
        };
        let mut count = TokenCount::of(&self.model, counted)?;
        prompt::count(self.route, &self.body, &mut count)?;
        count.completion(seen.text.as_deref()?);
        count.usage()
    }
}

/// Counts nothing: a call that is dropped open has no reply that came whole.
impl Drop for Account {
    fn drop(&mut self) {
        self.close(End::Left);
    }
}
