//! Makes any text harmless inside an HTML element or a quoted attribute. It knows no layout.

use std::fmt;

/// A text that prints as HTML text: markup becomes character references, and characters that control a
/// terminal or reverse the direction of the line become visible.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

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

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn everything_that_could_end_an_element_or_an_attribute_is_a_reference() {
        assert_eq!(
            Text("<a b=\"c\" d='e'>&amp;").to_string(),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;"
        );
        assert_eq!(Text("two\nlines\tИ 朝").to_string(), "two\nlines\tИ 朝");
        assert_eq!(
            Text("\u{202e}\u{7f}\u{2066}").to_string(),
            "[U+202E][U+007F][U+2066]"
        );
    }
}
