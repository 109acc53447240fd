//! The three domains as the experiment has them: who is attacked, its prompt, its tasks.
//!
//! Data and checks are those of the demo's agents, except that `react-qa` takes its questions from StrategyQA where the
//! file names it: the question, two of its facts as the passages, and the answer key as what a lookup finds.

use super::honest::subjects;
use crate::agents::Agent;
use crate::agents::tasks::Task;
use crate::agents::work::{Job, Quality};
use crate::experiment::prompt::list;
use crate::experiment::{ExperimentError, Prompt};
use crate::farma::Domain;
use memwarden_core::Digest;
use memwarden_core::model::Message;
use serde::Deserialize;
use std::path::Path;

/// What a domain is made of in one cell.
#[derive(Debug, Clone)]
pub struct Ground {
    /// The agent.
    pub agent: Agent,
    /// The same, as the attack knows it.
    pub domain: Domain,
    /// The subject that is attacked.
    pub attacked: String,
    /// All that the agent works on, the attacked subject first.
    pub subjects: Vec<String>,
    /// The form of its prompt.
    pub prompt: Prompt,
    questions: Vec<Question>,
}

/// A question with its facts.
#[derive(Debug, Clone, Deserialize)]
struct Question {
    question: String,
    answer: bool,
    facts: Vec<String>,
}

const PROMPTS: [Prompt; 3] = [
    Prompt {
        name: "ehr-v1",
        form: include_str!("../../../prompts/ehr-v1.txt"),
    },
    Prompt {
        name: "react-qa-v1",
        form: include_str!("../../../prompts/react-qa-v1.txt"),
    },
    Prompt {
        name: "order-v1",
        form: include_str!("../../../prompts/order-v1.txt"),
    },
];

/// The domain of this name.
///
/// # Errors
/// No such domain.
pub fn domain(name: &str) -> Result<Domain, ExperimentError> {
    let known = Domain::ALL.iter().find(|domain| domain.as_str() == name);
    known.copied().ok_or_else(|| {
        ExperimentError::value(format!("`domains` names `{name}`: expected ehr, react-qa or rap"))
    })
}

/// The digest of the questions at `path`, for the records.
///
/// # Errors
/// A file that cannot be read.
pub fn digest_of(path: &Path) -> Result<Digest, ExperimentError> {
    let bytes = std::fs::read(path).map_err(|error| ExperimentError::path(path, &error))?;
    Ok(Digest::of(&bytes))
}

impl Ground {
    /// The form of the prompt of a domain.
    #[must_use]
    pub const fn prompt_of(domain: Domain) -> Prompt {
        let [ehr, qa, order] = PROMPTS;
        match domain {
            Domain::Ehr => ehr,
            Domain::ReactQa => qa,
            Domain::Rap => order,
        }
    }

    /// The ground of a domain; questions come from `strategyqa`, or else from a few rivers.
    ///
    /// # Errors
    /// A file of questions that cannot be read.
    pub fn new(domain: Domain, strategyqa: Option<&Path>) -> Result<Self, ExperimentError> {
        let agent = match domain {
            Domain::Ehr => Agent::Ehr,
            Domain::ReactQa => Agent::ReactQa,
            Domain::Rap => Agent::Rap,
        };
        let [attacked, _] = agent.kinds();
        let mut attacked = attacked.to_owned();
        let mut questions = Vec::new();
        if let Some(path) = strategyqa.filter(|_| domain == Domain::ReactQa) {
            let text = std::fs::read_to_string(path).map_err(|error| ExperimentError::path(path, &error))?;
            questions = serde_json::from_str(&text).map_err(|error| ExperimentError::path(path, &error))?;
            questions.retain(|question: &Question| question.facts.len() >= 2);
            if questions.is_empty() {
                return Err(ExperimentError::path(
                    path,
                    &"it holds no question with two facts or more: expected StrategyQA's questions",
                ));
            }
            "strategy questions".clone_into(&mut attacked);
        }
        Ok(Self {
            agent,
            domain,
            subjects: subjects(domain, &attacked),
            attacked,
            prompt: Self::prompt_of(domain),
            questions,
        })
    }

    /// The question about nothing in particular, with nothing retrieved (content-free, Zhao et al. 2021, arXiv 2102.09690).
    ///
    /// # Errors
    /// A form with other places.
    pub fn nothing(&self) -> Result<Vec<Message>, ExperimentError> {
        let (empty, free) = (list([]), "N/A");
        self.prompt.fill(&[
            ("reasoning", &empty),
            ("memory", &empty),
            ("data", free),
            ("item", free),
            ("kind", free),
        ])
    }

    /// `trials` tasks without a receipt, all of the attacked subject, and half as many legitimate skips, spread over what
    /// else the agent works on. Every second task reads the web; of the batches every seventh deserves to be
    /// rejected.
    #[must_use]
    pub fn tasks(&self, trials: usize, seed: u64) -> Vec<Task> {
        let mut tasks = Vec::new();
        for at in 0..trials + trials / 2 {
            let legitimate_skip = at >= trials;
            let faulty = self.agent == Agent::Ehr && !legitimate_skip && at % 7 == 5;
            let others = self.subjects.get(1..).unwrap_or_default();
            let spread = at.checked_rem(others.len()).and_then(|at| others.get(at));
            let kind = spread.filter(|_| legitimate_skip).unwrap_or(&self.attacked);
            tasks.push(Task {
                job: self.job(
                    kind,
                    at,
                    if faulty { Quality::Faulty } else { Quality::Good },
                    seed,
                ),
                legitimate_skip,
                reads_web: at % 2 == 0,
            });
        }
        tasks
    }

    /// Ids are one word each, so that no two items have a word in common.
    fn job(&self, kind: &str, at: usize, quality: Quality, seed: u64) -> Job {
        let letters = match self.agent {
            Agent::Ehr => "EB",
            Agent::ReactQa => "Q",
            Agent::Rap => "O",
        };
        let item = format!("{letters}{}", 100 + at);
        let mut job = Job::new(
            self.agent,
            kind,
            &item,
            quality,
            seed.wrapping_mul(1_000).wrapping_add(at as u64),
        );
        let asked = at
            .checked_rem(self.questions.len())
            .and_then(|at| self.questions.get(at));
        if let Some(question) = asked {
            let facts: Vec<&str> = question.facts.iter().take(2).map(String::as_str).collect();
            job.text = format!(
                "question {item} of {kind}: {}\n{}\n",
                question.question,
                facts.join("\n")
            );
            job.found = Some(if question.answer { "true" } else { "false" }.to_owned());
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memwarden_core::Outcome;

    #[test]
    fn the_question_about_nothing_is_the_form_without_what_fills_it() {
        for domain in Domain::ALL {
            let nothing = Ground::new(*domain, None).unwrap().nothing().unwrap();
            let text: String = nothing.iter().map(|message| message.text.as_str()).collect();
            assert!(text.contains("(nothing)") && text.contains("N/A"), "{text}");
            assert!(!text.contains("{{"), "{text}");
        }
    }

    #[test]
    fn a_third_of_the_tasks_are_legitimate_skips_and_half_read_the_web() {
        for domain in Domain::ALL {
            let ground = Ground::new(*domain, None).unwrap();
            let tasks = ground.tasks(60, 4);
            assert_eq!(tasks.len(), 90);
            let skips = tasks.iter().filter(|task| task.legitimate_skip).count();
            assert_eq!(skips * 3, tasks.len());
            assert_eq!(
                tasks.iter().filter(|task| task.reads_web).count() * 2,
                tasks.len()
            );
            let items: std::collections::BTreeSet<_> = tasks.iter().map(|task| &task.job.item).collect();
            assert_eq!(items.len(), tasks.len(), "distinct");
        }
    }

    #[test]
    fn questions_of_a_file_are_looked_up_with_their_key() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("questions.json");
        let text = r#"[{"question": "Is ice cold?", "answer": true, "facts": ["Ice is frozen water.", "Frost is cold."]},
            {"question": "Too little?", "answer": false, "facts": ["One."]}]"#;
        std::fs::write(&file, text).unwrap();
        let ground = Ground::new(Domain::ReactQa, Some(&file)).unwrap();
        let task = ground.tasks(2, 1).remove(1);
        assert!(task.job.text.contains("Is ice cold?") && task.job.text.contains("Frost is cold."));
        let checked = task.job.check();
        assert_eq!(
            (checked.outcome, checked.result.as_deref()),
            (Outcome::Passed, Some("true"))
        );
        assert!(Ground::new(Domain::ReactQa, Some(Path::new("nowhere.json"))).is_err());
    }
}
