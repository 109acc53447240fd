//! One of the two processes: writers, checkers of what the other one wrote, and readers in between.

use crate::protocol::{Key, Line, say};
use crate::text::Texts;
use crate::{Outcome, scratch};
use memwarden::{Handle, Namespace, Query, RecordId, Role, Status, Warden, WardenError};
use miette::{IntoDiagnostic as _, Result};
use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TrySendError, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Checks that may wait: with more, they would no longer begin right after the acknowledgement.
const WAITING: usize = 4;
/// Threads that check.
const CHECKERS: usize = 2;
/// Writes between that of a record and its retirement.
const RETIRED_AFTER: u32 = 3;
/// One recall for so many writes of a thread.
const RECALL_EVERY: u32 = 16;

/// Options of the hidden command.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArguments {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    process: u32,
    #[arg(long)]
    writers: u32,
    #[arg(long)]
    seed: u64,
}

#[derive(Debug, Default)]
struct Counts {
    seen: AtomicU64,
    passed_over: AtomicU64,
    recalls: AtomicU64,
    stop: AtomicBool,
}

struct Worker<'a> {
    agent: &'a Handle,
    texts: &'a Texts,
    namespace: Namespace,
    counts: &'a Counts,
}

/// Writes and checks until the parent closes the pipe.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<Outcome> {
    let warden = Warden::open(&scratch::places(&arguments.dir)).into_diagnostic()?;
    let agent = scratch::handle(&arguments.dir, &warden, Role::Agent).into_diagnostic()?;
    let (texts, counts) = (Texts::new(arguments.seed), Counts::default());
    let worker = Worker {
        agent: &agent,
        texts: &texts,
        namespace: Namespace::default(),
        counts: &counts,
    };
    let (send, inbox) = sync_channel(WAITING);
    let inbox = Mutex::new(inbox);
    say(&Line::Ready).into_diagnostic()?;
    std::thread::scope(|scope| {
        for thread in 0..arguments.writers {
            let worker = &worker;
            scope.spawn(move || worker.report(worker.write(arguments.process, thread)));
        }
        for _ in 0..CHECKERS {
            let (worker, inbox) = (&worker, &inbox);
            scope.spawn(move || worker.report(worker.check_all(inbox)));
        }
        for line in std::io::stdin().lock().lines().map_while(std::io::Result::ok) {
            if let Err(TrySendError::Full(_)) = send.try_send(line) {
                counts.passed_over.fetch_add(1, Ordering::Relaxed);
            }
        }
        counts.stop.store(true, Ordering::Relaxed);
        drop(send);
    });
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    say(&Line::Checked {
        seen: count(&counts.seen),
        passed_over: count(&counts.passed_over),
        recalls: count(&counts.recalls),
    })
    .into_diagnostic()?;
    Ok(Outcome::Holds)
}

impl Worker<'_> {
    fn report(&self, outcome: Result<(), WardenError>) {
        if let Err(error) = outcome {
            self.counts.stop.store(true, Ordering::Relaxed);
            // Without a listener the trial is over.
            let _ = say(&Line::Failed(error.to_string()));
        }
    }

    fn write(&self, process: u32, thread: u32) -> Result<(), WardenError> {
        let mut retiring = None;
        for n in 0.. {
            if self.counts.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let key = Key { process, thread, n };
            let kept = self.agent.remember(&self.namespace, key.entry(self.texts))?;
            if say(&Line::Wrote(key, kept.id)).is_err() {
                return Ok(());
            }
            if key.is_retired_later() {
                retiring = Some((key, kept.id));
            }
            if let Some((old, id)) = retiring.filter(|(old, _)| old.n + RETIRED_AFTER == n) {
                retiring = None;
                self.agent.retire(id, "the trial no longer needs it")?;
                if say(&Line::Retired(old, id)).is_err() {
                    return Ok(());
                }
            }
            if n.is_multiple_of(RECALL_EVERY) {
                self.recall(&self.texts.query(n.into()))?;
            }
        }
        Ok(())
    }

    fn recall(&self, query: &str) -> Result<Vec<RecordId>, WardenError> {
        let recalled = self.agent.recall(&self.namespace, &Query::new(query))?;
        self.counts.recalls.fetch_add(1, Ordering::Relaxed);
        Ok(recalled.hits.into_iter().map(|hit| hit.record.id).collect())
    }

    /// Checks what the other process was acknowledged.
    fn check_all(&self, inbox: &Mutex<Receiver<String>>) -> Result<(), WardenError> {
        loop {
            let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(line) = next else { return Ok(()) };
            let missed = match line.parse() {
                Ok(Line::Wrote(key, id)) => self.check_write(key, id)?,
                Ok(Line::Retired(key, id)) => self.check_retirement(key, id)?,
                _ => Some(format!("the parent said `{line}`")),
            };
            self.counts.seen.fetch_add(1, Ordering::Relaxed);
            if let Some(what) = missed
                && say(&Line::Missed(what)).is_err()
            {
                return Ok(());
            }
        }
    }

    fn check_write(&self, key: Key, id: RecordId) -> Result<Option<String>, WardenError> {
        let record = match self.agent.inspect(id) {
            Ok(record) => record,
            Err(WardenError::NotFound { .. }) => return Ok(Some(format!("{key:?} is not there"))),
            Err(error) => return Err(error),
        };
        let may_be_retired = key.is_retired_later() && record.status == Status::Retired;
        if record.status != key.status() && !may_be_retired {
            return Ok(Some(format!("{key:?} is {}", record.status)));
        }
        if record.entry.content != key.content(self.texts) {
            return Ok(Some(format!("{key:?} has another text")));
        }
        if key.is_retired_later() {
            return Ok(None);
        }
        let served = self.recall(&key.token())?.contains(&id);
        let wrong = served == key.is_quarantined();
        Ok(wrong.then(|| format!("{key:?} with status {} is served: {served}", record.status)))
    }

    fn check_retirement(&self, key: Key, id: RecordId) -> Result<Option<String>, WardenError> {
        if self.agent.inspect(id)?.status != Status::Retired {
            return Ok(Some(format!("the retirement of {key:?} is not there")));
        }
        let served = self.recall(&key.token())?.contains(&id);
        Ok(served.then(|| format!("retired {key:?} is served")))
    }
}
