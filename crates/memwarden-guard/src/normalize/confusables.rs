//! Letters of other scripts that look like one ASCII letter.
//!
//! For: the letters of a word that mixes scripts. A part of the confusables of UTS #39 (Unicode Security
//! Mechanisms), restricted to single letters that read as a Latin one at a glance and folded to that letter in
//! lower case; a full skeleton would turn `m` into `rn` and every pattern with it. Not for: compatibility forms
//! (full-width, mathematical, circled), which NFKC has folded before.

/// The ASCII letter that a letter of another script passes for. Capitals are looked up as capitals: Greek `Η` passes
/// for h, `η` for n.
pub(super) const fn look_alike(c: char) -> Option<char> {
    Some(match c {
        // Cyrillic.
        'а' | 'А' | 'ӑ' | 'Ӑ' | 'ӓ' | 'Ӓ' => 'a',
        'в' | 'В' | 'ь' | 'Ь' | 'Б' => 'b',
        'с' | 'С' | 'ҫ' | 'Ҫ' => 'c',
        'ԁ' | 'Ԁ' => 'd',
        'е' | 'Е' | 'ё' | 'Ё' | 'ѐ' | 'Ѐ' | 'ӗ' | 'Ӗ' | 'ҽ' | 'Ҽ' | 'є' | 'Є' => 'e',
        'ғ' | 'Ғ' => 'f',
        'ԍ' | 'Ԍ' => 'g',
        'н' | 'Н' | 'һ' | 'Һ' | 'ң' | 'Ң' | 'ћ' => 'h',
        'і' | 'І' | 'ї' | 'Ї' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'қ' | 'Қ' => 'k',
        'ӏ' | 'Ӏ' => 'l',
        'м' | 'М' => 'm',
        'п' | 'ո' => 'n',
        'о' | 'О' | 'ӧ' | 'Ӧ' => 'o',
        'р' | 'Р' => 'p',
        'ԛ' | 'Ԛ' => 'q',
        'г' | 'Я' | 'я' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'ҭ' | 'Ҭ' => 't',
        'ѵ' | 'Ѵ' => 'v',
        'ԝ' | 'Ԝ' | 'ѡ' | 'Ѡ' | 'ш' => 'w',
        'х' | 'Х' | 'ҳ' | 'Ҳ' => 'x',
        'у' | 'У' | 'ү' | 'Ү' | 'ӯ' | 'ў' | 'Ў' => 'y',
        // Greek.
        'α' | 'Α' | 'ά' | 'Ά' => 'a',
        'β' | 'Β' => 'b',
        'ϲ' | 'Ϲ' => 'c',
        'ε' | 'Ε' | 'έ' | 'Έ' => 'e',
        'Η' | 'Ή' => 'h',
        'ι' | 'Ι' | 'ί' | 'Ί' | 'ϊ' | 'ΐ' => 'i',
        'ϳ' | 'Ϳ' => 'j',
        'κ' | 'Κ' => 'k',
        'Μ' => 'm',
        'Ν' | 'η' | 'ή' => 'n',
        'ο' | 'Ο' | 'ό' | 'Ό' | 'σ' => 'o',
        'ρ' | 'Ρ' => 'p',
        'τ' | 'Τ' => 't',
        'υ' | 'ύ' | 'ϋ' => 'u',
        'ν' => 'v',
        'ω' | 'ώ' => 'w',
        'χ' | 'Χ' => 'x',
        'γ' | 'Υ' | 'Ύ' => 'y',
        'Ζ' | 'ζ' => 'z',
        // Armenian.
        'ց' => 'g',
        'հ' | 'Հ' => 'h',
        'ի' => 'h',
        'ն' => 'u',
        'օ' | 'Օ' => 'o',
        'ս' | 'Ս' => 'u',
        'ք' => 'p',
        'զ' | 'գ' => 'q',
        'ա' => 'w',
        'յ' => 'j',
        'ռ' => 'n',
        // Cherokee, in both cases.
        'Ꭺ' | 'ꭺ' => 'a',
        'Ᏼ' | 'ᏼ' => 'b',
        'Ꮯ' | 'ꮯ' => 'c',
        'Ꭰ' | 'ꭰ' => 'd',
        'Ꭼ' | 'ꭼ' => 'e',
        'Ꮐ' | 'ꮐ' => 'g',
        'Ꮋ' | 'ꮋ' => 'h',
        'Ꭵ' | 'ꭵ' => 'i',
        'Ꭻ' | 'ꭻ' => 'j',
        'Ꮶ' | 'ꮶ' => 'k',
        'Ꮮ' | 'ꮮ' => 'l',
        'Ꮇ' | 'ꮇ' => 'm',
        'Ꮲ' | 'ꮲ' => 'p',
        'Ꭱ' | 'ꭱ' => 'r',
        'Ꮪ' | 'ꮪ' => 's',
        'Ꭲ' | 'ꭲ' => 't',
        'Ꮩ' | 'ꮩ' => 'v',
        'Ꮃ' | 'ꮃ' => 'w',
        'Ꭹ' | 'ꭹ' => 'y',
        'Ꮓ' | 'ꮓ' => 'z',
        _ => return None,
    })
}

/// The ASCII letter of a Latin letter or sign that is only a style of it, and that NFKC keeps: small capitals,
/// IPA letters, squared and circled letters in negative. Folded wherever it stands.
pub(super) const fn style_of(c: char) -> Option<char> {
    Some(match c {
        'ᴀ' | 'ɑ' => 'a',
        'ʙ' => 'b',
        'ᴄ' => 'c',
        'ᴅ' => 'd',
        'ᴇ' => 'e',
        'ꜰ' => 'f',
        'ɢ' | 'ɡ' => 'g',
        'ʜ' => 'h',
        'ɪ' | 'ı' | 'ɩ' => 'i',
        'ᴊ' | 'ȷ' => 'j',
        'ᴋ' => 'k',
        'ʟ' => 'l',
        'ᴍ' => 'm',
        'ɴ' => 'n',
        'ᴏ' => 'o',
        'ᴘ' => 'p',
        'ʀ' => 'r',
        'ꜱ' => 's',
        'ᴛ' => 't',
        'ᴜ' => 'u',
        'ᴠ' => 'v',
        'ᴡ' => 'w',
        'ʏ' => 'y',
        'ᴢ' => 'z',
        '\u{1f150}'..='\u{1f169}' => return letter(c, '\u{1f150}'),
        '\u{1f170}'..='\u{1f189}' => return letter(c, '\u{1f170}'),
        _ => return None,
    })
}

const fn letter(c: char, a: char) -> Option<char> {
    char::from_u32('a' as u32 + (c as u32).saturating_sub(a as u32))
}
