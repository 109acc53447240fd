//! Language models, and the meter that all of them pass.
//!
//! A model leaves this crate only inside [`Metered`], which enters every call in a [`Meter`] before it hands over
//! the reply: what a defense costs is counted, not estimated. [`Metered::endpoint`] speaks the OpenAI protocol,
//! [`Metered::simulated`] is a rule-based stand-in, [`Metered::cassette`] replays what was recorded,
//! [`Metered::foreign`] wraps any [`Chat`](memwarden_core::model::Chat) that is brought along (`foreign_score`,
//! `foreign_hidden` and `foreign_entail` do so for the other abilities), and `Metered::local` (feature `local`) runs a
//! model whose file lies on this machine.
//!
//! Not here: prompts, caching of answers, choice between models. Nothing here knows of attacks or guards.

mod backend;
mod call;
mod cassette;
mod choice;
mod endpoint;
mod foreign;
mod lines;
#[cfg(feature = "local")]
mod local;
mod meter;
mod metered;
mod pace;
mod prices;
mod read;
mod report;
mod schema;
mod simulated;
mod simulated_judge;
mod tokens;

pub use call::{Call, Cost, Outcome, Served};
pub use cassette::CassetteError;
pub use choice::{Asked, Choice, choose};
pub use endpoint::{ApiKey, Delivery, EndpointConfig, JsonMode, KeyError};
#[cfg(feature = "local")]
pub use local::{FileError, Gguf, LanguageModel, MAX_GGUF_BYTES, read_header};
pub use meter::{Meter, MeterError};
pub use metered::{Metered, MeteredEncoder, PassingOn, REPLY_RETRIES};
pub use pace::{Pace, SystemPace};
pub use prices::{Price, PriceError, Prices};
pub use read::{Damaged, MAX_LINE_BYTES, Metering, read_calls, read_meter};
pub use report::{By, Report, Row, Sum};
pub use simulated::{Knowledge, RULE as SIMULATED_RULE};
pub use simulated_judge::RULE as SIMULATED_JUDGE_RULE;
pub use tokens::{Counted, MAX_COUNTED_BYTES, TOKENS_PER_MESSAGE, TOKENS_PER_REPLY, TokenCount};
