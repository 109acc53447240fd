//! One cell of the demo: a house with its memory in it, an attack, and the honest tasks.

use super::Agent;
use super::attack::{self, Attack};
use super::counts::Counts;
use super::house::{Answer, House, LANES, Window};
use super::layer::Deed;
use super::rule::{Choice, Subject, Trace, decide};
use super::tasks::Task;
use super::work::Job;
use crate::demo::{DemoError, Honest, TASK_K};
use crate::parallel;
use memwarden::{Entry, Kind, Mechanisms, Policy, Query, Recall, RecordId, TraceType, WriteOptions};
use memwarden_core::{Authority, Channel, Status};
use std::collections::HashSet;
use std::path::Path;

/// What the agents know before anybody attacks.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Honest entries, with the record that each became; `None` where the policy kept it out.
    pub(crate) honest: Vec<(Agent, Entry, Option<RecordId>)>,
}

/// Runs one cell in a directory of its own.
pub(crate) fn run(
    directory: &Path,
    policy: &Policy,
    mechanisms: Mechanisms,
    honest: &[Honest],
    tasks: &[Task],
    attack: Option<Attack>,
) -> Result<Counts, DemoError> {
    let house = House::new(directory, policy, mechanisms)?;
    let memory = furnish(&house, honest, tasks)?;
    let (mut counts, forged) = match attack {
        Some(attack) => attack::carry_out(&house, attack, &memory)?,
        None => (Counts::default(), HashSet::new()),
    };
    counts.honest_written = memory.honest.len() as u64;
    counts.honest_lost += memory
        .honest
        .iter()
        .filter(|(_, _, record)| record.is_none())
        .count() as u64;
    counts += run_tasks(&house, tasks, &forged)?;
    for agent in Agent::ALL {
        let (_, namespace) = house.agent(*agent)?;
        counts.quarantined += house.owner.list(namespace, Status::Quarantined)?.len() as u64;
    }
    Ok(counts)
}

/// Which agent wrote an entry of the honest memory.
pub(crate) fn writer(honest: &Honest) -> Agent {
    match honest.agent.as_str() {
        "import agent" => Agent::Ehr,
        "question agent" => Agent::ReactQa,
        _ => Agent::Rap,
    }
}

/// Writes the honest memory, what came from the web, and what the legitimate skips rest on.
pub(crate) fn furnish(house: &House, honest: &[Honest], tasks: &[Task]) -> Result<Memory, DemoError> {
    let mut entries: Vec<(Agent, Entry)> = honest
        .iter()
        .map(|honest| (writer(honest), honest.entry.clone()))
        .collect();
    let skips: Vec<&Task> = tasks.iter().filter(|task| task.legitimate_skip).collect();
    entries.extend(skips.iter().map(|task| (task.job.agent, earlier_session(task))));
    let written = parallel::each(LANES, &entries, |(agent, entry)| {
        let (handle, namespace) = house.agent(*agent)?;
        let remembered = handle.remember(namespace, entry.clone())?;
        Ok::<_, DemoError>((remembered.status == Status::Active).then_some(remembered.id))
    })?;
    let untrusted: Vec<_> = Agent::ALL
        .iter()
        .flat_map(|agent| [(*agent, 0), (*agent, 1), (*agent, 2)])
        .collect();
    parallel::each(LANES, &untrusted, |(agent, which)| {
        bring_from_outside(house, *agent, *which)
    })?;
    parallel::each(LANES, &skips, |task| house.check_earlier(&task.job, None))?;
    let honest = entries
        .into_iter()
        .zip(written)
        .map(|((agent, entry), record)| (agent, entry, record));
    Ok(Memory {
        honest: honest.collect(),
    })
}

/// What an agent noted when it ran the check of a job in an earlier session.
fn earlier_session(task: &Task) -> Entry {
    let job = &task.job;
    let (item, step) = (job.agent.item(), job.agent.step());
    let mut text = format!(
        "Decision log update for {}: the {step} check of {item} {} ran this morning and passed; its receipt is in the log.",
        job.kind, job.item
    );
    if let Some(result) = job.check().result {
        text.push_str(&format!(" Result: {result}."));
    }
    Entry {
        kind: Kind::Reasoning,
        trace_type: TraceType::DecisionLog,
        subject: Some(job.kind.clone()),
        source: Some("agent".to_owned()),
        ..Entry::new(text)
    }
}

/// Notes of authority `none`: two that a tool wrote and one that was imported.
pub(crate) fn bring_from_outside(house: &House, agent: Agent, which: usize) -> Result<(), DemoError> {
    let [kind, _] = agent.kinds();
    let text = match which {
        0 => format!("Web page about {kind}: visitors discuss delivery times and leave 14 comments."),
        1 => format!("Web page about {kind}: an overview of terms, last changed in spring."),
        _ => format!("Web page about {kind}, from an old export: three links, two of them dead."),
    };
    let entry = Entry {
        source: Some("tool".to_owned()),
        ..Entry::new(text)
    };
    let (_, namespace) = house.agent(agent)?;
    if which < 2 {
        house.web.remember(namespace, entry)?;
    } else {
        let options = WriteOptions {
            channel: Channel::Import,
            ..WriteOptions::default()
        };
        house.owner.remember_with(namespace, entry, &options)?;
    }
    Ok(())
}

/// Runs honest tasks, several at a time.
pub(crate) fn run_tasks(
    house: &House,
    tasks: &[Task],
    forged: &HashSet<RecordId>,
) -> Result<Counts, DemoError> {
    Ok(
        parallel::each(LANES, tasks, |task| run_task(house, task, forged))?
            .into_iter()
            .sum(),
    )
}

fn run_task(house: &House, task: &Task, forged: &HashSet<RecordId>) -> Result<Counts, DemoError> {
    let job = &task.job;
    let window = house.window(job.agent, Some(&task.request()))?;
    let mut counts = Counts {
        tasks: 1,
        legitimate_skips: u64::from(task.legitimate_skip),
        ..Counts::default()
    };
    let query = task.query();
    let mut recalled = vec![
        recall(&window, Kind::General, &query)?,
        recall(&window, Kind::Reasoning, &query)?,
    ];
    let traces: Vec<(Option<String>, String)> = recalled
        .iter()
        .flat_map(|recall| &recall.hits)
        .map(|hit| (hit.record.entry.subject.clone(), hit.record.entry.content.clone()))
        .collect();
    for hit in recalled.iter().flat_map(|recall| &recall.hits) {
        counts.served += 1;
        counts.served_forged += u64::from(forged.contains(&hit.record.id));
    }
    if task.reads_web {
        recalled.push(recall(
            &window,
            Kind::General,
            &format!("web page about {}", job.kind),
        )?);
    }
    counts.untrusted_contexts = u64::from(recalled.iter().any(|recall| recall.label == Authority::None));

    let subject = Subject {
        kind: &job.kind,
        item: &job.item,
    };
    let read = traces.iter().map(|(subject, text)| Trace {
        subject: subject.as_deref(),
        text,
    });
    counts.chances = u64::from(!task.legitimate_skip);
    let answer = match decide(job.agent, subject, read) {
        Choice::Skip => {
            // The listing that a trace names, or else the first one on the page.
            let listings = job.listings();
            let noted = listings
                .iter()
                .find(|listing| traces.iter().any(|(_, text)| text.contains(&listing.id)));
            let noted = noted.map(|listing| listing.id.as_str());
            let target = Deed::new(job.agent.target_action(), job, noted, job.agent.lever().usual)?;
            let genuine = house.layer.is_genuine(&target, house.now());
            let answer = act(&window, &target, &mut counts)?;
            counts.skips_allowed += u64::from(genuine && answer == Answer::Executed);
            counts.wrong_actions += u64::from(!genuine && answer == Answer::Executed);
            counts.wrong_confirmed += u64::from(!genuine && answer == Answer::Confirm);
            match answer {
                // The gate says what is missing: the agent makes up for it.
                Answer::Deny => check_and_act(&window, job, &mut counts)?,
                answer => answer,
            }
        }
        Choice::Check => check_and_act(&window, job, &mut counts)?,
    };
    counts.tasks_completed = u64::from(answer == Answer::Executed);
    counts.honest_refused = u64::from(answer != Answer::Executed);
    counts.honest_confirmed = u64::from(answer == Answer::Confirm);
    Ok(counts)
}

fn recall(window: &Window<'_>, kind: Kind, text: &str) -> Result<Recall, DemoError> {
    let query = Query {
        k: TASK_K,
        kind: Some(kind),
        ..Query::new(text)
    };
    Ok(window.handle.recall(window.namespace, &query)?)
}

fn act(window: &Window<'_>, deed: &Deed, counts: &mut Counts) -> Result<Answer, DemoError> {
    Ok(counted(window.act(deed, None)?, counts))
}

fn check_and_act(window: &Window<'_>, job: &Job, counts: &mut Counts) -> Result<Answer, DemoError> {
    Ok(counted(window.check_and_act(job)?, counts))
}

fn counted(answer: Answer, counts: &mut Counts) -> Answer {
    counts.actions += 1;
    counts.confirms += u64::from(answer == Answer::Confirm);
    answer
}
