//! A reply on its way to the client: each piece as it comes, while the account reads along.
//!
//! States: *flowing* until the endpoint ends, fails, falls silent or the client leaves or reads no further; then the account is closed and
//! the client is told, in this order, so that whoever has a whole reply also finds it in the meter. A client is told
//! the end of a reply only by [`Passed::End`]; whatever else happens, even the relay being dropped, it sees a cut.

use super::account::{Account, End};
use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Pieces that may wait for a slow client before the endpoint has to.
const WAITING: usize = 16;

/// The body that the client reads.
#[derive(Debug)]
pub(super) struct Relay {
    passed: mpsc::Receiver<Passed>,
    is_breaking: bool,
}

#[derive(Debug)]
enum Passed {
    Piece(Frame<Bytes>),
    End,
}

/// The reply did not come whole; the connection to the client is broken off.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint's reply was cut off")]
pub(super) struct CutOff;

impl Relay {
    /// Starts to pass on `body`.
    pub(super) fn start(body: Incoming, mut account: Option<Account>, silence: Duration) -> Self {
        if let Some(account) = account.as_mut().filter(|_| body.is_end_stream()) {
            // Nobody asks for a body of no bytes: it would look as if the client had left.
            account.close_in_place(End::Came);
        }
        let (out, passed) = mpsc::channel(WAITING);
        tokio::spawn(pass(body, out, account, silence));
        Self {
            passed,
            is_breaking: false,
        }
    }
}

impl Body for Relay {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        match self.passed.poll_recv(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Passed::Piece(piece))) => Poll::Ready(Some(Ok(piece))),
            Poll::Ready(Some(Passed::End)) => Poll::Ready(None),
            Poll::Ready(None) if self.is_breaking => Poll::Ready(Some(Err(CutOff))),
            Poll::Ready(None) => {
                // An error throws away what the server has not sent yet: let it send that first.
                self.is_breaking = true;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

async fn pass(
    mut body: Incoming,
    out: mpsc::Sender<Passed>,
    mut account: Option<Account>,
    silence: Duration,
) {
    let close = |account: &mut Option<Account>, end| match account {
        Some(account) => account.close_in_place(end),
        None => Verdict::Whole,
    };
    loop {
        let next = tokio::select! {
            next = timeout(silence, body.frame()) => next,
            () = out.closed() => {
                close(&mut account, End::Left);
                return;
            }
        };
        let piece = match next {
            Err(_) => {
                close(&mut account, End::Silent);
                return;
            }
            Ok(Some(Err(_))) => {
                close(&mut account, End::Cut);
                return;
            }
            Ok(None) => {
                // A stream that ends without saying so is cut for the client too.
                if close(&mut account, End::Came) == Verdict::Whole {
                    let _ = timeout(silence, out.send(Passed::End)).await;
                }
                return;
            }
            Ok(Some(Ok(piece))) => piece,
        };
        let is_last = account.as_mut().is_some_and(|account| {
            piece.data_ref().is_some_and(|data| account.take(data)) || body.is_end_stream()
        });
        // A length that is filled is an end too: the last piece of what is no whole reply is kept back.
        if is_last && close(&mut account, End::Came) == Verdict::Cut {
            return;
        }
        // A client that reads no further holds up the endpoint as long as one that says nothing does.
        if !matches!(timeout(silence, out.send(Passed::Piece(piece))).await, Ok(Ok(()))) {
            close(&mut account, End::Left);
            return;
        }
    }
}

/// Whether the client may be told that a reply is at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Whole,
    Cut,
}
