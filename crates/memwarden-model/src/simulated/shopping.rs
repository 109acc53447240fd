//! How the stand-in shops.
//!
//! A prompt is of this kind if outside of memory it has a line `Goal: …` and a line `Observation: …`; the last of each
//! count, and the lines `Action: search[…]` between them are what it did so far.
//!
//! **Search page.** It searches the telling words of the goal, unless it is directed. A sentence **directs** if it holds a
//! verb of `directs`; the words after it are what it directs to. A goal that directs in a further sentence than its first is
//! followed with probability `obeys`.
//! Otherwise the records of memory are counted that **show** the same direction: a thought of theirs directs to words that
//! the first sentence of their own goal has not, they searched those words, and the directing sentence shares a telling word with the goal.
//! With n such records it is followed with probability `soft[n]`, and the thought repeats the sentence.
//!
//! **Results.** It clicks the item within the price whose title shares most words with the goal; a word that it searched and
//! that the first sentence of the goal has not counts `searched` times. **Item.** It chooses the options that the goal names, then buys.
//!
//! An example counts for what it does; whether it is honest is nowhere in the prompt.

use super::prompt::{Prompt, sentences, telling, words};
use super::{Chances, Examples};
use std::collections::{BTreeMap, BTreeSet};

/// A sentence that directs, and the words that it directs to, in their order.
#[derive(Debug)]
struct Direction<'a> {
    sentence: &'a str,
    to: Vec<String>,
}

/// What the prompt says of the visit so far.
#[derive(Debug)]
struct Visit<'a> {
    goal: &'a str,
    /// Telling words that were searched and are not in the goal.
    added: BTreeSet<String>,
    page: Vec<&'a str>,
}

/// The reply, if the prompt asks for the next action in a shop.
pub(super) fn act(prompt: &Prompt<'_>, rule: &Examples, chances: &Chances<'_>) -> Option<String> {
    let visit = visit(&prompt.outside, rule)?;
    let (thought, action) = if visit.page.iter().any(|line| line.contains("[Search]")) {
        search(prompt, &visit, rule, chances)
    } else if visit.page.iter().any(|line| line.contains("[Buy Now]")) {
        item(&visit)
    } else {
        results(&visit, rule)
    };
    Some(format!("Thought: {thought}\nAction: {action}"))
}

fn visit<'a>(lines: &[&'a str], rule: &Examples) -> Option<Visit<'a>> {
    let at = lines.iter().rposition(|line| line.starts_with("Goal:"))?;
    let goal = lines.get(at)?.strip_prefix("Goal:")?.trim();
    let page_at = lines.iter().rposition(|line| line.starts_with("Observation:"))?;
    let said: BTreeSet<String> = words(goal).collect();
    let since = lines.get(at..page_at)?;
    let searched = since.iter().filter_map(|line| searched(line));
    let added = searched
        .flat_map(|text| telling(text, &rule.empty))
        .filter(|word| !said.contains(word))
        .collect();
    let page = lines.get(page_at..)?.to_vec();
    Some(Visit { goal, added, page })
}

/// The first sentence of a goal, which says what is wanted, however it says it. Further ones say how to get it.
fn wanted(goal: &str) -> &str {
    sentences(goal).next().unwrap_or_default()
}

/// What `Action: search[…]` searched.
fn searched(line: &str) -> Option<&str> {
    line.strip_prefix("Action:")?
        .trim()
        .strip_prefix("search[")?
        .strip_suffix(']')
}

fn search(
    prompt: &Prompt<'_>,
    visit: &Visit<'_>,
    rule: &Examples,
    chances: &Chances<'_>,
) -> (String, String) {
    let further = sentences(visit.goal).skip(1);
    let asked_for = further.filter_map(|sentence| direction(sentence, rule)).next();
    let direction = asked_for
        .map(|direction| (direction, rule.obeys))
        .or_else(|| shown(prompt, visit, rule));
    match direction {
        Some((direction, likely)) if chances.of_prompt() < likely => {
            let Direction { sentence, to } = direction;
            (format!("{sentence}."), format!("search[{}]", to.join(" ")))
        }
        _ => {
            let mut kept: Vec<String> = Vec::new();
            for word in words(visit.goal).filter(|word| !rule.empty.contains(word)) {
                if !kept.contains(&word) {
                    kept.push(word);
                }
            }
            (
                "The words of the goal come first.".to_owned(),
                format!("search[{}]", kept.join(" ")),
            )
        }
    }
}

/// The direction that most records of memory show, and how likely it is followed.
fn shown<'a>(prompt: &Prompt<'a>, visit: &Visit<'_>, rule: &Examples) -> Option<(Direction<'a>, f64)> {
    let asked = telling(visit.goal, &rule.empty);
    let mut seen: BTreeMap<Vec<String>, (usize, Direction<'_>)> = BTreeMap::new();
    for record in &prompt.memory {
        let goal = record
            .iter()
            .find_map(|line| line.strip_prefix("Goal:"))
            .unwrap_or_default();
        let own: BTreeSet<String> = words(wanted(goal)).collect();
        let did: BTreeSet<String> = record
            .iter()
            .filter_map(|line| searched(line))
            .flat_map(words)
            .collect();
        let found = record
            .iter()
            .filter_map(|line| line.strip_prefix("Thought:"))
            .flat_map(sentences)
            .find_map(|sentence| direction(sentence, rule));
        let Some(direction) = found else {
            continue;
        };
        let foreign = direction.to.iter().any(|word| !own.contains(word));
        let done = direction.to.iter().all(|word| did.contains(word));
        if foreign && done && !telling(direction.sentence, &rule.empty).is_disjoint(&asked) {
            seen.entry(direction.to.clone()).or_insert((0, direction)).0 += 1;
        }
    }
    let (times, direction) = seen.into_values().max_by_key(|(times, _)| *times)?;
    Some((direction, rule.imitates(times)))
}

/// Where a sentence directs to.
fn direction<'a>(sentence: &'a str, rule: &Examples) -> Option<Direction<'a>> {
    let said: Vec<String> = words(sentence).collect();
    let verb = said.iter().position(|word| rule.directs.contains(word))?;
    let after = said.iter().skip(verb + 1);
    let to: Vec<String> = after
        .filter(|word| !rule.empty.contains(*word))
        .cloned()
        .collect();
    (!to.is_empty()).then_some(Direction { sentence, to })
}

fn results(visit: &Visit<'_>, rule: &Examples) -> (String, String) {
    let asked = telling(wanted(visit.goal), &rule.empty);
    let most = price_limit(visit.goal);
    let mut best: Option<(f64, &str)> = None;
    for line in &visit.page {
        let Some((id, title, cents)) = listing(line) else {
            continue;
        };
        if most.is_some_and(|most| cents > most) {
            continue;
        }
        let title: BTreeSet<String> = words(title).collect();
        let score = title.intersection(&asked).count() as f64
            + rule.searched * title.intersection(&visit.added).count() as f64;
        if best.is_none_or(|(than, _)| score > than) {
            best = Some((score, id));
        }
    }
    match best {
        Some((_, id)) => ("This one is closest.".to_owned(), format!("click[{id}]")),
        None if visit.page.iter().any(|line| line.contains("[Next >]")) => (
            "None of these is within the price.".to_owned(),
            "click[Next >]".to_owned(),
        ),
        None => (
            "Nothing here fits.".to_owned(),
            "click[Back to Search]".to_owned(),
        ),
    }
}

/// `[P-0001] title | $12.50`.
fn listing(line: &str) -> Option<(&str, &str, u64)> {
    let (id, rest) = line.strip_prefix('[')?.split_once("] ")?;
    let (title, price) = rest.rsplit_once(" | $")?;
    let (dollars, cents) = price.split_once('.')?;
    Some((
        id,
        title,
        dollars.parse::<u64>().ok()? * 100 + cents.parse::<u64>().ok()?,
    ))
}

/// The number before the word `dollars`, in cents.
fn price_limit(goal: &str) -> Option<u64> {
    let said: Vec<String> = words(goal).collect();
    said.windows(2).find_map(|pair| match pair {
        [number, unit] if unit == "dollars" => Some(number.parse::<u64>().ok()? * 100),
        _ => None,
    })
}

fn item(visit: &Visit<'_>) -> (String, String) {
    let asked: BTreeSet<String> = words(visit.goal).collect();
    for line in &visit.page {
        if line.contains(" chosen: ") || line.starts_with("[Buy Now]") {
            continue;
        }
        let values = line
            .split('[')
            .skip(1)
            .filter_map(|part| part.split_once(']').map(|(value, _)| value));
        for value in values {
            if words(value).next().is_some() && words(value).all(|word| asked.contains(&word)) {
                return ("The goal names this.".to_owned(), format!("click[{value}]"));
            }
        }
    }
    ("It is chosen.".to_owned(), "click[Buy Now]".to_owned())
}
