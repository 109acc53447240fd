//! What a caller sets about an endpoint, and the key, which no log shows.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// A key could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The environment has no such variable.
    #[error("environment variable `{name}` with the key is not set")]
    Missing {
        /// Its name.
        name: String,
    },
    /// The file cannot be read.
    #[error("key file `{path}`: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// No key, or one that cannot stand in a header. It is not shown.
    #[error("the key in `{place}` is not valid: expected 1 to 4096 visible ASCII characters")]
    Invalid {
        /// Where it came from.
        place: String,
    },
}

/// A secret of an endpoint. Shown by nothing, forgotten when dropped.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

impl ApiKey {
    /// From a variable of the environment.
    ///
    /// # Errors
    /// [`KeyError`], which does not hold the key.
    pub fn from_env(name: &str) -> Result<Self, KeyError> {
        match std::env::var(name) {
            Ok(text) => Self::of(&Zeroizing::new(text), name),
            Err(std::env::VarError::NotPresent) => Err(KeyError::Missing {
                name: name.to_owned(),
            }),
            Err(std::env::VarError::NotUnicode(_)) => Err(KeyError::Invalid {
                place: name.to_owned(),
            }),
        }
    }

    /// From a file that holds nothing else; white space around it is not part of it.
    ///
    /// # Errors
    /// [`KeyError`], which does not hold the key.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        let place = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| KeyError::File {
            path: place.clone(),
            source,
        })?;
        Self::of(&Zeroizing::new(text), &place)
    }

    fn of(text: &str, place: &str) -> Result<Self, KeyError> {
        let key = text.trim();
        if !(1..=4096).contains(&key.len()) || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(KeyError::Invalid {
                place: place.to_owned(),
            });
        }
        Ok(Self(Zeroizing::new(key.to_owned())))
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// How a reply comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// In one piece.
    Whole,
    /// In pieces as they are made; needed where a proxy gives up on silent connections.
    Streamed,
}

/// How a JSON shape is asked for. Whether a reply has it is checked either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonMode {
    /// By the protocol's `json_schema` response format.
    Schema,
    /// By the prompt alone, for endpoints that do not offer more.
    Prompt,
}

/// An endpoint and how to treat it. [`EndpointConfig::new`] has the defaults; its fields are there to be changed.
#[derive(Debug, Clone)]
pub struct EndpointConfig {
    /// Where the protocol begins, as `https://host/v1`.
    pub url: String,
    /// The model to name.
    pub model: String,
    /// The key, where one is needed.
    pub key: Option<ApiKey>,
    /// Longest time for one request and its whole reply.
    pub timeout: Duration,
    /// How often a request that was refused for a while is sent again.
    pub retries: u32,
    /// The pause before the first retry, doubled at each one and spread by chance between its half and itself.
    pub first_pause: Duration,
    /// The longest pause. An endpoint that asks for a longer one by Retry-After is not asked again.
    pub longest_pause: Duration,
    /// Requests at once, over all threads.
    pub at_once: NonZeroUsize,
    /// How replies come.
    pub delivery: Delivery,
    /// How JSON is asked for.
    pub json: JsonMode,
    /// The most bytes of an answer that are read.
    pub max_answer_bytes: u64,
}

impl EndpointConfig {
    /// No key, a minute and a half for a request, four retries with pauses from half a second to a minute, four
    /// requests at once, whole replies of at most 16 MiB, JSON by schema.
    #[must_use]
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        const FOUR: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);
        Self {
            url: url.into(),
            model: model.into(),
            key: None,
            timeout: Duration::from_secs(90),
            retries: 4,
            first_pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(60),
            at_once: FOUR,
            delivery: Delivery::Whole,
            json: JsonMode::Schema,
            max_answer_bytes: 16 << 20,
        }
    }

    /// The text without the key, which some endpoints repeat when they refuse it.
    pub(super) fn redact(&self, text: &str) -> String {
        match &self.key {
            Some(key) => text.replace(key.reveal(), "[key]"),
            None => text.to_owned(),
        }
    }
}
