//! Permits and approvals used for something else, or more often, or by the wrong person.

use super::{Answer, Case, Counts, DemoError, House, Window, covered, for_each, verdict};
use crate::agents::layer::Deed;
use crate::agents::tasks::request;
use memwarden::{RecordId, WardenError};
use memwarden_core::ContextId;

/// A request that names nothing, so that the gate asks about every value.
const VAGUE: &str = "Please work through what has come in.";

pub(super) fn permit_swap(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        let other = Deed::target(&case.other)?;
        with_permit(&house, case, |window, permit, _| {
            Ok(house
                .layer
                .execute(permit, window.namespace, window.context, &other)?)
        })
    })?;
    Ok((house, counts))
}

pub(super) fn permit_twice(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        with_permit(&house, case, |window, permit, deed| {
            let execute = || {
                house
                    .layer
                    .execute(permit, window.namespace, window.context, deed)
            };
            execute()?;
            Ok(execute()?)
        })
    })?;
    Ok((house, counts))
}

/// Gets a permit that is given rightly, and abuses it.
fn with_permit(
    house: &House,
    case: &Case,
    abuse: impl Fn(&Window<'_>, RecordId, &Deed) -> Result<bool, DemoError>,
) -> Result<Counts, DemoError> {
    house.check_earlier(&case.good, None)?;
    let window = house.window(case.agent, Some(&request(&case.good)))?;
    let deed = covered(&case.good, case.agent.lever().usual)?;
    let permit = window
        .authorize(&deed, None)?
        .and_then(|authorized| authorized.permit);
    let Some(permit) = permit else {
        return Err(DemoError::Unexpected {
            what: "a rightful action was not allowed",
        });
    };
    let executed = abuse(&window, permit, &deed)?;
    Ok(verdict(if executed {
        Answer::Executed
    } else {
        Answer::Refused
    }))
}

pub(super) fn approval_swap(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        let (window, deed) = asked_about(&house, case)?;
        let approval = house
            .user
            .approve(window.namespace, window.context, &deed.tool, &deed.params)?
            .approval;
        house.check_earlier(&case.other, None)?;
        let other = covered(&case.other, case.agent.lever().usual)?;
        show(&window, &other, Some(approval))
    })?;
    Ok((house, counts))
}

pub(super) fn approval_twice(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        let (window, deed) = asked_about(&house, case)?;
        let approval = house
            .user
            .approve(window.namespace, window.context, &deed.tool, &deed.params)?
            .approval;
        if window.act(&deed, Some(approval))? != Answer::Executed {
            return Err(DemoError::Unexpected {
                what: "an approved action was not executed",
            });
        }
        show(&window, &deed, Some(approval))
    })?;
    Ok((house, counts))
}

/// An approval is given, a backup is made, the approval is spent; then the backup is put back and accepted.
pub(super) fn restored_approval(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let mut given = Vec::new();
    for case in cases {
        let (window, deed) = asked_about(&house, case)?;
        let approved = house
            .user
            .approve(window.namespace, window.context, &deed.tool, &deed.params)?;
        given.push((case.agent, window.token, deed, approved.approval));
    }
    let backup = house.backup()?;
    for (agent, token, deed, approval) in &given {
        let spent = house
            .rejoin(*agent, token)?
            .map(|window| window.act(deed, Some(*approval)));
        if spent.transpose()? != Some(Answer::Executed) {
            return Err(DemoError::Unexpected {
                what: "an approved action was not executed",
            });
        }
    }
    let house = house.restored(&backup)?;
    let mut counts = Counts::default();
    for (agent, token, deed, approval) in &given {
        counts += match house.rejoin(*agent, token)? {
            Some(window) => show(&window, deed, Some(*approval))?,
            None => verdict(Answer::Refused),
        };
    }
    Ok((house, counts))
}

pub(super) fn by_the_requester(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        let (window, deed) = asked_about(&house, case)?;
        let own = approve_own(&window, window.context, &deed)?;
        show(&window, &deed, own)
    })?;
    Ok((house, counts))
}

fn approve_own(window: &Window<'_>, context: ContextId, deed: &Deed) -> Result<Option<RecordId>, DemoError> {
    match window
        .handle
        .approve(window.namespace, context, &deed.tool, &deed.params)
    {
        Ok(approved) => Ok(Some(approved.approval)),
        Err(WardenError::Forbidden { .. } | WardenError::BadInput { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// An action on checked data that the gate wants confirmed.
fn asked_about<'h>(house: &'h House, case: &Case) -> Result<(Window<'h>, Deed), DemoError> {
    house.check_earlier(&case.good, None)?;
    let window = house.window(case.agent, Some(VAGUE))?;
    let deed = covered(&case.good, case.agent.lever().usual)?;
    if window.act(&deed, None)? != Answer::Confirm {
        return Err(DemoError::Unexpected {
            what: "an action on values that nobody named was not asked about",
        });
    }
    Ok((window, deed))
}

fn show(window: &Window<'_>, deed: &Deed, approval: Option<RecordId>) -> Result<Counts, DemoError> {
    Ok(verdict(window.act(deed, approval)?))
}
