//! `@path` in a Markdown memory file: another file that an agent takes into its context together with this one.
//!
//! It finds them and says where they lead. It opens nothing.

use std::path::{Component, Path, PathBuf};

/// How many imports may follow on one another; coding agents stop there too.
pub(super) const MAX_DEPTH: usize = 5;

/// Where an import leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A file within the tree.
    Inside(PathBuf),
    /// Somewhere else, and why.
    Outside(&'static str),
    /// Nothing lies there: most likely no import but a name.
    Nothing,
}

/// The imports of a text with the lines on which they stand, counted from 1; none of those in code.
pub(super) fn imports(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => in_line(line, index + 1, &mut found),
            _ => {}
        }
    }
    found
}

fn in_line<'a>(line: &'a str, number: usize, found: &mut Vec<(usize, &'a str)>) {
    // Every second piece between backticks is code. An unpaired backtick hides nothing: the last piece is text.
    let pieces: Vec<&str> = line.split('`').collect();
    let paired = pieces.len() % 2 == 1;
    for (index, piece) in pieces.iter().enumerate() {
        let is_code = index % 2 == 1 && (paired || index + 1 < pieces.len());
        if is_code {
            continue;
        }
        for word in piece.split_whitespace() {
            let word = word.trim_start_matches(['(', '[', '<', '"', '\'', '*', '_']);
            let Some(path) = word.strip_prefix('@') else {
                continue;
            };
            let path =
                path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '>', '"', '\'', '*', '_']);
            if path.contains(['/', '.', '~']) {
                found.push((number, path));
            }
        }
    }
}

/// Where `import` leads that stands in the file at `from`, if nothing outside of the tree at `root` may be read.
/// `root` is canonical.
pub(super) fn target(import: &str, from: &Path, root: &Path) -> Target {
    let path = Path::new(import);
    if import.starts_with('~') {
        return Target::Outside("begins in a home directory");
    }
    if path.is_absolute() {
        return Target::Outside("is an absolute path");
    }
    let directory = from.parent().unwrap_or(Path::new(""));
    let Ok(directory) = directory_of(directory).canonicalize() else {
        return Target::Nothing;
    };
    if !plain(&directory.join(path)).starts_with(root) {
        return Target::Outside("leaves the tree that was named");
    }
    match directory.join(path).canonicalize() {
        Err(_) => Target::Nothing,
        Ok(real) if !real.starts_with(root) => {
            Target::Outside("is a link that leaves the tree that was named")
        }
        Ok(real) if real.is_file() => Target::Inside(real),
        Ok(_) => Target::Nothing,
    }
}

/// The directory, where an empty path means the working directory.
pub(super) fn directory_of(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

/// The path without `.` and `..`, as it is written.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stand_in_text_and_not_in_code() {
        let text = "See @docs/style.md, (@~/own.md) and @notes.md.\n`@code.md` a`@b.md` @c.md\n```\n@fenced.md\n```\n\
                    mail me@example.org @alice `@unpaired.md\n";
        let found: Vec<_> = imports(text);
        assert_eq!(
            found,
            [
                (1, "docs/style.md"),
                (1, "~/own.md"),
                (1, "notes.md"),
                (2, "c.md"),
                (6, "unpaired.md")
            ]
        );
    }

    #[test]
    fn what_leaves_the_tree_is_told_apart_from_what_is_not_there() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("tree").canonicalize().unwrap_or_else(|_| {
            std::fs::create_dir_all(dir.path().join("tree/docs")).unwrap();
            dir.path().join("tree").canonicalize().unwrap()
        });
        std::fs::write(dir.path().join("secret.md"), "x").unwrap();
        std::fs::write(root.join("docs/style.md"), "x").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret.md"), root.join("link.md")).unwrap();
        let from = root.join("docs/CLAUDE.md");
        let leads = |import: &str| target(import, &from, &root);
        assert_eq!(leads("style.md"), Target::Inside(root.join("docs/style.md")));
        assert_eq!(
            leads("../docs/./style.md"),
            Target::Inside(root.join("docs/style.md"))
        );
        assert_eq!(leads("missing.md"), Target::Nothing);
        assert_eq!(leads("../docs"), Target::Nothing);
        for outside in ["~/x.md", "/etc/hostname", "../../secret.md", "../link.md"] {
            assert!(
                matches!(leads(outside), Target::Outside(_)),
                "{outside}: {:?}",
                leads(outside)
            );
        }
    }
}
