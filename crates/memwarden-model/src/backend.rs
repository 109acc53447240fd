//! What the meter wraps. Private: nothing outside of this crate reaches a model without being counted.

use crate::call::Served;
use crate::pace::Pace;
use memwarden_core::model::{
    Ability, AttentionCall, AttentionWeights, ChatCall, EntailCall, Entailment, HiddenCall, HiddenStates,
    ModelError, Purpose, Reply, ScoreCall, Scored, Usage,
};
use std::fmt;
use std::num::NonZeroUsize;
use std::time::Duration;

/// What became of one request, and how long it took to find out.
#[derive(Debug)]
pub(crate) struct Attempt<T> {
    pub(crate) result: Result<T, ModelError>,
    pub(crate) status: Option<u16>,
    pub(crate) retries: u32,
    /// Of the tries before the last, how many may have been charged.
    pub(crate) unsettled: u32,
    /// What was used by a reply that came and is not handed over.
    pub(crate) spent: Option<Usage>,
    pub(crate) waiting: Duration,
    pub(crate) serving: Duration,
}

impl<T> Attempt<T> {
    /// Of a model on this machine: it never waits and is never asked twice.
    pub(crate) fn timed(pace: &dyn Pace, ask: impl FnOnce() -> Result<T, ModelError>) -> Self {
        let started = pace.running();
        let result = ask();
        Self {
            result,
            status: None,
            retries: 0,
            unsettled: 0,
            spent: None,
            waiting: Duration::ZERO,
            serving: pace.running().saturating_sub(started),
        }
    }

    pub(crate) fn unsupported(model: &str, ability: Ability) -> Self {
        Self {
            result: Err(ModelError::Unsupported {
                model: model.to_owned(),
                ability,
            }),
            status: None,
            retries: 0,
            unsettled: 0,
            spent: None,
            waiting: Duration::ZERO,
            serving: Duration::ZERO,
        }
    }
}

/// Vectors as the model gave them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Vectors {
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) usage: Option<Usage>,
}

/// Texts to be turned into vectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodeCall<'a> {
    pub(crate) purpose: &'a Purpose,
    pub(crate) texts: &'a [&'a str],
}

/// A model. It implements what it can.
pub(crate) trait Backend: Send + Sync + fmt::Debug {
    fn model(&self) -> &str;

    fn served(&self) -> Served {
        Served::Live
    }

    /// How many requests it takes at once.
    fn at_once(&self) -> NonZeroUsize {
        NonZeroUsize::MIN
    }

    fn chat(&self, _call: &ChatCall<'_>, _pace: &dyn Pace) -> Attempt<Reply> {
        Attempt::unsupported(self.model(), Ability::Chat)
    }

    fn embed(&self, _call: &EncodeCall<'_>, _pace: &dyn Pace) -> Attempt<Vectors> {
        Attempt::unsupported(self.model(), Ability::Encode)
    }

    fn score(&self, _call: &ScoreCall<'_>, _pace: &dyn Pace) -> Attempt<Scored> {
        Attempt::unsupported(self.model(), Ability::Score)
    }

    fn hidden(&self, _call: &HiddenCall<'_>, _pace: &dyn Pace) -> Attempt<HiddenStates> {
        Attempt::unsupported(self.model(), Ability::Hidden)
    }

    fn attend(&self, _call: &AttentionCall<'_>, _pace: &dyn Pace) -> Attempt<AttentionWeights> {
        Attempt::unsupported(self.model(), Ability::Attention)
    }

    fn entail(&self, _call: &EntailCall<'_>, _pace: &dyn Pace) -> Attempt<Entailment> {
        Attempt::unsupported(self.model(), Ability::Entail)
    }
}

/// What a model gave, as far as it says what was used.
pub(crate) trait Given {
    fn usage(&self) -> Option<&Usage>;
}

macro_rules! given {
    ($($kind:ty),*) => {
        $(impl Given for $kind {
            fn usage(&self) -> Option<&Usage> {
                self.usage.as_ref()
            }
        })*
    };
}

given!(Reply, Vectors, Scored, HiddenStates, AttentionWeights, Entailment);
