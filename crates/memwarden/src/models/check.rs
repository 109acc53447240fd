//! Whether a model loads and answers.

use super::{ModelKind, ModelsError};
use std::path::Path;

/// What was seen of a model that was loaded and asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// What the model calls itself, a digest of its files included.
    pub model: String,
    /// What it was asked and what it said, in a sentence.
    pub saw: String,
}

pub(super) fn check(kind: ModelKind, path: &Path) -> Result<Checked, ModelsError> {
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
    let name = format!("{}-{}", model.name(), model.digest().short());
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
