//! The byte that says whether a commit is under way, in a file that parent and child both open.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// No commit is under way.
pub(super) const OUTSIDE: u8 = 0;
/// `BEGIN IMMEDIATE` has returned, `COMMIT` has not.
pub(super) const INSIDE: u8 = 1;

/// The file.
#[derive(Debug)]
pub(super) struct PhaseFile(File);

impl PhaseFile {
    /// Makes it, outside of any commit.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        file.write_all_at(&[OUTSIDE], 0)?;
        Ok(Self(file))
    }

    /// Opens it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(OpenOptions::new().read(true).write(true).open(path)?))
    }

    pub(super) fn set(&self, phase: u8) -> io::Result<()> {
        self.0.write_all_at(&[phase], 0)
    }

    pub(super) fn get(&self) -> io::Result<u8> {
        let mut byte = [OUTSIDE];
        self.0.read_exact_at(&mut byte, 0)?;
        let [phase] = byte;
        Ok(phase)
    }
}
