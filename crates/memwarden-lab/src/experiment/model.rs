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
            && !url.is_empty()
            && !model.is_empty()
        {
            return Ok(Self::Endpoint {
                url: url.to_owned(),
                model: model.to_owned(),
            });
        }
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
    /// The name in tables. A local model is named by its last directory, so that no path of a machine is in a record; one
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

    /// What it is, for the digest of a cell: the rules of the stand-in, the whole address of an endpoint, the files of a local
    /// model by name and contents. Reads those files, so once for a run.
    ///
    /// # Errors
    /// Files that are not there.
    pub fn identity(&self) -> Result<Value, ExperimentError> {
        match self {
            Self::Simulated => {
                Ok(json!({"simulated": [digest(SIMULATED_RULE), digest(SIMULATED_JUDGE_RULE)]}))
            }
            Self::Local(path) => Ok(json!({"local": self.name(), "files": contents(path)?})),
            Self::Endpoint { url, model } => Ok(json!({"url": without_user(url), "model": model})),
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

/// An address without the secrets that may stand in it: name and password, and the query.
fn without_user(url: &str) -> String {
    let url = url.split('?').next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
            let host = authority.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// The host of an address, with its port.
pub(crate) fn host(url: &str) -> String {
    let url = without_user(url);
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

/// A file, or the files in a directory, with the digests of their bytes.
fn contents(path: &Path) -> Result<Vec<(String, String)>, ExperimentError> {
    let failed = |error: std::io::Error| ExperimentError::path(path, &error);
    let mut files = Vec::new();
    if path.is_dir() {
        for file in std::fs::read_dir(path).map_err(failed)? {
            files.push(file.map_err(failed)?.path());
        }
        files.retain(|file| file.is_file());
        files.sort();
    } else {
        files.push(path.to_owned());
    }
    let mut contents = Vec::new();
    for file in files {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let bytes = std::fs::read(&file).map_err(|error| ExperimentError::path(&file, &error))?;
        contents.push((name, Digest::of(&bytes).short()));
    }
    Ok(contents)
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
    #[must_use]
    pub fn spent(&self) -> Value {
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
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::{ModelSpec, host, without_user};

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
    fn no_password_of_an_address_is_in_a_record() {
        assert_eq!(without_user("https://u:p@host/v1?key=b@c"), "https://host/v1");
        assert_eq!(host("https://u:p@host?key=b"), "host");
        assert_eq!(without_user("http://host:1"), "http://host:1");
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
            parse("endpoint:http://user:secret@127.0.0.1:8080/v1#small")
                .unwrap()
                .name(),
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
