//! The operations of `rpc`: parameters in, the wire form of a result out.

use crate::failure::Failure;
use crate::session::{self, Vouches};
use crate::strict::Object;
use crate::wire::{self, Body, EntryIn};
use crate::{import, output, policy_source};
use memwarden::ledger::{ProofFile, VerifierKey};
use memwarden::{
    Channel, Depth, Handle, Namespace, Query, RecordId, Retrieval, Reveal, Role, Status, WardenError,
    WriteOptions,
};
use memwarden_core::{Authority, ContextId, Digest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Why an operation was not done.
#[derive(Debug)]
pub(super) enum Refused {
    /// The parameters.
    Params(String),
    /// The warden.
    Warden(WardenError),
    /// A file, a policy, or the like.
    Failure(Failure),
}

impl From<WardenError> for Refused {
    fn from(error: WardenError) -> Self {
        Self::Warden(error)
    }
}

impl From<Failure> for Refused {
    fn from(error: Failure) -> Self {
        Self::Failure(error)
    }
}

pub(super) type Answer = Result<Value, Refused>;

/// Runs one operation.
pub(super) fn run(handle: &Handle, namespace: &Namespace, op: &str, params: &str) -> Answer {
    let default = namespace;
    match op {
        "status" => {
            read::<Nothing>(params)?;
            Ok(wire::status(&handle.status()?))
        }
        "flush" => {
            read::<Nothing>(params)?;
            handle.warden().flush()?;
            Ok(json!({}))
        }
        "remember" => remember(handle, default, params),
        "recall" => recall(handle, default, params),
        "import" => import_file(handle, default, params),
        "list" => list(handle, default, params),
        "inspect" => {
            let params: One = read(params)?;
            Ok(wire::record(&handle.inspect(id(&params.id)?)?, Body::Shown))
        }
        "history" => {
            let params: One = read(params)?;
            Ok(handle.history(id(&params.id)?)?.iter().map(wire::event).collect())
        }
        "retire" => {
            let params: Reasoned = read(params)?;
            Ok(wire::changed(&handle.retire(id(&params.id)?, &params.reason)?))
        }
        "release" => {
            let params: Release = read(params)?;
            let content: Digest = parse("content_sha256", &params.content_sha256)?;
            Ok(wire::changed(&handle.release(
                id(&params.id)?,
                &content,
                &params.reason,
            )?))
        }
        "reject" => {
            let params: Reasoned = read(params)?;
            Ok(wire::changed(&handle.reject(id(&params.id)?, &params.reason)?))
        }
        "descendants" => {
            let params: One = read(params)?;
            let found = handle.descendants(id(&params.id)?)?;
            Ok(json!(found.iter().map(ToString::to_string).collect::<Vec<_>>()))
        }
        "purge" => {
            let params: Purge = read(params)?;
            let records: Result<Vec<RecordId>, Refused> = params.ids.iter().map(|text| id(text)).collect();
            Ok(wire::purge(&handle.purge(&records?, &params.reason)?))
        }
        "isolate" => {
            let params: Reasoned = read(params)?;
            Ok(json!({"position": handle.isolate(id(&params.id)?, &params.reason)?}))
        }
        "verify" => {
            let params: Verify = read(params)?;
            let depth = if params.deep { Depth::Deep } else { Depth::Log };
            if let Some(held) = &params.held {
                wire::checkpoint("held", held).map_err(Refused::Params)?;
            }
            Ok(wire::integrity(&handle.verify(depth, params.held.as_deref())?))
        }
        "checkpoint" => {
            read::<Nothing>(params)?;
            Ok(json!({"checkpoint": handle.checkpoint()?, "verifier_key": handle.verifier_key()}))
        }
        "prove" => {
            let params: Prove = read(params)?;
            let reveal = if params.reveal {
                Reveal::Text
            } else {
                Reveal::Commitment
            };
            let proof = handle.prove(id(&params.id)?, reveal)?;
            Ok(json!({"proof": proof, "verifier_key": handle.verifier_key()}))
        }
        "check_proof" => check_proof(params),
        "export" => {
            let params: PathParam = read(params)?;
            Ok(json!({"entries": handle.export(&params.path)?}))
        }
        "backup" => {
            let params: PathParam = read(params)?;
            Ok(json!({"entries": handle.backup(&params.path)?}))
        }
        "reindex" => {
            read::<Nothing>(params)?;
            handle.reindex()?;
            Ok(json!({}))
        }
        "scrub" => {
            read::<Nothing>(params)?;
            handle.scrub()?;
            Ok(json!({}))
        }
        "rotate_key" => {
            read::<Nothing>(params)?;
            Ok(json!({"verifier_key": handle.rotate_key()?}))
        }
        "register" => register(handle, params),
        "policy" => {
            read::<Nothing>(params)?;
            let policy = handle.warden().policy();
            Ok(json!({"name": policy.name, "hash": policy.hash().to_string(), "toml": policy.source}))
        }
        "load_policy" => load_policy(handle, params),
        _ => super::gate::run(handle, default, op, params).unwrap_or_else(|| {
            Err(Refused::Params(format!(
                "`op` is `{}`: expected one of {}",
                wire::short(op),
                OPERATIONS.join(", ")
            )))
        }),
    }
}

/// Every operation, as `docs/rpc.md` lists them.
pub(super) const OPERATIONS: &[&str] = &[
    "status",
    "flush",
    "remember",
    "recall",
    "import",
    "list",
    "inspect",
    "history",
    "retire",
    "release",
    "reject",
    "descendants",
    "purge",
    "isolate",
    "verify",
    "checkpoint",
    "prove",
    "check_proof",
    "export",
    "backup",
    "reindex",
    "scrub",
    "rotate_key",
    "register",
    "policy",
    "load_policy",
    "begin",
    "end",
    "request",
    "observe",
    "authorize",
    "explain",
    "redeem",
    "approve",
    "receipt",
    "endorse",
    "revoke",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reasoned {
    id: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Release {
    id: String,
    content_sha256: String,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Purge {
    ids: Vec<String>,
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Verify {
    #[serde(default)]
    deep: bool,
    held: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Prove {
    id: String,
    #[serde(default)]
    reveal: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathParam {
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberParams {
    namespace: Option<String>,
    channel: Option<String>,
    /// For a tool or step: the context that it ran for. It can only lower what is written.
    context_id: Option<String>,
    entry: Object<EntryIn>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecallParams {
    namespace: Option<String>,
    query: String,
    k: Option<usize>,
    kind: Option<String>,
    since: Option<wire::TimeIn>,
    until: Option<wire::TimeIn>,
    principal: Option<String>,
    authority: Option<String>,
    retrieval: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListParams {
    namespace: Option<String>,
    status: String,
    #[serde(default)]
    body: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportParams {
    namespace: Option<String>,
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    name: String,
    role: String,
    domain: Option<String>,
    #[serde(default)]
    attest_roles: bool,
    /// Where its credential goes; it is never part of an answer.
    path: PathBuf,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoadPolicy {
    preset: Option<String>,
    toml: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckProof {
    proof: String,
    key: String,
}

fn remember(handle: &Handle, default: &Namespace, params: &str) -> Answer {
    let params: RememberParams = read(params)?;
    let namespace = namespace(default, params.namespace.as_deref())?;
    let channel = params
        .channel
        .as_deref()
        .map(|text| parse::<Channel>("channel", text))
        .transpose()?;
    let context = params
        .context_id
        .as_deref()
        .map(|text| parse::<ContextId>("context_id", text))
        .transpose()?;
    let (entry, supersedes) = params.entry.0.read().map_err(Refused::Params)?;
    let options = WriteOptions {
        channel: channel.unwrap_or(Channel::Direct),
        supersedes,
        context,
        ..WriteOptions::default()
    };
    Ok(wire::remembered(
        &handle.remember_with(&namespace, entry, &options)?,
    ))
}

fn recall(handle: &Handle, default: &Namespace, params: &str) -> Answer {
    let params: RecallParams = read(params)?;
    let namespace = namespace(default, params.namespace.as_deref())?;
    let time = |given: Option<wire::TimeIn>| {
        let read = given.map(|time| time.read()).transpose();
        read.map_err(Refused::Params)
    };
    let query = Query {
        k: params.k.unwrap_or(10),
        kind: params
            .kind
            .as_deref()
            .map(|text| parse("kind", text))
            .transpose()?,
        since: time(params.since)?,
        until: time(params.until)?,
        principal: params
            .principal
            .as_deref()
            .map(|text| parse("principal", text))
            .transpose()?,
        authority: named(
            "authority",
            params.authority.as_deref(),
            &Authority::ALL,
            Authority::as_str,
        )?,
        retrieval: named(
            "retrieval",
            params.retrieval.as_deref(),
            &Retrieval::ALL,
            Retrieval::as_str,
        )?
        .unwrap_or_default(),
        ..Query::new(params.query)
    };
    Ok(wire::recall(&handle.recall(&namespace, &query)?))
}

/// The one of `all` that has this name.
fn named<T: Copy>(
    field: &str,
    given: Option<&str>,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> Result<Option<T>, Refused> {
    let Some(given) = given else { return Ok(None) };
    let found = all.iter().copied().find(|one| name(*one) == given);
    found.map(Some).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
        let given = wire::short(given);
        Refused::Params(format!("`{field}` is `{given}`: expected {}", names.join(", ")))
    })
}

fn list(handle: &Handle, default: &Namespace, params: &str) -> Answer {
    let params: ListParams = read(params)?;
    let namespace = namespace(default, params.namespace.as_deref())?;
    let status = Status::ALL
        .into_iter()
        .find(|status| status.as_str() == params.status)
        .ok_or_else(|| {
            let given = wire::short(&params.status);
            Refused::Params(format!(
                "`status` is `{given}`: expected active, quarantined, retired or purged"
            ))
        })?;
    let body = if params.body { Body::Shown } else { Body::Hidden };
    Ok(handle
        .list(&namespace, status)?
        .iter()
        .map(|record| wire::record(record, body))
        .collect())
}

fn import_file(handle: &Handle, default: &Namespace, params: &str) -> Answer {
    let params: ImportParams = read(params)?;
    let namespace = namespace(default, params.namespace.as_deref())?;
    Ok(import::file(handle, &namespace, &params.path)?.to_json())
}

fn register(handle: &Handle, params: &str) -> Answer {
    let params: Register = read(params)?;
    let role: Role = parse("role", &params.role)?;
    if params.path.exists() {
        return Err(Refused::Params(format!(
            "`path`: `{}` exists: expected a new file",
            params.path.display()
        )));
    }
    let vouches = Vouches::of(params.attest_roles);
    let id = session::register(
        handle,
        &params.name,
        role,
        params.domain.as_deref(),
        vouches,
        &params.path,
    )?;
    Ok(json!({
        "id": id.to_string(), "role": role.as_str(), "attest_roles": params.attest_roles, "file": params.path,
    }))
}

fn load_policy(handle: &Handle, params: &str) -> Answer {
    let params: LoadPolicy = read(params)?;
    let policy = match (&params.preset, &params.toml) {
        (Some(name), None) if Path::new(name).components().count() == 1 => policy_source::named(name)?,
        (None, Some(toml)) => {
            memwarden::guard::parse(toml).map_err(|error| Refused::Params(format!("`toml`: {error}")))?
        }
        _ => return Err(Refused::Params("expected either `preset` or `toml`".to_owned())),
    };
    let loosened = memwarden::guard::loosenings(&handle.warden().policy(), &policy);
    let position = handle.load_policy(&policy)?;
    Ok(json!({"name": policy.name, "position": position, "loosened": loosened}))
}

/// Needs no store: anyone may check a proof.
fn check_proof(params: &str) -> Answer {
    let params: CheckProof = read(params)?;
    let key: VerifierKey = parse("key", &params.key)?;
    let proof: ProofFile = parse("proof", &params.proof)?;
    let verified = proof
        .verify(Some(key.name()), std::slice::from_ref(&key))
        .map_err(|error| Refused::Failure(Failure::Unverified(error.to_string())))?;
    Ok(json!({
        "position": verified.leaf.position,
        "record": verified.leaf.record.map(|id| id.to_string()),
        "log_size": verified.checkpoint.size,
        "text_revealed": verified.payload.is_some(),
    }))
}

/// Reads parameters; the error names the field.
pub(super) fn read<T: DeserializeOwned>(params: &str) -> Result<T, Refused> {
    let mut deserializer = serde_json::Deserializer::from_str(params);
    let Object(value) = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { "params".to_owned() } else { path };
        let (field, what) = (
            wire::short(&field),
            output::cell(&error.into_inner().to_string(), 300),
        );
        Refused::Params(format!("`{field}`: {what}"))
    })?;
    Ok(value)
}

pub(super) fn namespace(default: &Namespace, given: Option<&str>) -> Result<Namespace, Refused> {
    given.map_or_else(|| Ok(default.clone()), |text| parse("namespace", text))
}

pub(super) fn id(text: &str) -> Result<RecordId, Refused> {
    wire::record_id("id", text).map_err(Refused::Params)
}

pub(super) fn parse<T: FromStr>(field: &str, text: &str) -> Result<T, Refused>
where
    T::Err: std::fmt::Display,
{
    text.parse()
        .map_err(|error| Refused::Params(format!("`{field}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::OPERATIONS;

    #[test]
    fn the_page_lists_every_operation_and_no_other() {
        let page = include_str!("../../../../docs/rpc.md");
        let listed: Vec<&str> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
            .map(|(op, _)| op)
            .collect();
        assert_eq!(listed, OPERATIONS);
    }
}
