//! Grades the stored core answers of a run once more: a judge's grade beside those that are there, the newest of which
//! counts. Nothing is extracted, answered or defended again.

use super::experiment::BenignCost;
use super::grade::{Answered, judged};
use super::pipeline::{limit, one_line, spent};
use super::record::{CellResult, Spent};
use crate::experiment::cell::seed_of;
use crate::experiment::record::{Journal, RECORDS};
use crate::experiment::{ExperimentError, ExperimentFile, ModelSpec, Record};
use crate::locomo::Aligned;
use std::path::Path;

/// What was graded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Regraded {
    /// Core answers.
    pub answers: u64,
    /// Answers whose newest grade is another one than before, a missing one included.
    pub changed: u64,
    /// Answers that the judge gave no grade.
    pub missing: u64,
}

/// Regrades the run in `directory`, whose experiment is `file`. Dialogues and prices are those of the experiment unless they
/// lie elsewhere. The records are replaced at once or not at all.
///
/// # Errors
/// Another kind of experiment; a judge of the same provider as the model; dialogues that are not those of the run; a judge
/// that cannot be reached.
pub fn regrade(
    file: &ExperimentFile,
    dialogues: Option<&Path>,
    prices: Option<&Path>,
    directory: &Path,
    judge: &ModelSpec,
) -> Result<Regraded, ExperimentError> {
    if file.kind != BenignCost::KIND {
        return Err(ExperimentError::value(format!(
            "the experiment is of kind `{}`: expected `{}`, whose answers are graded",
            file.kind,
            BenignCost::KIND
        )));
    }
    let experiment = BenignCost::load(file)?.with_files(dialogues, prices);
    experiment.plan().check_other_provider(judge)?;
    let path = directory.join(RECORDS);
    if !path.exists() {
        return Err(ExperimentError::path(&path, &"there is no run to grade"));
    }
    let (journal, mut records) = Journal::open(directory)?;
    let mut sum = Regraded::default();
    for record in &mut records {
        let dialogue = experiment.dialogue_of(record)?;
        regrade_cell(&experiment, record, dialogue, judge, &mut sum)?;
    }
    journal.settle(&records.iter().collect::<Vec<_>>())?;
    Ok(sum)
}

fn regrade_cell(
    experiment: &BenignCost,
    record: &mut Record,
    dialogue: &Aligned,
    judge: &ModelSpec,
    sum: &mut Regraded,
) -> Result<(), ExperimentError> {
    let mut result: CellResult = record.result()?;
    let judge = experiment.model(judge, seed_of(&["regrade", &record.cell], experiment.plan().seed))?;
    let tokens = limit(experiment.plan().limits.judge);
    for asked in result.questions.iter_mut().filter(|asked| asked.is_core()) {
        let Some(answer) = &asked.answer else { continue };
        let question = dialogue
            .questions
            .iter()
            .find(|question| question.place == asked.question);
        let question = question
            .ok_or_else(|| record.broken(&format!("question {} is not in its dialogue", asked.question)))?;
        let answered = Answered {
            question: &one_line(&question.text),
            expected: &one_line(&question.answer),
            answer: &one_line(answer),
        };
        let grade = judged(&judge, tokens, answered)?;
        sum.answers += 1;
        sum.changed += u64::from(grade.correct != asked.correct());
        sum.missing += u64::from(grade.correct.is_none());
        asked.grades.push(grade);
    }
    result.simulated |= judge.is_simulated();
    for (purpose, more) in spent(&judge)? {
        let known = result.judge_spent.remove(&purpose).unwrap_or_else(|| Spent {
            cost_picousd: Some(0),
            ..Spent::default()
        });
        result.judge_spent.insert(purpose, known.and(more));
    }
    record.result =
        serde_json::to_value(result).map_err(|error| ExperimentError::Unexpected(error.to_string()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::pipeline::tests::NEVER;
    use crate::experiment::{self, record};
    use std::path::PathBuf;

    const PLAN: &str = "name = \"t\"\nkind = \"benign-cost\"\nseed = 3\ndialogues = \"lighthouse\"\n\
                        conversations = [\"lighthouse\"]\nturns = 20\nquestions = 8\nreplicates = 1\n\
                        conditions = [\"none\", \"rerank\"]\nmodel = \"simulated\"\ngrading = \"exact-or-f1\"\n";

    fn file() -> ExperimentFile {
        let rates = serde_json::to_value(NEVER).unwrap();
        let rates = rates.as_object().unwrap();
        let rates: Vec<String> = rates
            .iter()
            .map(|(name, rate)| format!("{name} = {rate}"))
            .collect();
        let text = format!("{PLAN}[stand_in]\n{}\n", rates.join("\n"));
        ExperimentFile::parse(text, PathBuf::new()).unwrap()
    }

    fn results(out: &Path) -> Vec<CellResult> {
        let records = record::read(out).unwrap();
        records.iter().map(|record| record.result().unwrap()).collect()
    }

    #[test]
    fn a_regrade_adds_a_grade_beside_the_old_one_and_changes_nothing_else() {
        let out = tempfile::tempdir().unwrap();
        let loaded = experiment::load(&file()).unwrap();
        experiment::run(&*loaded, out.path(), 1, &mut |_| ()).unwrap();
        let before = results(out.path());
        let sum = regrade(&file(), None, None, out.path(), &ModelSpec::Simulated).unwrap();
        let after = results(out.path());
        let mut answers = 0;
        for (before, after) in before.iter().zip(&after) {
            for (old, new) in before.questions.iter().zip(&after.questions) {
                let again = new.is_core() && new.answer.is_some();
                assert_eq!(new.grades.len(), old.grades.len() + usize::from(again));
                assert_eq!(new.grades[..old.grades.len()], old.grades[..]);
                if again {
                    answers += 1;
                    assert!(new.grades.last().unwrap().grader.contains("judge-v1"));
                }
            }
            assert_eq!((&before.spent, &before.stages), (&after.spent, &after.stages));
            assert!(after.judge_spent["judge"].calls > 0);
        }
        assert!(answers > 0);
        assert_eq!((sum.answers, sum.missing), (answers, 0));
        // A finished run is still resumed, and once more adds once more.
        let resumed = experiment::run(&*loaded, out.path(), 1, &mut |_| ()).unwrap();
        assert_eq!(resumed.resumed, before.len());
        let again = regrade(&file(), None, None, out.path(), &ModelSpec::Simulated).unwrap();
        assert_eq!((again.answers, again.changed), (answers, 0));
    }

    #[test]
    fn what_cannot_be_regraded_is_refused_and_nothing_is_changed() {
        let out = tempfile::tempdir().unwrap();
        let loaded = experiment::load(&file()).unwrap();
        experiment::run(&*loaded, out.path(), 1, &mut |_| ()).unwrap();
        let before = std::fs::read(out.path().join(RECORDS)).unwrap();
        // Nobody listens there.
        let gone: ModelSpec = "endpoint:http://127.0.0.1:1/v1#other/judge".parse().unwrap();
        let error = regrade(&file(), None, None, out.path(), &gone)
            .unwrap_err()
            .to_string();
        assert!(error.contains("cannot be reached"), "{error}");
        // The cut is another one, so the questions are too.
        let other = ExperimentFile::parse(PLAN.replace("turns = 20", "turns = 21"), PathBuf::new()).unwrap();
        let error = regrade(&other, None, None, out.path(), &ModelSpec::Simulated)
            .unwrap_err()
            .to_string();
        assert!(error.contains("not the one of the run"), "{error}");
        let same = PLAN.replace("model = \"simulated\"", "model = \"endpoint:http://h/v1#a/x\"");
        let same = ExperimentFile::parse(same, PathBuf::new()).unwrap();
        let judge: ModelSpec = "endpoint:http://h/v1#a/y".parse().unwrap();
        let error = regrade(&same, None, None, out.path(), &judge)
            .unwrap_err()
            .to_string();
        assert!(error.contains("both of `a`"), "{error}");
        assert_eq!(std::fs::read(out.path().join(RECORDS)).unwrap(), before);
    }
}
