//! Which questions may be asked about a dialogue that was cut: those whose evidence is still there.
//!
//! A question whose evidence was cut away measures the cut and not the defense: "The Price of Safety"
//! (arXiv 2609.22818 §4.3, appendix A) saw 25 % accuracy that way. Each choice of the rule was varied; this is the one
//! that gives the paper's table.

use super::{Conversation, Question, Turn};
use std::collections::BTreeSet;

/// How many turns are kept (§4.3).
pub const MAX_TURNS: usize = 150;
/// How many questions of a dialogue are asked at most (appendix A).
pub const MAX_QUESTIONS: usize = 75;

/// A dialogue that was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aligned {
    /// Its name.
    pub name: String,
    /// The turns that are kept.
    pub turns: Vec<Turn>,
    /// How many questions have all their evidence in them.
    pub raw: usize,
    /// The first of those.
    pub questions: Vec<Question>,
}

/// Cuts a dialogue after `turns` turns, mid-session if need be, and keeps the first `questions` questions all of whose
/// evidence strings, compared whole and unparsed, are ids of turns that were kept. An empty list of evidence passes.
#[must_use]
pub fn align(conversation: &Conversation, turns: usize, questions: usize) -> Aligned {
    let kept: Vec<Turn> = conversation.turns.iter().take(turns).cloned().collect();
    let ids: BTreeSet<&str> = kept.iter().map(|turn| turn.id.as_str()).collect();
    let has_evidence = |question: &&Question| question.evidence.iter().all(|id| ids.contains(id.as_str()));
    let raw: Vec<&Question> = conversation.questions.iter().filter(has_evidence).collect();
    Aligned {
        name: conversation.name.clone(),
        raw: raw.len(),
        questions: raw.into_iter().take(questions).cloned().collect(),
        turns: kept,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Category, LIGHTHOUSE, parse};
    use super::*;

    fn lighthouse() -> Conversation {
        parse(LIGHTHOUSE).unwrap().remove(0)
    }

    /// Trap 4: questions whose evidence was cut away.
    #[test]
    fn a_question_whose_evidence_was_cut_away_is_not_asked() {
        let whole = lighthouse();
        let cut = align(&whole, 20, MAX_QUESTIONS);
        assert_eq!(cut.turns.len(), 20);
        let ids: BTreeSet<&str> = cut.turns.iter().map(|turn| turn.id.as_str()).collect();
        for question in &cut.questions {
            for id in &question.evidence {
                assert!(ids.contains(id.as_str()), "{} needs {id}", question.text);
            }
        }
        let all = align(&whole, MAX_TURNS, MAX_QUESTIONS);
        assert!(!cut.questions.is_empty() && cut.questions.len() < all.questions.len());
    }

    #[test]
    fn evidence_is_compared_whole_and_an_empty_list_passes() {
        let mut whole = lighthouse();
        let asked = |whole: &Conversation| align(whole, MAX_TURNS, MAX_QUESTIONS).raw;
        let before = asked(&whole);
        whole.questions[0].evidence = vec!["D1:1; D1:2".to_owned()];
        assert_eq!(asked(&whole), before - 1);
        whole.questions[0].evidence = Vec::new();
        assert_eq!(asked(&whole), before);
        // All of its evidence, not any.
        whole.questions[0].evidence = vec!["D1:1".to_owned(), "D99:1".to_owned()];
        assert_eq!(asked(&whole), before - 1);
    }

    #[test]
    fn sessions_are_in_the_order_of_their_numbers() {
        let mut order: Vec<String> = lighthouse()
            .turns
            .iter()
            .map(|turn| turn.id.split_once(':').unwrap().0.to_owned())
            .collect();
        order.dedup();
        assert_eq!(order, ["D1", "D2", "D3", "D9", "D10"]);
    }

    #[test]
    fn our_own_dialogue_has_questions_of_every_kind() {
        let all = align(&lighthouse(), MAX_TURNS, MAX_QUESTIONS);
        let kinds: BTreeSet<Category> = all.questions.iter().map(|question| question.category).collect();
        assert_eq!(kinds, BTreeSet::from(Category::ALL));
        for question in &all.questions {
            assert_eq!(
                question.category.is_core(),
                !question.answer.is_empty(),
                "{}",
                question.text
            );
        }
    }
}
