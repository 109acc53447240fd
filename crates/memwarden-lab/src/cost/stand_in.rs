//! A stand-in for the model of the pipeline: rules and a seed, so that an experiment runs anywhere and repeats.
//!
//! It reads the very prompt that a model would get, and what the call is for. It extracts sentences that tell something,
//! answers with the memory that has most words of the question, grades by the words of the right answer, calls an entry
//! inconsistent where the turn does not have its words, and withholds a candidate that has no word of the question. Each
//! rule errs at a rate of the experiment's file ([`Rates`]); chance is the digest of the seed and the prompt. It knows no
//! policy, no condition and no right answer but the one that a judge is shown. What is measured with it is simulated.

use super::plan::Rates;
use memwarden_core::Digest;
use memwarden_core::model::{Chat, ChatCall, Finish, ModelError, Reply};
use std::collections::BTreeSet;

/// The name under which it stands in records.
pub const NAME: &str = "stand-in";

/// The stand-in of one cell.
#[derive(Debug, Clone)]
pub struct StandIn {
    seed: u64,
    rates: Rates,
}

impl StandIn {
    /// One whose chance starts from `seed`.
    #[must_use]
    pub const fn new(seed: u64, rates: Rates) -> Self {
        Self { seed, rates }
    }

    fn reply(&self, call: &ChatCall<'_>) -> Reply {
        let prompt = call
            .messages
            .last()
            .map(|message| message.text.as_str())
            .unwrap_or_default();
        let chance = Chance {
            seed: self.seed,
            asked: call.seed.unwrap_or_default(),
            prompt,
        };
        let (text, finish) = match call.purpose.as_str() {
            "extract" => self.extract(prompt, &chance),
            "answer" => (self.answer(prompt, &chance), Finish::Stop),
            "judge" => (self.judge(prompt, &chance).to_owned(), Finish::Stop),
            "defense:anomaly" => (self.anomaly(prompt, &chance).to_owned(), Finish::Stop),
            "defense:rerank" => (self.rerank(prompt, &chance).to_owned(), Finish::Stop),
            _ => ("I do not know what this is for.".to_owned(), Finish::Stop),
        };
        Reply {
            text,
            finish,
            usage: None,
            tokens: Vec::new(),
        }
    }

    fn extract(&self, prompt: &str, chance: &Chance<'_>) -> (String, Finish) {
        if chance.hits("cut", self.rates.extract_cut) {
            return ("- The".to_owned(), Finish::Length);
        }
        if chance.hits("garbled", self.rates.extract_garbled) {
            return ("Sure, here is what I would remember.".to_owned(), Finish::Stop);
        }
        let turn = prompt
            .rsplit_once("Last turn:\n")
            .map_or("", |(_, turn)| turn.trim());
        let (speaker, said) = turn.split_once(": ").unwrap_or(("Somebody", turn));
        let date = prompt
            .lines()
            .find_map(|line| line.strip_prefix("Date: "))
            .unwrap_or_default();
        let tells = |sentence: &&str| !sentence.ends_with('?') && words(sentence).len() >= 3;
        let sentences: Vec<&str> = said
            .split_inclusive(['.', '!', '?'])
            .map(str::trim)
            .filter(tells)
            .collect();
        if sentences.is_empty() || chance.hits("miss", self.rates.extract_miss) {
            return ("NONE".to_owned(), Finish::Stop);
        }
        let memories: Vec<String> = sentences
            .iter()
            .map(|sentence| format!("- {speaker} ({date}): {sentence}"))
            .collect();
        (memories.join("\n"), Finish::Stop)
    }

    fn answer(&self, prompt: &str, chance: &Chance<'_>) -> String {
        let question = after(prompt, "Question: ");
        let asked = words(question);
        let share = |memory: &str| overlap(&asked, &words(memory));
        let memories = prompt.lines().filter_map(|line| line.strip_prefix("- "));
        let best = memories.max_by(|left, right| share(left).total_cmp(&share(right)));
        let declined = || "It is not mentioned in the memories.".to_owned();
        let Some(best) = best else {
            return declined();
        };
        let (by, said) = best.split_once("): ").unwrap_or(("", best));
        let (speaker, date) = by.split_once(" (").unwrap_or((by, ""));
        // Who is asked about must be who spoke, where the question names somebody.
        let is_about_another = !speaker.is_empty() && names(question) && !question.contains(speaker);
        let knows = share(best) >= 0.3 && !is_about_another;
        if knows && chance.hits("slip", self.rates.answer_slip) {
            return declined();
        }
        if !knows && !chance.hits("guess", self.rates.answer_guess) {
            return declined();
        }
        if question.starts_with("When") {
            return date.to_owned();
        }
        said.to_owned()
    }

    fn judge(&self, prompt: &str, chance: &Chance<'_>) -> &'static str {
        let expected = words(after(prompt, "Right answer: "));
        let answer = words(after(prompt, "\nAnswer: "));
        let same = !expected.is_empty() && overlap(&expected, &answer) >= 0.5;
        if same == chance.hits("judge", self.rates.judge_slip) {
            "wrong"
        } else {
            "correct"
        }
    }

    fn anomaly(&self, prompt: &str, chance: &Chance<'_>) -> &'static str {
        let entry = words(after(prompt, "Entry: "));
        let turn = words(after(prompt, "Last turn: "));
        let consistent = entry.is_empty() || overlap(&entry, &turn) >= 0.4;
        if consistent && !chance.hits("anomaly", self.rates.anomaly_false) {
            "consistent"
        } else {
            "inconsistent"
        }
    }

    fn rerank(&self, prompt: &str, chance: &Chance<'_>) -> &'static str {
        let question = words(after(prompt, "Question: "));
        let memory = words(after(prompt, "Memory: "));
        let fits = !question.is_disjoint(&memory);
        if fits && !chance.hits("rerank", self.rates.rerank_false) {
            "keep"
        } else {
            "withhold"
        }
    }
}

impl Chat for StandIn {
    fn model(&self) -> &str {
        NAME
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        calls.iter().map(|call| Ok(self.reply(call))).collect()
    }
}

/// Chance that depends on nothing but the seeds and the prompt.
struct Chance<'p> {
    seed: u64,
    /// The call's own seed, which differs from try to try.
    asked: u64,
    prompt: &'p str,
}

impl Chance<'_> {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn hits(&self, what: &str, rate: f64) -> bool {
        let digest = Digest::of(format!("{}\n{}\n{what}\n{}", self.seed, self.asked, self.prompt).as_bytes());
        let bytes = digest.as_bytes().iter().take(8);
        let bits = bytes.fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
        ((bits >> 11) as f64) < rate * (1_u64 << 53) as f64
    }
}

/// The rest of the line after the last place of `label`.
fn after<'p>(prompt: &'p str, label: &str) -> &'p str {
    let rest = prompt.rsplit_once(label).map_or("", |(_, rest)| rest);
    rest.lines().next().unwrap_or_default()
}

/// Whether a question names somebody: a capital letter after its first word.
fn names(question: &str) -> bool {
    let mut rest = question.split_whitespace().skip(1);
    rest.any(|word| word.chars().next().is_some_and(char::is_uppercase))
}

/// The share of `wanted` that `given` has; 0 without any wanted.
#[expect(clippy::cast_precision_loss, reason = "sentences have few words")]
fn overlap(wanted: &BTreeSet<String>, given: &BTreeSet<String>) -> f64 {
    wanted.intersection(given).count() as f64 / wanted.len().max(1) as f64
}

/// Words that tell something, without their commonest endings.
fn words(text: &str) -> BTreeSet<String> {
    const EMPTY: [&str; 58] = [
        "a", "an", "the", "and", "or", "but", "of", "to", "in", "on", "at", "for", "with", "from", "by",
        "as", "is", "are", "was", "were", "be", "been", "did", "do", "does", "has", "have", "had", "what",
        "which", "who", "whom", "when", "where", "why", "how", "it", "its", "this", "that", "these", "those",
        "he", "she", "they", "his", "her", "their", "i", "you", "my", "your", "we", "our", "me", "so", "not",
        "will",
    ];
    text.split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !EMPTY.contains(&word.as_str()))
        .map(|word| {
            let stem = ["ing", "ed", "es", "s"]
                .iter()
                .find_map(|ending| word.strip_suffix(ending).filter(|stem| stem.len() >= 3));
            stem.map_or_else(|| word.clone(), str::to_owned)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Rates = Rates {
        extract_miss: 0.0,
        extract_cut: 0.0,
        extract_garbled: 0.0,
        answer_slip: 0.0,
        answer_guess: 0.0,
        judge_slip: 0.0,
        anomaly_false: 0.0,
        rerank_false: 0.0,
    };

    fn ask(rates: Rates, purpose: &str, prompt: &str) -> Reply {
        let purpose = purpose.parse().unwrap();
        let messages = [memwarden_core::model::Message::user(prompt)];
        let limit = std::num::NonZeroU32::new(100).unwrap();
        let replies = StandIn::new(1, rates).chat(&[ChatCall::new(&purpose, &messages, limit)]);
        replies.into_iter().next().unwrap().unwrap()
    }

    #[test]
    fn it_extracts_what_is_told_and_no_questions() {
        let prompt = "Date: 1 May\nTurns before:\n- x\nLast turn:\nMira: I sold the red boat. How are you?";
        assert_eq!(
            ask(NEVER, "extract", prompt).text,
            "- Mira (1 May): I sold the red boat."
        );
        let prompt = "Date: 1 May\nTurns before:\n- x\nLast turn:\nMira: How are you?";
        assert_eq!(ask(NEVER, "extract", prompt).text, "NONE");
    }

    #[test]
    fn it_answers_about_who_is_asked_and_declines_otherwise() {
        let prompt = |who: &str| {
            format!("Memories:\n- Mira (1 May): I sold the red boat.\nQuestion: Which boat did {who} sell?")
        };
        assert_eq!(ask(NEVER, "answer", &prompt("Mira")).text, "I sold the red boat.");
        assert!(
            ask(NEVER, "answer", &prompt("Tobias"))
                .text
                .contains("not mentioned")
        );
    }

    #[test]
    fn its_rates_decide_how_often_it_errs() {
        let cut = Rates {
            extract_cut: 1.0,
            ..NEVER
        };
        assert_eq!(ask(cut, "extract", "x").finish, Finish::Length);
        let prompt = "Question: q?\nRight answer: red boat\nAnswer: the red boat";
        assert_eq!(ask(NEVER, "judge", prompt).text, "correct");
        let slips = Rates {
            judge_slip: 1.0,
            ..NEVER
        };
        assert_eq!(ask(slips, "judge", prompt).text, "wrong");
    }
}
