//! The file that a recorder appends to. It holds whole lines only: half a line, which a crash or a full disk has left, is
//! taken away before the next one is written, because a replay refuses what it cannot read.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

#[derive(Debug)]
pub(super) struct Tape(File);

impl Tape {
    pub(super) fn open(path: &Path) -> std::io::Result<Self> {
        let mut tape = Self(
            OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .open(path)?,
        );
        tape.alone(Self::repair)?;
        Ok(tape)
    }

    /// Appends a line, which has its end; all of it, or nothing.
    pub(super) fn append(&mut self, line: &str) -> std::io::Result<()> {
        self.alone(|tape| {
            tape.repair()?;
            let written = tape.0.write_all(line.as_bytes());
            if written.is_err() {
                // What cannot be taken away now is before the next line.
                let _ = tape.repair();
            }
            written
        })
    }

    /// Keeps other recorders of the same file away meanwhile, where the file system can.
    fn alone<T>(&mut self, act: impl FnOnce(&mut Self) -> std::io::Result<T>) -> std::io::Result<T> {
        let is_locked = self.0.lock().is_ok();
        let done = act(self);
        if is_locked {
            self.0.unlock()?;
        }
        done
    }

    /// Takes away what follows the last end of a line.
    fn repair(&mut self) -> std::io::Result<()> {
        const STEP: u64 = 64 << 10;
        let mut bytes = Vec::new();
        let length = self.0.metadata()?.len();
        let mut end = length;
        while end > 0 {
            let begin = if end == length {
                end - 1
            } else {
                end.saturating_sub(STEP)
            };
            bytes.clear();
            self.0.seek(SeekFrom::Start(begin))?;
            (&self.0).take(end - begin).read_to_end(&mut bytes)?;
            if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
                end = begin + at as u64 + 1;
                break;
            }
            end = begin;
        }
        if end < length { self.0.set_len(end) } else { Ok(()) }
    }
}
