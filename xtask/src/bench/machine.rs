//! Where and of what a measurement was made.

use crate::scratch;
use std::process::Command;

/// The processor's name and how many of it there are.
pub(super) fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, name)| name.trim());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{model}, {cores} cores")
}

/// How busy the machine is with other things, and whether this process was given precedence.
pub(super) fn load() -> String {
    let averages = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let average = averages.split(' ').next().unwrap_or_default();
    // Fields from the third on stand after the program's name in parentheses; niceness is the 19th.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat
        .rsplit_once(") ")
        .map(|(_, fields)| fields)
        .unwrap_or_default();
    let nice = fields.split(' ').nth(16).unwrap_or_default();
    format!("load average {average} before the start, niceness {nice}")
}

/// Today, as `2026-01-31`.
pub(super) fn today() -> String {
    line(Command::new("date").args(["-u", "+%F"]))
}

/// The commit that the working tree stands on, with a mark if sources differ from it.
pub(super) fn commit() -> String {
    let root = scratch::workspace();
    let git = |arguments: &[&str]| line(Command::new("git").arg("-C").arg(&root).args(arguments));
    let head = git(&["rev-parse", "--short=12", "HEAD"]);
    let changed = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        "crates",
        "xtask",
    ]);
    if changed.is_empty() {
        head
    } else {
        format!("{head} with local changes")
    }
}

/// What a program prints, or nothing.
fn line(command: &mut Command) -> String {
    let output = command.output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
