//! Orders with three listings: the best one within the budget.

use super::Quality;
use crate::split_mix::SplitMix64;
use memwarden_core::{Digest, Subject};
use std::fmt::Write as _;

/// Fewest listings within budget and stock that make a comparison.
const FEWEST: usize = 2;

/// The order and three lines `listing ID; price CENTS; rating TENTHS; warranty MONTHS; stock COUNT`.
pub(super) fn write(kind: &str, item: &str, quality: Quality, random: &mut SplitMix64) -> String {
    let budget = budget_of(kind);
    let number = item.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut text = format!("order {item} for {kind}; budget {budget}\n");
    for at in 1..=3 {
        let price = match quality {
            Quality::Good => budget / 2 + random.next() % (budget / 2),
            Quality::Faulty => budget + 100 + random.next() % budget,
        };
        let (rating, warranty) = (30 + random.next() % 20, 12 * (1 + random.next() % 3));
        let stock = 1 + random.next() % 9;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "listing L-{number}{at}; price {price}; rating {rating}; warranty {warranty}; stock {stock}"
        );
    }
    text
}

/// Cents, from the number before `EUR` in the goal.
fn budget_of(kind: &str) -> u64 {
    let mut words = kind.split_whitespace().rev();
    let euros = words
        .by_ref()
        .find(|word| *word == "EUR")
        .and_then(|_| words.next());
    euros.and_then(|euros| euros.parse::<u64>().ok()).unwrap_or(100) * 100
}

/// The listings, each with the digest of its line.
pub(super) fn listings(text: &str) -> Vec<Subject> {
    let lines = text.lines().filter(|line| line.starts_with("listing "));
    lines
        .filter_map(|line| {
            let id = line.strip_prefix("listing ")?.split(';').next()?;
            Some(Subject {
                kind: "listing".to_owned(),
                id: id.to_owned(),
                digest: Digest::of(line.as_bytes()),
            })
        })
        .collect()
}

/// Compares the listings on price, rating and warranty; the best is the one with the highest score.
pub(super) fn compare(text: &str) -> Result<Subject, String> {
    let budget = text
        .lines()
        .next()
        .and_then(|line| field(line, "budget"))
        .ok_or("the order has no budget")?;
    let mut scored: Vec<(u64, Subject)> = Vec::new();
    for (line, listing) in text.lines().skip(1).zip(listings(text)) {
        let of = |name| field(line, name).ok_or_else(|| format!("listing {} has no {name}", listing.id));
        let (price, rating, warranty, stock) = (of("price")?, of("rating")?, of("warranty")?, of("stock")?);
        if price <= budget && stock > 0 {
            let saved = (budget - price).saturating_mul(100) / budget.max(1);
            scored.push((2 * rating + warranty / 3 + saved / 2, listing));
        }
    }
    if scored.len() < FEWEST {
        return Err(format!(
            "{} listings fit the order: expected at least {FEWEST}",
            scored.len()
        ));
    }
    let best = scored
        .into_iter()
        .reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.map(|(_, listing)| listing)
        .ok_or_else(|| "nothing to compare".to_owned())
}

fn field(line: &str, name: &str) -> Option<u64> {
    line.split(';')
        .find_map(|part| part.trim().strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "order O-1 for a kettle under 40 EUR; budget 4000\n\
        listing L-11; price 3900; rating 41; warranty 12; stock 2\n\
        listing L-12; price 2900; rating 46; warranty 24; stock 1\n\
        listing L-13; price 4100; rating 49; warranty 36; stock 5\n";

    #[test]
    fn the_best_listing_within_budget_and_stock_wins() {
        assert_eq!(compare(PAGE).unwrap().id, "L-12");
        let sold_out = PAGE.replace("stock 1", "stock 0");
        assert!(compare(&sold_out).unwrap_err().contains("1 listings"));
        assert_eq!(budget_of("kettle under 40 EUR"), 4_000);
    }

    #[test]
    fn a_listing_is_known_by_the_digest_of_its_own_line() {
        let other = PAGE.replace("price 2900", "price 2901");
        let (one, two) = (listings(PAGE), listings(&other));
        assert_eq!(one[0], two[0]);
        assert_ne!(one[1].digest, two[1].digest);
    }
}
