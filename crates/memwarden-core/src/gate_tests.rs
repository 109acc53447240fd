//! The gate's table of cases.

use super::*;
use crate::tokens;
use std::collections::BTreeMap;

const MINUTE: u64 = 60_000_000;
const NOW: u64 = 1_000 * MINUTE;

#[derive(Default)]
struct Facts {
    receipts: Vec<(String, Subject, ReceiptFact)>,
    requests: Vec<(ContextId, RequestFact)>,
    bound: Vec<(String, CanonicalValue)>,
    weaker: Vec<CanonicalValue>,
}

impl Evidence for Facts {
    fn newest_receipt(&self, step: &str, subject: &Subject) -> Result<Option<ReceiptFact>, EvidenceError> {
        let matching = self
            .receipts
            .iter()
            .filter(|(s, of, _)| s == step && of == subject);
        Ok(matching
            .max_by_key(|(_, _, fact)| fact.position)
            .map(|(_, _, fact)| fact.clone()))
    }

    fn requests(&self, context: &ContextId) -> Result<Vec<RequestFact>, EvidenceError> {
        Ok(self
            .requests
            .iter()
            .filter(|(of, _)| of == context)
            .map(|(_, fact)| fact.clone())
            .collect())
    }

    fn bindings(&self, parameter: &str, value: &CanonicalValue) -> Result<Vec<Witness>, EvidenceError> {
        let found = self
            .bound
            .iter()
            .any(|(name, bound)| name == parameter && bound == value);
        Ok(if found { vec![witness(7)] } else { Vec::new() })
    }

    fn weaker(&self, value: &CanonicalValue) -> Result<Vec<Witness>, EvidenceError> {
        Ok(if self.weaker.contains(value) {
            vec![witness(8)]
        } else {
            Vec::new()
        })
    }
}

fn witness(id: u8) -> Witness {
    Witness {
        record: Some(RecordId::from_bytes([id; 16])),
        position: id.into(),
        principal: PrincipalId::WARDEN,
    }
}

fn context(id: u8) -> ContextId {
    ContextId::from_bytes([id; 16])
}

fn digest(of: &str) -> Digest {
    Digest::of(of.as_bytes())
}

fn rules() -> Vec<ActionRule> {
    let rule = |tool: &str, class, requires| ActionRule {
        tool: tool.into(),
        class,
        control: None,
        requires,
    };
    let validate = Requirement {
        step: "validate".into(),
        subject: "batch".into(),
        max_age_us: 60 * MINUTE,
        same_context: false,
    };
    vec![
        rule("import_direct", ActionClass::Sensitive, vec![validate]),
        rule("import_validated", ActionClass::Sensitive, vec![]),
        rule("wire_transfer", ActionClass::HighImpact, vec![]),
        rule("read_clock", ActionClass::Routine, vec![]),
    ]
}

fn import(bytes: &str) -> Action {
    let values = BTreeMap::from([
        ("batch".to_owned(), ParamValue::String("0412".into())),
        (
            "batch_sha256".to_owned(),
            ParamValue::String(digest(bytes).to_string()),
        ),
    ]);
    Action {
        tool: "import_direct".into(),
        params: Params::new(values).unwrap(),
        context: context(1),
    }
}

fn request(text: &str, tools: Option<&[&str]>) -> (ContextId, RequestFact) {
    let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
    let expires = Timestamp::from_micros(NOW + MINUTE);
    (
        context(1),
        RequestFact {
            position: 3,
            tokens: tokens(text),
            tools,
            expires,
        },
    )
}

fn receipt(bytes: &str, outcome: Outcome, position: u64, time: u64) -> (String, Subject, ReceiptFact) {
    let subject = Subject {
        kind: "batch".into(),
        id: "0412".into(),
        digest: digest(bytes),
    };
    let fact = ReceiptFact {
        position,
        outcome,
        context: context(1),
        time: Timestamp::from_micros(time),
        expires: Timestamp::from_micros(time + 60 * MINUTE),
    };
    ("validate".into(), subject, fact)
}

fn decide(facts: &Facts, action: &Action) -> Decided {
    authorize(
        &rules(),
        action,
        facts,
        Timestamp::from_micros(NOW),
        GateChecks::default(),
    )
    .unwrap()
}

#[test]
fn a_fresh_passed_receipt_for_the_very_bytes_allows_and_nothing_else_does() {
    let with = |receipts| Facts {
        receipts,
        requests: vec![request("import batch 0412", None)],
        ..Facts::default()
    };
    let fresh = NOW - MINUTE;
    assert_eq!(
        decide(&with(vec![receipt("b", Outcome::Passed, 5, fresh)]), &import("b")).decision,
        Decision::Allow
    );
    let denied = [
        vec![],
        vec![receipt("other bytes", Outcome::Passed, 5, fresh)],
        vec![receipt("b", Outcome::Failed, 5, fresh)],
        vec![receipt("b", Outcome::Error, 5, fresh)],
        vec![receipt("b", Outcome::Passed, 5, NOW - 61 * MINUTE)],
        vec![
            receipt("b", Outcome::Passed, 5, fresh),
            receipt("b", Outcome::Failed, 6, fresh),
        ],
    ];
    for receipts in denied {
        let decided = decide(&with(receipts.clone()), &import("b"));
        assert_eq!(decided.decision, Decision::Deny, "{receipts:?}");
        assert_eq!(decided.reasons[0].check, Check::Receipt);
    }
    let again = with(vec![
        receipt("b", Outcome::Failed, 5, fresh),
        receipt("b", Outcome::Passed, 6, fresh),
    ]);
    assert_eq!(
        decide(&again, &import("b")).decision,
        Decision::Allow,
        "a later pass counts again"
    );
}

#[test]
fn a_parameter_must_be_named_by_the_request_or_bound_by_an_act_record() {
    let pay = |payee: &str| Action {
        tool: "import_validated".into(),
        params: Params::new(BTreeMap::from([(
            "payee".to_owned(),
            ParamValue::String(payee.into()),
        )]))
        .unwrap(),
        context: context(1),
    };
    let facts = Facts {
        requests: vec![request("pay ACME what we owe", None)],
        bound: vec![("payee".into(), CanonicalValue::of_text("Globex"))],
        weaker: vec![CanonicalValue::of_text("Mallory")],
        ..Facts::default()
    };
    assert_eq!(decide(&facts, &pay("acme")).decision, Decision::Allow);
    assert_eq!(decide(&facts, &pay("Globex")).decision, Decision::Allow);
    let decided = decide(&facts, &pay("Mallory"));
    assert_eq!(decided.decision, Decision::Confirm);
    assert_eq!(decided.reasons[0].about, "payee");
    assert_eq!(decided.reasons[0].records, vec![RecordId::from_bytes([8; 16])]);
    let elsewhere = Action {
        context: context(2),
        ..pay("acme")
    };
    assert_eq!(
        decide(&facts, &elsewhere).decision,
        Decision::Confirm,
        "a request counts in its own context"
    );
}

#[test]
fn memory_never_gives_the_mandate() {
    let action = Action {
        tool: "import_validated".into(),
        params: Params::default(),
        context: context(1),
    };
    let with = |requests| Facts {
        requests,
        ..Facts::default()
    };
    assert_eq!(decide(&with(vec![]), &action).decision, Decision::Confirm);
    assert_eq!(
        decide(&with(vec![request("import", Some(&["import_direct"]))]), &action).decision,
        Decision::Confirm
    );
    assert_eq!(
        decide(
            &with(vec![request("import", Some(&["import_validated"]))]),
            &action
        )
        .decision,
        Decision::Allow
    );
    let unlisted = Action {
        tool: "delete_everything".into(),
        ..action.clone()
    };
    assert_eq!(
        decide(&with(vec![request("tidy up", None)]), &unlisted).decision,
        Decision::Confirm
    );
    let mut closed = request("import", None);
    closed.1.expires = Timestamp::from_micros(NOW);
    assert_eq!(decide(&with(vec![closed]), &action).decision, Decision::Confirm);
}

#[test]
fn high_impact_is_always_confirmed_and_routine_never_asked() {
    let action = |tool: &str| Action {
        tool: tool.into(),
        params: Params::default(),
        context: context(1),
    };
    let facts = Facts {
        requests: vec![request("do it", Some(&["wire_transfer"]))],
        ..Facts::default()
    };
    let decided = decide(&facts, &action("wire_transfer"));
    assert_eq!(decided.decision, Decision::Confirm);
    assert_eq!(decided.reasons.len(), 1);
    assert_eq!(
        decide(&Facts::default(), &action("read_clock")).decision,
        Decision::Allow
    );
}
