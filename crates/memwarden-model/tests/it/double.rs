//! An endpoint that answers each request with the next bytes of a script, then hangs up.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::JoinHandle;

/// What the double does with one request.
#[derive(Clone)]
pub enum Act {
    /// Sends these bytes.
    Say(Vec<u8>),
    /// Sends these bytes, then this many more of nothing.
    Flood(Vec<u8>, usize),
    /// Says nothing until the client goes away.
    Hang,
    /// Sends these bytes when as many requests as the barrier waits for are there.
    Together(Arc<Barrier>, Vec<u8>),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Heard {
    pub head: String,
    pub body: String,
}

pub struct Double {
    pub url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    most_at_once: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Double {
    /// Listens; after the last act, nobody does.
    pub fn new(acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let at_once = Arc::new(AtomicUsize::new(0));
        let most_at_once = Arc::new(AtomicUsize::new(0));
        let (ears, most) = (Arc::clone(&heard), Arc::clone(&most_at_once));
        let thread = std::thread::spawn(move || {
            let mut workers = Vec::new();
            for act in acts {
                let (stream, _) = listener.accept().unwrap();
                let (ears, at_once, most) = (Arc::clone(&ears), Arc::clone(&at_once), Arc::clone(&most));
                workers.push(std::thread::spawn(move || {
                    most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    serve(stream, act, &ears, || {
                        at_once.fetch_sub(1, Ordering::SeqCst);
                    });
                }));
            }
            for worker in workers {
                worker.join().unwrap();
            }
        });
        Self {
            url,
            heard,
            most_at_once,
            thread,
        }
    }

    /// All requests, once every act has been played.
    pub fn finish(self) -> Vec<Heard> {
        self.thread.join().unwrap();
        self.heard.lock().unwrap().clone()
    }

    pub fn most_at_once(&self) -> usize {
        self.most_at_once.load(Ordering::SeqCst)
    }
}

fn serve(stream: TcpStream, act: Act, heard: &Mutex<Vec<Heard>>, before_answer: impl FnOnce()) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(
            reader.read_line(&mut head).unwrap(),
            0,
            "a request without its end"
        );
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    heard.lock().unwrap().push(Heard {
        head,
        body: String::from_utf8(body).unwrap(),
    });
    let mut stream = stream;
    // The client may hang up at any moment, which is what some tests are about.
    match act {
        Act::Say(bytes) => {
            before_answer();
            let _ = stream.write_all(&bytes);
        }
        Act::Flood(bytes, more) => {
            before_answer();
            let _ = stream.write_all(&bytes);
            let piece = [b' '; 65_536];
            let mut left = more;
            while left > 0 && stream.write_all(&piece[..left.min(piece.len())]).is_ok() {
                left -= left.min(piece.len());
            }
        }
        Act::Hang => {
            let _ = stream.read(&mut [0]);
            before_answer();
        }
        Act::Together(barrier, bytes) => {
            barrier.wait();
            before_answer();
            let _ = stream.write_all(&bytes);
        }
    }
}

/// A response with a body and its length.
pub fn response(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}")
        .into_bytes()
}

pub fn ok(body: &str) -> Act {
    Act::Say(response("200 OK", "", body))
}

pub fn refuse(status: &str, headers: &str) -> Act {
    Act::Say(response(status, headers, r#"{"error": {"message": "not now"}}"#))
}

/// A stream that ends when the connection does.
pub fn stream(events: &str) -> Act {
    Act::Say(
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
            .into_bytes(),
    )
}
