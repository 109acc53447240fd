//! JSON of a given schema, byte by byte: which bytes may come next, so that a reply has its shape while it is made.
//!
//! It writes one spelling: fields in the schema's order, `": "` and `", "` between. Texts end after [`TEXT_CHARS`]
//! characters and lists without `maxItems` after [`LIST_ITEMS`], so that a model that repeats itself comes to an end.
//! `minimum` and `maximum` are left to the check of the finished reply.

use serde_json::Value;

/// The longest text.
const TEXT_CHARS: u16 = 400;
/// The longest list of a schema that sets no limit.
const LIST_ITEMS: u64 = 16;
/// The most digits of a number on each side of its point.
const DIGITS: u8 = 12;

/// What a schema admits.
#[derive(Debug)]
pub(crate) struct Grammar {
    nodes: Vec<Node>,
    root: usize,
}

#[derive(Debug)]
enum Node {
    Fixed(Vec<u8>),
    Text,
    Number(Decimals),
    Either(Vec<usize>),
    Sequence(Vec<usize>),
    List { item: usize, least: u64, most: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decimals {
    None,
    Some,
}

/// Where a reply stands: every way in which it may go on.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// What is still to come, the next on top; each begins with a frame that takes a byte.
    stacks: Vec<Vec<Frame>>,
    is_whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Frame {
    Begin(usize),
    Byte(u8),
    Fixed { node: usize, at: usize },
    Sequence { node: usize, next: usize },
    Items { node: usize, count: u64 },
    Text(Letter, u16),
    Number(Decimals, Digit, u8),
}

/// Within a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letter {
    Next,
    Escaped,
    /// Bytes that the character still takes, and what the next one may be.
    Within(u8, u8, u8),
}

/// Within a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Digit {
    Sign,
    First,
    Zero,
    Whole,
    Point,
    Fraction,
}

impl Grammar {
    /// Of a schema that can be checked; the error says what in it cannot be written.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        let mut grammar = Self {
            nodes: Vec::new(),
            root: 0,
        };
        grammar.root = grammar.of(schema, "schema")?;
        Ok(grammar)
    }

    /// Before the first byte.
    pub(crate) fn start(&self) -> State {
        self.settle(vec![vec![Frame::Begin(self.root)]])
    }

    /// After one more byte; `None` where it may not come.
    pub(crate) fn advance(&self, state: &State, byte: u8) -> Option<State> {
        let mut moved = Vec::new();
        for stack in &state.stacks {
            let mut stack = stack.clone();
            if self.take(&mut stack, byte) {
                moved.push(stack);
            }
        }
        if moved.is_empty() {
            return None;
        }
        Some(self.settle(moved))
    }

    /// After all of these bytes.
    pub(crate) fn advance_all(&self, state: &State, bytes: &[u8]) -> Option<State> {
        let mut bytes = bytes.iter();
        let mut state = self.advance(state, *bytes.next()?)?;
        for byte in bytes {
            state = self.advance(&state, *byte)?;
        }
        Some(state)
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn of(&mut self, schema: &Value, at: &str) -> Result<usize, String> {
        if let Some(only) = schema.get("const") {
            return Ok(self.add(Node::Fixed(only.to_string().into_bytes())));
        }
        if let Some(Value::Array(allowed)) = schema.get("enum") {
            if allowed.is_empty() {
                return Err(format!("`{at}` may be nothing"));
            }
            let ways = allowed
                .iter()
                .map(|value| value.to_string().into_bytes())
                .collect();
            return Ok(self.either_fixed(ways));
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.of_type(schema, name, at),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                let ways: Result<Vec<_>, _> = names.map(|name| self.of_type(schema, name, at)).collect();
                Ok(self.add(Node::Either(ways?)))
            }
            _ => Err(format!(
                "`{at}` has neither a type nor values: a local model writes only what is described"
            )),
        }
    }

    fn either_fixed(&mut self, ways: Vec<Vec<u8>>) -> usize {
        let ways = ways.into_iter().map(|way| self.add(Node::Fixed(way))).collect();
        self.add(Node::Either(ways))
    }

    fn of_type(&mut self, schema: &Value, name: &str, at: &str) -> Result<usize, String> {
        Ok(match name {
            "null" => self.add(Node::Fixed(b"null".to_vec())),
            "boolean" => self.either_fixed(vec![b"true".to_vec(), b"false".to_vec()]),
            "integer" => self.add(Node::Number(Decimals::None)),
            "number" => self.add(Node::Number(Decimals::Some)),
            "string" => self.add(Node::Text),
            "array" => {
                let items = schema
                    .get("items")
                    .ok_or_else(|| format!("`{at}` has no `items`"))?;
                let item = self.of(items, &format!("{at}[]"))?;
                let bound = |key| schema.get(key).and_then(Value::as_u64);
                let least = bound("minItems").unwrap_or(0);
                let most = bound("maxItems").unwrap_or_else(|| LIST_ITEMS.max(least));
                if least > most {
                    return Err(format!("`{at}` has at least {least} items and at most {most}"));
                }
                self.add(Node::List { item, least, most })
            }
            _ => self.object(schema, at)?,
        })
    }

    /// All of its fields, also those that it does not require.
    fn object(&mut self, schema: &Value, at: &str) -> Result<usize, String> {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if properties.is_none_or(|properties| !properties.contains_key(name)) {
                return Err(format!("`{at}.{name}` is required and not described"));
            }
        }
        let mut parts = Vec::new();
        let mut before = "{";
        for (name, property) in properties.into_iter().flatten() {
            let key = Value::from(name.as_str());
            parts.push(self.add(Node::Fixed(format!("{before}{key}: ").into_bytes())));
            parts.push(self.of(property, &format!("{at}.{name}"))?);
            before = ", ";
        }
        let end = if parts.is_empty() { "{}" } else { "}" };
        parts.push(self.add(Node::Fixed(end.as_bytes().to_vec())));
        Ok(self.add(Node::Sequence(parts)))
    }

    /// Opens what is on top of each stack until a byte is due.
    fn settle(&self, mut open: Vec<Vec<Frame>>) -> State {
        let mut state = State {
            stacks: Vec::new(),
            is_whole: false,
        };
        while let Some(mut stack) = open.pop() {
            let Some(top) = stack.last().copied() else {
                state.is_whole = true;
                continue;
            };
            match top {
                Frame::Begin(node) => {
                    stack.pop();
                    self.begin(node, stack, &mut open);
                }
                Frame::Sequence { node, next } => {
                    stack.pop();
                    if let Some(Node::Sequence(parts)) = self.nodes.get(node)
                        && let Some(part) = parts.get(next)
                    {
                        stack.push(Frame::Sequence { node, next: next + 1 });
                        stack.push(Frame::Begin(*part));
                    }
                    open.push(stack);
                }
                Frame::Items { node, count } => {
                    stack.pop();
                    self.items(node, count, stack, &mut open);
                }
                Frame::Fixed { node, at } if self.fixed(node).len() <= at => {
                    stack.pop();
                    open.push(stack);
                }
                Frame::Number(_, Digit::Zero | Digit::Whole | Digit::Fraction, _) => {
                    let mut ended = stack.clone();
                    ended.pop();
                    open.push(ended);
                    state.stacks.push(stack);
                }
                _ => state.stacks.push(stack),
            }
        }
        state
    }

    fn begin(&self, at: usize, mut stack: Vec<Frame>, open: &mut Vec<Vec<Frame>>) {
        match self.nodes.get(at) {
            Some(Node::Fixed(_)) => stack.push(Frame::Fixed { node: at, at: 0 }),
            Some(Node::Text) => stack.extend([Frame::Text(Letter::Next, 0), Frame::Byte(b'"')]),
            Some(Node::Number(decimals)) => stack.push(Frame::Number(*decimals, Digit::Sign, 0)),
            Some(Node::Sequence(_)) => stack.push(Frame::Sequence { node: at, next: 0 }),
            Some(Node::List { .. }) => stack.extend([Frame::Items { node: at, count: 0 }, Frame::Byte(b'[')]),
            Some(Node::Either(ways)) => {
                for way in ways {
                    let mut stack = stack.clone();
                    stack.push(Frame::Begin(*way));
                    open.push(stack);
                }
                return;
            }
            None => {}
        }
        open.push(stack);
    }

    fn items(&self, at: usize, count: u64, stack: Vec<Frame>, open: &mut Vec<Vec<Frame>>) {
        let Some(Node::List { item, least, most }) = self.nodes.get(at) else {
            return;
        };
        if count < *most {
            let mut another = stack.clone();
            another.extend([
                Frame::Items {
                    node: at,
                    count: count + 1,
                },
                Frame::Begin(*item),
            ]);
            if count > 0 {
                another.extend([Frame::Byte(b' '), Frame::Byte(b',')]);
            }
            open.push(another);
        }
        if count >= *least {
            let mut ended = stack;
            ended.push(Frame::Byte(b']'));
            open.push(ended);
        }
    }

    fn fixed(&self, node: usize) -> &[u8] {
        match self.nodes.get(node) {
            Some(Node::Fixed(bytes)) => bytes,
            _ => &[],
        }
    }

    /// Whether the frame on top takes the byte; it is then what comes after.
    fn take(&self, stack: &mut Vec<Frame>, byte: u8) -> bool {
        let next = match stack.pop() {
            Some(Frame::Byte(expected)) if byte == expected => return true,
            Some(Frame::Fixed { node, at }) if self.fixed(node).get(at) == Some(&byte) => {
                Some(Frame::Fixed { node, at: at + 1 })
            }
            Some(Frame::Text(Letter::Next, _)) if byte == b'"' => return true,
            Some(Frame::Text(letter, count)) => letter_after(letter, count, byte),
            Some(Frame::Number(decimals, digit, count)) => digit_after(decimals, digit, count, byte)
                .map(|(digit, count)| Frame::Number(decimals, digit, count)),
            _ => None,
        };
        stack.extend(next);
        next.is_some()
    }
}

impl State {
    /// Whether it may end here.
    pub(crate) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Whether more may come.
    pub(crate) fn can_go_on(&self) -> bool {
        !self.stacks.is_empty()
    }
}

/// RFC 8259, section 7, without `\u`, since every character may stand for itself; UTF-8 by RFC 3629, section 4.
fn letter_after(letter: Letter, count: u16, byte: u8) -> Option<Frame> {
    let (letter, count) = match letter {
        Letter::Escaped => {
            let is_known = matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't');
            (is_known.then_some(Letter::Next)?, count)
        }
        Letter::Within(left, least, most) => {
            if !(least..=most).contains(&byte) {
                return None;
            }
            let letter = match left {
                0 | 1 => Letter::Next,
                _ => Letter::Within(left - 1, 0x80, 0xBF),
            };
            (letter, count)
        }
        Letter::Next if count >= TEXT_CHARS => return None,
        Letter::Next => {
            let letter = match byte {
                b'\\' => Letter::Escaped,
                0x20..=0x7E => Letter::Next,
                0xC2..=0xDF => Letter::Within(1, 0x80, 0xBF),
                0xE0 => Letter::Within(2, 0xA0, 0xBF),
                0xED => Letter::Within(2, 0x80, 0x9F),
                0xE1..=0xEF => Letter::Within(2, 0x80, 0xBF),
                0xF0 => Letter::Within(3, 0x90, 0xBF),
                0xF1..=0xF3 => Letter::Within(3, 0x80, 0xBF),
                0xF4 => Letter::Within(3, 0x80, 0x8F),
                _ => return None,
            };
            (letter, count + 1)
        }
    };
    Some(Frame::Text(letter, count))
}

/// RFC 8259, section 6, without exponents.
fn digit_after(decimals: Decimals, digit: Digit, count: u8, byte: u8) -> Option<(Digit, u8)> {
    match (digit, byte) {
        (Digit::Sign, b'-') => Some((Digit::First, 0)),
        (Digit::Sign | Digit::First, b'0') => Some((Digit::Zero, 1)),
        (Digit::Sign | Digit::First, b'1'..=b'9') => Some((Digit::Whole, 1)),
        (Digit::Whole, b'0'..=b'9') if count < DIGITS => Some((Digit::Whole, count + 1)),
        (Digit::Zero | Digit::Whole, b'.') if decimals == Decimals::Some => Some((Digit::Point, 0)),
        (Digit::Point, b'0'..=b'9') => Some((Digit::Fraction, 1)),
        (Digit::Fraction, b'0'..=b'9') if count < DIGITS => Some((Digit::Fraction, count + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Schema;
    use proptest::prelude::*;

    const SCHEMA: &str = r#"{"type": "object", "required": ["decision"], "properties": {
        "decision": {"enum": ["skip", "skim"]}, "n": {"type": ["integer", "null"]}, "ratio": {"type": "number"},
        "sure": {"type": "boolean"}, "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}}}}"#;

    fn admits(schema: &str, text: &str) -> bool {
        let grammar = Grammar::new(&serde_json::from_str(schema).unwrap()).unwrap();
        grammar
            .advance_all(&grammar.start(), text.as_bytes())
            .is_some_and(|state| state.is_whole())
    }

    #[test]
    fn what_the_schema_admits_can_be_written() {
        for good in [
            r#"{"decision": "skip", "n": 12, "ratio": -0.5, "sure": true, "tags": []}"#,
            r#"{"decision": "skim", "n": null, "ratio": 0, "sure": false, "tags": ["a", "ä\"→"]}"#,
        ] {
            assert!(admits(SCHEMA, good), "{good}");
            assert_eq!(Schema::parse(SCHEMA).unwrap().check(good), Ok(()));
        }
        assert!(admits(r#"{"type": "number"}"#, "17.25"));
        assert!(admits(
            r#"{"type": "array", "items": {"type": "object", "properties": {}}}"#,
            "[{}, {}]"
        ));
    }

    #[test]
    fn nothing_else_can() {
        for bad in [
            r#"{"decision": "ski", "#,
            r#"{"decision": "skip", "n": 01"#,
            r#"{"decision": "skip", "n": 1.5"#,
            r#"{"decision": "skip", "n": 1, "ratio": .5"#,
            r#"{"decision": "skip", "n": 1, "ratio": 5, "sure": true, "tags": ["a", "b", "c"]}"#,
            "{\"decision\": \"skip\", \"n\": 1, \"ratio\": 5, \"sure\": true, \"tags\": [\"\n",
            "[]",
        ] {
            let grammar = Grammar::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
            assert!(
                grammar.advance_all(&grammar.start(), bad.as_bytes()).is_none(),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_schema_that_describes_too_little_is_refused() {
        for (bad, place) in [
            ("{}", "`schema` has neither"),
            (r#"{"enum": []}"#, "may be nothing"),
            (r#"{"type": "array"}"#, "no `items`"),
            (
                r#"{"type": "object", "required": ["a"]}"#,
                "`schema.a` is required",
            ),
            (
                r#"{"type": "object", "properties": {"a": {}}}"#,
                "`schema.a` has neither",
            ),
        ] {
            let error = Grammar::new(&serde_json::from_str(bad).unwrap()).unwrap_err();
            assert!(error.contains(place), "{bad}: {error}");
        }
    }

    proptest! {
        /// Whatever bytes are wished for, taking those that may come ends in JSON that the schema admits.
        #[test]
        fn any_walk_ends_in_what_the_schema_admits(wishes in proptest::collection::vec(any::<u8>(), 1..200)) {
            let grammar = Grammar::new(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
            let mut state = grammar.start();
            let mut text = Vec::new();
            for wish in wishes.iter().cycle().take(20_000) {
                let may = |byte: &u8| grammar.advance(&state, *byte).is_some();
                let Some(byte) = (*wish..=255).chain(0..*wish).find(may) else { break };
                state = grammar.advance(&state, byte).unwrap();
                text.push(byte);
            }
            prop_assert!(state.is_whole() && !state.can_go_on());
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(Schema::parse(SCHEMA).unwrap().check(&text), Ok(()));
        }
    }
}
