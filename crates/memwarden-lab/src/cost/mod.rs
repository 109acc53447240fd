//! The price of a defense on days without an attack: what it costs in answers, tokens and memories thrown away.
//!
//! For: running a memory pipeline over dialogues in which nobody attacks, once for each condition, dialogue and
//! replicate, and comparing each condition with none ("The Price of Safety", arXiv 2609.22818). Not for: attacks, nor for
//! the estimators, which are [`stats`](crate::stats).
//!
//! [`conditions`] are the defenses as policies · [`plan`] is the experiment's file · [`pipeline`] is one cell, [`model`] what it
//! asks · [`stand_in`] answers where no model is asked · [`grade`] and [`abstain`] say whether an answer is right ·
//! [`record`] is what a cell leaves behind · [`regrade`] grades its answers again · [`tally`] pairs cells · [`report`] shows them beside [`paper`] ·
//! [`calibrate`] is the judge of the judges.

pub mod abstain;
pub mod calibrate;
pub mod conditions;
mod experiment;
mod figures;
pub mod grade;
pub mod model;
pub mod paper;
pub mod pipeline;
pub mod plan;
pub mod recompute;
pub mod record;
pub mod regrade;
pub mod report;
pub mod stand_in;
pub mod tally;

pub use experiment::BenignCost;
