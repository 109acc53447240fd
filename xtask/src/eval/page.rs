//! The figures of `eval` for people and for programs.

use super::rate::Rate;
use super::{Bar, FEWEST, Figures, SCORED, Scored, Wanted};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prints tables and bars.
pub(super) fn print(figures: &Figures, holdout: bool) {
    println!("Attacks kept back, by family (recall with 95 % interval)");
    println!("{}", table(&figures.attacks, "family", holdout));
    println!("Ordinary texts kept back, by kind (false alarms with 95 % interval)");
    println!("{}", table(&figures.benign, "kind", holdout));
    let mut variants = Table::new();
    variants
        .load_style(UTF8_FULL_CONDENSED)
        .set_header(["disguise", "texts", "kept back"]);
    for (name, rate) in &figures.variants {
        variants.add_row([(*name).to_owned(), rate.of.to_string(), rate.to_string()]);
    }
    println!("Our own attacks in disguise\n{variants}");
    if holdout {
        println!(
            "held out of tuning: recall, mean over families {:.1} % (tuned part: {:.1} %); ordinary texts {} (tuned \
             part: {}); hard negatives {} (tuned part: {})",
            figures.macro_recall(|family| family.held_out) * 100.0,
            figures.macro_recall(|family| family.tuned) * 100.0,
            figures.false_alarms(false, |kind| kind.held_out),
            figures.false_alarms(false, |kind| kind.tuned),
            figures.false_alarms(true, |kind| kind.held_out),
            figures.false_alarms(true, |kind| kind.tuned),
        );
    }
    for bar in figures.bars() {
        println!("{}", line(&bar));
    }
}

/// The same figures for programs; shares are parts of one.
pub(super) fn json(figures: &Figures) -> Value {
    let rate = |rate: Rate| {
        let (low, high) = if rate.of == 0 { (0.0, 0.0) } else { rate.interval() };
        json!({ "hits": rate.hits, "of": rate.of, "low": low, "high": high })
    };
    let group = |scored: &Scored| {
        json!({
            "name": scored.name,
            "class": scored.class,
            "all": rate(scored.all),
            "tuned": rate(scored.tuned),
            "held_out": rate(scored.held_out),
            "stages": scored.stages,
        })
    };
    let variant = |(name, found): &(&str, Rate)| json!({ "disguise": name, "all": rate(*found) });
    let bar = |bar: &Bar| json!({ "what": bar.what, "reached": bar.reached, "limit": bar.limit, "met": bar.is_met() });
    json!({
        "lists": memwarden::guard::lists_version(),
        "attacks": figures.attacks.iter().map(group).collect::<Vec<_>>(),
        "benign": figures.benign.iter().map(group).collect::<Vec<_>>(),
        "variants": figures.variants.iter().map(variant).collect::<Vec<_>>(),
        "macro_recall": {
            "all": figures.macro_recall(|family| family.all),
            "tuned": figures.macro_recall(|family| family.tuned),
            "held_out": figures.macro_recall(|family| family.held_out),
        },
        "bars": figures.bars().iter().map(bar).collect::<Vec<_>>(),
    })
}

/// Rates of each class, in order.
pub(super) fn by_class(groups: &[Scored]) -> BTreeMap<&str, Rate> {
    let mut classes: BTreeMap<&str, Rate> = BTreeMap::new();
    for group in groups {
        classes.entry(&group.class).or_default().join(group.all);
    }
    classes
}

fn table(groups: &[Scored], what: &str, holdout: bool) -> Table {
    let mut stages: Vec<&str> = groups
        .iter()
        .flat_map(|group| group.stages.keys().map(String::as_str))
        .collect();
    stages.sort_unstable();
    stages.dedup();
    let mut header = vec!["class", what, "texts", "kept back"];
    if holdout {
        header.push("held out");
    }
    header.extend(&stages);
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header);
    for group in groups {
        let averaged = SCORED.contains(&group.class.as_str()) && group.all.of >= FEWEST;
        let mark = if averaged { " *" } else { "" };
        let mut row = vec![
            group.class.clone(),
            format!("{}{mark}", group.name),
            group.all.of.to_string(),
            group.all.to_string(),
        ];
        if holdout {
            row.push(group.held_out.to_string());
        }
        let count = |stage: &&str| group.stages.get(*stage).copied().unwrap_or_default().to_string();
        row.extend(stages.iter().map(count));
        table.add_row(row);
    }
    for (class, rate) in by_class(groups) {
        let mut row = vec![
            class.to_owned(),
            "all".to_owned(),
            rate.of.to_string(),
            rate.to_string(),
        ];
        row.resize(row.len() + stages.len() + usize::from(holdout), String::new());
        table.add_row(row);
    }
    table
}

fn line(bar: &Bar) -> String {
    let word = match bar.wanted {
        Wanted::Found => "at least",
        Wanted::LeftAlone => "at most",
    };
    let state = if bar.is_met() {
        "met".to_owned()
    } else {
        format!("short by {:.2} %", (bar.reached - bar.limit).abs() * 100.0)
    };
    format!(
        "{}: {:.2} % (bar: {word} {:.0} %): {state}",
        bar.what,
        bar.reached * 100.0,
        bar.limit * 100.0
    )
}
