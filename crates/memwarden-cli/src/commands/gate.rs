//! Contexts, requests, the gate, receipts, approvals, endorsements and revocations from the command line.

use crate::args::{ActionArgs, GateCommand, Global};
use crate::failure::Failure;
use crate::gate_wire::{self, params};
use crate::strict::Json;
use crate::{Outcome, output, session, wire};
use memwarden::core::{Decided, Decision, Digest, Params, PrincipalId, Subject, Timestamp};
use memwarden::{Executed, Handle, Role};
use serde_json::json;
use std::io::{BufRead as _, IsTerminal as _, Read as _, Write as _};

pub(super) fn run(global: &Global, command: &GateCommand) -> Result<Outcome, Failure> {
    match command {
        GateCommand::Begin => begin(global),
        GateCommand::Request { context, text, tools } => {
            let tools = (!tools.is_empty()).then_some(tools.as_slice());
            let expires = session::handle(global, Role::Owner)?.request(*context, text, tools)?;
            say(
                global,
                &json!({"expires": output::time(expires)}),
                &format!("open until {}", output::time(expires)),
            )
        }
        GateCommand::Observe { source, content } => observe(global, source, content),
        GateCommand::Authorize { action, approval } => {
            let handle = session::handle(global, Role::Agent)?;
            let authorized = handle.authorize(&global.namespace, &action.tool, &given(action)?, *approval)?;
            if global.json {
                output::json(&gate_wire::authorized(&authorized))?;
            } else {
                print(&authorized.decided)?;
                if let Some(permit) = authorized.permit {
                    output::line(&format!(
                        "permit {permit}: single use, five minutes, for exactly these parameters"
                    ))?;
                }
            }
            Ok(verdict(authorized.decided.decision))
        }
        GateCommand::Explain { action } => {
            let handle = session::handle(global, Role::Agent)?;
            let decided = handle.explain(&global.namespace, &action.tool, &given(action)?)?;
            if global.json {
                output::json(&gate_wire::decided(&decided))?;
            } else {
                print(&decided)?;
            }
            Ok(verdict(decided.decision))
        }
        GateCommand::Redeem {
            permit,
            context,
            action,
        } => {
            let handle = session::handle(global, Role::Step)?;
            let position = handle.redeem(
                *permit,
                &global.namespace,
                *context,
                &action.tool,
                &given(action)?,
            )?;
            say(
                global,
                &json!({"position": position}),
                &format!("spent (log entry {position}): execute now"),
            )
        }
        GateCommand::Approve { context, action } => {
            let handle = session::handle(global, Role::Owner)?;
            let parameters = given(action)?;
            let approved = handle.approve(&global.namespace, *context, &action.tool, &parameters)?;
            let (id, expires) = (approved.approval.to_string(), output::time(approved.expires));
            let text = format!(
                "approval {id} until {expires} for exactly this:\n{} {}",
                output::cell(&action.tool, 128),
                memwarden::visible(&parameters.to_canonical_json())
            );
            say(global, &json!({"approval": id, "expires": expires}), &text)
        }
        GateCommand::Receipt(args) => {
            let arguments = object("arguments", args.arguments.as_deref())?;
            let executed = Executed {
                namespace: global.namespace.clone(),
                context: args.context,
                step: args.step.clone(),
                subject: Subject {
                    kind: args.subject_kind.clone(),
                    id: args.subject_id.clone(),
                    digest: digest_of(&args.content)?,
                },
                arguments: Digest::of(arguments.to_canonical_json().as_bytes()),
                outcome: gate_wire::outcome(&args.outcome).map_err(Failure::Input)?,
                tool: args.tool.clone(),
                output: outputs(&args.outputs)?,
                life_us: args.life_seconds.map(|seconds| seconds.saturating_mul(1_000_000)),
            };
            let receipted = session::handle(global, Role::Step)?.receipt(&executed)?;
            if global.json {
                output::json(&gate_wire::receipted(&receipted))?;
            } else {
                output::line(&format!(
                    "receipt #{} until {}",
                    receipted.position,
                    output::time(receipted.expires)
                ))?;
                for finding in &receipted.findings {
                    output::line(&format!("ALERT {}", output::cell(&finding.reason, 200)))?;
                }
            }
            Ok(if receipted.findings.is_empty() {
                Outcome::Clean
            } else {
                Outcome::Findings
            })
        }
        GateCommand::Endorse {
            record,
            content,
            grounds,
            reason,
        } => {
            let endorsed =
                session::handle(global, Role::Owner)?.endorse(*record, content, grounds, reason)?;
            let (effective, position) = (endorsed.effective.as_str(), endorsed.position);
            let text = format!("{record} now has authority {effective} (log entry {position})");
            say(
                global,
                &json!({"effective": effective, "position": position}),
                &text,
            )
        }
        GateCommand::Revoke {
            principal,
            since,
            until,
            undo,
            yes,
            reason,
        } => match (undo, principal, since) {
            (Some(position), _, _) => {
                let done = session::handle(global, Role::Owner)?.undo_revocation(*position, reason)?;
                say(
                    global,
                    &json!({"position": done}),
                    &format!("taken back (log entry {done})"),
                )
            }
            (None, Some(principal), Some(since)) => {
                let interval = (wire::from_jiff(*since), until.map(wire::from_jiff));
                revoke(global, *principal, interval, *yes, reason)
            }
            _ => Err(Failure::Input(
                "expected PRINCIPAL and --since, or --undo".to_owned(),
            )),
        },
    }
}

fn begin(global: &Global) -> Result<Outcome, Failure> {
    let opened = session::handle(global, Role::Agent)?.begin()?;
    let (context, token) = (opened.context.to_string(), opened.token);
    let text =
        format!("context {context}\ntoken   {token}\n\nPass the token with --token; it works for 24 hours.");
    say(global, &json!({"context_id": context, "token": token}), &text)
}

fn observe(global: &Global, source: &str, content: &str) -> Result<Outcome, Failure> {
    let label = session::handle(global, Role::Agent)?.observe(source, digest_of(content)?)?;
    say(
        global,
        &json!({"label": label.as_str()}),
        &format!("the label of this context is now {label}"),
    )
}

fn revoke(
    global: &Global,
    principal: PrincipalId,
    (since, until): (Timestamp, Option<Timestamp>),
    yes: bool,
    reason: &str,
) -> Result<Outcome, Failure> {
    let handle = session::handle(global, Role::Owner)?;
    let changes = handle.preview_revocation(principal, since, until)?;
    if !yes && !confirmed(&handle, &changes)? {
        return Err(Failure::Input(
            "not confirmed: nothing was revoked; --yes revokes without asking".to_owned(),
        ));
    }
    let position = handle.revoke(principal, since, until, reason)?;
    let ids: Vec<String> = changes.iter().map(ToString::to_string).collect();
    let text = format!(
        "log entry {position}: {} records now have another authority; take it back with `memwarden revoke --undo {position}`",
        ids.len()
    );
    say(global, &json!({"position": position, "changed": ids}), &text)
}

fn confirmed(handle: &Handle, changes: &[memwarden::RecordId]) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::Input(
            "revoke asks before it changes authority: expected a terminal or --yes".to_owned(),
        ));
    }
    const SHOWN: usize = 20;
    for record in changes.iter().take(SHOWN) {
        let found = handle.inspect(*record)?;
        eprintln!(
            "{record} {} {}",
            found.effective,
            output::cell(&found.entry.content, 100)
        );
    }
    if changes.len() > SHOWN {
        eprintln!("and {} more", changes.len() - SHOWN);
    }
    eprint!("Change the authority of {} records? [y/N] ", changes.len());
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::Input(format!("stdin cannot be read: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn given(action: &ActionArgs) -> Result<Params, Failure> {
    object("params", action.params.as_deref())
}

/// A JSON object with distinct keys, or none.
fn object(field: &str, text: Option<&str>) -> Result<Params, Failure> {
    let Some(text) = text else {
        return Ok(Params::default());
    };
    let Json(value) = serde_json::from_str(text).map_err(|error| {
        Failure::Input(format!(
            "`{field}` is not a JSON object with distinct keys: {error}"
        ))
    })?;
    params(&value).map_err(Failure::Input)
}

/// SHA-256 of a file's bytes, of stdin for `-`, or the 64 digits themselves.
fn digest_of(content: &str) -> Result<Digest, Failure> {
    if let Ok(digest) = content.parse::<Digest>() {
        return Ok(digest);
    }
    let bytes = if content == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.map_err(|error| Failure::Input(format!("stdin cannot be read: {error}")))?;
        bytes
    } else {
        std::fs::read(content).map_err(|error| Failure::file(std::path::Path::new(content), &error))?
    };
    Ok(Digest::of(&bytes))
}

fn outputs(given: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let pair = |text: &String| {
        let split = text
            .split_once('=')
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        split.ok_or_else(|| {
            Failure::Input(format!(
                "`output` is `{}`: expected NAME=VALUE",
                wire::short(text)
            ))
        })
    };
    given.iter().map(pair).collect()
}

/// What is missing, one line each.
fn print(decided: &Decided) -> Result<(), Failure> {
    output::line(decided.decision.as_str())?;
    for reason in &decided.reasons {
        output::line(&format!(
            "  {}: {}",
            reason.check.as_str(),
            memwarden::visible(&reason.text)
        ))?;
        for record in &reason.records {
            output::line(&format!("    see record {record}"))?;
        }
    }
    Ok(())
}

const fn verdict(decision: Decision) -> Outcome {
    match decision {
        Decision::Allow => Outcome::Clean,
        Decision::Confirm | Decision::Deny => Outcome::Findings,
    }
}

fn say(global: &Global, value: &serde_json::Value, text: &str) -> Result<Outcome, Failure> {
    if global.json {
        output::json(value)?
    } else {
        output::line(text)?
    }
    Ok(Outcome::Clean)
}
