//! The operations of `rpc` about contexts and actions.

use super::operations::{Answer, Refused, id, namespace, parse, read};
use crate::gate_wire::{self, params};
use crate::strict::Json;
use crate::wire;
use memwarden::core::{ContextId, Digest, PrincipalId, Subject};
use memwarden::{Executed, Handle, Namespace};
use serde::Deserialize;
use serde_json::{Value, json};

/// Runs one operation; `None` if it is none of these.
pub(super) fn run(handle: &Handle, default: &Namespace, op: &str, text: &str) -> Option<Answer> {
    Some(match op {
        "begin" => begin(handle, text),
        "end" => end(handle, text),
        "request" => request(handle, text),
        "observe" => observe(handle, text),
        "authorize" => authorize(handle, default, text),
        "explain" => explain(handle, default, text),
        "redeem" => redeem(handle, default, text),
        "approve" => approve(handle, default, text),
        "receipt" => receipt(handle, default, text),
        "endorse" => endorse(handle, text),
        "revoke" => revoke(handle, text),
        _ => return None,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestParams {
    context_id: String,
    text: String,
    tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ObserveParams {
    source: String,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionParams {
    namespace: Option<String>,
    tool: String,
    #[serde(default)]
    params: Json,
    approval: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundParams {
    namespace: Option<String>,
    context_id: String,
    tool: String,
    #[serde(default)]
    params: Json,
    permit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectParams {
    kind: String,
    id: String,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReceiptParams {
    namespace: Option<String>,
    context_id: String,
    step: String,
    subject: SubjectParams,
    #[serde(default)]
    arguments: Json,
    outcome: String,
    tool: Option<String>,
    #[serde(default)]
    output: std::collections::BTreeMap<String, String>,
    life_seconds: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndorseParams {
    id: String,
    content_sha256: String,
    #[serde(default)]
    grounds: Vec<String>,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RevokeParams {
    principal: Option<String>,
    since: Option<wire::TimeIn>,
    until: Option<wire::TimeIn>,
    undo: Option<u64>,
    #[serde(default)]
    preview: bool,
    #[serde(default)]
    reason: String,
}

fn begin(handle: &Handle, text: &str) -> Answer {
    read::<Nothing>(text)?;
    let opened = handle.begin()?;
    Ok(json!({"context_id": opened.context.to_string(), "token": opened.token}))
}

fn end(handle: &Handle, text: &str) -> Answer {
    read::<Nothing>(text)?;
    handle.end()?;
    Ok(json!({}))
}

fn request(handle: &Handle, text: &str) -> Answer {
    let given: RequestParams = read(text)?;
    let context: ContextId = parse("context_id", &given.context_id)?;
    let expires = handle.request(context, &given.text, given.tools.as_deref())?;
    Ok(json!({"expires": crate::output::time(expires)}))
}

fn observe(handle: &Handle, text: &str) -> Answer {
    let given: ObserveParams = read(text)?;
    let digest: Digest = parse("sha256", &given.sha256)?;
    Ok(json!({"label": handle.observe(&given.source, digest)?.as_str()}))
}

fn authorize(handle: &Handle, default: &Namespace, text: &str) -> Answer {
    let given: ActionParams = read(text)?;
    let namespace = namespace(default, given.namespace.as_deref())?;
    let params = params(&given.params.0).map_err(Refused::Params)?;
    let approval = given.approval.as_deref().map(id).transpose()?;
    Ok(gate_wire::authorized(&handle.authorize(
        &namespace,
        &given.tool,
        &params,
        approval,
    )?))
}

fn explain(handle: &Handle, default: &Namespace, text: &str) -> Answer {
    let given: ActionParams = read(text)?;
    let namespace = namespace(default, given.namespace.as_deref())?;
    let params = params(&given.params.0).map_err(Refused::Params)?;
    Ok(gate_wire::decided(&handle.explain(
        &namespace,
        &given.tool,
        &params,
    )?))
}

fn redeem(handle: &Handle, default: &Namespace, text: &str) -> Answer {
    let given: BoundParams = read(text)?;
    let namespace = namespace(default, given.namespace.as_deref())?;
    let params = params(&given.params.0).map_err(Refused::Params)?;
    let context: ContextId = parse("context_id", &given.context_id)?;
    let permit = given
        .permit
        .as_deref()
        .ok_or_else(|| Refused::Params("`permit` is missing".to_owned()))?;
    let position = handle.redeem(id(permit)?, &namespace, context, &given.tool, &params)?;
    Ok(json!({"position": position}))
}

fn approve(handle: &Handle, default: &Namespace, text: &str) -> Answer {
    let given: BoundParams = read(text)?;
    let namespace = namespace(default, given.namespace.as_deref())?;
    let params = params(&given.params.0).map_err(Refused::Params)?;
    let context: ContextId = parse("context_id", &given.context_id)?;
    let approved = handle.approve(&namespace, context, &given.tool, &params)?;
    Ok(json!({"approval": approved.approval.to_string(), "expires": crate::output::time(approved.expires)}))
}

fn receipt(handle: &Handle, default: &Namespace, text: &str) -> Answer {
    let given: ReceiptParams = read(text)?;
    let namespace = namespace(default, given.namespace.as_deref())?;
    let arguments =
        params(&given.arguments.0).map_err(|error| Refused::Params(format!("`arguments`: {error}")))?;
    let outcome = gate_wire::outcome(&given.outcome).map_err(Refused::Params)?;
    let executed = Executed {
        namespace,
        context: parse("context_id", &given.context_id)?,
        step: given.step,
        subject: Subject {
            kind: given.subject.kind,
            id: given.subject.id,
            digest: parse("subject.sha256", &given.subject.sha256)?,
        },
        arguments: Digest::of(arguments.to_canonical_json().as_bytes()),
        outcome,
        tool: given.tool,
        output: given.output.into_iter().collect(),
        life_us: given
            .life_seconds
            .map(|seconds| seconds.saturating_mul(1_000_000)),
    };
    Ok(gate_wire::receipted(&handle.receipt(&executed)?))
}

fn endorse(handle: &Handle, text: &str) -> Answer {
    let given: EndorseParams = read(text)?;
    let content: Digest = parse("content_sha256", &given.content_sha256)?;
    let grounds: Result<Vec<_>, Refused> = given.grounds.iter().map(|text| id(text)).collect();
    let endorsed = handle.endorse(id(&given.id)?, &content, &grounds?, &given.reason)?;
    Ok(json!({"effective": endorsed.effective.as_str(), "position": endorsed.position}))
}

fn revoke(handle: &Handle, text: &str) -> Answer {
    let given: RevokeParams = read(text)?;
    if let Some(position) = given.undo {
        return Ok(json!({"position": handle.undo_revocation(position, &given.reason)?}));
    }
    let missing = |field: &str| {
        Refused::Params(format!(
            "`{field}` is missing: expected `principal` and `since`, or `undo`"
        ))
    };
    let principal: PrincipalId = parse(
        "principal",
        given.principal.as_deref().ok_or_else(|| missing("principal"))?,
    )?;
    let since = given
        .since
        .ok_or_else(|| missing("since"))?
        .read()
        .map_err(Refused::Params)?;
    let until = given
        .until
        .map(|time| time.read())
        .transpose()
        .map_err(Refused::Params)?;
    let changes = handle.preview_revocation(principal, since, until)?;
    let changes: Vec<Value> = changes.iter().map(|record| json!(record.to_string())).collect();
    if given.preview {
        return Ok(json!({"would_change": changes}));
    }
    let position = handle.revoke(principal, since, until, &given.reason)?;
    Ok(json!({"position": position, "changed": changes}))
}
