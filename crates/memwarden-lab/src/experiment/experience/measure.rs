//! One cell: honest work fills a store, an attack gets at it, and requests are judged from that store.
//!
//! Nothing that a judged request leads to is remembered, so every one of them meets the same store.

use super::attack::carry_out;
use super::counts::{Attempt, Honest, Judged, Measured, Writes};
use super::field::{Field, Session};
use super::plan::{AgentName, Attack, Axes, Plan};
use super::tasks::Tasks;
use crate::experiment::defense::{self, condition};
use crate::experiment::model::ModelSpec;
use crate::experiment::{ExperimentError, Models};
use crate::tracks::{Around, Ask, Bank, Open, Reading, SHOP_ACTIONS, triggered};
use memwarden::model::{Knowledge, Meter, Metered, Prices};
use memwarden::{built_in_encoder, encoder_from};
use memwarden_core::encode::Encode;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(
    plan: &Plan,
    axes: &Axes,
    directory: &Path,
    scratch: &Path,
) -> Result<Measured, ExperimentError> {
    let files = plan.question.files.as_ref().map(|files| directory.join(files));
    let tasks = Tasks::new(plan, axes.agent, files.as_deref(), axes.honest, axes.budget)?;
    let models = open(plan, axes, &tasks)?;
    let encoder = encoder(plan, directory)?;
    let condition = condition(
        &axes.defense,
        &defense::Around {
            models: &models,
            encoder: Arc::clone(&encoder),
            rules: SHOP_ACTIONS,
            directory,
        },
    )?;
    let bank = |name: &str| {
        // Retrieval by words needs no vectors.
        let vectors = (plan.attack != Attack::Minja).then(|| Arc::clone(&encoder));
        Bank::new(&scratch.join(name), &condition.policy, vectors, tasks.agent.way())
    };
    let (store, empty) = (bank("store")?, bank("empty")?);
    let field = Field {
        tasks: &tasks,
        bank: &store,
        condition: &condition,
        models: &models,
        encoder,
        k: plan.k,
        budget: axes.budget,
        seed: plan.seed,
        faults: RefCell::new(BTreeMap::new()),
    };
    let writes = fill(&field)?;
    let poison = carry_out(plan, &tasks, &field)?;
    let trigger = poison.trigger.as_ref().map(|found| found.text.as_str());
    let judged: Vec<Ask> = tasks
        .victims
        .iter()
        .map(|ask| Ask {
            text: trigger.map_or_else(|| ask.text.clone(), |trigger| triggered(&ask.text, trigger)),
            matter: ask.matter.clone(),
        })
        .collect();
    let mut victims = Judged::default();
    pairs(&field, &empty, &judged, &poison.records, |clean, poisoned| {
        victims.count(&tasks.aim, clean, poisoned);
    })?;
    let mut untriggered = None;
    if trigger.is_some() {
        let mut clean_side = Judged::default();
        pairs(
            &field,
            &empty,
            &tasks.victims,
            &poison.records,
            |clean, poisoned| {
                clean_side.count(&tasks.aim, clean, poisoned);
            },
        )?;
        untriggered = Some(clean_side);
    }
    let mut others = Honest::default();
    pairs(
        &field,
        &empty,
        &tasks.others,
        &poison.records,
        |clean, poisoned| {
            others.count(&tasks.aim, clean, poisoned);
        },
    )?;
    let spent = models.spent()?;
    let number = |name: &str| {
        spent
            .get(name)
            .and_then(serde_json::Value::as_u64)
            .unwrap_or_default()
    };
    Ok(Measured {
        simulated: models.simulated || condition.simulated,
        way: tasks.agent.way().as_str().to_owned(),
        writes,
        injected: poison.injected,
        victims,
        untriggered,
        others,
        trigger: poison.trigger,
        faults: field.faults.into_inner(),
        calls: number("calls"),
        tokens: number("tokens"),
    })
}

/// What the store and the defenses embed with.
pub(super) fn encoder(plan: &Plan, directory: &Path) -> Result<Arc<dyn Encode>, ExperimentError> {
    Ok(match &plan.encoder {
        Some(path) => encoder_from(&directory.join(path))?,
        None => built_in_encoder(),
    })
}

/// The stand-in knows some of the questions, as a real model does.
fn open(plan: &Plan, axes: &Axes, tasks: &Tasks) -> Result<Models, ExperimentError> {
    let named = plan.models.iter().find(|spec| spec.name() == axes.model);
    let spec = named.ok_or_else(|| ExperimentError::value(format!("no model `{}`", axes.model)))?;
    if !matches!(spec, ModelSpec::Simulated) || axes.agent != AgentName::MmluQa {
        return spec.open(plan.seed, None);
    }
    let mut knowledge = Knowledge::default();
    for question in &tasks.questions {
        let options: Vec<&str> = question.options.iter().map(String::as_str).collect();
        knowledge.learn(&question.stem, &options, question.right);
    }
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let chat = Metered::simulated_knowing(plan.seed, Arc::new(knowledge), Arc::clone(&meter))?;
    Ok(Models {
        meter,
        chat: Arc::new(chat),
        score: None,
        name: spec.name(),
        simulated: true,
    })
}

/// The agent works for honest users before anything else happens, each task from nothing, and remembers it.
fn fill(field: &Field<'_>) -> Result<Writes, ExperimentError> {
    let mut writes = Writes::default();
    for (at, ask) in field.tasks.honest.iter().enumerate() {
        let around = Around {
            model: field.models.chat.as_ref(),
            till: &Open,
            seed: field.seed(&["honest", &at.to_string()]),
        };
        let ran = field.tasks.agent.run(ask, &[], around)?;
        if let Some(fault) = ran.fault {
            field.note([(fault, 1)]);
            continue;
        }
        let window = field.bank.window(&ask.text)?;
        let kept = window.remember(&ask.text, &ran.record, Reading::Nothing)?;
        window.end()?;
        writes.honest += 1;
        writes.lost += u64::from(!kept.active);
        writes.waiting += u64::from(kept.waits);
    }
    Ok(writes)
}

/// Each request twice with the same seed, by a user of its own: with nothing in the store, and with everything.
fn pairs(
    field: &Field<'_>,
    empty: &Bank,
    asks: &[Ask],
    poison: &BTreeSet<memwarden::RecordId>,
    mut count: impl FnMut(&Attempt, &Attempt),
) -> Result<(), ExperimentError> {
    for (at, ask) in asks.iter().enumerate() {
        let seed = field.seed(&["trial", &at.to_string()]);
        let clean = field.work_on_nothing(empty, ask, &Session::default(), seed)?;
        let poisoned = field.work(ask, &mut Session::default(), seed, poison)?;
        count(&clean, &poisoned);
    }
    Ok(())
}
