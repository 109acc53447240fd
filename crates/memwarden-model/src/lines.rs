//! A file of lines that is only appended to. A line stands there whole or as the damaged line that it is: what comes
//! after the half of one, which a crash or a full disk has left, begins a line of its own.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

#[derive(Debug)]
pub(crate) struct Lines {
    file: File,
    /// Whether the last write failed, perhaps within a line.
    is_torn: bool,
}

impl Lines {
    /// Opens the file, or makes it.
    pub(crate) fn open(path: &Path) -> std::io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let mut lines = Self { file, is_torn: false };
        lines.is_torn = !lines.ends_with_a_line()?;
        lines.mend()?;
        Ok(lines)
    }

    /// Appends a line, which has its end, by one write.
    pub(crate) fn append(&mut self, line: &str) -> std::io::Result<()> {
        self.mend()?;
        self.write(line.as_bytes())
    }

    /// Ends the line that a failed write may have begun. While that fails too there is no room for another.
    pub(crate) fn mend(&mut self) -> std::io::Result<()> {
        if self.is_torn { self.write(b"\n") } else { Ok(()) }
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let written = self.file.write_all(bytes);
        self.is_torn = written.is_err();
        written
    }

    fn ends_with_a_line(&mut self) -> std::io::Result<bool> {
        if self.file.metadata()?.len() == 0 {
            return Ok(true);
        }
        let mut last = [0];
        self.file.seek(SeekFrom::End(-1))?;
        self.file.read_exact(&mut last)?;
        Ok(last == *b"\n")
    }
}
