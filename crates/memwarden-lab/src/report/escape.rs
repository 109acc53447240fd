//! Makes any text harmless inside an HTML element or a quoted attribute. It knows no layout.

use std::fmt;

/// A text that prints as HTML text: markup becomes character references, and characters that control a
/// terminal or reverse the direction of the line become visible.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'a>(pub(super) &'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => fmt::Write::write_char(f, c)?,
                _ if c.is_control() || steers_direction(c) => write!(f, "[U+{:04X}]", u32::from(c))?,
                _ => fmt::Write::write_char(f, c)?,
            }
        }
        Ok(())
    }
}

/// The explicit directional characters of Unicode (UAX #9 §2), the line separators, and invisible spaces.
const fn steers_direction(c: char) -> bool {
    matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{61c}' | '\u{feff}')
}
