//! Whether an answer declines: says that it is not known, refuses, or denies what the question takes for granted.
//!
//! For: adversarial questions, where declining is right. The published harness looked for a list of phrases and graded
//! correct refusals as wrong (arXiv 2609.22818 §4.4, trap 3); [`phrase_list`] is such a list, kept to be compared with.
//! [`declines`] looks for forms of English instead: a lack of information, a negated verb of saying or knowing, a
//! refusal, and, where the question asks for a thing and has no negation of its own, a main clause that denies it. The
//! forms were tuned on the tuning part of `data/abstention.jsonl` and on nothing else.

use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// Who graded, in records: the version changes with every form.
pub const DETECTOR: &str = "abstain-v1";

/// Nothing is known, whatever the question.
const UNKNOWN: [&str; 4] = [
    r"(?i)\b(?:no|not any|not enough|without any|lacks?|lacking|insufficient|too little|not an?|zero|not a single)\s(?:\w+ ){0,2}(?:information|info|mentions?|records?|memory|memories|evidence|details?|data|indications?|references?|answers?|notes?|traces?|clues?|hints?|idea|knowledge|sign|word|way (?:to|of) (?:know|tell|say|find|determin|learn)\w*)\b",
    r"(?i)\b(?:unknown|unclear|uncertain|unspecified|unstated|unmentioned|unnamed|unanswer\w+|undetermined|undisclosed|unavailable|unrecorded|unsaid|unsure|inconclusive|speculation|guesswork)\b",
    r"(?i)^\W*n/?a\W*$|not applicable|\babsent\W*$",
    r"(?i)\b(?:silent on|leaves? (?:that|this|it) open|left open|missing from (?:the|these|this|my)|absent from|not part of|not in (?:the|these|my) (?:memor|conversation|note|text|record)|nowhere to be found|left out|omitted|no basis|but not (?:how|what|when|where|who|which|why|whether)|anyone's guess|your guess|hard to say|not a word)\b",
];

/// A negated verb of saying or knowing, or a refusal.
const UNSAID: [&str; 4] = [
    r"(?i)(?:\bnot\b|n't\b|\bnever\b|\bnowhere\b|\bneither\b|\bnor\b|\bcannot\b|\bnothing\b|\bnone\b|\bnobody\b|\bno one\b|\bno\b|\bhardly\b|\bwithout\b)[^.,;!?]{0,45}?\b(?:mention\w*|stat(?:e|es|ed|ing)|specif\w+|sa(?:y|ys|id)|record(?:ed|s)?|discuss\w*|describ\w+|indicat\w+|includ\w+|provid\w+|reveal\w*|tell|told|disclos\w+|not(?:ed|e)|list(?:ed)?|appear(?:s|ed)?|com(?:e|es|ing) up|came up|brought up|turn(?:s|ed)? up|address(?:ed)?|cover(?:s|ed)?|give(?:s|n)?|name[sd]?|identif\w+|establish\w*|touch\w* on|talk\w* (?:about|of)|speak\w* of|spoken of|suggest\w*|support\w*|confirm\w*|report(?:ed)?|refer\w*|explain\w*|pass(?:ed)? down|contain\w*|document\w*|preserved|kept|shared|spelled out|worked out|known|clear|available|found (?:in|anywhere|about|on)|sure|certain|aware|possible|part of|among|is in the)\b",
    r"(?i)\b(?:can(?:not|'t| not)|could(?: not|n't)|unable to|impossible to|not able to|do(?: not|n't)|did(?: not|n't)|would have to|way to|won't|will not|rather not|only)\s(?:\w+ ){0,2}?(?:know|say|tell|find|see|answer|help|determin\w+|confirm|verify|infer|guess|recall|remember|identify|work out|make out|be (?:answered|determined|known|found|established|confirmed|verified|said))\b",
    r"(?i)\b(?:i|we)\b[^.;!?]{0,12}\b(?:do(?: not|n't) have|have (?:no|nothing)|lack|decline|refuse|see no|find no|find nothing|know of no|would be guessing|'d be (?:making|guessing|inventing)|won't)\b",
    r"(?i)\bknows? of no\b|\b(?:there's|there is|there was|have|has|see|find) nothing\b|^\W*nothing\b.{0,12}\b(?:about|on|of|in the|to (?:say|suggest|show))\b",
];

/// The question is told to be wrong.
const MISTAKEN: [&str; 5] = [
    r"(?i)\bmakes no sense\b|\bassum(?:es|ption|ing)\b|\bpremise\b|\bpresuppos",
    r"(?i)\b(?:mix(?:ing|ed)?|confus\w+)\b.{0,20}\b(?:up|two|them|with)\b|\bthinking of\b|\bmix-?up\b|\bmistaken\b",
    r"^\W*(?:It|That|This)(?:'s|\s(?:was|is|were))\s[^.;]{1,40}?\s(?:who|that|which)\b",
    r"^\W*(?:It|That|This)\s(?:was|is)(?:n't| not)\s.{1,40}\bbut\b",
    r"(?:,|\band)\s*not\s[A-Z]\w+\W*$|^\W*[A-Z]\w+ (?:has|had|have|is|was|\w+ed|\w+s) [^,;.]{1,40}, not\b",
];

/// The main clause denies what the question asks for.
const DENIED: [&str; 7] = [
    r"(?i)^\W*(?:what|which|whose)\s\w+\?|^\W*(?:wasn't|isn't|didn't|don't you|do you|are you)\b[^.]*\?",
    r"^\W*(?:He|She|They|It)(?: [a-z]+){1,3} no [a-z]+",
    r"(?i)^\W*there(?: is| was| are| were|'s| isn't| wasn't| aren't| weren't)\b.{0,12}(?:\bno\b|\bnot\b|n't|never)|^\W*there (?:is|was|are|were)n't",
    r"(?i)^\W*(?:none of|neither \w+)",
    r"(?i)\bso (?:he|she|they|it|there) (?:has|have|had|is|was|are|were) no\b",
    r"(?i)(?:\bnot|n't|\bnever)\b[^.;!?]{0,30}\bany\w*\b|^\W*(?:\w+ ){1,2}(?:made|has|had|have|owns?|read|wrote|won|gave|took|held|know) (?:no|none)\b",
    r"(?i)\bas far as\b|\bin the first place\b|\baccording to (?:the|these) (?:memories|conversation|notes|text)",
];

/// A negation after a noun that begins the answer, or after a second subject.
const NAMED: &str = r"^\W*[A-Z]\w*(?:'s)?((?: [\w']+){0,6}?) (?:(?:do|does|did|is|was|are|were|has|had|have|can|could|will|would)(?:n't| not)|never|\w+ nothing|\w+ no)\b";
const SECOND: &str = r"[;.,]\s*(?:he|she|they|it|[A-Z]\w+)(?: \w+){0,2} (?:did|do|does|was|were|is|are|has|have|had)(?:n't| not)\b";

/// Beginnings that are no noun: an answer that begins so gives something, even with a negation in it.
const NO_NOUN: [&str; 24] = [
    "He", "She", "It", "They", "We", "I", "You", "No", "Not", "Because", "Nobody", "Nothing", "By", "On",
    "In", "At", "To", "From", "With", "Do", "About", "Never", "A", "An",
];

/// A question for a time, a place or a person, which a negated clause about a pronoun does not answer but denies.
const ASKS_WHEN_WHERE_WHO: &str = r"(?i)^\W*(?:when|where|which|who|whose|in which|at which|on which)\b";
const NEGATED_PRONOUN: &str =
    r"^\W*(?:He|She|They|It|We)\s(?:(?:is|are|was|were|did|does|do|has|have|had)(?:n't| not)|never)\b";

const YES_OR_NO: &str = r"(?i)^\W*(?:did|do|does|is|are|was|were|has|have|had|can|could|will|would|should)\b";
const SAYS_YES_OR_NO: &str = r"(?i)^\W*(?:yes|no|not yet|never)\b\W";
/// A question that asks for what is not: a negation in its answer denies nothing.
const ASKS_FOR_WHAT_IS_NOT: &str = r"(?i)\bnot\b|n't\b|\bnever\b|\bmissing\b|\bunknown\b|\brefuse|\bimpossible\b|\bforg[eo]t|\babsent\b|\bleast\b|\bworst\b|\bdislike|\block|sign say|\bdisagree|\bobject\b";
const ABOUT_THE_RECORD: &str = r"(?i)\b(?:mention|memor|conversation|record|note|text|information)";
const HOW_OR_WHY: &str = r"(?i)^\W*(?:how|why)\b";
const GIVES_A_REASON: &str = r"(?i)^\W*(?:because|by|it|rough|fat|about)\b";
const NO_AND_A_NOUN: &str = r"(?i)^\W*no (\w+)";

struct Forms {
    unknown: Vec<Regex>,
    unsaid: Vec<Regex>,
    mistaken: Vec<Regex>,
    denied: Vec<Regex>,
    named: Vec<Regex>,
    no_and_a_noun: Vec<Regex>,
    asks_when_where_who: Vec<Regex>,
    negated_pronoun: Vec<Regex>,
    yes_or_no: Vec<Regex>,
    says_yes_or_no: Vec<Regex>,
    asks_for_what_is_not: Vec<Regex>,
    about_the_record: Vec<Regex>,
    how_or_why: Vec<Regex>,
    gives_a_reason: Vec<Regex>,
}

/// A pattern that does not compile is left out, which a test would notice.
fn compiled(patterns: &[&str]) -> Vec<Regex> {
    patterns
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| Forms {
    unknown: compiled(&UNKNOWN),
    unsaid: compiled(&UNSAID),
    mistaken: compiled(&MISTAKEN),
    denied: compiled(&DENIED),
    named: compiled(&[NAMED, SECOND]),
    no_and_a_noun: compiled(&[NO_AND_A_NOUN]),
    asks_when_where_who: compiled(&[ASKS_WHEN_WHERE_WHO]),
    negated_pronoun: compiled(&[NEGATED_PRONOUN]),
    yes_or_no: compiled(&[YES_OR_NO]),
    says_yes_or_no: compiled(&[SAYS_YES_OR_NO]),
    asks_for_what_is_not: compiled(&[ASKS_FOR_WHAT_IS_NOT]),
    about_the_record: compiled(&[ABOUT_THE_RECORD]),
    how_or_why: compiled(&[HOW_OR_WHY]),
    gives_a_reason: compiled(&[GIVES_A_REASON]),
});

/// Whether the answer to a question declines.
///
/// ```
/// use memwarden_lab::cost::abstain::declines;
/// assert!(declines("Who is her brother?", "The memories say nothing about a brother."));
/// assert!(declines("Which hand did Mira sprain?", "It was Tobias who sprained a hand."));
/// assert!(!declines("What does he never eat?", "He does not eat mussels."));
/// ```
#[must_use]
pub fn declines(question: &str, answer: &str) -> bool {
    let forms = &*FORMS;
    let plain = answer.replace('\u{2019}', "'");
    let answer = plain.trim();
    let has = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(answer));
    let asks = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.is_match(question));
    let unknown = has(&forms.unknown);
    let unsaid = unknown || has(&forms.unsaid);
    if asks(&forms.yes_or_no) {
        return unsaid && !has(&forms.says_yes_or_no);
    }
    if asks(&forms.asks_for_what_is_not) {
        return unknown && has(&forms.about_the_record);
    }
    let about_the_record = has(&forms.about_the_record);
    let mistaken = has(&forms.mistaken) || (asks(&forms.asks_when_where_who) && has(&forms.negated_pronoun));
    if asks(&forms.how_or_why) && has(&forms.gives_a_reason) && !about_the_record && !unknown && !mistaken {
        return false;
    }
    // What denies a premise names something of it again.
    let denies = begins_with_no(answer) || denies_a_noun(answer);
    unsaid || mistaken || has(&forms.denied) || (denies && repeats(question, answer))
}

/// `No boat sank`, but neither `No, she sold it` nor `No one came`.
fn begins_with_no(answer: &str) -> bool {
    let nouns = FORMS
        .no_and_a_noun
        .iter()
        .filter_map(|pattern| pattern.captures(answer)?.get(1));
    nouns
        .into_iter()
        .any(|noun| !noun.as_str().eq_ignore_ascii_case("one"))
}

fn denies_a_noun(answer: &str) -> bool {
    let first: String = answer.chars().take_while(|c| c.is_alphanumeric()).collect();
    let [named, second] = FORMS.named.as_slice() else {
        return false;
    };
    // A relative clause says something about the noun and denies nothing.
    let is_main = |captures: &regex::Captures<'_>| {
        let between = captures.get(1).map_or("", |between| between.as_str());
        !between
            .split_whitespace()
            .any(|word| matches!(word, "that" | "who" | "which"))
    };
    let names = !NO_NOUN.contains(&first.as_str()) && named.captures(answer).as_ref().is_some_and(is_main);
    names || second.is_match(answer)
}

/// Whether an answer has a word of the question that tells something, by its first four letters.
fn repeats(question: &str, answer: &str) -> bool {
    const EMPTY: [&str; 40] = [
        "the", "was", "did", "his", "her", "and", "not", "for", "has", "had", "does", "what", "who", "when",
        "where", "which", "how", "why", "are", "were", "with", "from", "that", "she", "him", "they", "them",
        "its", "our", "you", "have", "been", "this", "there", "their", "didn", "doesn", "wasn", "isn",
        "many",
    ];
    let stems = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric())
            .map(str::to_lowercase)
            .filter(|word| word.chars().count() >= 3 && !EMPTY.contains(&word.as_str()))
            .map(|word| word.chars().take(4).collect())
            .collect()
    };
    !stems(question).is_disjoint(&stems(answer))
}

/// Whether an answer holds one of the phrases that a first attempt thinks of.
#[must_use]
pub fn phrase_list(answer: &str) -> bool {
    const PHRASES: [&str; 12] = [
        "i don't know",
        "i do not know",
        "not mentioned",
        "no information",
        "not specified",
        "cannot answer",
        "can't answer",
        "not available",
        "unknown",
        "not provided",
        "not enough information",
        "unable to answer",
    ];
    let lower = answer.to_lowercase().replace('\u{2019}', "'");
    PHRASES.iter().any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::calibrate::{ABSTENTION, Half, parse};
    use crate::stats::kappa;

    #[test]
    fn every_form_compiles() {
        let forms = &*FORMS;
        let counts = [
            &forms.unknown,
            &forms.unsaid,
            &forms.mistaken,
            &forms.denied,
            &forms.named,
        ]
        .map(Vec::len);
        assert_eq!(counts, [4, 4, 5, 7, 2]);
        for one in [
            &forms.no_and_a_noun,
            &forms.asks_when_where_who,
            &forms.negated_pronoun,
            &forms.yes_or_no,
            &forms.says_yes_or_no,
            &forms.asks_for_what_is_not,
            &forms.about_the_record,
            &forms.how_or_why,
            &forms.gives_a_reason,
        ] {
            assert_eq!(one.len(), 1);
        }
    }

    /// Trap 3: abstention found by a narrow phrase list.
    #[test]
    fn refusals_in_other_words_are_refusals() {
        for (question, answer) in [
            ("Who paid?", "The conversation never touches on that."),
            ("Who paid?", "Nothing in the memories says who paid."),
            (
                "When was Greta in Lisbon?",
                "It was Ines who went to Lisbon, not Greta.",
            ),
            (
                "What was the second boat called?",
                "There is no record of a second boat.",
            ),
            (
                "Which hand did Mira sprain?",
                "Mira didn't sprain a hand; that was Tobias.",
            ),
        ] {
            assert!(declines(question, answer), "{answer}");
            assert!(!phrase_list(answer), "a phrase list finds it too: {answer}");
        }
    }

    #[test]
    fn an_answer_with_a_negation_in_it_is_an_answer() {
        for (question, answer) in [
            ("What does Tobias not eat?", "He does not eat mussels."),
            ("Did she keep it?", "No, she sold it."),
            ("When do they open?", "Never on Sundays."),
            ("How many steps?", "112 steps"),
            ("Why did they stay?", "Because it didn't rain."),
        ] {
            assert!(!declines(question, answer), "{answer}");
        }
    }

    /// The bar of the specification, on answers that no form was made for.
    #[test]
    fn on_the_checking_part_it_agrees_with_the_labels_and_a_phrase_list_does_not() {
        let labels = parse(ABSTENTION).unwrap();
        let of = |half| labels.iter().filter(move |label| label.half == half);
        assert!(labels.len() >= 150 && of(Half::Checking).count() >= 75);
        let agreement = |grade: &dyn Fn(&str, &str) -> bool| {
            let pairs: Vec<(bool, bool)> = of(Half::Checking)
                .map(|label| (label.first, grade(&label.question, &label.answer)))
                .collect();
            kappa(&pairs).unwrap().kappa.unwrap()
        };
        let (detector, list) = (agreement(&declines), agreement(&|_, answer| phrase_list(answer)));
        assert!(detector >= 0.9, "{detector}");
        assert!(list < detector);
    }
}
