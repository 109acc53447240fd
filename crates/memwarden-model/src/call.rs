//! One call as the meter enters it, and its line in a file.
//!
//! A line is one JSON object; `docs/meter.md` lists its fields. Times are whole microseconds and costs whole
//! picodollars, so that sums are exact.

use memwarden_core::Timestamp;
use memwarden_core::model::{Ability, Cell, Finish, Purpose, Usage, UsageSource};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The version of the line format.
const VERSION: u32 = 1;

/// Money: picodollars, 10⁻¹² US dollars. One dollar for a million tokens is 1,000,000 of them a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Cost(u64);

impl Cost {
    /// From picodollars.
    #[must_use]
    pub const fn from_picodollars(picodollars: u64) -> Self {
        Self(picodollars)
    }

    /// In picodollars.
    #[must_use]
    pub const fn picodollars(self) -> u64 {
        self.0
    }

    /// The sum; stays at the largest amount rather than wrap.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Cost {
    /// Dollars, with as many decimals as there are: `0.0000123`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DOLLAR: u64 = 1_000_000_000_000;
        let decimals = format!("{:012}", self.0 % DOLLAR);
        let decimals = decimals.trim_end_matches('0');
        write!(f, "{}.{decimals:0<2}", self.0 / DOLLAR)
    }
}

/// Where a reply came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Served {
    /// A model.
    Live,
    /// A cassette: tokens and price are those of the recorded call, and nothing was spent now.
    Replayed,
    /// The simulated model; everything measured with it is simulated.
    Simulated,
}

impl Served {
    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Replayed => "replayed",
            Self::Simulated => "simulated",
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With a whole reply.
    Whole,
    /// Without one; the name of the error, as [`ModelError::name`](memwarden_core::model::ModelError::name) has it.
    Failed(String),
}

impl Outcome {
    /// `ok`, or the name of the error.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Whole => Self::WORD,
            Self::Failed(name) => name,
        }
    }

    const WORD: &'static str = "ok";

    /// Whether a provider charges for a call that ended so; one that it refused or never saw is free.
    fn is_charged(&self) -> bool {
        let free = ["upstream", "unreachable", "unsupported", "call", "cassette-miss"];
        !matches!(self, Self::Failed(name) if free.contains(&name.as_str()))
    }
}

/// One request to a model. A reply that was cut off and asked for again is two; a request that was refused and
/// sent again is one, with its refusals in `retries` and the pauses between in `waiting`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// When it was made.
    pub at: Timestamp,
    /// What was asked.
    pub ability: Ability,
    /// What for.
    pub purpose: Purpose,
    /// The model that was named in the call.
    pub model: String,
    /// The cell of an experiment.
    pub cell: Option<Cell>,
    /// Where the reply came from.
    pub served: Served,
    /// How it ended.
    pub outcome: Outcome,
    /// The HTTP status, where there was one.
    pub status: Option<u16>,
    /// Why the reply ended, where there was one.
    pub finish: Option<Finish>,
    /// Tokens, where they are known.
    pub usage: Option<Usage>,
    /// How often it was sent again.
    pub retries: u32,
    /// Time spent waiting for a turn and for the provider to allow another try.
    pub waiting: Duration,
    /// Time between sending and the end of the reply, of all tries.
    pub serving: Duration,
}

impl Call {
    /// Whether money may have been spent.
    #[must_use]
    pub(crate) fn is_charged(&self) -> bool {
        self.usage.is_some() || self.outcome.is_charged()
    }

    /// The line, with its end.
    pub(crate) fn to_line(&self, cost: Option<Cost>) -> Result<String, serde_json::Error> {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let (tokens_from, tokenizer) = match self.usage.as_ref().map(|usage| &usage.source) {
            None => (None, None),
            Some(UsageSource::Provider) => (Some(TokensFrom::Provider), None),
            Some(UsageSource::Counted { tokenizer }) => (Some(TokensFrom::Counted), Some(tokenizer.clone())),
            Some(UsageSource::Approximated { tokenizer }) => {
                (Some(TokensFrom::Approximated), Some(tokenizer.clone()))
            }
        };
        let line = Line {
            v: VERSION,
            at_us: self.at.as_micros(),
            ability: self.ability.as_str().to_owned(),
            purpose: self.purpose.as_str().to_owned(),
            model: self.model.clone(),
            cell: self.cell.as_ref().map(|cell| cell.as_str().to_owned()),
            served: self.served,
            outcome: self.outcome.as_str().to_owned(),
            status: self.status,
            finish: self.finish.as_ref().map(|finish| finish.as_str().to_owned()),
            prompt_tokens: self.usage.as_ref().map(|usage| usage.prompt),
            completion_tokens: self.usage.as_ref().map(|usage| usage.completion),
            tokens_from,
            tokenizer,
            retries: self.retries,
            waiting_us: micros(self.waiting),
            serving_us: micros(self.serving),
            cost_picousd: cost.map(Cost::picodollars),
        };
        Ok(serde_json::to_string(&line)? + "\n")
    }

    /// Reads a line.
    pub(crate) fn from_line(line: &str) -> Result<(Self, Option<Cost>), String> {
        let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if line.v != VERSION {
            return Err(format!("version `{}` is not known: expected {VERSION}", line.v));
        }
        let Some(ability) = Ability::ALL
            .into_iter()
            .find(|ability| ability.as_str() == line.ability)
        else {
            return Err(format!("ability `{}` is not known", line.ability));
        };
        let usage = match (line.prompt_tokens, line.completion_tokens, line.tokens_from) {
            (None, None, None) => None,
            (Some(prompt), Some(completion), Some(from)) => Some(Usage {
                prompt,
                completion,
                source: from.source(line.tokenizer)?,
            }),
            _ => {
                return Err(
                    "prompt_tokens, completion_tokens and tokens_from go together: expected all or none"
                        .to_owned(),
                );
            }
        };
        let call = Self {
            at: Timestamp::from_micros(line.at_us),
            ability,
            purpose: line.purpose.parse().map_err(|error| format!("{error}"))?,
            model: line.model,
            cell: match line.cell {
                Some(cell) => Some(cell.parse().map_err(|error| format!("{error}"))?),
                None => None,
            },
            served: line.served,
            outcome: if line.outcome == Outcome::WORD {
                Outcome::Whole
            } else {
                Outcome::Failed(line.outcome)
            },
            status: line.status,
            finish: line.finish.as_deref().map(Finish::from_word),
            usage,
            retries: line.retries,
            waiting: Duration::from_micros(line.waiting_us),
            serving: Duration::from_micros(line.serving_us),
        };
        Ok((call, line.cost_picousd.map(Cost::from_picodollars)))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    v: u32,
    at_us: u64,
    ability: String,
    /// Empty where it is missing, so that the error names it as one.
    #[serde(default)]
    purpose: String,
    model: String,
    cell: Option<String>,
    served: Served,
    outcome: String,
    status: Option<u16>,
    finish: Option<String>,
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    tokens_from: Option<TokensFrom>,
    tokenizer: Option<String>,
    retries: u32,
    waiting_us: u64,
    serving_us: u64,
    cost_picousd: Option<u64>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TokensFrom {
    Provider,
    Counted,
    Approximated,
}

impl TokensFrom {
    fn source(self, tokenizer: Option<String>) -> Result<UsageSource, String> {
        match (self, tokenizer) {
            (Self::Provider, None) => Ok(UsageSource::Provider),
            (Self::Counted, Some(tokenizer)) => Ok(UsageSource::Counted { tokenizer }),
            (Self::Approximated, Some(tokenizer)) => Ok(UsageSource::Approximated { tokenizer }),
            (Self::Provider, Some(_)) => Err("a provider's count has no tokenizer".to_owned()),
            (_, None) => Err("tokenizer is missing: expected the one that counted".to_owned()),
        }
    }
}
