//! Whether an answer declines: says that it is not known, refuses, or denies what the question takes for granted.
//!
//! For: adversarial questions, where declining is right. The published harness looked for a list of phrases and graded
//! correct refusals as wrong (arXiv 2609.22818 §4.4, trap 3); [`phrase_list`] is such a list, kept to be compared with.
//! The patterns of [`declines`] are about forms of English (a negated verb of saying, a lack of information, a corrected
//! premise) and were tuned on one half of `data/abstention.jsonl`; the other half says how well they do.

use regex::Regex;
use std::sync::LazyLock;

/// Who graded, in records: the version changes with every pattern.
pub const DETECTOR: &str = "abstain-v1";

/// Nothing is known: a lack of information, an unknown.
const UNKNOWN: &str = r"(?x)
    \b(?: no | not \s (?:any|enough) | without | lacks? | lacking | insufficient | too \s little | any \s lack \s of | absence \s of | zero )
      \s (?: \w+ \s ){0,3}
      (?: information | info | mentions? | records? | recorded | memory | memories | evidence | details? | data | indications? | references? | context | answers? | notes? | traces? | basis | entry | entries | clues? | hints? | idea | knowledge | sign | way \s (?:to|of) | means \s of | such \s (?:event|thing|detail|conversation|person) )\b
  | \b(?: unknown | unclear | uncertain | unspecified | unstated | unmentioned | unanswerable | undetermined | undisclosed | unavailable | inconclusive | n/a | not \s applicable )\b
  | ^\W*(?: none | nothing | unsure | pass )\W*$
  | \b(?: nothing | nobody | none ) \s (?: \w+ \s ){0,8} (?: says? | said | mentions? | mentioned | tells? | told | indicates? | suggests? | states? | about | on ) \b
";

/// A negated verb of saying, knowing or finding.
const UNSAID: &str = r"(?x)
    \b(?: not | n't | never | nowhere | neither | nor | hardly | cannot )\b
      (?: [^.;!?]{0,40}? [\s'] )
      (?: mention(?:s|ed)? | stated? | states | specif(?:y|ies|ied) | say | said | says | record(?:ed)? | discuss(?:ed)? | describ(?:e|ed) | indicat(?:e|ed) | includ(?:e|ed) | provid(?:e|ed) | reveal(?:ed)? | tell | told | given | disclos(?:e|ed) | noted | listed | appear(?:s|ed)? | com(?:e|es) \s up | came \s up | address(?:ed)? | known | know | clear | available | covered | found | find | see | sure | certain | answer | determin(?:e|ed) | confirm | verify | infer | specific | establish(?:ed)? | speak \s of | touch(?:es|ed)? \s on | remember | recall | talk(?:ed)? \s about | talks \s about | support(?:ed|s)? | contain )\b
  | \b(?: ca|could|do|does|did|is|are|was|were|has|have|would )n['’]t \s (?:[^.;!?]{0,30}? \s)?
      (?: mention | state[ds]? | specify | say | said | record | discuss | describe | indicate | include | provide | provided | reveal | tell | given | disclosed | noted | listed | appear | come \s up | address | known | know | clear | available | covered | found | find | see | sure | certain | answer | determine | confirm | verify | infer | specific | established | remember | recall | talk \s about | support | contain | mentioned | specified | recorded | discussed | described | enough | anything )\b
  | \b(?: unable | impossible | fail(?:s|ed)? ) \s to \s (?: \w+ \s )?
      (?: answer | say | tell | determine | find | know | confirm | verify | infer | identify | establish | locate )\b
";

/// A refusal.
const REFUSAL: &str = r"(?x)
    \b(?: decline | refuse | refrain )\b
  | \b(?: would | 'd | will | wo ) (?: \s | n['’]t \s | \s not \s ) (?:\w+ \s)? (?: not \s (?:guess|speculate|say) | guess | speculate | be \s (?:guessing|speculating|a \s guess|speculation) )\b
  | \b(?: pure \s )? (?: speculation | guesswork )\b
  | \b only \s guess \b
";

/// The question takes something for granted that is denied.
const PREMISE: &str = r"(?x)
    \b(?: premise | presuppos\w* | assum(?:es|ption|ing)\b | misattribut\w* | mistaken | mix(?:ing|ed)? \s (?:\w+\s){0,3}up | confus(?:ing|ed|es|ion) | mix-?up | trick \s question | wrong \s (?:person|one|name|speaker) )
  | \b(?: it | that | this ) \s (?:was|is) \s (?:actually \s)? (?:\w+ \s){0,4} (?: ,? \s? (?: not | and \s not | rather \s than | instead \s of ) \s) \w+
  | \b(?: was|is|were|did|does|has|had )(?: n['’]t | \s not | \s never )\b [^.;]{0,80} [;,.–—-] \s* (?: (?:but|since|because|rather|instead) \s )? (?:it|that|this|those|the \s one) \s? (?:was|is|'s|were|belongs?|belonged)\b
  | \b(?:it|that|this|those) \s (?:was|is|were) (?: n['’]t | \s not ) \s \w+ (?: [,;] | \s (?:who|but) )
  | \b there \s (?: is|was|are|were|'s ) \s (?: no | not | never ) \b
  | \b there \s (?: isn|wasn|aren|weren )['’]t \b
  | \b(?: has|had|have|does|did|do|owns?|is|was ) \s? (?: n['’]t | not | never | no ) \b [^.;]{0,40} \b (?: at \s all | in \s the \s (?:memories|conversation|first \s place) | as \s far \s as )
  | \b belongs? \s to \s \w+ , \s not \b
  | \b not \s [A-Z]\w+ (?: 's )? \W*$
  | ^ \W* (?: not \s | actually \s ,? \s? )? [A-Z]\w+ , \s (?: and \s )? not \s [A-Z]\w+
";

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let insensitive = [UNKNOWN, UNSAID, REFUSAL].map(|pattern| format!("(?i){pattern}"));
    let all = insensitive.into_iter().chain([PREMISE.to_owned()]);
    // A pattern that does not compile would be missed by every test below.
    all.filter_map(|pattern| Regex::new(&pattern).ok()).collect()
});

/// Whether an answer declines.
///
/// ```
/// use memwarden_lab::cost::abstain::declines;
/// assert!(declines("The memories say nothing about her brother."));
/// assert!(declines("That was Tobias, not Mira."));
/// assert!(!declines("He does not eat mussels."));
/// ```
#[must_use]
pub fn declines(answer: &str) -> bool {
    let plain = answer.replace('\u{2019}', "'");
    PATTERNS.iter().any(|pattern| pattern.is_match(&plain))
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

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), 4);
    }

    /// Trap 3: abstention found by a narrow phrase list.
    #[test]
    fn refusals_in_other_words_are_refusals() {
        for answer in [
            "The conversation never touches on that.",
            "Nothing in the memories says who paid.",
            "It was Ines who went to Lisbon, not Greta.",
            "I would only be guessing.",
            "There is no record of a second boat.",
            "Mira didn't sprain a hand; that was Tobias.",
        ] {
            assert!(declines(answer), "{answer}");
            assert!(!phrase_list(answer), "a phrase list finds it too: {answer}");
        }
    }

    #[test]
    fn an_answer_with_a_negation_in_it_is_an_answer() {
        for answer in [
            "He does not eat mussels.",
            "No, she sold it.",
            "Never on Sundays.",
            "112 steps",
            "Because it didn't rain.",
        ] {
            assert!(!declines(answer), "{answer}");
        }
    }
}
