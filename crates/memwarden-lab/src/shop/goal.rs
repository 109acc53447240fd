//! What a user wants, in the user's words, and how far a purchase is from it.

use super::catalog::{Catalog, Product};
use super::search::words;
use crate::split_mix::SplitMix64;
use std::collections::{BTreeMap, BTreeSet};

/// Of so many goals one names a brand.
const NAMES_A_BRAND: u64 = 6;
/// Of so many goals one names no price.
const NAMES_NO_PRICE: u64 = 4;

/// A goal of a purchase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal {
    /// What the user says: all that the agent knows of it.
    pub text: String,
    /// The noun of the category.
    pub category: String,
    /// The brand, if the user names one.
    pub brand: Option<String>,
    /// What it should be like.
    pub attributes: Vec<String>,
    /// What should be chosen.
    pub options: BTreeMap<String, String>,
    /// The most that it may cost.
    pub cents: Option<u64>,
}

impl Goal {
    /// The goal of a user who would be happy with `product`.
    #[must_use]
    pub(crate) fn about(product: &Product, random: &mut SplitMix64) -> Self {
        let brand = random
            .next()
            .is_multiple_of(NAMES_A_BRAND)
            .then(|| product.brand.clone());
        let asked = 1 + usize::from(random.next().is_multiple_of(2));
        let all: Vec<&str> = product.attributes.iter().map(String::as_str).collect();
        let attributes: Vec<String> = random
            .sample(&all, asked)
            .into_iter()
            .map(str::to_owned)
            .collect();
        let mut options = BTreeMap::new();
        for (name, values) in &product.options {
            if random.next().is_multiple_of(2)
                && let Some(value) = random.pick(values)
            {
                options.insert(name.clone(), value.clone());
            }
        }
        // Whole dollars, with some room above the price.
        let cents = (!random.next().is_multiple_of(NAMES_NO_PRICE))
            .then(|| (product.cents / 100 + 2 + random.next() % 10) * 100);
        let mut goal = Self {
            text: String::new(),
            category: product.category.clone(),
            brand,
            attributes,
            options,
            cents,
        };
        goal.text = goal.said(random);
        goal
    }

    /// `n` goals with different texts about a category, or about all of them; fewer if the catalog has not as many.
    #[must_use]
    pub fn sample(catalog: &Catalog, category: Option<&str>, n: usize, seed: u64) -> Vec<Self> {
        let products: Vec<&Product> = catalog
            .products()
            .iter()
            .filter(|product| category.is_none_or(|noun| product.category == noun))
            .collect();
        let mut random = SplitMix64::new(seed);
        let mut seen = BTreeSet::new();
        let mut goals = Vec::with_capacity(n);
        for _ in 0..n.saturating_mul(20) {
            let Some(product) = random.pick(&products) else {
                break;
            };
            let goal = Self::about(product, &mut random);
            if goals.len() < n && seen.insert(goal.text.clone()) {
                goals.push(goal);
            }
        }
        goals
    }

    fn said(&self, random: &mut SplitMix64) -> String {
        let openings = [
            "i need a",
            "i am looking for a",
            "i want to buy a",
            "im looking for a",
            "find me a",
            "i would like a",
        ];
        let opening = random.pick(&openings).copied().unwrap_or("i need a");
        let brand = self
            .brand
            .as_deref()
            .map_or(String::new(), |brand| format!("{} ", brand.to_lowercase()));
        let (before, after) = self
            .attributes
            .split_first()
            .map_or((String::new(), &[][..]), |(first, rest)| {
                (format!("{first} "), rest)
            });
        let mut text = format!("{opening} {before}{brand}{}", self.category);
        for attribute in after {
            text.push_str(&format!(" that is {attribute}"));
        }
        for (name, value) in &self.options {
            text.push_str(&match random.next() % 3 {
                0 => format!(", {name} {value}"),
                1 => format!(", in {value} {name}"),
                _ => format!(", and the {name} should be {value}"),
            });
        }
        if let Some(cents) = self.cents {
            let dollars = cents / 100;
            text.push_str(&match random.next() % 3 {
                0 => format!(", and price lower than {dollars} dollars"),
                1 => format!(", under {dollars} dollars"),
                _ => format!(", for less than {dollars} dollars"),
            });
        }
        text
    }

    /// How well a purchase serves the goal, 0 to 1: 0 for another category, else the share of what was asked for
    /// (brand, attributes, options, price) that it has. `WebShop` §3.3 without its match of titles.
    #[must_use]
    pub fn reward(&self, product: &Product, chosen: &BTreeMap<String, String>) -> f64 {
        if product.category != self.category {
            return 0.0;
        }
        let mut checks: Vec<bool> = Vec::new();
        checks.extend(self.brand.as_ref().map(|brand| *brand == product.brand));
        checks.extend(
            self.attributes
                .iter()
                .map(|wanted| product.attributes.contains(wanted)),
        );
        checks.extend(
            self.options
                .iter()
                .map(|(name, value)| chosen.get(name) == Some(value)),
        );
        checks.extend(self.cents.map(|most| product.cents <= most));
        let met = checks.iter().filter(|met| **met).count();
        if checks.is_empty() {
            1.0
        } else {
            met as f64 / checks.len() as f64
        }
    }

    /// Whether the user's words hold `word`.
    #[must_use]
    pub fn says(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        words(&self.text).any(|said| said == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goals(seed: u64) -> (Catalog, Vec<Goal>) {
        let catalog = Catalog::generate(1).unwrap();
        let goals = Goal::sample(&catalog, None, 200, seed);
        (catalog, goals)
    }

    #[test]
    fn a_perfect_product_gives_1_and_everything_that_is_wrong_takes_from_it() {
        let (catalog, _) = goals(1);
        let product = &catalog.products()[5];
        let goal = Goal {
            text: String::new(),
            category: product.category.clone(),
            brand: Some(product.brand.clone()),
            attributes: product.attributes[..2].to_vec(),
            options: BTreeMap::from([("color".to_owned(), "blue".to_owned())]),
            cents: Some(product.cents),
        };
        let chosen = goal.options.clone();
        let reward = |product: &Product, chosen: &BTreeMap<String, String>| goal.reward(product, chosen);
        assert!((reward(product, &chosen) - 1.0).abs() < 1e-12);
        let mut other = product.clone();
        other.brand = "Other".to_owned();
        assert!((reward(&other, &chosen) - 0.8).abs() < 1e-12);
        let mut dear = product.clone();
        dear.cents += 1;
        assert!((reward(&dear, &chosen) - 0.8).abs() < 1e-12);
        assert!((reward(product, &BTreeMap::new()) - 0.8).abs() < 1e-12);
        let mut kettle = product.clone();
        kettle.category = "kettle".to_owned();
        assert!(reward(&kettle, &chosen).abs() < 1e-12);
    }

    #[test]
    fn goals_differ_and_every_one_can_be_met() {
        let (catalog, goals) = goals(3);
        assert_eq!(goals.len(), 200);
        let texts: BTreeSet<&str> = goals.iter().map(|goal| goal.text.as_str()).collect();
        assert_eq!(texts.len(), 200);
        for goal in &goals {
            let best = catalog
                .products()
                .iter()
                .map(|product| goal.reward(product, &goal.options));
            assert!(best.fold(0.0, f64::max) > 0.999, "{}", goal.text);
        }
    }

    #[test]
    fn a_goal_says_all_that_it_is_judged_by() {
        let (_, goals) = goals(4);
        for goal in &goals {
            assert!(goal.says(&goal.category), "{}", goal.text);
            for said in goal.attributes.iter().chain(goal.options.values()) {
                assert!(goal.text.contains(said.as_str()), "{} {said}", goal.text);
            }
            assert_eq!(goal.cents.is_some(), goal.text.contains(" dollars"));
        }
        assert!(goals.iter().any(|goal| goal.brand.is_some()));
    }
}
