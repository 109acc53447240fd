//! Tells the binary which commit it was built from, for reports.

use std::process::Command;

fn main() {
    let head = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let commit = head
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned());
    println!("cargo::rustc-env=MEMWARDEN_COMMIT={commit}");
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/refs/heads");
}
