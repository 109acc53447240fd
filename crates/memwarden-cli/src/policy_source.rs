//! A policy named on the command line: a preset or a TOML file.

use crate::failure::Failure;
use memwarden::Policy;
use memwarden::guard::{PRESETS, parse, preset};
use std::path::Path;

/// The policy of this name or in this file.
pub(crate) fn named(name: &str) -> Result<Policy, Failure> {
    if let Some(policy) = preset(name) {
        return Ok(policy);
    }
    let path = Path::new(name);
    if path.exists() {
        return read(path);
    }
    let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    Err(Failure::Input(format!(
        "`{name}` is neither a file nor a preset: expected a TOML file or one of {}",
        names.join(", ")
    )))
}

/// The policy in a file.
pub(crate) fn read(path: &Path) -> Result<Policy, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    parse(&text).map_err(|error| Failure::Input(format!("policy `{}`: {error}", path.display())))
}
