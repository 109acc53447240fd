use crate::experiment::*;
use memwarden_core::encode::Encode;
use std::sync::Arc;
pub(super) struct Around<'a> {
    pub models: &'a Models,
    pub encoder: Arc<dyn Encode>,
    pub rules: &'a str,
    pub directory: &'a std::path::Path,
}
pub(super) fn condition(name: &str, around: &Around<'_>) -> Result<Condition, ExperimentError> {
    let _ = (&around.models, &around.encoder, around.directory);
    let preset = if name == "none" { "off" } else { name };
    let preset = memwarden::guard::PRESETS
        .iter()
        .find(|p| p.name == preset)
        .ok_or_else(|| ExperimentError::value(name))?;
    let mut policy =
        memwarden::guard::parse(preset.toml).map_err(|e| ExperimentError::value(e.to_string()))?;
    if policy.origin == memwarden_core::OriginMode::Enforced {
        policy = memwarden::guard::parse(&format!("{}{}", preset.toml, around.rules))
            .map_err(|e| ExperimentError::value(e.to_string()))?;
    }
    Ok(Condition {
        name: name.to_owned(),
        policy,
        sift: None,
        simulated: false,
    })
}
