//! Baselines: findings that somebody has looked at and that must not fail a build.
//!
//! A finding is known by the digest of the text that it is in and by its rule, not by its place: what moves within
//! a file or to another file stays known, and what is reworded does not. File and place are for people.

use super::screened::{Compared, Scan, State};
use crate::failure::Failure;
use crate::output;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// The version of the file's shape.
const VERSION: u64 = 1;
/// Digits of a SHA-256.
const DIGEST_DIGITS: usize = 64;
/// Largest baseline that is read.
const MAX_BYTES: u64 = 64 << 20;

/// A finding that a baseline lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    /// SHA-256 of the text.
    pub content: String,
    /// `stage/rule`.
    pub rule: String,
    /// Where it was.
    pub file: String,
    /// Where it was in that file.
    pub place: String,
}

/// The findings that a baseline file lists.
pub(super) fn read(path: &Path) -> Result<Vec<Known>, Failure> {
    let failed = |error: &std::io::Error| Failure::file(path, error);
    let size = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    let wrong = |what: String| Failure::Input(format!("baseline `{}`: {what}", path.display()));
    if size > MAX_BYTES {
        return Err(wrong(format!("has {size} bytes: expected at most {MAX_BYTES}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    parse(&text).map_err(wrong)
}

/// Reads the text of a baseline file.
///
/// # Errors
/// The first field that is not as it must be, with its value and what was expected.
pub fn parse(text: &str) -> Result<Vec<Known>, String> {
    let document: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let version = document.get("version").unwrap_or(&Value::Null);
    if version.as_u64() != Some(VERSION) {
        return Err(format!(
            "field `version` is `{}`: expected {VERSION}",
            shown(version)
        ));
    }
    let findings = document.get("findings").unwrap_or(&Value::Null);
    let Value::Array(findings) = findings else {
        return Err(format!(
            "field `findings` is `{}`: expected a list",
            shown(findings)
        ));
    };
    findings
        .iter()
        .enumerate()
        .map(|(index, finding)| known(index, finding))
        .collect()
}

fn known(index: usize, finding: &Value) -> Result<Known, String> {
    let text = |name: &str, expected: &str, fits: fn(&str) -> bool| {
        let value = finding.get(name).unwrap_or(&Value::Null);
        match value.as_str() {
            Some(text) if fits(text) => Ok(text.to_owned()),
            _ => Err(format!(
                "field `findings[{index}].{name}` is `{}`: expected {expected}",
                shown(value)
            )),
        }
    };
    let is_digest = |text: &str| {
        text.len() == DIGEST_DIGITS
            && text
                .bytes()
                .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_rule = |text: &str| {
        text.split_once('/')
            .is_some_and(|(stage, rule)| !stage.is_empty() && !rule.is_empty())
    };
    Ok(Known {
        content: text("content", "64 lower-case hexadecimal digits", is_digest)?,
        rule: text("rule", "`stage/rule`", is_rule)?,
        file: text("file", "text", |_| true)?,
        place: text("place", "text", |_| true)?,
    })
}

fn shown(value: &Value) -> String {
    output::cell(&value.to_string(), 80)
}

/// Marks the findings that the baseline knows, and lists what it knows in vain.
pub(super) fn compare(scan: &mut Scan, known: Vec<Known>) {
    let listed: HashSet<(&str, &str)> = known
        .iter()
        .map(|known| (known.content.as_str(), known.rule.as_str()))
        .collect();
    let mut met: HashSet<(String, String)> = HashSet::new();
    let mut count = 0;
    let findings = scan
        .files
        .iter_mut()
        .flat_map(|file| &mut file.entries)
        .flat_map(|entry| &mut entry.findings);
    for finding in findings.filter(|finding| finding.counts()) {
        let rule = finding.rule_id();
        if listed.contains(&(finding.content.as_str(), rule.as_str())) {
            finding.state = State::Known;
            count += 1;
            met.insert((finding.content.clone(), rule));
        }
    }
    let mut stale = known;
    stale.retain(|known| !met.contains(&(known.content.clone(), known.rule.clone())));
    scan.baseline = Some(Compared { known: count, stale });
}

/// The text of a baseline that knows every finding of a scan.
pub(super) fn written(scan: &Scan) -> String {
    let mut known: BTreeMap<(String, String), Known> = BTreeMap::new();
    for file in &scan.files {
        for (entry, finding) in file.findings() {
            let rule = finding.rule_id();
            known
                .entry((finding.content.clone(), rule.clone()))
                .or_insert_with(|| Known {
                    content: finding.content.clone(),
                    rule,
                    file: file.uri.clone(),
                    place: entry.place.to_string(),
                });
        }
    }
    let mut known: Vec<Known> = known.into_values().collect();
    known.sort_by(|a, b| {
        (&a.file, &a.place, &a.rule, &a.content).cmp(&(&b.file, &b.place, &b.rule, &b.content))
    });
    let findings: Vec<Value> = known
        .iter()
        .map(|known| {
            json!({"content": known.content, "rule": known.rule, "file": known.file, "place": known.place})
        })
        .collect();
    let document = json!({"version": VERSION, "findings": findings});
    format!("{}\n", output::inert_json(&format!("{document:#}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_baseline_names_field_and_value() {
        let finding = |content: &str, rule: &str| {
            json!({"version": 1, "findings": [{"content": content, "rule": rule, "file": "a.md", "place": "line 1"}]})
                .to_string()
        };
        let digest = "0a".repeat(32);
        assert_eq!(parse(&finding(&digest, "keyword/word")).unwrap().len(), 1);
        for (text, said) in [
            ("{", "is not JSON"),
            ("[]", "field `version` is `null`: expected 1"),
            (
                r#"{"version":2,"findings":[]}"#,
                "field `version` is `2`: expected 1",
            ),
            (r#"{"version":1}"#, "field `findings` is `null`: expected a list"),
            (
                r#"{"version":1,"findings":[7]}"#,
                "field `findings[0].content` is `null`",
            ),
            (
                &finding("short", "keyword/word"),
                "field `findings[0].content` is `\"short\"`",
            ),
            (
                &finding(&digest.to_uppercase(), "keyword/word"),
                "expected 64 lower-case hexadecimal digits",
            ),
            (
                &finding(&digest, "keyword"),
                "field `findings[0].rule` is `\"keyword\"`: expected `stage/rule`",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
