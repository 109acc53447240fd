//! What the processes of a trial say to each other: one line for each thing that happened, written with one
//! call and flushed, so that a killed writer leaves whole lines.

use crate::text::Texts;
use memwarden::{Entry, RecordId, Status};
use std::fmt;
use std::io::Write;
use std::str::FromStr;

/// Which write of a trial: a process (or round), one of its threads, and a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) n: u32,
}

/// One write in this many has a word that the trial's policy quarantines.
const QUARANTINED_EVERY: u32 = 9;
/// One write in this many is retired by its writer a little later.
const RETIRED_EVERY: u32 = 10;

/// A policy of which something quarantines: what the published keyword filter would reject.
pub(crate) const POLICY: &str = r#"
name = "trial"
[write]
stages = ["keyword", "reasoning-guard"]
[read]
stages = []
[verdict]
keyword = "quarantine"
"#;

impl Key {
    /// A word that no other write of the trial has.
    pub(crate) fn token(self) -> String {
        format!("p{}t{}n{}", self.process, self.thread, self.n)
    }

    /// The text that is written under this key.
    pub(crate) fn content(self, texts: &Texts) -> String {
        let number = (u64::from(self.process) << 40) ^ (u64::from(self.thread) << 32) ^ u64::from(self.n);
        let word = if self.is_quarantined() { "bypass" } else { "note" };
        format!("{} {word} {}", self.token(), texts.text(number))
    }

    /// The entry that is written under this key.
    pub(crate) fn entry(self, texts: &Texts) -> Entry {
        Entry::new(self.content(texts))
    }

    /// Whether the trial's policy keeps it out of sight.
    pub(crate) const fn is_quarantined(self) -> bool {
        self.n % QUARANTINED_EVERY == QUARANTINED_EVERY - 1
    }

    /// Whether its writer retires it later.
    pub(crate) const fn is_retired_later(self) -> bool {
        self.n.is_multiple_of(RETIRED_EVERY) && !self.is_quarantined()
    }

    /// The status that it gets when it is written.
    pub(crate) const fn status(self) -> Status {
        if self.is_quarantined() {
            Status::Quarantined
        } else {
            Status::Active
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Line {
    /// The store is open.
    Ready,
    /// `remember` returned.
    Wrote(Key, RecordId),
    /// `retire` returned.
    Retired(Key, RecordId),
    /// Something that was acknowledged is not as it was.
    Missed(String),
    /// How many acknowledgements were checked, and how many came too fast to be.
    Checked {
        seen: u64,
        passed_over: u64,
        recalls: u64,
    },
    /// A verb failed.
    Failed(String),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Wrote(key, id) => write!(f, "wrote {} {} {} {id}", key.process, key.thread, key.n),
            Self::Retired(key, id) => write!(f, "retired {} {} {} {id}", key.process, key.thread, key.n),
            Self::Missed(what) => write!(f, "missed {}", flat(what)),
            Self::Checked {
                seen,
                passed_over,
                recalls,
            } => write!(f, "checked {seen} {passed_over} {recalls}"),
            Self::Failed(why) => write!(f, "failed {}", flat(why)),
        }
    }
}

/// A line that no version of this program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotALine;

impl FromStr for Line {
    type Err = NotALine;

    fn from_str(line: &str) -> Result<Self, NotALine> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = || -> Option<[u64; 3]> {
            let mut parts = rest.split(' ').map(str::parse);
            let mut next = || parts.next()?.ok();
            Some([next()?, next()?, next()?])
        };
        let keyed = || -> Option<(Key, RecordId)> {
            let (_, id) = rest.rsplit_once(' ')?;
            let [process, thread, n] = numbers()?.map(u32::try_from);
            let key = Key {
                process: process.ok()?,
                thread: thread.ok()?,
                n: n.ok()?,
            };
            Some((key, id.parse().ok()?))
        };
        match what {
            "ready" => Some(Self::Ready),
            "wrote" => keyed().map(|(key, id)| Self::Wrote(key, id)),
            "retired" => keyed().map(|(key, id)| Self::Retired(key, id)),
            "missed" => Some(Self::Missed(rest.to_owned())),
            "checked" => numbers().map(|[seen, passed_over, recalls]| Self::Checked {
                seen,
                passed_over,
                recalls,
            }),
            "failed" => Some(Self::Failed(rest.to_owned())),
            _ => None,
        }
        .ok_or(NotALine)
    }
}

/// Says `line`. Fails when nobody listens any more.
pub(crate) fn say(line: &Line) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes())?;
    out.flush()
}

fn flat(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let key = Key {
            process: 3,
            thread: 7,
            n: 41,
        };
        let id = RecordId::from_bytes([9; 16]);
        for line in [
            Line::Ready,
            Line::Wrote(key, id),
            Line::Retired(key, id),
            Line::Missed("it is not there".into()),
            Line::Checked {
                seen: 1,
                passed_over: 2,
                recalls: 3,
            },
            Line::Failed("disk full".into()),
        ] {
            assert_eq!(line.to_string().parse(), Ok(line));
        }
        let whole = Line::Wrote(key, id).to_string();
        assert_eq!(whole.split_at(whole.len() - 3).0.parse::<Line>(), Err(NotALine));
    }

    #[test]
    fn a_key_says_what_becomes_of_its_write() {
        let key = |n| Key {
            process: 0,
            thread: 0,
            n,
        };
        assert_eq!(key(8).status(), Status::Quarantined);
        assert!(key(8).content(&Texts::new(1)).contains("bypass"));
        assert!(key(10).is_retired_later() && !key(11).is_retired_later());
        // Number 80 would be both: what is out of sight already is not retired.
        assert!(key(80).is_quarantined() && !key(80).is_retired_later());
    }
}
