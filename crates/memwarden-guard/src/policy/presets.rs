//! The policies that come with the program, as the same TOML that a user would write.

use super::grammar::parse;
use memwarden_core::Policy;

/// A policy that comes with the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// One line for a person.
    pub summary: &'static str,
    /// Its text.
    pub toml: &'static str,
}

/// The preset that a new store gets: origin decides what an action may rest on, wording only what waits for a person.
pub const DEFAULT_PRESET: &str = "warden";

/// Every preset: the published guards from the one that does least, which know no origin, and then
/// [`DEFAULT_PRESET`].
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "off",
        summary: "no stages, no rules of origin",
        toml: include_str!("../../presets/off.toml"),
    },
    Preset {
        name: "keyword",
        summary: "refuses block-listed words at write and read",
        toml: include_str!("../../presets/keyword.toml"),
    },
    Preset {
        name: "sentinel",
        summary: "SENTINEL as published: layers 1 and 5 at write, all five at read",
        toml: include_str!("../../presets/sentinel.toml"),
    },
    Preset {
        name: "sentinel-strict",
        summary: "SENTINEL, but claimed prior runs count only where a receipt backs them",
        toml: include_str!("../../presets/sentinel-strict.toml"),
    },
    Preset {
        name: "sentinel-full",
        summary: "SENTINEL with all five layers at write and at read",
        toml: include_str!("../../presets/sentinel-full.toml"),
    },
    Preset {
        name: "warden",
        summary: "rules of origin for actions; at write, what speaks to the reader instead of telling it something is kept for review, the published layers leave findings (the default)",
        toml: include_str!("../../presets/warden.toml"),
    },
];

/// The preset of this name.
///
/// ```
/// assert_eq!(memwarden_guard::preset("sentinel").map(|policy| policy.write.len()), Some(2));
/// assert_eq!(memwarden_guard::preset("nonsense"), None);
/// ```
#[must_use]
pub fn preset(name: &str) -> Option<Policy> {
    let preset = PRESETS.iter().find(|preset| preset.name == name)?;
    parse(preset.toml).ok()
}
