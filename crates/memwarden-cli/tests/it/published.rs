//! Publishing a checkpoint: to a file, and to a double of a C2SP witness on the loopback address.
//!
//! The double speaks as much of tlog-witness as the command needs: it holds a size and a root, checks the
//! consistency proof from there, signs, and answers 200, 409, 422 or what a test tells it. Its signature is a
//! plain note signature, not the timestamped one of a real witness.

use crate::fixture::Store;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use memwarden::ledger::note::{SignatureLine, split_note};
use memwarden::ledger::{Checkpoint, SignerKey, open_note, sign_note, verify_consistency};
use memwarden_core::Digest;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// A witness that is none.
struct Double {
    address: String,
    thread: JoinHandle<Vec<String>>,
}

/// What it has seen, or what it says whatever it is asked.
enum Mind {
    Seen(Option<Checkpoint>),
    Says(&'static str),
}

impl Double {
    /// Answers this many requests and ends.
    fn answering(requests: usize, mut mind: Mind) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/log", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let accept = |_| {
                let (stream, _) = listener.accept().unwrap();
                serve(stream, &mut mind)
            };
            (0..requests).map(accept).collect()
        });
        Self { address, thread }
    }

    /// The bodies of the requests.
    fn asked(self) -> Vec<String> {
        self.thread.join().unwrap()
    }
}

fn signer() -> SignerKey {
    SignerKey::from_seed("witness.example/double", &[9; 32]).unwrap()
}

fn serve(mut stream: TcpStream, mind: &mut Mind) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_ascii_lowercase());
    }
    assert_eq!(head[0], "post /log/add-checkpoint http/1.1");
    let length = head
        .iter()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let (status, said) = match mind {
        Mind::Says(answer) => answer
            .split_once('\n')
            .map(|(status, said)| (status, said.to_owned()))
            .unwrap(),
        Mind::Seen(seen) => judge(&body, seen),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{said}",
        said.len()
    )
    .unwrap();
    body
}

/// C2SP tlog-witness, add-checkpoint.
fn judge(body: &str, seen: &mut Option<Checkpoint>) -> (&'static str, String) {
    let (head, note) = body.split_once("\n\n").unwrap();
    let mut lines = head.lines();
    let old: u64 = lines
        .next()
        .unwrap()
        .strip_prefix("old ")
        .unwrap()
        .parse()
        .unwrap();
    let proof: Vec<Digest> = lines
        .map(|line| Digest::from_bytes(BASE64_STANDARD.decode(line).unwrap().try_into().unwrap()))
        .collect();
    let offered = Checkpoint::read_unverified(note).unwrap();
    let size = seen.as_ref().map_or(0, |seen| seen.size);
    if old != size {
        return ("409 Conflict", format!("{size}\n"));
    }
    if let Some(seen) = seen
        && verify_consistency(seen.size, offered.size, seen.root, offered.root, &proof).is_err()
    {
        return ("422 Unprocessable Entity", String::new());
    }
    *seen = Some(offered);
    let (text, _) = split_note(note).unwrap();
    let signed = sign_note(text, &signer()).unwrap();
    ("200 OK", format!("{}\n", signed.lines().last().unwrap()))
}

fn published(store: &Store, double: &Double) -> String {
    let answer = store.run(&["ledger", "checkpoint", "--publish", &double.address]);
    answer.ended(0).to_owned()
}

#[test]
fn a_checkpoint_is_published_to_a_file_as_it_is_printed() {
    let store = Store::new();
    let file = store.at("checkpoint");
    let printed = store.run(&["ledger", "checkpoint", "--publish", &file]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), printed.ended(0));
    let nowhere = store.at("missing/checkpoint");
    store.refused(&["ledger", "checkpoint", "--publish", &nowhere], 2, "file");
}

#[test]
fn a_witness_that_has_seen_nothing_cosigns_at_once() {
    let store = Store::new();
    store.keep("The gate opens at nine.");
    let double = Double::answering(1, Mind::Seen(None));
    let note = published(&store, &double);
    assert!(open_note(&note, &[signer().verifier().clone()]).is_ok());
    let own = store.json(&["ledger", "checkpoint"])["verifier_key"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(
        open_note(&note, &[own]).is_ok(),
        "the log's own signature is still there"
    );
    let (_, lines) = split_note(&note).unwrap();
    let names: Vec<&str> = lines
        .iter()
        .map(|line: &SignatureLine| line.name.as_str())
        .collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let asked = double.asked();
    assert!(asked[0].starts_with("old 0\n\nmemwarden/"), "{asked:?}");
}

#[test]
fn a_witness_that_has_seen_an_older_state_gets_the_proof_from_there() {
    let store = Store::new();
    for number in 0..5 {
        store.keep(&format!("Pallet {number}."));
    }
    let older = store.run(&["ledger", "checkpoint"]);
    let older = Checkpoint::read_unverified(older.ended(0)).unwrap();
    for number in 5..9 {
        store.keep(&format!("Pallet {number}."));
    }
    let size = older.size;
    let double = Double::answering(2, Mind::Seen(Some(older)));
    let note = published(&store, &double);
    assert!(open_note(&note, &[signer().verifier().clone()]).is_ok());
    let asked = double.asked();
    assert!(asked[0].starts_with("old 0\n\n"));
    assert!(asked[1].starts_with(&format!("old {size}\n")), "{asked:?}");
    assert!(
        !asked[1].starts_with(&format!("old {size}\n\n")),
        "no proof was sent: {asked:?}"
    );
}

#[test]
fn a_witness_that_has_seen_another_history_or_a_longer_one_does_not_cosign() {
    let store = Store::new();
    for number in 0..5 {
        store.keep(&format!("Pallet {number}."));
    }
    let present = store.run(&["ledger", "checkpoint"]);
    let present = Checkpoint::read_unverified(present.ended(0)).unwrap();

    let forked = Checkpoint {
        size: present.size - 1,
        ..present.clone()
    };
    let double = Double::answering(2, Mind::Seen(Some(forked)));
    let message = store.refused(
        &["ledger", "checkpoint", "--publish", &double.address],
        3,
        "service",
    );
    assert!(message.contains("422"), "{message}");
    double.asked();

    let longer = Checkpoint {
        size: present.size + 100,
        ..present
    };
    let double = Double::answering(1, Mind::Seen(Some(longer)));
    let message = store.refused(
        &["ledger", "checkpoint", "--publish", &double.address],
        1,
        "unverified",
    );
    assert!(message.contains("has seen"), "{message}");
    double.asked();
}

#[test]
fn a_witness_that_fails_or_answers_nonsense_is_named_with_what_it_said() {
    let store = Store::new();
    for (says, wanted) in [
        (
            "500 Internal Server Error\nout of paper",
            "answered 500: out of paper",
        ),
        ("404 Not Found\n", "answered 404"),
        ("200 OK\nthank you", "answered 200 with"),
        ("409 Conflict\nmany", "answered 409 with"),
        ("503 Busy\n\u{1b}[2Jcleared", "answered 503"),
    ] {
        let double = Double::answering(1, Mind::Says(says));
        let message = store.refused(
            &["ledger", "checkpoint", "--publish", &double.address],
            3,
            "service",
        );
        assert!(message.contains(wanted), "{message}");
        assert!(!message.contains('\u{1b}'));
        double.asked();
    }
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let message = store.refused(
        &["ledger", "checkpoint", "--publish", &format!("http://{free}")],
        3,
        "service",
    );
    assert!(message.contains("cannot be reached"), "{message}");
}
