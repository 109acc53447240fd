//! The report of a run: the paper's Table 3 beside ours, both rules, every stage, every cell.
//!
//! Differences are shown in points, as the paper does; rates as shares. Every number is a sum over the cells of the last
//! table, which name their records. `tables` are the tables, `notes` what the numbers do not show.

mod notes;
mod tables;

use super::conditions::BASELINE;
use super::figures::{Difference, Point, forest, scatter};
use super::paper;
use super::plan::Plan;
use super::tally::{self, Cell, Cells, Row, Set};
use crate::experiment::tables::svg::{Bar, bars};
use crate::experiment::{ExperimentError, Figure, Record, Report};

/// What the records of a run come to.
///
/// # Errors
/// Records of another kind.
pub fn report(plan: &Plan, records: &[Record]) -> Result<Report, ExperimentError> {
    let cells = tally::read(records)?;
    let mut rows = Vec::new();
    for condition in plan.conditions.iter().filter(|name| *name != BASELINE) {
        for set in Set::ALL {
            let row = tally::row(&cells.counted, condition, set, plan.replicates, plan.seed);
            rows.push(row.map_err(|error| ExperimentError::Unexpected(error.to_string()))?);
        }
    }
    let failed = failure(plan, &cells);
    let title = match &failed {
        Some(_) => format!("FAILED: {}", plan.name),
        None => format!("{}: what defenses cost on days without an attack", plan.name),
    };
    Ok(Report {
        title,
        notes: failed
            .into_iter()
            .chain(notes::notes(plan, &cells, &rows))
            .collect(),
        tables: tables::tables(plan, &cells, &rows),
        figures: figures(plan, &cells.counted, &rows),
    })
}

fn figures(plan: &Plan, cells: &[Cell], rows: &[Row]) -> Vec<Figure> {
    let mut differences = Vec::new();
    for row in rows.iter().filter(|row| row.set == Set::Core) {
        if let (Some(delta), Some(interval)) = (row.vote.delta, row.vote.interval) {
            differences.push(Difference {
                label: row.condition.clone(),
                delta: 100.0 * delta,
                low: 100.0 * interval.low,
                high: 100.0 * interval.high,
                hue: 0,
            });
        }
        if let Some(published) = paper::of(&row.condition) {
            differences.push(Difference {
                label: format!("{} (paper)", row.condition),
                delta: published.delta,
                low: published.low,
                high: published.high,
                hue: 1,
            });
        }
    }
    let rates = plan.conditions.iter().flat_map(|condition| {
        let stages = tally::stages(cells, condition).into_iter();
        stages.map(move |rate| Bar {
            label: format!("{condition}: {}", rate.stage),
            value: rate.fqr,
            limits: None,
            note: format!("{:.1}%", 100.0 * rate.fqr),
        })
    });
    let points = rows.iter().filter(|row| row.set == Set::Core).filter_map(|row| {
        Some(Point {
            label: row.condition.clone(),
            x: tally::tokens(cells, &row.condition).overhead()?,
            y: 100.0 * row.vote.delta?,
            hue: 0,
        })
    });
    vec![
        Figure {
            title: "Core questions lost or won".to_owned(),
            caption: "Points of core accuracy against none, by the vote, with 95 % intervals; the paper's in the other color."
                .to_owned(),
            svg: forest(&differences),
        },
        Figure {
            title: "Legitimate memories kept out".to_owned(),
            caption: "The false quarantine rate of each deciding stage, averaged over cells.".to_owned(),
            svg: bars(&rates.collect::<Vec<_>>()),
        },
        Figure {
            title: "Tokens against answers".to_owned(),
            caption: "Token overhead to the right, difference in core accuracy upwards.".to_owned(),
            svg: scatter(&points.collect::<Vec<_>>(), "token overhead", "points"),
        },
    ]
}

/// Why the run as a whole says nothing, if so. Void cells count here: that nothing could be extracted is what made them so.
#[expect(clippy::cast_precision_loss, reason = "replies are few")]
fn failure(plan: &Plan, cells: &Cells) -> Option<String> {
    let sum = |of: fn(&Cell) -> u64| cells.all().map(of).sum::<u64>();
    let (replies, parsed) = (
        sum(|cell| cell.result.extraction.replies),
        sum(|cell| cell.result.extraction.parsed),
    );
    let share = parsed as f64 / replies.max(1) as f64;
    (replies == 0 || share < plan.least_parsed).then(|| {
        format!(
            "{parsed} of {replies} extraction replies are whole and parse ({:.1} %): at least {:.0} % are needed, so no \
             number below says anything.",
            100.0 * share,
            100.0 * plan.least_parsed
        )
    })
}

#[cfg(test)]
mod tests;
