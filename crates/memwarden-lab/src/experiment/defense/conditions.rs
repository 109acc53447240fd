//! The conditions by name.

use super::clusters::Clusters;
use super::judges::{AUDITOR, Auditor, CONSENSUS, Consensus, MONITOR, Monitor};
use super::perplexity::Perplexity;
use super::{Condition, Defense};
use crate::HONEST_MEMORY;
use crate::experiment::{ExperimentError, Models};
use memwarden::core::encode::Encode;
use memwarden::guard;
use memwarden_core::{Digest, OriginMode, Policy};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The defenses of the literature that run over a store without a policy.
pub const BASELINES: &[&str] = &[
    "a-memguard-clusters",
    "a-memguard-judge",
    "auditor",
    "perplexity",
    "monitor",
];

/// The five layers of the published guard, by number.
const LAYERS: [&str; 5] = ["keyword", "provenance", "taint", "pattern", "reasoning-guard"];

/// What a condition needs from around it.
#[derive(Debug, Clone)]
pub struct Around<'a> {
    /// The models of the cell.
    pub models: &'a Models,
    /// What the clustering baseline embeds with.
    pub encoder: Arc<dyn Encode>,
    /// Rules of the agent's actions, put behind every policy that enforces origin.
    pub rules: &'a str,
    /// Where policy files are looked for.
    pub directory: &'a Path,
}

/// The condition of this name: `none`, `keyword`, `sentinel`, `sentinel-strict`, `sentinel-full`, `warden`, one of
/// [`BASELINES`], `layers:1+5` (some layers of the published guard, at write and at read), or `policy:FILE`.
///
/// # Errors
/// No such condition, or a policy file that does not hold.
pub fn condition(name: &str, around: &Around<'_>) -> Result<Condition, ExperimentError> {
    let policy = policy(name, around.rules, around.directory)?;
    let models = around.models;
    let sift: Option<Box<dyn Defense>> = match name {
        "a-memguard-clusters" => Some(Box::new(Clusters::new(Arc::clone(&around.encoder)))),
        "a-memguard-judge" => Some(Box::new(Consensus::new(Arc::clone(&models.chat))?)),
        "auditor" => Some(Box::new(Auditor::new(Arc::clone(&models.chat))?)),
        "monitor" => Some(Box::new(Monitor::new(Arc::clone(&models.chat))?)),
        "perplexity" => Some(Box::new(Perplexity::new(models.score.clone())?)),
        _ => None,
    };
    let simulated = match name {
        "a-memguard-judge" | "auditor" | "monitor" => models.simulated,
        "perplexity" => models.score.is_none(),
        _ => false,
    };
    Ok(Condition {
        name: label(name),
        policy,
        sift,
        simulated,
    })
}

/// The policy of the condition of this name, which models have no part in.
///
/// # Errors
/// As [`condition`].
pub fn policy(name: &str, rules: &str, directory: &Path) -> Result<Policy, ExperimentError> {
    let wrong = |error: guard::PolicyError| ExperimentError::value(format!("defense `{name}`: {error}"));
    let source = if name == "none" || BASELINES.contains(&name) {
        source_of("off", name)?
    } else if let Some(layers) = name.strip_prefix("layers:") {
        layered(name, layers)?
    } else if let Some(file) = name.strip_prefix("policy:") {
        let path = directory.join(file);
        std::fs::read_to_string(&path).map_err(|error| ExperimentError::path(&path, &error))?
    } else {
        source_of(name, name)?
    };
    let bare = guard::parse(&source).map_err(wrong)?;
    let stages = bare.write.iter().chain(&bare.read);
    if let Some(stage) = stages
        .map(|stage| stage.as_str())
        .find(|stage| guard::Stage::from_name(stage).is_some_and(guard::Stage::asks_a_model))
    {
        return Err(ExperimentError::value(format!(
            "defense `{name}`: stage `{stage}` asks a model, which a condition of these experiments does not have: expected \
             a policy without it"
        )));
    }
    if bare.origin == OriginMode::Enforced && bare.actions.is_empty() {
        return guard::parse(&format!("{source}{rules}")).map_err(wrong);
    }
    Ok(bare)
}

/// What the results of a condition depend on besides its models: the bytes of its policy, the prompt of its judge, what it
/// embeds or weighs with.
///
/// # Errors
/// As [`condition`].
pub(in super::super) fn identity(
    name: &str,
    rules: &str,
    directory: &Path,
    encoder: &str,
) -> Result<Value, ExperimentError> {
    let reads = match name {
        "a-memguard-clusters" => encoder.to_owned(),
        "a-memguard-judge" => CONSENSUS.version(),
        "auditor" => AUDITOR.version(),
        "monitor" => MONITOR.version(),
        // What words are weighed by where no model weighs them.
        "perplexity" => Digest::of(HONEST_MEMORY.as_bytes()).to_string(),
        _ => String::new(),
    };
    let policy = policy(name, rules, directory)?.hash().to_string();
    Ok(json!({"policy": policy, "reads": reads}))
}

/// A policy file is named by its last part, so that no path of a machine is in a record.
fn label(name: &str) -> String {
    let file = name.strip_prefix("policy:").map(Path::new);
    match file.and_then(Path::file_stem) {
        Some(stem) => format!("policy:{}", stem.to_string_lossy()),
        None => name.to_owned(),
    }
}

fn source_of(preset: &str, named: &str) -> Result<String, ExperimentError> {
    let found = guard::PRESETS.iter().find(|known| known.name == preset);
    found.map(|preset| preset.toml.to_owned()).ok_or_else(|| {
        ExperimentError::value(format!(
            "defense `{named}` does not exist: expected `none`, a preset ({}), one of {}, `layers:1+5` or `policy:FILE`",
            guard::PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", "),
            BASELINES.join(", "),
        ))
    })
}

/// Some layers of the published guard, at write and at read. Layers 3 and 4 weigh the taint that layer 2 labels, and
/// it is worked out whether or not layer 2 reports it.
fn layered(name: &str, layers: &str) -> Result<String, ExperimentError> {
    let mut stages = Vec::new();
    for number in layers.split('+') {
        let at = number
            .parse::<usize>()
            .ok()
            .and_then(|number| number.checked_sub(1));
        let stage = at.and_then(|at| LAYERS.get(at)).ok_or_else(|| {
            ExperimentError::value(format!(
                "defense `{name}`: `{number}` is no layer: expected 1 to 5"
            ))
        })?;
        stages.push(*stage);
    }
    let listed = stages
        .iter()
        .map(|stage| format!("\"{stage}\""))
        .collect::<Vec<_>>()
        .join(", ");
    let mut source = format!(
        "name = \"layers-{}\"\norigin = \"off\"\n[write]\nstages = [{listed}]\n[read]\nstages = [{listed}]\n[verdict]\n",
        layers.replace('+', "-")
    );
    for stage in stages.iter().filter(|stage| **stage != "provenance") {
        source.push_str(&format!("{stage} = \"reject\"\n"));
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Result<Policy, ExperimentError> {
        policy(name, "", Path::new("."))
    }

    #[test]
    fn baselines_run_over_a_store_without_a_policy() {
        for name in BASELINES {
            assert!(named(name).unwrap().write.is_empty(), "{name}");
        }
        assert_eq!(named("sentinel").unwrap().write, ["keyword", "reasoning-guard"]);
    }

    #[test]
    fn a_policy_whose_stage_asks_a_model_is_refused_and_not_run_without_it() {
        let directory = tempfile::tempdir().unwrap();
        let text = "name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[read]\nstages = []\n";
        std::fs::write(directory.path().join("p.toml"), text).unwrap();
        let error = policy("policy:p.toml", "", directory.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("`anomaly` asks a model"), "{error}");
    }

    #[test]
    fn an_ablation_names_its_layers() {
        let policy = named("layers:1+5").unwrap();
        assert_eq!(policy.read, ["keyword", "reasoning-guard"]);
        assert_eq!(named("layers:1+2+3+4+5").unwrap().write.len(), 5);
        let error = named("layers:6").unwrap_err().to_string();
        assert!(error.contains("expected 1 to 5"), "{error}");
        assert!(
            named("magic")
                .unwrap_err()
                .to_string()
                .contains("expected `none`")
        );
    }
}
