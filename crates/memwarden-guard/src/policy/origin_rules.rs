//! The grammar of the rules of origin: `[endorse]`, `[recall]`, `[tool.NAME]` and `[[action]]`.
//!
//! For: these tables to the core's types, and refusing what the gate could not obey. Not for: what they mean
//! for an action (the core's gate), nor whether a store can meet them (`origin_review`).

use super::document::{Item, one_of};
use super::error::PolicyError;
use crate::layers::decimal;
use memwarden_core::{ActionClass, ActionRule, Echoes, RecallRule, Requirement, ToolRule};
use std::collections::BTreeMap;

/// Longest name of a tool, a step or a parameter in bytes.
pub const MAX_RULE_NAME_BYTES: usize = 128;
/// Most endorsers that a policy may ask for. Each is an administrative domain, and nobody runs more.
pub const MAX_ENDORSE_K: u32 = 16;
/// How old a receipt may be where the policy does not say: one hour, which is also a receipt's own expiry.
pub const DEFAULT_MAX_AGE_US: u64 = 3600 * SECOND_US;
/// The shortest age that a policy may ask for: one second.
pub const MIN_MAX_AGE_US: u64 = SECOND_US;
/// The longest age that a policy may ask for: 30 days. A check that is older says little about today.
pub const MAX_MAX_AGE_US: u64 = 30 * 86_400 * SECOND_US;

const SECOND_US: u64 = 1_000_000;
/// Units of an age, the longest first.
const UNITS: [(char, u64); 4] = [
    ('d', 86_400 * SECOND_US),
    ('h', 3600 * SECOND_US),
    ('m', 60 * SECOND_US),
    ('s', SECOND_US),
];
const CLASSES: [ActionClass; 3] = [
    ActionClass::Routine,
    ActionClass::Sensitive,
    ActionClass::HighImpact,
];
const RECALL_KEYS: [&str; 3] = ["max_share_per_principal", "near_duplicates", "trust"];
const TRUST_KEYS: [&str; 3] = ["none", "inform", "act"];
const TOOL_KEYS: [&str; 2] = ["trust", "echoes"];
const ACTION_KEYS: [&str; 4] = ["tool", "class", "control", "requires"];
const REQUIREMENT_KEYS: [&str; 4] = ["step", "subject", "max_age", "same_context"];
const CONTROL_EXPECTED: &str = "a list of parameters";
const NAME_EXPECTED: &str = "of 1 to 128 bytes without control characters";

/// `[endorse]`: how many endorsers a record needs.
pub(super) fn endorsers(item: &Item<'_>, text: &str) -> Result<u32, PolicyError> {
    let expected = format!("a whole number from 1 to {MAX_ENDORSE_K}");
    let mut k = None;
    for item in item.table(text)? {
        if item.name != "k" {
            return Err(item.unknown(&["k"]));
        }
        let given = item.count().ok().and_then(|count| u32::try_from(count).ok());
        let fits = given.filter(|given| *given <= MAX_ENDORSE_K);
        k = Some(fits.ok_or_else(|| item.refuse_type(&expected))?);
    }
    k.ok_or_else(|| item.missing("k", &expected))
}

/// `[recall]`: how a recall shares its places.
pub(super) fn recall(item: &Item<'_>, text: &str) -> Result<RecallRule, PolicyError> {
    let mut rule = RecallRule::default();
    for item in item.table(text)? {
        if item.name == "trust" {
            rule.trust = trust(&item, text)?;
            continue;
        }
        let value = match item.name {
            "max_share_per_principal" => &mut rule.max_share_per_principal,
            "near_duplicates" => &mut rule.near_duplicates,
            _ => return Err(item.unknown(&RECALL_KEYS)),
        };
        let given = item.hundredths()?;
        if !(1..=100).contains(&given) {
            return Err(item.refuse_type("a share from 0.01 to 1 with at most two decimals"));
        }
        *value = given;
    }
    Ok(rule)
}

/// `[recall.trust]`: the weights of a score by authority, which never fall as authority rises.
fn trust(item: &Item<'_>, text: &str) -> Result<[u32; 3], PolicyError> {
    let mut weights = RecallRule::default().trust;
    for item in item.table(text)? {
        let known = TRUST_KEYS.iter().position(|key| *key == item.name);
        let Some(weight) = known.and_then(|at| weights.get_mut(at)) else {
            return Err(item.unknown(&TRUST_KEYS));
        };
        *weight = item.hundredths()?;
        if *weight > 100 {
            return Err(item.refuse_type("a weight from 0 to 1 with at most two decimals"));
        }
    }
    if !weights.is_sorted() {
        let [none, inform, act] = weights.map(decimal);
        let given = format!("none {none}, inform {inform}, act {act}");
        return Err(item.refuse_value(&given, "weights that do not fall as authority rises"));
    }
    Ok(weights)
}

/// `[tool.NAME]`: what the administrator says about each tool.
pub(super) fn tools(item: &Item<'_>, text: &str) -> Result<BTreeMap<String, ToolRule>, PolicyError> {
    let mut tools = BTreeMap::new();
    for item in item.table(text)? {
        if !is_name(item.name) {
            return Err(item.refuse_value(item.name, &format!("a tool's name {NAME_EXPECTED}")));
        }
        let mut rule = ToolRule::default();
        for item in item.table(text)? {
            match item.name {
                "trust" => rule.trusted = item.word(&[("trusted", true), ("untrusted", false)])?,
                "echoes" => {
                    let words = [("possible", Echoes::Possible), ("never", Echoes::Never)];
                    rule.echoes = item.word(&words)?;
                }
                _ => return Err(item.unknown(&TOOL_KEYS)),
            }
        }
        tools.insert(item.name.to_owned(), rule);
    }
    Ok(tools)
}

/// `[[action]]`: the actions that the gate knows, in the order of the text.
pub(super) fn actions(item: &Item<'_>, text: &str) -> Result<Vec<ActionRule>, PolicyError> {
    let mut actions: Vec<ActionRule> = Vec::new();
    for table in item.tables(text, "tables, each written [[action]]")? {
        let action = action(&table, text, &actions)?;
        actions.push(action);
    }
    Ok(actions)
}

fn action(table: &Item<'_>, text: &str, earlier: &[ActionRule]) -> Result<ActionRule, PolicyError> {
    let (mut tool, mut class) = (None, None);
    let mut control = None;
    let mut requires: Option<(Item<'_>, Vec<Required<'_>>)> = None;
    for item in table.table(text)? {
        match item.name {
            "tool" => {
                let given = name(&item, "a tool's name")?;
                if earlier.iter().any(|action| action.tool == given) {
                    return Err(item.refuse("each tool once, since one rule decides an action"));
                }
                tool = Some(given.to_owned());
            }
            "class" => class = Some(item.word(&CLASSES.map(|class| (class.as_str(), class)))?),
            "control" => control = Some((item.clone(), parameters(&item)?)),
            "requires" => requires = Some((item.clone(), requirements(&item, text)?)),
            _ => return Err(item.unknown(&ACTION_KEYS)),
        }
    }
    let tool = tool.ok_or_else(|| table.missing("tool", &format!("a tool's name {NAME_EXPECTED}")))?;
    let class = class.ok_or_else(|| table.missing("class", &one_of(CLASSES.map(ActionClass::as_str))))?;
    if class == ActionClass::Routine {
        let checks = [
            control.as_ref().map(|(item, _)| item),
            requires
                .as_ref()
                .filter(|(_, list)| !list.is_empty())
                .map(|(item, _)| item),
        ];
        if let Some(item) = checks.into_iter().flatten().next() {
            let expected = "nothing under `class = \"routine\"`, since a routine action is never checked";
            return Err(item.refuse(expected));
        }
    }
    let control = control.map(|(_, names)| names);
    let requires = requires.map_or_else(Vec::new, |(_, list)| list);
    if let Some(control) = &control {
        for required in &requires {
            if !control.contains(&required.rule.subject) {
                let expected = "a parameter that `control` names, since an id that nobody binds could be any";
                return Err(required.subject.refuse(expected));
            }
        }
    }
    Ok(ActionRule {
        tool,
        class,
        control,
        requires: requires.into_iter().map(|required| required.rule).collect(),
    })
}

/// A requirement with the item that names its subject, for an error about it.
struct Required<'a> {
    rule: Requirement,
    subject: Item<'a>,
}

fn requirements<'a>(item: &Item<'a>, text: &str) -> Result<Vec<Required<'a>>, PolicyError> {
    let expected = "a list of tables, each with `step` and `subject`";
    let mut list: Vec<Required<'a>> = Vec::new();
    for table in item.tables(text, expected)? {
        let (required, step) = requirement(&table, text)?;
        let again = |listed: &Required<'_>| {
            listed.rule.step == required.rule.step && listed.rule.subject == required.rule.subject
        };
        if list.iter().any(again) {
            return Err(step.refuse("each step once for a subject"));
        }
        list.push(required);
    }
    Ok(list)
}

/// One requirement, and the item that names its step.
fn requirement<'a>(table: &Item<'a>, text: &str) -> Result<(Required<'a>, Item<'a>), PolicyError> {
    let (mut step, mut subject) = (None, None);
    let (mut max_age_us, mut same_context) = (DEFAULT_MAX_AGE_US, false);
    for item in table.table(text)? {
        match item.name {
            "step" => step = Some((name(&item, "a step's name")?, item)),
            "subject" => subject = Some((name(&item, "a parameter's name")?, item)),
            "max_age" => {
                let given = item.string().ok().and_then(age_us);
                let expected = "an age from \"1s\" to \"30d\": a whole number and s, m, h or d";
                max_age_us = given.ok_or_else(|| item.refuse_type(expected))?;
            }
            "same_context" => same_context = item.boolean()?,
            _ => return Err(item.unknown(&REQUIREMENT_KEYS)),
        }
    }
    let (step, step_item) =
        step.ok_or_else(|| table.missing("step", &format!("a step's name {NAME_EXPECTED}")))?;
    let (subject, subject_item) =
        subject.ok_or_else(|| table.missing("subject", "the parameter that names what the step checked"))?;
    let rule = Requirement {
        step: step.to_owned(),
        subject: subject.to_owned(),
        max_age_us,
        same_context,
    };
    let required = Required {
        rule,
        subject: subject_item,
    };
    Ok((required, step_item))
}

/// The names of a `control` list: one at least, each once.
fn parameters(item: &Item<'_>) -> Result<Vec<String>, PolicyError> {
    let mut names: Vec<String> = Vec::new();
    for name in item.strings(CONTROL_EXPECTED)? {
        if !is_name(name) {
            return Err(item.refuse_value(name, &format!("{CONTROL_EXPECTED}, each {NAME_EXPECTED}")));
        }
        if names.iter().any(|listed| listed == name) {
            return Err(item.refuse_value(&format!("{name}, {name}"), "each parameter once"));
        }
        names.push(name.to_owned());
    }
    if names.is_empty() {
        let expected = "at least one parameter; leave `control` out to have all of them checked";
        return Err(item.refuse_value("[]", expected));
    }
    Ok(names)
}

fn name<'a>(item: &Item<'a>, what: &str) -> Result<&'a str, PolicyError> {
    let name = item.string()?;
    is_name(name)
        .then_some(name)
        .ok_or_else(|| item.refuse(&format!("{what} {NAME_EXPECTED}")))
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.len() <= MAX_RULE_NAME_BYTES && !name.contains(char::is_control)
}

/// An age such as `90s` in microseconds; none where it has another form or is out of range.
fn age_us(text: &str) -> Option<u64> {
    let (unit, scale) = UNITS.into_iter().find(|(unit, _)| text.ends_with(*unit))?;
    let digits = text.strip_suffix(unit)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let age = digits.parse::<u64>().ok()?.checked_mul(scale)?;
    (MIN_MAX_AGE_US..=MAX_MAX_AGE_US).contains(&age).then_some(age)
}

/// An age as the grammar writes it, in the longest unit that gives it exactly.
pub(super) fn age(us: u64) -> String {
    let exact = UNITS.into_iter().find(|(_, scale)| us.is_multiple_of(*scale));
    exact.map_or_else(
        || format!("{us}us"),
        |(unit, scale)| format!("{}{unit}", us / scale),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_a_whole_number_and_a_unit_within_range() {
        for (text, seconds) in [
            ("1s", 1),
            ("90s", 90),
            ("30m", 1800),
            ("1h", 3600),
            ("2d", 172_800),
            ("30d", 2_592_000),
            ("720h", 2_592_000),
        ] {
            assert_eq!(age_us(text), Some(seconds * SECOND_US), "{text}");
        }
        for text in [
            "0s",
            "31d",
            "721h",
            "1",
            "h",
            "",
            "1.5h",
            "-1h",
            "+1h",
            "1 h",
            "1H",
            "1h30m",
            "1w",
            "١h",
            "99999999999999999999s",
            "213503982334601d",
        ] {
            assert_eq!(age_us(text), None, "{text}");
        }
    }

    #[test]
    fn an_age_is_shown_in_the_longest_exact_unit() {
        for text in ["90s", "30m", "1h", "2d", "30d", "25h"] {
            assert_eq!(age_us(text).map(age).as_deref(), Some(text));
        }
        assert_eq!(age(60 * SECOND_US), "1m");
        assert_eq!(age(DEFAULT_MAX_AGE_US), "1h");
    }
}
