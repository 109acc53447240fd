//! What the result of a cell depends on whatever the experiment: its model with the rules of a simulated one, its condition,
//! its encoder. It stands in the configuration of every cell, so that a finished cell is not taken for one of another
//! make.

use super::{ExperimentError, defense};
use memwarden_core::Digest;
use serde_json::{Value, json};
use std::path::Path;

/// What a cell is made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Made<'a> {
    /// [`super::ModelSpec::identity`], asked for once.
    pub(super) model: &'a Value,
    pub(super) defense: &'a str,
    /// Rules of the agent's actions.
    pub(super) rules: &'a str,
    /// Where policy files are looked for.
    pub(super) directory: &'a Path,
    /// The name of the encoder, which holds the digest of its weights.
    pub(super) encoder: &'a str,
}

/// The part of a configuration that all experiments on agents share.
///
/// # Errors
/// A condition that does not exist.
pub(super) fn identity(made: &Made<'_>) -> Result<Value, ExperimentError> {
    Ok(json!({
        "model": made.model,
        "condition": defense::identity(made.defense, made.rules, made.directory, made.encoder)?,
        "encoder": made.encoder,
    }))
}

/// The first 16 hexadecimal digits of a text's digest.
pub(super) fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).short()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::ModelSpec;

    fn made() -> Made<'static> {
        Made {
            model: &Value::Null,
            defense: "none",
            rules: "",
            directory: Path::new("."),
            encoder: "e1",
        }
    }

    #[test]
    fn a_policy_file_with_the_same_name_and_other_bytes_is_another_condition() {
        let directory = tempfile::tempdir().unwrap();
        let of = |text: &str| {
            std::fs::write(directory.path().join("p.toml"), text).unwrap();
            let made = Made {
                defense: "policy:p.toml",
                directory: directory.path(),
                ..made()
            };
            identity(&made).unwrap()
        };
        let off = "name = \"p\"\norigin = \"off\"\n[write]\nstages = []\n[read]\nstages = []\n";
        let one = of(off);
        assert_eq!(one, of(off));
        assert_ne!(
            one,
            of(&(off.replace("[]", "[\"keyword\"]") + "[verdict]\nkeyword = \"reject\"\n"))
        );
    }

    #[test]
    fn encoder_defense_and_address_are_part_of_what_a_cell_is() {
        let of = |made: Made<'_>| identity(&made).unwrap();
        let known = of(made());
        let endpoint = |url: &str| {
            let spec = ModelSpec::Endpoint {
                url: url.to_owned(),
                model: "m".to_owned(),
            };
            spec.identity().unwrap()
        };
        let (here, there) = (
            endpoint("http://127.0.0.1:1/v1"),
            endpoint("http://127.0.0.1:1/v2"),
        );
        let others = [
            of(Made {
                encoder: "e2",
                ..made()
            }),
            of(Made {
                defense: "auditor",
                ..made()
            }),
            of(Made {
                defense: "monitor",
                ..made()
            }),
            of(Made {
                model: &here,
                ..made()
            }),
            of(Made {
                model: &there,
                ..made()
            }),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(&known, other);
            assert!(!others.iter().skip(at + 1).any(|more| more == other), "{other}");
        }
    }
}
