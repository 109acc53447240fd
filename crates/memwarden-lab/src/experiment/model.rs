//! Which model an experiment asks: the stand-in, a local one, or an endpoint. The three are never in one table row.

use super::ExperimentError;
use super::identity::digest;
use memwarden::model::{
    ApiKey, By, EndpointConfig, KeyError, Meter, Metered, Prices, SIMULATED_JUDGE_RULE, SIMULATED_RULE, Sum,
};
use memwarden_core::Digest;
use memwarden_core::model::{Chat, Score};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// `simulated`, `local:PATH` or `endpoint:URL#MODEL`, as experiment files name a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ModelSpec {
    /// The rule-based stand-in.
    Simulated,
    /// A model on this machine, read from files.
    Local(PathBuf),
    /// A model behind an OpenAI-compatible endpoint. Its key is read from the environment.
    Endpoint {
        /// The base address.
        url: String,
        /// The model's name there.
        model: String,
    },
}

impl FromStr for ModelSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "simulated" {
            return Ok(Self::Simulated);
        }
        if let Some(path) = text.strip_prefix("local:").filter(|path| !path.is_empty()) {
            return Ok(Self::Local(PathBuf::from(path)));
        }
        if let Some((url, model)) = text
            .strip_prefix("endpoint:")
            .and_then(|rest| rest.rsplit_once('#'))
            && !model.is_empty()
        {
            check_address(url)?;
            return Ok(Self::Endpoint {
                url: url.to_owned(),
                model: model.to_owned(),
            });
        }
        // Neither name nor password is said again.
        let text = text.rsplit_once('@').map_or(text, |(_, rest)| rest);
        Err(format!(
            "`{text}` is no model: expected `simulated`, `local:PATH` or `endpoint:URL#MODEL`"
        ))
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated => f.write_str("simulated"),
            Self::Local(path) => write!(f, "local:{}", path.display()),
            Self::Endpoint { url, model } => write!(f, "endpoint:{url}#{model}"),
        }
    }
}

impl TryFrom<String> for ModelSpec {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl ModelSpec {
    /// The name in tables. A local model is named by its file, so that no path of a machine is in a record; one
    /// behind an endpoint with its host, since others may serve one of the same name.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Simulated => "simulated".to_owned(),
            Self::Local(path) => path
                .file_name()
                .map_or_else(|| "local".to_owned(), |name| name.to_string_lossy().into_owned()),
            Self::Endpoint { url, model } => format!("{model}@{}", host(url)),
        }
    }

    /// What it is, for the digest of a cell: the rules of the stand-in, the whole address of an endpoint, the name
    /// and digest of a local model's file. Reads that file, so once for a run.
    ///
    /// # Errors
    /// Files that are not there.
    pub fn identity(&self) -> Result<Value, ExperimentError> {
        match self {
            Self::Simulated => {
                Ok(json!({"simulated": [digest(SIMULATED_RULE), digest(SIMULATED_JUDGE_RULE)]}))
            }
            Self::Local(path) => Ok(json!({"local": self.name(), "digest": contents(path)?})),
            Self::Endpoint { url, model } => Ok(json!({"url": url, "model": model})),
        }
    }

    /// Whether what it answers is simulated.
    #[must_use]
    pub const fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated)
    }

    /// Opens the model for one cell, with a meter of the cell's own. `doubt` is the stand-in's `b` where it is not the
    /// one of its data file.
    ///
    /// # Errors
    /// A model that cannot be had.
    pub fn open(&self, seed: u64, doubt: Option<f64>) -> Result<Models, ExperimentError> {
        let meter = Arc::new(Meter::in_memory(Prices::default()));
        let model = Arc::new(match (self, doubt) {
            (Self::Simulated, Some(doubt)) => Metered::simulated_with_doubt(seed, doubt, Arc::clone(&meter))?,
            _ => self.metered(seed, &meter)?,
        });
        let weighs = matches!(self, Self::Local(_));
        Ok(Models {
            meter,
            score: weighs.then(|| Arc::clone(&model) as Arc<dyn Score>),
            chat: model,
            name: self.name(),
            simulated: self.is_simulated(),
        })
    }
}

impl ModelSpec {
    /// The model behind a meter that is there already.
    ///
    /// # Errors
    /// As [`ModelSpec::open`].
    pub fn metered(&self, seed: u64, meter: &Arc<Meter>) -> Result<Metered, ExperimentError> {
        match self {
            Self::Simulated => Ok(Metered::simulated(seed, Arc::clone(meter))?),
            Self::Local(path) => local(path, meter),
            Self::Endpoint { url, model } => endpoint(url, model, meter),
        }
    }
}

/// An experiment's file and its records go into evidence, so no secret may stand in an address.
fn check_address(url: &str) -> Result<(), String> {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    let rest = rest.unwrap_or_default();
    // Neither name nor password is said again.
    let told = url.rsplit_once('@').map_or(url, |(_, host)| host);
    let told = told.split(['?', '#']).next().unwrap_or_default();
    if rest.contains(['@', '?', '#']) {
        return Err(format!(
            "the endpoint at `{told}` has a name, a password or a query in its address: expected none; a key goes into \
             the variable {KEY_VARIABLE}"
        ));
    }
    if rest.is_empty() || host(url).is_empty() || rest.contains(char::is_whitespace) {
        return Err(format!(
            "the endpoint `{told}` has no address: expected `http://HOST[:PORT]/PATH` or `https://…`"
        ));
    }
    Ok(())
}

/// The host of an address, with its port; empty where it has none.
pub(crate) fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

/// The digest of a model's file.
fn contents(path: &Path) -> Result<String, ExperimentError> {
    let failed = |error: std::io::Error| {
        ExperimentError::value(format!(
            "model `local:{}` cannot be read: {error}",
            path.display()
        ))
    };
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(ExperimentError::value(format!(
            "model `local:{}` is no file: expected a GGUF file",
            path.display()
        )));
    }
    Ok(Digest::of(&std::fs::read(path).map_err(failed)?).short())
}

#[cfg(feature = "models")]
fn local(path: &Path, meter: &Arc<Meter>) -> Result<Metered, ExperimentError> {
    let model = memwarden::model::LanguageModel::open(path)
        .map_err(|error| ExperimentError::value(format!("`model` is `local:{}`: {error}", path.display())))?;
    Ok(Metered::local(model, Arc::clone(meter)))
}

#[cfg(not(feature = "models"))]
fn local(path: &Path, _: &Arc<Meter>) -> Result<Metered, ExperimentError> {
    Err(ExperimentError::value(format!(
        "`model` is `local:{}`: this build has no local models; build memwarden-cli with `--features full`",
        path.display()
    )))
}

/// Where an endpoint's key is looked for; one that wants none needs none.
pub const KEY_VARIABLE: &str = "MEMWARDEN_LAB_KEY";

fn endpoint(url: &str, model: &str, meter: &Arc<Meter>) -> Result<Metered, ExperimentError> {
    let key = match ApiKey::from_env(KEY_VARIABLE) {
        Ok(key) => Some(key),
        Err(KeyError::Missing { .. }) => None,
        Err(error) => return Err(ExperimentError::value(error.to_string())),
    };
    let config = EndpointConfig {
        key,
        ..EndpointConfig::new(url, model)
    };
    Ok(Metered::endpoint(config, Arc::clone(meter)))
}

/// The models of one cell, behind one meter.
#[derive(Debug, Clone)]
pub struct Models {
    /// Where their calls are entered.
    pub meter: Arc<Meter>,
    /// Answers.
    pub chat: Arc<dyn Chat>,
    /// Weighs continuations, where the model can.
    pub score: Option<Arc<dyn Score>>,
    /// The name in tables.
    pub name: String,
    /// Whether what they answer is simulated.
    pub simulated: bool,
}

impl Models {
    /// What was spent, in all and by purpose: calls, tokens, replies that were no answers by the name of their error.
    ///
    /// # Errors
    /// An endpoint that refused every call.
    pub fn spent(&self) -> Result<Value, ExperimentError> {
        check_heard(&self.meter)?;
        let report = self.meter.report(By::Purpose);
        let sum = |sum: &Sum| {
            json!({
                "calls": sum.calls,
                "tokens": sum.prompt_tokens + sum.completion_tokens,
                "failed": sum.failed,
                "uncounted": sum.uncounted,
            })
        };
        let mut spent = sum(&report.total);
        let purposes = report.rows.iter().map(|row| (row.name.clone(), sum(&row.sum)));
        if let Some(object) = spent.as_object_mut() {
            object.insert("by_purpose".to_owned(), Value::Object(purposes.collect()));
        }
        Ok(spent)
    }
}

/// One call that is refused may be the doing of its text and is counted. Where all are, it is a key that is not valid or
/// something else that no text is to blame for.
///
/// # Errors
/// [`ExperimentError::Unheard`].
pub(crate) fn check_heard(meter: &Meter) -> Result<(), ExperimentError> {
    let total = meter.report(By::Purpose).total;
    let refused = total.failed.get("upstream").copied().unwrap_or_default();
    if refused > 0 && refused == total.calls {
        return Err(ExperimentError::Unheard(refused));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ModelSpec, check_heard, host};
    use memwarden::model::{Meter, Metered, Prices};
    use memwarden_core::model::{Chat, ChatCall, Finish, Message, ModelError, Reply};
    use std::num::NonZeroU32;
    use std::sync::Arc;

    /// Refuses a long text, or every text.
    #[derive(Debug)]
    struct Refuses {
        all: bool,
    }

    impl Chat for Refuses {
        fn model(&self) -> &str {
            "refuses"
        }

        fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
            let answer = |call: &ChatCall<'_>| {
                if self.all || call.messages.iter().any(|message| message.text.len() > 9) {
                    return Err(ModelError::Upstream {
                        model: "refuses".to_owned(),
                        status: 400,
                        reason: "no".to_owned(),
                    });
                }
                Ok(Reply {
                    text: "yes".to_owned(),
                    finish: Finish::Stop,
                    usage: None,
                    tokens: Vec::new(),
                })
            };
            calls.iter().map(answer).collect()
        }
    }

    #[test]
    fn an_endpoint_that_refuses_every_call_stops_a_run_and_one_that_refuses_a_text_does_not() {
        for (all, stops) in [(true, true), (false, false)] {
            let meter = Arc::new(Meter::in_memory(Prices::default()));
            check_heard(&meter).unwrap();
            let model = Metered::stand_in(Box::new(Refuses { all }), Arc::clone(&meter));
            let purpose = "answer".parse().unwrap();
            for text in ["short", "a long text"] {
                let messages = [Message::user(text)];
                model.chat(&[ChatCall::new(&purpose, &messages, NonZeroU32::MIN)]);
            }
            let error = check_heard(&meter).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), stops, "{error:?}");
            assert!(error.is_none_or(|error| error.contains("all 2 calls were refused")));
        }
    }

    #[test]
    fn a_local_model_is_told_by_its_bytes_and_named_without_its_directory() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.gguf");
        let spec = ModelSpec::Local(path.clone());
        let of = |bytes: &str| {
            std::fs::write(&path, bytes).unwrap();
            spec.identity().unwrap()
        };
        let known = of("one");
        assert_eq!(known, of("one"));
        assert_ne!(known, of("two"), "as long as the other");
        let place = directory.path().to_string_lossy().into_owned();
        assert!(!known.to_string().contains(&place), "{known}");
        std::fs::remove_file(&path).unwrap();
        spec.identity().unwrap_err();
    }

    #[test]
    fn an_address_holds_no_secret_and_no_error_says_it() {
        for (wrong, says) in [
            ("https://u:secret@host/v1", "`host/v1`"),
            ("https://host/v1?key=secret", "`https://host/v1`"),
            ("https://u:secret@host/v1?key=secret@x", "`x`"),
            ("nonsense", "http://HOST"),
            ("http://", "http://HOST"),
            ("ftp://host", "http://HOST"),
        ] {
            let error = format!("endpoint:{wrong}#m").parse::<ModelSpec>().unwrap_err();
            assert!(error.contains(says) && !error.contains("secret"), "{error}");
        }
        assert_eq!(host("http://host:1/v1"), "host:1");
    }

    #[test]
    fn a_model_is_named_in_one_of_three_ways() {
        let parse = |text: &str| text.parse::<ModelSpec>();
        assert_eq!(parse("simulated"), Ok(ModelSpec::Simulated));
        let local = parse("local:models/tiny-135m").unwrap();
        assert_eq!(
            (local.name().as_str(), local.is_simulated()),
            ("tiny-135m", false)
        );
        assert_eq!(
            parse("endpoint:http://127.0.0.1:8080/v1#small").unwrap().name(),
            "small@127.0.0.1:8080"
        );
        for wrong in ["", "local:", "endpoint:http://x", "gpt"] {
            assert!(
                parse(wrong).unwrap_err().contains("expected `simulated`"),
                "{wrong}"
            );
        }
    }
}
