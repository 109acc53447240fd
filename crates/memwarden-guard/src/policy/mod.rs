//! Policies as people write them: the TOML grammar, the presets, and what a policy does in rows and lines.
//!
//! For: text to [`memwarden_core::Policy`] and back to something to read. Not for: running one (`guard`), nor
//! for storing or loading one. `docs/policy.md` is the page for users.

mod document;
mod error;
mod explain;
mod grammar;
mod origin_review;
mod origin_rules;
mod presets;

pub use error::{Line, PolicyError};
pub use explain::{Row, explain, loosenings};
pub use grammar::{MAX_NAME_BYTES, MAX_POLICY_BYTES, parse};
pub use origin_review::{
    ActionRow, ToolRow, check_steps, explain_actions, explain_tools, required_steps, warnings,
};
pub use origin_rules::{
    DEFAULT_MAX_AGE_US, MAX_ENDORSE_K, MAX_MAX_AGE_US, MAX_RULE_NAME_BYTES, MIN_MAX_AGE_US,
};
pub use presets::{DEFAULT_PRESET, PRESETS, Preset, preset};
