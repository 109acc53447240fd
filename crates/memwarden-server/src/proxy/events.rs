//! Server-sent events, read along while they pass (WHATWG HTML, section 9.2.6; only the data).

/// Longest event that is kept to be read. A longer one passes and is not read.
const LONGEST: usize = 4 << 20;

/// Reads events out of pieces that are cut anywhere.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that has begun.
    line: Vec<u8>,
    /// The data of the event that has begun.
    data: Vec<u8>,
    has_data: bool,
    /// Whether the event that has begun is too long.
    overflows: bool,
    after_return: bool,
    /// Whether an event was too long, and so was not read.
    pub(super) has_skipped: bool,
}

impl Events {
    /// Takes the next piece and hands over the data of every event that it ends.
    pub(super) fn take(&mut self, piece: &[u8], mut each: impl FnMut(&[u8])) {
        let mut rest = piece;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, ended) = rest.split_at(at);
            let (end, after) = ended.split_at(1);
            // Line feed after carriage return ends the same line.
            let is_second = end == b"\n" && self.after_return && line.is_empty() && self.line.is_empty();
            self.after_return = end == b"\r";
            if !is_second {
                self.add(line);
                self.end_line(&mut each);
            }
            rest = after;
        }
        if !rest.is_empty() {
            self.after_return = false;
            self.add(rest);
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() + self.data.len() > LONGEST {
            self.overflows = true;
            self.has_skipped = true;
            // The line stays unempty: it still has to be ended.
            self.line.truncate(1);
            return;
        }
        self.line.extend_from_slice(bytes);
    }

    fn end_line(&mut self, each: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            if self.has_data && !self.overflows {
                each(&self.data);
            }
            self.data.clear();
            self.has_data = false;
            self.overflows = false;
        } else if let Some(value) = line.strip_prefix(b"data:") {
            if self.has_data {
                self.data.push(b'\n');
            }
            self.data
                .extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.has_data = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str =
        ": hello\r\ndata: {\"a\":1}\r\n\r\nevent: x\ndata:one\ndata: two\n\n\n\ndata: [DONE]\r\rdata: cut";

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let (mut events, mut seen) = (Events::default(), Vec::new());
        for piece in pieces {
            events.take(piece, |data| seen.push(String::from_utf8(data.to_vec()).unwrap()));
        }
        seen
    }

    #[test]
    fn events_are_the_same_wherever_the_pieces_are_cut() {
        let wanted = ["{\"a\":1}", "one\ntwo", "[DONE]"];
        assert_eq!(read(&[STREAM.as_bytes()]), wanted);
        for first in 0..STREAM.len() {
            let (left, right) = STREAM.as_bytes().split_at(first);
            assert_eq!(read(&[left, right]), wanted, "cut at {first}");
        }
        let bytes: Vec<&[u8]> = STREAM.as_bytes().chunks(1).collect();
        assert_eq!(read(&bytes), wanted);
    }

    #[test]
    fn an_event_too_long_to_keep_is_skipped_and_the_next_is_read() {
        let long = vec![b'x'; LONGEST + 1];
        assert_eq!(read(&[b"data: ", &long, b"\n\ndata: next\n\n"]), ["next"]);
    }
}
