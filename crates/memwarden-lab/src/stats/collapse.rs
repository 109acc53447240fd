//! Several replicates of one question as one value: by vote, and by mean.
//!
//! The two rules can tell different stories about the same run, so a report shows both. A vote hides what happens
//! in a minority of replicates; a mean lets one bad replicate speak.

/// How replicates become one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collapse {
    /// 1 where more than half of the *planned* replicates are correct, else 0 (arXiv 2609.22818).
    Vote,
    /// The share of correct ones among the replicates that were graded.
    Mean,
}

impl Collapse {
    /// The name used in output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Vote => "vote",
            Self::Mean => "mean",
        }
    }
}

/// What a question with a missing grade is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missing {
    /// It counts: not correct in a vote, left out of a mean.
    Counts,
    /// The question is dropped from both sides: the sensitivity run.
    Drops,
}

/// Whether more than half of the planned replicates are correct; `None` where not one was graded.
///
/// `grades` has one place for each *planned* replicate: a missing grade is `None` and never makes the bar lower.
///
/// ```
/// use memwarden_lab::stats::majority;
/// assert_eq!(majority(&[Some(true), None, Some(true)]), Some(true));
/// // One of one, but of three that were planned: not a majority.
/// assert_eq!(majority(&[Some(true), None, None]), Some(false));
/// assert_eq!(majority(&[None, None, None]), None);
/// ```
#[must_use]
pub fn majority(grades: &[Option<bool>]) -> Option<bool> {
    let correct = grades.iter().filter(|grade| **grade == Some(true)).count();
    grades
        .iter()
        .any(Option::is_some)
        .then_some(2 * correct > grades.len())
}

/// The share of correct replicates among those that were graded; `None` where not one was.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "replicates are few")]
pub fn mean(grades: &[Option<bool>]) -> Option<f64> {
    let graded = grades.iter().flatten().count();
    let correct = grades.iter().flatten().filter(|correct| **correct).count();
    (graded > 0).then(|| correct as f64 / graded as f64)
}

/// One value by a rule.
#[must_use]
pub fn collapse(rule: Collapse, grades: &[Option<bool>]) -> Option<f64> {
    match rule {
        Collapse::Vote => majority(grades).map(|correct| f64::from(u8::from(correct))),
        Collapse::Mean => mean(grades),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_replicates_is_no_majority() {
        assert_eq!(majority(&[Some(true), Some(false)]), Some(false));
        assert_eq!(majority(&[Some(true), Some(true), Some(false)]), Some(true));
    }

    #[test]
    fn a_missing_grade_is_left_out_of_the_mean() {
        assert_eq!(mean(&[Some(true), None, Some(false)]), Some(0.5));
        assert_eq!(
            collapse(Collapse::Vote, &[Some(true), None, Some(false)]),
            Some(0.0)
        );
    }
}
