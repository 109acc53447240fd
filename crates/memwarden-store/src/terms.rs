//! From text to index terms and from a query to the expressions that look for them.
//!
//! FTS5's `unicode61` makes one token of a run of letters and digits. Scripts that are written without spaces
//! (Han, Hiragana, Katakana) would become one token per sentence, so their characters are set apart: each is a
//! token, and a query looks for every two neighbors as a phrase. Thai, Lao, Khmer and Burmese are left as
//! `unicode61` takes them.
//!
//! Nothing that a user types reaches FTS5 as syntax: an expression is a quoted string of letters and digits.

use crate::stop_words::is_stop_word;
use std::borrow::Cow;
use std::collections::HashSet;

/// Most distinct terms of a query; what comes after them is not looked for.
pub const MAX_TERMS: usize = 64;

/// The text that is indexed for a record.
pub(crate) fn indexed<'a>(subject: Option<&str>, content: &'a str) -> Cow<'a, str> {
    match subject {
        None => set_apart(content),
        Some(subject) => Cow::Owned(format!("{}\n{}", set_apart(subject), set_apart(content))),
    }
}

/// The expressions that look for the terms of `query`, in its order: at most [`MAX_TERMS`], no two alike, and
/// no stop words unless there is nothing else.
pub(crate) fn expressions(query: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let (mut telling, mut stop) = (Vec::new(), Vec::new());
    let mut take = |term: String| {
        let kept = if is_stop_word(&term) {
            &mut stop
        } else {
            &mut telling
        };
        if kept.len() < MAX_TERMS && !seen.contains(&term) {
            kept.push(format!("\"{term}\""));
            seen.insert(term);
        }
    };
    for run in query.split(|c: char| !c.is_alphanumeric()) {
        let mut word = String::new();
        let mut unspaced = Vec::new();
        for c in run.chars() {
            if is_unspaced(c) {
                flush_word(&mut word, &mut take);
                unspaced.push(c);
            } else {
                flush_unspaced(&mut unspaced, &mut take);
                word.extend(c.to_lowercase());
            }
        }
        flush_word(&mut word, &mut take);
        flush_unspaced(&mut unspaced, &mut take);
    }
    if telling.is_empty() { stop } else { telling }
}

fn flush_word(word: &mut String, take: &mut impl FnMut(String)) {
    if !word.is_empty() {
        take(std::mem::take(word));
    }
}

fn flush_unspaced(run: &mut Vec<char>, take: &mut impl FnMut(String)) {
    if let [single] = run.as_slice() {
        take(single.to_string());
    }
    for pair in run.windows(2) {
        if let [first, second] = pair {
            take(format!("{first} {second}"));
        }
    }
    run.clear();
}

fn set_apart(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || !text.chars().any(is_unspaced) {
        return Cow::Borrowed(text);
    }
    let mut spaced = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if is_unspaced(c) {
            spaced.push(' ');
            spaced.push(c);
            spaced.push(' ');
        } else {
            spaced.push(c);
        }
    }
    Cow::Owned(spaced)
}

const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9d}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    fn shown(query: &str) -> String {
        expressions(query).join(" OR ")
    }

    #[test]
    fn a_query_becomes_quoted_terms_without_stop_words() {
        expect![[r#""billing" OR "cycle" OR "25th""#]]
            .assert_eq(&shown("When does the billing cycle (25th) of us? the BILLING"));
        expect![[r#""what" OR "is" OR "it""#]].assert_eq(&shown("What is it? IT IS"));
        expect![[""]].assert_eq(&shown("  \"*(){}:^ - "));
    }

    #[test]
    fn unspaced_scripts_become_pairs_of_neighbors() {
        expect![[r#""iphone" OR "手 机" OR "机 壳" OR "x""#]].assert_eq(&shown("iPhone手机壳x"));
        expect![[r#""счёт" OR "茶""#]].assert_eq(&shown("счёт 茶"));
        assert_eq!(indexed(Some("茶"), "a喝茶"), " 茶 \na 喝  茶 ");
        assert!(matches!(indexed(None, "plain é"), Cow::Borrowed("plain é")));
    }

    #[test]
    fn only_so_many_distinct_terms_are_looked_for() {
        let query: String = (0..500).map(|n| format!("word{} ", n % 100)).collect();
        assert_eq!(expressions(&query).len(), MAX_TERMS);
    }

    proptest! {
        #[test]
        fn an_expression_is_one_quoted_string_whatever_is_typed(query in "\\PC{0,60}|[\"*():^{}+ a-cNEAROT-]{0,40}") {
            for expression in expressions(&query) {
                let inner = expression.strip_prefix('"').and_then(|e| e.strip_suffix('"')).unwrap();
                prop_assert!(!inner.contains('"') && !inner.is_empty());
            }
        }
    }
}
