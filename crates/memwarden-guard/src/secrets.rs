//! Finds credentials in a text: keys of known vendors, tokens, private keys, passwords beside their name.
//!
//! For: keeping them out of memories, logs and reports; what it returns never holds one. Not for: proving that a key
//! is live, nor for finding a password in prose that does not say it is one.
//!
//! Vendors publish a prefix and a length for most keys; those are matched exactly and the rest of the text is not
//! looked at. Where a name says that a value is secret (`password: …`), the value must look like one: placeholders
//! and words do not.

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

/// A credential in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its bytes in the text, on character boundaries.
    pub span: Range<usize>,
    /// What it is: `github_token`, `private_key`, …
    pub kind: &'static str,
    /// Its first characters, at most [`SHOWN`], and its length: `ghp_… (40 characters)`.
    pub redacted: String,
}

/// So many characters of a secret are shown at most, and never more than a quarter of it.
pub const SHOWN: usize = 4;

/// The credentials of `text`, in order, without overlap, in time linear in it.
///
/// ```
/// use memwarden_guard::secrets;
///
/// let text = "the bot has glpat-9aZ4kW2mQx7Lr3Vt8Bnp";
/// let found = secrets(text);
/// assert_eq!(found[0].kind, "gitlab_token");
/// assert_eq!(found[0].redacted, "glpa… (26 characters)");
/// assert!(secrets("password: <your-password>").is_empty());
/// ```
#[must_use]
pub fn secrets(text: &str) -> Vec<Secret> {
    let matchers = matchers();
    let mut found: Vec<(Proof, Secret)> = Vec::new();
    for anchor in matchers.anchors.find_iter(text) {
        let Some(form) = matchers.forms.get(anchor.pattern().as_usize()) else {
            continue;
        };
        let Some(span) = form.find(text, anchor.start()) else {
            continue;
        };
        if form.kind == "aws_access_key"
            && let Some(beside) = aws_secret_after(text, span.end)
        {
            found.push((Proof::Form, Secret::new(text, span, form.kind)));
            found.push((Proof::Form, Secret::new(text, beside, "aws_secret_key")));
        } else {
            found.push((form.proof, Secret::new(text, span, form.kind)));
        }
    }
    // What says itself what it is goes before what a name beside it says.
    found.sort_by_key(|(proof, secret)| (*proof, secret.span.start));
    let mut taken: BTreeMap<usize, Secret> = BTreeMap::new();
    for (_, secret) in found {
        let before = taken.range(..secret.span.end).next_back();
        if before.is_none_or(|(_, before)| before.span.end <= secret.span.start) {
            taken.insert(secret.span.start, secret);
        }
    }
    taken.into_values().collect()
}

impl Secret {
    fn new(text: &str, span: Range<usize>, kind: &'static str) -> Self {
        let value = text.get(span.clone()).unwrap_or_default();
        let length = value.chars().count();
        let shown: String = value.chars().take(SHOWN.min(length / 4)).collect();
        Self {
            redacted: format!("{shown}… ({length} characters)"),
            span,
            kind,
        }
    }
}

/// How a credential is written.
#[derive(Debug)]
struct Form {
    kind: &'static str,
    proof: Proof,
    /// From the anchor on; the group `secret`, where there is one, is what is secret.
    regex: Regex,
}

/// What else must hold. The order says which goes first where two find the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Proof {
    /// Prefix and length say enough, but for a filler: `AKIAXXXXXXXXXXXXXXXX`.
    Form,
    /// Anything but a placeholder: the place says that it is a password.
    Place,
    /// A password has a letter and a digit.
    Password,
    /// A key has both in some number, and no pattern.
    Key,
}

impl Form {
    /// The secret that is written from `at` on.
    fn find(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let before = text.get(..at)?.chars().next_back();
        if self.proof == Proof::Form && before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
            return None;
        }
        let captures = self.regex.captures(text.get(at..)?)?;
        let secret = captures.name("secret").or_else(|| captures.get(0))?;
        let value = secret.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?']);
        let holds = !is_placeholder(value)
            && match self.proof {
                Proof::Form | Proof::Place => true,
                Proof::Password => {
                    has_digit_and_letter(value) && entropy(value) >= PASSWORD_ENTROPY && !is_known(value)
                }
                Proof::Key => {
                    value.len() >= SHORTEST_KEY
                        && has_digit_and_letter(value)
                        && entropy(value) >= KEY_ENTROPY
                        && !is_known(value)
                }
            };
        let start = at.checked_add(secret.start())?;
        holds.then(|| start..start.saturating_add(value.len()))
    }
}

/// Shannon entropy of the characters of a value, in bits for each, that a password and a key have at least. A random
/// key of 16 hex digits has about 3.3, a word about 2.8.
const PASSWORD_ENTROPY: f64 = 2.5;
const KEY_ENTROPY: f64 = 3.0;
const SHORTEST_KEY: usize = 16;

/// How far after an access key of AWS its secret is looked for.
const BESIDE: usize = 200;
const AWS_SECRET: usize = 40;

fn aws_secret_after(text: &str, at: usize) -> Option<Range<usize>> {
    let until = text.floor_char_boundary(at.saturating_add(BESIDE));
    let mut start = at;
    for stretch in text
        .get(at..until)?
        .split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '+' || c == '/'))
    {
        let value = stretch.trim_end_matches(|c: char| !(c.is_ascii_alphanumeric() || c == '+' || c == '/'));
        let has = |class: fn(&u8) -> bool| value.as_bytes().iter().any(class);
        if value.len() == AWS_SECRET
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
            && !is_placeholder(value)
        {
            return Some(start..start.saturating_add(value.len()));
        }
        start = start.saturating_add(stretch.len());
    }
    None
}

/// What stands where a secret would: in documentation, in templates, after redaction.
const PLACEHOLDERS: [&str; 22] = [
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "your-",
    "your_",
    "yourkey",
    "yourpass",
    "xxxx",
    "****",
    "....",
    "dummy",
    "redacted",
    "todo",
    "insert",
    "sample",
    "fake",
    "<",
    "{",
    "…",
    "not-a-real",
];
/// Values that say nothing but that there is one.
const NAMES: [&str; 9] = [
    "password", "passwd", "pass", "pwd", "secret", "token", "postgres", "username", "api_key",
];

fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let mut characters: Vec<char> = lower.chars().collect();
    characters.sort_unstable();
    characters.dedup();
    characters.len() <= 3
        || value.starts_with(['$', '%', '[', '('])
        || NAMES.contains(&lower.as_str())
        || PLACEHOLDERS.iter().any(|filler| lower.contains(filler))
}

/// Values that are long and mixed and no secret: paths, addresses, digests that say so, UUIDs, times, calls.
fn is_known(value: &str) -> bool {
    let bytes = value.as_bytes();
    let dashes = bytes.iter().filter(|byte| **byte == b'-').count();
    let hex = bytes.iter().filter(|byte| byte.is_ascii_hexdigit()).count();
    let uuid = bytes.len() == 36 && dashes == 4 && hex == 32;
    let date = matches!(bytes, [b'1' | b'2', _, _, _, b'-' | b'/', ..]);
    let digest = ["sha1", "sha256", "sha384", "sha512", "blake", "md5"]
        .iter()
        .any(|name| value.starts_with(name));
    uuid || date
        || digest
        || value.starts_with(['/', '.', '~', '@', '#'])
        || value.contains("://")
        || value.contains("::")
}

fn has_digit_and_letter(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit()) && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

fn entropy(value: &str) -> f64 {
    let mut counts: BTreeMap<char, u32> = BTreeMap::new();
    for c in value.chars() {
        *counts.entry(c).or_default() += 1;
    }
    let all: u32 = counts.values().sum();
    let shares = counts
        .values()
        .map(|count| f64::from(*count) / f64::from(all.max(1)));
    shares.map(|share| -share * share.log2()).sum()
}

#[rustfmt::skip]
const FORMS: &[(&str, &str, &str, Proof)] = &[
    ("aws_access_key", "akia", r"AKIA[0-9A-Z]{16}\b", Proof::Form),
    ("aws_access_key", "asia", r"ASIA[0-9A-Z]{16}\b", Proof::Form),
    ("github_token", "ghp_", r"ghp_[0-9A-Za-z]{36,}\b", Proof::Form),
    ("github_token", "gho_", r"gho_[0-9A-Za-z]{36,}\b", Proof::Form),
    ("github_token", "ghu_", r"ghu_[0-9A-Za-z]{36,}\b", Proof::Form),
    ("github_token", "ghs_", r"ghs_[0-9A-Za-z]{36,}\b", Proof::Form),
    ("github_token", "ghr_", r"ghr_[0-9A-Za-z]{36,}\b", Proof::Form),
    ("github_token", "github_pat_", r"github_pat_[0-9A-Za-z_]{60,120}\b", Proof::Form),
    ("gitlab_token", "glpat-", r"glpat-[0-9A-Za-z_-]{20,64}", Proof::Form),
    ("slack_token", "xoxb-", r"xoxb-[0-9A-Za-z-]{20,}", Proof::Form),
    ("slack_token", "xoxp-", r"xoxp-[0-9A-Za-z-]{20,}", Proof::Form),
    ("slack_token", "xoxa-", r"xoxa-[0-9A-Za-z-]{20,}", Proof::Form),
    ("slack_token", "xoxr-", r"xoxr-[0-9A-Za-z-]{20,}", Proof::Form),
    ("slack_token", "xoxs-", r"xoxs-[0-9A-Za-z-]{20,}", Proof::Form),
    ("slack_token", "xapp-", r"xapp-[0-9]-[0-9A-Za-z-]{20,}", Proof::Form),
    ("slack_webhook", "hooks.slack.com/", r"hooks\.slack\.com/services/T[0-9A-Z]{8,12}/B[0-9A-Z]{8,12}/[0-9A-Za-z]{20,32}", Proof::Form),
    ("stripe_key", "sk_live_", r"sk_live_[0-9A-Za-z]{16,}\b", Proof::Form),
    ("stripe_key", "rk_live_", r"rk_live_[0-9A-Za-z]{16,}\b", Proof::Form),
    ("stripe_webhook_secret", "whsec_", r"whsec_[0-9A-Za-z+/=]{24,96}", Proof::Form),
    ("google_api_key", "aiza", r"AIza[0-9A-Za-z_-]{35}", Proof::Form),
    ("google_oauth_secret", "gocspx-", r"GOCSPX-[0-9A-Za-z_-]{28}", Proof::Form),
    ("anthropic_key", "sk-ant-", r"sk-ant-[0-9A-Za-z_-]{24,}", Proof::Form),
    ("openai_key", "sk-proj-", r"sk-proj-[0-9A-Za-z_-]{40,}", Proof::Form),
    ("openai_key", "sk-svcacct-", r"sk-svcacct-[0-9A-Za-z_-]{40,}", Proof::Form),
    ("openrouter_key", "sk-or-", r"sk-or-v1-[0-9a-f]{64}\b", Proof::Form),
    ("openai_key", "sk-", r"sk-[0-9A-Za-z]{32,64}\b", Proof::Form),
    ("huggingface_token", "hf_", r"hf_[0-9A-Za-z]{34,40}\b", Proof::Form),
    ("npm_token", "npm_", r"npm_[0-9A-Za-z]{36}\b", Proof::Form),
    ("pypi_token", "pypi-", r"pypi-[0-9A-Za-z_-]{50,}", Proof::Form),
    ("sendgrid_key", "sg.", r"SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}", Proof::Form),
    ("digitalocean_token", "dop_v1_", r"dop_v1_[0-9a-f]{64}\b", Proof::Form),
    ("telegram_token", ":aa", r":AA[0-9A-Za-z_-]{33}\b", Proof::Form),
    ("jwt", "eyj", r"eyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{16,}", Proof::Form),
    ("private_key", "-----begin", r"-----BEGIN (?:[A-Z0-9]{2,10} ){0,2}PRIVATE KEY(?: BLOCK)?-----(?:\s*[A-Za-z-]{3,24}: [^\n]{0,200}\n)*[\sA-Za-z0-9+/=\\]{32,}-----END(?: [A-Z0-9]{2,10}){1,4}-----", Proof::Form),
    ("connection_string", "://", r#"://[^\s/:@"'<>]{1,64}:(?P<secret>[^\s/@"'<>]{3,128})@[0-9A-Za-z\[]"#, Proof::Place),
    ("bearer_token", "bearer ", r"(?i:bearer) {1,4}(?P<secret>[0-9A-Za-z_.~+/-]{20,}=*)", Proof::Key),
    ("basic_auth", "basic ", r"(?i:basic) {1,4}(?P<secret>[0-9A-Za-z+/]{16,}={0,2})", Proof::Key),
    ("aws_secret_key", "aws_secret", r#"(?i:aws_secret(?:_access)?_key)["']?\s{0,4}[:=]\s{0,4}["']?(?P<secret>[0-9A-Za-z+/]{40})\b"#, Proof::Key),
    ("aws_secret_key", "secretaccesskey", r#"(?i:secretaccesskey)["']?\s{0,4}[:=]\s{0,4}["']?(?P<secret>[0-9A-Za-z+/]{40})\b"#, Proof::Key),
    ("password", "password", ASSIGNED, Proof::Password),
    ("password", "passwd", ASSIGNED, Proof::Password),
    ("password", "passphrase", ASSIGNED, Proof::Password),
    ("password", "pwd", ASSIGNED, Proof::Password),
    ("api_key", "api_key", ASSIGNED, Proof::Key),
    ("api_key", "api-key", ASSIGNED, Proof::Key),
    ("api_key", "api key", ASSIGNED, Proof::Key),
    ("api_key", "apikey", ASSIGNED, Proof::Key),
    ("token", "token", ASSIGNED, Proof::Key),
    ("secret", "secret", ASSIGNED, Proof::Key),
    ("access_key", "access_key", ASSIGNED, Proof::Key),
];

/// A name, perhaps with more words, a sign of assignment, and a value: `api_key = "…"`, `password is …`.
const ASSIGNED: &str = r#"[A-Za-z_-]{3,12}(?: [kK]ey)?(?:_[A-Za-z_]{1,20})?["'`*]{0,3}(?:\s{0,4}(?::=|=>|[:=])| is| was)[\s*]{0,4}["'`]?(?P<secret>[^\s"'`,;<>(){}\[\]]{8,256})"#;

struct Matchers {
    anchors: AhoCorasick,
    forms: Vec<Form>,
}

fn matchers() -> &'static Matchers {
    static MATCHERS: LazyLock<Matchers> = LazyLock::new(|| {
        #[expect(
            clippy::expect_used,
            reason = "the patterns are part of the program and a test compiles them"
        )]
        compile().expect("the patterns compile")
    });
    &MATCHERS
}

#[derive(Debug, thiserror::Error)]
enum FormError {
    #[error(transparent)]
    Anchors(#[from] aho_corasick::BuildError),
    #[error(transparent)]
    Pattern(#[from] regex::Error),
}

fn compile() -> Result<Matchers, FormError> {
    let mut compiled: BTreeMap<&str, Regex> = BTreeMap::new();
    let mut forms = Vec::with_capacity(FORMS.len());
    for &(kind, _, pattern, proof) in FORMS {
        let regex = match compiled.get(pattern) {
            Some(regex) => regex.clone(),
            None => Regex::new(&format!(r"\A(?:{pattern})"))?,
        };
        compiled.insert(pattern, regex.clone());
        forms.push(Form { kind, proof, regex });
    }
    let anchors = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(FORMS.iter().map(|(_, anchor, _, _)| anchor))?;
    Ok(Matchers { anchors, forms })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found, with the text that it spans. No test holds a whole key in one piece, so that scanners of
    /// repositories need no exception for it.
    fn found(text: &str) -> Vec<(&'static str, String)> {
        let secrets = secrets(text);
        secrets
            .iter()
            .map(|secret| (secret.kind, text.get(secret.span.clone()).unwrap().to_owned()))
            .collect()
    }

    #[test]
    fn keys_of_vendors_are_found_by_prefix_and_length() {
        let body = "aZ4kW2mQx7Lr3Vt8BnpYc5Hd9JsGf6Ke1Tu0RwMbXoPi";
        let long = format!("{body}{body}");
        for (kind, prefix, length) in [
            ("github_token", "ghp_", 36),
            ("github_token", "github_pat_", 82),
            ("gitlab_token", "glpat-", 20),
            ("slack_token", "xoxb-", 40),
            ("stripe_key", "sk_live_", 24),
            ("google_api_key", "AIza", 35),
            ("openai_key", "sk-", 48),
            ("openai_key", "sk-proj-", 60),
            ("anthropic_key", "sk-ant-api03-", 80),
            ("huggingface_token", "hf_", 34),
            ("npm_token", "npm_", 36),
            ("pypi_token", "pypi-AgEI", 80),
        ] {
            let key = format!("{prefix}{}", long.get(..length).unwrap());
            assert_eq!(
                found(&format!("my token: {key}, keep it.")),
                [(kind, key.clone())],
                "{prefix}"
            );
            let short = format!("{prefix}{}", long.get(..7).unwrap());
            assert!(found(&format!("see {short} there")).is_empty(), "{short}");
            assert!(
                found(&format!("x{key}")).iter().all(|(found, _)| *found != kind),
                "inside a word"
            );
        }
    }

    #[test]
    fn an_access_key_of_aws_is_found_with_the_secret_beside_it() {
        let (id, secret) = (
            format!("AKIA{}", "Q3ZKXW7RTPLM2N5V"),
            "wJq9/Zx4Kb7+Lm2Nc8Vt5Rp1Hs6Gd3Fy0TuEaWoB".to_owned(),
        );
        let text = format!("aws: {id} and {secret}.");
        assert_eq!(found(&text), [("aws_access_key", id), ("aws_secret_key", secret)]);
        let alone = "commit 2c26b46b68ffc68ff99b453c1d30413413422d70";
        assert!(found(alone).is_empty());
    }

    #[test]
    fn private_keys_and_connection_strings_and_tokens_are_found() {
        let key = format!(
            "-----BEGIN {0}-----\n{1}\n-----END {0}-----",
            "RSA PRIVATE KEY",
            "MIIEowIBAAKCAQEA7Zx4Kb7Lm2".repeat(4)
        );
        assert_eq!(found(&format!("keep\n{key}\n")), [("private_key", key)]);
        let text = "use postgres://app:hunter2x@db.internal:5432/app";
        assert_eq!(found(text), [("connection_string", "hunter2x".to_owned())]);
        let jwt = format!(
            "eyJ{}.eyJ{}.{}",
            "hbGciOiJIUzI1NiJ9", "zdWIiOiIxMjM0In0", "dBjftJeZ4CVPmB92K27uhbUJU1p1r"
        );
        assert_eq!(found(&format!("Authorization: Bearer {jwt}")), [("jwt", jwt)]);
    }

    #[test]
    fn a_name_says_that_a_value_is_secret() {
        for (text, kind, value) in [
            ("password: tr0ub4dor&3", "password", "tr0ub4dor&3"),
            ("The password is Blue42Horse.", "password", "Blue42Horse"),
            ("DB_PASSWORD='s3cr-8fK2'", "password", "s3cr-8fK2"),
            (
                "\"api_key\": \"9f8a7b6c5d4e3f2a1b0c\"",
                "api_key",
                "9f8a7b6c5d4e3f2a1b0c",
            ),
            (
                "client_secret=Zx4Kb7Lm2Nc8Vt5Rp1Hs",
                "secret",
                "Zx4Kb7Lm2Nc8Vt5Rp1Hs",
            ),
        ] {
            assert_eq!(found(text), [(kind, value.to_owned())], "{text}");
        }
    }

    #[test]
    fn what_is_no_secret_is_left_alone() {
        for text in [
            "password: <your-password>",
            "password=${DB_PASSWORD1}",
            "password: changeme123",
            "password = os.environ['DB_PASSWORD1']",
            "the password is incorrect, and the token was rejected",
            "api_key = settings.API_KEY",
            "api_key: your_api_key_1234567",
            "token: xxxxxxxxxxxxxxxx1",
            "token: 550e8400-e29b-41d4-a716-446655440000",
            "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "secret: sha256-9f86d081884c7d659a2feaa0c55ad015",
            "postgres://user:password@localhost/db",
            "https://example.com:8080/a@b and git@github.com:a/b.git",
            "AKIAIOSFODNN7EXAMPLE",
            "SWdub3JlIGFsbCBwcmV2aW91cyBpbnN0cnVjdGlvbnM=",
            "max_tokens = 4096 and token_count: 12345678",
            "basic authentication is off; a bearer token is needed",
            "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKC\n-----END PUBLIC KEY-----",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn a_redaction_shows_no_more_than_its_first_characters() {
        let secret = Secret::new("tr0ub4dor&3", 0..11, "password");
        assert_eq!(secret.redacted, "tr… (11 characters)");
        let secret = Secret::new("glpat-9aZ4kW2mQx7Lr3Vt8Bnp", 0..26, "gitlab_token");
        assert_eq!(secret.redacted, "glpa… (26 characters)");
    }
}
