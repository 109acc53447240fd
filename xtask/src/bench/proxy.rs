//! What the metering proxy adds to a call: the same client asks the same endpoint, directly and through the proxy, in turn.
//!
//! Client and endpoint are plain sockets of this process, so that little else is measured.

use super::Bench;
use super::measure::{Bar, Figure, Rounds, Unit, median, ms};
use memwarden::model::{Meter, Prices};
use memwarden_server::proxy::{Limits, Proxy, Settings, Upstream};
use miette::{IntoDiagnostic as _, Result, bail, miette};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Instant;

/// Most that the median call may take longer.
const ADDS_BELOW_MS: f64 = 1.0;
/// Pieces of a stream.
const PIECES: usize = 50;
const PATH: &str = "/purpose/bench/v1/chat/completions";

impl Bench<'_> {
    pub(super) fn proxy(&self) -> Result<Vec<Figure>> {
        eprintln!("bench: calls through the proxy");
        let endpoint = endpoint()?;
        let settings = Settings {
            listen: ([127, 0, 0, 1], 0).into(),
            upstream: Upstream::parse(&format!("http://{endpoint}")).into_diagnostic()?,
            default_purpose: None,
            limits: Limits::default(),
        };
        let meter = Meter::append_to(&self.trial.join("calls.jsonl"), Prices::default()).into_diagnostic()?;
        let proxy = Proxy::bind(settings, Arc::new(meter)).into_diagnostic()?;
        let (through, stopper) = (proxy.address(), proxy.stopper());
        let running = std::thread::spawn(move || proxy.run());
        let figures = [
            ("a chat of 4 kB", body("false")),
            ("a stream of 50 pieces", body("true")),
        ]
        .map(|(what, body)| self.added(what, &body, endpoint, through));
        stopper.stop();
        let ended = running.join().map_err(|_| miette!("the proxy panicked"))?;
        ended.into_diagnostic()?;
        figures.into_iter().collect()
    }

    fn added(&self, what: &str, body: &str, endpoint: SocketAddr, through: SocketAddr) -> Result<Figure> {
        let calls = if self.quick { 100 } else { 1_000 };
        let mut direct = Client::to(endpoint, "/v1/chat/completions", body)?;
        let mut proxied = Client::to(through, PATH, body)?;
        for _ in 0..50 {
            direct.call()?;
            proxied.call()?;
        }
        let (mut ours, mut theirs, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            let (mut with, mut without) = (Vec::new(), Vec::new());
            for _ in 0..calls {
                without.push(direct.call()?);
                with.push(proxied.call()?);
            }
            let (with, without) = (median(with), median(without));
            ours.push(with);
            theirs.push(without);
            added.push(with - without);
        }
        let added = Rounds::new(Unit::Milliseconds, added);
        Ok(Figure {
            what: format!("proxy: {what}, with against without"),
            bars: vec![Bar::below(
                &format!("proxy, added to {what}"),
                &added,
                ADDS_BELOW_MS,
            )],
            ours: Rounds::new(Unit::Milliseconds, ours),
            theirs: Some(Rounds::new(Unit::Milliseconds, theirs)),
            ratio: Some(added),
        })
    }
}

fn body(stream: &str) -> String {
    let text = "what is the capital of Norway? ".repeat(130);
    format!(r#"{{"model":"toy","stream":{stream},"messages":[{{"role":"user","content":"{text}"}}]}}"#)
}

/// A client that keeps its connection.
struct Client {
    connection: BufReader<TcpStream>,
    request: Vec<u8>,
}

impl Client {
    fn to(address: SocketAddr, path: &str, body: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).into_diagnostic()?;
        stream.set_nodelay(true).into_diagnostic()?;
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(Self {
            connection: BufReader::new(stream),
            request: request.into_bytes(),
        })
    }

    /// Milliseconds from the first byte that is sent to the last one that comes.
    fn call(&mut self) -> Result<f64> {
        let started = Instant::now();
        self.connection
            .get_mut()
            .write_all(&self.request)
            .into_diagnostic()?;
        let head = head(&mut self.connection)?;
        if !head.starts_with("http/1.1 200") {
            bail!(
                "the call was answered with `{}`",
                head.lines().next().unwrap_or_default()
            );
        }
        match length(&head) {
            Some(length) => skip(&mut self.connection, length)?,
            None => loop {
                let mut size = String::new();
                self.connection.read_line(&mut size).into_diagnostic()?;
                let size = usize::from_str_radix(size.trim(), 16).into_diagnostic()?;
                skip(&mut self.connection, size + 2)?;
                if size == 0 {
                    break;
                }
            },
        }
        Ok(ms(started.elapsed()))
    }
}

/// An endpoint that answers at once: a document, or a stream of pieces, each sent alone.
fn endpoint() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").into_diagnostic()?;
    let address = listener.local_addr().into_diagnostic()?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that leaves ends its thread.
            std::thread::spawn(move || answer(stream));
        }
    });
    Ok(address)
}

fn answer(stream: TcpStream) -> Result<()> {
    const USAGE: &str = r#""usage":{"prompt_tokens":911,"completion_tokens":200}"#;
    stream.set_nodelay(true).into_diagnostic()?;
    let text = "Oslo is the capital. ".repeat(40);
    let whole = format!(
        r#"{{"choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],{USAGE}}}"#
    );
    let whole = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{whole}",
        whole.len()
    );
    let chunk = |data: &str| format!("{:x}\r\n{data}\r\n", data.len());
    let piece = chunk(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Oslo\"},\"finish_reason\":null}]}\n\n",
    );
    let last = format!("data: {{\"choices\":[],{USAGE}}}\n\ndata: [DONE]\n\n");
    let last = format!("{}0\r\n\r\n", chunk(&last));
    let mut connection = BufReader::new(stream);
    loop {
        let head = head(&mut connection)?;
        let mut body = vec![0; length(&head).unwrap_or(0)];
        connection.read_exact(&mut body).into_diagnostic()?;
        let out = connection.get_mut();
        if body.windows(13).any(|window| window == b"\"stream\":true") {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            out.write_all(head.as_bytes()).into_diagnostic()?;
            for _ in 0..PIECES {
                out.write_all(piece.as_bytes()).into_diagnostic()?;
            }
            out.write_all(last.as_bytes()).into_diagnostic()?;
        } else {
            out.write_all(whole.as_bytes()).into_diagnostic()?;
        }
    }
}

/// First line and headers, in small letters.
fn head(connection: &mut BufReader<TcpStream>) -> Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if connection.read_line(&mut head).into_diagnostic()? == 0 {
            bail!("the connection was closed");
        }
    }
    head.make_ascii_lowercase();
    Ok(head)
}

fn length(head: &str) -> Option<usize> {
    let mut lines = head.lines();
    lines.find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
}

fn skip(connection: &mut BufReader<TcpStream>, length: usize) -> Result<()> {
    let mut bytes = vec![0; length];
    connection.read_exact(&mut bytes).into_diagnostic()
}
