//! The newest head, remembered outside the store's directory.
//!
//! Two slots are written in turn under a file lock, only forward, and not synced: a witness behind the store
//! is normal, a store behind its witness is refused. Beside the slots lie the tombstones of purges, which a
//! restored backup must obey, and the list of backups that a purge cannot reach.

use crate::WardenError;
use memwarden_core::RecordId;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const HEADER: &str = "memwarden-witness-v1";
const SLOTS: [&str; 2] = ["head.0", "head.1"];
/// More than any slot holds: a head is a signed note of a few hundred bytes.
const SLOT_LIMIT: usize = 4_096;

/// A head that was seen: an epoch, a size, and the signed checkpoint that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) epoch: u32,
    pub(crate) size: u64,
    pub(crate) checkpoint: String,
}

impl Seen {
    const fn rank(&self) -> (u32, u64) {
        (self.epoch, self.size)
    }

    fn to_text(&self) -> String {
        let body = format!("{HEADER}\n{} {}\n{}", self.epoch, self.size, self.checkpoint);
        format!("{body}\nend {}\n", body.len())
    }

    /// Reads a slot; a torn or empty one counts as none.
    fn parse(text: &str) -> Option<Self> {
        let (body, end) = text.trim_end_matches(['\0', ' ']).rsplit_once("\nend ")?;
        if end.trim_end().parse::<usize>().ok()? != body.len() {
            return None;
        }
        let (header, rest) = body.split_once('\n')?;
        let (numbers, checkpoint) = rest.split_once('\n')?;
        let (epoch, size) = numbers.split_once(' ')?;
        let seen = Self {
            epoch: epoch.parse().ok()?,
            size: size.parse().ok()?,
            checkpoint: checkpoint.to_owned(),
        };
        (header == HEADER).then_some(seen)
    }
}

/// Whether a head may replace a newer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Only forward.
    Forward,
    /// The owner accepted an older state.
    Accepted,
}

/// The witness directory of one log.
#[derive(Debug)]
pub(crate) struct Witness {
    directory: PathBuf,
    lock: File,
    slots: [File; 2],
}

impl Witness {
    /// Opens or makes the directory for log `name` under `directory`.
    pub(crate) fn open(directory: &Path, name: &str) -> Result<Self, WardenError> {
        let directory = directory.join(name);
        std::fs::create_dir_all(&directory).map_err(|error| WardenError::file(&directory, &error))?;
        let open = |name: &str| {
            let path = directory.join(name);
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&path)
                .map_err(|error| WardenError::file(&path, &error))
        };
        let [first, second] = SLOTS;
        Ok(Self {
            lock: open("lock")?,
            slots: [open(first)?, open(second)?],
            directory,
        })
    }

    /// The newest head in the slots.
    pub(crate) fn newest(&self) -> Result<Option<Seen>, WardenError> {
        let _guard = self.locked()?;
        Ok(self.read_slots()?.into_iter().flatten().max_by_key(Seen::rank))
    }

    /// Remembers `head`; a head that is not newer is left out when only going forward.
    pub(crate) fn advance(&self, head: &Seen, how: Advance) -> Result<(), WardenError> {
        let _guard = self.locked()?;
        let [first, second] = self.read_slots()?;
        let newest = first.iter().chain(second.iter()).max_by_key(|seen| seen.rank());
        if how == Advance::Forward && newest.is_some_and(|seen| seen.rank() >= head.rank()) {
            return Ok(());
        }
        // The older slot is overwritten, so that a torn write leaves the newer one.
        let older = usize::from(first.as_ref().map(Seen::rank) > second.as_ref().map(Seen::rank));
        self.write_slot(older, &head.to_text())?;
        if how == Advance::Accepted {
            self.write_slot(1 - older, &head.to_text())?;
        }
        Ok(())
    }

    /// Records whose text was destroyed.
    pub(crate) fn tombstones(&self) -> Result<Vec<RecordId>, WardenError> {
        Ok(self
            .lines("purged")?
            .iter()
            .filter_map(|line| line.parse().ok())
            .collect())
    }

    /// Remembers that `record` was purged. Synced: a restored backup must find it.
    pub(crate) fn bury(&self, record: &RecordId) -> Result<(), WardenError> {
        self.append("purged", &record.to_string())
    }

    /// Backups made of this store: log size and path.
    pub(crate) fn backups(&self) -> Result<Vec<(u64, PathBuf)>, WardenError> {
        let parse = |line: &String| {
            let (size, path) = line.split_once(' ')?;
            Some((size.parse().ok()?, PathBuf::from(path)))
        };
        Ok(self.lines("backups")?.iter().filter_map(parse).collect())
    }

    /// Remembers a backup.
    pub(crate) fn note_backup(&self, size: u64, path: &Path) -> Result<(), WardenError> {
        self.append("backups", &format!("{size} {}", path.display()))
    }

    fn locked(&self) -> Result<impl Drop + '_, WardenError> {
        struct Unlock<'a>(&'a File);
        impl Drop for Unlock<'_> {
            fn drop(&mut self) {
                // The lock also ends with the process; a failure here holds up other processes, no data.
                let _ = self.0.unlock();
            }
        }
        self.lock
            .lock()
            .map_err(|error| WardenError::file(&self.directory, &error))?;
        Ok(Unlock(&self.lock))
    }

    fn read_slots(&self) -> Result<[Option<Seen>; 2], WardenError> {
        let read = |file: &File| {
            let mut bytes = [0; SLOT_LIMIT];
            let length = file
                .read_at(&mut bytes, 0)
                .map_err(|error| WardenError::file(&self.directory, &error))?;
            let text = bytes.get(..length).map(std::str::from_utf8);
            Ok::<_, WardenError>(text.and_then(Result::ok).and_then(Seen::parse))
        };
        let [first, second] = &self.slots;
        Ok([read(first)?, read(second)?])
    }

    fn write_slot(&self, slot: usize, text: &str) -> Result<(), WardenError> {
        let [first, second] = &self.slots;
        let file = if slot == 0 { first } else { second };
        // A head is nearly always as long as the one before: cutting is left out where there is nothing to cut.
        let length = text.len() as u64;
        file.write_all_at(text.as_bytes(), 0)
            .and_then(|()| file.metadata())
            .and_then(|now| {
                if now.len() > length {
                    file.set_len(length)
                } else {
                    Ok(())
                }
            })
            .map_err(|error| WardenError::file(&self.directory, &error))
    }

    fn lines(&self, name: &str) -> Result<Vec<String>, WardenError> {
        let path = self.directory.join(name);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(WardenError::file(&path, &error)),
        }
    }

    fn append(&self, name: &str, line: &str) -> Result<(), WardenError> {
        let _guard = self.locked()?;
        let path = self.directory.join(name);
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| writeln!(file, "{line}").and_then(|()| file.sync_all()))
            .map_err(|error| WardenError::file(&path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(epoch: u32, size: u64) -> Seen {
        Seen {
            epoch,
            size,
            checkpoint: format!("origin\n{size}\nroot\n\n— origin sig\n"),
        }
    }

    #[test]
    fn the_witness_only_moves_forward() {
        let dir = tempfile::tempdir().unwrap();
        let witness = Witness::open(dir.path(), "log").unwrap();
        assert_eq!(witness.newest().unwrap(), None);
        for size in [3, 7, 5, 7, 9, 2] {
            witness.advance(&seen(0, size), Advance::Forward).unwrap();
        }
        assert_eq!(witness.newest().unwrap(), Some(seen(0, 9)));
        witness.advance(&seen(1, 4), Advance::Forward).unwrap();
        assert_eq!(witness.newest().unwrap(), Some(seen(1, 4)));
        witness.advance(&seen(1, 2), Advance::Accepted).unwrap();
        assert_eq!(witness.newest().unwrap(), Some(seen(1, 2)));
    }

    #[test]
    fn a_torn_slot_leaves_the_other_one() {
        let dir = tempfile::tempdir().unwrap();
        let witness = Witness::open(dir.path(), "log").unwrap();
        witness.advance(&seen(0, 1), Advance::Forward).unwrap();
        witness.advance(&seen(0, 2), Advance::Forward).unwrap();
        for slot in SLOTS {
            let path = dir.path().join("log").join(slot);
            let whole = std::fs::read(&path).unwrap();
            if Seen::parse(std::str::from_utf8(&whole).unwrap()) == Some(seen(0, 2)) {
                std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
            }
        }
        assert_eq!(witness.newest().unwrap(), Some(seen(0, 1)));
    }

    #[test]
    fn a_shorter_head_leaves_nothing_of_a_longer_one() {
        let dir = tempfile::tempdir().unwrap();
        let witness = Witness::open(dir.path(), "log").unwrap();
        let mut long = seen(0, 1);
        long.checkpoint.push_str(&"x".repeat(500));
        witness.advance(&long, Advance::Forward).unwrap();
        witness.advance(&seen(0, 2), Advance::Forward).unwrap();
        witness.advance(&seen(0, 3), Advance::Forward).unwrap();
        assert_eq!(witness.newest().unwrap(), Some(seen(0, 3)));
    }
}
