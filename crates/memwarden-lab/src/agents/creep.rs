//! Label creep: how much of what honest agents note loses its authority because a few of their tasks read the web.

use super::Agent;
use super::cell::writer;
use super::counts::share;
use super::house::{House, LANES};
use super::work::{Job, Quality};
use crate::demo::{DemoError, Honest, TASK_K};
use crate::farma::Domain;
use crate::parallel;
use memwarden::{Entry, Kind, Mechanisms, Policy, Query, TraceType};
use memwarden_core::{Authority, Status};
use std::path::Path;

/// Tasks of the run.
pub(crate) const TASKS: u64 = 100;
/// Every tenth task recalls an entry from the web.
const WEB_EVERY: u64 = 10;

/// The share of the agents' active entries, honest memory and new notes together, at authority `none` after
/// [`TASKS`] tasks. In each the agent recalls as in every other task and notes what it did, in the same window.
pub(crate) fn run(directory: &Path, policy: &Policy, honest: &[Honest]) -> Result<f64, DemoError> {
    let house = House::new(directory, policy, Mechanisms::default())?;
    parallel::each(LANES, honest, |honest| {
        let (handle, namespace) = house.agent(writer(honest))?;
        handle.remember(namespace, honest.entry.clone())?;
        Ok::<_, DemoError>(())
    })?;
    let lanes = [
        (Agent::Ehr, Domain::Ehr, 0),
        (Agent::ReactQa, Domain::ReactQa, 1),
        (Agent::Rap, Domain::Rap, 2),
    ];
    let counted = parallel::each(LANES, &lanes, |(agent, domain, first)| {
        let (_, namespace) = house.agent(*agent)?;
        let page = Entry {
            source: Some("tool".to_owned()),
            ..Entry::new("Web page with 14 comments of visitors.")
        };
        house.web.remember(namespace, page)?;
        let kinds = domain.subjects().iter().cycle();
        for (task, kind) in (*first..TASKS).step_by(lanes.len()).zip(kinds) {
            work(&house, *agent, kind, task)?;
        }
        let own = house.owner.list(namespace, Status::Active)?;
        let (id, _) = house.agent(*agent)?;
        let own = own.iter().filter(|record| record.principal == id.principal().id);
        let (mut all, mut fallen) = (0, 0);
        for record in own {
            all += 1;
            fallen += u64::from(record.effective == Authority::None);
        }
        Ok::<_, DemoError>((all, fallen))
    })?;
    let (all, fallen) = counted
        .into_iter()
        .fold((0, 0), |(all, none), (more, fell)| (all + more, none + fell));
    Ok(share(fallen, all).unwrap_or(0.0))
}

/// One task: recall, check, note.
fn work(house: &House, agent: Agent, kind: &str, task: u64) -> Result<(), DemoError> {
    let window = house.window(agent, None)?;
    let item = format!("T-{task}");
    let job = Job::new(agent, kind, &item, Quality::Good, task);
    let (noun, step) = (agent.item(), agent.step());
    let query = format!("{noun} {item}, {kind}: is the {step} step needed?");
    for store in [Kind::General, Kind::Reasoning] {
        let query = Query {
            k: TASK_K,
            kind: Some(store),
            ..Query::new(query.as_str())
        };
        window.handle.recall(window.namespace, &query)?;
    }
    if task.is_multiple_of(WEB_EVERY) {
        let query = Query {
            k: 1,
            ..Query::new("web page with comments of visitors")
        };
        window.handle.recall(window.namespace, &query)?;
    }
    let faults = job.check().faults.len();
    let note = Entry {
        kind: Kind::Reasoning,
        trace_type: TraceType::DecisionLog,
        subject: Some(kind.to_owned()),
        source: Some("agent".to_owned()),
        ..Entry::new(format!(
            "Decision log update for {kind}: {step} ran on {noun} {item} with {faults} faults."
        ))
    };
    window.handle.remember(window.namespace, note)?;
    Ok(())
}
