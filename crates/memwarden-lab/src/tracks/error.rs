//! Why a track could not be measured.

use crate::shop::ShopError;
use memwarden::WardenError;
use memwarden_core::encode::EncodeError;
use memwarden_core::model::{LabelError, ModelError};

/// A run could not be made. A reply that is no answer is one of these and never counted as an answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrackError {
    /// The store.
    #[error(transparent)]
    Warden(#[from] WardenError),
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The encoder.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The name of a purpose.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// The shop.
    #[error(transparent)]
    Shop(#[from] ShopError),
    /// A reply in another form than was asked for.
    #[error("the reply of `{model}` is no answer: expected {expected}")]
    NoAnswer {
        /// The model.
        model: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// A file or directory of questions.
    #[error(transparent)]
    Questions(#[from] super::QuestionError),
    /// There is less to work with than was asked for.
    #[error("there are {given} {what}: expected at least {expected}")]
    TooFew {
        /// Of what.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many are needed.
        expected: usize,
    },
    /// A task of one agent was given to another.
    #[error("the agent `{domain}` cannot work on this task")]
    WrongTask {
        /// The agent.
        domain: &'static str,
    },
}
