//! The process that is killed: writes from several threads and says what was acknowledged.

use super::phase::{self, PhaseFile};
use crate::protocol::{Key, Line, say};
use crate::text::Texts;
use crate::{Outcome, scratch};
use memwarden::{Handle, Namespace, Options, Query, Role, Warden, WardenError};
use memwarden_store::CommitPhase;
use miette::{IntoDiagnostic as _, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// One recall for so many writes of a thread.
const RECALL_EVERY: u32 = 7;
/// Writes between that of a record and its retirement.
const RETIRED_AFTER: u32 = 3;

/// Options of the hidden command.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArguments {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    round: u32,
    #[arg(long)]
    writers: u32,
    #[arg(long)]
    seed: u64,
}

/// Writes until it is killed, or until nobody listens.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<Outcome> {
    let texts = Texts::new(arguments.seed);
    let warden = open(arguments)?;
    let agent = scratch::handle(&arguments.dir, &warden, Role::Agent).into_diagnostic()?;
    say(&Line::Ready).into_diagnostic()?;
    std::thread::scope(|scope| {
        for thread in 0..arguments.writers {
            let (agent, texts) = (&agent, &texts);
            scope.spawn(move || {
                if let Err(error) = write(agent, texts, arguments.round, thread) {
                    // Without a listener the trial is over.
                    let _ = say(&Line::Failed(error.to_string()));
                }
            });
        }
    });
    Ok(Outcome::Fails)
}

fn open(arguments: &WorkerArguments) -> Result<Arc<Warden>> {
    let byte = PhaseFile::open(&arguments.dir.join("phase")).into_diagnostic()?;
    let tell = move |commit: CommitPhase| {
        let inside = commit == CommitPhase::Begun;
        // A byte that cannot be written only makes the count of kills inside a commit smaller.
        let _ = byte.set(if inside { phase::INSIDE } else { phase::OUTSIDE });
    };
    let options = Options {
        commit_probe: Some(memwarden::Probe(Arc::new(tell))),
        ..Options::default()
    };
    Warden::open_with(&scratch::places(&arguments.dir), &options).into_diagnostic()
}

fn write(agent: &Handle, texts: &Texts, process: u32, thread: u32) -> Result<(), WardenError> {
    let namespace = Namespace::default();
    let mut retiring = None;
    for n in 0.. {
        let key = Key { process, thread, n };
        let kept = agent.remember(&namespace, key.entry(texts))?;
        if say(&Line::Wrote(key, kept.id)).is_err() {
            return Ok(());
        }
        if key.is_retired_later() {
            retiring = Some((key, kept.id));
        }
        if let Some((old, id)) = retiring.filter(|(old, _)| old.n + RETIRED_AFTER == n) {
            retiring = None;
            agent.retire(id, "the trial no longer needs it")?;
            if say(&Line::Retired(old, id)).is_err() {
                return Ok(());
            }
        }
        if n.is_multiple_of(RECALL_EVERY) {
            agent.recall(&namespace, &Query::new(texts.query(n.into())))?;
        }
    }
    Ok(())
}
