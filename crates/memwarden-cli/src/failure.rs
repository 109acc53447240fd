//! What can go wrong, its exit code, and how it is shown.

use crate::output;
use memwarden::WardenError;
use memwarden_core::log::StoreError;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A command that did not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The warden refused or failed.
    #[error(transparent)]
    Warden(#[from] WardenError),
    /// The demo failed.
    #[error(transparent)]
    Demo(#[from] memwarden_lab::demo::DemoError),
    /// Input that cannot be used.
    #[error("{0}")]
    Input(String),
    /// A proof, export or checkpoint that does not verify.
    #[error("does not verify: {0}")]
    Unverified(String),
    /// A file that cannot be read or written.
    #[error("`{path}`: {reason}", path = path.display())]
    #[non_exhaustive]
    File {
        /// Where.
        path: PathBuf,
        /// What the system said.
        reason: String,
        /// What sort of failure that is.
        kind: ErrorKind,
    },
    /// A service that did not answer as it should.
    #[error("{0}")]
    Service(String),
    /// Whoever read the output went away.
    #[error("the reader of the output went away")]
    BrokenPipe,
}

#[cfg(feature = "server")]
impl From<memwarden_server::ServiceError> for Failure {
    fn from(error: memwarden_server::ServiceError) -> Self {
        match &error {
            memwarden_server::ServiceError::Listen { source, .. } => {
                Self::Input(format!("{error}: {source}"))
            }
            _ => Self::Service(error.to_string()),
        }
    }
}

impl Failure {
    pub(crate) fn file(path: &Path, error: &std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            reason: error.to_string(),
            kind: error.kind(),
        }
    }

    /// 1 for findings, 2 for wrong use or bad input, 3 for a failure of ours or of the machine.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Warden(error) => warden_exit_code(error),
            Self::Unverified(_) => 1,
            Self::File {
                kind: ErrorKind::StorageFull | ErrorKind::QuotaExceeded,
                ..
            }
            | Self::File {
                kind: ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied,
                ..
            } => 3,
            Self::Input(_) | Self::File { .. } => 2,
            Self::Demo(_) | Self::Service(_) => 3,
            Self::BrokenPipe => 0,
        }
    }

    /// A stable name for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Warden(error) => warden_code(error),
            Self::Demo(_) => "demo",
            Self::Input(_) => "bad_input",
            Self::Unverified(_) => "unverified",
            Self::File { .. } => "file",
            Self::Service(_) => "service",
            Self::BrokenPipe => "broken_pipe",
        }
    }

    /// The failure for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut value = json!({"code": self.code(), "message": self.to_string()});
        if let (Self::Warden(error), Some(object)) = (self, value.as_object_mut()) {
            match error {
                WardenError::Tampered {
                    namespace, record, ..
                } => {
                    object.insert("namespace".to_owned(), json!(namespace));
                    object.insert("record".to_owned(), json!(record.to_string()));
                }
                WardenError::BadInput {
                    field,
                    given,
                    expected,
                } => {
                    object.insert("field".to_owned(), json!(field));
                    object.insert("given".to_owned(), json!(given));
                    object.insert("expected".to_owned(), json!(expected));
                }
                _ => {}
            }
        }
        value
    }
}

/// A stable name of a warden's error for programs.
#[must_use]
pub fn warden_code(error: &WardenError) -> &'static str {
    match error {
        WardenError::Store(StoreError::Busy { .. }) => "busy",
        WardenError::Store(StoreError::DiskFull) => "disk_full",
        WardenError::Store(StoreError::ReadOnly) => "read_only",
        WardenError::Store(StoreError::Missing { .. }) => "no_store",
        WardenError::Store(StoreError::Exists { .. }) => "exists",
        WardenError::Store(StoreError::Foreign { .. }) => "foreign_file",
        WardenError::Store(StoreError::Damaged { .. } | StoreError::Row { .. }) => "damaged",
        WardenError::Store(StoreError::Seal(_)) | WardenError::Unverified { .. } => "unverified",
        WardenError::Tampered { .. } => "tampered",
        WardenError::BehindWitness { .. } => "behind_witness",
        WardenError::Entry(_) | WardenError::BadInput { .. } => "bad_input",
        WardenError::Refused(_) => "refused",
        WardenError::Credential { .. } | WardenError::OtherStore { .. } => "credential",
        WardenError::Forbidden { .. } => "forbidden",
        WardenError::Context { .. } => "context",
        WardenError::NotFound { .. } => "not_found",
        WardenError::Purged { .. } => "purged",
        WardenError::NoNamespace { .. } => "no_namespace",
        WardenError::Keys { .. } => "keys",
        WardenError::Policy { .. } => "policy",
        WardenError::Encode(_) => "encoder",
        WardenError::File { .. } => "file",
        _ => "failed",
    }
}

fn warden_exit_code(error: &WardenError) -> u8 {
    match warden_code(error) {
        "tampered" | "unverified" | "behind_witness" | "damaged" => 1,
        "busy" | "disk_full" | "read_only" | "file" | "failed" => 3,
        _ => 2,
    }
}

/// Prints a failure: JSON on stdout for programs, a diagnostic on stderr for people.
pub fn report(failure: &Failure, json: bool) {
    if json {
        // The exit code still tells it if nobody reads.
        let _ = output::line(&output::inert_json(
            &json!({"error": failure.to_json()}).to_string(),
        ));
        return;
    }
    // One sentence up to the first `; ` says what is wrong, the rest what to do about it.
    let message = memwarden::visible(&failure.to_string());
    let diagnostic = match message.split_once("; ") {
        Some((what, help)) => miette::MietteDiagnostic::new(what).with_help(help),
        None => miette::MietteDiagnostic::new(message.clone()),
    };
    eprintln!(
        "{:?}",
        miette::Report::new(diagnostic.with_code(format!("memwarden::{}", failure.code())))
    );
}
