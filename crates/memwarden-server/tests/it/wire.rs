//! As much of HTTP/1.1 as the two ends need, over blocking sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// A request or a response.
#[derive(Debug, Clone, Default)]
pub struct Message {
    /// The first line.
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub end: End,
}

/// How a body ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum End {
    #[default]
    Whole,
    Cut,
}

impl Message {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        let found = all.find(|(given, _)| given.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn status(&self) -> u16 {
        self.line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The code of an error that the proxy made.
    #[track_caller]
    pub fn code(&self) -> String {
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(body["error"]["type"], "memwarden_proxy", "{body}");
        assert!(!body["error"]["message"].as_str().unwrap().is_empty());
        body["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// A connection whose other end sends messages.
pub struct Connection {
    pub reader: BufReader<TcpStream>,
}

impl Connection {
    pub fn to(address: SocketAddr) -> Self {
        Self::over(TcpStream::connect(address).unwrap())
    }

    pub fn over(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        Self {
            reader: BufReader::new(stream),
        }
    }

    /// Sends bytes; the other end may have gone.
    pub fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// The next message up to its body; nothing if the other end closed.
    pub fn head(&mut self) -> Option<Message> {
        let mut message = Message {
            line: self.line()?,
            ..Message::default()
        };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(message);
            }
            let (name, value) = line.split_once(':').unwrap();
            message.headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// The next message.
    pub fn message(&mut self) -> Option<Message> {
        let mut message = self.head()?;
        let body = if message.header("transfer-encoding") == Some("chunked") {
            self.chunks()
        } else {
            let length = message.header("content-length").unwrap_or("0");
            self.bytes(length.parse().unwrap())
        };
        (message.body, message.end) = body;
        Some(message)
    }

    /// The data of the next chunk; nothing at a clean end, an error if the connection is cut.
    pub fn chunk(&mut self) -> Result<Option<Vec<u8>>, End> {
        let size = self.line().ok_or(End::Cut)?;
        let size = usize::from_str_radix(&size, 16).map_err(|_| End::Cut)?;
        let (data, end) = self.bytes(size);
        let closed = self.line();
        match (end, closed, size) {
            (End::Whole, Some(_), 0) => Ok(None),
            (End::Whole, Some(_), _) => Ok(Some(data)),
            _ => Err(End::Cut),
        }
    }

    fn chunks(&mut self) -> (Vec<u8>, End) {
        let mut body = Vec::new();
        loop {
            match self.chunk() {
                Ok(Some(data)) => body.extend(data),
                Ok(None) => return (body, End::Whole),
                Err(end) => return (body, end),
            }
        }
    }

    fn bytes(&mut self, length: usize) -> (Vec<u8>, End) {
        let mut body = Vec::new();
        // A reset is a cut like any other; what came before it counts.
        let _ = self.reader.by_ref().take(length as u64).read_to_end(&mut body);
        let end = if body.len() == length {
            End::Whole
        } else {
            End::Cut
        };
        (body, end)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(1..) if line.ends_with('\n') => Some(line.trim_end().to_owned()),
            _ => None,
        }
    }
}
