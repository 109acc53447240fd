//! The stages that ask a model: what a reply leads to, what a failing model leads to.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod common;

use common::{general, line, policy};
use memwarden_core::model::{Chat, ChatCall, Finish, ModelError, Reply};
use memwarden_core::{Policy, Verdict};
use memwarden_guard::{
    Candidate, Chats, EmptyStore, Guard, NoChats, Phase, Screening, StageError, StoreView, Writer,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Says the same to everything, and keeps what it was asked.
#[derive(Debug)]
struct Parrot {
    says: Result<&'static str, ModelError>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Chat for Parrot {
    fn model(&self) -> &str {
        "parrot"
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        let one = |call: &ChatCall<'_>| {
            let prompt: Vec<&str> = call
                .messages
                .iter()
                .map(|message| message.text.as_str())
                .collect();
            let line = format!("{} {}\n{}", call.purpose, call.max_tokens, prompt.join("\n"));
            self.asked.lock().unwrap().push(line);
            self.says.clone().map(|text| Reply {
                text: text.to_owned(),
                finish: Finish::Stop,
                usage: None,
                tokens: Vec::new(),
            })
        };
        calls.iter().map(one).collect()
    }
}

/// What a double was asked, in order.
type Asked = Arc<Mutex<Vec<String>>>;

fn parrot(says: Result<&'static str, ModelError>) -> (BTreeMap<String, Arc<dyn Chat>>, Asked) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let chat: Arc<dyn Chat> = Arc::new(Parrot {
        says,
        asked: Arc::clone(&asked),
    });
    (BTreeMap::from([("default".to_owned(), chat)]), asked)
}

/// A store with two entries in it, beside a dialogue.
struct Furnished {
    turns: Vec<String>,
}

impl StoreView for Furnished {
    fn reasoning_entries(&self, _: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }

    fn receipt_backed_entries(&self, _: Option<&str>) -> Result<u64, StageError> {
        Ok(0)
    }

    fn nearest(&self, _: &str, limit: usize) -> Result<Vec<String>, StageError> {
        let stored = ["Ana keeps a canary.", "Ben plays the cello."];
        Ok(stored.iter().take(limit).map(|text| (*text).to_owned()).collect())
    }

    fn turns(&self) -> &[String] {
        &self.turns
    }
}

fn anomaly() -> Policy {
    policy("name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[verdict]\nanomaly = \"quarantine\"\n")
}

fn rerank(settings: &str) -> Policy {
    policy(&format!(
        "name = \"p\"\n[read]\nstages = [\"rerank\"]\n[stage.rerank]\nmodel = \"default\"\n{settings}\n[verdict]\nrerank = \"quarantine\"\n"
    ))
}

fn written(policy: &Policy, chats: &dyn Chats, writer: Writer) -> Screening {
    let entry = general("Ana sold the canary.", None);
    let candidate = Candidate {
        entry: &entry,
        inherited: None,
    };
    let store = Furnished {
        turns: vec!["Ben: How is the bird?".to_owned(), "Ana: I sold it.".to_owned()],
    };
    Guard::new().screen_with(policy, Phase::Write, &candidate, &store, writer, chats)
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn truncated() -> ModelError {
    ModelError::Truncated {
        model: "parrot".to_owned(),
        max_tokens: 128,
    }
}

fn unreachable() -> ModelError {
    ModelError::Unreachable {
        model: "parrot".to_owned(),
        reason: "nobody is there".to_owned(),
    }
}

#[test]
fn the_model_sees_the_turn_what_came_before_and_what_is_stored_and_its_word_decides() {
    let (chats, asked) = parrot(Ok("Inconsistent.\nThe bird is still there."));
    let screening = written(&anomaly(), &chats, Writer::Untrusted);
    assert_eq!(screening.verdict, Verdict::Quarantine);
    assert_eq!(screening.ran.len(), 1);
    let asked = asked.lock().unwrap();
    for part in [
        "defense:anomaly 128\n",
        "- \"Ben: How is the bird?\"\n",
        "Last turn: \"Ana: I sold it.\"\n",
        "- \"Ana keeps a canary.\"\n",
        "Entry: \"Ana sold the canary.\"\n",
    ] {
        assert!(asked[0].contains(part), "{part} is not in {}", asked[0]);
    }
    let (chats, _) = parrot(Ok("consistent"));
    assert_eq!(
        written(&anomaly(), &chats, Writer::Untrusted).verdict,
        Verdict::Admit
    );
}

#[test]
fn a_reply_that_is_no_verdict_is_an_error_with_a_name_and_the_policy_decides() {
    for (says, rule) in [
        (Ok("I think it is consistent"), "failed-unparsable"),
        (Ok("consistent or inconsistent"), "failed-unparsable"),
        (Err(truncated()), "failed-truncated"),
    ] {
        let (chats, _) = parrot(says);
        let closed = written(&anomaly(), &chats, Writer::Untrusted);
        assert_eq!(closed.verdict, Verdict::Quarantine, "{}", line(&closed));
        assert_eq!(closed.findings[0].rule, rule);
        assert_eq!(closed.ran[0].failed.as_deref(), Some(rule));
        // A trusted writer's entry passes, with the finding.
        assert_eq!(
            written(&anomaly(), &chats, Writer::Trusted).verdict,
            Verdict::Annotate
        );
    }
}

#[test]
fn a_model_that_nobody_configured_is_no_silent_admission() {
    let screening = written(&anomaly(), &NoChats, Writer::Untrusted);
    assert_eq!(screening.verdict, Verdict::Quarantine);
    assert!(
        screening.findings[0]
            .reason
            .contains("the policy asks model `default`, and none of this name is configured")
    );
    let open = policy("name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[stage.anomaly]\nfail = \"open\"\n");
    let screening = written(&open, &NoChats, Writer::Untrusted);
    assert_eq!(
        (screening.verdict, screening.findings.len()),
        (Verdict::Annotate, 1)
    );
}

#[test]
fn each_pair_of_query_and_candidate_is_one_judgment() {
    let (chats, asked) = parrot(Ok("withhold"));
    let judged = Guard::new().rerank(
        &rerank(""),
        "Who sings?",
        &texts(&["one", "two", "three"]),
        &texts(&["four"]),
        &chats,
    );
    assert!(judged.iter().all(|judged| judged.asked == Verdict::Quarantine));
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 3);
    assert!(asked[1].contains(
        "Question: \"Who sings?\"\nOther memories:\n- \"one\"\n- \"three\"\n- \"four\"\nMemory: \"two\"\n"
    ));
}

#[test]
fn a_bad_reply_withholds_its_candidate_but_a_lost_model_follows_the_policy() {
    let guard = Guard::new();
    let asked = |policy: &Policy, says| {
        let judged = guard.rerank(policy, "q", &texts(&["one"]), &[], &parrot(says).0);
        (judged[0].asked, judged[0].failed.clone().unwrap())
    };
    let open = rerank("fail = \"open\"");
    assert_eq!(
        asked(&open, Err(truncated())),
        (Verdict::Quarantine, "failed-truncated".to_owned())
    );
    assert_eq!(
        asked(&open, Ok("perhaps")),
        (Verdict::Quarantine, "failed-unparsable".to_owned())
    );
    assert_eq!(
        asked(&open, Err(unreachable())),
        (Verdict::Annotate, "failed".to_owned())
    );
    let refused = |status| ModelError::Upstream {
        model: "parrot".to_owned(),
        status,
        reason: "no".to_owned(),
    };
    // A key that is not valid is nobody's text; a text that is too large is.
    assert_eq!(
        asked(&open, Err(refused(401))),
        (Verdict::Annotate, "failed".to_owned())
    );
    assert_eq!(
        asked(&open, Err(refused(413))),
        (Verdict::Quarantine, "failed-upstream".to_owned())
    );
    let closed = rerank("fail = \"closed\"");
    assert_eq!(
        asked(&closed, Err(unreachable())),
        (Verdict::Quarantine, "failed".to_owned())
    );
}

#[test]
fn a_verdict_in_json_is_the_object_that_was_asked_for_and_nothing_else() {
    let policy = rerank("reply = \"json\"");
    let asked = |says| Guard::new().rerank(&policy, "q", &texts(&["one"]), &[], &parrot(Ok(says)).0)[0].asked;
    for keep in ["{\"verdict\": \"keep\"}", "\n{ \"verdict\":\"keep\" }\n"] {
        assert_eq!(asked(keep), Verdict::Admit, "{keep}");
    }
    for no in [
        "keep",
        "{\"verdict\": \"ke ep\"}",
        "{\"verdict\": \"keep\", \"verdict\": \"withhold\"}",
        "{\"verdict\": \"keep\"} no",
        "{\"verdict\": \"withhold\"}",
    ] {
        assert_eq!(asked(no), Verdict::Quarantine, "{no}");
    }
}

#[test]
fn a_policy_that_does_not_run_the_stage_withholds_nothing() {
    let judged = Guard::new().rerank(&policy("name = \"p\"\n"), "q", &texts(&["one"]), &[], &NoChats);
    assert_eq!(judged[0].asked, Verdict::Admit);
    let screening = Guard::new().screen(
        &rerank(""),
        Phase::Read,
        &Candidate {
            entry: &general("text", None),
            inherited: None,
        },
        &EmptyStore,
        Writer::Untrusted,
    );
    assert!(screening.ran.is_empty());
}

#[test]
fn settings_are_refused_where_they_make_no_sense() {
    let refused = |text: &str| memwarden_guard::parse(text).unwrap_err().to_string();
    for (text, part) in [
        (
            "name = \"p\"\n[read]\nstages = [\"anomaly\"]\n",
            "line 3: key `read.stages` is `anomaly`: expected `anomaly` in `write.stages`, the only place where it runs",
        ),
        (
            "name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[stage.anomaly]\nbackfill = true\n",
            "expected fail, model, max_tokens or reply",
        ),
        (
            "name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[stage.anomaly]\nmax_tokens = 100001\n",
            "expected a whole number from 1 to 100000",
        ),
        (
            "name = \"p\"\n[read]\nstages = [\"rerank\"]\n[stage.rerank]\nbackfill = \"no\"\n",
            "expected true or false",
        ),
    ] {
        assert!(refused(text).contains(part), "{}", refused(text));
    }
}

/// Answers what fits its window, as the small models do that run on a machine of one's own.
#[derive(Debug)]
struct Narrow {
    window: usize,
}

impl Chat for Narrow {
    fn model(&self) -> &str {
        "narrow"
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        let one = |call: &ChatCall<'_>| {
            let length: usize = call.messages.iter().map(|message| message.text.len()).sum();
            if length > self.window {
                return Err(ModelError::Call {
                    model: "narrow".to_owned(),
                    reason: format!("{length} bytes do not fit"),
                });
            }
            Ok(Reply {
                text: "keep".to_owned(),
                finish: Finish::Stop,
                usage: None,
                tokens: Vec::new(),
            })
        };
        calls.iter().map(one).collect()
    }
}

fn narrow(window: usize) -> BTreeMap<String, Arc<dyn Chat>> {
    BTreeMap::from([("default".to_owned(), Arc::new(Narrow { window }) as Arc<dyn Chat>)])
}

#[test]
fn one_long_candidate_is_withheld_alone_and_the_others_are_judged() {
    let policy = rerank("fail = \"open\"");
    // The first is more than is judged at all, the second more than fits this model's window.
    for long in ["x".repeat(100_000), "y".repeat(12_000)] {
        let candidates = [long, "two".to_owned(), "three".to_owned()];
        let judged = Guard::new().rerank(&policy, "q", &candidates, &[], &narrow(8_000));
        let asked: Vec<Verdict> = judged.iter().map(|judged| judged.asked).collect();
        assert_eq!(asked, [Verdict::Quarantine, Verdict::Admit, Verdict::Admit]);
        assert_eq!(judged[1].failed, None);
    }
    // Alone, it is no failure of the stage as a whole either: `fail` does not let it pass.
    let alone = Guard::new().rerank(&policy, "q", &["y".repeat(12_000)], &[], &narrow(8_000));
    assert_eq!(alone[0].asked, Verdict::Quarantine);
    assert_eq!(alone[0].failed.as_deref(), Some("failed-call"));
}

#[test]
fn what_is_shown_beside_is_cut_between_characters_and_says_so() {
    let (chats, asked) = parrot(Ok("keep"));
    let long = "ä".repeat(5_000);
    let _ = Guard::new().rerank(
        &rerank(""),
        &long,
        &texts(&["one"]),
        std::slice::from_ref(&long),
        &chats,
    );
    let asked = asked.lock().unwrap();
    let cut = format!("\"{}…\"\n", "ä".repeat(512));
    assert!(asked[0].contains(&format!("Question: {cut}")) && asked[0].contains(&format!("- {cut}")));
}

#[test]
fn a_stage_in_a_phase_where_it_cannot_run_has_failed() {
    let mut wrong = rerank("fail = \"closed\"");
    wrong.write = vec!["rerank".to_owned()];
    let (chats, asked) = parrot(Ok("keep"));
    let screening = written(&wrong, &chats, Writer::Trusted);
    assert_eq!(screening.verdict, Verdict::Quarantine);
    assert!(
        screening.findings[0]
            .reason
            .contains("`rerank` runs at read only"),
        "{}",
        line(&screening)
    );
    let mut wrong = anomaly();
    wrong.read = vec!["anomaly".to_owned()];
    let candidate = Candidate {
        entry: &general("text", None),
        inherited: None,
    };
    let screening = Guard::new().screen_with(
        &wrong,
        Phase::Read,
        &candidate,
        &EmptyStore,
        Writer::Trusted,
        &chats,
    );
    assert!(
        screening.findings[0]
            .reason
            .contains("`anomaly` runs at write only")
    );
    assert!(asked.lock().unwrap().is_empty());
}
