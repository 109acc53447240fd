//! Made-up memories that look like real ones to an index: mixed lengths, and words whose frequencies follow
//! Zipf's law, so that a few terms are in most records and most terms in few.

use crate::random::SplitMix64;

/// The most frequent words of English prose, which lead every vocabulary.
const FREQUENT: [&str; 40] = [
    "the", "of", "and", "to", "a", "in", "is", "for", "on", "that", "with", "was", "as", "by", "at", "from",
    "it", "be", "are", "this", "an", "or", "which", "user", "after", "before", "when", "has", "not", "their",
    "prefers", "invoice", "customer", "meeting", "report", "system", "data", "week", "team", "order",
];
const OPENINGS: [&str; 20] = [
    "b", "br", "c", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "v",
];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "io", "ou"];
const ENDINGS: [&str; 10] = ["", "n", "r", "l", "t", "ck", "ing", "ed", "s", "tion"];

/// Words of a vocabulary.
const WORDS: usize = 6_000;
/// Shift of the Zipf–Mandelbrot law for English words (Mandelbrot 1953).
const SHIFT: f64 = 2.7;

/// A source of texts: number n is the same text in every process.
#[derive(Debug)]
pub(crate) struct Texts {
    words: Vec<String>,
    /// Sums of the words' weights up to each.
    cumulative: Vec<f64>,
    seed: u64,
}

impl Texts {
    /// The texts of `seed`.
    #[expect(clippy::cast_precision_loss, reason = "ranks are below 2^52")]
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SplitMix64::new(0x7465_7874);
        let mut words: Vec<String> = FREQUENT.iter().map(ToString::to_string).collect();
        let mut known: std::collections::HashSet<String> = words.iter().cloned().collect();
        while words.len() < WORDS {
            let word = word(&mut random);
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut sum = 0.0;
        let cumulative = (0..words.len())
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 1.0 + SHIFT);
                sum
            })
            .collect();
        Self {
            words,
            cumulative,
            seed,
        }
    }

    /// Text number `n`: usually 150 to 250 characters, sometimes a short remark or a long note.
    pub(crate) fn text(&self, n: u64) -> String {
        let mut random = SplitMix64::of(self.seed, n);
        let length = match random.below(10) {
            0 | 1 => 40 + random.index(110),
            9 => 250 + random.index(350),
            _ => 150 + random.index(100),
        };
        let mut text = String::with_capacity(length + 16);
        let mut opens = true;
        while text.len() < length {
            let word = self.word(&mut random);
            if opens {
                text.extend(word.chars().take(1).flat_map(char::to_uppercase));
                text.extend(word.chars().skip(1));
            } else {
                text.push_str(word);
            }
            opens = random.below(12) == 0;
            text.push_str(if opens { ". " } else { " " });
        }
        text.truncate(text.trim_end_matches([' ', '.']).len());
        text.push('.');
        text
    }

    /// A question about text number `n`: three to six of its words.
    pub(crate) fn query(&self, n: u64) -> String {
        let text = self.text(n);
        let words: Vec<&str> = text.split(' ').map(|word| word.trim_end_matches('.')).collect();
        let mut random = SplitMix64::of(!self.seed, n);
        let count = 3 + random.index(4);
        let picked: Vec<&str> = (0..count)
            .filter_map(|_| words.get(random.index(words.len())).copied())
            .collect();
        picked.join(" ")
    }

    fn word(&self, random: &mut SplitMix64) -> &str {
        let total = self.cumulative.last().copied().unwrap_or_default();
        let at = random.unit() * total;
        let rank = self.cumulative.partition_point(|sum| *sum <= at);
        self.words.get(rank).map_or("the", String::as_str)
    }
}

fn word(random: &mut SplitMix64) -> String {
    let mut pick = |from: &[&'static str]| from.get(random.index(from.len())).copied().unwrap_or_default();
    let mut word = String::new();
    word.push_str(pick(&OPENINGS));
    word.push_str(pick(&VOWELS));
    word.push_str(pick(&OPENINGS));
    word.push_str(pick(&VOWELS));
    word.push_str(pick(&ENDINGS));
    word
}

#[cfg(test)]
mod tests {
    use super::Texts;
    use std::collections::{HashMap, HashSet};

    #[test]
    fn texts_have_common_and_rare_terms_and_are_of_mixed_length() {
        let texts = Texts::new(1);
        let mut found: HashMap<String, u32> = HashMap::new();
        let mut lengths = Vec::new();
        for n in 0..2_000 {
            let text = texts.text(n).to_lowercase();
            lengths.push(text.len());
            let words: HashSet<&str> = text.split([' ', '.']).filter(|word| !word.is_empty()).collect();
            for word in words {
                *found.entry(word.to_owned()).or_default() += 1;
            }
        }
        lengths.sort_unstable();
        assert!((150..=250).contains(&lengths[1_000]), "{}", lengths[1_000]);
        assert!(lengths[20] < 80 && lengths[1_980] > 400);
        assert!(found["the"] > 1_000);
        assert!(found.len() > 3_000);
        assert!(found.values().filter(|count| **count < 20).count() > 1_500);
        assert_eq!(texts.text(7), Texts::new(1).text(7));
        assert_ne!(texts.text(7), Texts::new(2).text(7));
    }
}
