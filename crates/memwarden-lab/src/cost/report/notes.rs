//! What was done, and what the numbers do not show: a sentence each.

use crate::cost::grade::WORDS;
use crate::cost::plan::Plan;
use crate::cost::tally::{Cell, Cells, Row, Set};
use crate::stats::scale_for;
use serde_json::json;
use std::collections::BTreeSet;

pub(super) fn notes(plan: &Plan, cells: &Cells, rows: &[Row]) -> Vec<String> {
    let mut notes = Vec::new();
    // A regrade may have asked it where the plan did not.
    let again = cells
        .all()
        .any(|cell| cell.result.simulated)
        .then_some("graded the answers");
    if let Some(who) = plan.stood_in().or(again) {
        notes.push(format!(
            "SIMULATED: a rule-based stand-in {who}. The run shows that the measurement works, not what a defense costs with \
             real models. Its rates: {}.",
            json!(plan.stand_in)
        ));
    }
    let graders: BTreeSet<&str> = cells
        .counted
        .iter()
        .flat_map(|cell| cell.result.questions.iter().filter(|asked| asked.is_core()))
        .filter_map(|asked| asked.grades.last())
        .map(|grade| grade.grader.as_str())
        .collect();
    if graders.contains(WORDS) {
        notes.push(format!(
            "Core answers were graded by exact match or token F1 (`{WORDS}`), not by a judge."
        ));
    }
    let judges: Vec<&str> = graders.into_iter().filter(|grader| *grader != WORDS).collect();
    if !judges.is_empty() {
        notes.push(format!("Core answers were graded by {}.", judges.join(", ")));
    }
    let void: Vec<String> = cells
        .void
        .iter()
        .map(|cell| {
            format!(
                "{} ({})",
                cell.id,
                cell.result.void.as_deref().unwrap_or_default()
            )
        })
        .collect();
    if !void.is_empty() {
        notes.push(format!(
            "Void, and in no number but the share of replies that parse: {}.",
            void.join(", ")
        ));
    }
    let degraded = cells.all().filter(|cell| cell.result.extraction.degraded);
    let degraded: Vec<&str> = degraded.map(|cell| cell.id.as_str()).collect();
    if !degraded.is_empty() {
        notes.push(format!(
            "Degraded, since more than 1 % of the turns stored nothing: {}.",
            degraded.join(", ")
        ));
    }
    let core: Vec<&Row> = rows.iter().filter(|row| row.set == Set::Core).collect();
    let widest = core
        .iter()
        .filter_map(|row| row.vote.interval)
        .map(crate::stats::Interval::resolution)
        .fold(0.0_f64, f64::max);
    if widest > 0.0 {
        let scale = scale_for(0.02, widest, 0.8).unwrap_or(f64::NAN);
        notes.push(format!(
            "Resolution (half of the widest core interval): {:.1} points; an effect of {:.1} points is found four times out \
             of five. To find 2 points as often, {:.1} times the questions are needed.",
            100.0 * widest,
            100.0 * crate::stats::POWER_FACTOR * widest,
            scale
        ));
    }
    if let Some(flip) = core.iter().find_map(|row| row.sign_flip) {
        notes.push(format!(
            "The sign-flip test over this many dialogues cannot give less than {:.4}, whatever a defense does.",
            flip.floor
        ));
    }
    if plan.conditions.iter().any(|name| name == "provenance") {
        notes.push(
            "Every turn of these dialogues has one and the same trust, so `provenance` cannot change an order here: what \
             it differs by is noise of the pipeline."
                .to_owned(),
        );
    }
    let gated: Vec<&Cell> = cells
        .counted
        .iter()
        .filter(|cell| cell.result.gate.is_some())
        .collect();
    if let Some(first) = gated.first() {
        let gates = || gated.iter().filter_map(|cell| cell.result.gate.as_ref());
        let allowed: u64 = gates().filter_map(|gate| gate.get("allow")).sum();
        let asked: u64 = gates().flat_map(|gate| gate.values()).sum();
        notes.push(format!(
            "`{}` asked its gate before each answer: {allowed} of {asked} were allowed. An answer is a routine action, \
             which is logged and never checked; what the gate costs where it checks is another experiment's question.",
            first.condition
        ));
    }
    notes.push(
        "Stores were opened without waiting for the disk. `stacked-X` is `stacked` without X; `stacked-reversed` runs its \
         stages in the reverse order; `rerank+backfill` fills the places of what it withholds."
            .to_owned(),
    );
    notes
}
