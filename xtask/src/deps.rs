//! `cargo xtask deps`: the import rule of ARCHITECTURE.md as a check.
//!
//! Looks at what each manifest declares (normal, build and development dependencies alike, whatever the
//! feature), not at what one build happens to link.

use crate::{Outcome, scratch};
use miette::{Context as _, IntoDiagnostic as _, Result, miette};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The crates that know only the core, and never each other.
const SIX: [&str; 6] = [
    "memwarden-ledger",
    "memwarden-store",
    "memwarden-encode",
    "memwarden-model",
    "memwarden-guard",
    "memwarden-audit",
];

const CORE: &str = "memwarden-core";

/// Each crate and the crates of this workspace that it may import. The façade wires the six; what lies above
/// it reaches them through the façade.
const RULE: [(&str, &[&str]); 11] = [
    (CORE, &[]),
    ("memwarden-ledger", &[CORE]),
    ("memwarden-store", &[CORE]),
    ("memwarden-encode", &[CORE]),
    ("memwarden-model", &[CORE]),
    ("memwarden-guard", &[CORE]),
    ("memwarden-audit", &[CORE]),
    (
        "memwarden",
        &[
            CORE,
            "memwarden-ledger",
            "memwarden-store",
            "memwarden-encode",
            "memwarden-model",
            "memwarden-guard",
            "memwarden-audit",
        ],
    ),
    ("memwarden-lab", &[CORE, "memwarden"]),
    ("memwarden-server", &[CORE, "memwarden"]),
    (
        "memwarden-cli",
        &[CORE, "memwarden", "memwarden-lab", "memwarden-server"],
    ),
];

/// What the core may use of other people's crates: nothing that does I/O, reads a clock or awaits.
const CORE_MAY_USE: [&str; 5] = ["pulp", "ryu-js", "sha2", "thiserror", "unicode-normalization"];

/// A crate as its manifest declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Package {
    name: String,
    /// Whether it lies under `crates/`.
    is_room: bool,
    dependencies: Vec<Dependency>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Dependency {
    name: String,
    kind: Kind,
    /// Whether it lies in this workspace.
    is_ours: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Build,
    Dev,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "dependency",
            Self::Build => "build-dependency",
            Self::Dev => "dev-dependency",
        }
    }
}

/// Checks the workspace.
pub(crate) fn run() -> Result<Outcome> {
    let packages = packages(&scratch::workspace())?;
    let rooms = packages.iter().filter(|package| package.is_room).count();
    let edges: usize = packages
        .iter()
        .filter(|package| package.is_room)
        .map(|package| package.dependencies.iter().filter(|to| to.is_ours).count())
        .sum();
    let broken = violations(&packages);
    for line in &broken {
        eprintln!("deps: {line}");
    }
    println!(
        "deps: {rooms} crates, {edges} edges between them, {} forbidden",
        broken.len()
    );
    Ok(Outcome::of(broken.is_empty()))
}

/// One sentence for each edge or crate that the rule does not know.
fn violations(packages: &[Package]) -> Vec<String> {
    packages
        .iter()
        .filter(|package| package.is_room)
        .flat_map(|package| match RULE.iter().find(|(name, _)| *name == package.name) {
            None => vec![format!(
                "`{}` lies under crates/ and has no line in the import rule: add one to xtask/src/deps.rs and \
                 ARCHITECTURE.md",
                package.name
            )],
            Some((_, allowed)) => of(package, allowed),
        })
        .collect()
}

fn of(package: &Package, allowed: &[&str]) -> Vec<String> {
    let name = package.name.as_str();
    let list = |names: &[&str]| {
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    };
    let mut broken = Vec::new();
    for to in &package.dependencies {
        // A crate may name itself among its dev-dependencies, to test with one of its features.
        if to.is_ours && to.name != name && !allowed.contains(&to.name.as_str()) {
            let why = if SIX.contains(&name) && SIX.contains(&to.name.as_str()) {
                "; the façade wires them"
            } else {
                ""
            };
            broken.push(format!(
                "`{name}` → `{}` ({}) is forbidden: `{name}` may import {}{why}",
                to.name,
                to.kind.as_str(),
                list(allowed)
            ));
        }
        if name == CORE && !to.is_ours && to.kind != Kind::Dev && !CORE_MAY_USE.contains(&to.name.as_str()) {
            broken.push(format!(
                "`{CORE}` → `{}` ({}) is forbidden: the core does no I/O, reads no clock and awaits nothing; it \
                 may use {}",
                to.name,
                to.kind.as_str(),
                list(&CORE_MAY_USE)
            ));
        }
    }
    broken
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
            "--manifest-path",
        ])
        .arg(root.join("Cargo.toml"))
        .output()
        .into_diagnostic()
        .wrap_err("`cargo metadata` did not start")?;
    if !output.status.success() {
        return Err(miette!(
            "`cargo metadata` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).into_diagnostic()?;
    read(&metadata, &root.join("crates")).ok_or_else(|| miette!("`cargo metadata` printed another format"))
}

/// The packages of `metadata`; `None` if it has another shape.
fn read(metadata: &Value, rooms: &Path) -> Option<Vec<Package>> {
    let packages = metadata.get("packages")?.as_array()?;
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package.get("manifest_path")?.as_str()?);
            let dependencies = package.get("dependencies")?.as_array()?;
            Some(Package {
                name: package.get("name")?.as_str()?.to_owned(),
                is_room: manifest.starts_with(rooms),
                dependencies: dependencies.iter().map(dependency).collect::<Option<_>>()?,
            })
        })
        .collect()
}

fn dependency(dependency: &Value) -> Option<Dependency> {
    Some(Dependency {
        name: dependency.get("name")?.as_str()?.to_owned(),
        kind: match dependency.get("kind")?.as_str() {
            Some("dev") => Kind::Dev,
            Some("build") => Kind::Build,
            _ => Kind::Normal,
        },
        is_ours: dependency.get("path").is_some_and(Value::is_string),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// `ours` and `others` are `name` or `name:dev`.
    fn package(name: &str, ours: &[&str], others: &[&str]) -> Package {
        let dependency = |given: &&str, is_ours| {
            let (name, kind) = given.split_once(':').unwrap_or((*given, ""));
            Dependency {
                name: name.to_owned(),
                kind: if kind == "dev" { Kind::Dev } else { Kind::Normal },
                is_ours,
            }
        };
        let ours = ours.iter().map(|name| dependency(name, true));
        let others = others.iter().map(|name| dependency(name, false));
        Package {
            name: name.to_owned(),
            is_room: true,
            dependencies: ours.chain(others).collect(),
        }
    }

    fn check(package: Package, expected: &Expect) {
        expected.assert_eq(&violations(&[package]).join("\n"));
    }

    #[test]
    fn the_edges_of_the_plan_are_allowed() {
        check(
            package(CORE, &[], &["sha2", "thiserror", "proptest:dev"]),
            &expect![""],
        );
        for name in SIX {
            check(package(name, &[CORE], &["rusqlite"]), &expect![""]);
        }
        check(package("memwarden", &SIX, &[]), &expect![""]);
        check(package("memwarden-lab", &["memwarden", CORE], &[]), &expect![""]);
        check(
            package("memwarden-cli", &["memwarden-lab", "memwarden"], &[]),
            &expect![""],
        );
    }

    #[test]
    fn the_six_never_know_each_other_not_even_in_tests() {
        check(
            package("memwarden-guard", &[CORE, "memwarden-store:dev"], &[]),
            &expect![
                "`memwarden-guard` → `memwarden-store` (dev-dependency) is forbidden: `memwarden-guard` may import memwarden-core; the façade wires them"
            ],
        );
        for from in SIX {
            for to in SIX.into_iter().filter(|to| *to != from) {
                assert_eq!(violations(&[package(from, &[to], &[])]).len(), 1, "{from} → {to}");
            }
        }
    }

    #[test]
    fn nothing_imports_upwards_or_past_the_facade() {
        check(
            package(CORE, &["memwarden-ledger"], &[]),
            &expect![
                "`memwarden-core` → `memwarden-ledger` (dependency) is forbidden: `memwarden-core` may import none"
            ],
        );
        check(
            package("memwarden", &["memwarden-lab:dev"], &[]),
            &expect![
                "`memwarden` → `memwarden-lab` (dev-dependency) is forbidden: `memwarden` may import memwarden-core, memwarden-ledger, memwarden-store, memwarden-encode, memwarden-model, memwarden-guard, memwarden-audit"
            ],
        );
        check(
            package("memwarden-server", &["memwarden-lab"], &[]),
            &expect![
                "`memwarden-server` → `memwarden-lab` (dependency) is forbidden: `memwarden-server` may import memwarden-core, memwarden"
            ],
        );
        check(
            package("memwarden-cli", &["memwarden-store"], &[]),
            &expect![
                "`memwarden-cli` → `memwarden-store` (dependency) is forbidden: `memwarden-cli` may import memwarden-core, memwarden, memwarden-lab, memwarden-server"
            ],
        );
    }

    #[test]
    fn the_core_uses_nothing_that_reaches_outside() {
        check(
            package(CORE, &[], &["tokio"]),
            &expect![
                "`memwarden-core` → `tokio` (dependency) is forbidden: the core does no I/O, reads no clock and awaits nothing; it may use pulp, ryu-js, sha2, thiserror, unicode-normalization"
            ],
        );
    }

    #[test]
    fn a_crate_that_the_plan_does_not_know_is_named() {
        check(
            package("memwarden-utils", &[], &[]),
            &expect![
                "`memwarden-utils` lies under crates/ and has no line in the import rule: add one to xtask/src/deps.rs and ARCHITECTURE.md"
            ],
        );
    }

    #[test]
    fn manifests_are_read_as_cargo_prints_them() {
        let metadata = serde_json::json!({"packages": [{
            "name": "memwarden-guard",
            "manifest_path": "/w/crates/memwarden-guard/Cargo.toml",
            "dependencies": [
                {"name": "memwarden-core", "kind": null, "path": "/w/crates/memwarden-core"},
                {"name": "proptest", "kind": "dev", "source": "registry"},
            ],
        }]});
        let expected = package("memwarden-guard", &[CORE], &["proptest:dev"]);
        assert_eq!(read(&metadata, Path::new("/w/crates")), Some(vec![expected]));
        assert_eq!(read(&serde_json::json!({}), Path::new("/w/crates")), None);
    }
}
