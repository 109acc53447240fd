//! Models whose files lie on this machine: what files are a model of, which are known by a name, and whether one loads.
//!
//! A known model is a small file in a directory of the user's that points to where the model lies: nothing is copied
//! and nothing is fetched. Running a model is `memwarden-model`'s work.

mod check;
mod error;
mod kind;

pub use check::Checked;
pub use error::ModelsError;
pub use kind::ModelKind;

use check::check;
use kind::unknown;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A model that is known by a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    /// The name.
    pub name: String,
    /// Where its files lie.
    pub path: PathBuf,
    /// What they are.
    pub kind: ModelKind,
    /// What the model calls itself, a digest of its files included.
    pub model: String,
}

/// The models that a user made known: one file for each name, `<name>.json`, in a directory.
#[derive(Debug, Clone)]
pub struct Models {
    directory: PathBuf,
}

impl Models {
    /// In a directory, which need not exist yet.
    #[must_use]
    pub fn within(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// The directory cannot be read, or a file in it says nothing of the kind.
    pub fn list(&self) -> Result<Vec<KnownModel>, ModelsError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&self.directory, error)),
        };
        let mut models = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| failed(&self.directory, error))?.path();
            let name = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .unwrap_or_default();
            if path.extension().is_some_and(|extension| extension == "json") && is_name(name) {
                models.push(self.find(name)?);
            }
        }
        models.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(models)
    }

    /// The model of this name.
    ///
    /// # Errors
    /// No such name, or a file that says nothing of the kind.
    pub fn find(&self, name: &str) -> Result<KnownModel, ModelsError> {
        let file = self.file(name)?;
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(ModelsError::NotKnown {
                    name: name.to_owned(),
                });
            }
            Err(error) => return Err(failed(&file, error)),
        };
        let wrong = |reason: String| ModelsError::Entry {
            path: file.clone(),
            reason,
        };
        let value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let field = |field: &str| {
            let text = value.get(field).and_then(Value::as_str);
            text.ok_or_else(|| wrong(format!("`{field}` is not a text")))
        };
        let kind = field("kind")?;
        let kind = ModelKind::ALL.into_iter().find(|known| known.as_str() == kind);
        Ok(KnownModel {
            name: name.to_owned(),
            path: PathBuf::from(field("path")?),
            kind: kind.ok_or_else(|| wrong("`kind` is not known".to_owned()))?,
            model: field("model")?.to_owned(),
        })
    }

    /// Makes a model known, after it was loaded and answered. Its files stay where they are.
    ///
    /// # Errors
    /// A name that is taken, or a model that does not load.
    pub fn add(&self, name: &str, path: &Path) -> Result<(KnownModel, Checked), ModelsError> {
        let file = self.file(name)?;
        match self.find(name) {
            Err(ModelsError::NotKnown { .. }) => {}
            Err(error) => return Err(error),
            Ok(known) => {
                return Err(ModelsError::Known {
                    name: name.to_owned(),
                    path: known.path,
                    file,
                });
            }
        }
        let kind = ModelKind::of(path)?;
        let path = path.canonicalize().map_err(|error| failed(path, error))?;
        let checked = check(kind, &path)?;
        let known = KnownModel {
            name: name.to_owned(),
            path,
            kind,
            model: checked.model.clone(),
        };
        let Some(lies_at) = known.path.to_str() else {
            return Err(unknown(&known.path, "its path is not UTF-8"));
        };
        let entry = json!({"path": lies_at, "kind": kind.as_str(), "model": known.model});
        std::fs::create_dir_all(&self.directory).map_err(|error| failed(&self.directory, error))?;
        std::fs::write(&file, format!("{entry:#}\n")).map_err(|error| failed(&file, error))?;
        Ok((known, checked))
    }

    fn file(&self, name: &str) -> Result<PathBuf, ModelsError> {
        if !is_name(name) {
            return Err(ModelsError::Name {
                given: name.to_owned(),
            });
        }
        Ok(self.directory.join(format!("{name}.json")))
    }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 64
        && name.bytes().next().is_some_and(plain)
        && name
            .bytes()
            .all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'))
}

fn failed(path: &Path, source: std::io::Error) -> ModelsError {
    ModelsError::File {
        path: path.to_owned(),
        source,
    }
}

impl KnownModel {
    /// Loads the model, asks it something, and says what it saw.
    ///
    /// # Errors
    /// It does not load or answer, or its files are not those that were made known.
    pub fn check(&self) -> Result<Checked, ModelsError> {
        let kind = ModelKind::of(&self.path)?;
        let checked = check(kind, &self.path)?;
        if checked.model != self.model {
            return Err(ModelsError::Changed {
                name: self.name.clone(),
                known: self.model.clone(),
                found: checked.model,
            });
        }
        Ok(checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let models = Models::within(directory.path());
        for name in ["", "../x", ".x", "A", "a/b", "a b", &"a".repeat(65)] {
            assert!(
                matches!(models.find(name), Err(ModelsError::Name { .. })),
                "{name}"
            );
        }
        assert!(matches!(models.find("minilm"), Err(ModelsError::NotKnown { .. })));
        assert_eq!(models.list().unwrap(), []);
    }

    #[test]
    fn an_entry_that_is_none_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let models = Models::within(directory.path());
        for text in [
            "",
            "{}",
            "{\"path\": \"/x\", \"kind\": \"oracle\", \"model\": \"m\"}",
        ] {
            std::fs::write(directory.path().join("m.json"), text).unwrap();
            assert!(
                matches!(models.find("m"), Err(ModelsError::Entry { .. })),
                "{text}"
            );
            assert!(models.list().is_err());
        }
    }
}
