//! One call as the meter enters it, and its line in a file.
//!
//! A line is one JSON object; `docs/meter.md` lists its fields. Times are whole microseconds and costs whole
//! picodollars, so that sums are exact.

use crate::prices::Price;
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

    /// The sum; `None` where it is larger than can be written.
    #[must_use]
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
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

    /// The names of errors, as [`ModelError::name`](memwarden_core::model::ModelError::name) has them, and `left`,
    /// which is the proxy's.
    const NAMES: [&'static str; 17] = [
        "truncated",
        "empty",
        "withheld",
        "schema",
        "unsupported",
        "upstream",
        "unreachable",
        "closed",
        "timeout",
        "cut",
        "malformed",
        "too-large",
        "call",
        "cassette-miss",
        "unrecorded",
        "failed",
        "left",
    ];

    fn of_word(word: String) -> Result<Self, String> {
        if word == Self::WORD {
            return Ok(Self::Whole);
        }
        if !Self::NAMES.contains(&word.as_str()) {
            return Err(format!("outcome `{word}` is not known"));
        }
        Ok(Self::Failed(word))
    }

    /// Whether the whole reply came, so that what it holds can be counted.
    fn came_whole(&self) -> bool {
        let whole = [
            "truncated",
            "empty",
            "withheld",
            "schema",
            "unsupported",
            "unrecorded",
        ];
        matches!(self, Self::Failed(name) if whole.contains(&name.as_str())) || *self == Self::Whole
    }

    /// Whether no provider charges for a call that ended so: it was refused, or never saw the provider. A gateway that
    /// gave up (502, 504, 520 to 599) or sends the call elsewhere (3xx) says nothing of what is behind it.
    fn is_free(&self, status: Option<u16>) -> bool {
        match self.as_str() {
            "unreachable" | "unsupported" | "call" | "cassette-miss" => true,
            "upstream" => status.is_some_and(|status| !matches!(status, 0..=399 | 502 | 504 | 520..)),
            _ => false,
        }
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
    /// Of the tries before the last, how many may have been charged. Not in the line, whose cost is then unknown.
    pub unsettled: u32,
    /// Time spent waiting for a turn and for the provider to allow another try.
    pub waiting: Duration,
    /// Time between sending and the end of the reply, of all tries.
    pub serving: Duration,
}

impl Call {
    /// What it cost; `None` where nobody knows.
    ///
    /// A count of ours is worth money only of a reply that came whole: of another, nobody knows what the provider has
    /// made and charges.
    pub(crate) fn cost(&self, price: Option<Price>) -> Option<Cost> {
        if self.unsettled > 0 {
            return None;
        }
        match &self.usage {
            Some(usage) => {
                let is_firm = usage.source == UsageSource::Provider || self.outcome.came_whole();
                price.filter(|_| is_firm)?.of(usage)
            }
            None => self.outcome.is_free(self.status).then(Cost::default),
        }
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
        // A list of the right values would be read as well, but is no line of a meter.
        if !line.trim_start().starts_with('{') {
            return Err("expected a JSON object".to_owned());
        }
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
            model: match line.model.as_str() {
                "" => return Err("the model is missing".to_owned()),
                _ => line.model,
            },
            cell: match line.cell {
                Some(cell) => Some(cell.parse().map_err(|error| format!("{error}"))?),
                None => None,
            },
            served: line.served,
            outcome: Outcome::of_word(line.outcome)?,
            status: line.status,
            finish: line.finish.as_deref().map(Finish::from_word),
            usage,
            retries: line.retries,
            unsettled: 0,
            waiting: Duration::from_micros(line.waiting_us),
            serving: Duration::from_micros(line.serving_us),
        };
        if call.outcome == Outcome::Whole && call.finish == Some(Finish::Length) {
            return Err("outcome `ok` of a reply whose finish reason is `length`".to_owned());
        }
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
    /// Unknown is `null`; a line that does not say is damaged.
    #[serde(deserialize_with = "Option::deserialize")]
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
