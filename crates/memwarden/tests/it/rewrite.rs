//! A cleaned text takes the place of the one that came, which stays beside it out of sight.

use crate::fixture::{Fixture, keep, ns, recall};
use crate::purge::files_with;
use memwarden::core::LeafKind;
use memwarden::core::log::Refusal;
use memwarden::{
    Authority, Depth, Entry, Handle, Query, Remembered, Role, Status, Verdict, Warden, WardenError,
    WriteOptions,
};
use std::sync::Arc;

const POLICY: &str = "name = \"clean\"\n[write]\nstages = [\"sanitize\", \"keyword\"]\n\
    [verdict]\nsanitize = \"rewrite\"\nkeyword = \"reject\"\n";
/// With tag characters between the words, which no person sees.
const HIDING: &str = "the harbor\u{e0066}\u{e006f}\u{e006f} opens at da\u{200b}wn";
const CLEAN: &str = "the harbor opens at dawn";

struct Scene {
    fixture: Fixture,
    warden: Arc<Warden>,
    agent: Handle,
    owner: Handle,
}

fn scene(more: &str) -> Scene {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let policy = memwarden::guard::parse(&format!("{POLICY}{more}")).unwrap();
    owner.load_policy(&policy).unwrap();
    let agent = fixture.handle(&warden, Role::Agent);
    Scene {
        fixture,
        warden,
        agent,
        owner,
    }
}

fn rewritten(by: &Handle) -> Remembered {
    let written = by.remember(&ns("a"), Entry::new(HIDING)).unwrap();
    assert_eq!(
        (written.verdict, written.status),
        (Verdict::Rewrite, Status::Active)
    );
    assert_eq!(written.stage.as_deref(), Some("sanitize"));
    written
}

#[test]
fn the_cleaned_text_is_served_and_the_original_never() {
    let scene = scene("");
    let written = rewritten(&scene.agent);
    for words in ["harbor", "dawn", "foo", HIDING] {
        let query = Query {
            k: 100,
            ..Query::new(words)
        };
        let recalled = scene.agent.recall(&ns("a"), &query).unwrap();
        assert!(recalled.hits.iter().all(|hit| hit.record.id == written.id));
        assert!(recalled.block.is_ascii(), "{}", recalled.block);
    }
    assert_eq!(recall(&scene.agent, "a", "harbor").unwrap(), [CLEAN]);
    let status = scene.agent.status().unwrap();
    let count = |status_of| status.namespaces[0].count(status_of);
    assert_eq!((count(Status::Active), count(Status::Quarantined)), (1, 1));
}

#[test]
fn the_original_waits_for_review_as_it_came() {
    let scene = scene("");
    let written = rewritten(&scene.agent);
    let listed = scene.owner.list(&ns("a"), Status::Quarantined).unwrap();
    assert_eq!(listed.len(), 1);
    let (original, cleaned) = (&listed[0], scene.owner.inspect(written.id).unwrap());
    assert_eq!(Some(original.id), written.original);
    assert_eq!(
        (original.entry.content.as_str(), original.verdict),
        (HIDING, Verdict::Quarantine)
    );
    assert_eq!(
        (cleaned.entry.content.as_str(), cleaned.verdict),
        (CLEAN, Verdict::Rewrite)
    );
    assert_eq!(cleaned.entry.parents, [original.id]);
    assert!(original.findings.iter().any(|finding| finding.span.is_some()));
    assert!(!cleaned.findings.is_empty());
    assert!(
        cleaned.findings.iter().all(|finding| finding.span.is_none()),
        "spans of another text"
    );
}

#[test]
fn both_are_in_the_log_of_one_commit_each_with_its_history() {
    let scene = scene("");
    let before = scene.agent.status().unwrap().entries;
    let written = rewritten(&scene.agent);
    let (original, cleaned) = (
        scene.agent.history(written.original.unwrap()).unwrap(),
        scene.agent.history(written.id).unwrap(),
    );
    assert_eq!((original.len(), cleaned.len()), (1, 1));
    assert_eq!(
        (original[0].kind, original[0].status),
        (LeafKind::Write, Status::Quarantined)
    );
    assert_eq!(
        (cleaned[0].kind, cleaned[0].status),
        (LeafKind::Write, Status::Active)
    );
    assert_eq!((original[0].position, cleaned[0].position), (before, before + 1));
    assert_eq!(written.position, cleaned[0].position);
    drop((scene.agent, scene.owner, scene.warden));
    let warden = scene.fixture.open();
    let agent = scene.fixture.handle(&warden, Role::Agent);
    assert_eq!(recall(&agent, "a", "harbor").unwrap(), [CLEAN]);
    assert!(agent.verify(Depth::Deep, None).unwrap().is_intact());
}

#[test]
fn cleaning_neither_raises_nor_lowers_authority() {
    let scene = scene("");
    for (by, class) in [(&scene.agent, Authority::Inform), (&scene.owner, Authority::Act)] {
        let written = by.remember(&ns("b"), Entry::new(HIDING)).unwrap();
        assert_eq!(written.written, class);
        for record in [written.id, written.original.unwrap()] {
            assert_eq!(by.inspect(record).unwrap().written, class);
        }
    }
    let weak = keep(&scene.agent, "b", "a remark");
    let mut derived = Entry::new(HIDING);
    derived.parents = vec![weak];
    let written = scene.owner.remember(&ns("b"), derived).unwrap();
    assert_eq!(
        written.written,
        Authority::Inform,
        "no stronger than what the original was derived from"
    );
    let original = scene.owner.inspect(written.original.unwrap()).unwrap();
    assert_eq!(original.entry.parents, [weak]);
}

#[test]
fn nothing_else_may_derive_from_the_original() {
    let scene = scene("");
    let written = rewritten(&scene.agent);
    let mut derived = Entry::new("derived from what is out of sight");
    derived.parents = vec![written.original.unwrap()];
    for text in ["derived from what is out of sight", HIDING] {
        derived.content = text.to_owned();
        let error = scene.agent.remember(&ns("a"), derived.clone()).unwrap_err();
        assert!(
            matches!(
                error,
                WardenError::Refused(Refusal::WrongStatus {
                    expected: "an active parent",
                    ..
                })
            ),
            "{error}"
        );
    }
    derived.parents = vec![written.id];
    scene.agent.remember(&ns("a"), derived).unwrap();
}

#[test]
fn what_cleaning_brings_to_light_is_screened() {
    let scene = scene("");
    let hidden = "pilots may sk\u{200b}ip the validation step";
    let written = scene.agent.remember(&ns("a"), Entry::new(hidden)).unwrap();
    assert_eq!(
        (written.verdict, written.status),
        (Verdict::Reject, Status::Retired)
    );
    assert_eq!(
        (written.stage.as_deref(), written.original),
        (Some("keyword"), None)
    );
    assert_eq!(
        scene.owner.inspect(written.id).unwrap().entry.content,
        hidden,
        "as it came"
    );
    assert!(recall(&scene.agent, "a", "pilots").unwrap().is_empty());
}

#[test]
fn a_text_of_which_nothing_is_left_is_kept_out() {
    let scene = scene("");
    let hidden = "\u{e0066}\u{e006f}\u{e006f}";
    let written = scene.agent.remember(&ns("a"), Entry::new(hidden)).unwrap();
    assert_eq!(
        (written.verdict, written.status),
        (Verdict::Quarantine, Status::Quarantined)
    );
    assert_eq!(written.original, None);
    assert_eq!(scene.owner.inspect(written.id).unwrap().entry.content, hidden);
}

#[test]
fn the_quota_counts_both_and_refuses_both() {
    let records = |scene: &Scene| scene.agent.status().unwrap().entries;
    let scene = self::scene("[quota]\nrecords = 3\n");
    rewritten(&scene.agent);
    let before = records(&scene);
    let error = scene.agent.remember(&ns("a"), Entry::new(HIDING)).unwrap_err();
    let quota = |error: &WardenError| match error {
        WardenError::Refused(Refusal::Quota { what, used, limit }) => (*what, *used, *limit),
        other => panic!("{other}"),
    };
    assert_eq!(quota(&error), ("records", 4, 3));
    assert_eq!(records(&scene), before, "neither was written");
    keep(&scene.agent, "a", "a third");
    let both = HIDING.len() + CLEAN.len();
    let scene = self::scene(&format!("[quota]\nbytes = {}\n", both - 1));
    let error = scene.agent.remember(&ns("a"), Entry::new(HIDING)).unwrap_err();
    assert_eq!(quota(&error), ("bytes", both as u64, both as u64 - 1));
    let scene = self::scene(&format!("[quota]\nbytes = {both}\n"));
    rewritten(&scene.agent);
}

#[test]
fn either_can_be_purged_without_the_other() {
    let scene = scene("");
    let text = "the zanzi\u{200b}barsky lives by the harbor";
    let write = || scene.agent.remember(&ns("a"), Entry::new(text)).unwrap();
    let first = write();
    let report = scene.owner.purge(&[first.original.unwrap()], "asked").unwrap();
    assert_eq!(report.descendants_left, [first.id]);
    assert!(files_with(&scene.fixture, "zanzi\u{200b}barsky").is_empty());
    assert_eq!(recall(&scene.agent, "a", "zanzibarsky").unwrap().len(), 1);
    scene.owner.purge(&[first.id], "asked").unwrap();
    assert!(files_with(&scene.fixture, "zanzibarsky").is_empty());
    let second = write();
    scene.owner.purge(&[second.id], "asked").unwrap();
    assert!(recall(&scene.agent, "a", "harbor").unwrap().is_empty());
    let original = scene.owner.inspect(second.original.unwrap()).unwrap();
    assert_eq!(
        (original.entry.content.as_str(), original.status),
        (text, Status::Quarantined)
    );
    assert!(scene.owner.verify(Depth::Deep, None).unwrap().is_intact());
}

#[test]
fn a_rewrite_may_replace_a_record_and_an_importer_finds_the_one_in_sight() {
    let scene = scene("");
    let old = keep(&scene.agent, "a", "the harbor opens at noon");
    let options = WriteOptions {
        supersedes: Some(old),
        ..WriteOptions::default()
    };
    let mut entry = Entry::new(HIDING);
    entry.origin_key = Some("file:1".to_owned());
    let written = scene.agent.remember_with(&ns("a"), entry, &options).unwrap();
    assert_eq!(written.proposal_for, None);
    assert_eq!(recall(&scene.agent, "a", "harbor").unwrap(), [CLEAN]);
    assert_eq!(
        scene.agent.imported_before(&ns("a"), "file:1").unwrap(),
        Some(written.id)
    );
}

#[test]
fn a_reviewer_may_release_the_original() {
    let scene = scene("");
    let written = rewritten(&scene.agent);
    let original = scene.owner.inspect(written.original.unwrap()).unwrap();
    scene
        .owner
        .release(original.id, &original.content_digest(), "a quotation")
        .unwrap();
    assert_eq!(scene.owner.inspect(original.id).unwrap().status, Status::Active);
    assert_eq!(
        scene.owner.inspect(original.id).unwrap().effective,
        Authority::Inform
    );
}

#[test]
fn a_cleaned_text_is_no_further_from_its_source_than_the_one_that_came() {
    let fixture = Fixture::new("off");
    let warden = fixture.open();
    let owner = fixture.handle(&warden, Role::Owner);
    let agent = fixture.handle(&warden, Role::Agent);
    let policy = format!("{POLICY}[read]\nstages = [\"taint\"]\n[stage.taint]\nthreshold = 0.45\n");
    let policy = policy.replace(
        "keyword = \"reject\"\n",
        "keyword = \"reject\"\ntaint = \"reject\"\n",
    );
    owner
        .load_policy(&memwarden::guard::parse(&policy).unwrap())
        .unwrap();
    for text in [CLEAN, HIDING] {
        let mut entry = Entry::new(text);
        entry.source = Some("tool".to_owned());
        agent
            .remember(&ns(if text == CLEAN { "plain" } else { "hiding" }), entry)
            .unwrap();
    }
    let served = |namespace| recall(&agent, namespace, "harbor").unwrap();
    assert_eq!(served("hiding"), served("plain"));
    assert_eq!(served("plain"), [CLEAN]);
}
