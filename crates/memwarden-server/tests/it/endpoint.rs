//! An endpoint that answers each request with the bytes that a test gives it.

use super::wire::{Connection, Message};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// What an endpoint does for one request, one after the other. It closes the connection at the end.
#[derive(Debug)]
pub enum Step {
    Send(Vec<u8>),
    /// Goes on when the test says so, or has ended.
    Wait(Receiver<()>),
}

/// An endpoint that is running.
pub struct Endpoint {
    pub address: SocketAddr,
    heard: Receiver<Message>,
}

impl Endpoint {
    /// Answers every request so.
    pub fn answering(response: impl Into<Vec<u8>>) -> Self {
        let response = response.into();
        Self::doing(move |_| vec![Step::Send(response.clone())])
    }

    pub fn doing(steps: impl Fn(&Message) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (said, heard) = channel();
        let steps = Arc::new(steps);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (steps, said) = (Arc::clone(&steps), Sender::clone(&said));
                let connection = Connection::over(stream.unwrap());
                std::thread::spawn(move || serve(connection, steps.as_ref(), &said));
            }
        });
        Self { address, heard }
    }

    /// The next request that came.
    #[track_caller]
    pub fn heard(&self) -> Message {
        self.heard.recv().unwrap()
    }

    /// Whether a request came that no test has asked for.
    pub fn heard_more(&self) -> bool {
        self.heard.try_recv().is_ok()
    }
}

fn serve(
    mut connection: Connection,
    steps: &(impl Fn(&Message) -> Vec<Step> + ?Sized),
    said: &Sender<Message>,
) {
    let Some(request) = connection.message() else {
        return;
    };
    let steps = steps(&request);
    // Nobody may be listening.
    let _ = said.send(request);
    for step in steps {
        match step {
            Step::Send(bytes) => {
                if connection.send(&bytes).is_err() {
                    return;
                }
            }
            Step::Wait(go) => {
                let _ = go.recv();
            }
        }
    }
    let _ = connection.reader.get_mut().shutdown(Shutdown::Both);
}

/// Steps that can be taken once.
pub fn once(steps: Vec<Step>) -> impl Fn(&Message) -> Vec<Step> + Send + Sync + 'static {
    let steps = Mutex::new(Some(steps));
    move |_| steps.lock().unwrap().take().expect("one request only")
}

/// A response with a length.
pub fn response(status: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let mut text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

/// The head of a stream.
pub const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

/// One chunk of a stream.
pub fn chunk(data: &str) -> Vec<u8> {
    format!("{:x}\r\n{data}\r\n", data.len()).into_bytes()
}
