//! `cargo xtask cases`: what users complained about, run through a real store under the default preset.
//!
//! Two sets: `../shared/cases/complaints.jsonl`, which lies beside the project, and our own in
//! `crates/memwarden-guard/cases/`. Each line has an `input` and what is expected of it:
//!
//! - `allow`: admitted as it is, neither quarantined nor rewritten;
//! - `quarantine`: kept out of recall until a person releases it (refused counts too);
//! - `no-authority`: may be stored, but written by a tool its effective authority is `none`, and it is shown as
//!   stored text with that authority.
//!
//! Exits 1 if one comes out otherwise, 2 if the complaints are not there.

use crate::{Outcome, scratch};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use memwarden::core::{Authority, Verdict};
use memwarden::{Entry, Handle, Namespace, Query, Remembered, Role, Warden};
use miette::{Context as _, IntoDiagnostic as _, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Options of `cases`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only our own cases
    #[arg(long)]
    own: bool,
    /// Where the complaints are [default: ../shared]
    #[arg(long, value_name = "DIRECTORY")]
    shared: Option<PathBuf>,
}

struct Case {
    id: String,
    input: String,
    expect: Expect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Allow,
    Quarantine,
    NoAuthority,
}

/// Runs every case and prints all of them.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut cases = Vec::new();
    let own = scratch::workspace().join("crates/memwarden-guard/cases");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&own)
        .into_diagnostic()?
        .map(|file| file.map(|file| file.path()).into_diagnostic())
        .collect::<Result<_>>()?;
    files.sort();
    if !arguments.own {
        let shared = arguments
            .shared
            .clone()
            .unwrap_or_else(|| scratch::workspace().join("../shared"));
        let complaints = shared.join("cases/complaints.jsonl");
        if !complaints.is_file() {
            eprintln!(
                "cases: not run: there is no `{}`; --own runs ours alone",
                complaints.display()
            );
            return Ok(Outcome::Missing);
        }
        files.insert(0, complaints);
    }
    for file in files {
        read(&file, &mut cases)?;
    }
    let trial = scratch::directory(None)?;
    let policy = memwarden::guard::preset(memwarden::guard::DEFAULT_PRESET);
    let policy = policy.ok_or_else(|| miette::miette!("there is no default preset"))?;
    scratch::init(trial.path(), &policy)?;
    let warden = Warden::open(&scratch::places(trial.path())).into_diagnostic()?;
    let handle = |role| scratch::handle(trial.path(), &warden, role).into_diagnostic();
    let tool = handle(Role::Owner)?
        .register("web reader", Role::Tool, None)
        .into_diagnostic()?;
    let store = Store {
        agent: handle(Role::Agent)?,
        tool: warden.handle(&tool).into_diagnostic()?,
    };
    let mut table = Table::new();
    table
        .load_style(UTF8_FULL_CONDENSED)
        .set_header(["case", "expected", "came out", ""]);
    let mut misses = 0_usize;
    for (index, case) in cases.iter().enumerate() {
        let (came_out, right) = store.run(index, case)?;
        misses += usize::from(!right);
        let mark = if right { "" } else { "MISS" };
        table.add_row([case.id.as_str(), case.expect.as_str(), &came_out, mark]);
    }
    println!("{table}");
    println!(
        "{} cases, {} as expected, {misses} not",
        cases.len(),
        cases.len() - misses
    );
    Ok(Outcome::of(misses == 0))
}

impl Expect {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Quarantine => "quarantine",
            Self::NoAuthority => "no-authority",
        }
    }
}

fn read(file: &Path, cases: &mut Vec<Case>) -> Result<()> {
    let text = std::fs::read_to_string(file)
        .into_diagnostic()
        .wrap_err_with(|| format!("`{}` cannot be read", file.display()))?;
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let row: Value = serde_json::from_str(line).into_diagnostic()?;
        let string = |key: &str| row.get(key).and_then(Value::as_str);
        let expect = match string("expect") {
            Some("allow") => Expect::Allow,
            Some("quarantine") => Expect::Quarantine,
            Some("no-authority") => Expect::NoAuthority,
            other => bail!("{}:{}: unknown `expect` {other:?}", file.display(), number + 1),
        };
        let (Some(id), Some(input)) = (string("id"), string("input")) else {
            bail!("{}:{}: `id` or `input` is missing", file.display(), number + 1);
        };
        cases.push(Case {
            id: id.to_owned(),
            input: input.to_owned(),
            expect,
        });
    }
    Ok(())
}

struct Store {
    agent: Handle,
    tool: Handle,
}

impl Store {
    /// What became of a case, each in a namespace of its own, and whether that is what was expected.
    fn run(&self, index: usize, case: &Case) -> Result<(String, bool)> {
        let namespace: Namespace = format!("case-{index}").parse().into_diagnostic()?;
        let writer = match case.expect {
            Expect::NoAuthority => &self.tool,
            Expect::Allow | Expect::Quarantine => &self.agent,
        };
        let remembered = writer
            .remember(&namespace, Entry::new(case.input.as_str()))
            .into_diagnostic()?;
        let by = remembered
            .stage
            .as_ref()
            .map_or_else(String::new, |stage| format!(" by {stage}"));
        let came_out = format!("{}{by}", remembered.verdict);
        match case.expect {
            Expect::Allow => Ok((
                came_out,
                matches!(remembered.verdict, Verdict::Admit | Verdict::Annotate),
            )),
            Expect::Quarantine => {
                let served = self.agent.recall(&namespace, &query(case)).into_diagnostic()?;
                let kept = remembered.verdict >= Verdict::Quarantine && served.hits.is_empty();
                Ok((came_out, kept))
            }
            Expect::NoAuthority => {
                let (how, right) = self.shown(&namespace, case, &remembered)?;
                Ok((format!("{came_out}; {how}"), right))
            }
        }
    }

    /// How a tool's text is shown: with authority none, or not at all.
    fn shown(&self, namespace: &Namespace, case: &Case, written: &Remembered) -> Result<(String, bool)> {
        let served = self.agent.recall(namespace, &query(case)).into_diagnostic()?;
        if written.verdict >= Verdict::Quarantine {
            return Ok(("not shown".to_owned(), served.hits.is_empty()));
        }
        let Some(hit) = served.hits.first() else {
            return Ok(("not recalled".to_owned(), false));
        };
        let labelled = hit.rendered.contains("authority none") && served.block.contains("not instructions");
        let right = hit.record.effective == Authority::None && labelled;
        Ok((format!("authority {}", hit.record.effective), right))
    }
}

fn query(case: &Case) -> Query {
    let words: Vec<&str> = case.input.split_whitespace().take(12).collect();
    Query::new(words.join(" "))
}
