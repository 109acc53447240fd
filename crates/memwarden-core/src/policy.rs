//! What a store does with entries: which stages look, what their findings lead to, how much one writer may
//! keep. A policy is data; its TOML form and its presets live with the stages that it names.

use crate::{ActionRule, Authority, Digest, StageName, Verdict};
use std::collections::BTreeMap;

/// What happens to an entry when a stage itself fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailMode {
    /// The entry is kept out.
    Closed,
    /// The entry passes, with a finding.
    Open,
}

/// Parameters of one stage, all in integers: hundredths for scores, counts as they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageSettings {
    /// What happens when the stage fails; the default depends on where it runs.
    pub fail: Option<FailMode>,
    /// Named numbers; the stage documents and checks them.
    pub numbers: BTreeMap<String, u32>,
    /// Named words, such as which reading of a published rule to run.
    pub words: BTreeMap<String, String>,
}

/// How much one principal may keep; text out of sight counts too, so that nobody fills the store unseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Most records of one principal.
    pub records: u64,
    /// Most content bytes of one principal.
    pub bytes: u64,
}

impl Default for Quota {
    /// A million records and 1 GiB: bounds that stop a runaway writer and that no honest one meets.
    fn default() -> Self {
        Self {
            records: 1_000_000,
            bytes: 1 << 30,
        }
    }
}

/// How a recall shares its places, in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecallRule {
    /// Share of the k places that one principal may take while records of others fit that are as strong, 1 to 100.
    pub max_share_per_principal: u32,
    /// From which share of common words (Jaccard index of the sets of words) two records of one writer are
    /// shown as one, 1 to 100; at 100 only the same words are.
    pub near_duplicates: u32,
    /// What a score is multiplied with by effective authority (`none`, `inform`, `act`), 0 to 100.
    pub trust: [u32; 3],
}

impl Default for RecallRule {
    /// Half of the places, so that one writer never speaks alone where another of its authority has a say; nine tenths of the
    /// words, so that in a sentence of fewer than ten words any other word makes another sentence; four fifths
    /// of its score for what nobody vouches for, which costs it a place or two among its equals.
    fn default() -> Self {
        Self {
            max_share_per_principal: 50,
            near_duplicates: 90,
            trust: [80, 100, 100],
        }
    }
}

impl RecallRule {
    /// How many of `k` places one principal may take: its share, rounded up.
    #[must_use]
    pub fn places(self, k: usize) -> usize {
        let share = usize::try_from(self.max_share_per_principal).unwrap_or(100);
        k.saturating_mul(share).div_ceil(100)
    }

    /// What the score of a record of this effective authority is multiplied with.
    #[must_use]
    pub fn weight(self, effective: Authority) -> f64 {
        let [none, inform, act] = self.trust;
        let hundredths = match effective {
            Authority::None => none,
            Authority::Inform => inform,
            Authority::Act => act,
        };
        f64::from(hundredths) / 100.0
    }
}

/// Whether the rules of origin hold: the gate's checks, and trust by principal rather than by declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OriginMode {
    /// Actions are checked.
    #[default]
    Enforced,
    /// Actions are allowed and logged; only the published presets are so.
    Off,
}

/// Whether a tool's output may repeat what it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Echoes {
    /// It may: the output proves nothing about where a value comes from.
    #[default]
    Possible,
    /// It never does: the output of a passed receipt binds a parameter, and keeps its authority in any context.
    Never,
}

/// What the administrator says about one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolRule {
    /// Whether its output counts as `act`.
    pub trusted: bool,
    /// Whether its output may repeat what it was given.
    pub echoes: Echoes,
}

/// The rules of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Its name in reports.
    pub name: String,
    /// Stages that look at an entry before it is stored, in order.
    pub write: Vec<StageName>,
    /// Stages that look at an entry before it is served, in order.
    pub read: Vec<StageName>,
    /// Parameters, by stage.
    pub stages: BTreeMap<StageName, StageSettings>,
    /// What a firing stage leads to; a stage that is not named annotates.
    pub verdicts: BTreeMap<StageName, Verdict>,
    /// Weights of the reasoning guard's signals in hundredths; they sum to 100.
    pub weights: BTreeMap<String, u32>,
    /// How much one principal may keep.
    pub quota: Quota,
    /// Whether the rules of origin hold.
    pub origin: OriginMode,
    /// Endorsers of different domains that a record needs; `None` for the default, 2, or 1 in a store whose
    /// principals share one domain.
    pub endorse_k: Option<u32>,
    /// How a recall shares its places.
    pub recall: RecallRule,
    /// Tools by name.
    pub tools: BTreeMap<String, ToolRule>,
    /// Actions that the gate knows.
    pub actions: Vec<ActionRule>,
    /// The TOML text that it was read from; the hash is over these bytes.
    pub source: String,
}

impl Policy {
    /// SHA-256 of the policy's text: what each decision records.
    #[must_use]
    pub fn hash(&self) -> Digest {
        Digest::of(self.source.as_bytes())
    }

    /// What a firing `stage` leads to.
    #[must_use]
    pub fn verdict_of(&self, stage: &str) -> Verdict {
        self.verdicts.get(stage).copied().unwrap_or(Verdict::Annotate)
    }
}
