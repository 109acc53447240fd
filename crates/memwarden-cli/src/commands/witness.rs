//! Publishing a checkpoint to a C2SP tlog-witness over HTTP.
//!
//! The witness is asked from size 0 first; where it has seen more, it answers 409 with the size it knows, and
//! a consistency proof from there is sent. What it cosigns comes back as lines for the note.

use crate::failure::Failure;
use memwarden::Handle;
use memwarden::ledger::Checkpoint;
use memwarden::ledger::witness::{
    add_checkpoint_request, append_cosignatures, parse_conflict_size, parse_cosignatures,
};
use std::time::Duration;

/// Longest wait for one answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The note with the witness's cosignatures.
pub(super) fn publish(handle: &Handle, note: &str, url: &str) -> Result<String, Failure> {
    let endpoint = format!("{}/add-checkpoint", url.trim_end_matches('/'));
    let own = Checkpoint::read_unverified(note)
        .map_err(|error| Failure::Unverified(error.to_string()))?
        .size;
    let mut known = 0;
    for _ in 0..2 {
        let proof = if known == 0 {
            Vec::new()
        } else {
            handle.consistency_from(known)?
        };
        let request = add_checkpoint_request(known, &proof, note)
            .map_err(|error| Failure::Service(format!("witness `{url}`: {error}")))?;
        let (status, body) = post(&endpoint, &request)?;
        match status {
            200 => {
                let lines = parse_cosignatures(&body).map_err(|error| {
                    Failure::Service(format!("witness `{url}` answered 200 with: {error}"))
                })?;
                return append_cosignatures(note, &lines)
                    .map_err(|error| Failure::Service(format!("witness `{url}`: {error}")));
            }
            409 => {
                known = parse_conflict_size(&body).map_err(|error| {
                    Failure::Service(format!("witness `{url}` answered 409 with: {error}"))
                })?;
                if known > own {
                    return Err(Failure::Unverified(format!(
                        "witness `{url}` has seen {known} entries of this log, and it holds {own}: the store may \
                         have been rolled back"
                    )));
                }
            }
            _ => {
                let said = crate::wire::short(&body);
                return Err(Failure::Service(format!(
                    "witness `{url}` answered {status}: {said}"
                )));
            }
        }
    }
    Err(Failure::Service(format!(
        "witness `{url}` has seen {known} entries and refuses this log's history: it may have been forked"
    )))
}

fn post(url: &str, body: &str) -> Result<(u16, String), Failure> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(TIMEOUT))
        .build()
        .into();
    let failed =
        |error: &dyn std::fmt::Display| Failure::Service(format!("`{url}` cannot be reached: {error}"));
    let mut response = agent.post(url).send(body).map_err(|error| failed(&error))?;
    let text = response
        .body_mut()
        .read_to_string()
        .map_err(|error| failed(&error))?;
    Ok((response.status().as_u16(), text))
}
