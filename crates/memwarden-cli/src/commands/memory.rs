//! The verbs of every day: init, remember, recall, history, status.

use crate::args::{Global, Remember, RetrievalArg};
use crate::failure::Failure;
use crate::{Outcome, output, policy_source, session, strict, wire};
use memwarden::{
    Entry, FieldValue, Kind, Query, RecordId, Retrieval, Role, Status, StoreStatus, Verdict, Warden,
    WriteOptions, credential_path,
};
use serde_json::json;
use std::io::Read as _;

pub(super) fn init(global: &Global, policy: &str) -> Result<Outcome, Failure> {
    let places = session::places(global)?;
    let policy = policy_source::named(policy)?;
    let made = Warden::init(&places, &policy)?;
    if global.json {
        output::json(&json!({
            "store": made.store.to_string(),
            "directory": places.store,
            "keys": made.keys,
            "witness": made.witness,
            "verifier_key": made.verifier_key,
            "policy": policy.name,
        }))?;
        return Ok(Outcome::Clean);
    }
    output::line(&format!(
        "store        {} at {}",
        made.store,
        places.store.display()
    ))?;
    output::line(&format!("policy       {}", policy.name))?;
    for role in [Role::Owner, Role::Agent, Role::Step] {
        output::line(&format!(
            "{:<12} {}",
            role.as_str(),
            credential_path(&made.keys, role).display()
        ))?;
    }
    output::line(&format!("witness      {}", made.witness.display()))?;
    output::line(&format!("verifier key {}", made.verifier_key))?;
    output::line(
        "\nHand the verifier key to whoever shall verify; keep the owner's credential away from agents.",
    )?;
    Ok(Outcome::Clean)
}

pub(super) fn remember(global: &Global, args: &Remember) -> Result<Outcome, Failure> {
    let entry = entry(args)?;
    let handle = session::handle(global, Role::Agent)?;
    let options = WriteOptions {
        supersedes: args.supersedes,
        ..WriteOptions::default()
    };
    let remembered = handle.remember_with(&global.namespace, entry, &options)?;
    if global.json {
        output::json(&wire::remembered(&remembered))?;
    } else {
        output::line(&format!(
            "{} {} as {} (authority {}, log entry {})",
            remembered.verdict, remembered.id, remembered.status, remembered.written, remembered.position
        ))?;
        if let Some(old) = remembered.proposal_for {
            output::line(&format!(
                "stored beside {old} as a proposal: a stronger principal wrote that record"
            ))?;
        }
        if let Some(original) = remembered.original {
            output::line(&format!("the text as it came is quarantined as {original}"))?;
        }
        for finding in &remembered.findings {
            output::line(&format!(
                "  {} {}: {}",
                finding.stage,
                finding.severity,
                output::cell(&finding.reason, 200)
            ))?;
        }
    }
    Ok(if remembered.verdict >= Verdict::Quarantine {
        Outcome::Findings
    } else {
        Outcome::Clean
    })
}

fn entry(args: &Remember) -> Result<Entry, Failure> {
    let content = if args.content == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::Input(format!("stdin cannot be read: {error}")))?;
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::Input(format!(
                "`content` is not UTF-8 at byte {at}: expected UTF-8 text"
            ))
        })?
    } else {
        args.content.clone()
    };
    let mut entry = Entry {
        trace_type: args.trace_type,
        kind: args.kind.unwrap_or(args.trace_type.default_kind()),
        subject: args.subject.clone(),
        source: args.source.clone(),
        trust: args.trust.clone(),
        parents: args.parents.clone(),
        valid_until: args.valid_until.map(wire::from_jiff),
        ..Entry::new(content)
    };
    if let Some(metadata) = &args.metadata {
        let object = serde_json::from_str(metadata)
            .map_err(|error| Failure::Input(format!("`metadata` is not a JSON object: {error}")))?;
        entry.metadata = Some(strict::object_text(object));
    }
    for field in &args.fields {
        let (name, value) = field.split_once('=').ok_or_else(|| {
            Failure::Input(format!(
                "`field` is `{}`: expected NAME=VALUE",
                wire::short(field)
            ))
        })?;
        let value = match (value.parse::<i64>(), value) {
            (Ok(number), _) => FieldValue::Integer(number),
            (_, "true") => FieldValue::Boolean(true),
            (_, "false") => FieldValue::Boolean(false),
            _ => FieldValue::String(value.to_owned()),
        };
        entry.fields.insert(name.to_owned(), value);
    }
    Ok(entry)
}

pub(super) fn recall(
    global: &Global,
    query: &str,
    k: usize,
    kind: Option<Kind>,
    retrieval: RetrievalArg,
    block: bool,
) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Agent)?;
    let retrieval = match retrieval {
        RetrievalArg::Lexical => Retrieval::Lexical,
        RetrievalArg::Levenshtein => Retrieval::Levenshtein,
    };
    let recalled = handle.recall(
        &global.namespace,
        &Query {
            text: query.to_owned(),
            k,
            kind,
            retrieval,
        },
    )?;
    if global.json {
        output::json(&wire::recall(&recalled))?;
        return Ok(Outcome::Clean);
    }
    if block {
        output::line(&recalled.block)?;
        return Ok(Outcome::Clean);
    }
    let mut table = output::table(&["#", "authority", "writer", "about", "text", "id"]);
    for hit in &recalled.hits {
        table.add_row([
            hit.rank.to_string(),
            hit.record.effective.to_string(),
            output::cell(hit.writer.as_deref().unwrap_or("unknown"), 30),
            output::cell(hit.record.entry.subject.as_deref().unwrap_or(""), 40),
            output::cell(&hit.record.entry.content, 160),
            hit.record.id.to_string(),
        ]);
    }
    if recalled.hits.is_empty() {
        output::line("nothing fits")?;
    } else {
        output::line(&table.to_string())?;
    }
    for (stage, count) in &recalled.withheld {
        output::line(&format!("{count} withheld by stage {stage}"))?;
    }
    Ok(Outcome::Clean)
}

pub(super) fn history(global: &Global, record: RecordId) -> Result<Outcome, Failure> {
    let events = session::handle(global, Role::Agent)?.history(record)?;
    if global.json {
        output::json(&events.iter().map(wire::event).collect())?;
        return Ok(Outcome::Clean);
    }
    let mut table = output::table(&["entry", "time", "what", "status after", "by", "reason"]);
    for event in &events {
        table.add_row([
            event.position.to_string(),
            output::time(event.time),
            event
                .change
                .map_or(event.kind.as_str(), memwarden_core::StatusChange::as_str)
                .to_owned(),
            event.status.to_string(),
            output::cell(
                event
                    .by
                    .as_ref()
                    .map_or("the warden", |principal| principal.name.as_str()),
                40,
            ),
            output::cell(event.reason.as_deref().unwrap_or(""), 120),
        ]);
    }
    output::line(&table.to_string())?;
    Ok(Outcome::Clean)
}

pub(super) fn status(global: &Global) -> Result<Outcome, Failure> {
    let status = session::handle(global, Role::Agent)?.status()?;
    let damaged = !status.stray.is_empty() || status.namespaces.iter().any(|found| !found.damage.is_empty());
    let outcome = if damaged {
        Outcome::Findings
    } else {
        Outcome::Clean
    };
    if global.json {
        output::json(&wire::status(&status))?;
        return Ok(outcome);
    }
    output::line(&format!(
        "store      {} at {}",
        status.store,
        status.directory.display()
    ))?;
    output::line(&format!(
        "log        {} entries, epoch {}",
        status.entries, status.epoch
    ))?;
    let witness = match status.witness {
        Some((size, epoch)) => format!("has seen {size} entries of epoch {epoch}"),
        None => "none".to_owned(),
    };
    output::line(&format!("witness    {witness}"))?;
    output::line(&format!("policy     {}", status.policy.0))?;
    output::line(&format!("mode       {}", mode(&status)))?;
    output::line(&format!(
        "endorse    {} endorser{} of different domains raise a record",
        status.endorsers_needed,
        if status.endorsers_needed == 1 { "" } else { "s" }
    ))?;
    let mut table = output::table(&[
        "namespace",
        "active",
        "quarantined",
        "retired",
        "purged",
        "differs from the log",
    ]);
    for namespace in &status.namespaces {
        table.add_row([
            namespace.name.clone(),
            namespace.count(Status::Active).to_string(),
            namespace.count(Status::Quarantined).to_string(),
            namespace.count(Status::Retired).to_string(),
            namespace.count(Status::Purged).to_string(),
            namespace.damage.len().to_string(),
        ]);
    }
    output::line(&table.to_string())?;
    for damage in status
        .namespaces
        .iter()
        .flat_map(|namespace| &namespace.damage)
        .chain(&status.stray)
    {
        output::line(&format!("record {}: {}", damage.record, damage.what))?;
    }
    if status.isolated > 0 {
        output::line(&format!("{} records were isolated by the owner", status.isolated))?;
    }
    Ok(outcome)
}

/// Which rung of protection is in use, and what is not promised on it.
fn mode(status: &StoreStatus) -> String {
    let counts = format!(
        "{} principals, {} receipts, {} authorize calls",
        status.principals.len(),
        status.receipts,
        status.decisions
    );
    if status.decisions == 0 {
        format!(
            "screen mode: {counts}; not protected against actions that only a forged memory supports; next step: open a \
             context for each model's window (`memwarden begin`) and ask `memwarden authorize` before actions"
        )
    } else if status.receipts == 0 {
        format!(
            "contexts and gate: {counts}; not protected against claims that a check was done, which no step has proven; \
             next step: let steps write receipts (`memwarden receipt`) and require them in the policy"
        )
    } else {
        format!("steps and gate: {counts}; not protected against a compromised step process")
    }
}
