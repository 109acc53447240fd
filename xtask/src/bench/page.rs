//! The figures as a table for the terminal and as `docs/benchmarks.md`.

use super::measure::Figure;
use super::{Arguments, RECORDS, machine};
use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{Table, TableStyle};
use miette::{Context as _, IntoDiagnostic as _, Result};
use std::path::Path;

const HEADER: [&str; 4] = [
    "what",
    "ours: min / median / max",
    "other side",
    "ratio, share or difference",
];

/// The table for the terminal.
pub(super) fn table(figures: &[Figure]) -> Table {
    rows(figures, UTF8_FULL_CONDENSED)
}

/// Writes the page.
pub(super) fn write(path: &Path, figures: &[Figure], arguments: &Arguments, load: &str) -> Result<()> {
    let bars: String = figures
        .iter()
        .flat_map(|figure| &figure.bars)
        .map(|bar| format!("- {bar}\n"))
        .collect();
    let page = format!(
        "# Benchmarks\n\n\
         Written by `cargo xtask bench --out docs/benchmarks.md`; not edited by hand.\n\n\
         - machine: {machine}\n\
         - other work: {load}\n\
         - date: {date}\n\
         - commit: {commit}\n\
         - rounds: {rounds}{quick}\n\n\
         {table}\n\n{figure}\
         ## Bars\n\n{bars}\n\
         ## Method\n\n\
         Both sides of a line take turns in the same run on the same disk; a ratio is taken within a round, and \
         the median of the rounds is held against the bar. Trust ratios, not digits: the machine does other \
         things too.\n\n\
         - **Texts** are made up: 40 to 600 characters, most of them 150 to 250, words by Zipf's law from a \
           vocabulary of 6,000. All figures are for a store that holds {RECORDS} records already.\n\
         - **One writer**: `remember` under the preset `sentinel` (screening, search index, log entry, Merkle \
           tree, signature, witness; the answer comes when it is durable) against a loop over bare SQLite that \
           writes the same row and the same FTS5 row (`porter unicode61`, contentless) in one transaction, with \
           the same journal mode, `synchronous = FULL` and cache.\n\
         - **Many writers**: 64 threads that each call `remember` and wait for the answer, against one thread \
           that commits 64 rows at a time.\n\
         - **Recall** is hybrid: BM25 and vectors of 256 components, of which all are compared. Under the default \
           preset it stands alone. Under `sentinel` (which screens again on reading) \
           and `off` (which does nothing else), two processes ask the same questions in turn; the second is built \
           with `unverified-reads`, which serves rows as they stand. Each question is asked several times and the \
           shortest times are compared. The share is what checking adds to the time without it; looking up the \
           head of the log, which both do, is counted as checking.\n\
         - **Sizes**: one store grows under the preset `off`; at each size {scale}.\n\
         - **Screening** runs the default preset over one entry at a time on one core, with no store behind it. \
           Growth is the time for 800 kB over eight times the time for 100 kB. The worst input is the one that \
           costs most for a byte among random texts of beginnings, quotations and encodings, found by changing the \
           worst so far.\n\
         - **Proxy**: one client asks one endpoint, both plain sockets of the same process, directly and through the \
           proxy in turn, over connections that are kept; the last column is what the proxy adds to the median.\n\
         - **Open** verifies the whole log and compares every row with it. **Verify** replays leaves and tiles, \
           checks the signature, and compares all rows; `--deep` hashes every text and payload and compares the \
           search index.\n",
        scale = "60 questions are asked and 200 texts written by one writer, and the median of each is shown",
        machine = machine::processor(),
        date = machine::today(),
        commit = machine::commit(),
        rounds = arguments.rounds,
        quick = if arguments.quick {
            ", quick: fewer operations in each"
        } else {
            ""
        },
        table = rows(figures, ASCII_MARKDOWN),
        figure = if path.with_extension("svg").exists() {
            "![Median time by size of the store](benchmarks.svg)\n\n"
        } else {
            ""
        },
    );
    std::fs::write(path, page)
        .into_diagnostic()
        .wrap_err_with(|| format!("`{}` cannot be written", path.display()))
}

fn rows(figures: &[Figure], style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style).set_header(HEADER);
    for figure in figures {
        let show = |rounds: &Option<super::measure::Rounds>| {
            rounds
                .as_ref()
                .map_or_else(String::new, super::measure::Rounds::show)
        };
        table.add_row([
            figure.what.clone(),
            figure.ours.show(),
            show(&figure.theirs),
            show(&figure.ratio),
        ]);
    }
    table
}
