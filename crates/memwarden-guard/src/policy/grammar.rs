//! The TOML grammar of a policy: which keys exist, and which policies make no sense.
//!
//! For: text to [`Policy`]. Nothing is skipped: a key that is not known, a value that is out of range, a rule
//! that could never take effect is refused with an error that names it. Not for: TOML itself (`document`).

use super::document::{Item, document, hint, items, one_of};
use super::error::{Line, PolicyError};
use super::origin_rules;
use crate::judged::ReplyForm;
use crate::layers::decimal;
use crate::reasoning::{SIGNALS, highest_score, weight};
use crate::stage::{DEFAULT_WEIGHT, Phase, Precedents, Stage, Undeclared, Weigh};
use memwarden_core::{FailMode, OriginMode, Policy, Quota, RecallRule, StageSettings, Verdict};
use std::collections::BTreeMap;

/// Longest policy text in bytes.
pub const MAX_POLICY_BYTES: usize = 65_536;
/// Longest name of a policy in bytes.
pub const MAX_NAME_BYTES: usize = 64;

/// Most tokens that a policy may allow a reply.
const MAX_REPLY_TOKENS: u32 = 100_000;

const ROOT_KEYS: [&str; 12] = [
    "name", "origin", "write", "read", "stage", "verdict", "weights", "quota", "endorse", "recall", "tool",
    "action",
];

/// Reads a policy.
///
/// ```
/// let policy = memwarden_guard::parse("name = \"mine\"\n[write]\nstages = [\"keyword\"]\n")?;
/// assert_eq!(policy.write, ["keyword"]);
/// let error = memwarden_guard::parse("name = \"mine\"\n[write]\nstages = [\"keywrd\"]\n").unwrap_err();
/// assert!(error.to_string().starts_with("line 3: key `write.stages` is `keywrd`: expected"));
/// # Ok::<(), memwarden_guard::PolicyError>(())
/// ```
///
/// # Errors
/// [`PolicyError`] with the key, the value and the expectation; the first one in the text among errors of
/// form, before those that need the whole policy.
pub fn parse(text: &str) -> Result<Policy, PolicyError> {
    if text.len() > MAX_POLICY_BYTES {
        return Err(PolicyError::TooLong {
            given: text.len(),
            limit: MAX_POLICY_BYTES,
        });
    }
    let document = document(text)?;
    let mut reading = Reading::new(text);
    for item in items(text, "", document.get_ref()) {
        reading.root(&item)?;
    }
    reading.finish()
}

/// A policy being read, with the items that are checked when all of it is known.
struct Reading<'a> {
    text: &'a str,
    name: Option<String>,
    policy: Policy,
    thresholds: Vec<(Stage, Item<'a>)>,
    /// Settings, verdicts and weights of a stage: senseless if it runs nowhere.
    uses: Vec<(Stage, Item<'a>)>,
    weights: Option<Item<'a>>,
    /// Rules of origin: senseless if they do not hold.
    origin: Vec<Item<'a>>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str) -> Self {
        let weights = SIGNALS
            .iter()
            .map(|signal| ((*signal).to_owned(), DEFAULT_WEIGHT));
        Self {
            text,
            name: None,
            policy: Policy {
                name: String::new(),
                write: Vec::new(),
                read: Vec::new(),
                stages: BTreeMap::new(),
                verdicts: BTreeMap::new(),
                weights: weights.collect(),
                quota: Quota::default(),
                origin: OriginMode::default(),
                endorse_k: None,
                recall: RecallRule::default(),
                tools: BTreeMap::new(),
                actions: Vec::new(),
                source: text.to_owned(),
            },
            thresholds: Vec::new(),
            uses: Vec::new(),
            weights: None,
            origin: Vec::new(),
        }
    }

    fn root(&mut self, item: &Item<'a>) -> Result<(), PolicyError> {
        match item.name {
            "name" => self.name = Some(name(item)?),
            "origin" => {
                let modes = [("enforced", OriginMode::Enforced), ("off", OriginMode::Off)];
                self.policy.origin = item.word(&modes)?;
            }
            "write" => self.policy.write = stage_list(item, self.text, Phase::Write)?,
            "read" => self.policy.read = stage_list(item, self.text, Phase::Read)?,
            "stage" => {
                for item in item.table(self.text)? {
                    self.stage(&item)?;
                }
            }
            "verdict" => {
                for item in item.table(self.text)? {
                    self.verdict(item)?;
                }
            }
            "weights" => self.signal_weights(item)?,
            "quota" => {
                for item in item.table(self.text)? {
                    match item.name {
                        "records" => self.policy.quota.records = item.count()?,
                        "bytes" => self.policy.quota.bytes = item.count()?,
                        _ => return Err(item.unknown(&["records", "bytes"])),
                    }
                }
            }
            "endorse" | "recall" | "tool" | "action" => self.origin_rules(item)?,
            _ => return Err(item.unknown(&ROOT_KEYS)),
        }
        Ok(())
    }

    fn origin_rules(&mut self, item: &Item<'a>) -> Result<(), PolicyError> {
        match item.name {
            "endorse" => self.policy.endorse_k = Some(origin_rules::endorsers(item, self.text)?),
            "recall" => self.policy.recall = origin_rules::recall(item, self.text)?,
            "tool" => self.policy.tools = origin_rules::tools(item, self.text)?,
            _ => self.policy.actions = origin_rules::actions(item, self.text)?,
        }
        self.origin.push(item.clone());
        Ok(())
    }

    fn stage(&mut self, item: &Item<'a>) -> Result<(), PolicyError> {
        let stage = known_stage(item)?;
        let mut keys = vec!["fail"];
        if stage.default_threshold().is_some() {
            keys.push("threshold");
        }
        match stage {
            Stage::ReasoningGuard => keys.push("precedents"),
            Stage::Provenance => keys.extend(["undeclared", "weigh"]),
            Stage::Anomaly => keys.extend(["model", "max_tokens", "reply"]),
            Stage::Rerank => keys.extend(["model", "max_tokens", "reply", "backfill", "persist"]),
            _ => {}
        }
        let mut settings = StageSettings::default();
        for item in item.table(self.text)? {
            match item.name {
                "fail" => {
                    let modes = [("closed", FailMode::Closed), ("open", FailMode::Open)];
                    settings.fail = Some(item.word(&modes)?);
                }
                "threshold" if keys.contains(&"threshold") => {
                    settings.numbers.insert(item.name.to_owned(), item.hundredths()?);
                    self.thresholds.push((stage, item));
                }
                "precedents" if keys.contains(&"precedents") => {
                    let reading = item.word(&Precedents::ALL.map(|reading| (reading.as_str(), reading)))?;
                    settings
                        .words
                        .insert(item.name.to_owned(), reading.as_str().to_owned());
                }
                "undeclared" if keys.contains(&"undeclared") => {
                    let reading = item.word(&Undeclared::ALL.map(|reading| (reading.as_str(), reading)))?;
                    settings
                        .words
                        .insert(item.name.to_owned(), reading.as_str().to_owned());
                }
                "weigh" if keys.contains(&"weigh") => {
                    let reading = item.word(&Weigh::ALL.map(|reading| (reading.as_str(), reading)))?;
                    settings
                        .words
                        .insert(item.name.to_owned(), reading.as_str().to_owned());
                }
                "model" if keys.contains(&"model") => {
                    settings.words.insert(item.name.to_owned(), name(&item)?);
                }
                "reply" if keys.contains(&"reply") => {
                    let form = item.word(&ReplyForm::ALL.map(|form| (form.as_str(), form)))?;
                    settings
                        .words
                        .insert(item.name.to_owned(), form.as_str().to_owned());
                }
                "max_tokens" if keys.contains(&"max_tokens") => {
                    let expected = "a whole number from 1 to 100000";
                    let tokens = item.count()?;
                    let fits = u32::try_from(tokens)
                        .ok()
                        .filter(|tokens| *tokens <= MAX_REPLY_TOKENS);
                    let tokens = fits.ok_or_else(|| item.refuse(expected))?;
                    settings.numbers.insert(item.name.to_owned(), tokens);
                }
                "backfill" | "persist" if keys.contains(&item.name) => {
                    settings
                        .words
                        .insert(item.name.to_owned(), item.boolean()?.to_string());
                }
                _ => return Err(item.unknown(&keys)),
            }
        }
        self.policy.stages.insert(stage.name().to_owned(), settings);
        self.uses.push((stage, item.clone()));
        Ok(())
    }

    fn verdict(&mut self, item: Item<'a>) -> Result<(), PolicyError> {
        let stage = known_stage(&item)?;
        if !stage.can_fire() {
            return Err(item.refuse(&format!(
                "no verdict, since stage `{}` only labels and never fires",
                stage.name()
            )));
        }
        let mut verdicts = vec![Verdict::Annotate, Verdict::Quarantine, Verdict::Reject];
        if stage.can_rewrite() {
            verdicts.push(Verdict::Rewrite);
        }
        let words: Vec<(&str, Verdict)> = verdicts
            .into_iter()
            .map(|verdict| (verdict.as_str(), verdict))
            .collect();
        let verdict = item.word(&words).map_err(|error| {
            if item.string().is_ok_and(|word| word == Verdict::Rewrite.as_str()) {
                let expected = one_of(words.iter().map(|(word, _)| *word));
                item.refuse(&format!(
                    "{expected}, since stage `{}` cannot rewrite a text",
                    stage.name()
                ))
            } else {
                error
            }
        })?;
        self.policy.verdicts.insert(stage.name().to_owned(), verdict);
        self.uses.push((stage, item));
        Ok(())
    }

    fn signal_weights(&mut self, item: &Item<'a>) -> Result<(), PolicyError> {
        for item in item.table(self.text)? {
            if !SIGNALS.contains(&item.name) {
                return Err(item.unknown(&SIGNALS));
            }
            let weight = item.hundredths()?;
            if weight > 100 {
                return Err(item.refuse("a weight from 0 to 1"));
            }
            self.policy.weights.insert(item.name.to_owned(), weight);
        }
        self.weights = Some(item.clone());
        self.uses.push((Stage::ReasoningGuard, item.clone()));
        Ok(())
    }

    /// Checks what needs the whole policy.
    fn finish(mut self) -> Result<Policy, PolicyError> {
        self.policy.name = self.name.take().ok_or_else(|| PolicyError::Missing {
            line: Line(None),
            key: "name".to_owned(),
            expected: NAME_EXPECTED.to_owned(),
        })?;
        let weights = SIGNALS.map(|signal| weight(&self.policy, signal));
        let sum: u32 = weights.iter().fold(0, |sum, weight| sum.saturating_add(*weight));
        if let Some(item) = self.weights.as_ref().filter(|_| sum != 100) {
            let given = format!("{} in sum", decimal(sum));
            let expected = "weights that sum to exactly 1.00, where a signal that is not named weighs 0.20";
            return Err(item.refuse_value(&given, expected));
        }
        for (stage, item) in &self.thresholds {
            let (highest, what) = match stage {
                Stage::ReasoningGuard => (highest_score(weights), "forgery score"),
                Stage::Pattern => (100, "risk"),
                Stage::Taint => (100, "taint"),
                _ => (100, "score"),
            };
            if item.hundredths()? >= highest {
                return Err(item.refuse(&format!(
                    "less than {}, the highest {what} that can occur, since at or over it the stage never fires by it",
                    decimal(highest)
                )));
            }
        }
        for (stage, item) in &self.uses {
            let runs = |list: &[String]| list.iter().any(|name| name == stage.name());
            if !runs(&self.policy.write) && !runs(&self.policy.read) {
                return Err(item.refuse(&format!(
                    "stage `{}` in `write.stages` or `read.stages`, since it runs nowhere",
                    stage.name()
                )));
            }
        }
        if let Some(item) = self
            .origin
            .first()
            .filter(|_| self.policy.origin == OriginMode::Off)
        {
            let expected = "no rule of origin under `origin = \"off\"`, since it would not be obeyed";
            return Err(item.refuse(expected));
        }
        Ok(self.policy)
    }
}

const NAME_EXPECTED: &str = "a name of 1 to 64 bytes without control characters";

fn name(item: &Item<'_>) -> Result<String, PolicyError> {
    let name = item.string()?;
    let fits = !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES && !name.contains(char::is_control);
    fits.then(|| name.to_owned())
        .ok_or_else(|| item.refuse(NAME_EXPECTED))
}

fn known_stage(item: &Item<'_>) -> Result<Stage, PolicyError> {
    Stage::from_name(item.name).ok_or_else(|| item.unknown(&Stage::ALL.map(Stage::name)))
}

fn stage_list(item: &Item<'_>, text: &str, phase: Phase) -> Result<Vec<String>, PolicyError> {
    let mut stages = None;
    for item in item.table(text)? {
        if item.name != "stages" {
            return Err(item.unknown(&["stages"]));
        }
        let names = Stage::ALL.map(Stage::name);
        let expected = format!("a list of {}", one_of(names));
        let mut list: Vec<String> = Vec::new();
        for name in item.strings(&expected)? {
            if !names.contains(&name) {
                return Err(item.refuse_value(name, &format!("{expected}{}", hint(name, &names))));
            }
            if let Some(only) = Stage::from_name(name)
                .and_then(Stage::only_in)
                .filter(|only| *only != phase)
            {
                return Err(item.refuse_value(
                    name,
                    &format!("`{name}` in `{only}.stages`, the only place where it runs"),
                ));
            }
            if list.iter().any(|listed| listed == name) {
                return Err(item.refuse_value(&format!("{name}, {name}"), "each stage once"));
            }
            list.push(name.to_owned());
        }
        stages = Some(list);
    }
    stages.ok_or_else(|| item.missing("stages", "a list of stages, which may be empty"))
}
