//! `cargo xtask instructions`: how many instructions three hot paths take, counted by callgrind.
//!
//! A clock on a shared machine says little about a change; a count of instructions repeats to a fraction of a
//! percent. Each path is run with few and with many repetitions and the difference is divided: what starting and
//! opening cost falls out. The counts that are expected lie in `xtask/instructions.json`; one that grew by more than
//! [`GROWTH`] fails, and a change that is meant to cost more writes them anew with `--update`. They are kept by maker of
//! the processor, because libraries choose their instructions by it; on another maker's, the counts of the known one are
//! held against [`GROWTH_ELSEWHERE`].

use crate::text::Texts;
use crate::{Outcome, scratch};
use clap::ValueEnum;
use memwarden::guard::{Candidate, EmptyStore, Guard, Phase, Writer, preset};
use memwarden::{Entry, Namespace, Query, Role, Warden};
use miette::{Context as _, IntoDiagnostic as _, Result, bail, miette};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a count may grow by before the check fails.
const GROWTH: f64 = 0.05;
const GROWTH_ELSEWHERE: f64 = 0.25;
const EXPECTED: &str = "xtask/instructions.json";
/// Records of the store that is written to and recalled from.
const RECORDS: u64 = 2_000;

/// Options of `instructions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Write the counts of this run as what is expected from now on
    #[arg(long)]
    update: bool,
}

/// Options of the hidden command.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkerArguments {
    #[arg(long, value_enum)]
    path: HotPath,
    #[arg(long)]
    times: u64,
    #[arg(long)]
    dir: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HotPath {
    /// The write stages of the default policy on one entry.
    Screen,
    /// One entry remembered, by itself.
    Remember,
    /// Ten records recalled and checked.
    Recall,
}

impl HotPath {
    const fn name(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Remember => "remember",
            Self::Recall => "recall",
        }
    }

    /// Few and many repetitions.
    const fn times(self) -> (u64, u64) {
        match self {
            Self::Screen => (100, 600),
            Self::Remember => (20, 120),
            Self::Recall => (20, 120),
        }
    }
}

/// Counts, compares, and prints.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let file = scratch::workspace().join(EXPECTED);
    let mut all: Map<String, Value> = match std::fs::read_to_string(&file) {
        Ok(text) => serde_json::from_str(&text)
            .into_diagnostic()
            .wrap_err_with(|| format!("`{EXPECTED}` does not read"))?,
        Err(_) if arguments.update => Map::new(),
        Err(error) => return Err(miette!("`{EXPECTED}`: {error}; write it with --update")),
    };
    let maker = maker();
    let own = all.get(&maker).and_then(Value::as_object);
    let expected = own.or_else(|| all.values().find_map(Value::as_object)).cloned();
    let (limit, expected) = (
        if own.is_some() { GROWTH } else { GROWTH_ELSEWHERE },
        expected.unwrap_or_default(),
    );
    let mut counted = Map::new();
    let mut holds = true;
    for path in HotPath::value_variants() {
        let count = count(*path)?;
        counted.insert(path.name().to_owned(), json!(count));
        match expected.get(path.name()).and_then(Value::as_u64) {
            Some(before) => {
                let growth = count as f64 / before as f64 - 1.0;
                let verdict = if growth > limit { "grew too much" } else { "holds" };
                println!(
                    "{}: {count} instructions, {:+.1} % ({before} expected, at most +{:.0} %): {verdict}",
                    path.name(),
                    growth * 100.0,
                    limit * 100.0
                );
                holds &= growth <= limit;
            }
            None => {
                println!("{}: {count} instructions, none expected yet", path.name());
                holds &= arguments.update;
            }
        }
    }
    if arguments.update {
        all.insert(maker, Value::Object(counted));
        let text = serde_json::to_string_pretty(&all).into_diagnostic()?;
        std::fs::write(&file, format!("{text}\n")).into_diagnostic()?;
        println!("written to {EXPECTED}");
        return Ok(Outcome::Holds);
    }
    Ok(Outcome::of(holds))
}

/// Who made this machine's processor.
fn maker() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("vendor_id"));
    let name = line.and_then(|line| line.split_once(':'));
    name.map_or_else(|| "unknown".to_owned(), |(_, name)| name.trim().to_owned())
}

/// Instructions of one repetition.
fn count(path: HotPath) -> Result<u64> {
    let (few, many) = path.times();
    let difference = collected(path, many)?
        .checked_sub(collected(path, few)?)
        .ok_or_else(|| miette!("more repetitions took fewer instructions"))?;
    Ok(difference / (many - few))
}

/// Runs the worker under callgrind, in a store of its own.
fn collected(path: HotPath, times: u64) -> Result<u64> {
    let trial = scratch::directory(None)?;
    fill(trial.path())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().into_diagnostic()?)
        .args(["instructions-worker", "--path", path.name(), "--times"])
        .arg(times.to_string())
        .arg("--dir")
        .arg(trial.path())
        .output()
        .into_diagnostic()
        .wrap_err("`valgrind` did not start: install it with the system's packages")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("the worker failed under callgrind:\n{text}");
    }
    let count = text.lines().find_map(|line| line.split_once("Collected :"));
    let count = count.and_then(|(_, count)| count.trim().parse().ok());
    count.ok_or_else(|| miette!("callgrind printed no count:\n{text}"))
}

fn fill(trial: &Path) -> Result<()> {
    let policy = preset("warden").ok_or_else(|| miette!("no preset `warden`"))?;
    scratch::init(trial, &policy)?;
    let warden = Warden::open(&scratch::places(trial)).into_diagnostic()?;
    let agent = scratch::handle(trial, &warden, Role::Agent).into_diagnostic()?;
    let (texts, namespace) = (Texts::new(1), Namespace::default());
    // One after the other: the order of rows decides how the search index is laid out.
    for n in 0..RECORDS {
        let entry = Entry::new(texts.text(n));
        agent.remember(&namespace, entry).into_diagnostic()?;
    }
    Ok(())
}

/// Repeats one path.
pub(crate) fn work(arguments: &WorkerArguments) -> Result<Outcome> {
    let texts = Texts::new(1);
    if matches!(arguments.path, HotPath::Screen) {
        let policy = preset("warden").ok_or_else(|| miette!("no preset `warden`"))?;
        let guard = Guard::new();
        for n in 0..arguments.times {
            let entry = Entry::new(texts.text(n));
            let candidate = Candidate {
                entry: &entry,
                inherited: None,
            };
            std::hint::black_box(guard.screen(
                &policy,
                Phase::Write,
                &candidate,
                &EmptyStore,
                Writer::Untrusted,
            ));
        }
        return Ok(Outcome::Holds);
    }
    let warden = Warden::open(&scratch::places(&arguments.dir)).into_diagnostic()?;
    let agent = scratch::handle(&arguments.dir, &warden, Role::Agent).into_diagnostic()?;
    let namespace = Namespace::default();
    for n in 0..arguments.times {
        if matches!(arguments.path, HotPath::Recall) {
            let query = Query::new(texts.query(n * 7_919 % RECORDS));
            agent.recall(&namespace, &query).into_diagnostic()?;
        } else {
            let entry = Entry::new(texts.text(RECORDS + n));
            agent.remember(&namespace, entry).into_diagnostic()?;
        }
    }
    Ok(Outcome::Holds)
}
