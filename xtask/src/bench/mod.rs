//! `cargo xtask bench`: what the guarantees cost, side by side with bare SQLite.
//!
//! Two sides take turns (A B A B …) in the same run on the same disk, so that whatever else the machine does
//! falls on both. Ratios are taken within a round; the median of the rounds is what a bar is held against.
//! The digits of one side alone say more about the machine than about the code.

mod bare;
mod gate;
mod machine;
mod measure;
mod page;
mod proxy;
mod reads;
mod recall;
mod scale;
mod screen;
mod writes;

pub(crate) use recall::{WorkerArguments, work};

use crate::text::Texts;
use crate::{Outcome, scratch};
use clap::ValueEnum;
use measure::Figure;
use memwarden::{Entry, Namespace, Role, Warden};
use miette::{IntoDiagnostic as _, Result};
use std::path::{Path, PathBuf};

/// Records that both sides hold before anything is measured.
const RECORDS: u64 = 100_000;
/// Threads that write at once, and rows of a bare commit.
const WRITERS: u64 = 64;

/// Options of `bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Fewer operations in a round: for trying things out, not for the page
    #[arg(long)]
    quick: bool,
    /// Measure only this
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Rounds of each side
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(5..=99))]
    rounds: u32,
    /// Write the page here, in Markdown
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where the stores are made [default: target/xtask]
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Opening the store
    Open,
    /// Verifying the log
    Verify,
    /// Recall, and what checking adds to it
    Recall,
    /// One writer, one row per commit
    Single,
    /// Many writers against many rows per commit
    Many,
    /// Deciding an action, and recall in a context
    Gate,
    /// Turning texts into vectors
    Encode,
    /// Stores of a thousand to a million records
    Scale,
    /// Screening by the default preset; needs no store
    Screen,
    /// Calls through the metering proxy; needs no store
    Proxy,
}

/// What all parts work with.
struct Bench<'a> {
    trial: &'a Path,
    base: Option<&'a Path>,
    texts: Texts,
    rounds: u32,
    quick: bool,
}

/// Measures and prints; fails if a bar is missed.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let load = machine::load();
    let trial = scratch::directory(arguments.dir.as_deref())?;
    let bench = Bench {
        trial: trial.path(),
        base: arguments.dir.as_deref(),
        texts: Texts::new(1),
        rounds: arguments.rounds,
        quick: arguments.quick,
    };
    let wants = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut figures: Vec<Figure> = Vec::new();
    if wants(Part::Screen) {
        figures.extend(bench.screen()?);
    }
    if wants(Part::Proxy) {
        figures.extend(bench.proxy()?);
    }
    if wants(Part::Encode) {
        figures.push(bench.encode()?);
    }
    if wants(Part::Scale) {
        let picture = arguments.out.as_ref().map(|out| {
            let page = scratch::workspace().join(out);
            page.with_extension("svg")
        });
        figures.extend(bench.scale(picture.as_deref())?);
    }
    let without = [Part::Encode, Part::Scale, Part::Screen, Part::Proxy];
    if arguments.only.is_empty() || arguments.only.iter().any(|part| !without.contains(part)) {
        eprintln!("bench: filling a store with {RECORDS} records");
        bench.fill()?;
    }
    if wants(Part::Open) {
        figures.push(bench.open()?);
    }
    if wants(Part::Verify) {
        figures.extend(bench.verify()?);
    }
    if wants(Part::Recall) {
        figures.extend(bench.recall()?);
    }
    if wants(Part::Single) || wants(Part::Many) {
        eprintln!("bench: filling a bare database with {RECORDS} rows");
        let mut bare = bare::Bare::create(&bench.trial.join("bare.db"), &bench.texts)?;
        if wants(Part::Single) {
            figures.push(bench.single(&mut bare)?);
        }
        if wants(Part::Many) {
            figures.push(bench.many(&mut bare)?);
        }
    }
    if wants(Part::Gate) {
        figures.extend(bench.gate()?);
    }
    println!("{}", page::table(&figures));
    for line in figures.iter().flat_map(|figure| &figure.bars) {
        println!("{line}");
    }
    if let Some(out) = &arguments.out {
        page::write(&scratch::workspace().join(out), &figures, arguments, &load)?;
        println!("written to {}", out.display());
    }
    let met = figures
        .iter()
        .flat_map(|figure| &figure.bars)
        .all(measure::Bar::is_met);
    Ok(Outcome::of(met))
}

impl Bench<'_> {
    /// Makes the store: the published guard looks at every write, as it does later in what is measured.
    fn fill(&self) -> Result<()> {
        let policy = memwarden::guard::preset("sentinel");
        let policy = policy.ok_or_else(|| miette::miette!("no preset `sentinel`"))?;
        scratch::init(self.trial, &policy)?;
        let warden = Warden::open(&scratch::places(self.trial)).into_diagnostic()?;
        let agent = scratch::handle(self.trial, &warden, Role::Agent).into_diagnostic()?;
        let namespace = Namespace::default();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WRITERS)
                .map(|thread| {
                    let (agent, namespace) = (&agent, &namespace);
                    scope.spawn(move || {
                        (thread..RECORDS).step_by(64).try_for_each(|n| {
                            agent.remember(namespace, entry(self.texts.text(n))).map(|_| ())
                        })
                    })
                })
                .collect();
            for thread in threads {
                let filled = thread.join().map_err(|_| miette::miette!("a writer panicked"))?;
                filled.into_diagnostic()?;
            }
            Ok(())
        })
    }
}

/// What an agent remembers. It declares its source: `sentinel` serves nothing whose source is unknown.
fn entry(text: impl Into<String>) -> Entry {
    let mut entry = Entry::new(text);
    entry.source = Some("agent".to_owned());
    entry
}
