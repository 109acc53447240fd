//! Stages that ask a model, through the store: what they are shown, what they withhold, who hears of it.

use crate::fixture::{Fixture, ns};
use memwarden::core::model::{Chat, ChatCall, Finish, ModelError, Reply};
use memwarden::guard::Phase;
use memwarden::{
    Adjudication, Entry, Handle, Options, Query, Role, Status, Tap, Verdict, Warden, WriteOptions,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Fires on every text in which its word stands in the last line; keeps what it was asked.
#[derive(Debug)]
struct Watchful {
    word: &'static str,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Chat for Watchful {
    fn model(&self) -> &str {
        "watchful"
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        let one = |call: &ChatCall<'_>| {
            let prompt = call.messages.last().unwrap().text.clone();
            let fires = prompt.trim_end().lines().last().unwrap().contains(self.word);
            let text = match (call.purpose.as_str(), fires) {
                ("defense:anomaly", true) => "inconsistent",
                ("defense:anomaly", false) => "consistent",
                (_, true) => "withhold",
                (_, false) => "keep",
            };
            self.asked.lock().unwrap().push(prompt);
            Ok(Reply {
                text: text.to_owned(),
                finish: Finish::Stop,
                usage: None,
                tokens: Vec::new(),
            })
        };
        calls.iter().map(one).collect()
    }
}

struct Scene {
    _fixture: Fixture,
    agent: Handle,
    asked: Arc<Mutex<Vec<String>>>,
    told: Arc<Mutex<Vec<Adjudication>>>,
}

fn scene(policy: &str, word: &'static str) -> Scene {
    let fixture = Fixture::new("off");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let told: Arc<Mutex<Vec<Adjudication>>> = Arc::default();
    let chat: Arc<dyn Chat> = Arc::new(Watchful {
        word,
        asked: Arc::clone(&asked),
    });
    let heard = Arc::clone(&told);
    let options = Options {
        chats: BTreeMap::from([("default".to_owned(), chat)]),
        tap: Some(Tap(Arc::new(move |adjudication| {
            heard.lock().unwrap().push(adjudication.clone());
        }))),
        ..fixture.options()
    };
    let warden = Warden::open_with(&fixture.places, &options).unwrap();
    let owner = fixture.handle(&warden, Role::Owner);
    let policy = memwarden::guard::parse(policy).unwrap();
    owner.load_policy(&policy).unwrap();
    let agent = fixture.handle(&warden, Role::Agent);
    Scene {
        _fixture: fixture,
        agent,
        asked,
        told,
    }
}

fn rerank(settings: &str) -> String {
    format!(
        "name = \"p\"\norigin = \"off\"\n[read]\nstages = [\"rerank\"]\n[stage.rerank]\nmodel = \"default\"\n{settings}\n\
         [verdict]\nrerank = \"quarantine\"\n"
    )
}

const TEXTS: [&str; 6] = [
    "the crane of harbor one is red",
    "the crane of harbor two is broken",
    "the crane of harbor three is blue",
    "the crane of harbor four is broken",
    "the crane of harbor five is green",
    "the crane of harbor six is white",
];

fn filled(settings: &str) -> Scene {
    let scene = scene(&rerank(settings), "broken");
    for text in TEXTS {
        scene.agent.remember(&ns("a"), Entry::new(text)).unwrap();
    }
    scene
}

fn served(scene: &Scene, k: usize) -> (Vec<String>, u64) {
    let query = Query {
        k,
        ..Query::new("crane harbor")
    };
    let recalled = scene.agent.recall(&ns("a"), &query).unwrap();
    let texts = recalled.hits.iter().map(|hit| hit.record.entry.content.clone());
    (
        texts.collect(),
        recalled.withheld.get("rerank").copied().unwrap_or_default(),
    )
}

#[test]
fn what_is_withheld_leaves_its_place_empty_or_makes_room_as_the_policy_says() {
    let (texts, withheld) = served(&filled("backfill = false"), 6);
    assert_eq!((texts.len(), withheld), (4, 2));
    let scene = filled("backfill = false");
    let (few, _) = served(&scene, 3);
    let asked = scene.asked.lock().unwrap().len();
    assert!(few.len() < 3 && asked == 3, "{few:?} {asked}");
    let scene = filled("backfill = true");
    let (full, withheld) = served(&scene, 3);
    assert_eq!(full.len(), 3);
    assert!(full.iter().all(|text| !text.contains("broken")) && withheld >= 1);
    // Nothing is judged twice.
    let asked = scene.asked.lock().unwrap().clone();
    let mut memories: Vec<&str> = asked
        .iter()
        .map(|prompt| prompt.rsplit_once("Memory: ").unwrap().1)
        .collect();
    memories.sort_unstable();
    memories.dedup();
    assert_eq!(memories.len(), asked.len());
}

#[test]
fn what_is_withheld_stays_active_and_is_served_to_a_query_that_it_fits() {
    let scene = filled("");
    served(&scene, 6);
    let active = scene.agent.list(&ns("a"), Status::Active).unwrap();
    assert_eq!(active.len(), TEXTS.len());
}

#[test]
fn anomaly_is_shown_the_turns_and_what_is_stored_nearest() {
    let policy = "name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[verdict]\nanomaly = \"quarantine\"\n";
    let scene = scene(policy, "bribed");
    scene
        .agent
        .remember(&ns("a"), Entry::new("the pilot of the ferry is Anna"))
        .unwrap();
    scene
        .agent
        .remember(&ns("b"), Entry::new("the pilot of the ferry is a secret of b"))
        .unwrap();
    let options = WriteOptions {
        turns: vec!["Ben: Who?".to_owned(), "Eve: the pilot again".to_owned()],
        ..WriteOptions::default()
    };
    let kept = scene
        .agent
        .remember_with(
            &ns("a"),
            Entry::new("the pilot of the ferry was bribed"),
            &options,
        )
        .unwrap();
    assert_eq!(
        (kept.verdict, kept.status),
        (Verdict::Quarantine, Status::Quarantined)
    );
    let asked = scene.asked.lock().unwrap();
    let last = asked.last().unwrap();
    assert!(last.contains("Last turn: \"Eve: the pilot again\"") && last.contains("- \"Ben: Who?\""));
    assert!(last.contains("- \"the pilot of the ferry is Anna\""), "{last}");
    assert!(
        !last.contains("secret of b"),
        "another namespace is shown: {last}"
    );
    // What was kept out is not shown to later judgments either.
    drop(asked);
    scene
        .agent
        .remember(&ns("a"), Entry::new("the pilot of the ferry is well"))
        .unwrap();
    assert!(!scene.asked.lock().unwrap().last().unwrap().contains("bribed"));
}

#[test]
fn whoever_measures_hears_of_each_judgment_once() {
    let scene = filled("backfill = false");
    scene.told.lock().unwrap().clear();
    served(&scene, 3);
    let told = scene.told.lock().unwrap();
    assert_eq!(told.len(), 3);
    assert!(
        told.iter()
            .all(|one| one.phase == Phase::Read && one.ran.stage == memwarden::guard::Stage::Rerank)
    );
    let out = told
        .iter()
        .filter(|one| one.ran.asked == Verdict::Quarantine)
        .count();
    assert_eq!(out, 1);
}

#[test]
fn a_store_whose_policy_asks_a_model_that_is_not_there_keeps_untrusted_writes_out() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let policy = "name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[verdict]\nanomaly = \"quarantine\"\n";
    owner
        .load_policy(&memwarden::guard::parse(policy).unwrap())
        .unwrap();
    let kept = fixture
        .handle(&warden, Role::Agent)
        .remember(&ns("a"), Entry::new("text"))
        .unwrap();
    assert_eq!(kept.status, Status::Quarantined);
    assert!(
        kept.findings[0]
            .reason
            .contains("none of this name is configured")
    );
}

#[test]
fn declared_sources_weigh_only_where_the_policy_says_so() {
    let order = |weigh: &str| {
        let policy = format!(
            "name = \"p\"\norigin = \"off\"\n[read]\nstages = [\"provenance\"]\n[stage.provenance]\nweigh = \"{weigh}\"\n"
        );
        let scene = scene(&policy, "-");
        for (source, text) in [
            ("tool", "crane crane harbor of the tool"),
            ("user", "crane harbor of the user today"),
        ] {
            let mut entry = Entry::new(text);
            entry.source = Some(source.to_owned());
            scene.agent.remember(&ns("a"), entry).unwrap();
        }
        served(&scene, 2).0[0].clone()
    };
    assert!(order("nothing").contains("tool"));
    assert!(order("declared").contains("user"));
}
