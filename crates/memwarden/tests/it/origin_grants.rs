//! Attacks on approvals and permits: each is for one action, works once, for a while, in its own epoch.

use crate::fixture::ns;
use crate::origin_play::{MINUTE, POLICY, Play, attack, params, pay, refusal, text};
use memwarden::core::{Decision, Params};
use memwarden::{Handle, Mechanisms, RecordId, Role};

fn action() -> Params {
    params([("scope", text("archive 2019"))])
}

fn approved(play: &Play) -> RecordId {
    let approved = play.owner.approve(&ns("a"), play.context, "wipe", &action());
    approved.unwrap().approval
}

/// What `tool` with `params` comes to with an approval: the decision, or the refusal by name.
fn used(handle: &Handle, tool: &str, params: &Params, approval: RecordId) -> Result<Decision, String> {
    handle
        .authorize(&ns("a"), tool, params, Some(approval))
        .map(|authorized| authorized.decided.decision)
        .map_err(|error| refusal(&error))
}

fn why(problem: &str, what: &str, id: RecordId) -> String {
    format!("refused: {what} {id} {problem}")
}

#[test]
fn an_approval_confirms_the_action_it_was_given_for() {
    let play = Play::new();
    assert_eq!(play.decides("wipe", &action()), Decision::Confirm);
    let approval = approved(&play);
    let allowed = play.within.authorize(&ns("a"), "wipe", &action(), Some(approval));
    let allowed = allowed.unwrap();
    assert!(allowed.approved && allowed.permit.is_some());
    assert_eq!(allowed.decided.decision, Decision::Allow);
}

#[test]
fn parameters_swapped_after_the_approval_are_not_approved() {
    attack(
        |off| off.approval_binding = false,
        |play| {
            let approval = approved(&play);
            let swapped = params([("scope", text("everything"))]);
            let gained = used(&play.within, "wipe", &swapped, approval);
            gained.map_err(|error| error.replace(&approval.to_string(), "ID"))
        },
        Err(
            "refused: approval ID was given for another action: parameters, context, requester, policy or epoch \
             differ"
                .to_owned(),
        ),
        Ok(Decision::Allow),
    );
}

#[test]
fn an_approval_is_bound_to_tool_namespace_context_and_policy() {
    let play = Play::new();
    let approval = approved(&play);
    let elsewhere = play.agent.within(&play.agent.begin().unwrap().token).unwrap();
    assert!(used(&elsewhere, "wipe", &action(), approval).is_err());
    assert!(used(&play.within, "erase", &action(), approval).is_err());
    let other = play.within.authorize(&ns("b"), "wipe", &action(), Some(approval));
    assert!(other.is_err());
    assert_eq!(
        used(&play.within, "wipe", &action(), approval),
        Ok(Decision::Allow)
    );
}

#[test]
fn a_policy_that_changed_since_the_approval_voids_it() {
    attack(
        |off| off.approval_binding = false,
        |play| {
            let approval = approved(&play);
            let looser = memwarden::guard::parse(&format!("{POLICY}\n[endorse]\nk = 3\n")).unwrap();
            play.owner.load_policy(&looser).unwrap();
            used(&play.within, "wipe", &action(), approval).is_ok()
        },
        false,
        true,
    );
}

#[test]
fn an_approval_works_once() {
    attack(
        |off| off.approval_once = false,
        |play| {
            let approval = approved(&play);
            let first = used(&play.within, "wipe", &action(), approval);
            assert_eq!(first, Ok(Decision::Allow));
            used(&play.within, "wipe", &action(), approval)
                .map_err(|error| error == why("was used before", "approval", approval))
        },
        Err(true),
        Ok(Decision::Allow),
    );
}

#[test]
fn a_permit_works_once() {
    attack(
        |off| off.permit_once = false,
        |play| {
            let approval = approved(&play);
            let allowed = play.within.authorize(&ns("a"), "wipe", &action(), Some(approval));
            let permit = allowed.unwrap().permit.unwrap();
            let redeem = || {
                play.step
                    .redeem(permit, &ns("a"), play.context, "wipe", &action())
            };
            redeem().unwrap();
            redeem()
                .map(drop)
                .map_err(|error| refusal(&error) == why("was used before", "permit", permit))
        },
        Err(true),
        Ok(()),
    );
}

#[test]
fn a_permit_is_redeemed_only_with_the_parameters_it_was_given_for() {
    attack(
        |off| off.permit_binding = false,
        |play| {
            play.asks("pay ACME");
            let permit = play.authorize("pay", &pay("ACME")).permit.unwrap();
            let redeemed = play
                .step
                .redeem(permit, &ns("a"), play.context, "pay", &pay("Mallory"));
            redeemed.is_ok()
        },
        false,
        true,
    );
    let play = Play::new();
    play.asks("pay ACME");
    let permit = play.authorize("pay", &pay("ACME")).permit.unwrap();
    let (context, tool) = (play.context, "pay");
    let elsewhere = play.agent.begin().unwrap().context;
    // The same value in another spelling is another action to whoever executes it.
    for wrong in [
        play.step.redeem(permit, &ns("b"), context, tool, &pay("ACME")),
        play.step.redeem(permit, &ns("a"), elsewhere, tool, &pay("ACME")),
        play.step
            .redeem(permit, &ns("a"), context, "refund", &pay("ACME")),
        play.step.redeem(permit, &ns("a"), context, tool, &pay("acme")),
        play.agent.redeem(permit, &ns("a"), context, tool, &pay("ACME")),
    ] {
        wrong.unwrap_err();
    }
    play.step
        .redeem(permit, &ns("a"), context, tool, &pay("ACME"))
        .unwrap();
}

#[test]
fn a_decision_that_is_no_allow_gives_no_permit() {
    let play = Play::new();
    let confirm = play.authorize("wipe", &action());
    assert_eq!(
        (confirm.permit, confirm.decided.decision),
        (None, Decision::Confirm)
    );
    let never = RecordId::from_bytes([5; 16]);
    let redeemed = play.step.redeem(never, &ns("a"), play.context, "wipe", &action());
    redeemed.unwrap_err();
}

/// Runs the same thing in two processes at once and counts how often it worked.
fn race(play: &Play, spend: impl Fn(&Handle) -> bool + Sync, role: Role) -> usize {
    let other = play.other();
    let barrier = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        let racers: Vec<_> = [&play.warden, &other, &play.warden, &other]
            .map(|warden| {
                let handle = play.fixture.handle(warden, role);
                let (barrier, spend) = (&barrier, &spend);
                scope.spawn(move || {
                    barrier.wait();
                    spend(&handle)
                })
            })
            .into_iter()
            .collect();
        let won = racers.into_iter().map(|racer| racer.join().unwrap());
        won.filter(|won| *won).count()
    })
}

#[test]
fn of_several_that_spend_one_approval_at_once_exactly_one_wins() {
    let play = Play::new();
    let approval = approved(&play);
    let spend = |agent: &Handle| {
        let within = agent.within(&play.token).unwrap();
        used(&within, "wipe", &action(), approval).is_ok()
    };
    assert_eq!(race(&play, spend, Role::Agent), 1);
}

#[test]
fn of_several_that_redeem_one_permit_at_once_exactly_one_wins() {
    let play = Play::new();
    let allowed = play
        .within
        .authorize(&ns("a"), "wipe", &action(), Some(approved(&play)));
    let permit = allowed.unwrap().permit.unwrap();
    let redeem = |step: &Handle| {
        let redeemed = step.redeem(permit, &ns("a"), play.context, "wipe", &action());
        redeemed.is_ok()
    };
    assert_eq!(race(&play, redeem, Role::Step), 1);
}

#[test]
fn a_restored_backup_revives_neither_an_approval_nor_a_permit_that_was_spent() {
    attack(
        |off| off.epochs = false,
        |play| {
            play.asks("pay ACME");
            let permit = play.authorize("pay", &pay("ACME")).permit.unwrap();
            let approval = approved(&play);
            let backup = play.fixture.path("backup.db");
            play.owner.backup(&backup).unwrap();
            play.step
                .redeem(permit, &ns("a"), play.context, "pay", &pay("ACME"))
                .unwrap();
            used(&play.within, "wipe", &action(), approval).unwrap();
            let play = play.restored(&backup);
            let redeemed = play
                .step
                .redeem(permit, &ns("a"), play.context, "pay", &pay("ACME"));
            let authorized = play.within.authorize(&ns("a"), "wipe", &action(), Some(approval));
            (redeemed.is_ok(), authorized.is_ok())
        },
        (false, false),
        (true, true),
    );
}

#[test]
fn a_restore_closes_the_contexts_that_were_open_because_their_labels_are_not_known() {
    let play = Play::new();
    play.asks("pay ACME");
    let backup = play.fixture.path("backup.db");
    play.owner.backup(&backup).unwrap();
    play.poison("an aside about ACME");
    play.recalls(&play.within, "ACME");
    let play = play.restored(&backup);
    assert!(play.agent.within(&play.token).is_err());
    // What the agent was served in the hour before is lost too.
    let written = play.remembers(&play.agent, "a note");
    assert_eq!(written.written, memwarden::Authority::None);
}

#[test]
fn who_asks_for_an_action_does_not_approve_it() {
    attack(
        |off| off.approval_by_another = false,
        |play| {
            let approval = play.agent.approve(&ns("a"), play.context, "wipe", &action());
            let approval = approval.map_err(|error| refusal(&error))?;
            used(&play.within, "wipe", &action(), approval.approval)
        },
        Err("forbidden: approve".to_owned()),
        Ok(Decision::Allow),
    );
}

#[test]
fn not_even_the_owner_approves_what_it_asked_for_itself() {
    attack(
        |off| off.approval_by_another = false,
        |play| {
            let opened = play.owner.begin().unwrap();
            let within = play.owner.within(&opened.token).unwrap();
            let approval = play.owner.approve(&ns("a"), opened.context, "wipe", &action());
            let approval = approval.map_err(|error| refusal(&error))?;
            used(&within, "wipe", &action(), approval.approval)
        },
        Err("bad input: context".to_owned()),
        Ok(Decision::Allow),
    );
    let play = Play::new();
    let opened = play.owner.begin().unwrap();
    let within = play.owner.within(&opened.token).unwrap();
    let approval = play
        .user
        .approve(&ns("a"), opened.context, "wipe", &action())
        .unwrap();
    assert_eq!(
        used(&within, "wipe", &action(), approval.approval),
        Ok(Decision::Allow)
    );
}

#[test]
fn only_a_person_approves() {
    let play = Play::new();
    for role in Role::ALL {
        let credential = play.owner.register("somebody", role, None).unwrap();
        let handle = play.warden.handle(&credential).unwrap();
        let approves = handle.approve(&ns("a"), play.context, "wipe", &action()).is_ok();
        assert_eq!(approves, matches!(role, Role::Owner | Role::User), "{role}");
    }
}

#[test]
fn an_approval_confirms_and_never_replaces_a_step_that_did_not_run() {
    let play = Play::new();
    let action = crate::origin_play::import("bytes");
    let approval = play
        .owner
        .approve(&ns("a"), play.context, "import", &action)
        .unwrap();
    let decided = used(&play.within, "import", &action, approval.approval);
    assert_eq!(decided, Ok(Decision::Deny));
}

#[test]
fn an_approval_lives_ten_minutes_and_a_permit_five_and_a_clock_set_back_revives_neither() {
    let grants = |play: &Play| {
        play.asks("pay ACME");
        (
            approved(play),
            play.authorize("pay", &pay("ACME")).permit.unwrap(),
        )
    };
    let spend = |play: &Play, (approval, permit): (RecordId, RecordId)| {
        let redeemed = play
            .step
            .redeem(permit, &ns("a"), play.context, "pay", &pay("ACME"));
        let used = used(&play.within, "wipe", &action(), approval);
        (used.is_ok(), redeemed.is_ok())
    };
    let after = |micros: u64| {
        let play = Play::new();
        let given = grants(&play);
        play.at(micros);
        spend(&play, given)
    };
    assert_eq!(after(5 * MINUTE - 1), (true, true));
    assert_eq!(after(5 * MINUTE), (true, false));
    assert_eq!(after(10 * MINUTE - 1), (true, false));
    assert_eq!(after(10 * MINUTE), (false, false));
    let play = Play::new();
    let given = grants(&play);
    play.at(20 * MINUTE);
    play.remembers(&play.user, "what time it was");
    play.at(MINUTE);
    assert_eq!(spend(&play, given), (false, false));
    let play = play.reopened();
    assert_eq!(spend(&play, given), (false, false), "in another process");
}

#[test]
fn what_is_switched_off_is_said_in_the_warnings() {
    let play = Play::without(|off: &mut Mechanisms| off.epochs = false);
    assert!(
        play.warden
            .warnings()
            .iter()
            .any(|line| line.contains("switched off"))
    );
    let on = Play::new();
    assert!(
        !on.warden
            .warnings()
            .iter()
            .any(|line| line.contains("switched off"))
    );
}
