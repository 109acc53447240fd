//! `rap`: buys in the [shop](crate::shop), with its earlier visits from memory as examples (Kagaya et al. 2024).

use super::{Around, Ask, Learner, Leave, Matter, NO_ANSWER, Ran, Way, answer, block, wrong_task};
use crate::experiment::{ExperimentError, Prompt};
use crate::shop::{Catalog, Session, Step};
use std::num::NonZeroU32;

/// The prompt.
pub const PROMPT: Prompt = Prompt {
    name: "rap-v1",
    form: include_str!("../../prompts/rap-v1.txt"),
};
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
}

impl Learner for Shopper {
    fn domain(&self) -> &'static str {
        "rap"
    }

    fn way(&self) -> Way {
        self.way
    }

    fn run(&self, ask: &Ask, memory: &[&str], around: Around<'_>) -> Result<Ran, ExperimentError> {
        let Matter::Goal(goal) = &ask.matter else {
            return Err(wrong_task(self.domain()));
        };
        let memory = block(memory);
        let mut visit = Session::new(&self.catalog);
        let mut said = String::new();
        let mut thoughts: Vec<String> = Vec::new();
        let mut leave = None;
        for _ in 0..MAX_STEPS {
            let places = [
                ("memory", memory.as_str()),
                ("goal", &ask.text),
                ("visit", &said),
                ("page", &visit.page()),
            ];
            let reply = match answer(around, &PROMPT.fill(&places)?, MAX_TOKENS)? {
                Ok(reply) => reply,
                Err(fault) => return Ok(Ran::failed(fault)),
            };
            let Some((thought, action)) = parse(&reply) else {
                return Ok(Ran::failed(NO_ANSWER));
            };
            said.push_str(&format!("Thought: {thought}\nAction: {action}\n"));
            thoughts.push(thought.to_owned());
            if let Some(product) = visit.buys(action) {
                let said = around.till.leave(&ask.text, product, &self.catalog)?;
                leave = Some(said);
                if said != Leave::Granted {
                    break;
                }
            }
            match visit.act(action) {
                Step::Shown => {}
                Step::Invalid => said.push_str("Nothing happened.\n"),
                Step::Bought => break,
            }
        }
        let bought = visit.bought();
        let output = bought.map_or(String::new(), |(product, _)| product.title());
        let end = match bought {
            Some(_) => format!("bought {output}"),
            None => "nothing was bought".to_owned(),
        };
        Ok(Ran {
            record: record(&ask.text, &said, &end),
            reasoning: thoughts.join("\n"),
            score: bought.map_or(0.0, |(product, chosen)| goal.reward(product, chosen)),
            completed: bought.is_some(),
            output,
            leave,
            fault: None,
        })
    }
}

/// A visit as it is remembered.
pub(super) fn record(goal: &str, said: &str, end: &str) -> String {
    format!("Goal: {goal}\n{said}Outcome: {end}")
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
        assert_eq!(
            parse("Thought: t\nAction: click[Buy Now]"),
            Some(("t", "click[Buy Now]"))
        );
        for reply in [
            "Action: click[Buy Now]",
            "Thought: t\nAction: buy",
            "Thought: t\nAction: click[a]\nAction: click[b]",
        ] {
            assert_eq!(parse(reply), None, "{reply}");
        }
    }
}
