//! `rap`: buys in the [shop](crate::shop), with its earlier visits from memory as examples (Kagaya et al. 2024).

use super::{Ask, Learner, Matter, Ran, TrackError, Way, block, fill};
use crate::shop::{Catalog, Session, Step};
use memwarden_core::model::{Chat, ChatCall, Message};
use std::num::NonZeroU32;

/// The prompt, in the repository beside the sources.
pub const PROMPT: &str = include_str!("../../prompts/rap.txt");
/// The most actions of a visit (MemAudit, RAP).
pub const MAX_STEPS: usize = 15;
/// Room for a thought and an action.
const MAX_TOKENS: NonZeroU32 = match NonZeroU32::new(200) {
    Some(tokens) => tokens,
    None => NonZeroU32::MIN,
};

/// The agent.
#[derive(Debug, Clone)]
pub struct Shopper {
    catalog: Catalog,
    way: Way,
}

impl Shopper {
    /// An agent that buys from this catalog.
    #[must_use]
    pub const fn new(catalog: Catalog, way: Way) -> Self {
        Self { catalog, way }
    }

    /// What it buys from.
    #[must_use]
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

impl Learner for Shopper {
    fn domain(&self) -> &'static str {
        "rap"
    }

    fn way(&self) -> Way {
        self.way
    }

    fn run(&self, ask: &Ask, memory: &[&str], model: &dyn Chat, seed: u64) -> Result<Ran, TrackError> {
        let Matter::Goal(goal) = &ask.matter else {
            return Err(TrackError::WrongTask {
                domain: self.domain(),
            });
        };
        let memory = block(memory);
        let mut visit = Session::new(&self.catalog);
        let mut said: Vec<String> = Vec::new();
        let mut thoughts: Vec<String> = Vec::new();
        for _ in 0..MAX_STEPS {
            let (visited, page) = (lines(&said), visit.page());
            let texts = [("memory", memory.as_str()), ("goal", &ask.text), ("visit", &visited), ("page", &page)];
            let (thought, action) = ask_next(fill(PROMPT, &texts), model, seed)?;
            said.push(format!("Thought: {thought}\nAction: {action}"));
            thoughts.push(thought);
            match visit.act(&action) {
                Step::Shown => {}
                Step::Invalid => said.push("Nothing happened.".to_owned()),
                Step::Bought => break,
            }
        }
        let bought = visit.bought();
        let output = bought.map_or(String::new(), |(product, _)| product.title());
        let end = if output.is_empty() { "nothing was bought".to_owned() } else { format!("bought {output}") };
        Ok(Ran {
            record: format!("Goal: {}\n{}Outcome: {end}", ask.text, lines(&said)),
            reasoning: thoughts.join("\n"),
            score: bought.map_or(0.0, |(product, chosen)| goal.reward(product, chosen)),
            completed: bought.is_some(),
            output,
        })
    }
}

fn lines(said: &[String]) -> String {
    said.iter().map(|part| format!("{part}\n")).collect()
}

fn ask_next(prompt: String, model: &dyn Chat, seed: u64) -> Result<(String, String), TrackError> {
    let purpose = "answer".parse()?;
    let messages = [Message::user(prompt)];
    let call = ChatCall {
        seed: Some(seed),
        ..ChatCall::new(&purpose, &messages, MAX_TOKENS)
    };
    let no_answer = || TrackError::NoAnswer {
        model: model.model().to_owned(),
        expected: "a line `Thought: ...` and a line `Action: search[...]` or `Action: click[...]`",
    };
    let reply = model.chat(&[call]).pop().ok_or_else(no_answer)??;
    let (thought, action) = parse(&reply.text).ok_or_else(no_answer)?;
    Ok((thought.to_owned(), action.to_owned()))
}

/// Thought and action of a reply that is exactly what was asked for.
fn parse(reply: &str) -> Option<(&str, &str)> {
    let mut lines = reply.lines().map(str::trim).filter(|line| !line.is_empty());
    let thought = lines.next()?.strip_prefix("Thought:")?.trim();
    let action = lines.next()?.strip_prefix("Action:")?.trim();
    let known = ["search[", "click["].iter().any(|verb| action.starts_with(verb)) && action.ends_with(']');
    (known && lines.next().is_none()).then_some((thought, action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_one_thought_and_one_action() {
        assert_eq!(parse("Thought: t\nAction: click[Buy Now]"), Some(("t", "click[Buy Now]")));
        for reply in ["Action: click[Buy Now]", "Thought: t\nAction: buy", "Thought: t\nAction: click[a]\nAction: click[b]"] {
            assert_eq!(parse(reply), None, "{reply}");
        }
    }
}
