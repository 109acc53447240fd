//! Notices that the database file was replaced while it was open.
//!
//! An open file outlives its name: after `mv old-copy store/memwarden.db` this process would go on writing
//! to a file that nobody can open again. So the name is looked up anew before each view and each commit.

use crate::WardenError;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The database file as it was when it was opened.
#[derive(Debug)]
pub(crate) struct Anchor {
    path: PathBuf,
    identity: (u64, u64),
}

impl Anchor {
    /// Remembers which file `path` names now.
    pub(crate) fn new(path: &Path) -> Result<Self, WardenError> {
        Ok(Self {
            path: path.to_owned(),
            identity: identity(path)?,
        })
    }

    /// Fails if the name leads to another file, or to none.
    pub(crate) fn check(&self) -> Result<(), WardenError> {
        if identity(&self.path).ok() == Some(self.identity) {
            return Ok(());
        }
        Err(WardenError::unverified(format!(
            "`{}` was replaced or removed while it was open: open the store again",
            self.path.display()
        )))
    }
}

fn identity(path: &Path) -> Result<(u64, u64), WardenError> {
    let metadata = std::fs::metadata(path).map_err(|error| WardenError::file(path, &error))?;
    Ok((metadata.dev(), metadata.ino()))
}
