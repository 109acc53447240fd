//! `experiments/*.toml`: what every file has, and how the rest of it is read.
//!
//! Each kind of experiment has a plan of its own, a struct with `#[serde(deny_unknown_fields)]` that repeats `name` and
//! `kind`, so that a key that nobody reads is refused with its line.

use super::{ExperimentError, ModelSpec};
use memwarden_core::Digest;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// A file that was read.
#[derive(Debug, Clone)]
pub struct ExperimentFile {
    /// Its name in tables: letters, digits and `-`.
    pub name: String,
    /// Which experiment it is; see [`super::kinds`].
    pub kind: String,
    /// The directory that relative paths in it start from.
    pub directory: PathBuf,
    text: String,
}

#[derive(Deserialize)]
struct Header {
    name: String,
    kind: String,
}

impl ExperimentFile {
    /// Reads `path`.
    ///
    /// # Errors
    /// A file that cannot be read, is no TOML, or has no `name` and `kind`.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        let text = std::fs::read_to_string(path).map_err(|error| ExperimentError::path(path, &error))?;
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::parse(text, directory)
    }

    /// Takes the text of a file that would lie in `directory`.
    ///
    /// # Errors
    /// As [`ExperimentFile::read`].
    pub fn parse(text: String, directory: PathBuf) -> Result<Self, ExperimentError> {
        let Header { name, kind } = decode(&text)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return Err(ExperimentError::value(format!(
                "`name` is `{name}`: expected 1 to 64 letters, digits and `-`"
            )));
        }
        Ok(Self {
            name,
            kind,
            directory,
            text,
        })
    }

    /// The same experiment with another model: in the place of `model`, or of all that `models` lists.
    ///
    /// # Errors
    /// A file that names no model.
    pub fn with_model(&self, model: &ModelSpec) -> Result<Self, ExperimentError> {
        let mut table: toml::Table = decode(&self.text)?;
        let model = toml::Value::String(model.to_string());
        if let Some(known) = table.get_mut("model") {
            *known = model;
        } else if let Some(known) = table.get_mut("models") {
            *known = toml::Value::Array(vec![model]);
        } else {
            return Err(ExperimentError::value(
                "the file names no `model` and no `models` that another one could take the place of",
            ));
        }
        let text = toml::to_string(&table).map_err(|error| ExperimentError::Unexpected(error.to_string()))?;
        Self::parse(text, self.directory.clone())
    }

    /// The whole file as a kind's plan.
    ///
    /// # Errors
    /// A key that the plan does not know or a value that it does not take, with the line.
    pub fn plan<P: DeserializeOwned>(&self) -> Result<P, ExperimentError> {
        decode(&self.text)
    }

    /// A path that the file names, from its directory.
    #[must_use]
    pub fn path(&self, named: &Path) -> PathBuf {
        self.directory.join(named)
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of the text.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }
}

/// Refuses a number that is out of range.
///
/// # Errors
/// Field, value and range.
pub(super) fn within(field: &str, value: usize, least: usize, most: usize) -> Result<(), ExperimentError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(ExperimentError::value(format!(
        "`{field}` is {value}: expected {least} to {most}"
    )))
}

fn decode<P: DeserializeOwned>(text: &str) -> Result<P, ExperimentError> {
    toml::from_str(text).map_err(|error| ExperimentError::File {
        line: error.span().map(|span| line_of(text, span.start)),
        reason: match error.span().and_then(|span| line_at(text, span.start)) {
            Some(line) => format!("{}: `{line}`", error.message()),
            None => error.message().to_owned(),
        },
    })
}

/// The line in which the byte at `offset` stands, which names the key and its value; none where it holds nothing.
fn line_at(text: &str, offset: usize) -> Option<String> {
    let line = text.lines().nth(line_of(text, offset) - 1)?.trim();
    let short: String = line.chars().take(80).collect();
    (!short.is_empty()).then_some(short)
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.bytes().take(offset);
    1 + before.filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Plan {
        #[expect(dead_code, reason = "every plan has it")]
        name: String,
        #[expect(dead_code, reason = "every plan has it")]
        kind: String,
        trials: u64,
    }

    fn plan(text: &str) -> Result<Plan, ExperimentError> {
        ExperimentFile::parse(text.to_owned(), PathBuf::new())?.plan()
    }

    #[test]
    fn a_key_that_nobody_reads_is_refused_with_its_line() {
        assert_eq!(plan("name = \"a\"\nkind = \"b\"\ntrials = 4").unwrap().trials, 4);
        let error = plan("name = \"a\"\nkind = \"b\"\ntrials = 4\ntrails = 5").unwrap_err();
        assert!(
            error.to_string().starts_with("line 4: unknown field `trails`"),
            "{error}"
        );
        assert!(error.is_input());
    }

    #[test]
    fn a_name_stands_in_tables_and_must_look_like_one() {
        let error = plan("name = \"a/b\"\nkind = \"b\"").unwrap_err().to_string();
        assert!(error.contains("`name` is `a/b`"), "{error}");
        assert!(plan("kind = \"b\"").unwrap_err().to_string().contains("name"));
    }

    #[test]
    fn another_model_takes_the_place_of_those_that_the_file_names() {
        let other: ModelSpec = "endpoint:http://h/v1#m".parse().unwrap();
        let with = |line: &str| {
            let text = format!("name = \"a\"\nkind = \"b\"\n{line}\n[[grid]]\nb = [1.0]\n");
            ExperimentFile::parse(text, PathBuf::new())?.with_model(&other)
        };
        let one = with("model = \"simulated\"").unwrap();
        assert!(
            one.text().contains("model = \"endpoint:http://h/v1#m\""),
            "{}",
            one.text()
        );
        let many = with("models = [\"simulated\", \"local:x\"]").unwrap();
        assert!(
            many.text().contains("models = [\"endpoint:http://h/v1#m\"]"),
            "{}",
            many.text()
        );
        assert!(with("").unwrap_err().to_string().contains("names no `model`"));
    }
}
