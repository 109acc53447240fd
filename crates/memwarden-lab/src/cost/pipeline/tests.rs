//! What would make a cell's numbers plausible and wrong, each put back once: the traps of "The Price of Safety",
//! appendix D, and of the specification.

use super::*;
use crate::cost::conditions::condition;
use crate::cost::plan::Rates;
use crate::cost::stand_in::StandIn;
use crate::locomo::{LIGHTHOUSE, align, parse};
use memwarden::model::{Meter, Metered, Prices};
use memwarden_core::model::{Finish, ModelError, Reply};

/// The stand-in without errors, but with what a test does to its replies.
struct Doctored<F>(StandIn, F);

impl<F> std::fmt::Debug for Doctored<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Doctored")
    }
}

impl<F: Fn(&ChatCall<'_>, Reply) -> Reply + Send + Sync> Chat for Doctored<F> {
    fn model(&self) -> &str {
        "doctored"
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        let replies = self.0.chat(calls).into_iter().zip(calls);
        replies
            .map(|(reply, call)| reply.map(|reply| (self.1)(call, reply)))
            .collect()
    }
}

pub(in crate::cost) const NEVER: Rates = Rates {
    extract_miss: 0.0,
    extract_cut: 0.0,
    extract_garbled: 0.0,
    answer_slip: 0.0,
    answer_guess: 0.0,
    judge_slip: 0.0,
    anomaly_false: 0.0,
    rerank_false: 0.0,
};

fn metered(chat: impl Chat + 'static) -> Model {
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    Model::new(Metered::stand_in(Box::new(chat), meter).with_reply_retries(0))
}

fn cell_with(name: &str, model: Model, scratch: &Path) -> Result<CellResult, ExperimentError> {
    cell_replying(Replies::Text, name, model, scratch)
}

fn cell_replying(
    replies: Replies,
    name: &str,
    model: Model,
    scratch: &Path,
) -> Result<CellResult, ExperimentError> {
    let dialogue = align(&parse(LIGHTHOUSE).unwrap().remove(0), 30, 15);
    let condition = condition(name, replies).unwrap();
    let work = Work {
        condition: &condition,
        dialogue: &dialogue,
        namespace: "cell".parse().unwrap(),
        model,
        judge: Some(metered(StandIn::new(2, NEVER))),
        grading: Grading::Judge,
        replies,
        limits: Limits::default(),
        encoder: memwarden::built_in_encoder(),
    };
    run(&work, scratch)
}

fn cell(name: &str) -> CellResult {
    cell_doctored(name, |_, reply| reply)
}

fn cell_doctored(
    name: &str,
    doctor: impl Fn(&ChatCall<'_>, Reply) -> Reply + Send + Sync + 'static,
) -> CellResult {
    let scratch = tempfile::tempdir().unwrap();
    cell_with(
        name,
        metered(Doctored(StandIn::new(1, NEVER), doctor)),
        scratch.path(),
    )
    .unwrap()
}

/// Trap 1: extraction silently truncated by a token budget.
#[test]
fn a_reply_that_is_cut_off_is_counted_asked_for_again_and_stores_nothing() {
    let whole = cell("none");
    assert_eq!(
        (
            whole.extraction.turns,
            whole.extraction.replies,
            whole.extraction.parsed
        ),
        (30, 30, 30)
    );
    assert!(!whole.extraction.degraded && whole.stored > 15, "{whole:?}");
    // Half a reply that looks like a memory: what a pipeline that does not look at the finish reason would store.
    let cut = cell_doctored("none", |call, mut reply| {
        let is_late = call.messages[1].text.contains("Tobias: ");
        if call.purpose.as_str() == "extract" && is_late {
            reply.text = "- Tobias (spring): half a memo".to_owned();
            reply.finish = Finish::Length;
        }
        reply
    });
    assert!(cut.extraction.degraded);
    assert_eq!(cut.extraction.failed["truncated"], 2 * cut.extraction.lost_turns);
    assert_eq!(cut.extraction.replies, 30 + cut.extraction.lost_turns);
    assert!(cut.extraction.lost_turns >= 15 && cut.stored < whole.stored);
}

/// Trap 1 again: a limit that nobody wrote down cuts replies that nobody misses.
#[test]
fn every_call_carries_the_limit_of_its_purpose() {
    let seen: Arc<Mutex<BTreeSet<(String, u32)>>> = Arc::default();
    let heard = Arc::clone(&seen);
    cell_doctored("stacked", move |call, reply| {
        let limit = (call.purpose.to_string(), call.max_tokens.get());
        heard.lock().unwrap().insert(limit);
        reply
    });
    let of_stages = memwarden::guard::DEFAULT_MAX_TOKENS;
    let limits = Limits::default();
    let expected = [
        ("answer", limits.answer),
        ("defense:anomaly", of_stages),
        ("defense:rerank", of_stages),
        ("extract", limits.extract),
    ];
    let expected = expected.map(|(purpose, limit)| (purpose.to_owned(), limit));
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from(expected));
}

#[test]
fn a_reply_in_another_form_is_no_extraction_and_the_second_try_counts() {
    let tries = std::sync::atomic::AtomicU64::new(0);
    let garbled = cell_doctored("none", move |call, mut reply| {
        if call.purpose.as_str() == "extract" && tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0
        {
            reply.text = "Of course!\n- Mira moved".to_owned();
        }
        reply
    });
    assert_eq!(garbled.extraction.failed["unparsable"], 1);
    assert_eq!(
        (garbled.extraction.replies, garbled.extraction.lost_turns),
        (31, 0)
    );
    assert_eq!(garbled.stored, cell("none").stored);
}

#[test]
fn replies_in_json_are_asked_for_by_schema_and_read_strictly() {
    let doctor = |call: &ChatCall<'_>, mut reply: Reply| {
        let prompt = call.messages.last().unwrap().text.as_str();
        let asks_for_json = matches!(call.shape, ReplyShape::Json { .. });
        assert_eq!(
            asks_for_json,
            call.purpose.as_str() != "answer",
            "{}",
            call.purpose
        );
        reply.text = match call.purpose.as_str() {
            "extract" if prompt.contains("Who is Greta?") => "- Greta".to_owned(),
            "extract" if prompt.ends_with('?') => "{\"memory\": \"\"}".to_owned(),
            "extract" => serde_json::json!({"memory": prompt.lines().last()}).to_string(),
            "answer" => return reply,
            purpose => {
                let word = if purpose.ends_with("rerank") {
                    "keep"
                } else {
                    "consistent"
                };
                format!("{{\"verdict\": \"{word}\"}}")
            }
        };
        reply
    };
    let scratch = tempfile::tempdir().unwrap();
    let model = metered(Doctored(StandIn::new(1, NEVER), doctor));
    let result = cell_replying(Replies::Json, "stacked", model, scratch.path()).unwrap();
    // 30 turns: one is lost in two tries, some are questions and leave nothing.
    assert_eq!((result.extraction.replies, result.extraction.parsed), (31, 29));
    assert_eq!(
        (result.extraction.lost_turns, result.extraction.failed["schema"]),
        (1, 2)
    );
    assert!(
        result.extracted > 15 && result.extracted < 29,
        "{}",
        result.extracted
    );
    assert!(
        result
            .stages
            .iter()
            .all(|count| count.failed.is_empty() && count.kept_out == 0)
    );
    assert_eq!(result.void, None);
}

/// Trap 2: stages nested as wrappers, so that the reranker never runs in the stacked condition.
#[test]
fn every_stage_of_stacked_decides_about_something() {
    let stacked = cell("stacked");
    let decided: Vec<(&str, &str, bool)> = stacked
        .stages
        .iter()
        .map(|count| (count.stage.as_str(), count.phase.as_str(), count.adjudicated > 0))
        .collect();
    let all = [
        ("sanitize", "write", true),
        ("anomaly", "write", true),
        ("rerank", "read", true),
    ];
    assert_eq!(decided, all);
    assert_eq!(stacked.void, None);
    assert!(stacked.spent["defense:anomaly"].tokens() > 0 && stacked.spent["defense:rerank"].tokens() > 0);
    // Each pair of query and candidate is one adjudication, and nothing refills.
    let rerank = stacked.stages.last().unwrap();
    assert!(rerank.adjudicated <= 3 * stacked.questions.len() as u64);
    for asked in &stacked.questions {
        let withheld = stacked
            .kept_out
            .iter()
            .filter(|kept| kept.question == Some(asked.question));
        assert!(asked.shown.len() + withheld.count() <= 3);
    }
}

/// Trap 2 again: a stage that runs nowhere must not look like one that costs nothing.
#[test]
fn a_cell_whose_active_stage_decided_about_nothing_is_void() {
    let nothing = cell_doctored("anomaly", |call, mut reply| {
        if call.purpose.as_str() == "extract" {
            reply.text = "NONE".to_owned();
        }
        reply
    });
    assert_eq!(
        nothing.void.as_deref(),
        Some("stage `anomaly` decided about nothing at write")
    );
}

#[test]
fn the_backfilled_row_fills_the_places_of_what_is_withheld() {
    let no = |call: &ChatCall<'_>, mut reply: Reply| {
        // Withholds every memory of Tobias.
        let memory = call.messages.last().unwrap().text.rsplit_once("Memory: ");
        if call.purpose.as_str() == "defense:rerank" {
            let withheld = memory.is_some_and(|(_, memory)| memory.contains("Tobias ("));
            reply.text = if withheld { "withhold" } else { "keep" }.to_owned();
        }
        reply
    };
    let shown = |result: &CellResult| {
        result
            .questions
            .iter()
            .map(|asked| asked.shown.len())
            .sum::<usize>()
    };
    let (without, with) = (cell_doctored("rerank", no), cell_doctored("rerank+backfill", no));
    assert!(
        shown(&without) < shown(&with),
        "{} {}",
        shown(&without),
        shown(&with)
    );
    assert!(with.questions.iter().all(|asked| asked.shown.len() <= 3));
}

/// Trap 5: a duplicate price entry.
#[test]
fn a_price_table_with_two_entries_for_a_model_is_refused_with_both_lines() {
    let table = "date = \"2026-11-30\"\n[[price]]\nmodel = \"m\"\nprompt = 1.0\ncompletion = 2.0\n[[price]]\nmodel = \"m\"\nprompt = 5.0\ncompletion = 10.0\n";
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("prices.toml"), table).unwrap();
    let text = "name = \"t\"\nkind = \"benign-cost\"\nseed = 1\ndialogues = \"lighthouse\"\nconversations = [\"lighthouse\"]\n\
                conditions = [\"none\"]\nreplicates = 1\nmodel = \"simulated\"\njudge = \"simulated\"\nprices = \"prices.toml\"\n";
    let file =
        crate::experiment::ExperimentFile::parse(text.to_owned(), directory.path().to_owned()).unwrap();
    let error = crate::experiment::load(&file)
        .unwrap()
        .cells()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("line 3 and in line 7") && error.contains("`m`"),
        "{error}"
    );
}

/// Trap 6: a quarantine that leaks into the next cell through a shared store.
#[test]
fn a_cell_shares_nothing_with_the_one_before() {
    let alone = cell("none");
    // A cell that quarantines everything, then one of the baseline.
    let everything = cell_doctored("anomaly", |call, mut reply| {
        if call.purpose.as_str() == "defense:anomaly" {
            reply.text = "inconsistent".to_owned();
        }
        reply
    });
    assert_eq!(
        (everything.stored, everything.kept_out.len() as u64),
        (0, everything.extracted)
    );
    assert_eq!(cell("none"), alone);
    // And a directory that another cell has used is refused.
    let scratch = tempfile::tempdir().unwrap();
    let model = || metered(StandIn::new(1, NEVER));
    cell_with("none", model(), scratch.path()).unwrap();
    let error = cell_with("none", model(), scratch.path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("shares its store with no other"), "{error}");
}

#[test]
fn the_same_cell_gives_the_same_bytes() {
    let bytes = || serde_json::to_string(&cell("stacked")).unwrap();
    assert_eq!(bytes(), bytes());
}

#[test]
fn a_defense_that_reads_declarations_changes_no_order_where_all_declare_the_same() {
    let shown = |name: &str| -> Vec<Vec<u64>> {
        cell(name)
            .questions
            .into_iter()
            .map(|asked| asked.shown)
            .collect()
    };
    let none = shown("none");
    assert!(none.iter().any(|shown| shown.len() == CANDIDATES));
    assert_eq!(shown("provenance"), none);
    // It does weigh: what is the same is the trust.
    let weigh = |name: &str| memwarden::guard::Weigh::of(&condition(name, Replies::Text).unwrap().policy);
    assert_eq!(weigh("provenance"), memwarden::guard::Weigh::Declared);
    assert_eq!(weigh("none"), memwarden::guard::Weigh::Nothing);
}

#[test]
fn warden_asks_its_gate_before_each_answer_and_says_what_it_marked() {
    // One memory has a word of the block list, and one question gets no answer.
    let doctor = |call: &ChatCall<'_>, mut reply: Reply| {
        let prompt = call.messages.last().unwrap().text.as_str();
        match call.purpose.as_str() {
            "extract" if prompt.ends_with("Tobias: Who is Greta?") => {
                reply.text = "- We may skip the second check.".to_owned();
            }
            "answer" if prompt.ends_with("Question: Where did Mira move to?") => {
                reply.finish = Finish::Length
            }
            _ => {}
        }
        reply
    };
    let (warden, none) = (cell_doctored("warden", doctor), cell_doctored("none", doctor));
    let answered = warden
        .questions
        .iter()
        .filter(|asked| asked.answer.is_some())
        .count();
    assert_eq!(answered + 1, warden.questions.len());
    assert_eq!(
        warden.gate,
        Some(BTreeMap::from([("allow".to_owned(), answered as u64)]))
    );
    assert_eq!(none.gate, None);
    assert_eq!((warden.marked, none.marked), (1, 0));
    let missing = &warden.questions[0];
    assert_eq!(
        (missing.error.as_deref(), missing.grades.len()),
        (Some("truncated"), 0)
    );
}

#[test]
fn adversarial_answers_are_right_where_they_decline_and_core_ones_where_the_judge_says_so() {
    let none = cell("none");
    for asked in &none.questions {
        assert_eq!(asked.grades.len(), 1);
        let by_detector = asked.grades[0].grader.starts_with("abstain-");
        assert_eq!(by_detector, !asked.is_core(), "{asked:?}");
    }
    assert!(none.judge_spent.contains_key("judge") && !none.spent.contains_key("judge"));
}
