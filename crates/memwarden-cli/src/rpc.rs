//! `rpc`: every verb as JSON lines over stdin and stdout, for adapters and test suites.
//!
//! One process is one handle: its credential decides who acts, and nothing in a line can change that. A
//! request is `{"id", "op", "context"?, "params"?}`; the answer carries the same `id` and either `result` or
//! `error {code, message, ..}`. A line that is not a request is answered with `id: null` and changes nothing.
//! `docs/rpc.md` lists the operations.

mod gate;
mod operations;

use crate::args::Global;
use crate::failure::Failure;
use crate::strict::{Json, Object};
use crate::{Outcome, output, session};
use memwarden::{Handle, Namespace, Role};
use operations::Refused;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead as _, Write as _};

/// Longest line in bytes: an entry of the largest size, escaped at its worst, with room to spare.
pub const MAX_LINE_BYTES: u64 = 16 * 1_048_576;

/// One line of input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    #[serde(default)]
    id: Json,
    op: String,
    /// The token of the context to act in.
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    params: Option<Box<serde_json::value::RawValue>>,
}

/// Serves stdin until it ends.
pub(crate) fn run(global: &Global, role: Role) -> Result<Outcome, Failure> {
    let handle = session::handle(global, role)?;
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = std::io::Read::take(&mut input, MAX_LINE_BYTES + 1).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Failure::Input(format!("stdin cannot be read: {error}")))?;
        if read == 0 {
            return Ok(Outcome::Clean);
        }
        let ended = line.pop_if(|last| *last == b'\n').is_some();
        let mut answer = if line.len() as u64 > MAX_LINE_BYTES {
            if !ended {
                skip_line(&mut input)?;
            }
            let message =
                format!("the line has more than {MAX_LINE_BYTES} bytes: expected one request a line");
            failed(&Value::Null, &json!({"code": "bad_input", "message": message}))
        } else if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        } else {
            answer(&handle, &global.namespace, &line)
        };
        answer.push('\n');
        if output
            .write_all(answer.as_bytes())
            .and_then(|()| output.flush())
            .is_err()
        {
            return Err(Failure::BrokenPipe);
        }
    }
}

/// The answer to one line.
#[must_use]
pub fn answer(handle: &Handle, namespace: &Namespace, line: &[u8]) -> String {
    let bad = |id: &Value, message: String| failed(id, &json!({"code": "bad_input", "message": message}));
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            let message = format!(
                "the line is not UTF-8 at byte {}: expected UTF-8 JSON",
                error.valid_up_to()
            );
            return bad(&Value::Null, message);
        }
    };
    let request: Request = match serde_json::from_str(text) {
        Ok(Object(request)) => request,
        Err(error) => {
            let expected = "expected one JSON object {id, op, context?, params?}";
            let error = output::cell(&error.to_string(), 300);
            return bad(
                &Value::Null,
                format!("the line is not a request: {error}; {expected}"),
            );
        }
    };
    let Json(id) = &request.id;
    let within = match request
        .context
        .as_deref()
        .map(|token| handle.within(token))
        .transpose()
    {
        Ok(within) => within,
        Err(error) => return failed(id, &Failure::Warden(error).to_json()),
    };
    let handle = within.as_ref().unwrap_or(handle);
    let params = request
        .params
        .as_deref()
        .map_or("{}", serde_json::value::RawValue::get);
    match operations::run(handle, namespace, &request.op, params) {
        Ok(result) => output::inert_json(&json!({"id": id, "result": result}).to_string()),
        Err(Refused::Params(message)) => bad(id, message),
        Err(Refused::Warden(error)) => failed(id, &Failure::Warden(error).to_json()),
        Err(Refused::Failure(failure)) => failed(id, &failure.to_json()),
    }
}

fn failed(id: &Value, error: &Value) -> String {
    output::inert_json(&json!({"id": id, "error": error}).to_string())
}

fn skip_line(input: &mut impl std::io::BufRead) -> Result<(), Failure> {
    input
        .skip_until(b'\n')
        .map(|_| ())
        .map_err(|error| Failure::Input(format!("stdin cannot be read: {error}")))
}
