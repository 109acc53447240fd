//! The model of one cell behind one meter, whatever a call is for.
//!
//! An address with [`PLACE`] in it is another address for each purpose. That is how the metering proxy is told what a call
//! is for without a header (`docs/proxy.md`).

use crate::experiment::{ExperimentError, ModelSpec};
use memwarden::guard::Stage;
use memwarden::model::{Meter, Metered, Served};
use memwarden_core::model::{Chat, ChatCall, ModelError, Reply};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What stands for the purpose in an address.
pub const PLACE: &str = "{purpose}";

/// A model.
#[derive(Debug, Clone)]
pub struct Model {
    /// The model, at the address without a place in it.
    whole: Metered,
    /// The same at the address of each purpose, where there are several.
    by_purpose: BTreeMap<String, Metered>,
}

impl Model {
    /// A model that has one address or none.
    #[must_use]
    pub const fn new(whole: Metered) -> Self {
        Self {
            whole,
            by_purpose: BTreeMap::new(),
        }
    }

    /// The model of a plan. Replies that are no replies are counted by the pipeline, which also asks again.
    ///
    /// # Errors
    /// A model that cannot be had.
    pub fn open(spec: &ModelSpec, seed: u64, meter: &Arc<Meter>) -> Result<Self, ExperimentError> {
        let open =
            |spec: &ModelSpec| Ok::<_, ExperimentError>(spec.metered(seed, meter)?.with_reply_retries(0));
        let mut by_purpose = BTreeMap::new();
        if let ModelSpec::Endpoint { url, model } = spec
            && url.contains(PLACE)
        {
            for purpose in purposes() {
                let spec = ModelSpec::Endpoint {
                    url: url.replace(PLACE, &purpose),
                    model: model.clone(),
                };
                by_purpose.insert(purpose, open(&spec)?);
            }
        }
        Ok(Self {
            whole: open(spec)?,
            by_purpose,
        })
    }

    /// Where its calls are entered.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        self.whole.meter()
    }

    /// Whether what it says is simulated.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.whole.served() == Served::Simulated
    }

    fn for_purpose(&self, purpose: &str) -> Option<&Metered> {
        if self.by_purpose.is_empty() {
            return Some(&self.whole);
        }
        self.by_purpose.get(purpose)
    }
}

/// Everything that a cell spends tokens on.
fn purposes() -> impl Iterator<Item = String> {
    let stages = Stage::ALL.into_iter().filter(|stage| stage.asks_a_model());
    let defenses = stages.map(|stage| format!("defense:{}", stage.name()));
    ["extract", "answer", "judge"]
        .map(str::to_owned)
        .into_iter()
        .chain(defenses)
}

impl Chat for Model {
    fn model(&self) -> &str {
        Chat::model(&self.whole)
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        let same = |one: &ChatCall<'_>, next: &ChatCall<'_>| one.purpose == next.purpose;
        let ask = |calls: &[ChatCall<'_>]| {
            let purpose = calls
                .first()
                .map(|call| call.purpose.as_str())
                .unwrap_or_default();
            match self.for_purpose(purpose) {
                Some(model) => model.chat(calls),
                None => {
                    let error = ModelError::Call {
                        model: Chat::model(&self.whole).to_owned(),
                        reason: format!("there is no address for the purpose `{purpose}`"),
                    };
                    vec![Err(error); calls.len()]
                }
            }
        };
        calls.chunk_by(same).flat_map(ask).collect()
    }
}
