//! Language models by what they can do: the traits that rooms ask, and what can go wrong.
//!
//! One trait for each ability: [`Chat`] answers, [`Score`] weighs a continuation, [`Hidden`] shows states,
//! [`Attend`] what a token looks at, [`Entail`] compares two statements; vectors are [`encode`](crate::encode). All block and take a batch, and each
//! call says what it is for ([`Purpose`]), because its tokens are paid for under that name. No model lives here,
//! and no meter.

mod chat;
mod error;
mod purpose;
mod weigh;

pub use chat::{
    Chat, ChatCall, Finish, Message, Reply, ReplyShape, ReplyToken, Speaker, TokenLogprobs, Usage,
    UsageSource,
};
pub use error::{Ability, ModelError};
pub use purpose::{Cell, LabelError, MAX_LABEL_CHARS, Purpose};
pub use weigh::{
    Attend, AttentionCall, AttentionWeights, Entail, EntailCall, Entailment, Hidden, HiddenCall,
    HiddenStates, Score, ScoreCall, Scored, TokenScore,
};
