//! The report of the demo as one HTML page that needs nothing else: no script, no font, no image, no network.
//!
//! It measures nothing and judges nothing; it shows the numbers that it is given.

mod agents;
mod escape;

use escape::Text;
use std::fmt::{self, Write as _};

pub use agents::{AgentRow, held};
#[cfg(feature = "full")]
pub(crate) use escape::Text as Escaped;

/// The look of every page.
const STYLE: &str = include_str!("style.css");

/// What one policy did under one attack.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoRow {
    /// Name of the policy.
    pub policy: String,
    /// Name of the attack.
    pub attack: String,
    /// The agent that was attacked, if the numbers are of one agent only.
    pub domain: Option<String>,
    /// Forged entries that the attacker wrote.
    pub forged_written: u64,
    /// Of these, the ones that the policy admitted.
    pub forged_admitted: u64,
    /// Share of forged entries among the k that a recall returned, 0 to 1.
    pub forged_share_top_k: f64,
    /// Honest entries written.
    pub honest_written: u64,
    /// Of these, the ones that the policy kept from later recalls.
    pub honest_lost: u64,
}

/// What became of a row that was changed in the database file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TamperVerdict {
    /// A recall refused the row.
    Refused,
    /// Recalls returned it; only a separate check noticed.
    Reported,
    /// Nothing noticed.
    Accepted,
}

/// What happened when a row was edited behind the store's back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TamperOutcome {
    /// What was done, in a sentence.
    pub edit: String,
    /// The text as it was written.
    pub original: String,
    /// The text that was put in its place.
    pub edited: String,
    /// What became of it.
    pub verdict: TamperVerdict,
    /// What the recall and the verifier said, in order.
    pub said: Vec<String>,
}

/// Everything that the page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoReport {
    /// Headline.
    pub title: String,
    /// What was done, in a few sentences.
    pub summary: String,
    /// How many entries a recall returned.
    pub k: usize,
    /// The numbers, in the order in which they are shown.
    pub rows: Vec<DemoRow>,
    /// What the simulated agents did.
    pub agents: Vec<AgentRow>,
    /// The attacks on the rules of origin, each with a sentence about it.
    pub attacks: Vec<(String, String)>,
    /// The edit behind the store's back.
    pub tamper: TamperOutcome,
    /// What the numbers do not show, one sentence each.
    pub limits: Vec<String>,
    /// When it was made.
    pub date: String,
    /// The commit of the program.
    pub commit: String,
    /// The version of the program.
    pub version: String,
}

/// A page up to its headline. It forbids scripts and network access to itself; `style` comes after the common one.
pub(crate) fn begin(page: &mut String, title: &str, style: &str) -> fmt::Result {
    let title = Text(title);
    writeln!(
        page,
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
{STYLE}{style}</style>
</head>
<body>
<h1>{title}</h1>"#
    )
}

impl DemoReport {
    /// The page.
    ///
    /// Every string of the report is escaped; the page also forbids scripts and network access to itself
    /// with a content security policy.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut page);
        page
    }

    fn write(&self, page: &mut String) -> fmt::Result {
        begin(page, &self.title, "")?;
        writeln!(page, "<p>{}</p>", Text(&self.summary))?;
        agents::write(page, &self.agents, &self.attacks)?;
        self.policies(page)?;
        self.charts(page)?;
        self.table(page)?;
        self.tamper.write(page)?;
        if !self.limits.is_empty() {
            writeln!(page, "<h2>What this does not show</h2>\n<ul>")?;
            for limit in &self.limits {
                writeln!(page, "<li>{}</li>", Text(limit))?;
            }
            writeln!(page, "</ul>")?;
        }
        writeln!(
            page,
            "<footer class=\"soft\">Made on {} by memwarden {}, commit {}.</footer>\n</body>\n</html>",
            Text(&self.date),
            Text(&self.version),
            Text(&self.commit)
        )
    }

    /// One card for each policy: its worst attack and its cost.
    fn policies(&self, page: &mut String) -> fmt::Result {
        writeln!(
            page,
            "<h2>Published policies at a glance</h2>\n<div class=\"cards\">"
        )?;
        for policy in distinct(self.rows.iter().map(|row| row.policy.as_str())) {
            let of_policy = || self.rows.iter().filter(|row| row.policy == policy);
            let worst = of_policy()
                .map(DemoRow::share)
                .fold(None, |worst: Option<f64>, share| match share {
                    Some(share) => Some(worst.map_or(share, |worst| worst.max(share))),
                    None => worst,
                });
            writeln!(
                page,
                "<section class=\"card\"><h3>{}</h3><dl>\
                 <dt>Forged in the top {}, worst attack</dt><dd>{}</dd>\
                 <dt>Forged entries admitted</dt><dd>{}</dd>\
                 <dt>Honest entries lost</dt><dd>{}</dd></dl></section>",
                Text(policy),
                self.k,
                Percent(worst),
                Percent(ratio(
                    of_policy().map(|row| row.forged_admitted),
                    of_policy().map(|row| row.forged_written)
                )),
                Percent(ratio(
                    of_policy().map(|row| row.honest_lost),
                    of_policy().map(|row| row.honest_written)
                )),
            )?;
        }
        writeln!(page, "</div>")
    }

    /// One chart for each attack, one bar for each policy.
    fn charts(&self, page: &mut String) -> fmt::Result {
        writeln!(
            page,
            "<h2>Forged entries among the {} that a recall returns</h2>\n\
             <p class=\"soft\">A full bar means that everything the agent read was forged.</p>\n\
             <div class=\"charts\">",
            self.k
        )?;
        for (attack, domain) in distinct(self.rows.iter().map(DemoRow::group)) {
            let on = domain.map_or_else(String::new, |domain| format!(" on {}", Text(domain)));
            writeln!(page, "<section class=\"card\"><h3>{}{on}</h3>", Text(attack))?;
            for row in self.rows.iter().filter(|row| row.group() == (attack, domain)) {
                row.bar(page)?;
            }
            writeln!(page, "</section>")?;
        }
        writeln!(page, "</div>")
    }

    fn table(&self, page: &mut String) -> fmt::Result {
        writeln!(
            page,
            "<h2>All numbers of the published policies</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>Attack</th><th>Agent</th>\
             <th>Policy</th><th class=\"number\">Forged written</th><th class=\"number\">Forged admitted</th>\
             <th class=\"number\">Forged in top&nbsp;{}</th><th class=\"number\">Honest written</th>\
             <th class=\"number\">Honest lost</th></tr></thead>\n<tbody>",
            self.k
        )?;
        for row in &self.rows {
            write!(
                page,
                "<tr><td>{}</td><td>{}</td><td>{}</td>",
                Text(&row.attack),
                Text(row.domain.as_deref().unwrap_or("all")),
                Text(&row.policy)
            )?;
            for number in [
                row.forged_written.to_string(),
                row.forged_admitted.to_string(),
                Percent(row.share()).to_string(),
                row.honest_written.to_string(),
                row.honest_lost.to_string(),
            ] {
                write!(page, "<td class=\"number\">{number}</td>")?;
            }
            writeln!(page, "</tr>")?;
        }
        writeln!(page, "</tbody></table></div>")
    }
}

impl DemoRow {
    fn group(&self) -> (&str, Option<&str>) {
        (&self.attack, self.domain.as_deref())
    }

    /// The share, none if what was given is not a share.
    fn share(&self) -> Option<f64> {
        (0.0..=1.0)
            .contains(&self.forged_share_top_k)
            .then_some(self.forged_share_top_k)
    }

    fn bar(&self, page: &mut String) -> fmt::Result {
        let share = Percent(self.share());
        writeln!(
            page,
            "<div class=\"bar\"><span>{}</span><span class=\"value\">{share}</span>\
             <svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
             <rect class=\"track\" width=\"100\" height=\"10\"/>\
             <rect class=\"share\" width=\"{:.1}\" height=\"10\"/></svg>\
             <span class=\"soft\">{} of {} forged admitted, {} of {} honest lost</span></div>",
            Text(&self.policy),
            100.0 * self.share().unwrap_or_default(),
            self.forged_admitted,
            self.forged_written,
            self.honest_lost,
            self.honest_written,
        )
    }
}

impl TamperOutcome {
    fn write(&self, page: &mut String) -> fmt::Result {
        let (class, verdict) = match self.verdict {
            TamperVerdict::Refused => ("refused", "Refused: the edited row was not served."),
            TamperVerdict::Reported => (
                "reported",
                "Reported: the edited row was served, a separate check noticed.",
            ),
            TamperVerdict::Accepted => (
                "accepted",
                "Accepted: the edited row was served and nothing noticed.",
            ),
        };
        writeln!(
            page,
            "<h2>What happened when a row was edited behind the store&#39;s back</h2>\n<section class=\"card\">\n\
             <p>{}</p>\n<p class=\"soft\">Written</p>\n<blockquote>{}</blockquote>\n\
             <p class=\"soft\">Put in its place</p>\n<blockquote>{}</blockquote>\n\
             <p class=\"verdict {class}\">{verdict}</p>",
            Text(&self.edit),
            Text(&self.original),
            Text(&self.edited)
        )?;
        for line in &self.said {
            writeln!(page, "<pre>{}</pre>", Text(line))?;
        }
        writeln!(page, "</section>")
    }
}

/// A share from 0 to 1 as a percentage, a dash if there is none. Only nothing prints as 0 and only all as 100.
#[derive(Debug, Clone, Copy)]
struct Percent(Option<f64>);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("–"),
            Some(share) if share <= 0.0 => f.write_str("0%"),
            Some(share) if share >= 1.0 => f.write_str("100%"),
            Some(share) => write!(f, "{:.1}%", (100.0 * share).clamp(0.1, 99.9)),
        }
    }
}

fn ratio(part: impl Iterator<Item = u64>, whole: impl Iterator<Item = u64>) -> Option<f64> {
    share_of(
        part.fold(0, u64::saturating_add),
        whole.fold(0, u64::saturating_add),
    )
}

#[expect(clippy::cast_precision_loss, reason = "counts of a demo are far below 2^52")]
fn share_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The items without repetitions, in the order of their first appearance.
fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

#[cfg(test)]
mod tests;
