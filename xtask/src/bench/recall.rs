//! Recall, and the share of it that checking rows against the log takes.
//!
//! The same program is built a second time with the feature `unverified-reads`, which serves rows as they
//! stand. Two processes, one of each, ask the same questions of the same store and take turns; what the first
//! takes longer is the price of checking. Each question is asked several times and the shortest time of each
//! side counts: checking costs microseconds, and whatever else the machine does costs milliseconds.
//!
//! Both look up the newest head of the log, because a recall without that would be stale rather than
//! unchecked; its price is measured alone and counted as checking too.

use super::measure::{Bar, Figure, Rounds, Unit, median, ms};
use super::{Bench, RECORDS};
use crate::text::Texts;
use crate::{Outcome, scratch};
use memwarden::core::log::Records as _;
use memwarden::{Namespace, Query, Role, Warden};
use memwarden_store::SqliteStore;
use miette::{Context as _, IntoDiagnostic as _, Result, bail, miette};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

const RECALL_BELOW_MS: f64 = 5.0;
const RECALL_P99_BELOW_MS: f64 = 15.0;
const CHECKS_BELOW: f64 = 0.10;
/// Questions of one round.
const QUESTIONS: u64 = 200;
/// How often each side is asked all of them, in turns.
const TURNS: u32 = 5;
/// Questions that nobody counts: caches fill.
const WARM_UP: u64 = 200;
const LOOKS: u32 = 2_000;

/// Options of the hidden command.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArguments {
    #[arg(long)]
    dir: PathBuf,
}

/// For each line `first count`, asks those questions and prints each one's milliseconds.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<Outcome> {
    let warden = Warden::open(&scratch::places(&arguments.dir)).into_diagnostic()?;
    let agent = scratch::handle(&arguments.dir, &warden, Role::Agent).into_diagnostic()?;
    let (texts, namespace) = (Texts::new(1), Namespace::default());
    for line in std::io::stdin().lock().lines() {
        let line = line.into_diagnostic()?;
        let (first, count) = line
            .split_once(' ')
            .ok_or_else(|| miette!("`{line}` is no range"))?;
        let first: u64 = first.parse().into_diagnostic()?;
        let count: u64 = count.parse().into_diagnostic()?;
        let mut answer = String::new();
        for n in first..first + count {
            let query = Query::new(texts.query(n));
            let started = Instant::now();
            agent.recall(&namespace, &query).into_diagnostic()?;
            answer.push_str(&format!("{} ", ms(started.elapsed())));
        }
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")
            .and_then(|()| out.flush())
            .into_diagnostic()?;
    }
    Ok(Outcome::Holds)
}

struct Asker {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Asker {
    fn start(program: &Path, trial: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .arg("recall-worker")
            .arg("--dir")
            .arg(trial)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .into_diagnostic()
            .wrap_err_with(|| format!("`{}` did not start", program.display()))?;
        let answers = child.stdout.take().ok_or_else(|| miette!("no pipe"))?;
        Ok(Self {
            questions: child.stdin.take(),
            answers: BufReader::new(answers),
            child,
        })
    }

    fn ask(&mut self, first: u64, count: u64) -> Result<Vec<f64>> {
        let questions = self.questions.as_mut().ok_or_else(|| miette!("no pipe"))?;
        writeln!(questions, "{first} {count}").into_diagnostic()?;
        let mut line = String::new();
        self.answers.read_line(&mut line).into_diagnostic()?;
        let times: Vec<f64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        if times.len() as u64 != count {
            bail!("a process answered {} of {count} questions", times.len());
        }
        Ok(times)
    }

    fn end(mut self) -> Result<()> {
        self.questions = None;
        let status = self.child.wait().into_diagnostic()?;
        if status.success() {
            Ok(())
        } else {
            Err(miette!("a process ended with {status}"))
        }
    }
}

impl Bench<'_> {
    /// Recall under the default policy; then under one that screens again on reading and one that does nothing
    /// else at all, both against a side that checks nothing.
    pub(super) fn recall(&self) -> Result<Vec<Figure>> {
        let unchecked = build_unchecked()?;
        let default = self.alone(memwarden::guard::DEFAULT_PRESET)?;
        let sentinel = self.compare("sentinel", &unchecked)?;
        let off = self.compare("off", &unchecked)?;
        self.load_policy("sentinel")?;
        Ok(vec![default, sentinel, off])
    }

    /// The default policy weighs who wrote a record, which a side that checks nothing does not know: it would
    /// look for other records, not do less work.
    fn alone(&self, policy: &str) -> Result<Figure> {
        eprintln!("bench: recall under policy `{policy}`, {} rounds", self.rounds);
        self.load_policy(policy)?;
        let mut asker = Asker::start(&std::env::current_exe().into_diagnostic()?, self.trial)?;
        asker.ask(0, WARM_UP)?;
        let (mut times, mut all) = (Vec::new(), Vec::new());
        for round in 1..=u64::from(self.rounds) {
            let asked = asker.ask(first_of(round), self.questions())?;
            all.extend_from_slice(&asked);
            times.push(median(asked));
        }
        asker.end()?;
        let slowest = Rounds::new(Unit::Milliseconds, all).p99();
        let slowest = Rounds::new(Unit::Milliseconds, vec![slowest]);
        let ours = Rounds::new(Unit::Milliseconds, times);
        let what = format!("recall, k = 10, policy `{policy}`");
        Ok(Figure {
            bars: vec![
                Bar::below(&format!("{what}, median"), &ours, RECALL_BELOW_MS),
                Bar::below(&format!("{what}, 99 of 100"), &slowest, RECALL_P99_BELOW_MS),
            ],
            what,
            ours,
            theirs: None,
            ratio: None,
        })
    }

    fn compare(&self, policy: &str, unchecked: &Path) -> Result<Figure> {
        eprintln!(
            "bench: recall under policy `{policy}`, two sides, {} rounds",
            self.rounds
        );
        self.load_policy(policy)?;
        let look = look_at_head(self.trial)?;
        let mut checked = Asker::start(&std::env::current_exe().into_diagnostic()?, self.trial)?;
        let mut unchecked = Asker::start(unchecked, self.trial)?;
        checked.ask(0, WARM_UP)?;
        unchecked.ask(0, WARM_UP)?;
        let (mut ours, mut theirs, mut share) = (Vec::new(), Vec::new(), Vec::new());
        for round in 1..=u64::from(self.rounds) {
            let (first, count) = (first_of(round), self.questions());
            let (mut with, mut without) = (Vec::new(), Vec::new());
            for _ in 0..TURNS {
                without.push(unchecked.ask(first, count)?);
                with.push(checked.ask(first, count)?);
            }
            let pairs = shortest(&with).into_iter().zip(shortest(&without));
            let shares = pairs.map(|(with, without)| (with - without + look) / (without - look));
            share.push(median(shares.collect()));
            ours.push(median(with.concat()));
            theirs.push(median(without.concat()));
        }
        checked.end()?;
        unchecked.end()?;
        let share = Rounds::new(Unit::Share, share);
        let ours = Rounds::new(Unit::Milliseconds, ours);
        let what = format!("recall, k = 10, policy `{policy}`");
        Ok(Figure {
            what: format!("{what}, against unchecked rows"),
            bars: vec![
                Bar::below(&format!("{what}, median"), &ours, RECALL_BELOW_MS),
                Bar::below(&format!("{what}, added by checking"), &share, CHECKS_BELOW),
            ],
            ours,
            theirs: Some(Rounds::new(Unit::Milliseconds, theirs)),
            ratio: Some(share),
        })
    }

    const fn questions(&self) -> u64 {
        if self.quick { QUESTIONS / 4 } else { QUESTIONS }
    }

    fn load_policy(&self, name: &str) -> Result<()> {
        let policy = memwarden::guard::preset(name).ok_or_else(|| miette!("no preset `{name}`"))?;
        let warden = Warden::open(&scratch::places(self.trial)).into_diagnostic()?;
        let owner = scratch::handle(self.trial, &warden, Role::Owner).into_diagnostic()?;
        owner.load_policy(&policy).into_diagnostic()?;
        Ok(())
    }
}

/// The first question of a round: each round asks about another part of the store.
const fn first_of(round: u64) -> u64 {
    round * 7_919 % (RECORDS - QUESTIONS)
}

/// The shortest time of each question over all turns.
fn shortest(turns: &[Vec<f64>]) -> Vec<f64> {
    let mut best = turns.first().cloned().unwrap_or_default();
    for turn in turns {
        for (best, time) in best.iter_mut().zip(turn) {
            *best = best.min(*time);
        }
    }
    best
}

/// Builds this program with unchecked reads, in a target directory of its own so that nobody takes the one
/// for the other.
fn build_unchecked() -> Result<PathBuf> {
    eprintln!("bench: building the side that checks nothing");
    let root = scratch::workspace();
    let target = scratch::target().join("unverified");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(&root)
        .args([
            "build",
            "--quiet",
            "--release",
            "--package",
            "xtask",
            "--features",
            "unverified-reads",
        ])
        .arg("--target-dir")
        .arg(&target)
        .status()
        .into_diagnostic()?;
    if !status.success() {
        bail!("the side that checks nothing does not build");
    }
    Ok(target.join("release").join("xtask"))
}

/// Milliseconds of looking up the head of a log in a view that is open.
fn look_at_head(trial: &Path) -> Result<f64> {
    let store = SqliteStore::open(&scratch::places(trial).store).into_diagnostic()?;
    let logs = store.logs().into_diagnostic()?;
    let log = logs.first().ok_or_else(|| miette!("the store has no log"))?.id;
    let mut snapshot = store.snapshot().into_diagnostic()?;
    let mut times = Vec::new();
    for _ in 0..LOOKS {
        let started = Instant::now();
        snapshot.head(log).into_diagnostic()?;
        times.push(ms(started.elapsed()));
    }
    Ok(median(times))
}
