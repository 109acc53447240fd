//! Evidence that proves something else, no longer proves it, or never did.

use super::{Case, Counts, DemoError, House, for_each, strike};
use crate::agents::layer::executed;
use memwarden::WardenError;
use memwarden_core::Outcome;

/// Longer than any receipt of the demo counts.
const TWO_HOURS_US: u64 = 2 * 3_600 * 1_000_000;

pub(super) fn of_another_subject(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        house.check_earlier(&case.other, None)?;
        strike(&house, &case.good)
    })?;
    Ok((house, counts))
}

pub(super) fn expired(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    for_each(cases, |case| checked(&house, case))?;
    house.wait(TWO_HOURS_US);
    let counts = for_each(cases, |case| strike(&house, &case.good))?;
    Ok((house, counts))
}

pub(super) fn failed(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        house.check_earlier(&case.faulty, None)?;
        strike(&house, &case.faulty)
    })?;
    Ok((house, counts))
}

pub(super) fn replayed(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        checked(&house, case)?;
        house.fail_later(&case.good)?;
        strike(&house, &case.good)
    })?;
    Ok((house, counts))
}

pub(super) fn by_the_agent(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        let window = house.window(case.agent, None)?;
        let mut refused = 0;
        // What the target action will name: the job and, of an order, the first listing.
        let subjects = std::iter::once(case.good.subject()).chain(case.good.listings().into_iter().take(1));
        for subject in subjects {
            let report = executed(
                window.namespace,
                window.context,
                case.agent,
                &subject,
                Outcome::Passed,
                None,
            );
            match window.handle.receipt(&report) {
                Ok(_) => {}
                Err(WardenError::Forbidden { .. }) => refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
        let mut counts = strike(&house, &case.good)?;
        counts.receipts_refused = refused;
        Ok(counts)
    })?;
    Ok((house, counts))
}

/// A check passes, a backup is made, a later check fails; then the backup is put back and accepted.
pub(super) fn restored_receipt(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    for_each(cases, |case| checked(&house, case))?;
    let backup = house.backup()?;
    for_each(cases, |case| {
        house.fail_later(&case.good).map(|()| Counts::default())
    })?;
    let house = house.restored(&backup)?;
    let counts = for_each(cases, |case| strike(&house, &case.good))?;
    Ok((house, counts))
}

fn checked(house: &House, case: &Case) -> Result<Counts, DemoError> {
    house.check_earlier(&case.good, None)?;
    Ok(Counts::default())
}
