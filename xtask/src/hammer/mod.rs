//! `cargo xtask hammer`: two processes write and read one store at the same time.
//!
//! Each tells the parent what was acknowledged, and the parent tells the other one at once. A check that
//! begins after that line arrived must see the write: what does not is a stale read. At the end everything
//! acknowledged must be in one log that verifies, each write at a place of its own.
//!
//! Checks that would queue up behind others are passed over and counted: a late check proves nothing.

mod worker;

pub(crate) use worker::{WorkerArguments, work};

use crate::crash::Expected;
use crate::protocol::{Line, POLICY};
use crate::text::Texts;
use crate::{Outcome, scratch};
use indicatif::{ProgressBar, ProgressStyle};
use memwarden::{Depth, Role, Warden};
use miette::{Context as _, IntoDiagnostic as _, Result, miette};
use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Most problems that are printed.
const MOST_PROBLEMS: usize = 20;

/// Options of `hammer`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How long to hammer
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Threads of each process that write
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    writers: u32,
    /// Seed of the texts
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the store is made [default: target/xtask]
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

/// What the two processes said.
#[derive(Debug, Default)]
struct Heard {
    expected: Expected,
    by_process: [u64; 2],
    ids: HashSet<memwarden::RecordId>,
    seen: u64,
    passed_over: u64,
    recalls: u64,
    problems: Vec<String>,
}

type Speaker = Arc<Mutex<Option<ChildStdin>>>;

/// Runs the trial.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let trial = scratch::directory(arguments.dir.as_deref())?;
    let policy = memwarden::guard::parse(POLICY).into_diagnostic()?;
    scratch::init(trial.path(), &policy)?;
    let mut children = Vec::new();
    let mut ends: Vec<(ChildStdout, Speaker)> = Vec::new();
    for process in 0..2 {
        let mut child = spawn(arguments, trial.path(), process)?;
        let pipe = || miette!("a child has no pipe");
        let out = child.stdout.take().ok_or_else(pipe)?;
        let speaker = Arc::new(Mutex::new(Some(child.stdin.take().ok_or_else(pipe)?)));
        children.push(child);
        ends.push((out, speaker));
    }
    let speakers: Vec<Speaker> = ends.iter().map(|(_, speaker)| Arc::clone(speaker)).collect();
    let (said, lines) = channel();
    let relays: Vec<JoinHandle<()>> = ends
        .into_iter()
        .zip(speakers.iter().rev().map(Arc::clone))
        .enumerate()
        .map(|(process, ((out, _), other))| {
            let said = said.clone();
            std::thread::spawn(move || relay(process, out, &other, &said))
        })
        .collect();
    drop(said);
    let mut heard = Heard::default();
    listen(
        Duration::from_secs(arguments.seconds),
        &lines,
        &speakers,
        &mut heard,
    );
    for child in &mut children {
        let status = child.wait().into_diagnostic()?;
        if !status.success() {
            heard.problems.push(format!("a process ended with {status}"));
        }
    }
    for relay in relays {
        relay.join().map_err(|_| miette!("a relay panicked"))?;
    }
    let entries = at_the_end(trial.path(), &Texts::new(arguments.seed), &mut heard)?;
    Ok(report(arguments, &heard, entries))
}

fn spawn(arguments: &Arguments, trial: &Path, process: u32) -> Result<Child> {
    Command::new(std::env::current_exe().into_diagnostic()?)
        .arg("hammer-worker")
        .arg("--dir")
        .arg(trial)
        .args(["--process", &process.to_string()])
        .args(["--writers", &arguments.writers.to_string()])
        .args(["--seed", &arguments.seed.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .into_diagnostic()
        .wrap_err("a process did not start")
}

/// Hands what one process says to the other one, then to the parent.
fn relay(process: usize, out: ChildStdout, other: &Speaker, said: &Sender<(usize, String)>) {
    for line in BufReader::new(out).lines().map_while(std::io::Result::ok) {
        if line.starts_with("wrote ") || line.starts_with("retired ") {
            let mut speaker = other.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(pipe) = speaker.as_mut() {
                // The other process may have ended already; its exit is looked at below.
                let _ = pipe.write_all(format!("{line}\n").as_bytes());
            }
        }
        // The parent listens until both relays end.
        let _ = said.send((process, line));
    }
}

/// Takes in what is said until time is up; then closes the pipes, which ends the processes.
fn listen(time: Duration, lines: &Receiver<(usize, String)>, speakers: &[Speaker], heard: &mut Heard) {
    let started = Instant::now();
    let bar = progress(time);
    let mut open = true;
    loop {
        let left = time.saturating_sub(started.elapsed());
        if open && (left.is_zero() || !heard.problems.is_empty()) {
            open = false;
            for speaker in speakers {
                drop(speaker.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        }
        let patience = if open { left } else { Duration::from_secs(600) };
        match lines.recv_timeout(patience) {
            Ok((process, line)) => {
                take(process, &line, heard);
                bar.set_position(started.elapsed().min(time).as_secs());
            }
            Err(RecvTimeoutError::Timeout) if open => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    bar.finish_and_clear();
}

fn take(process: usize, line: &str, heard: &mut Heard) {
    match line.parse() {
        Ok(Line::Ready) => {}
        Ok(Line::Wrote(key, id)) => {
            if let Some(count) = heard.by_process.get_mut(process) {
                *count += 1;
            }
            if !heard.ids.insert(id) {
                heard
                    .problems
                    .push(format!("record {id} was given to two writes"));
            }
            heard.expected.wrote(key, id);
        }
        Ok(Line::Retired(_, id)) => heard.expected.retired(id),
        Ok(Line::Checked {
            seen,
            passed_over,
            recalls,
        }) => {
            heard.seen += seen;
            heard.passed_over += passed_over;
            heard.recalls += recalls;
        }
        Ok(Line::Missed(what)) => heard
            .problems
            .push(format!("stale read in process {process}: {what}")),
        Ok(Line::Failed(why)) => heard.problems.push(format!("process {process} failed: {why}")),
        Err(_) => heard.problems.push(format!("process {process} said `{line}`")),
    }
}

/// Verifies the one log and looks for everything acknowledged. Returns the entries of the log.
fn at_the_end(trial: &Path, texts: &Texts, heard: &mut Heard) -> Result<u64> {
    let warden = Warden::open(&scratch::places(trial)).into_diagnostic()?;
    let agent = scratch::handle(trial, &warden, Role::Agent).into_diagnostic()?;
    let report = agent.verify(Depth::Deep, None).into_diagnostic()?;
    if !report.is_intact() {
        heard.problems.push(format!("the store is damaged: {report:?}"));
    }
    heard
        .problems
        .extend(heard.expected.differences(&agent, texts, 0));
    Ok(report.entries)
}

fn report(arguments: &Arguments, heard: &Heard, entries: u64) -> Outcome {
    for problem in heard.problems.iter().take(MOST_PROBLEMS) {
        eprintln!("hammer: {problem}");
    }
    let [first, second] = heard.by_process;
    let (written, problems) = (heard.expected.writes(), heard.problems.len());
    println!("acknowledged writes: {written} ({first} and {second})");
    println!("acknowledged retirements: {}", heard.expected.retirements());
    println!(
        "checked by the other process: {} ({} passed over)",
        heard.seen, heard.passed_over
    );
    println!("recalls: {}", heard.recalls);
    println!("log entries at the end: {entries}");
    println!("lost, stale or damaged: {problems}");
    let line = serde_json::json!({
        "command": "hammer",
        "seconds": arguments.seconds,
        "writers": arguments.writers,
        "acknowledged": written,
        "retired": heard.expected.retirements(),
        "checked": heard.seen,
        "passed_over": heard.passed_over,
        "recalls": heard.recalls,
        "entries": entries,
        "problems": problems,
    });
    println!("{line}");
    // A trial in which one side stood still shows nothing.
    let took_place = first > 0 && second > 0 && heard.seen > 0;
    if !took_place {
        eprintln!("hammer: one of the processes wrote nothing or checked nothing");
    }
    Outcome::of(took_place && heard.problems.is_empty())
}

fn progress(time: Duration) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} s");
    ProgressBar::new(time.as_secs()).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
