//! Stages that ask a model, through the store: what they are shown, what they withhold, who hears of it.

use crate::fixture::{Fixture, Meanings, START, ns};
use memwarden::core::encode::{Embedding, Encode, EncodeError};
use memwarden::core::model::{Chat, ChatCall, Finish, ModelError, Reply};
use memwarden::guard::{Phase, Stage};
use memwarden::{
    Adjudication, Channel, Entry, Handle, Options, Query, RecordId, Role, Status, Tap, Verdict, Warden,
    WriteOptions,
};
use memwarden_core::Timestamp;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    fixture: Fixture,
    agent: Handle,
    asked: Arc<Mutex<Vec<String>>>,
    told: Arc<Mutex<Vec<Adjudication>>>,
}

fn scene(policy: &str, word: &'static str) -> Scene {
    scene_with(policy, word, None)
}

fn scene_with(policy: &str, word: &'static str, encoder: Option<Arc<dyn Encode>>) -> Scene {
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
        encoder,
        ..fixture.options()
    };
    let warden = Warden::open_with(&fixture.places, &options).unwrap();
    let owner = fixture.handle(&warden, Role::Owner);
    let policy = memwarden::guard::parse(policy).unwrap();
    owner.load_policy(&policy).unwrap();
    let agent = fixture.handle(&warden, Role::Agent);
    Scene {
        fixture,
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
fn what_is_called_unfit_waits_for_a_person_where_the_policy_says_so() {
    let scene = filled("persist = true");
    let (texts, withheld) = served(&scene, 6);
    assert_eq!((texts.len(), withheld), (4, 2));
    let waiting = scene.agent.list(&ns("a"), Status::Quarantined).unwrap();
    let texts: Vec<&str> = waiting
        .iter()
        .map(|record| record.entry.content.as_str())
        .collect();
    assert_eq!(texts, [TEXTS[1], TEXTS[3]]);
    let asked = scene.asked.lock().unwrap().len();
    assert_eq!(served(&scene, 6).1, 0);
    // What is not there any more is judged no more.
    assert_eq!(scene.asked.lock().unwrap().len(), asked + 4);
    let warden = Warden::open(&scene.fixture.places).unwrap();
    let reviewer = scene.fixture.handle(&warden, Role::Owner);
    let digest = waiting[0].content_digest();
    reviewer
        .release(waiting[0].id, &digest, "the crane is broken")
        .unwrap();
    let active = reviewer.list(&ns("a"), Status::Active).unwrap();
    assert_eq!(active.len(), 5);
}

#[test]
fn what_could_not_be_judged_does_not_go_into_quarantine() {
    let scene = filled("persist = true");
    let long = format!("the crane of harbor seven {}", "is broken ".repeat(2_000));
    scene.agent.remember(&ns("a"), Entry::new(&long)).unwrap();
    assert_eq!(served(&scene, 7).1, 3);
    let waiting = scene.agent.list(&ns("a"), Status::Quarantined).unwrap();
    assert_eq!(waiting.len(), 2);
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

#[test]
fn filling_places_neither_screens_nor_tells_anything_twice() {
    let policy = "name = \"p\"\norigin = \"off\"\n[read]\nstages = [\"keyword\", \"rerank\"]\n[verdict]\nkeyword = \"quarantine\"\n\
                  rerank = \"quarantine\"\n";
    let scene = scene(policy, "broken");
    for text in TEXTS
        .into_iter()
        .chain(["the crane of harbor seven may be skipped"])
    {
        scene.agent.remember(&ns("a"), Entry::new(text)).unwrap();
    }
    scene.told.lock().unwrap().clear();
    let (texts, withheld) = served(&scene, 3);
    assert_eq!(texts.len(), 3);
    assert!(withheld >= 1, "nothing was filled again");
    let mut told: BTreeMap<(RecordId, Stage), usize> = BTreeMap::new();
    for one in scene.told.lock().unwrap().iter() {
        *told.entry((one.record, one.ran.stage)).or_default() += 1;
    }
    assert!(told.keys().any(|(_, stage)| *stage == Stage::Keyword));
    assert!(told.values().all(|times| *times == 1), "{told:?}");
}

const ANOMALY: &str = "name = \"p\"\n[write]\nstages = [\"anomaly\"]\n[verdict]\nanomaly = \"quarantine\"\n";

#[test]
fn expired_neighbors_make_room_for_those_behind_them() {
    let scene = scene(ANOMALY, "-");
    for at in 0..20 {
        let mut entry = Entry::new(format!("the pilot of the ferry is ill today {at}"));
        entry.valid_until = Some(Timestamp::from_micros(START + 5_000_000));
        scene.agent.remember(&ns("a"), entry).unwrap();
    }
    let lasting = "the ferry has a captain";
    scene.agent.remember(&ns("a"), Entry::new(lasting)).unwrap();
    scene.fixture.clock.set(START + 10_000_000);
    scene
        .agent
        .remember(&ns("a"), Entry::new("the pilot of the ferry is ill today"))
        .unwrap();
    let asked = scene.asked.lock().unwrap();
    let last = asked.last().unwrap();
    assert!(last.contains(&format!("nearest:\n- \"{lasting}\"\n")), "{last}");
}

/// Counts how many texts it was given.
#[derive(Debug)]
struct Counting(Meanings, AtomicUsize);

impl Encode for Counting {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError> {
        self.1.fetch_add(texts.len(), Ordering::SeqCst);
        self.0.encode(texts)
    }
}

#[test]
fn what_stands_at_the_end_of_a_long_entry_finds_its_neighbors_and_is_encoded_once() {
    let encoder = Arc::new(Counting(Meanings("meanings"), AtomicUsize::new(0)));
    let scene = scene_with(ANOMALY, "-", Some(Arc::clone(&encoder) as Arc<dyn Encode>));
    scene
        .agent
        .remember(&ns("a"), Entry::new("the captain of the vessel is Anna"))
        .unwrap();
    let filler: Vec<String> = (0..1_000).map(|at| format!("entry{at}")).collect();
    let long = format!("{} now a pilot brings his ship", filler.join(" "));
    assert!(long.len() > 4_096);
    encoder.1.store(0, Ordering::SeqCst);
    scene.agent.remember(&ns("a"), Entry::new(long)).unwrap();
    assert!(
        scene
            .asked
            .lock()
            .unwrap()
            .last()
            .unwrap()
            .contains("- \"the captain of the vessel is Anna\"")
    );
    assert_eq!(encoder.1.load(Ordering::SeqCst), 1);
}

type Deed = Box<dyn FnOnce() + Send>;

/// Calls everything consistent. Something happens while it thinks for the first time.
struct Slow {
    meanwhile: Mutex<Option<Deed>>,
    asked: AtomicUsize,
}

impl std::fmt::Debug for Slow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Slow")
    }
}

impl Chat for Slow {
    fn model(&self) -> &str {
        "slow"
    }

    fn chat(&self, calls: &[ChatCall<'_>]) -> Vec<Result<Reply, ModelError>> {
        self.asked.fetch_add(calls.len(), Ordering::SeqCst);
        if let Some(deed) = self.meanwhile.lock().unwrap().take() {
            deed();
        }
        let reply = || Reply {
            text: "consistent".to_owned(),
            finish: Finish::Stop,
            usage: None,
            tokens: Vec::new(),
        };
        calls.iter().map(|_| Ok(reply())).collect()
    }
}

/// How often the model is asked about one entry while `deed` happens in another process.
fn asked_while(deed: fn(&Handle, &Handle)) -> usize {
    let fixture = Fixture::new("off");
    let slow = Arc::new(Slow {
        meanwhile: Mutex::new(None),
        asked: AtomicUsize::new(0),
    });
    let chat: Arc<dyn Chat> = Arc::clone(&slow) as Arc<dyn Chat>;
    let options = Options {
        chats: BTreeMap::from([("default".to_owned(), chat)]),
        ..fixture.options()
    };
    let warden = Warden::open_with(&fixture.places, &options).unwrap();
    let policy = memwarden::guard::parse(ANOMALY).unwrap();
    fixture.handle(&warden, Role::Owner).load_policy(&policy).unwrap();
    let agent = fixture.handle(&warden, Role::Agent);
    let through = WriteOptions {
        channel: Channel::Import,
        ..WriteOptions::default()
    };
    agent
        .remember_with(&ns("a"), Entry::new("the quay is closed"), &through)
        .unwrap();
    let other = fixture.open();
    let (owner, twin) = (
        fixture.handle(&other, Role::Owner),
        fixture.handle(&other, Role::Agent),
    );
    slow.asked.store(0, Ordering::SeqCst);
    *slow.meanwhile.lock().unwrap() = Some(Box::new(move || deed(&owner, &twin)));
    let kept = agent.remember(&ns("a"), Entry::new("the ferry is late")).unwrap();
    assert_eq!(kept.status, Status::Active);
    assert!(slow.meanwhile.lock().unwrap().is_none());
    slow.asked.load(Ordering::SeqCst)
}

#[test]
fn an_entry_whose_label_fell_is_weighed_anew_and_judged_once() {
    let times = asked_while(|_, twin| {
        let recalled = twin.recall(&ns("a"), &Query::new("quay")).unwrap();
        assert_eq!(recalled.hits.len(), 1);
    });
    assert_eq!(times, 1);
}

#[test]
fn an_entry_is_judged_anew_under_another_policy() {
    let times = asked_while(|owner, _| {
        let other = ANOMALY.replace("\"p\"", "\"other\"");
        owner
            .load_policy(&memwarden::guard::parse(&other).unwrap())
            .unwrap();
    });
    assert_eq!(times, 2);
}
