//! Where a store, its keys and its witness lie: three directories that must not contain each other.

use crate::WardenError;
use memwarden_core::StoreId;
use std::path::{Path, PathBuf};

/// The three directories of one store.
///
/// Keys and witness must lie outside the store's directory: whoever copies, restores or edits the store then
/// holds neither the key that signs it nor the memory of its newest head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The directory of the database.
    pub store: PathBuf,
    /// The directory of signing key and credentials; `None` for the user's configuration directory.
    pub keys: Option<PathBuf>,
    /// The directory of the witness; `None` for the user's state directory.
    pub witness: Option<PathBuf>,
}

impl Places {
    /// Keys and witness where the user's programs keep such things.
    #[must_use]
    pub fn new(store: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            keys: None,
            witness: None,
        }
    }

    /// All three named: what tests and the demo use.
    #[must_use]
    pub fn within(store: impl Into<PathBuf>, keys: impl Into<PathBuf>, witness: impl Into<PathBuf>) -> Self {
        Self {
            store: store.into(),
            keys: Some(keys.into()),
            witness: Some(witness.into()),
        }
    }

    /// The key directory of store `id`: `$XDG_CONFIG_HOME/memwarden/<id>` unless named.
    ///
    /// # Errors
    /// No home directory, or a directory inside the store.
    pub fn keys_of(&self, id: StoreId) -> Result<PathBuf, WardenError> {
        self.outside(match &self.keys {
            Some(path) => path.clone(),
            None => user_directory("XDG_CONFIG_HOME", ".config")?
                .join("memwarden")
                .join(id.to_string()),
        })
    }

    /// The witness directory of store `id`: `$XDG_STATE_HOME/memwarden/<id>` unless named.
    ///
    /// # Errors
    /// No home directory, or a directory inside the store.
    pub fn witness_of(&self, id: StoreId) -> Result<PathBuf, WardenError> {
        self.outside(match &self.witness {
            Some(path) => path.clone(),
            None => user_directory("XDG_STATE_HOME", ".local/state")?
                .join("memwarden")
                .join(id.to_string()),
        })
    }

    fn outside(&self, path: PathBuf) -> Result<PathBuf, WardenError> {
        if absolute(&path).starts_with(absolute(&self.store)) {
            return Err(WardenError::Keys {
                path,
                reason: format!(
                    "lies inside the store `{}`: expected a directory that is not copied or restored with it",
                    self.store.display()
                ),
            });
        }
        Ok(path)
    }
}

/// The path with its existing part resolved, so that a link cannot lead back into the store.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut rest = Vec::new();
    let mut head = path.as_path();
    loop {
        if let Ok(resolved) = head.canonicalize() {
            return rest.iter().rev().fold(resolved, |path, part| path.join(part));
        }
        match (head.parent(), head.file_name()) {
            (Some(parent), Some(name)) => {
                rest.push(name.to_owned());
                head = parent;
            }
            _ => return path.clone(),
        }
    }
}

fn user_directory(variable: &str, under_home: &str) -> Result<PathBuf, WardenError> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    from(variable)
        .filter(|path| path.is_absolute())
        .or_else(|| from("HOME").map(|home| home.join(under_home)))
        .ok_or_else(|| WardenError::Keys {
            path: PathBuf::from(under_home),
            reason: format!(
                "neither {variable} nor HOME is set: name the directory with --keys and --witness"
            ),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_inside_the_store_are_refused_even_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("store");
        std::fs::create_dir_all(store.join("sub")).unwrap();
        std::os::unix::fs::symlink(store.join("sub"), dir.path().join("link")).unwrap();
        let id = StoreId::from_bytes([0; 16]);
        for keys in [
            store.clone(),
            store.join("keys"),
            store.join("x/../keys"),
            dir.path().join("link/keys"),
        ] {
            let places = Places::within(&store, &keys, dir.path().join("witness"));
            assert!(places.keys_of(id).is_err(), "{}", keys.display());
        }
        let outside = Places::within(&store, dir.path().join("store-keys"), dir.path().join("witness"));
        assert!(outside.keys_of(id).is_ok());
    }
}
