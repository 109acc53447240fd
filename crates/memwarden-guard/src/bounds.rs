//! Stretches of a text of bounded length, cut on character boundaries.

/// At most `length` bytes of `text` before `at`.
pub(crate) fn before(text: &str, at: usize, length: usize) -> &str {
    let mut from = at.saturating_sub(length);
    while !text.is_char_boundary(from) {
        from = from.saturating_add(1);
    }
    text.get(from..at).unwrap_or_default()
}

/// At most `length` bytes of `text` from `at`.
pub(crate) fn after(text: &str, at: usize, length: usize) -> &str {
    let mut to = at.saturating_add(length).min(text.len());
    while !text.is_char_boundary(to) {
        to = to.saturating_sub(1);
    }
    text.get(at..to).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_fall_on_characters() {
        let text = "äöü";
        assert_eq!(before(text, 6, 3), "ü");
        assert_eq!(before(text, 2, 100), "ä");
        assert_eq!(after(text, 0, 3), "ä");
        assert_eq!(after(text, 4, 100), "ü");
        assert_eq!(after(text, 7, 1), "");
    }
}
