//! The signing key of a store's log and the credentials that `init` writes: files of mode 0600 outside it.

use crate::credential::write_secret;
use crate::{WardenError, random};
use memwarden_core::Role;
use memwarden_ledger::SignerKey;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroize as _;

const SIGNER: &str = "log.key";

/// Where the credential of `role` lies in a key directory.
#[must_use]
pub fn credential_path(keys: &Path, role: Role) -> PathBuf {
    keys.join(format!("{role}.credential"))
}

/// Makes the directory with mode 0700.
pub(crate) fn make_directory(keys: &Path) -> Result<(), WardenError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(keys)
        .map_err(|error| WardenError::file(keys, &error))
}

/// A new key for the log named `origin`.
pub(crate) fn fresh_signer(origin: &str) -> Result<SignerKey, WardenError> {
    let mut seed: [u8; 32] = random::bytes()?;
    let signer = SignerKey::from_seed(origin, &seed).map_err(|error| WardenError::Keys {
        path: PathBuf::from(SIGNER),
        reason: error.to_string(),
    });
    seed.zeroize();
    signer
}

/// Writes the key of a new store.
pub(crate) fn write_signer(keys: &Path, signer: &SignerKey) -> Result<(), WardenError> {
    write_secret(&keys.join(SIGNER), &format!("{}\n", *signer.to_private_string()))
}

/// Puts `signer` in the place of the present key; the old one stays beside it until [`finish_rotation`].
pub(crate) fn stage_rotation(keys: &Path, signer: &SignerKey) -> Result<(), WardenError> {
    let staged = keys.join(format!("{SIGNER}.next"));
    match std::fs::remove_file(&staged) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(WardenError::file(&staged, &error));
        }
        _ => {}
    }
    write_secret(&staged, &format!("{}\n", *signer.to_private_string()))
}

/// Makes the staged key the present one.
pub(crate) fn finish_rotation(keys: &Path) -> Result<(), WardenError> {
    let (staged, present) = (keys.join(format!("{SIGNER}.next")), keys.join(SIGNER));
    std::fs::rename(&staged, &present).map_err(|error| WardenError::file(&present, &error))
}

/// Waits until no other process replaces the key, and keeps others from it until the file is dropped. Two
/// rotations at once would leave a log that is signed with a key which no file holds.
pub(crate) fn lock_rotation(keys: &Path) -> Result<File, WardenError> {
    let path = keys.join("rotation.lock");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path);
    file.and_then(|file| file.lock().map(|()| file))
        .map_err(|error| WardenError::file(&path, &error))
}

/// Reads the signing key. It must be of mode 0600 and be named for this log.
pub(crate) fn read_signer(keys: &Path, origin: &str) -> Result<SignerKey, WardenError> {
    read_key_file(&keys.join(SIGNER), origin)
}

/// The key that a rotation staged and did not finish, if there is one.
pub(crate) fn read_staged(keys: &Path, origin: &str) -> Option<SignerKey> {
    read_key_file(&keys.join(format!("{SIGNER}.next")), origin).ok()
}

fn read_key_file(path: &Path, origin: &str) -> Result<SignerKey, WardenError> {
    let bad = |reason: String| WardenError::Keys {
        path: path.to_owned(),
        reason,
    };
    let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => bad(
            "no signing key: expected the one that `memwarden init` wrote; name its directory with --keys"
                .into(),
        ),
        _ => WardenError::file(path, &error),
    })?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(bad(format!(
            "mode {mode:03o}: expected 600, so that only its owner can read it"
        )));
    }
    let mut text = std::fs::read_to_string(path).map_err(|error| WardenError::file(path, &error))?;
    let signer = text
        .trim()
        .parse::<SignerKey>()
        .map_err(|error| bad(error.to_string()));
    text.zeroize();
    let signer = signer?;
    if signer.name() != origin {
        return Err(bad(format!(
            "belongs to log `{}`: expected `{origin}`",
            signer.name()
        )));
    }
    Ok(signer)
}
