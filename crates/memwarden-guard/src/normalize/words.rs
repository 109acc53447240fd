//! Common English words, to tell a word that was taken apart or respelled from a name that happens to hold a digit
//! or a hyphen.
//!
//! For: deciding whether a second reading is worth making. Not for: deciding that a text is hostile; the list holds
//! everyday words beside those of commands, and knows nothing of a policy.

/// Shortest word of the list.
const SHORTEST: usize = 3;
/// Longest word of the list.
pub(super) const LONGEST: usize = 13;

/// Whether `word`, in lower-case ASCII, is a common word of three letters or more.
pub(super) fn is_common(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

/// Writes `letters`, words without spaces between them, as words: the longest that fits comes first, and what fits
/// nowhere stays together. In time linear in the letters.
pub(super) fn write_apart(letters: &str, out: &mut String) {
    let mut rest = letters;
    let mut loose = false;
    while let Some(c) = rest.chars().next() {
        let word = longest_at(rest);
        let taken = word.unwrap_or_else(|| rest.get(..c.len_utf8()).unwrap_or(rest));
        if !out.is_empty() && !out.ends_with(char::is_whitespace) && (word.is_some() || !loose) {
            out.push(' ');
        }
        out.push_str(taken);
        loose = word.is_none();
        rest = rest.get(taken.len()..).unwrap_or_default();
    }
}

/// The longest word that `letters` begin with.
fn longest_at(letters: &str) -> Option<&'static str> {
    let short = || {
        ["to", "is", "of"]
            .into_iter()
            .find(|word| letters.starts_with(word))
    };
    let Some(head) = letters.get(..SHORTEST) else {
        return short();
    };
    let from = WORDS.partition_point(|word| *word < head);
    let alike = WORDS.iter().skip(from).take_while(|word| word.starts_with(head));
    let fitting = alike.filter(|word| letters.starts_with(**word));
    fitting.max_by_key(|word| word.len()).copied().or_else(short)
}

/// In order, for searching.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "about", "access", "according", "account", "accounts", "action", "actions", "activate", "active",
    "actually", "add", "additional", "address", "admin", "administrator", "after", "again", "against",
    "agent", "agents", "all", "allow", "allowed", "also", "always", "among", "amount", "and", "another",
    "answer", "any", "api", "approval", "approve", "approved", "approving", "archive", "are", "ask",
    "assistant", "attack", "attention", "audit", "auth", "authority", "authorize", "authorized",
    "automatic", "automatically", "available", "back", "backup", "balance", "bank", "base", "because",
    "been", "before", "begin", "being", "below", "between", "block", "bomb", "both", "browser", "build",
    "bypass", "bypassed", "call", "called", "can", "cancel", "cannot", "change", "changes", "chat",
    "check", "code", "command", "commands", "complete", "completely", "confidential", "confirm",
    "confirmation", "confirmed", "connect", "consider", "contact", "content", "context", "continue",
    "control", "copy", "could", "create", "credential", "credentials", "credit", "current", "customer",
    "data", "database", "day", "days", "deactivate", "debug", "default", "delete", "deleted", "deleting",
    "deny", "details", "developer", "different", "direct", "directly", "disable", "disabled", "disclose",
    "discuss", "disregard", "document", "documents", "does", "doing", "dump", "during", "each", "email",
    "emails", "enable", "enabled", "end", "ensure", "enter", "erase", "error", "every", "everything",
    "exactly", "example", "execute", "exfiltrate", "exploit", "export", "external", "fetch", "file",
    "files", "filter", "filters", "final", "find", "first", "folder", "follow", "following", "for",
    "forbidden", "force", "forever", "forget", "format", "forward", "forwarded", "from", "full",
    "function", "future", "get", "give", "given", "global", "goal", "going", "good", "grant", "guard",
    "guardrails", "guide", "guideline", "guidelines", "hack", "hacked", "hacker", "harmful", "has", "hate",
    "have", "help", "here", "hidden", "hide", "hijack", "his", "history", "how", "human", "ignore",
    "ignored", "ignores", "ignoring", "immediate", "immediately", "important", "include", "information",
    "initial", "inject", "injection", "input", "inside", "install", "instead", "instruct", "instructed",
    "instruction", "instructions", "internal", "into", "invoice", "its", "jailbreak", "just", "keep",
    "key", "keys", "kill", "know", "last", "leak", "limit", "limits", "link", "list", "load", "local",
    "log", "login", "logs", "mail", "make", "malicious", "malware", "manager", "manual", "many",
    "memories", "memory", "message", "messages", "method", "mode", "model", "modify", "money", "more",
    "most", "must", "name", "need", "network", "never", "new", "next", "not", "nothing", "now", "number",
    "obey", "official", "only", "open", "operation", "order", "orders", "other", "output", "over",
    "override", "overriding", "overwrite", "own", "page", "parameters", "pass", "password", "passwords",
    "payload", "payment", "permission", "permissions", "person", "phishing", "plan", "please", "poison",
    "policies", "policy", "post", "prefer", "preference", "previous", "previously", "print", "prior",
    "privacy", "private", "privilege", "proceed", "process", "production", "prompt", "prompts",
    "protected", "protection", "provide", "public", "purchase", "put", "query", "question", "quote",
    "read", "real", "recall", "receive", "recipient", "record", "records", "refund", "refuse",
    "regardless", "release", "remember", "remove", "repeat", "replace", "reply", "report", "request",
    "requests", "require", "required", "reset", "respond", "response", "restricted", "restriction",
    "restrictions", "result", "results", "return", "reveal", "review", "role", "root", "rule", "rules",
    "run", "safe", "safety", "same", "save", "saved", "say", "school", "screen", "script", "search",
    "secret", "secrets", "secure", "security", "see", "select", "send", "sending", "sensitive", "sent",
    "server", "service", "session", "set", "shall", "share", "shell", "should", "show", "shutdown",
    "silently", "simulate", "skip", "skipping", "some", "source", "start", "state", "steal", "step",
    "steps", "stop", "storage", "store", "stored", "such", "sudo", "support", "sure", "switch", "system",
    "systems", "take", "target", "task", "tell", "terminal", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "thing", "things", "this", "those", "through", "time", "today",
    "token", "tokens", "told", "tool", "tools", "transaction", "transfer", "treat", "trigger", "true",
    "trust", "trusted", "turn", "uncensored", "under", "unless", "unlimited", "unlock", "unrestricted",
    "until", "untrusted", "update", "upload", "upon", "use", "used", "user", "username", "users", "using",
    "validate", "validation", "verification", "verify", "virus", "vulnerability", "wallet", "want",
    "warning", "was", "way", "weapon", "web", "website", "what", "when", "where", "which", "while", "who",
    "whoever", "why", "will", "wire", "with", "within", "without", "word", "words", "work", "works",
    "workspace", "write", "wrong", "year", "you", "your", "yourself",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_in_order_and_none_is_longer_than_said() {
        assert!(WORDS.is_sorted_by(|a, b| a < b));
        assert_eq!(WORDS.iter().map(|word| word.len()).max(), Some(LONGEST));
        assert!(
            WORDS
                .iter()
                .all(|word| word.len() >= SHORTEST && word.bytes().all(|b| b.is_ascii_lowercase()))
        );
    }

    #[test]
    fn words_come_apart_at_the_longest_that_fits() {
        let apart = |letters: &str| {
            let mut out = String::new();
            write_apart(letters, &mut out);
            out
        };
        assert_eq!(
            apart("ignoreallpreviousinstructions"),
            "ignore all previous instructions"
        );
        assert_eq!(apart("sendxqzvthekey"), "send xqzv the key");
    }
}
