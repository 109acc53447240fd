//! Which files a scan reads: what was named, and what lies below it, always in the same order.
//!
//! Links are followed only within the directory that was named. It opens no file.

use super::imports::directory_of;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Directories of version control and of installed packages.
const SKIPPED: [&str; 6] = [".git", ".hg", ".svn", ".jj", ".bzr", "node_modules"];

/// A file to read.
#[derive(Debug)]
pub(super) struct Candidate {
    /// As it was named, or below what was named.
    pub(super) path: PathBuf,
    /// The canonical directory that nothing read from here may leave.
    pub(super) root: PathBuf,
    pub(super) found: Found,
    /// How many imports lead to it.
    pub(super) depth: usize,
}

/// How a file came into the scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// On the command line.
    Named,
    /// In a directory.
    Walked,
    /// By an import of another file.
    Imported,
}

/// What lies at the paths that were named.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The files, each once.
    pub(super) files: Vec<Candidate>,
    /// What cannot be read, and why.
    pub(super) unreadable: Vec<Unreadable>,
    /// Directories that were skipped.
    pub(super) skipped: u64,
    seen: HashSet<PathBuf>,
}

/// Something that cannot be read.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) path: PathBuf,
    pub(super) reason: String,
    /// Whether nothing lies at a path that was named.
    pub(super) missing: bool,
}

impl Tree {
    /// Looks at every path in turn.
    pub(super) fn of(paths: &[PathBuf]) -> Self {
        let mut tree = Self::default();
        for path in paths {
            tree.named(path);
        }
        tree
    }

    /// Whether a file is met for the first time; `path` is where it really lies.
    pub(super) fn is_new(&mut self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        self.seen.insert(real)
    }

    fn named(&mut self, path: &Path) {
        let kind = match std::fs::metadata(path) {
            Ok(metadata) => metadata.file_type(),
            Err(error) => {
                let missing = error.kind() == std::io::ErrorKind::NotFound;
                return self.cannot(path, &error.to_string(), missing);
            }
        };
        let root = if kind.is_dir() {
            path
        } else {
            directory_of(path.parent().unwrap_or(Path::new("")))
        };
        let root = match root.canonicalize() {
            Ok(root) => root,
            Err(error) => return self.cannot(path, &error.to_string(), false),
        };
        if kind.is_dir() {
            self.walk(path, &root);
        } else if kind.is_file() {
            self.file(path.to_owned(), &root, Found::Named);
        } else {
            self.cannot(path, "is neither a file nor a directory", false);
        }
    }

    /// Everything below a directory, by name; links last, so that a file goes by its own name.
    fn walk(&mut self, directory: &Path, root: &Path) {
        let mut links = Vec::new();
        let mut waiting = vec![directory.to_owned()];
        while let Some(path) = waiting.pop() {
            let kind = match std::fs::symlink_metadata(&path) {
                Ok(metadata) => metadata.file_type(),
                Err(error) => {
                    self.cannot(&path, &error.to_string(), false);
                    continue;
                }
            };
            // The directory itself may be a link: it was named.
            if kind.is_dir() || path == directory {
                match children(&path) {
                    Ok(children) => waiting.extend(children.into_iter().filter(|child| {
                        let skipped = is_skipped(child);
                        self.skipped += u64::from(skipped);
                        !skipped
                    })),
                    Err(error) => self.cannot(&path, &error.to_string(), false),
                }
            } else if kind.is_symlink() {
                links.push(path);
            } else if kind.is_file() {
                self.file(path, root, Found::Walked);
            }
        }
        for path in links {
            self.link(path, root);
        }
    }

    fn link(&mut self, path: PathBuf, root: &Path) {
        match path.canonicalize() {
            Err(error) => self.cannot(&path, &format!("is a link that leads nowhere: {error}"), false),
            Ok(real) if !real.starts_with(root) => {
                self.cannot(
                    &path,
                    "is a link that leaves the directory that was named: not followed",
                    false,
                );
            }
            Ok(real) if real.is_file() => self.file(path, root, Found::Walked),
            // A directory within the tree is walked where it lies.
            Ok(_) => {}
        }
    }

    fn file(&mut self, path: PathBuf, root: &Path, found: Found) {
        if self.is_new(&path) {
            self.files.push(Candidate {
                path,
                root: root.to_owned(),
                found,
                depth: 0,
            });
        }
    }

    fn cannot(&mut self, path: &Path, reason: &str, missing: bool) {
        self.unreadable.push(Unreadable {
            path: path.to_owned(),
            reason: reason.to_owned(),
            missing,
        });
    }
}

/// What lies in a directory, the last name first, so that a stack gives the first.
fn children(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut children = Vec::new();
    for child in std::fs::read_dir(directory)? {
        children.push(child?.path());
    }
    children.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
    Ok(children)
}

fn is_skipped(path: &Path) -> bool {
    let skipped = path
        .file_name()
        .and_then(OsStr::to_str)
        .is_some_and(|name| SKIPPED.contains(&name));
    skipped && path.is_dir()
}
