//! `cargo xtask crash`: no acknowledged write is lost when the process is killed.
//!
//! A child opens the store and writes from several threads; after each `remember` and `retire` that returned
//! it tells the parent, one flushed line each. The parent sends SIGKILL at a random point, opens the store,
//! verifies it to the last text, and looks for everything that it was told.
//!
//! Whether a kill landed inside a commit is read from one byte of a file: the child sets it through
//! [`memwarden::Options::commit_probe`] between `BEGIN IMMEDIATE` and `COMMIT`, and the parent reads it once the
//! child is dead. A file does what a shared mapping would do without unsafe code: what was written to it
//! lies in the kernel's page cache, which outlives the process.
//!
//! What this shows is that a dying process loses nothing and tears nothing. It does not show what a power
//! failure does: the page cache that keeps the byte also keeps writes that never reached the disk.

mod expectation;
mod phase;
mod plan;
mod worker;

pub(crate) use expectation::Expected;
pub(crate) use worker::{WorkerArguments, work};

use crate::protocol::{Line, POLICY};
use crate::random::SplitMix64;
use crate::text::Texts;
use crate::{Outcome, scratch};
use indicatif::{ProgressBar, ProgressStyle};
use memwarden::{Depth, Role, Warden};
use miette::{Context as _, IntoDiagnostic as _, Result, miette};
use phase::PhaseFile;
use plan::{Moment, Plan};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Kills that must land inside a commit, in percent.
const INSIDE_AT_LEAST: u64 = 30;
/// Everything that was ever acknowledged is looked for again after this many kills.
const LOOK_AT_ALL_EVERY: u64 = 10;
/// A child that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Options of `crash`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How often the child is killed
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    kills: u64,
    /// Threads of the child that write
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    writers: u32,
    /// Seed of texts and kill points
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the store is made [default: target/xtask]
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Counts {
    kills: u64,
    inside: u64,
    missing: u64,
    entries: u64,
}

/// Runs the trial.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let trial = scratch::directory(arguments.dir.as_deref())?;
    let policy = memwarden::guard::parse(POLICY).into_diagnostic()?;
    scratch::init(trial.path(), &policy)?;
    let phase = PhaseFile::create(&trial.path().join("phase")).into_diagnostic()?;
    let texts = Texts::new(arguments.seed);
    let mut random = SplitMix64::of(arguments.seed, u64::MAX);
    let mut expected = Expected::default();
    let mut counts = Counts::default();
    let bar = progress(arguments.kills);
    for round in 0..arguments.kills {
        let plan = Plan::draw(&mut random);
        let before = expected.mark();
        let inside = one_kill(arguments, trial.path(), round, plan, &phase, &mut expected)?;
        counts.kills += 1;
        counts.inside += u64::from(inside);
        let all = (round + 1).is_multiple_of(LOOK_AT_ALL_EVERY) || round + 1 == arguments.kills;
        let since = if all { 0 } else { before };
        let found = look(trial.path(), &texts, &expected, since)
            .wrap_err_with(|| format!("after kill {} ({plan:?})", round + 1))?;
        counts.entries = found.entries;
        for line in &found.damage {
            bar.suspend(|| eprintln!("crash: kill {}: {line}", round + 1));
        }
        counts.missing += found.damage.len() as u64;
        bar.set_message(format!("{} inside, {} writes", counts.inside, expected.writes()));
        bar.inc(1);
        if bar.is_hidden() && (round + 1).is_multiple_of(50) {
            println!(
                "crash: {} kills, {} inside, {} writes",
                counts.kills,
                counts.inside,
                expected.writes()
            );
        }
    }
    bar.finish_and_clear();
    Ok(report(arguments, &counts, &expected))
}

fn report(arguments: &Arguments, counts: &Counts, expected: &Expected) -> Outcome {
    let share = counts.inside * 100 / counts.kills.max(1);
    println!("kills: {}", counts.kills);
    println!("inside a commit: {} ({share} %)", counts.inside);
    println!("acknowledged writes: {}", expected.writes());
    println!("acknowledged retirements: {}", expected.retirements());
    println!("log entries at the end: {}", counts.entries);
    println!("missing or damaged: {}", counts.missing);
    let line = serde_json::json!({
        "command": "crash",
        "kills": counts.kills,
        "writers": arguments.writers,
        "seed": arguments.seed,
        "inside": counts.inside,
        "acknowledged": expected.writes(),
        "retired": expected.retirements(),
        "entries": counts.entries,
        "missing": counts.missing,
    });
    println!("{line}");
    if counts.missing > 0 {
        eprintln!("crash: acknowledged writes were lost or changed");
        return Outcome::Fails;
    }
    if share < INSIDE_AT_LEAST {
        eprintln!(
            "crash: {share} % of the kills landed inside a commit: expected at least {INSIDE_AT_LEAST} %, or \
             the trial shows too little"
        );
        return Outcome::Fails;
    }
    Outcome::Holds
}

/// Starts a child, kills it as planned, takes in what it acknowledged. Returns whether the kill landed
/// inside a commit.
fn one_kill(
    arguments: &Arguments,
    trial: &Path,
    round: u64,
    plan: Plan,
    phase: &PhaseFile,
    expected: &mut Expected,
) -> Result<bool> {
    phase.set(phase::OUTSIDE).into_diagnostic()?;
    let mut child = spawn(arguments, trial, round)?;
    let out = child
        .stdout
        .take()
        .ok_or_else(|| miette!("the child has no stdout"))?;
    let (said, heard) = channel();
    let listener = std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(std::io::Result::ok) {
            // The parent hears everything until the pipe ends, so this cannot fail before it gave up.
            let _ = said.send(line);
        }
    });
    let waited = wait(plan, phase, &heard, expected);
    // A child that ended by itself cannot be killed; what it said tells why.
    let killed = child.kill();
    let status = child.wait().into_diagnostic()?;
    let inside = phase.get().into_diagnostic()? == phase::INSIDE;
    // The pipe keeps what was written before the kill.
    let rest: Result<Vec<()>> = heard.iter().map(|line| take(&line, expected)).collect();
    listener.join().map_err(|_| miette!("the listener panicked"))?;
    waited.and(rest)?;
    killed.into_diagnostic()?;
    if status.code().is_some() {
        return Err(miette!(
            "the child ended by itself before it was killed: {status}"
        ));
    }
    Ok(inside)
}

fn spawn(arguments: &Arguments, trial: &Path, round: u64) -> Result<Child> {
    let program = std::env::current_exe().into_diagnostic()?;
    Command::new(program)
        .arg("crash-worker")
        .arg("--dir")
        .arg(trial)
        .args(["--round", &round.to_string()])
        .args(["--writers", &arguments.writers.to_string()])
        .args(["--seed", &arguments.seed.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .into_diagnostic()
        .wrap_err("the child did not start")
}

/// Returns when the plan says that it is time.
fn wait(plan: Plan, phase: &PhaseFile, heard: &Receiver<String>, expected: &mut Expected) -> Result<()> {
    let mut acknowledged = 0;
    let mut ready = plan.moment == Moment::WhileOpening;
    while !ready || acknowledged < plan.acknowledgements {
        match heard.recv_timeout(PATIENCE) {
            Ok(line) => {
                take(&line, expected)?;
                acknowledged += u64::from(ready);
                ready = true;
            }
            Err(RecvTimeoutError::Timeout) => {
                return Err(miette!("the child said nothing for {} s", PATIENCE.as_secs()));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(miette!("the child ended by itself")),
        }
    }
    plan.spin(phase).into_diagnostic()
}

fn take(line: &str, expected: &mut Expected) -> Result<()> {
    match line.parse() {
        Ok(Line::Wrote(key, id)) => expected.wrote(key, id),
        Ok(Line::Retired(_, id)) => expected.retired(id),
        Ok(Line::Ready) => {}
        Ok(Line::Failed(why)) => return Err(miette!("the child failed: {why}")),
        _ => return Err(miette!("the child said `{line}`")),
    }
    Ok(())
}

struct Found {
    entries: u64,
    damage: Vec<String>,
}

/// Opens the store as its next user would, verifies all of it, and looks for what was acknowledged.
fn look(trial: &Path, texts: &Texts, expected: &Expected, since: usize) -> Result<Found> {
    let warden = Warden::open(&scratch::places(trial))
        .into_diagnostic()
        .wrap_err("the store does not open")?;
    let agent = scratch::handle(trial, &warden, Role::Agent).into_diagnostic()?;
    let report = agent
        .verify(Depth::Deep, None)
        .into_diagnostic()
        .wrap_err("the log does not verify")?;
    let mut damage: Vec<String> = report
        .damage
        .iter()
        .map(|damage| format!("record {}: {}", damage.record, damage.what))
        .collect();
    let indexes = report.index_differences.iter();
    damage.extend(indexes.map(|record| format!("search index differs at {record}")));
    damage.extend(expected.differences(&agent, texts, since));
    Ok(Found {
        entries: report.entries,
        damage,
    })
}

fn progress(kills: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} kills, {msg} [{elapsed}, {eta} left]");
    ProgressBar::new(kills).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
