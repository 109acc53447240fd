//! The defenses that are compared, each a policy that a store runs. Stages are a list, never wrapped around each other.
//!
//! The published conditions are read as "The Price of Safety" (arXiv 2609.22818 §3) describes them: nothing refills what
//! the reranker withholds, no rule of origin holds. `warden` is the product's own preset.

use super::plan::Replies;
use crate::experiment::ExperimentError;
use memwarden::Policy;
use memwarden::guard::{ReplyForm, parse};

/// What every condition is compared with.
pub const BASELINE: &str = "none";
/// The conditions of the paper, in the order of its tables.
pub const PUBLISHED: [&str; 6] = ["none", "sanitize", "provenance", "anomaly", "rerank", "stacked"];
/// What the paper could not run: each stage left out of `stacked`, its reverse order, a reranker whose places are filled
/// again, and the product's preset with its gate.
pub const EXTRA: [&str; 7] = [
    "stacked-sanitize",
    "stacked-provenance",
    "stacked-anomaly",
    "stacked-rerank",
    "stacked-reversed",
    "rerank+backfill",
    "warden",
];

/// What the paper calls the stage [`INJECTION`] as it is used there.
const SANITIZE: &str = "sanitize";
/// The guard's stage of lexical patterns. Its stage `sanitize` is another one, which takes characters out of a text.
const INJECTION: &str = "injection";
/// The stages of `stacked`, in order.
const STACKED: [&str; 4] = [SANITIZE, "provenance", "anomaly", "rerank"];

/// The kind of action that an answer is under `warden`: routine, since nothing but words follows from it.
pub const ANSWER_ACTION: &str = "answer";

/// A defense under measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Its name.
    pub name: String,
    /// What the store runs.
    pub policy: Policy,
    /// The guard's stages that decide about entries, each with what a reader of the paper calls it. A label is no
    /// decision.
    pub deciding: Vec<Deciding>,
    /// Whether actions are asked of the gate.
    pub gate: bool,
}

/// A stage whose decisions are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deciding {
    /// The guard's stage.
    pub stage: String,
    /// The name in reports.
    pub shown: String,
}

/// The condition of this name, with its models asked for this form of reply; `policy:` and a preset's name is any other
/// policy, as it is.
///
/// # Errors
/// No such condition or preset.
pub fn condition(name: &str, replies: Replies) -> Result<Condition, ExperimentError> {
    if let Some(preset) = name.strip_prefix("policy:") {
        let policy = memwarden::guard::preset(preset);
        let policy = policy.ok_or_else(|| ExperimentError::value(format!("`{preset}` is no preset")))?;
        return Ok(of_policy(name, policy, false));
    }
    if name == "warden" {
        let preset = memwarden::guard::PRESETS
            .iter()
            .find(|preset| preset.name == name);
        let toml = preset.map(|preset| preset.toml).unwrap_or_default();
        let text = format!("{toml}\n[[action]]\ntool = \"{ANSWER_ACTION}\"\nclass = \"routine\"\n");
        return Ok(of_policy(name, parsed(&text)?, true));
    }
    let (parts, backfill): (Vec<&str>, bool) = match name {
        "none" => (Vec::new(), false),
        "rerank+backfill" => (vec!["rerank"], true),
        "stacked" => (STACKED.to_vec(), false),
        "stacked-reversed" => (STACKED.into_iter().rev().collect(), false),
        single if STACKED.contains(&single) => (vec![single], false),
        other => match other
            .strip_prefix("stacked-")
            .filter(|left_out| STACKED.contains(left_out))
        {
            Some(left_out) => (
                STACKED.into_iter().filter(|part| *part != left_out).collect(),
                false,
            ),
            None => {
                let known: Vec<&str> = PUBLISHED.into_iter().chain(EXTRA).collect();
                return Err(ExperimentError::value(format!(
                    "condition `{other}` is unknown: expected {} or `policy:` and a preset",
                    known.join(", ")
                )));
            }
        },
    };
    let mut condition = of_policy(name, parsed(&toml(&parts, backfill, replies))?, false);
    for deciding in &mut condition.deciding {
        if deciding.stage == INJECTION {
            SANITIZE.clone_into(&mut deciding.shown);
        }
    }
    Ok(condition)
}

fn parsed(text: &str) -> Result<Policy, ExperimentError> {
    parse(text).map_err(|error| ExperimentError::Unexpected(format!("the policy of a condition: {error}")))
}

fn of_policy(name: &str, policy: Policy, gate: bool) -> Condition {
    let listed = policy.write.iter().chain(&policy.read);
    let mut deciding: Vec<Deciding> = Vec::new();
    for stage in listed {
        let keeps_out = policy.verdict_of(stage) > memwarden::Verdict::Annotate;
        if keeps_out && !deciding.iter().any(|known| known.stage == *stage) {
            deciding.push(Deciding {
                stage: stage.clone(),
                shown: stage.clone(),
            });
        }
    }
    Condition {
        name: name.to_owned(),
        policy,
        deciding,
        gate,
    }
}

/// The policy of some of the four defenses, in their order.
///
/// `sanitize` is the stage `injection`: a match is dropped.
fn toml(parts: &[&str], backfill: bool, replies: Replies) -> String {
    let has = |part: &str| parts.contains(&part);
    let at_write: Vec<&str> = parts
        .iter()
        .filter_map(|part| match *part {
            SANITIZE => Some(INJECTION),
            "provenance" => Some("provenance"),
            "anomaly" => Some("anomaly"),
            _ => None,
        })
        .collect();
    let at_read: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| matches!(*part, "provenance" | "rerank"))
        .collect();
    let list = |stages: &[&str]| {
        let quoted: Vec<String> = stages.iter().map(|stage| format!("\"{stage}\"")).collect();
        quoted.join(", ")
    };
    let mut text = format!(
        "name = \"condition\"\norigin = \"off\"\n[write]\nstages = [{}]\n[read]\nstages = [{}]\n",
        list(&at_write),
        list(&at_read)
    );
    if has("provenance") {
        text.push_str("[stage.provenance]\nweigh = \"declared\"\n");
    }
    let reply = match replies {
        Replies::Text => ReplyForm::Word,
        Replies::Json => ReplyForm::Json,
    };
    let asking = format!("fail = \"open\"\nreply = \"{}\"\n", reply.as_str());
    if has("anomaly") {
        text.push_str(&format!("[stage.anomaly]\n{asking}"));
    }
    if has("rerank") {
        text.push_str(&format!("[stage.rerank]\n{asking}backfill = {backfill}\n"));
    }
    text.push_str("[verdict]\n");
    if has("sanitize") {
        text.push_str("injection = \"reject\"\n");
    }
    if has("anomaly") {
        text.push_str("anomaly = \"quarantine\"\n");
    }
    if has("rerank") {
        text.push_str("rerank = \"quarantine\"\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden::guard::Stage;

    fn condition(name: &str) -> Result<Condition, ExperimentError> {
        super::condition(name, Replies::Text)
    }

    #[test]
    fn every_condition_is_a_list_of_stages() {
        for name in PUBLISHED.into_iter().chain(EXTRA) {
            condition(name).unwrap();
        }
        let stacked = condition("stacked").unwrap();
        assert_eq!(stacked.policy.write, ["injection", "provenance", "anomaly"]);
        assert_eq!(stacked.policy.read, ["provenance", "rerank"]);
        let shown: Vec<&str> = stacked
            .deciding
            .iter()
            .map(|deciding| deciding.shown.as_str())
            .collect();
        assert_eq!(shown, ["sanitize", "anomaly", "rerank"]);
        let reversed = condition("stacked-reversed").unwrap();
        assert_eq!(reversed.policy.write, ["anomaly", "provenance", "injection"]);
        assert_eq!(reversed.policy.read, ["rerank", "provenance"]);
        let less = condition("stacked-rerank").unwrap();
        assert_eq!(less.policy.read, ["provenance"]);
    }

    #[test]
    fn only_the_published_conditions_have_published_names() {
        let shown = |name: &str| {
            let mut deciding = condition(name).unwrap().deciding.into_iter();
            let named = deciding.find(|deciding| deciding.stage == "injection");
            named.map(|deciding| deciding.shown)
        };
        assert_eq!(shown("sanitize").as_deref(), Some("sanitize"));
        for preset in ["warden", "policy:warden"] {
            assert_eq!(shown(preset).as_deref(), Some("injection"));
        }
        // Nothing else is renamed either, so that no two stages have one name.
        let warden = condition("policy:warden").unwrap();
        assert!(
            warden
                .deciding
                .iter()
                .all(|deciding| deciding.stage == deciding.shown)
        );
    }

    #[test]
    fn only_the_row_that_says_so_fills_places_again() {
        let backfills = |name: &str| memwarden::guard::backfills(&condition(name).unwrap().policy);
        assert!(!backfills("rerank") && !backfills("stacked") && backfills("rerank+backfill"));
    }

    #[test]
    fn stages_are_asked_for_json_only_where_the_plan_says_so() {
        let form = |name: &str, replies, stage| {
            ReplyForm::of(&super::condition(name, replies).unwrap().policy, stage)
        };
        for stage in [Stage::Anomaly, Stage::Rerank] {
            assert_eq!(form("stacked", Replies::Text, stage), ReplyForm::Word);
            assert_eq!(form("stacked", Replies::Json, stage), ReplyForm::Json);
        }
        let without = super::condition("sanitize", Replies::Json).unwrap();
        assert_eq!(without, condition("sanitize").unwrap());
        // A store reads its policy from the text that was sealed.
        let json = super::condition("rerank", Replies::Json).unwrap();
        assert_ne!(json.policy.hash(), condition("rerank").unwrap().policy.hash());
    }

    #[test]
    fn an_unknown_condition_is_named() {
        let error = condition("stacked-everything").unwrap_err().to_string();
        assert!(
            error.contains("condition `stacked-everything` is unknown"),
            "{error}"
        );
        assert!(condition("policy:sentinel").is_ok() && condition("policy:x").is_err());
    }
}
