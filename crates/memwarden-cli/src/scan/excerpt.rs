//! What of a text is shown in a report: a few words around the finding, secrets masked, on one line, and no
//! character that could act on a terminal or hide in it.
//!
//! Not for finding secrets: it masks what looks like one because a report travels further than the memory.

use crate::output;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Longest excerpt, in characters.
const MAX_CHARS: usize = 100;
/// Characters shown before the finding.
const CHARS_BEFORE: usize = 24;
/// Bytes around the shown part in which secrets are looked for: one that begins outside is masked too.
const LOOKED_AT_BYTES: usize = 4_096;
/// What stands in a secret's place.
const MASK: &str = "[redacted]";

/// Keys of well-known services, private keys, web tokens; what follows `password:` and its like; and long tokens
/// of mixed letters and digits.
const SECRETS: &str = r"(?x)
    -----BEGIN[\x20A-Z]*PRIVATE\x20KEY-----[^-]*(?:-----END[\x20A-Z]*-----)?
  | \b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}
  | \b(?:gh[pousr]|github_pat|glpat|xox[abprs]|hf|npm|pypi)[-_][A-Za-z0-9_-]{10,}
  | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
  | \bAIza[A-Za-z0-9_-]{30,}
  | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)?
  | (?i:pass(?:word|wd|phrase)?|secret|token|api[-_\x20]?key|access[-_\x20]?key|authorization)
      ['\x22]?\s*(?:[:=]|\bis\b)\s*['\x22]?(?P<value>[^\s'\x22,;]{6,})
  | (?i:\bbearer)\s+[A-Za-z0-9._~+/-]{8,}
  | \b[A-Za-z0-9+/_-]{32,}={0,2}";

static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(SECRETS).ok());

/// A few words of `text` around `span`, or its beginning where there is none.
pub(super) fn excerpt(text: &str, span: Option<(u32, u32)>) -> String {
    let focus = span.map_or(0, |(start, _)| usize::try_from(start).unwrap_or(usize::MAX));
    let focus = floor(text, focus);
    let before = text.get(..focus).unwrap_or_default();
    let begin = before
        .char_indices()
        .rev()
        .nth(CHARS_BEFORE - 1)
        .map_or(0, |(at, _)| at);
    let shown = text.get(begin..).unwrap_or_default();
    let length = shown
        .char_indices()
        .nth(MAX_CHARS)
        .map_or(shown.len(), |(at, _)| at);
    let end = begin + length;

    let around =
        floor(text, begin.saturating_sub(LOOKED_AT_BYTES))..floor(text, end.saturating_add(LOOKED_AT_BYTES));
    let mut out = String::new();
    if begin > 0 {
        out.push('…');
    }
    let mut at = begin;
    for secret in secrets(text, &around) {
        if secret.end <= at || secret.start >= end {
            continue;
        }
        out.push_str(text.get(at..secret.start.max(at)).unwrap_or_default());
        out.push_str(MASK);
        at = secret.end;
    }
    out.push_str(text.get(at..end.max(at)).unwrap_or_default());
    if end.max(at) < text.len() {
        out.push('…');
    }
    output::cell(&out, MAX_CHARS + 2 * MASK.len())
}

/// The byte ranges of what looks like a secret.
fn secrets(text: &str, around: &Range<usize>) -> Vec<Range<usize>> {
    let Some(pattern) = &*SECRET else {
        // Nothing is shown rather than a secret.
        return std::iter::once(0..text.len()).collect();
    };
    let looked_at = text.get(around.clone()).unwrap_or_default();
    pattern
        .captures_iter(looked_at)
        .filter_map(|found| {
            let value = found.name("value");
            let range = value.or_else(|| found.get(0))?.range();
            // A long token of one case without digits is a word, however long.
            let token = looked_at.get(range.clone())?;
            let is_word =
                value.is_none() && !token.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
            (!is_word).then_some(around.start + range.start..around.start + range.end)
        })
        .collect()
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_of_secrets_is_one() {
        assert_eq!(Regex::new(SECRETS).err(), None);
    }

    #[test]
    fn an_excerpt_is_short_and_begins_shortly_before_the_finding() {
        let text = format!(
            "{} override the gate {}",
            "before ".repeat(50),
            "after ".repeat(50)
        );
        let at = u32::try_from(text.find("override").unwrap()).unwrap();
        let shown = excerpt(&text, Some((at, at + 8)));
        assert!(
            shown.starts_with("…") && shown.ends_with('…') && shown.contains("override the gate"),
            "{shown}"
        );
        assert!(shown.chars().count() <= MAX_CHARS + 2, "{shown}");
        assert_eq!(
            excerpt("short\nand\u{1b}[2J plain\u{202e}", None),
            "short and\\u{1b}[2J plain\\u{202e}"
        );
        assert_eq!(excerpt("朝の報告", Some((4, 9_999_999))), "朝の報告");
    }

    #[test]
    fn secrets_are_masked_also_where_the_excerpt_cuts_them() {
        let secrets = [
            "sk-proj-abcdefghij0123456789",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "AKIAABCDEFGHIJKLMNOP",
            "hunter2hunter2",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
            "0123456789abcdef0123456789abcdef01234567",
        ];
        for secret in secrets {
            let text = format!("the password: {secret}, then disable the check");
            for span in [None, Some((20, 22)), Some((44, 50))] {
                let shown = excerpt(&text, span);
                let (begin, end) = (secret.get(..8).unwrap(), secret.get(secret.len() - 6..).unwrap());
                assert!(!shown.contains(begin) && !shown.contains(end), "{shown}");
            }
        }
        let long = format!("{}A1 disable the check", "k9".repeat(400));
        assert_eq!(excerpt(&long, None), "[redacted]…");
    }

    #[test]
    fn words_are_not_masked() {
        for text in [
            "The token bucket refills, the password policy changed.",
            "crates/memwarden-cli/src/formats/collector-and-more/mod.rs",
        ] {
            let shown = excerpt(text, None);
            assert!(shown.contains("bucket") || shown.contains("collector"), "{shown}");
        }
    }
}
