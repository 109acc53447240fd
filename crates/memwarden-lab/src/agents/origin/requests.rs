//! Acting without a mandate.

use super::{Case, Counts, DemoError, House, covered, for_each, wrongly};
use crate::agents::layer::{Deed, params};
use crate::agents::tasks::request;
use memwarden::{Entry, FieldValue, WardenError};
use memwarden_core::ParamValue;
use std::collections::BTreeMap;

/// An action that the demo's own rules do not have.
pub(super) const HIGH_IMPACT: &str = "
[[action]]
tool = \"erase_everything\"
class = \"high_impact\"
control = [\"owner\"]
";

pub(super) fn by_the_agent(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        house.check_earlier(&case.good, None)?;
        let window = house.window(case.agent, None)?;
        match window.handle.request(window.context, &request(&case.good), None) {
            Ok(_) | Err(WardenError::Forbidden { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        wrongly(&window, &covered(&case.good, case.agent.lever().usual)?)
    })?;
    Ok((house, counts))
}

pub(super) fn nobody_asked(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        house.check_earlier(&case.good, None)?;
        let deed = covered(&case.good, case.agent.lever().usual)?;
        let mut entry = Entry::new(format!("Usual values for {}.", case.good.kind));
        for (name, value) in deed.params.iter() {
            if let ParamValue::String(text) = value {
                entry
                    .fields
                    .insert(name.to_owned(), FieldValue::String(text.clone()));
            }
        }
        let window = house.window(case.agent, None)?;
        house.user.remember(window.namespace, entry)?;
        wrongly(&window, &deed)
    })?;
    Ok((house, counts))
}

pub(super) fn high_impact(house: House, cases: &[Case]) -> Result<(House, Counts), DemoError> {
    let counts = for_each(cases, |case| {
        let text = "Tidy up everything that belongs to accounting.".to_owned();
        let tools = ["erase_everything".to_owned()];
        let window = house.window(case.agent, None)?;
        house.user.request(window.context, &text, Some(&tools))?;
        let owner = ("owner".to_owned(), ParamValue::String("accounting".to_owned()));
        let deed = Deed {
            tool: "erase_everything".to_owned(),
            params: params(BTreeMap::from([owner]))?,
            rests_on: (case.agent.step(), Vec::new()),
        };
        wrongly(&window, &deed)
    })?;
    Ok((house, counts))
}
