//! What a principal shows to become one: a line of text in a file that only its owner can read.

use crate::{WardenError, random};
use memwarden_core::{Digest, PrincipalId, Role, StoreId};
use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::str::FromStr;
use zeroize::Zeroize as _;

const PREFIX: &str = "memwarden-credential-v1";

/// A secret that binds its holder to one principal of one store.
///
/// The text form is one line: `memwarden-credential-v1 <store> <principal> <role> <secret>`. The role in it
/// is for people; what counts is the role that the log registered.
pub struct Credential {
    pub(crate) store: StoreId,
    pub(crate) principal: PrincipalId,
    pub(crate) role: Role,
    secret: [u8; 32],
}

impl Credential {
    pub(crate) fn fresh(store: StoreId, role: Role) -> Result<Self, WardenError> {
        let principal = PrincipalId::from_bytes(random::bytes()?);
        Ok(Self {
            store,
            principal,
            role,
            secret: random::bytes()?,
        })
    }

    /// The principal it claims to be.
    #[must_use]
    pub const fn principal(&self) -> PrincipalId {
        self.principal
    }

    /// The store it is for.
    #[must_use]
    pub const fn store(&self) -> StoreId {
        self.store
    }

    /// What the log keeps of the secret.
    pub(crate) fn secret_digest(&self) -> Digest {
        Digest::of(&self.secret)
    }

    /// Reads a credential file.
    ///
    /// # Errors
    /// A file that cannot be read, that others may read, or that holds something else. The error never
    /// quotes the file.
    pub fn read(path: &Path) -> Result<Self, WardenError> {
        let metadata = std::fs::metadata(path).map_err(|error| WardenError::file(path, &error))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(WardenError::Credential {
                reason: format!(
                    "`{}` has mode {mode:03o}: expected 600, so that only its owner can read it",
                    path.display()
                ),
            });
        }
        let mut text = std::fs::read_to_string(path).map_err(|error| WardenError::file(path, &error))?;
        let credential = text.trim().parse();
        text.zeroize();
        credential
    }

    /// Writes it to a new file of mode 0600.
    ///
    /// # Errors
    /// A file that exists or cannot be made.
    pub fn write_new(&self, path: &Path) -> Result<(), WardenError> {
        write_secret(path, &format!("{}\n", self.to_text()))
    }

    /// The line of text. A secret: do not log it.
    #[must_use]
    pub fn to_text(&self) -> String {
        let secret = Digest::from_bytes(self.secret);
        format!(
            "{PREFIX} {} {} {} {secret}",
            self.store, self.principal, self.role
        )
    }
}

/// Writes `text` to a new file of mode 0600.
pub(crate) fn write_secret(path: &Path, text: &str) -> Result<(), WardenError> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| WardenError::file(path, &error))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(|error| WardenError::file(path, &error))
}

impl FromStr for Credential {
    type Err = WardenError;

    fn from_str(text: &str) -> Result<Self, WardenError> {
        let bad = |reason: &str| WardenError::Credential {
            reason: format!("{reason}: expected `{PREFIX} <store> <principal> <role> <secret>`"),
        };
        let mut parts = text.split(' ');
        let mut next = |what: &str| parts.next().ok_or_else(|| bad(&format!("the {what} is missing")));
        if next("prefix")? != PREFIX {
            return Err(bad("not a credential"));
        }
        let store = next("store")?
            .parse()
            .map_err(|_| bad("the store id is malformed"))?;
        let principal = next("principal")?
            .parse()
            .map_err(|_| bad("the principal id is malformed"))?;
        let role = next("role")?.parse().map_err(|_| bad("the role is not known"))?;
        let secret: Digest = next("secret")?
            .parse()
            .map_err(|_| bad("the secret is malformed"))?;
        if parts.next().is_some() {
            return Err(bad("something follows the secret"));
        }
        Ok(Self {
            store,
            principal,
            role,
            secret: *secret.as_bytes(),
        })
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("store", &self.store)
            .field("principal", &self.principal)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

impl Drop for Credential {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_survives_its_text_and_never_shows_its_secret() {
        let credential = Credential::fresh(StoreId::from_bytes([7; 16]), Role::Agent).unwrap();
        let text = credential.to_text();
        let read: Credential = text.parse().unwrap();
        assert_eq!(read.secret, credential.secret);
        let secret = text.rsplit(' ').next().unwrap();
        assert!(!format!("{credential:?}").contains(secret));
        let error = text
            .replace("agent", "emperor")
            .parse::<Credential>()
            .unwrap_err();
        assert!(!error.to_string().contains(secret));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("agent.credential");
        let credential = Credential::fresh(StoreId::from_bytes([7; 16]), Role::Agent).unwrap();
        credential.write_new(&path).unwrap();
        assert!(Credential::read(&path).is_ok());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(
            Credential::read(&path)
                .unwrap_err()
                .to_string()
                .contains("mode 644")
        );
    }
}
