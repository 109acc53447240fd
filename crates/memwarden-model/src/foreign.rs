//! Models that are brought along, each with the one ability that its trait has.

use crate::backend::{Attempt, Backend};
use crate::call::Served;
use crate::pace::Pace;
use memwarden_core::model::{
    Chat, ChatCall, Entail, EntailCall, Entailment, Hidden, HiddenCall, HiddenStates, ModelError, Reply,
    Score, ScoreCall, Scored,
};

/// A chat.
#[derive(Debug)]
pub(crate) struct ForeignChat {
    pub(crate) chat: Box<dyn Chat>,
    /// How its calls are entered.
    pub(crate) served: Served,
}

impl Backend for ForeignChat {
    fn model(&self) -> &str {
        self.chat.model()
    }

    fn served(&self) -> Served {
        self.served
    }

    fn chat(&self, call: &ChatCall<'_>, pace: &dyn Pace) -> Attempt<Reply> {
        Attempt::timed(pace, || {
            only(self.model(), self.chat.chat(std::slice::from_ref(call)))
        })
    }
}

/// One that scores.
#[derive(Debug)]
pub(crate) struct ForeignScore(pub(crate) Box<dyn Score>);

impl Backend for ForeignScore {
    fn model(&self) -> &str {
        self.0.model()
    }

    fn score(&self, call: &ScoreCall<'_>, pace: &dyn Pace) -> Attempt<Scored> {
        Attempt::timed(pace, || {
            only(self.model(), self.0.score(std::slice::from_ref(call)))
        })
    }
}

/// One that shows its states.
#[derive(Debug)]
pub(crate) struct ForeignHidden(pub(crate) Box<dyn Hidden>);

impl Backend for ForeignHidden {
    fn model(&self) -> &str {
        self.0.model()
    }

    fn hidden(&self, call: &HiddenCall<'_>, pace: &dyn Pace) -> Attempt<HiddenStates> {
        Attempt::timed(pace, || {
            only(self.model(), self.0.hidden(std::slice::from_ref(call)))
        })
    }
}

/// One that compares statements.
#[derive(Debug)]
pub(crate) struct ForeignEntail(pub(crate) Box<dyn Entail>);

impl Backend for ForeignEntail {
    fn model(&self) -> &str {
        self.0.model()
    }

    fn entail(&self, call: &EntailCall<'_>, pace: &dyn Pace) -> Attempt<Entailment> {
        Attempt::timed(pace, || {
            only(self.model(), self.0.entail(std::slice::from_ref(call)))
        })
    }
}

/// The result of one call.
fn only<T>(model: &str, mut results: Vec<Result<T, ModelError>>) -> Result<T, ModelError> {
    let given = results.len();
    match results.pop() {
        Some(result) if given == 1 => result,
        _ => Err(ModelError::Failed {
            model: model.to_owned(),
            reason: format!("it gave {given} replies to one call"),
        }),
    }
}
