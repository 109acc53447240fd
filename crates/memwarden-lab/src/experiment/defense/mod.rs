//! A defense as a condition of an experiment: the policy that the store is under, and what is made of the retrieved
//! set before the agent sees it.
//!
//! Memwarden's own policies act inside the store and leave the retrieved set as it is. The published baselines run over
//! a store without policy and sift what it returns.

mod clusters;
mod conditions;
mod judges;
mod perplexity;

pub use clusters::Clusters;
pub(super) use conditions::identity;
pub use conditions::{Around, BASELINES, condition, policy};
pub use judges::{Auditor, Consensus, Monitor};
pub use perplexity::{Perplexity, WordChances};

use super::ExperimentError;
use memwarden::{Kind, Policy, RecordId};
use std::collections::BTreeMap;
use std::fmt;

/// Something that was retrieved, in the order of the retrieval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retrieved {
    /// Which record.
    pub id: RecordId,
    /// From which store.
    pub kind: Kind,
    /// What it says it is about.
    pub subject: Option<String>,
    /// Its text.
    pub text: String,
}

/// What a defense sees before the agent plans.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// What the user asks for now.
    pub request: &'a str,
    /// What was asked in this session before, oldest first.
    pub earlier: &'a [String],
    /// What the agent would read.
    pub retrieved: &'a [Retrieved],
}

/// What a defense lets through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sifted {
    /// Places in [`Scene::retrieved`], in order.
    pub kept: Vec<usize>,
    /// Whether the whole request is refused.
    pub refused: bool,
    /// Judgements that were no judgements, by the name of the error. What they were about is kept.
    pub errors: BTreeMap<String, u64>,
}

impl Sifted {
    /// Everything is kept.
    #[must_use]
    pub fn all(scene: &Scene<'_>) -> Self {
        Self {
            kept: (0..scene.retrieved.len()).collect(),
            ..Self::default()
        }
    }
}

/// What sifts a retrieved set. [`Condition`] pairs it with a policy.
pub trait Defense: Send + Sync + fmt::Debug {
    /// Decides what the agent may read for this request.
    ///
    /// # Errors
    /// A failure that is none of the model's replies: those are counted in [`Sifted::errors`].
    fn sift(&self, scene: &Scene<'_>) -> Result<Sifted, ExperimentError>;
}

/// One condition of an experiment.
#[derive(Debug)]
pub struct Condition {
    /// The name in tables.
    pub name: String,
    /// What the store is under.
    pub policy: Policy,
    /// What sifts the retrieved set; nothing for policies.
    pub sift: Option<Box<dyn Defense>>,
    /// Whether a model that only simulates decides in it.
    pub simulated: bool,
}

impl Condition {
    /// What the agent may read.
    ///
    /// # Errors
    /// As [`Defense::sift`].
    pub fn sift(&self, scene: &Scene<'_>) -> Result<Sifted, ExperimentError> {
        match &self.sift {
            None => Ok(Sifted::all(scene)),
            Some(defense) => defense.sift(scene),
        }
    }
}
