//! Which files `scan` reads: directories, links and imports.

use crate::scanned::{POISON, Tree};
use std::os::unix::fs::symlink;

#[test]
fn directories_are_walked_in_order_without_version_control_and_packages() {
    let tree = Tree::new();
    for name in [
        "b.md",
        "a/z.md",
        "a/b.md",
        "c/.claude/rules/x.md",
        ".git/config",
        "node_modules/p/README.md",
    ] {
        tree.write(name, "The gate opens at nine.");
    }
    let report = tree.json();
    let names: Vec<_> = report["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "tree/a/b.md",
            "tree/a/z.md",
            "tree/b.md",
            "tree/c/.claude/rules/x.md"
        ]
    );
    assert_eq!(report["summary"]["skipped_directories"], 2);
    assert_eq!(tree.json(), report);
}

#[test]
fn links_and_imports_never_leave_the_tree() {
    let tree = Tree::new();
    let secret = tree.dir.path().join("secret.md");
    std::fs::write(&secret, POISON).unwrap();
    symlink(&secret, tree.path("link.md")).unwrap();
    symlink(tree.dir.path(), tree.path("up")).unwrap();
    symlink("gone.md", tree.path("dangling.md")).unwrap();
    tree.write("inside.md", "The gate opens at nine.");
    symlink("inside.md", tree.path("again.md")).unwrap();
    tree.write(
        "CLAUDE.md",
        "@../secret.md @link.md @~/own.md @/etc/hostname @inside.md @nothing.md `@../code.md`",
    );
    let report = tree.json();
    assert_eq!(report["summary"]["findings"], 0, "{report:#}");
    let files = report["files"].as_array().unwrap();
    let unreadable: Vec<_> = files
        .iter()
        .filter(|file| file["unreadable"].is_string())
        .map(|file| file["file"].as_str().unwrap())
        .collect();
    assert_eq!(unreadable, ["tree/dangling.md", "tree/link.md", "tree/up"]);
    let notes = files[0]["notes"].as_array().unwrap();
    assert_eq!(files[0]["file"], "tree/CLAUDE.md");
    assert_eq!(notes.len(), 4, "{notes:#?}");
    assert_eq!(files.iter().filter(|file| file["entries"] == 1).count(), 2);
}

#[test]
fn imports_are_followed_within_the_tree_each_once_and_five_deep() {
    let tree = Tree::new();
    tree.write("CLAUDE.md", "See @deep/1.md and @CLAUDE.md.");
    for depth in 1..=7 {
        tree.write(
            &format!("deep/{depth}.md"),
            format!("@{}.md @1.md @../CLAUDE.md number {depth}", depth + 1),
        );
    }
    let path = tree.path("CLAUDE.md");
    let report = tree.scan(&["--json", path.to_str().unwrap()]).json();
    assert_eq!(report["summary"]["files"], 6, "{report:#}");
    assert!(report.to_string().contains("coding agents stop after five"));
    assert_eq!(tree.json()["summary"]["files"], 8);
}

#[test]
fn what_an_agent_does_not_load_of_a_memory_file_is_scanned_and_said() {
    let tree = Tree::new();
    let lines: String = (1..=210).map(|n| format!("- line {n} of the notes\n")).collect();
    tree.write("MEMORY.md", format!("{lines}- {POISON}\n"));
    let answer = tree.scan(&["--json", "tree"]);
    answer.ended(1);
    let file = answer.json()["files"][0].clone();
    assert_eq!(file["found"][0]["findings"][0]["line"], 211);
    assert_eq!(file["notes"][0]["place"], "lines 201-211");
    tree.write(
        "MEMORY.md",
        lines.lines().take(200).collect::<Vec<_>>().join("\n"),
    );
    assert_eq!(tree.json()["files"][0]["notes"], serde_json::json!([]));
}
