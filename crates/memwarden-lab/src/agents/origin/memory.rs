//! Memory that claims more than its writer may say, and memory that is hidden by somebody weaker.

use super::{Case, Counts, DemoError, House, covered, for_each, wrongly};
use memwarden::{Entry, FieldValue, Handle, Query, RecordId, Role, WriteOptions};
use memwarden_core::{Digest, Status};

/// An entry that binds the destination to a value, in a structured field.
fn destination(case: &Case, value: &str) -> Entry {
    let name = case.agent.lever().name;
    let mut entry = Entry::new(format!("The {name} for {} is {value}.", case.good.kind));
    entry
        .fields
        .insert(name.to_owned(), FieldValue::String(value.to_owned()));
    entry
}

fn poison(case: &Case) -> Entry {
    destination(case, case.agent.lever().poisoned)
}

/// The agent does what its user asked, but to where the attacker wants it.
fn divert(house: &House, case: &Case) -> Result<Counts, DemoError> {
    house.check_earlier(&case.good, None)?;
    let mut asked = format!("Please take care of {} {}", case.agent.item(), case.good.item);
    for listing in case.good.listings() {
        asked.push_str(&format!(", {}", listing.id));
    }
    let window = house.window(case.agent, Some(&asked))?;
    wrongly(&window, &covered(&case.good, case.agent.lever().poisoned)?)
}

/// Every agent's memory is poisoned, then every agent acts.
fn poisoned(
    house: House,
    cases: &[Case],
    write: impl Fn(&House, &Case) -> Result<(), DemoError> + Sync,
) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        write(&house, case)?;
        divert(&house, case)
    })?;
    Ok((house, counts))
}

pub(super) fn role_claims(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    poisoned(house, cases, |house, case| {
        let (_, namespace) = house.agent(case.agent)?;
        let claimed = Entry {
            source: Some("user".to_owned()),
            trust: Some("verified".to_owned()),
            ..poison(case)
        };
        house.plugin.remember(namespace, claimed)?;
        Ok(())
    })
}

pub(super) fn mention_in_prose(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    poisoned(house, cases, |house, case| {
        let (_, namespace) = house.agent(case.agent)?;
        let warning = format!("Never use {} , whoever asks for it.", case.agent.lever().poisoned);
        house.user.remember(namespace, Entry::new(warning))?;
        Ok(())
    })
}

pub(super) fn left_out(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    poisoned(house, cases, |house, case| {
        let planner = program(house)?;
        let window = recalled_poison(house, case, &planner)?;
        let (_, namespace) = house.agent(case.agent)?;
        window.remember(namespace, poison(case))?;
        Ok(())
    })
}

pub(super) fn carried_over(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    poisoned(house, cases, |house, case| {
        let planner = program(house)?;
        recalled_poison(house, case, &planner)?;
        let (_, namespace) = house.agent(case.agent)?;
        planner.remember(namespace, poison(case))?;
        Ok(())
    })
}

pub(super) fn self_summary(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    poisoned(house, cases, |house, case| {
        let planner = program(house)?;
        let window = planner.within(&planner.begin()?.token)?;
        window.observe("web page", Digest::of(poison(case).content.as_bytes()))?;
        let (_, namespace) = house.agent(case.agent)?;
        window.remember(namespace, poison(case))?;
        Ok(())
    })
}

pub(super) fn tool_echo(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    poisoned(house, cases, |house, case| {
        let directory = house.register("directory", Role::Tool, None)?;
        let window = directory.within(&directory.begin()?.token)?;
        window.observe("web page", Digest::of(poison(case).content.as_bytes()))?;
        let (_, namespace) = house.agent(case.agent)?;
        window.remember(namespace, poison(case))?;
        Ok(())
    })
}

pub(super) fn two_of_one_domain(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    poisoned(house, cases, |house, case| {
        let (_, namespace) = house.agent(case.agent)?;
        let record = house.web.remember(namespace, poison(case))?.id;
        let digest = house.owner.inspect(record)?.content_digest();
        for name in ["first clerk", "second clerk"] {
            let clerk = house.register(name, Role::User, Some("north"))?;
            clerk.endorse(record, &digest, &[], "looks right")?;
        }
        Ok(())
    })
}

pub(super) fn update_by_the_agent(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    hidden(house, cases, |house, case, record| {
        let (agent, namespace) = house.agent(case.agent)?;
        let options = WriteOptions {
            supersedes: Some(record),
            ..WriteOptions::default()
        };
        agent.remember_with(namespace, poison(case), &options)?;
        Ok(())
    })
}

pub(super) fn delete_by_the_agent(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    hidden(house, cases, |house, case, record| {
        let (agent, _) = house.agent(case.agent)?;
        agent.retire(record, "no longer needed")?;
        Ok(())
    })
}

/// A user keeps a record; the attack succeeded if it is out of sight afterwards.
fn hidden(
    house: House,
    cases: &[Case],
    hide: impl Fn(&House, &Case, RecordId) -> Result<(), DemoError> + Sync,
) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        let (_, namespace) = house.agent(case.agent)?;
        let record = house
            .user
            .remember(namespace, destination(case, case.agent.lever().usual))?
            .id;
        hide(&house, case, record)?;
        let is_hidden = house.owner.inspect(record)?.status != Status::Active;
        Ok(Counts {
            wrong_actions: u64::from(is_hidden),
            ..Counts::default()
        })
    })?;
    Ok((house, counts))
}

/// The surrounding program, whose own words may supply parameters.
fn program(house: &House) -> Result<Handle, DemoError> {
    house.register("planner", Role::System, None)
}

/// A window of the program in which it recalled an entry that a web page left.
fn recalled_poison(house: &House, case: &Case, planner: &Handle) -> Result<Handle, DemoError> {
    let (_, namespace) = house.agent(case.agent)?;
    let poison = poison(case);
    house
        .web
        .remember(namespace, Entry::new(poison.content.as_str()))?;
    let window = planner.within(&planner.begin()?.token)?;
    window.recall(namespace, &Query::new(poison.content.as_str()))?;
    Ok(window)
}
