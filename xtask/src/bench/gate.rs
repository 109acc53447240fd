//! What the gate adds: a decision without its commit, and a recall in a context that lowers nothing.

use super::measure::{Bar, Figure, Rounds, Unit, ms};
use super::{Bench, RECORDS};
use crate::scratch;
use memwarden::core::{Digest, Outcome as Ended, ParamValue, Params, Subject};
use memwarden::{Entry, Executed, FieldValue, Handle, Namespace, Query, Role, Warden};
use miette::{IntoDiagnostic as _, Result, bail};
use std::collections::BTreeMap;
use std::time::Instant;

/// Longest median decision, beyond its commit.
const DECIDE_BELOW_MS: f64 = 0.2;
/// Most that a context may add to a recall that lowers nothing.
const CONTEXT_BELOW_RATIO: f64 = 1.05;

const POLICY: &str = r#"
name = "bench"
[[action]]
tool = "pay"
class = "sensitive"
control = ["invoice", "payee", "amount", "account", "currency"]
requires = [
  { step = "match", subject = "invoice" },
  { step = "limit", subject = "invoice" },
  { step = "screen", subject = "invoice" },
]
"#;

impl Bench<'_> {
    /// Loads a policy of its own into the store: runs last.
    pub(super) fn gate(&self) -> Result<Vec<Figure>> {
        eprintln!("bench: deciding");
        let warden = Warden::open(&scratch::places(self.trial)).into_diagnostic()?;
        let handle = |role| scratch::handle(self.trial, &warden, role).into_diagnostic();
        let (owner, agent, step) = (handle(Role::Owner)?, handle(Role::Agent)?, handle(Role::Step)?);
        owner
            .load_policy(&memwarden::guard::parse(POLICY).into_diagnostic()?)
            .into_diagnostic()?;
        let namespace = Namespace::default();
        let opened = agent.begin().into_diagnostic()?;
        let within = agent.within(&opened.token).into_diagnostic()?;
        let text = "please pay invoice 2026-0412, 99.50";
        owner.request(opened.context, text, None).into_diagnostic()?;
        let mut entry = Entry::new("ACME is paid to its usual account");
        for (name, value) in [("payee", "ACME"), ("account", "DE89-3704"), ("currency", "EUR")] {
            entry
                .fields
                .insert(name.to_owned(), FieldValue::String(value.to_owned()));
        }
        owner.remember(&namespace, entry).into_diagnostic()?;
        let digest = Digest::of(b"invoice");
        for name in ["match", "limit", "screen"] {
            let executed = Executed {
                namespace: namespace.clone(),
                context: opened.context,
                step: name.to_owned(),
                subject: Subject {
                    kind: "invoice".to_owned(),
                    id: "2026-0412".to_owned(),
                    digest,
                },
                arguments: Digest::of(b"{}"),
                outcome: Ended::Passed,
                tool: None,
                output: Vec::new(),
                life_us: None,
            };
            step.receipt(&executed).into_diagnostic()?;
        }
        let string = |text: &str| ParamValue::String(text.to_owned());
        let params = Params::new(BTreeMap::from([
            ("invoice".to_owned(), string("2026-0412")),
            ("invoice_sha256".to_owned(), string(&digest.to_string())),
            ("payee".to_owned(), string("ACME")),
            ("amount".to_owned(), ParamValue::Number(99.5)),
            ("account".to_owned(), string("DE89-3704")),
            ("currency".to_owned(), string("EUR")),
        ]))
        .into_diagnostic()?;
        let decided = within.explain(&namespace, "pay", &params).into_diagnostic()?;
        if !decided.reasons.is_empty() {
            bail!("the action that shall be allowed is not: {:?}", decided.reasons);
        }
        let times = self.each(|| within.explain(&namespace, "pay", &params).map(|_| ()))?;
        let ours = Rounds::new(Unit::Milliseconds, times);
        let decide = Figure {
            what: format!("decide, 3 receipts and 5 parameters, {RECORDS} records, without the commit"),
            bars: vec![Bar::below("decide", &ours, DECIDE_BELOW_MS)],
            ours,
            theirs: None,
            ratio: None,
        };
        Ok(vec![decide, self.in_context(&agent, &within, &namespace)?])
    }

    /// The same recall with and without a context, in turns.
    fn in_context(&self, plain: &Handle, within: &Handle, namespace: &Namespace) -> Result<Figure> {
        let query = |n| {
            let text = self.texts.text(n);
            Query::new(text.split_whitespace().take(5).collect::<Vec<_>>().join(" "))
        };
        // Both labels fall once, before anything is measured.
        for handle in [plain, within] {
            handle.recall(namespace, &query(0)).into_diagnostic()?;
        }
        let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..u64::from(self.rounds) {
            let mut taken = [0.0; 2];
            for n in 0..100 {
                for (handle, total) in [within, plain].into_iter().zip(&mut taken) {
                    let query = query(1 + round * 100 + n);
                    let started = Instant::now();
                    handle.recall(namespace, &query).into_diagnostic()?;
                    *total += ms(started.elapsed());
                }
            }
            let [with, without] = taken;
            ours.push(with / 100.0);
            theirs.push(without / 100.0);
            ratios.push(with / without);
        }
        let ratio = Rounds::new(Unit::Ratio, ratios);
        Ok(Figure {
            what: "recall in a context that lowers nothing, against one without".to_owned(),
            bars: vec![Bar::below("context", &ratio, CONTEXT_BELOW_RATIO)],
            ours: Rounds::new(Unit::Milliseconds, ours),
            theirs: Some(Rounds::new(Unit::Milliseconds, theirs)),
            ratio: Some(ratio),
        })
    }

    fn each(&self, mut run: impl FnMut() -> Result<(), memwarden::WardenError>) -> Result<Vec<f64>> {
        let count = if self.quick { 200 } else { 2_000 };
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let started = Instant::now();
            run().into_diagnostic()?;
            times.push(ms(started.elapsed()));
        }
        Ok(times)
    }
}
