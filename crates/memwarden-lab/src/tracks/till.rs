//! The till of the shop: a purchase under a policy with rules of origin needs a passed comparison of this very window.
//!
//! The comparison is a real step. It takes the words that the user said, not those that the agent searched; looks at what
//! the shop itself finds for them within the price; and passes if none of that fits the words better than what is to be
//! bought. It reads no memory.

use crate::experiment::ExperimentError;
use crate::shop::{Catalog, Product, words};
use memwarden::{Executed, Handle, Namespace};
use memwarden_core::{Decision, Digest, Outcome, ParamValue, Params, Subject, digest_parameter};
use std::collections::{BTreeMap, BTreeSet};

/// The rule of purchases, for policies with rules of origin.
pub const SHOP_ACTIONS: &str = include_str!("../../policies/shop-actions.toml");
/// The tool that buys.
const TOOL: &str = "buy";
/// The tool that the comparison is made with.
const SHOP: &str = "shop";
/// The step that compares.
const STEP: &str = "compare";
/// How many of the shop's own results are compared: its first page.
const COMPARED: usize = 10;

/// What the till says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The purchase may be made.
    Granted,
    /// A person would be asked.
    Confirm,
    /// It may not be made.
    Denied,
}

/// Asked before a purchase.
pub trait Till {
    /// Whether this product may be bought for what the user said.
    ///
    /// # Errors
    /// The store fails.
    fn leave(&self, request: &str, product: &Product, catalog: &Catalog) -> Result<Leave, ExperimentError>;
}

/// A till that asks nobody.
#[derive(Debug, Clone, Copy)]
pub struct Open;

impl Till for Open {
    fn leave(
        &self,
        _request: &str,
        _product: &Product,
        _catalog: &Catalog,
    ) -> Result<Leave, ExperimentError> {
        Ok(Leave::Granted)
    }
}

/// Whether nothing that the shop finds for the user's words, within the price, fits them better.
#[must_use]
pub fn compares_well(request: &str, product: &Product, catalog: &Catalog) -> bool {
    let said: Vec<String> = words(request).collect();
    let most = said.windows(2).find_map(|pair| match pair {
        [number, unit] if unit == "dollars" => Some(number.parse::<u64>().ok()? * 100),
        _ => None,
    });
    let affordable = |product: &Product| most.is_none_or(|most| product.cents <= most);
    let said: BTreeSet<String> = said.into_iter().collect();
    let fit = |product: &Product| {
        let title: BTreeSet<String> = words(&product.title()).collect();
        title.intersection(&said).count()
    };
    let found = catalog.search(request);
    let best = found
        .into_iter()
        .take(COMPARED)
        .filter(|found| affordable(found))
        .map(fit)
        .max();
    affordable(product) && best.is_some_and(|best| fit(product) >= best)
}

/// The till of one window.
#[derive(Debug)]
pub(super) struct Guarded<'w> {
    pub(super) window: &'w Handle,
    pub(super) step: &'w Handle,
    pub(super) namespace: &'w Namespace,
}

impl Till for Guarded<'_> {
    fn leave(&self, request: &str, product: &Product, catalog: &Catalog) -> Result<Leave, ExperimentError> {
        let context = self
            .window
            .context()
            .ok_or_else(|| ExperimentError::Unexpected("a purchase without a window".to_owned()))?;
        let outcome = if compares_well(request, product, catalog) {
            Outcome::Passed
        } else {
            Outcome::Failed
        };
        let subjects = [
            subject("goal", request.to_owned(), request),
            subject("listing", product.id.to_string(), &format!("{product:?}")),
        ];
        // What the shop says of its own goods: never words that it was given.
        let output = match outcome {
            Outcome::Passed => vec![("listing".to_owned(), product.id.to_string())],
            _ => Vec::new(),
        };
        let mut values = BTreeMap::new();
        for subject in subjects {
            values.insert(
                digest_parameter(&subject.kind),
                ParamValue::String(subject.digest.to_string()),
            );
            values.insert(subject.kind.clone(), ParamValue::String(subject.id.clone()));
            self.step.receipt(&Executed {
                namespace: self.namespace.clone(),
                context,
                step: STEP.to_owned(),
                arguments: Digest::of(request.as_bytes()),
                subject,
                outcome,
                tool: Some(SHOP.to_owned()),
                output: output.clone(),
                life_us: None,
            })?;
        }
        let params = Params::new(values).map_err(|error| ExperimentError::Unexpected(error.to_string()))?;
        let authorized = self.window.authorize(self.namespace, TOOL, &params, None)?;
        let Some(permit) = authorized.permit else {
            return Ok(match authorized.decided.decision {
                Decision::Confirm => Leave::Confirm,
                Decision::Allow | Decision::Deny => Leave::Denied,
            });
        };
        self.step.redeem(permit, self.namespace, context, TOOL, &params)?;
        Ok(Leave::Granted)
    }
}

fn subject(kind: &str, id: String, bytes: &str) -> Subject {
    Subject {
        kind: kind.to_owned(),
        id,
        digest: Digest::of(bytes.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shop::Goal;
    use crate::split_mix::SplitMix64;

    #[test]
    fn what_fits_best_passes_and_what_is_dearer_or_fits_less_does_not() {
        let catalog = Catalog::generate(1).unwrap();
        let mut random = SplitMix64::new(9);
        let mut failed = 0;
        for product in catalog.products().iter().take(60) {
            let goal = Goal::about(product, &mut random);
            let fits = |product: &Product| compares_well(&goal.text, product, &catalog);
            let found = catalog.search(&goal.text);
            let within = |product: &&Product| goal.cents.is_none_or(|most| product.cents <= most);
            let best = found.into_iter().find(within).unwrap();
            assert!(fits(best), "{}: {}", goal.text, best.title());
            let other = catalog
                .products()
                .iter()
                .find(|other| other.category != product.category)
                .unwrap();
            assert!(!fits(other), "{}: {}", goal.text, other.title());
            let dear = Product {
                cents: u64::MAX,
                ..best.clone()
            };
            failed += usize::from(goal.cents.is_some());
            assert_eq!(fits(&dear), goal.cents.is_none(), "{}", goal.text);
        }
        assert!(failed > 20);
    }

    #[test]
    fn the_rule_of_purchases_goes_behind_the_preset_and_knows_the_tool() {
        let preset = memwarden::guard::PRESETS
            .iter()
            .find(|preset| preset.name == "warden")
            .unwrap();
        let policy = memwarden::guard::parse(&format!("{}{SHOP_ACTIONS}", preset.toml)).unwrap();
        let rule = policy.actions.iter().find(|rule| rule.tool == TOOL).unwrap();
        assert!(
            rule.requires
                .iter()
                .all(|needs| needs.step == STEP && needs.same_context)
        );
        assert_eq!(rule.requires.len(), 2);
    }
}
