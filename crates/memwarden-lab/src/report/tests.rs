//! What the page shows, and that no text in it can become markup.

use super::*;
use expect_test::expect;

fn row(policy: &str, attack: &str, domain: Option<&str>, forged_admitted: u64, share: f64) -> DemoRow {
    DemoRow {
        policy: policy.to_owned(),
        attack: attack.to_owned(),
        domain: domain.map(str::to_owned),
        forged_written: 23,
        forged_admitted,
        forged_share_top_k: share,
        honest_written: 85,
        honest_lost: if policy == "keyword" { 9 } else { 0 },
    }
}

fn small_report() -> DemoReport {
    DemoReport {
        title: "Memory under attack".to_owned(),
        summary: "Three agents & one attacker.".to_owned(),
        k: 5,
        rows: vec![
            row("off", "full", Some("ehr"), 23, 1.0),
            row("keyword", "full", Some("ehr"), 23, 0.84),
            row("warden", "full", Some("ehr"), 0, 0.0),
            row("off", "naive", None, 23, 0.6),
        ],
        agents: Vec::new(),
        attacks: Vec::new(),
        tamper: TamperOutcome {
            edit: "One row of the database file was changed with another program.".to_owned(),
            original: "Batch rejected.".to_owned(),
            edited: "Batch imported.".to_owned(),
            verdict: TamperVerdict::Refused,
            said: vec!["recall: 1 entry withheld".to_owned()],
        },
        limits: vec!["The agents are simulated.".to_owned()],
        date: "2026-12-01".to_owned(),
        commit: "0123abc".to_owned(),
        version: "0.1.0".to_owned(),
    }
}

/// The page from the headline on, without the style sheet.
fn body(report: &DemoReport) -> String {
    let page = report.to_html();
    let (_, body) = page.split_once("<body>\n").unwrap();
    body.to_owned()
}

#[test]
fn a_small_report_looks_like_this() {
    expect![[r#"
        <h1>Memory under attack</h1>
        <p>Three agents &amp; one attacker.</p>
        <h2>Published policies at a glance</h2>
        <div class="cards">
        <section class="card"><h3>off</h3><dl><dt>Forged in the top 5, worst attack</dt><dd>100%</dd><dt>Forged entries admitted</dt><dd>100%</dd><dt>Honest entries lost</dt><dd>0%</dd></dl></section>
        <section class="card"><h3>keyword</h3><dl><dt>Forged in the top 5, worst attack</dt><dd>84.0%</dd><dt>Forged entries admitted</dt><dd>100%</dd><dt>Honest entries lost</dt><dd>10.6%</dd></dl></section>
        <section class="card"><h3>warden</h3><dl><dt>Forged in the top 5, worst attack</dt><dd>0%</dd><dt>Forged entries admitted</dt><dd>0%</dd><dt>Honest entries lost</dt><dd>0%</dd></dl></section>
        </div>
        <h2>Forged entries among the 5 that a recall returns</h2>
        <p class="soft">A full bar means that everything the agent read was forged.</p>
        <div class="charts">
        <section class="card"><h3>full on ehr</h3>
        <div class="bar"><span>off</span><span class="value">100%</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10"/><rect class="share" width="100.0" height="10"/></svg><span class="soft">23 of 23 forged admitted, 0 of 85 honest lost</span></div>
        <div class="bar"><span>keyword</span><span class="value">84.0%</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10"/><rect class="share" width="84.0" height="10"/></svg><span class="soft">23 of 23 forged admitted, 9 of 85 honest lost</span></div>
        <div class="bar"><span>warden</span><span class="value">0%</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10"/><rect class="share" width="0.0" height="10"/></svg><span class="soft">0 of 23 forged admitted, 0 of 85 honest lost</span></div>
        </section>
        <section class="card"><h3>naive</h3>
        <div class="bar"><span>off</span><span class="value">60.0%</span><svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="10"/><rect class="share" width="60.0" height="10"/></svg><span class="soft">23 of 23 forged admitted, 0 of 85 honest lost</span></div>
        </section>
        </div>
        <h2>All numbers of the published policies</h2>
        <div class="scroll"><table>
        <thead><tr><th>Attack</th><th>Agent</th><th>Policy</th><th class="number">Forged written</th><th class="number">Forged admitted</th><th class="number">Forged in top&nbsp;5</th><th class="number">Honest written</th><th class="number">Honest lost</th></tr></thead>
        <tbody>
        <tr><td>full</td><td>ehr</td><td>off</td><td class="number">23</td><td class="number">23</td><td class="number">100%</td><td class="number">85</td><td class="number">0</td></tr>
        <tr><td>full</td><td>ehr</td><td>keyword</td><td class="number">23</td><td class="number">23</td><td class="number">84.0%</td><td class="number">85</td><td class="number">9</td></tr>
        <tr><td>full</td><td>ehr</td><td>warden</td><td class="number">23</td><td class="number">0</td><td class="number">0%</td><td class="number">85</td><td class="number">0</td></tr>
        <tr><td>naive</td><td>all</td><td>off</td><td class="number">23</td><td class="number">23</td><td class="number">60.0%</td><td class="number">85</td><td class="number">0</td></tr>
        </tbody></table></div>
        <h2>What happened when a row was edited behind the store&#39;s back</h2>
        <section class="card">
        <p>One row of the database file was changed with another program.</p>
        <p class="soft">Written</p>
        <blockquote>Batch rejected.</blockquote>
        <p class="soft">Put in its place</p>
        <blockquote>Batch imported.</blockquote>
        <p class="verdict refused">Refused: the edited row was not served.</p>
        <pre>recall: 1 entry withheld</pre>
        </section>
        <h2>What this does not show</h2>
        <ul>
        <li>The agents are simulated.</li>
        </ul>
        <footer class="soft">Made on 2026-12-01 by memwarden 0.1.0, commit 0123abc.</footer>
        </body>
        </html>
    "#]].assert_eq(&body(&small_report()));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let page = small_report().to_html();
    for outside in [
        "http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn hostile_text_in_any_field_stays_text() {
    let hostile = "</title></style><script>alert(1)</script><img src=x onerror='a()'>\" onload=\"b()&lt;\u{202e}\u{1b}[2J";
    let plain = report_with_agents();
    let text = || hostile.to_owned();
    let report = DemoReport {
        title: text(),
        summary: text(),
        k: plain.k,
        rows: plain
            .rows
            .iter()
            .map(|row| DemoRow {
                policy: format!("{}{hostile}", row.policy),
                attack: format!("{}{hostile}", row.attack),
                domain: row.domain.as_ref().map(|_| text()),
                ..row.clone()
            })
            .collect(),
        agents: plain
            .agents
            .iter()
            .map(|row| AgentRow {
                policy: format!("{}{hostile}", row.policy),
                attack: format!("{}{hostile}", row.attack),
                grant: row.grant.as_ref().map(|grant| format!("{grant}{hostile}")),
                mechanism_off: row.mechanism_off.as_ref().map(|_| text()),
                ..row.clone()
            })
            .collect(),
        attacks: vec![(text(), text())],
        tamper: TamperOutcome {
            edit: text(),
            original: text(),
            edited: text(),
            verdict: TamperVerdict::Refused,
            said: vec![text()],
        },
        limits: vec![text()],
        date: text(),
        commit: text(),
        version: text(),
    };
    let tags = |page: &str| -> Vec<String> {
        page.split('<')
            .skip(1)
            .map(|tag| tag.split_once('>').unwrap().0.to_owned())
            .collect()
    };
    let page = report.to_html();
    assert_eq!(
        tags(&page),
        tags(&plain.to_html()),
        "the markup is that of a harmless report"
    );
    assert!(page.contains("&lt;script&gt;") && page.contains("[U+202E][U+001B]"));
    assert!(!page.contains(['\u{202e}', '\u{1b}']));
}

#[test]
fn a_percentage_rounds_neither_to_nothing_nor_to_all() {
    let shown = |share| Percent(share).to_string();
    assert_eq!(
        [0.0, 0.0001, 0.125, 0.9999, 1.0].map(|share| shown(Some(share))),
        ["0%", "0.1%", "12.5%", "99.9%", "100%"]
    );
    assert_eq!(shown(None), "–");
}

#[test]
fn what_is_no_share_is_shown_as_unknown() {
    for bad in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
        let mut report = small_report();
        report.rows = vec![row("off", "full", None, 1, bad)];
        assert!(body(&report).contains("<span class=\"value\">–</span>"), "{bad}");
        assert!(
            !body(&report).contains("NaN") && !body(&report).contains("inf\""),
            "{bad}"
        );
    }
}

#[test]
fn each_verdict_on_the_edited_row_reads_differently() {
    let said = |verdict| {
        let mut report = small_report();
        report.tamper.verdict = verdict;
        body(&report)
    };
    assert!(said(TamperVerdict::Refused).contains("was not served"));
    assert!(said(TamperVerdict::Reported).contains("a separate check noticed"));
    assert!(said(TamperVerdict::Accepted).contains("nothing noticed"));
}

fn agent_row(policy: &str, attack: &str, grant: Option<&str>, off: Option<&str>, wrong: u64) -> AgentRow {
    AgentRow {
        policy: policy.to_owned(),
        attack: attack.to_owned(),
        grant: grant.map(str::to_owned),
        mechanism_off: off.map(str::to_owned),
        power: Some(grant != Some("rows")),
        forged_written: 23,
        forged_admitted: 23,
        forged_share_top_k: 0.5,
        honest_written: 85,
        honest_lost: 0,
        chances: 27,
        wrong_actions: wrong,
        wrong_confirmed: 1,
        actions: 60,
        honest_actions: 42,
        honest_refused: 0,
        honest_confirmed: 0,
        tasks: 42,
        tasks_completed: 42,
        legitimate_skips: 15,
        skips_allowed: 15,
        untrusted_contexts: 30,
        receipts_refused: 0,
        tamper_refused: if grant == Some("rows") { 3 } else { 0 },
        label_creep: Some(0.25),
        review_load: 2.0,
    }
}

fn report_with_agents() -> DemoReport {
    DemoReport {
        agents: vec![
            agent_row("off", "full", Some("plugin"), None, 24),
            agent_row("off", "full", Some("rows"), None, 0),
            agent_row("warden", "full", Some("plugin"), None, 0),
            agent_row("warden", "full", Some("rows"), None, 0),
            agent_row("warden", "expired receipt", None, None, 0),
            agent_row("warden", "expired receipt", None, Some("receipt expiry"), 3),
        ],
        attacks: vec![("expired receipt".to_owned(), "rests on an old check".to_owned())],
        ..small_report()
    }
}

#[test]
fn the_agents_are_called_simulated_and_a_zero_without_power_is_marked() {
    let body = body(&report_with_agents());
    let (agents, _) = body
        .split_once("<h2>Published policies at a glance</h2>")
        .unwrap();
    assert_eq!(agents.matches("<table>").count(), 2);
    assert_eq!(agents.matches("<th>Simulated attack</th>").count(), 2);
    assert!(agents.contains("accepted\">24 of 27<") && agents.contains("soft\">0 of 27<"));
    assert!(agents.contains("no power: edits refused"));
    let line = agents
        .lines()
        .find(|line| line.contains("expired receipt"))
        .unwrap();
    assert!(
        line.contains("rests on an old check") && line.contains("receipt expiry"),
        "{line}"
    );
    assert!(line.contains("0 of 27") && line.contains("3 of 27"), "{line}");
    assert!(agents.contains("label creep 25.0%"));
}
