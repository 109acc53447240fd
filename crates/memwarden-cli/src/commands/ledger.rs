//! Verifying, proving and publishing the log; an export or a proof is verified without any store.

use super::witness;
use crate::args::{Global, Ledger};
use crate::failure::Failure;
use crate::{Outcome, output, session, wire};
use memwarden::ledger::{ProofFile, VerifierKey, verify_export};
use memwarden::{Depth, IntegrityReport, RecordId, Reveal, Role, Trust};
use serde_json::json;
use std::path::Path;

pub(super) fn run(global: &Global, command: &Ledger) -> Result<Outcome, Failure> {
    match command {
        Ledger::Verify {
            export: Some(export),
            held,
            key,
            ..
        } => verify_files(global, export, held.as_deref(), key.as_deref()),
        Ledger::Verify {
            proof: Some(proof),
            key: Some(key),
            ..
        } => verify_proof(global, proof, key),
        Ledger::Verify {
            deep, reindex, held, ..
        } => verify(
            global,
            if *deep { Depth::Deep } else { Depth::Log },
            *reindex,
            held.as_deref(),
        ),
        Ledger::Checkpoint { publish } => checkpoint(global, publish.as_deref()),
        Ledger::Prove { record, reveal } => prove(global, *record, *reveal),
        Ledger::Export { to } => {
            let handle = session::handle(global, Role::Agent)?;
            let entries = handle.export(to)?;
            if global.json {
                output::json(
                    &json!({"entries": entries, "directory": to, "verifier_key": handle.verifier_key()}),
                )?;
            } else {
                output::line(&format!("{entries} log entries in {}, no text", to.display()))?;
                output::line(&format!(
                    "verify with: memwarden ledger verify --export {} --key '{}'",
                    to.display(),
                    handle.verifier_key()
                ))?;
            }
            Ok(Outcome::Clean)
        }
        Ledger::Isolate { records, reason } => isolate(global, records, reason),
        Ledger::RotateKey => {
            let key = session::handle(global, Role::Owner)?.rotate_key()?;
            if global.json {
                output::json(&json!({"verifier_key": key}))?;
            } else {
                output::line(&format!("verifier key {key}"))?;
            }
            Ok(Outcome::Clean)
        }
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error))
}

fn verifier_key(text: &str) -> Result<VerifierKey, Failure> {
    text.parse()
        .map_err(|error| Failure::Input(format!("`key`: {error}")))
}

fn verify(global: &Global, depth: Depth, reindex: bool, held: Option<&Path>) -> Result<Outcome, Failure> {
    let held = held.map(read).transpose()?;
    if let Some(held) = &held {
        wire::checkpoint("held", held).map_err(Failure::Input)?;
    }
    let handle = session::handle(global, if reindex { Role::Owner } else { Role::Agent })?;
    if reindex {
        handle.reindex()?;
    }
    let report = handle.verify(depth, held.as_deref())?;
    if global.json {
        output::json(&wire::integrity(&report))?;
    } else {
        print(&report)?;
    }
    Ok(if report.is_intact() {
        Outcome::Clean
    } else {
        Outcome::Findings
    })
}

fn print(report: &IntegrityReport) -> Result<(), Failure> {
    output::line(&format!(
        "{} log entries, {} full tiles, {} key rotations: verified",
        report.entries, report.tiles, report.rotations
    ))?;
    let looked = if report.deep {
        "hashed whole"
    } else {
        "compared by id, position and status"
    };
    output::line(&format!(
        "{} records {looked}; {} other payloads hashed",
        report.records, report.payloads
    ))?;
    match &report.trust {
        Trust::Held { whose, size } => output::line(&format!(
            "relative to the checkpoint over {size} entries held by {whose}: nothing under it was changed, \
             dropped or reordered"
        ))?,
        Trust::InternallyConsistent => {
            output::line("internally consistent only: no checkpoint from before was given")?;
        }
    }
    output::line(&format!("signed with {}", report.verifier_key))?;
    for damage in &report.damage {
        output::line(&format!("DIFFERS record {}: {}", damage.record, damage.what))?;
    }
    for difference in &report.index_differences {
        output::line(&format!(
            "INDEX differs: {} (mend with --reindex)",
            output::cell(difference, 200)
        ))?;
    }
    if report.is_intact() {
        output::line("intact")?;
    }
    Ok(())
}

fn verify_files(
    global: &Global,
    export: &Path,
    held: Option<&Path>,
    key: Option<&str>,
) -> Result<Outcome, Failure> {
    let unverified = |error: &dyn std::fmt::Display| Failure::Unverified(error.to_string());
    let held = match held {
        None => None,
        Some(path) => Some(wire::checkpoint("held", &read(path)?).map_err(Failure::Input)?),
    };
    let key = key.map(verifier_key).transpose()?;
    let report = verify_export(&mut |path| std::fs::read(export.join(path)).ok(), held, key)
        .map_err(|error| unverified(&error))?;
    if global.json {
        output::json(&json!({
            "verified": true,
            "entries": report.log.checkpoint.size,
            "relative_to": report.to_string(),
            "verifier_key": report.log.key.to_string(),
        }))?;
    } else {
        output::line(&memwarden::visible(&report.to_string()))?;
    }
    Ok(Outcome::Clean)
}

fn verify_proof(global: &Global, path: &Path, key: &str) -> Result<Outcome, Failure> {
    let key = verifier_key(key)?;
    let proof: ProofFile = read(path)?
        .parse()
        .map_err(|error| Failure::Input(format!("`{}` is not a proof file: {error}", path.display())))?;
    let verified = proof
        .verify(Some(key.name()), std::slice::from_ref(&key))
        .map_err(|error| Failure::Unverified(error.to_string()))?;
    let leaf = &verified.leaf;
    if global.json {
        output::json(&json!({
            "verified": true,
            "position": leaf.position,
            "time": output::time(leaf.time),
            "kind": leaf.kind.as_str(),
            "record": leaf.record.map(|id| id.to_string()),
            "principal": leaf.principal.to_string(),
            "authority": leaf.authority.as_str(),
            "status": leaf.status.as_str(),
            "log_size": verified.checkpoint.size,
            "text_revealed": verified.payload.is_some(),
        }))?;
        return Ok(Outcome::Clean);
    }
    output::line(&format!(
        "verified: log entry {} of {} ({}) of {}, record {}, by principal {}, authority {}",
        leaf.position,
        verified.checkpoint.size,
        leaf.kind.as_str(),
        output::time(leaf.time),
        leaf.record.map_or_else(|| "none".to_owned(), |id| id.to_string()),
        leaf.principal,
        leaf.authority
    ))?;
    match &verified.payload {
        Some(payload) => output::line(&format!(
            "text: {}",
            output::cell(&String::from_utf8_lossy(payload), 2_000)
        ))?,
        None => output::line("the proof carries the commitment to the text, not the text")?,
    }
    Ok(Outcome::Clean)
}

fn checkpoint(global: &Global, publish: Option<&str>) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Agent)?;
    let note = handle.checkpoint()?;
    let published = match publish {
        None => None,
        Some(url) if url.starts_with("http://") || url.starts_with("https://") => {
            Some(witness::publish(&handle, &note, url)?)
        }
        Some(path) => {
            std::fs::write(path, &note).map_err(|error| Failure::file(Path::new(path), &error))?;
            None
        }
    };
    if global.json {
        output::json(&json!({
            "checkpoint": published.as_deref().unwrap_or(&note),
            "verifier_key": handle.verifier_key(),
            "published": publish,
        }))?;
    } else {
        output::write(published.as_deref().unwrap_or(&note))?;
    }
    Ok(Outcome::Clean)
}

fn prove(global: &Global, record: RecordId, reveal: bool) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Agent)?;
    let proof = handle.prove(record, if reveal { Reveal::Text } else { Reveal::Commitment })?;
    if global.json {
        output::json(&json!({"proof": proof, "verifier_key": handle.verifier_key()}))?;
    } else {
        output::write(&proof)?;
    }
    Ok(Outcome::Clean)
}

fn isolate(global: &Global, records: &[RecordId], reason: &str) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Owner)?;
    let mut positions = Vec::with_capacity(records.len());
    for record in records {
        positions.push((record, handle.isolate(*record, reason)?));
    }
    if global.json {
        let rows: Vec<_> = positions
            .iter()
            .map(|(record, position)| json!({"id": record.to_string(), "position": position}))
            .collect();
        output::json(&json!({"isolated": rows}))?;
    } else {
        for (record, position) in positions {
            output::line(&format!(
                "{record} is out of the expected set (log entry {position})"
            ))?;
        }
    }
    Ok(Outcome::Clean)
}
