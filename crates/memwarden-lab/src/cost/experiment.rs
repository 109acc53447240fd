//! The grid of conditions, dialogues and replicates, as an experiment that `lab run` knows.

use super::conditions::{Condition, condition};
use super::grade::{JUDGE, WORDS};
use super::model::Model;
use super::pipeline::{ANSWER, Work};
use super::plan::{Grading, OWN_DIALOGUES, Plan};
use super::stand_in::StandIn;
use super::{abstain, pipeline, report};
use crate::experiment::cell::seed_of;
use crate::experiment::{
    Cell, CellId, Experiment, ExperimentError, ExperimentFile, ModelSpec, Record, Report,
};
use crate::locomo::{self, Aligned, Conversation};
use memwarden::guard::{PROMPTS, lists_version};
use memwarden::model::{Meter, Metered, Prices};
use memwarden_core::Digest;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// An experiment of kind `benign-cost`.
#[derive(Debug)]
pub struct BenignCost {
    plan: Plan,
    dialogues: PathBuf,
    prices: Option<PathBuf>,
    read: OnceLock<Vec<Aligned>>,
}

impl BenignCost {
    /// The kind in experiment files.
    pub const KIND: &'static str = "benign-cost";

    /// Reads the plan; files that it names are read when cells are asked for.
    ///
    /// # Errors
    /// A plan that does not hold.
    pub fn load(file: &ExperimentFile) -> Result<Self, ExperimentError> {
        let plan: Plan = file.plan()?;
        plan.check()?;
        Ok(Self {
            dialogues: file.path(&plan.dialogues),
            prices: plan.prices.as_deref().map(|path| file.path(path)),
            plan,
            read: OnceLock::new(),
        })
    }

    /// The same, with its dialogues or its prices in other files.
    pub(super) fn with_files(mut self, dialogues: Option<&Path>, prices: Option<&Path>) -> Self {
        if let Some(file) = dialogues {
            file.clone_into(&mut self.dialogues);
        }
        if let Some(file) = prices {
            self.prices = Some(file.to_owned());
        }
        self
    }

    /// What the file said.
    pub(super) const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The dialogue that a cell was about.
    pub(super) fn dialogue_of(&self, record: &Record) -> Result<&Aligned, ExperimentError> {
        let name = record.text("conversation");
        let found = self.aligned()?.iter().find(|dialogue| dialogue.name == name);
        found
            .filter(|dialogue| digest_of(dialogue) == record.text("dialogue"))
            .ok_or_else(|| record.broken(&format!("dialogue `{name}` is not the one of the run")))
    }

    /// The dialogues of the plan, cut and aligned.
    fn aligned(&self) -> Result<&[Aligned], ExperimentError> {
        if let Some(read) = self.read.get() {
            return Ok(read);
        }
        let failed = |error: locomo::LocomoError| ExperimentError::value(error.to_string());
        let all: Vec<Conversation> = if self.plan.dialogues == Path::new(OWN_DIALOGUES) {
            locomo::parse(locomo::LIGHTHOUSE).map_err(failed)?
        } else {
            locomo::read_file(&self.dialogues).map_err(failed)?
        };
        let wanted = self.plan.conversations.iter().map(|name| {
            let found = all.iter().find(|dialogue| dialogue.name == *name);
            found
                .map(|dialogue| locomo::align(dialogue, self.plan.turns, self.plan.questions))
                .ok_or_else(|| {
                    ExperimentError::value(format!(
                        "`conversations` names `{name}`, which the dialogues lack"
                    ))
                })
        });
        let aligned: Vec<Aligned> = wanted.collect::<Result<_, _>>()?;
        Ok(self.read.get_or_init(|| aligned))
    }

    fn prices(&self) -> Result<Prices, ExperimentError> {
        let Some(path) = &self.prices else {
            return Ok(Prices::default());
        };
        let text = std::fs::read_to_string(path).map_err(|error| ExperimentError::path(path, &error))?;
        Prices::parse(&text).map_err(|error| ExperimentError::path(path, &error))
    }

    /// `models` is what the model and the judge are.
    fn config(&self, condition: &Condition, dialogue: &Aligned, replicate: u32, models: &Value) -> Value {
        let plan = &self.plan;
        let prompts = PROMPTS.map(|prompt| {
            let digest = Digest::of(prompt.text.as_bytes()).short();
            format!("{}@{digest}", prompt.version)
        });
        let prompts: Vec<String> = prompts
            .into_iter()
            .chain([
                pipeline::extracting(plan.replies).version(),
                ANSWER.version(),
                JUDGE.version(),
            ])
            .collect();
        json!({
            "kind": Self::KIND,
            "seed": plan.seed,
            "condition": condition.name,
            "policy": condition.policy.hash().to_string(),
            "conversation": dialogue.name,
            "dialogue": digest_of(dialogue),
            "turns": dialogue.turns.len(),
            "questions": dialogue.questions.len(),
            "replicate": replicate,
            "models": models,
            "grading": plan.grading,
            "limits": plan.limits,
            "replies": plan.replies,
            "prompts": prompts,
            "lists": lists_version(),
            "graders": [abstain::DETECTOR, WORDS],
            "stand_in": plan.stood_in().map(|_| plan.stand_in),
            "candidates": pipeline::CANDIDATES,
        })
    }

    /// A model behind a meter of its own.
    pub(super) fn model(&self, spec: &ModelSpec, seed: u64) -> Result<Model, ExperimentError> {
        let meter = Arc::new(Meter::in_memory(self.prices()?));
        if spec.is_simulated() {
            let stand_in = Box::new(StandIn::new(seed, self.plan.stand_in));
            return Ok(Model::new(
                Metered::stand_in(stand_in, meter).with_reply_retries(0),
            ));
        }
        Model::open(spec, seed, &meter)
    }
}

impl Experiment for BenignCost {
    fn name(&self) -> &str {
        &self.plan.name
    }

    fn cells(&self) -> Result<Vec<Cell>, ExperimentError> {
        // A wrong price table is found before the first call is paid for.
        self.prices()?;
        let judge = self.plan.judge.as_ref().map(ModelSpec::identity).transpose()?;
        let models = json!({"model": self.plan.model.identity()?, "judge": judge});
        let mut cells = Vec::new();
        for name in &self.plan.conditions {
            let condition = condition(name, self.plan.replies)?;
            for dialogue in self.aligned()? {
                for replicate in 1..=self.plan.replicates {
                    let id = CellId::of(&[name, &dialogue.name, &replicate.to_string()]);
                    cells.push(Cell::new(
                        id,
                        self.config(&condition, dialogue, replicate, &models),
                    ));
                }
            }
        }
        Ok(cells)
    }

    fn run(&self, cell: &Cell, scratch: &Path) -> Result<Value, ExperimentError> {
        let text = |key: &str| cell.config.get(key).and_then(Value::as_str).unwrap_or_default();
        let condition = condition(text("condition"), self.plan.replies)?;
        let dialogue = self
            .aligned()?
            .iter()
            .find(|dialogue| dialogue.name == text("conversation"));
        let dialogue =
            dialogue.ok_or_else(|| ExperimentError::Unexpected("a dialogue is gone".to_owned()))?;
        // Condition, dialogue and replicate are the cell's id.
        let seed = seed_of(&[cell.id.as_str()], self.plan.seed);
        let model = self.model(&self.plan.model, seed)?;
        let judge = match (&self.plan.judge, self.plan.grading) {
            (Some(judge), Grading::Judge) => Some(self.model(judge, seed_of(&["judge"], seed))?),
            _ => None,
        };
        let work = Work {
            condition: &condition,
            dialogue,
            namespace: namespace(cell.id.as_str())?,
            model,
            judge,
            grading: self.plan.grading,
            replies: self.plan.replies,
            limits: self.plan.limits,
            encoder: memwarden::built_in_encoder(),
        };
        let result = pipeline::run(&work, scratch)?;
        serde_json::to_value(result).map_err(|error| ExperimentError::Unexpected(error.to_string()))
    }

    fn report(&self, records: &[Record]) -> Result<Report, ExperimentError> {
        report::report(&self.plan, records)
    }
}

/// The namespace of a cell: its id in the characters that a namespace may have.
fn namespace(id: &str) -> Result<memwarden::Namespace, ExperimentError> {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '.'
        }
    };
    let name: String = id.chars().map(plain).collect();
    name.parse()
        .map_err(|error| ExperimentError::Unexpected(format!("the namespace of a cell: {error}")))
}

fn digest_of(dialogue: &Aligned) -> String {
    Digest::of(format!("{dialogue:?}").as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::record::CellResult;
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::Mutex;

    const PLAN: &str = "name = \"t\"\nkind = \"benign-cost\"\nseed = 3\ndialogues = \"lighthouse\"\n\
                        conversations = [\"lighthouse\"]\nturns = 12\nquestions = 5\nreplicates = 1\n";

    fn load(more: &str) -> Result<BenignCost, ExperimentError> {
        BenignCost::load(&ExperimentFile::parse(format!("{PLAN}{more}"), PathBuf::new())?)
    }

    /// Stands for a paid service: answers every chat with one word, and keeps the bodies and headers it was sent.
    fn endpoint(word: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut head, mut length) = (String::new(), 0_usize);
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                        break;
                    }
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    head.push_str(&line);
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                heard
                    .lock()
                    .unwrap()
                    .push(format!("{head}{}", String::from_utf8(body).unwrap()));
                let reply = json!({
                    "id": "1", "object": "chat.completion", "created": 0, "model": "judge",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": word}}],
                    "usage": {"prompt_tokens": 40, "completion_tokens": 1, "total_tokens": 41},
                })
                .to_string();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                    reply.len()
                );
                stream.write_all(format!("{head}{reply}").as_bytes()).unwrap();
            }
        });
        (url, asked)
    }

    fn only_cell(experiment: &BenignCost) -> CellResult {
        let cells = experiment.cells().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let value = experiment.run(&cells[0], scratch.path()).unwrap();
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_judge_of_another_provider_grades_core_answers_and_nothing_else() {
        let (url, asked) = endpoint("correct");
        let more = format!(
            "conditions = [\"none\"]\nmodel = \"simulated\"\njudge = \"endpoint:{url}#other/judge\"\n"
        );
        let result = only_cell(&load(&more).unwrap());
        let core: Vec<_> = result.questions.iter().filter(|asked| asked.is_core()).collect();
        assert!(!core.is_empty() && core.iter().all(|asked| asked.correct() == Some(true)));
        assert!(core[0].grades[0].grader.ends_with(" by other/judge"));
        assert_eq!(result.judge_spent["judge"].tokens(), 41 * core.len() as u64);
        assert!(!result.spent.contains_key("judge"));
        let asked = asked.lock().unwrap();
        assert_eq!(asked.len(), core.len());
        assert!(asked[0].contains("Right answer: ") && asked[0].contains("judge"));
    }

    #[test]
    fn a_judge_that_gives_no_grade_leaves_it_missing_and_is_asked_twice() {
        let (url, asked) = endpoint("It depends.");
        let more = format!(
            "conditions = [\"none\"]\nmodel = \"simulated\"\njudge = \"endpoint:{url}#other/judge\"\n"
        );
        let result = only_cell(&load(&more).unwrap());
        let core: Vec<_> = result.questions.iter().filter(|asked| asked.is_core()).collect();
        assert!(core.iter().all(|asked| asked.correct().is_none()));
        assert_eq!(asked.lock().unwrap().len(), 2 * core.len());
    }

    #[test]
    fn a_judge_of_the_same_provider_is_refused() {
        let refused = |more: &str| {
            load(&format!("conditions = [\"none\"]\n{more}"))
                .unwrap_err()
                .to_string()
        };
        let same = "model = \"endpoint:http://127.0.0.1:1/v1#a/x\"\njudge = \"endpoint:http://127.0.0.1:1/v1#a/y\"\n";
        assert!(refused(same).contains("both of `a`"), "{}", refused(same));
        let host = "model = \"endpoint:http://h/v1#x\"\njudge = \"endpoint:http://h/v1#y\"\n";
        assert!(refused(host).contains("both of `h`"));
        assert!(refused("model = \"simulated\"\n").contains("`judge` is missing"));
        let other = "conditions = [\"none\"]\nmodel = \"endpoint:http://h/v1#a/x\"\njudge = \"endpoint:http://h/v1#b/y\"\n";
        assert!(load(other).is_ok());
    }

    #[test]
    fn a_plan_that_does_not_hold_is_refused_by_key() {
        let refused = |more: &str| load(more).unwrap_err().to_string();
        let simulated = "model = \"simulated\"\njudge = \"simulated\"\n";
        assert!(refused(&format!("conditions = [\"rerank\"]\n{simulated}")).contains("lacks `none`"));
        assert!(
            refused(&format!("conditions = [\"none\", \"x\"]\n{simulated}"))
                .contains("condition `x` is unknown")
        );
        let rates = "conditions = [\"none\"]\nmodel = \"simulated\"\njudge = \"simulated\"\n[stand_in]\njudge_slip = 1.5\n";
        assert!(refused(rates).contains("`stand_in.judge_slip` is 1.5"));
        let unknown = format!("conditions = [\"none\"]\nreplicate = 3\n{simulated}");
        assert!(
            refused(&unknown).starts_with("line 10: unknown field `replicate`"),
            "{}",
            refused(&unknown)
        );
    }

    #[test]
    fn without_a_judge_grades_are_by_words_and_labeled_so() {
        let more = "conditions = [\"none\"]\nmodel = \"simulated\"\ngrading = \"exact-or-f1\"\n";
        let experiment = load(more).unwrap();
        let result = only_cell(&experiment);
        let core = result.questions.iter().find(|asked| asked.is_core()).unwrap();
        assert_eq!(core.grades[0].grader, "exact-or-f1-v1");
        assert!(core.grades[0].f1.is_some());
    }
}
