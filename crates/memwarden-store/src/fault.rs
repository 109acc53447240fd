//! What went wrong, with the engine's result codes turned into the store's named errors.

use crate::connection::BUSY_LIMIT;
use memwarden_core::log::{SealError, StoreError};
use rusqlite::ErrorCode;
use rusqlite::ffi;
use std::io;
use std::path::Path;

/// A failure inside this crate; becomes a [`StoreError`] at the boundary.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The engine failed.
    Engine(rusqlite::Error),
    /// A failure that has its name already.
    Named(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Named(error)
    }
}

impl From<SealError> for Fault {
    fn from(error: SealError) -> Self {
        Self::Named(error.into())
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Engine(error) => named(&error),
            Fault::Named(error) => error,
        }
    }
}

/// A rule of this crate that its caller broke.
pub(crate) fn misuse(reason: impl Into<String>) -> Fault {
    Fault::Named(StoreError::Engine {
        reason: reason.into(),
    })
}

/// A row that does not read back; failures of the engine itself keep their own name.
pub(crate) fn unreadable(table: &'static str, row: i64, error: rusqlite::Error) -> Fault {
    match error {
        error @ rusqlite::Error::SqliteFailure(..) => Fault::Engine(error),
        error => Fault::Named(StoreError::Row {
            table,
            row,
            reason: error.to_string(),
        }),
    }
}

/// A failure of the file system at `path`.
pub(crate) fn file(path: &Path, error: &io::Error) -> Fault {
    Fault::Named(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::DiskFull,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly,
        _ => StoreError::Engine {
            reason: format!("`{}`: {error}", path.display()),
        },
    })
}

/// Whether another connection held a lock for too long.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed)
    )
}

fn named(error: &rusqlite::Error) -> StoreError {
    let reason = || error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::FileLockingProtocolFailed) => StoreError::Busy {
            waited_ms: u64::try_from(BUSY_LIMIT.as_millis()).unwrap_or(u64::MAX),
        },
        Some(ErrorCode::DiskFull) => StoreError::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { reason: reason() }
        }
        // The engine keeps the operating system's error number to itself. Growing the shared index of the
        // write-ahead log fails for lack of space; other failures of input and output keep the engine's words.
        Some(ErrorCode::SystemIoFailure)
            if error.sqlite_error().map(|e| e.extended_code) == Some(ffi::SQLITE_IOERR_SHMSIZE) =>
        {
            StoreError::DiskFull
        }
        // A file that is shorter than its pages say.
        Some(ErrorCode::SystemIoFailure)
            if error.sqlite_error().map(|e| e.extended_code) == Some(ffi::SQLITE_IOERR_SHORT_READ) =>
        {
            StoreError::Damaged { reason: reason() }
        }
        _ => StoreError::Engine { reason: reason() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_code(code: i32) -> StoreError {
        Fault::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)).into()
    }

    #[test]
    fn each_result_code_has_the_name_that_tells_what_to_do() {
        assert!(matches!(
            from_code(ffi::SQLITE_BUSY),
            StoreError::Busy { waited_ms: 10_000 }
        ));
        assert!(matches!(
            from_code(ffi::SQLITE_BUSY_RECOVERY),
            StoreError::Busy { .. }
        ));
        assert!(matches!(from_code(ffi::SQLITE_FULL), StoreError::DiskFull));
        assert!(matches!(
            from_code(ffi::SQLITE_IOERR_SHMSIZE),
            StoreError::DiskFull
        ));
        for code in [
            ffi::SQLITE_READONLY,
            ffi::SQLITE_READONLY_DIRECTORY,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_PERM,
        ] {
            assert!(matches!(from_code(code), StoreError::ReadOnly), "{code}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_CORRUPT_VTAB, ffi::SQLITE_NOTADB] {
            assert!(matches!(from_code(code), StoreError::Damaged { .. }), "{code}");
        }
        assert!(matches!(
            from_code(ffi::SQLITE_IOERR_WRITE),
            StoreError::Engine { .. }
        ));
    }

    #[test]
    fn a_failing_file_system_is_named_too() {
        let at = |kind: io::ErrorKind| StoreError::from(file(Path::new("x"), &io::Error::from(kind)));
        assert!(matches!(at(io::ErrorKind::StorageFull), StoreError::DiskFull));
        assert!(matches!(
            at(io::ErrorKind::PermissionDenied),
            StoreError::ReadOnly
        ));
        assert!(at(io::ErrorKind::NotFound).to_string().contains("`x`"));
    }
}
