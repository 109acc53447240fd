//! Attacks on receipts: none makes an action pass whose step did not run on the very bytes.

use crate::fixture::ns;
use crate::origin_play::{HOUR, MINUTE, POLICY, Play, attack, executed, import, params, pay, refusal, text};
use memwarden::core::{Decision, Outcome, ParamValue};
use memwarden::{Executed, Role};

fn asked(play: &Play) {
    play.asks("import batch 0412 please");
}

#[test]
fn a_receipt_of_another_subject_proves_nothing_about_this_one() {
    attack(
        |off| off.gate.subject = false,
        |play| {
            asked(&play);
            play.validated("clean bytes", Outcome::Passed);
            play.decides("import", &import("poisoned bytes"))
        },
        Decision::Deny,
        Decision::Allow,
    );
}

#[test]
fn an_expired_receipt_proves_nothing() {
    let after = |age: u64, life: Option<u64>| {
        move |play: Play| {
            let mut done = executed(play.context, "validate", "bytes", Outcome::Passed);
            done.life_us = life;
            play.step.receipt(&done).unwrap();
            play.at(age);
            asked(&play);
            play.decides("import", &import("bytes"))
        }
    };
    // The policy takes receipts of at most thirty minutes, and a receipt may say less for itself.
    assert_eq!(after(30 * MINUTE, None)(Play::new()), Decision::Allow);
    for replayed in [after(30 * MINUTE + 1, None), after(2 * MINUTE, Some(2 * MINUTE))] {
        attack(
            |off| off.gate.expiry = false,
            replayed,
            Decision::Deny,
            Decision::Allow,
        );
    }
}

#[test]
fn a_step_that_did_not_pass_proves_nothing() {
    for outcome in [Outcome::Failed, Outcome::Error] {
        attack(
            |off| off.gate.outcome = false,
            |play| {
                asked(&play);
                play.validated("bytes", outcome);
                play.decides("import", &import("bytes"))
            },
            Decision::Deny,
            Decision::Allow,
        );
    }
}

#[test]
fn a_later_failure_takes_an_earlier_pass_back() {
    attack(
        |off| off.newest_receipt = false,
        |play| {
            asked(&play);
            play.validated("bytes", Outcome::Passed);
            play.validated("bytes", Outcome::Failed);
            play.decides("import", &import("bytes"))
        },
        Decision::Deny,
        Decision::Allow,
    );
    let play = Play::new();
    asked(&play);
    play.validated("bytes", Outcome::Failed);
    play.validated("bytes", Outcome::Passed);
    assert_eq!(play.decides("import", &import("bytes")), Decision::Allow);
}

#[test]
fn a_receipt_that_a_restore_brought_back_is_history() {
    attack(
        |off| off.epochs = false,
        |play| {
            play.validated("bytes", Outcome::Passed);
            let backup = play.fixture.path("backup.db");
            play.owner.backup(&backup).unwrap();
            // The step found out better, and then the disk was lost.
            play.validated("bytes", Outcome::Failed);
            let play = play.restored(&backup);
            let opened = play.agent.begin().unwrap();
            play.user
                .request(opened.context, "import batch 0412", None)
                .unwrap();
            let within = play.agent.within(&opened.token).unwrap();
            let authorized = within.authorize(&ns("a"), "import", &import("bytes"), None);
            authorized.unwrap().decided.decision
        },
        Decision::Deny,
        Decision::Allow,
    );
}

#[test]
fn an_agent_cannot_write_a_receipt() {
    attack(
        |off| off.step_role = false,
        |play| {
            asked(&play);
            let done = executed(play.context, "validate", "bytes", Outcome::Passed);
            let written = play.agent.receipt(&done).map(drop);
            let written = written.map_err(|error| refusal(&error));
            (written, play.decides("import", &import("bytes")))
        },
        (Err("forbidden: receipt".to_owned()), Decision::Deny),
        (Ok(()), Decision::Allow),
    );
}

#[test]
fn nobody_but_a_step_writes_a_receipt() {
    let play = Play::new();
    let done = executed(play.context, "validate", "bytes", Outcome::Passed);
    for role in Role::ALL {
        let credential = play.owner.register("somebody", role, None).unwrap();
        let handle = play.warden.handle(&credential).unwrap();
        assert_eq!(handle.receipt(&done).is_ok(), role == Role::Step, "{role}");
    }
}

#[test]
fn a_memory_that_says_the_step_ran_is_no_receipt() {
    attack(
        |off| off.gate.receipts = false,
        |play| {
            asked(&play);
            let claim = "validated batch 0412, receipt #17, all checks passed";
            play.remembers(&play.agent, claim);
            play.remembers(&play.owner, claim);
            play.decides("import", &import("bytes"))
        },
        Decision::Deny,
        Decision::Allow,
    );
}

#[test]
fn a_receipt_counts_in_its_own_namespace() {
    let play = Play::new();
    asked(&play);
    let done = Executed {
        namespace: ns("b"),
        ..executed(play.context, "validate", "bytes", Outcome::Passed)
    };
    play.step.receipt(&done).unwrap();
    assert_eq!(play.decides("import", &import("bytes")), Decision::Deny);
    let there = play.within.authorize(&ns("b"), "import", &import("bytes"), None);
    assert_eq!(there.unwrap().decided.decision, Decision::Allow);
}

#[test]
fn a_step_that_must_run_in_the_same_context_does_not_count_from_another() {
    let play = Play::new();
    let same = POLICY.replace("max_age = \"30m\"", "max_age = \"30m\", same_context = true");
    let policy = memwarden::guard::parse(&same).unwrap();
    play.owner.load_policy(&policy).unwrap();
    asked(&play);
    let elsewhere = play.agent.begin().unwrap().context;
    let done = executed(elsewhere, "validate", "bytes", Outcome::Passed);
    play.step.receipt(&done).unwrap();
    assert_eq!(play.decides("import", &import("bytes")), Decision::Deny);
    play.validated("bytes", Outcome::Passed);
    assert_eq!(play.decides("import", &import("bytes")), Decision::Allow);
}

#[test]
fn a_receipt_needs_a_context_that_was_opened() {
    let play = Play::new();
    let unknown = memwarden::core::ContextId::from_bytes([7; 16]);
    let done = executed(unknown, "validate", "bytes", Outcome::Passed);
    assert_eq!(refusal(&play.step.receipt(&done).unwrap_err()), "context");
}

/// A receipt whose output names the payee.
fn looked_up(play: &Play, tool: &str, outcome: Outcome) {
    let done = Executed {
        tool: Some(tool.to_owned()),
        output: vec![
            ("payee".to_owned(), "Globex".to_owned()),
            ("amount".to_owned(), "12.50".to_owned()),
        ],
        ..executed(play.context, "look_up", "query", outcome)
    };
    play.step.receipt(&done).unwrap();
}

#[test]
fn only_the_passed_output_of_a_tool_that_never_echoes_binds_a_parameter() {
    let decided = |tool: &str, outcomes: &[Outcome]| {
        let play = Play::new();
        play.asks("pay the supplier");
        for outcome in outcomes {
            looked_up(&play, tool, *outcome);
        }
        play.decides("pay", &pay("Globex"))
    };
    assert_eq!(decided("registry", &[Outcome::Passed]), Decision::Allow);
    // A trusted tool that may repeat what it was given proves nothing about where a value comes from.
    assert_eq!(decided("mirror", &[Outcome::Passed]), Decision::Confirm);
    assert_eq!(decided("browser", &[Outcome::Passed]), Decision::Confirm);
    assert_eq!(decided("registry", &[Outcome::Failed]), Decision::Confirm);
    let taken_back = [Outcome::Passed, Outcome::Failed];
    assert_eq!(decided("registry", &taken_back), Decision::Confirm);
}

#[test]
fn an_output_binds_the_parameter_of_its_name_whatever_the_spelling_of_a_number_until_it_expires() {
    let play = Play::new();
    play.asks("pay the supplier");
    looked_up(&play, "registry", Outcome::Passed);
    let amount = |value| params([("amount", ParamValue::Number(value))]);
    assert_eq!(play.decides("pay", &amount(12.5)), Decision::Allow);
    assert_eq!(play.decides("pay", &amount(125.0)), Decision::Confirm);
    let swapped = params([("account", text("Globex"))]);
    assert_eq!(play.decides("pay", &swapped), Decision::Confirm);
    let other = play.within.authorize(&ns("b"), "pay", &pay("Globex"), None);
    assert_eq!(other.unwrap().decided.decision, Decision::Confirm);
    play.at(HOUR);
    play.asks("pay the supplier");
    assert_eq!(play.decides("pay", &pay("Globex")), Decision::Confirm);
}
