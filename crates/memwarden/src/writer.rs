//! The one desk of a process at which commits are made.
//!
//! Whoever has something to commit queues it and sits down if the desk is free; everybody else waits for an
//! answer, and what queued meanwhile is left to a thread of the desk's own. So a lone writer pays for no change
//! of thread, and many share a commit. Whoever works takes what queued (at most [`MAX_BATCH`] drafts), commits
//! it in one transaction, moves the witness, and only then answers. Recall entries that lower nothing wait for
//! the next commit, at most [`LAZY_LIMIT`]. Once a minute the thread compares every row with the log, retires
//! what has expired, and drops recall payloads past their retention.

use crate::chain::Chain;
use crate::scribe::Scribe;
use crate::view::View;
use crate::witness::{Advance, Seen, Witness};
use crate::{Clock, WardenError, draft, sweep};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use memwarden_core::RecallPayload;
use memwarden_core::log::{Body, Draft, Placed, Records, Refusal, SealError, StoreError};
use memwarden_ledger::SignerKey;
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most drafts of one commit.
pub(crate) const MAX_BATCH: usize = 256;
/// Longest time that a deferred recall entry stays out of the log.
const LAZY_LIMIT: Duration = Duration::from_millis(900);
/// How often a commit or a view starts again because the key was rotated under it.
pub(crate) const RELOAD_TRIES: usize = 8;
/// Time between two comparisons of all rows with the log.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// What became of the drafts of one job, in order.
pub(crate) type Answer = Result<Vec<Result<Placed, Refusal>>, WardenError>;

enum Job {
    /// Commit these drafts as one group, in order.
    Commit {
        drafts: Vec<Draft>,
        how: Advance,
        reply: Sender<Answer>,
    },
    /// Commit these drafts and sign with this key from then on.
    Rotate {
        drafts: Vec<Draft>,
        signer: Box<SignerKey>,
        reply: Sender<Answer>,
    },
    /// A deferred entry was left in `lazy`.
    Lazy,
    /// Commit what is deferred, then answer.
    Flush { reply: Sender<Answer> },
    /// Do the minute's work now, then answer.
    Sweep { reply: Sender<Answer> },
    /// Commit what is deferred, then end.
    Stop,
}

/// What a commit needs.
pub(crate) struct Desk {
    pub(crate) store: Arc<dyn Records>,
    pub(crate) chain: Arc<Chain>,
    pub(crate) witness: Arc<Witness>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// The way to the desk.
pub(crate) struct Writer {
    jobs: Sender<Job>,
    lazy: Arc<Mutex<Vec<Draft>>>,
    seat: Arc<Mutex<Loop>>,
    bell: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("queued", &self.queued())
            .finish_non_exhaustive()
    }
}

impl Writer {
    pub(crate) fn start(desk: Desk, signer: SignerKey) -> Result<Self, WardenError> {
        let (jobs, inbox) = unbounded();
        let (bell, rung) = bounded(1);
        let lazy = Arc::new(Mutex::new(Vec::new()));
        let scribe = Scribe::new(Arc::clone(&desk.chain), signer);
        let queue = inbox.clone();
        let seat = Arc::new(Mutex::new(Loop {
            desk,
            scribe,
            inbox,
            carried: None,
            lazy: Arc::clone(&lazy),
            lazy_since: None,
            swept: Instant::now(),
            stopped: false,
        }));
        let own = Arc::clone(&seat);
        let thread = std::thread::Builder::new()
            .name("memwarden-writer".to_owned())
            .spawn(move || work(&own, &rung, &queue))
            .map_err(|error| WardenError::Closed {
                reason: error.to_string(),
            })?;
        Ok(Self {
            jobs,
            lazy,
            seat,
            bell,
            thread: Some(thread),
        })
    }

    /// Commits `drafts` together: all of them or, if one is refused, none.
    pub(crate) fn commit(&self, drafts: Vec<Draft>) -> Result<Vec<Placed>, WardenError> {
        self.ask(|reply| Job::Commit {
            drafts,
            how: Advance::Forward,
            reply,
        })
    }

    /// Commits `drafts` and moves the witness to the result even if it had seen more.
    pub(crate) fn commit_accepted(&self, drafts: Vec<Draft>) -> Result<Vec<Placed>, WardenError> {
        self.ask(|reply| Job::Commit {
            drafts,
            how: Advance::Accepted,
            reply,
        })
    }

    pub(crate) fn rotate(&self, drafts: Vec<Draft>, signer: SignerKey) -> Result<Vec<Placed>, WardenError> {
        self.ask(|reply| Job::Rotate {
            drafts,
            signer: Box::new(signer),
            reply,
        })
    }

    /// Leaves an entry for the next commit.
    pub(crate) fn defer(&self, draft: Draft) {
        let mut lazy = self.lazy.lock().unwrap_or_else(PoisonError::into_inner);
        lazy.push(draft);
        if lazy.len() == 1 {
            // A closed channel means that the process is ending; `Drop` has flushed what was there.
            let _ = self.jobs.send(Job::Lazy);
            self.ring();
        }
    }

    /// Commits what was deferred.
    pub(crate) fn flush(&self) -> Result<(), WardenError> {
        self.ask(|reply| Job::Flush { reply }).map(|_| ())
    }

    /// Requests that it has not taken up.
    pub(crate) fn queued(&self) -> usize {
        self.jobs.len()
    }

    /// Does the minute's work.
    pub(crate) fn sweep(&self) -> Result<(), WardenError> {
        self.ask(|reply| Job::Sweep { reply }).map(|_| ())
    }

    fn ask(&self, job: impl FnOnce(Sender<Answer>) -> Job) -> Result<Vec<Placed>, WardenError> {
        let closed = || WardenError::Closed {
            reason: "a commit before this one ended in a panic".to_owned(),
        };
        let (reply, answer) = bounded(1);
        self.jobs.send(job(reply)).map_err(|_| closed())?;
        // The job is in the queue before anybody looks whether the desk is taken; whoever leaves it looks at
        // the queue afterwards. One of the two sees the other.
        fence(Ordering::SeqCst);
        match self.seat.try_lock() {
            Ok(mut seat) => {
                seat.turn();
                let more = seat.is_waited_for();
                drop(seat);
                fence(Ordering::SeqCst);
                if more || !self.jobs.is_empty() {
                    self.ring();
                }
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Poisoned(_)) => return Err(closed()),
        }
        let outcomes = loop {
            match answer.recv_timeout(LAZY_LIMIT) {
                Ok(outcomes) => break outcomes?,
                // Whoever panicked at the desk answers nobody any more.
                Err(RecvTimeoutError::Timeout) if !self.seat.is_poisoned() => {}
                Err(_) => return Err(closed()),
            }
        };
        outcomes
            .into_iter()
            .map(|outcome| outcome.map_err(WardenError::Refused))
            .collect()
    }

    /// Wakes the thread. A bell that rings already is enough; one that nobody hears means that it has ended.
    fn ring(&self) {
        let _ = self.bell.try_send(());
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.jobs.send(Job::Stop);
        self.ring();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported on its stderr.
            let _ = thread.join();
        }
    }
}

struct Waiting {
    count: usize,
    reply: Sender<Answer>,
}

struct Loop {
    desk: Desk,
    scribe: Scribe,
    inbox: Receiver<Job>,
    /// A job that must open the next commit.
    carried: Option<Job>,
    lazy: Arc<Mutex<Vec<Draft>>>,
    lazy_since: Option<Instant>,
    swept: Instant,
    stopped: bool,
}

/// The thread: does what is queued when the bell rings and what is due when it does not.
fn work(seat: &Mutex<Loop>, rung: &Receiver<()>, queue: &Receiver<Job>) {
    let mut patience = Duration::ZERO;
    loop {
        let waited = rung.recv_timeout(patience);
        let Ok(mut seat) = seat.lock() else { return };
        if waited == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        loop {
            seat.turn();
            seat.sweep_if_due();
            if seat.stopped {
                return;
            }
            if !seat.is_waited_for() {
                break;
            }
        }
        patience = seat.patience();
        drop(seat);
        fence(Ordering::SeqCst);
        if !queue.is_empty() {
            patience = Duration::ZERO;
        }
    }
}

#[derive(Default)]
struct Batch {
    drafts: Vec<Draft>,
    groups: Vec<usize>,
    waiting: Vec<Waiting>,
    flushed: Vec<Sender<Answer>>,
    swept: Vec<Sender<Answer>>,
    /// How many drafts at the end had been deferred.
    deferred: usize,
    accepted: bool,
    rotate: Option<Box<SignerKey>>,
    stop: bool,
}

impl Loop {
    /// Does what is queued, as one commit, and answers.
    fn turn(&mut self) {
        let first = self.carried.take().or_else(|| self.inbox.try_recv().ok());
        let mut batch = Batch::default();
        if let Some(job) = first {
            self.carried = self.collect(job, &mut batch);
        }
        let due = self.lazy_since.is_some_and(|since| since.elapsed() >= LAZY_LIMIT);
        if due || batch.stop || !batch.drafts.is_empty() || !batch.flushed.is_empty() {
            self.take_deferred(&mut batch);
        }
        self.stopped |= batch.stop;
        let asked = std::mem::take(&mut batch.swept);
        self.commit(batch);
        if !asked.is_empty() {
            let done = self.sweep();
            for reply in asked {
                let _ = reply.send(done.clone().map(|()| Vec::new()).map_err(WardenError::from));
            }
        }
    }

    /// Whether something waits to be done at once.
    fn is_waited_for(&self) -> bool {
        self.carried.is_some() || !self.inbox.is_empty()
    }

    fn sweep_if_due(&mut self) {
        if !self.stopped && self.swept.elapsed() >= SWEEP_EVERY {
            // A sweep that fails is repeated in a minute; recall reports the failure on its own path.
            let _ = self.sweep();
        }
    }

    fn sweep(&mut self) -> Result<(), StoreError> {
        self.swept = Instant::now();
        let now = self.desk.clock.now();
        let drafts = sweep::due(&*self.desk.store, &self.desk.chain, now).map_err(|error| match error {
            WardenError::Store(error) => error,
            other => SealError::Unverified {
                reason: other.to_string(),
            }
            .into(),
        })?;
        if drafts.is_empty() {
            return Ok(());
        }
        // What was refused has changed in the meantime and is looked at again in a minute.
        self.seal(&drafts, &vec![1; drafts.len()], false, None)?;
        Ok(())
    }

    fn patience(&self) -> Duration {
        let sweep = SWEEP_EVERY.saturating_sub(self.swept.elapsed());
        self.lazy_since.map_or(sweep, |since| {
            LAZY_LIMIT.saturating_sub(since.elapsed()).min(sweep)
        })
    }

    /// Fills the batch from the queue; returns a job that must open the next one.
    fn collect(&mut self, first: Job, batch: &mut Batch) -> Option<Job> {
        let mut job = first;
        loop {
            match job {
                Job::Commit { drafts, how, reply } => {
                    batch.accepted |= how == Advance::Accepted;
                    batch.add(drafts, reply);
                }
                Job::Rotate {
                    drafts,
                    signer,
                    reply,
                } => {
                    if !batch.drafts.is_empty() {
                        return Some(Job::Rotate {
                            drafts,
                            signer,
                            reply,
                        });
                    }
                    batch.add(drafts, reply);
                    batch.rotate = Some(signer);
                    return None;
                }
                Job::Lazy => {
                    self.lazy_since.get_or_insert_with(Instant::now);
                }
                Job::Flush { reply } => batch.flushed.push(reply),
                Job::Sweep { reply } => batch.swept.push(reply),
                Job::Stop => {
                    batch.stop = true;
                    return None;
                }
            }
            if batch.drafts.len() >= MAX_BATCH {
                return None;
            }
            job = match self.inbox.try_recv() {
                Ok(job) => job,
                Err(_) => return None,
            };
        }
    }

    fn take_deferred(&mut self, batch: &mut Batch) {
        let deferred = std::mem::take(&mut *self.lazy.lock().unwrap_or_else(PoisonError::into_inner));
        self.lazy_since = None;
        batch.groups.extend(deferred.iter().map(|_| 1));
        batch.deferred = deferred.len();
        batch.drafts.extend(deferred);
    }

    /// Puts back what could not be committed: no recall goes without its entry.
    fn defer_again(&mut self, mut drafts: Vec<Draft>) {
        let mut lazy = self.lazy.lock().unwrap_or_else(PoisonError::into_inner);
        drafts.append(&mut lazy);
        *lazy = drafts;
        if !lazy.is_empty() {
            self.lazy_since.get_or_insert_with(Instant::now);
        }
    }

    /// A record that a deferred query served was purged meanwhile: the entry stays, without the words.
    fn blank_queries(drafts: &[Draft], outcomes: &[Result<Placed, Refusal>]) -> Vec<Draft> {
        let mut blank = Vec::new();
        for (draft, _) in drafts
            .iter()
            .zip(outcomes)
            .filter(|(_, outcome)| outcome.is_err())
        {
            let Body::Note(payload) = &draft.body else {
                continue;
            };
            let Ok(mut recall) = RecallPayload::decode(&payload.bytes) else {
                continue;
            };
            recall.query.clear();
            if let Ok((payload, digest)) = draft::salted(recall.encode()) {
                let mut leaf = draft.leaf.clone();
                leaf.payload = digest;
                blank.push(Draft {
                    leaf,
                    body: Body::Note(payload),
                });
            }
        }
        blank
    }

    fn commit(&mut self, batch: Batch) {
        let Batch {
            mut drafts,
            groups,
            deferred,
            waiting,
            flushed,
            accepted,
            rotate,
            ..
        } = batch;
        let result = if drafts.is_empty() {
            Ok(Vec::new())
        } else {
            self.seal(&drafts, &groups, accepted, rotate.as_deref())
        };
        let waiting_for = drafts.len() - deferred;
        match result {
            Ok(outcomes) => {
                let refused = outcomes.get(waiting_for..).unwrap_or_default();
                let blank = Self::blank_queries(drafts.get(waiting_for..).unwrap_or_default(), refused);
                if !blank.is_empty() && self.seal(&blank, &vec![1; blank.len()], false, None).is_err() {
                    self.defer_again(blank);
                }
                let mut outcomes = outcomes.into_iter();
                for Waiting { count, reply } in waiting {
                    // A caller that no longer waits has nothing to be told.
                    let _ = reply.send(Ok(outcomes.by_ref().take(count).collect()));
                }
                for reply in flushed {
                    let _ = reply.send(Ok(Vec::new()));
                }
            }
            Err(error) => {
                self.defer_again(drafts.split_off(waiting_for));
                for reply in waiting.into_iter().map(|waiting| waiting.reply).chain(flushed) {
                    let _ = reply.send(Err(error.clone().into()));
                }
            }
        }
    }

    fn seal(
        &mut self,
        drafts: &[Draft],
        groups: &[usize],
        accepted: bool,
        rotate: Option<&SignerKey>,
    ) -> Result<Vec<Result<Placed, Refusal>>, StoreError> {
        let failed = |error: WardenError| SealError::Unverified {
            reason: error.to_string(),
        };
        self.desk.chain.check_anchor().map_err(failed)?;
        let attempt = |this: &mut Self| {
            this.scribe.expect(groups.to_vec());
            if let Some(signer) = rotate {
                this.scribe.rotate_to(signer.clone());
            }
            this.desk
                .store
                .commit(this.desk.chain.log, drafts, &mut this.scribe)
        };
        let mut tries = 0;
        let committed = loop {
            match attempt(self) {
                Err(StoreError::Seal(_)) if tries < RELOAD_TRIES => {
                    // Another process may have rotated the key: read it again, verify everything, try again.
                    tries += 1;
                    let _ = self.scribe.abandon();
                    let signer = self.desk.chain.reload(&*self.desk.store).map_err(failed)?;
                    self.scribe.set_signer(signer);
                }
                other => break other,
            }
        };
        let changed = match &committed {
            Ok(_) => self.scribe.settle()?,
            Err(_) => self.scribe.abandon(),
        };
        if changed {
            // A view reads principals and policy anew.
            drop(View::open(&*self.desk.store, &self.desk.chain).map_err(failed)?);
        }
        let committed = committed?;
        let epoch = self.desk.chain.replay().epoch();
        let seen = Seen {
            epoch,
            size: committed.size,
            checkpoint: committed.checkpoint,
        };
        let how = if accepted {
            Advance::Accepted
        } else {
            Advance::Forward
        };
        // The commit is durable: a witness that cannot be written is behind, which is normal, and is tried
        // again with the next commit.
        let _ = self.desk.witness.advance(&seen, how);
        Ok(committed.outcomes)
    }
}

impl Batch {
    fn add(&mut self, drafts: Vec<Draft>, reply: Sender<Answer>) {
        self.groups.push(drafts.len());
        self.waiting.push(Waiting {
            count: drafts.len(),
            reply,
        });
        self.drafts.extend(drafts);
    }
}
