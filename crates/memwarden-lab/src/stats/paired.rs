//! A condition against the baseline, question by question: `Δ[d,c]` and `Δ[d]` of arXiv 2609.22818 §5.
//!
//! A conversation is a stratum: questions are compared inside it, and each conversation weighs the same, however
//! many questions it has.

use super::StatsError;
use super::bootstrap::{Interval, stratified};
use super::collapse::{Collapse, Missing, collapse};
use super::exact::{SignFlip, mcnemar, sign_flip};
use std::collections::BTreeMap;

/// A question's grades under one condition, one place for each planned replicate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graded {
    /// The conversation that it is about.
    pub conversation: String,
    /// Its id within the conversation.
    pub question: String,
    /// The grades; `None` where one is missing.
    pub grades: Vec<Option<bool>>,
}

/// Differences inside one conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Stratum {
    /// The conversation.
    pub conversation: String,
    /// Condition minus baseline, one for each question that was graded under both, each −1 to 1.
    pub differences: Vec<f64>,
}

impl Stratum {
    /// The mean difference.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "questions are far below 2^52")]
    pub fn delta(&self) -> f64 {
        self.differences.iter().sum::<f64>() / self.differences.len().max(1) as f64
    }
}

/// A condition paired with the baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// How replicates were collapsed.
    pub rule: Collapse,
    /// Conversations with at least one question, in the order of their names.
    pub strata: Vec<Stratum>,
    /// Questions right under the baseline and wrong under the condition, by the rule; 0 for a mean.
    pub only_baseline: u64,
    /// Questions right under the condition and wrong under the baseline, by the rule; 0 for a mean.
    pub only_condition: u64,
    /// Questions that were dropped or left out, as `conversation/question`.
    pub left_out: Vec<String>,
    /// Questions with a missing grade under either, as `conversation/question`: listed, whatever becomes of them.
    pub incomplete: Vec<String>,
}

/// Pairs two conditions over the questions that were graded under both.
#[must_use]
pub fn pair(condition: &[Graded], baseline: &[Graded], rule: Collapse, missing: Missing) -> Paired {
    let key = |graded: &Graded| (graded.conversation.clone(), graded.question.clone());
    let of_baseline: BTreeMap<_, _> = baseline.iter().map(|graded| (key(graded), graded)).collect();
    let of_condition: BTreeMap<_, _> = condition.iter().map(|graded| (key(graded), graded)).collect();
    let mut strata: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut paired = Paired {
        rule,
        strata: Vec::new(),
        only_baseline: 0,
        only_condition: 0,
        left_out: Vec::new(),
        incomplete: Vec::new(),
    };
    let only_in_baseline = of_baseline.keys().filter(|key| !of_condition.contains_key(*key));
    paired.left_out = only_in_baseline
        .map(|key| format!("{}/{}", key.0, key.1))
        .collect();
    for (key, graded) in &of_condition {
        let name = || format!("{}/{}", key.0, key.1);
        let Some(base) = of_baseline.get(key) else {
            paired.left_out.push(name());
            continue;
        };
        let is_incomplete = graded.grades.iter().chain(&base.grades).any(Option::is_none);
        if is_incomplete {
            paired.incomplete.push(name());
        }
        let values = (collapse(rule, &graded.grades), collapse(rule, &base.grades));
        let (Some(under), Some(without)) = values else {
            paired.left_out.push(name());
            continue;
        };
        if is_incomplete && missing == Missing::Drops {
            paired.left_out.push(name());
            continue;
        }
        if rule == Collapse::Vote {
            paired.only_baseline += u64::from(without > under);
            paired.only_condition += u64::from(under > without);
        }
        strata.entry(key.0.clone()).or_default().push(under - without);
    }
    paired.left_out.sort();
    let stratum = |(conversation, differences)| Stratum {
        conversation,
        differences,
    };
    paired.strata = strata.into_iter().map(stratum).collect();
    paired
}

impl Paired {
    /// The benign utility delta: the mean of the conversations' deltas. `None` without any question.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "conversations are few")]
    pub fn delta(&self) -> Option<f64> {
        let sum: f64 = self.strata.iter().map(Stratum::delta).sum();
        (!self.strata.is_empty()).then(|| sum / self.strata.len() as f64)
    }

    /// How many questions were compared.
    #[must_use]
    pub fn questions(&self) -> usize {
        self.strata.iter().map(|stratum| stratum.differences.len()).sum()
    }

    /// The stratified bootstrap interval of [`Paired::delta`].
    ///
    /// # Errors
    /// Without any question.
    pub fn interval(&self, samples: usize, seed: u64) -> Result<Interval, StatsError> {
        let strata: Vec<&[f64]> = self
            .strata
            .iter()
            .map(|stratum| stratum.differences.as_slice())
            .collect();
        stratified(&strata, samples, seed)
    }

    /// The exact McNemar test over all questions; it is about votes, so `None` for a mean.
    #[must_use]
    pub fn mcnemar(&self) -> Option<f64> {
        (self.rule == Collapse::Vote).then(|| mcnemar(self.only_baseline, self.only_condition))
    }

    /// The exact sign-flip test over the conversations' deltas.
    ///
    /// # Errors
    /// Without any conversation, or with too many to count all signs.
    pub fn sign_flip(&self) -> Result<SignFlip, StatsError> {
        let deltas: Vec<f64> = self.strata.iter().map(Stratum::delta).collect();
        sign_flip(&deltas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graded(conversation: &str, question: &str, grades: &[Option<bool>]) -> Graded {
        Graded {
            conversation: conversation.to_owned(),
            question: question.to_owned(),
            grades: grades.to_vec(),
        }
    }

    const RIGHT: [Option<bool>; 3] = [Some(true); 3];
    const WRONG: [Option<bool>; 3] = [Some(false); 3];

    #[test]
    fn each_conversation_weighs_the_same_however_many_questions_it_has() {
        let baseline = [
            graded("a", "1", &RIGHT),
            graded("b", "1", &RIGHT),
            graded("b", "2", &RIGHT),
            graded("b", "3", &RIGHT),
        ];
        let mut condition = baseline.to_vec();
        condition[0].grades = WRONG.to_vec();
        let paired = pair(&condition, &baseline, Collapse::Vote, Missing::Counts);
        assert_eq!(paired.delta(), Some(-0.5));
        assert_eq!((paired.only_baseline, paired.only_condition), (1, 0));
    }

    #[test]
    fn a_vote_and_a_mean_can_tell_different_stories() {
        let baseline = [graded("a", "1", &RIGHT), graded("a", "2", &RIGHT)];
        let condition = [
            graded("a", "1", &[Some(true), Some(true), Some(false)]),
            graded("a", "2", &[Some(true), Some(false), Some(true)]),
        ];
        let delta = |rule| {
            pair(&condition, &baseline, rule, Missing::Counts)
                .delta()
                .unwrap()
        };
        assert_eq!(delta(Collapse::Vote), 0.0);
        assert!((delta(Collapse::Mean) + 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn missing_grades_are_listed_and_the_sensitivity_run_drops_their_questions() {
        let baseline = [graded("a", "1", &RIGHT), graded("a", "2", &RIGHT)];
        let condition = [
            graded("a", "1", &[Some(true), None, None]),
            graded("a", "2", &RIGHT),
            graded("a", "3", &RIGHT),
        ];
        let counts = pair(&condition, &baseline, Collapse::Vote, Missing::Counts);
        assert_eq!(counts.delta(), Some(-0.5));
        assert_eq!(counts.incomplete, ["a/1"]);
        assert_eq!(counts.left_out, ["a/3"]);
        let drops = pair(&condition, &baseline, Collapse::Vote, Missing::Drops);
        assert_eq!(drops.delta(), Some(0.0));
        assert_eq!(drops.left_out, ["a/1", "a/3"]);
    }

    #[test]
    fn a_question_that_was_never_graded_under_one_side_is_not_compared() {
        let baseline = [graded("a", "1", &RIGHT)];
        let condition = [graded("a", "1", &[None, None, None])];
        let paired = pair(&condition, &baseline, Collapse::Vote, Missing::Counts);
        assert_eq!((paired.delta(), paired.questions()), (None, 0));
    }
}
