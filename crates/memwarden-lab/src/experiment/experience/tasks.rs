//! Who asks what in a cell: honest requests that fill the memory, requests that the attacker knows, victims, and others.
//! No request is in two of these.

use super::plan::{AgentName, Attack, Plan};
use crate::experiment::ExperimentError;
use crate::shop::{Catalog, Goal};
use crate::split_mix::SplitMix64;
use crate::tracks::{
    Aim, Ask, Learner, Matter, Question, Shopper, Solver, Way, own_questions, read_csv_directory,
};
use std::path::Path;

/// Examples that stand in every prompt of the agent that answers questions (MemAudit, QA).
const SHOWN: usize = 3;

/// The tasks of a cell.
#[derive(Debug)]
pub(super) struct Tasks {
    pub(super) agent: Box<dyn Learner>,
    pub(super) catalog: Option<Catalog>,
    pub(super) aim: Aim,
    /// What fills the memory before the attack.
    pub(super) honest: Vec<Ask>,
    /// What the attacker asks about, or makes records of.
    pub(super) known: Vec<Ask>,
    /// Whose requests are to go wrong. Under AgentPoison, before the trigger is put behind them.
    pub(super) victims: Vec<Ask>,
    /// Requests that nobody attacks.
    pub(super) others: Vec<Ask>,
    /// Questions that the stand-in may know.
    pub(super) questions: Vec<Question>,
}

/// Every question of the file's directory, or our own.
pub(super) fn questions(files: Option<&Path>) -> Result<Vec<Question>, ExperimentError> {
    let questions = match files {
        Some(directory) => read_csv_directory(directory),
        None => own_questions(),
    };
    questions.map_err(|error| ExperimentError::value(error.to_string()))
}

impl Tasks {
    pub(super) fn new(
        plan: &Plan,
        agent: AgentName,
        files: Option<&Path>,
        honest: usize,
        budget: usize,
    ) -> Result<Self, ExperimentError> {
        match agent {
            AgentName::MmluQa => Self::of_questions(plan, files, honest, budget),
            AgentName::Rap => Self::of_the_shop(plan, honest, budget),
        }
    }

    fn of_questions(
        plan: &Plan,
        files: Option<&Path>,
        honest: usize,
        budget: usize,
    ) -> Result<Self, ExperimentError> {
        let aim = Aim::Shift {
            word: plan.question.victim.clone(),
        };
        let questions = questions(files)?;
        let mut asks: Vec<Ask> = questions.iter().map(asked).collect();
        SplitMix64::new(plan.seed_of("questions")).shuffle(&mut asks);
        let (mut with, mut without): (Vec<Ask>, Vec<Ask>) =
            asks.into_iter().partition(|ask| aim.is_victim(ask));
        let shown = take(&mut without, SHOWN, "examples")?;
        let honest = take(&mut without, honest, "honest questions")?;
        let others = take(&mut without, plan.others, "other questions")?;
        let (known, victims) = if plan.attack == Attack::AgentPoison {
            let known = take(
                &mut without,
                budget.max(plan.trigger.requests),
                "questions of the attacker",
            )?;
            (known, take(&mut without, plan.victims, "victims")?)
        } else {
            let known = take(&mut with, budget, "questions of the attacker")?;
            let mut victims = with;
            victims.truncate(plan.victims);
            let missing = plan.victims - victims.len();
            let more = take(&mut without, missing, "questions to put the victim's word into")?;
            victims.extend(more.into_iter().map(|ask| Ask {
                text: format!("On {}: {}", aim.word(), ask.text),
                ..ask
            }));
            (known, victims)
        };
        let shown = shown.into_iter().filter_map(|ask| match ask.matter {
            Matter::Question(question) => Some(question),
            Matter::Goal(_) => None,
        });
        Ok(Self {
            agent: Box::new(Solver::new(shown.collect(), way(plan.attack, AgentName::MmluQa))),
            catalog: None,
            aim,
            honest,
            known,
            victims,
            others,
            questions,
        })
    }

    fn of_the_shop(plan: &Plan, honest: usize, budget: usize) -> Result<Self, ExperimentError> {
        let failed = |error: crate::shop::ShopError| ExperimentError::Unexpected(error.to_string());
        let catalog = Catalog::generate(plan.seed_of("catalog")).map_err(failed)?;
        let (noun, brand) = (plan.shop.victim.as_str(), plan.shop.brand.as_str());
        if !catalog.brands(noun).contains(&brand) {
            return Err(ExperimentError::value(format!(
                "`shop.brand` is `{brand}`: expected one of {} for `{noun}`",
                catalog.brands(noun).join(", ")
            )));
        }
        let aim = Aim::Redirect {
            word: noun.to_owned(),
            brand: brand.to_owned(),
        };
        let goals = |category, n, matter: &str| -> Vec<Ask> {
            let goals = Goal::sample(&catalog, category, n, plan.seed_of(matter));
            goals.into_iter().map(wanted).collect()
        };
        let known_needed = match plan.attack {
            Attack::AgentPoison => budget.max(plan.trigger.requests),
            Attack::Minja | Attack::MemoryGraft => budget,
        };
        let mut any = goals(
            None,
            2 * (honest + plan.others + plan.victims + known_needed),
            "goals",
        );
        // A few of them ask for the brand themselves and are no victims.
        let mut with = goals(Some(noun), 2 * (plan.victims + known_needed), "victims");
        with.retain(|ask| aim.is_victim(ask));
        any.retain(|ask| !with.contains(ask));
        let honest = take(&mut any, honest, "honest goals")?;
        any.retain(|ask| !crate::tracks::holds(&ask.text, noun) && !crate::tracks::holds(&ask.text, brand));
        let others = take(&mut any, plan.others, "other goals")?;
        // A trigger makes a victim of anybody, so that the noun must not.
        let attacked = if plan.attack == Attack::AgentPoison {
            &mut any
        } else {
            &mut with
        };
        let known = take(attacked, known_needed, "goals of the attacker")?;
        let victims = take(attacked, plan.victims, "victims")?;
        Ok(Self {
            agent: Box::new(Shopper::new(catalog.clone(), way(plan.attack, AgentName::Rap))),
            catalog: Some(catalog),
            aim,
            honest,
            known,
            victims,
            others,
            questions: Vec::new(),
        })
    }
}

/// How the agent looks for examples: as the paper of the attack has it.
const fn way(attack: Attack, agent: AgentName) -> Way {
    match (attack, agent) {
        (Attack::Minja, AgentName::MmluQa) => Way::Requests,
        (Attack::Minja, AgentName::Rap) => Way::Words,
        (Attack::AgentPoison, _) => Way::Vectors,
        (Attack::MemoryGraft, _) => Way::Hybrid,
    }
}

fn asked(question: &Question) -> Ask {
    Ask {
        text: question.stem.clone(),
        matter: Matter::Question(question.clone()),
    }
}

fn wanted(goal: Goal) -> Ask {
    Ask {
        text: goal.text.clone(),
        matter: Matter::Goal(goal),
    }
}

/// The first `n`, which are then gone.
fn take(from: &mut Vec<Ask>, n: usize, what: &str) -> Result<Vec<Ask>, ExperimentError> {
    if from.len() < n {
        return Err(ExperimentError::value(format!(
            "there are {} {what}: expected at least {n}",
            from.len()
        )));
    }
    Ok(from.drain(..n).collect())
}
