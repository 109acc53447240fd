//! The rules of origin in a policy: what is read, what is refused and how, what a policy comes to, and what a
//! change of it gives up.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod common;

use common::{named, policy};
use expect_test::{Expect, expect};
use memwarden_core::{ActionClass, ActionRule, Echoes, OriginMode, Requirement, ToolRule};
use memwarden_guard::{
    DEFAULT_MAX_AGE_US, PRESETS, PolicyError, check_steps, explain_actions, explain_tools, loosenings, parse,
    required_steps, warnings,
};

const FULL: &str = r#"name = "clinic"
origin = "enforced"
[endorse]
k = 3
[tool.registry]
trust = "trusted"
echoes = "never"
[tool."web.search"]
trust = "untrusted"
echoes = "possible"
[[action]]
tool = "look_up"
class = "routine"
[[action]]
tool = "import_batch"
class = "sensitive"
control = ["batch", "target"]
requires = [
  { step = "validate", subject = "batch", max_age = "30m", same_context = true },
  { step = "scan", subject = "batch" },
]
[[action]]
tool = "delete_patient"
class = "high_impact"
"#;

#[test]
fn every_rule_of_origin_is_read() {
    let policy = policy(FULL);
    assert_eq!(policy.origin, OriginMode::Enforced);
    assert_eq!(policy.endorse_k, Some(3));
    let registry = ToolRule {
        trusted: true,
        echoes: Echoes::Never,
    };
    assert_eq!(policy.tools["registry"], registry);
    assert_eq!(policy.tools["web.search"], ToolRule::default());
    assert_eq!(policy.tools.len(), 2);
    let plain = |tool: &str, class| ActionRule {
        tool: tool.to_owned(),
        class,
        control: None,
        requires: Vec::new(),
    };
    let requirement = |step: &str, max_age_us, same_context| Requirement {
        step: step.to_owned(),
        subject: "batch".to_owned(),
        max_age_us,
        same_context,
    };
    let import = ActionRule {
        control: Some(vec!["batch".to_owned(), "target".to_owned()]),
        requires: vec![
            requirement("validate", 1_800_000_000, true),
            requirement("scan", DEFAULT_MAX_AGE_US, false),
        ],
        ..plain("import_batch", ActionClass::Sensitive)
    };
    assert_eq!(
        policy.actions,
        [
            plain("look_up", ActionClass::Routine),
            import,
            plain("delete_patient", ActionClass::HighImpact)
        ]
    );
}

#[test]
fn without_a_word_origin_is_enforced_and_nothing_is_trusted() {
    let policy = policy("name = \"x\"\n[tool.search]\n");
    assert_eq!(policy.origin, OriginMode::Enforced);
    assert_eq!(policy.endorse_k, None);
    assert_eq!(policy.tools["search"], ToolRule::default());
    assert!(policy.actions.is_empty());
}

#[test]
fn of_the_presets_only_the_default_enforces_origin() {
    for preset in PRESETS {
        let origin = named(preset.name).origin;
        let expected = if preset.name == "warden" {
            OriginMode::Enforced
        } else {
            OriginMode::Off
        };
        assert_eq!(origin, expected, "{}", preset.name);
    }
}

/// The error of each of `texts`, after a first line with the name, a line each.
fn refused(texts: &[&str], expected: &Expect) {
    let errors: Vec<String> = texts
        .iter()
        .map(|text| parse(&format!("name = \"x\"\n{text}\n")).unwrap_err().to_string())
        .collect();
    expected.assert_eq(&(errors.join("\n") + "\n"));
}

/// An action from line 2 to 4, with `more` in the lines from 5.
fn action(more: &str) -> String {
    format!("[[action]]\ntool = \"pay\"\nclass = \"sensitive\"\n{more}")
}

#[test]
fn unknown_keys_of_origin_are_refused_with_the_nearest_known_one() {
    refused(
        &[
            "orign = \"off\"",
            "[[actions]]\ntool = \"pay\"",
            "[endorse]\nn = 2",
            "[tool.search]\ntrusted = true",
            "[tool.search]\necho = \"never\"",
            &action("params = [\"payee\"]"),
            &action("require = []"),
            &action("requires = [{ stepp = \"lint\", subject = \"repo\" }]"),
            &action("requires = [\n{ step = \"lint\", subject = \"repo\",\nmaxage = \"1h\" }]"),
        ],
        &expect![[r#"
            line 2: key `orign` is unknown: expected name, origin, write, read, stage, verdict, weights, quota, endorse, recall, tool or action; did you mean `origin`?
            line 2: key `actions` is unknown: expected name, origin, write, read, stage, verdict, weights, quota, endorse, recall, tool or action; did you mean `action`?
            line 3: key `endorse.n` is unknown: expected k
            line 3: key `tool.search.trusted` is unknown: expected trust or echoes; did you mean `trust`?
            line 3: key `tool.search.echo` is unknown: expected trust or echoes; did you mean `echoes`?
            line 5: key `action.params` is unknown: expected tool, class, control or requires
            line 5: key `action.require` is unknown: expected tool, class, control or requires; did you mean `requires`?
            line 5: key `action.requires.stepp` is unknown: expected step, subject, max_age or same_context; did you mean `step`?
            line 7: key `action.requires.maxage` is unknown: expected step, subject, max_age or same_context; did you mean `max_age`?
        "#]],
    );
}

#[test]
fn values_of_origin_are_checked() {
    let long = "t".repeat(129);
    refused(
        &[
            "origin = \"on\"",
            "origin = true",
            "endorse = 2",
            "[endorse]",
            "[endorse]\nk = 0",
            "[endorse]\nk = 17",
            "[endorse]\nk = \"2\"",
            "[endorse]\nk = 4294967298",
            "[tool.search]\ntrust = \"none\"",
            "[tool.search]\nechoes = false",
            "tool = \"search\"",
            &format!("[tool.{long}]"),
            "[tool.\"a\\u001bb\"]",
            "[tool.\"\"]",
        ],
        &expect![[r#"
            line 2: key `origin` is `on`: expected enforced or off
            line 2: key `origin` is `true`: expected enforced or off
            line 2: key `endorse` is `2`: expected a table
            line 2: key `endorse.k` is missing: expected a whole number from 1 to 16
            line 3: key `endorse.k` is `0`: expected a whole number from 1 to 16
            line 3: key `endorse.k` is `17`: expected a whole number from 1 to 16
            line 3: key `endorse.k` is `"2"`: expected a whole number from 1 to 16
            line 3: key `endorse.k` is `4294967298`: expected a whole number from 1 to 16
            line 3: key `tool.search.trust` is `none`: expected trusted or untrusted
            line 3: key `tool.search.echoes` is `false`: expected possible or never
            line 2: key `tool` is `"search"`: expected a table
            line 2: key `tool.tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt` is `tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt`: expected a tool's name of 1 to 128 bytes without control characters
            line 2: key `tool.a�b` is `a�b`: expected a tool's name of 1 to 128 bytes without control characters
            line 2: key `tool.` is ``: expected a tool's name of 1 to 128 bytes without control characters
        "#]],
    );
    assert!(parse(&format!("name = \"x\"\n[tool.{}]\n", "t".repeat(128))).is_ok());
    assert_eq!(policy("name = \"x\"\n[endorse]\nk = 16\n").endorse_k, Some(16));
}

#[test]
fn actions_are_checked() {
    let long = format!("[[action]]\ntool = \"{}\"", "t".repeat(129));
    refused(
        &[
            "[action]\ntool = \"pay\"",
            "action = [1]",
            "[[action]]\ntool = \"pay\"",
            "[[action]]\ntool = \"pay\"\nclass = \"routine\"\n[[action]]\nclass = \"routine\"",
            "[[action]]\ntool = \"pay\"\nclass = \"high-impact\"",
            "[[action]]\ntool = \"\"",
            "[[action]]\ntool = 3",
            &long,
            "[[action]]\ntool = \"a\\nb\"",
            &action("[[action]]\ntool = \"pay\"\nclass = \"routine\""),
            &action("control = []"),
            &action("control = \"payee\""),
            &action("control = [1]"),
            &action("control = [\"payee\", \"\"]"),
            &action("control = [\"payee\", \"amount\", \"payee\"]"),
        ],
        &expect![[r#"
            line 2: key `action` is `a table`: expected tables, each written [[action]]
            line 2: key `action` is `1`: expected tables, each written [[action]]
            line 2: key `action.class` is missing: expected routine, sensitive or high_impact
            line 5: key `action.tool` is missing: expected a tool's name of 1 to 128 bytes without control characters
            line 4: key `action.class` is `high-impact`: expected routine, sensitive or high_impact
            line 3: key `action.tool` is ``: expected a tool's name of 1 to 128 bytes without control characters
            line 3: key `action.tool` is `3`: expected a string
            line 3: key `action.tool` is `tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt`: expected a tool's name of 1 to 128 bytes without control characters
            line 3: key `action.tool` is `a�b`: expected a tool's name of 1 to 128 bytes without control characters
            line 6: key `action.tool` is `pay`: expected each tool once, since one rule decides an action
            line 5: key `action.control` is `[]`: expected at least one parameter; leave `control` out to have all of them checked
            line 5: key `action.control` is `"payee"`: expected a list of parameters
            line 5: key `action.control` is `1`: expected a list of parameters
            line 5: key `action.control` is ``: expected a list of parameters, each of 1 to 128 bytes without control characters
            line 5: key `action.control` is `payee, payee`: expected each parameter once
        "#]],
    );
}

#[test]
fn requirements_are_checked() {
    refused(
        &[
            &action("requires = \"lint\""),
            &action("requires = [\"lint\"]"),
            &action("requires = [{ step = \"lint\" }]"),
            &action("requires = [{ subject = \"repo\" }]"),
            &action("requires = [{ step = \"\", subject = \"repo\" }]"),
            &action("requires = [{ step = \"lint\", subject = \"a\\tb\" }]"),
            &action("requires = [{ step = \"lint\", subject = \"repo\", max_age = \"0s\" }]"),
            &action("requires = [{ step = \"lint\", subject = \"repo\", max_age = \"31d\" }]"),
            &action("requires = [{ step = \"lint\", subject = \"repo\", max_age = 3600 }]"),
            &action("requires = [{ step = \"lint\", subject = \"repo\", same_context = \"true\" }]"),
            &action(
                "requires = [\n{ step = \"lint\", subject = \"repo\" },\n{ step = \"lint\", subject = \"repo\", max_age = \"2d\" }]",
            ),
        ],
        &expect![[r#"
            line 5: key `action.requires` is `"lint"`: expected a list of tables, each with `step` and `subject`
            line 5: key `action.requires` is `"lint"`: expected a list of tables, each with `step` and `subject`
            line 5: key `action.requires.subject` is missing: expected the parameter that names what the step checked
            line 5: key `action.requires.step` is missing: expected a step's name of 1 to 128 bytes without control characters
            line 5: key `action.requires.step` is ``: expected a step's name of 1 to 128 bytes without control characters
            line 5: key `action.requires.subject` is `a�b`: expected a parameter's name of 1 to 128 bytes without control characters
            line 5: key `action.requires.max_age` is `"0s"`: expected an age from "1s" to "30d": a whole number and s, m, h or d
            line 5: key `action.requires.max_age` is `"31d"`: expected an age from "1s" to "30d": a whole number and s, m, h or d
            line 5: key `action.requires.max_age` is `3600`: expected an age from "1s" to "30d": a whole number and s, m, h or d
            line 5: key `action.requires.same_context` is `"true"`: expected true or false
            line 7: key `action.requires.step` is `lint`: expected each step once for a subject
        "#]],
    );
    let other = action(
        "requires = [{ step = \"lint\", subject = \"repo\" }, { step = \"lint\", subject = \"fork\" }]",
    );
    assert_eq!(
        policy(&format!("name = \"x\"\n{other}\n")).actions[0]
            .requires
            .len(),
        2
    );
}

#[test]
fn rules_that_could_never_hold_are_refused() {
    refused(
        &[
            &action("control = [\"payee\"]\nrequires = [{ step = \"lint\", subject = \"repo\" }]"),
            "[[action]]\ntool = \"look\"\nclass = \"routine\"\nrequires = [{ step = \"lint\", subject = \"repo\" }]",
            "[[action]]\ntool = \"look\"\nclass = \"routine\"\ncontrol = [\"repo\"]",
            "origin = \"off\"\n[[action]]\ntool = \"pay\"\nclass = \"sensitive\"",
            "origin = \"off\"\n[tool.search]\ntrust = \"untrusted\"",
            "origin = \"off\"\n[endorse]\nk = 2",
        ],
        &expect![[r#"
            line 6: key `action.requires.subject` is `repo`: expected a parameter that `control` names, since an id that nobody binds could be any
            line 5: key `action.requires` is `a list`: expected nothing under `class = "routine"`, since a routine action is never checked
            line 5: key `action.control` is `a list`: expected nothing under `class = "routine"`, since a routine action is never checked
            line 3: key `action` is `a list`: expected no rule of origin under `origin = "off"`, since it would not be obeyed
            line 3: key `tool` is `a table`: expected no rule of origin under `origin = "off"`, since it would not be obeyed
            line 3: key `endorse` is `a table`: expected no rule of origin under `origin = "off"`, since it would not be obeyed
        "#]],
    );
}

fn requiring(class: &str, step: &str) -> String {
    format!(
        "name = \"x\"\n[[action]]\ntool = \"import\"\nclass = \"{class}\"\nrequires = [{{ step = \"{step}\", subject = \"batch\" }}]\n"
    )
}

#[test]
fn a_policy_whose_actions_require_nothing_says_so() {
    expect!["no action is listed: every action is then confirmed by a person, unless a request names its tool and binds its parameters"].assert_eq(&warnings(&named("warden")).join("\n"));
    let nothing = format!("name = \"x\"\n{}\n", action(""));
    expect!["no action requires a step: whether a check has run before an action is never looked up"]
        .assert_eq(&warnings(&policy(&nothing)).join("\n"));
    assert!(warnings(&policy(&requiring("sensitive", "validate"))).is_empty());
    assert!(warnings(&named("sentinel")).is_empty(), "it enforces nothing");
}

#[test]
fn a_policy_that_requires_a_step_is_refused_where_nobody_may_run_one() {
    let policy = policy(FULL);
    assert_eq!(required_steps(&policy), ["scan", "validate"]);
    let error = check_steps(&policy, 0).unwrap_err();
    assert!(matches!(error, PolicyError::NobodyRunsStep { .. }));
    expect!["action `import_batch` requires step `validate`, which nobody may run: expected a principal of role step in the store"].assert_eq(&error.to_string());
    assert_eq!(check_steps(&policy, 1), Ok(()));
    assert_eq!(check_steps(&named("warden"), 0), Ok(()));
}

#[test]
fn a_step_that_the_gate_would_never_look_up_is_not_required() {
    let required = policy(&requiring("sensitive", "validate"));
    let mut routine = required.clone();
    routine.actions[0].class = ActionClass::Routine;
    let mut off = required.clone();
    off.origin = OriginMode::Off;
    assert_eq!(required_steps(&required), ["validate"]);
    for policy in [routine, off] {
        assert!(required_steps(&policy).is_empty());
        assert_eq!(check_steps(&policy, 0), Ok(()));
    }
}

#[test]
fn actions_and_tools_are_explained_one_by_one() {
    let policy = policy(FULL);
    let actions = explain_actions(&policy).into_iter().map(|row| {
        let control = row.control.map_or("all".to_owned(), |names| names.join(" "));
        let class = row.class.as_str();
        format!(
            "{} {class} [{control}] {:?}: {}\n",
            row.tool, row.requires, row.summary
        )
    });
    let tools = explain_tools(&policy)
        .into_iter()
        .map(|row| format!("{} {} {:?}: {}\n", row.tool, row.trusted, row.echoes, row.summary));
    expect![[r#"
        look_up routine [all] []: allowed and logged
        import_batch sensitive [batch target] ["validate of batch, at most 30m old, in the same context", "scan of batch, at most 1h old"]: checked: receipts, then parameters, then the request
        delete_patient high_impact [all] []: checked, and always confirmed by a person
        registry true Never: its output counts as act in any context, and that of its passed receipt binds a parameter
        web.search false Possible: its output decides nothing
    "#]].assert_eq(&actions.chain(tools).collect::<String>());
}

/// What a change of one text into another in [`FULL`] gives up, a line each.
fn change(from: &str, to: &str) -> String {
    assert!(FULL.contains(from), "{from}");
    loosenings(&policy(FULL), &policy(&FULL.replace(from, to))).join("\n")
}

/// The same the other way round.
fn back(from: &str, to: &str) -> String {
    loosenings(&policy(&FULL.replace(from, to)), &policy(FULL)).join("\n")
}

const IMPORT: &str = r#"[[action]]
tool = "import_batch"
class = "sensitive"
control = ["batch", "target"]
requires = [
  { step = "validate", subject = "batch", max_age = "30m", same_context = true },
  { step = "scan", subject = "batch" },
]
"#;
const DELETE: &str = "[[action]]\ntool = \"delete_patient\"\nclass = \"high_impact\"\n";
const LOOK_UP: &str = "[[action]]\ntool = \"look_up\"\nclass = \"routine\"\n";

#[test]
fn each_loosening_of_origin_is_told_and_its_reverse_is_not() {
    let cases = [
        ("k = 3", "k = 2"),
        ("[endorse]\nk = 3\n", ""),
        ("trust = \"untrusted\"", "trust = \"trusted\""),
        ("echoes = \"possible\"", "echoes = \"never\""),
        ("class = \"high_impact\"", "class = \"sensitive\""),
        ("max_age = \"30m\"", "max_age = \"90m\""),
        (", same_context = true", ""),
        ("  { step = \"scan\", subject = \"batch\" },\n", ""),
        ("[\"batch\", \"target\"]", "[\"batch\"]"),
        (DELETE, ""),
    ];
    let told: String = cases
        .iter()
        .map(|(from, to)| format!("{}\n", change(from, to)))
        .collect();
    expect![[r#"
        endorse: k lowered from 3 to 2
        endorse: k lowered from 3 to the default
        tool `web.search`: trust raised from untrusted to trusted
        tool `web.search`: echoes changed from possible to never
        action `delete_patient`: class lowered from high_impact to sensitive
        action `import_batch`: max_age of step `validate` of `batch` raised from 30m to 90m
        action `import_batch`: step `validate` of `batch` may have run in another context
        action `import_batch`: step `scan` of `batch` no longer required
        action `import_batch`: control no longer names target
        action `delete_patient`: no longer listed
        action `delete_patient`: class lowered from high_impact to sensitive
    "#]]
    .assert_eq(&told);
    for (from, to) in cases {
        assert_eq!(back(from, to), "", "{from}");
    }
}

#[test]
fn what_a_listing_changes_is_told_against_the_rule_for_actions_that_are_not_listed() {
    expect![[r#"
        action `import_batch`: no longer listed
        action `import_batch`: step `validate` of `batch` no longer required
        action `import_batch`: step `scan` of `batch` no longer required
        action `import_batch`: control no longer names batch, target: one that is left out is not asked about"#]].assert_eq(&change(IMPORT, ""));
    expect![[r#"
        action `import_batch`: control narrowed from all parameters to batch, target
        action `import_batch`: listed, so a request that names no tool covers it"#]]
    .assert_eq(&back(IMPORT, ""));
    expect!["action `look_up`: class lowered from sensitive to routine"].assert_eq(&back(LOOK_UP, ""));
    assert_eq!(change(LOOK_UP, ""), "", "it is checked from then on");
    expect!["action `import_batch`: control narrowed from all parameters to batch, target"]
        .assert_eq(&back("control = [\"batch\", \"target\"]\n", ""));
    expect!["action `import_batch`: control no longer names batch, target: one that is left out is not asked about"].assert_eq(&change("control = [\"batch\", \"target\"]\n", ""));
}

#[test]
fn a_step_required_of_another_subject_does_not_stand_for_the_one_given_up() {
    let to = "step = \"scan\", subject = \"target\"";
    assert_eq!(
        change("step = \"scan\", subject = \"batch\"", to),
        "action `import_batch`: step `scan` of `batch` no longer required"
    );
}

#[test]
fn making_an_action_routine_gives_up_what_it_required() {
    let routine = "[[action]]\ntool = \"import_batch\"\nclass = \"routine\"\n";
    expect![[r#"
        action `import_batch`: class lowered from sensitive to routine
        action `import_batch`: step `validate` of `batch` no longer required
        action `import_batch`: step `scan` of `batch` no longer required"#]]
    .assert_eq(&change(IMPORT, routine));
    assert_eq!(back(IMPORT, routine), "");
}

#[test]
fn the_default_number_of_endorsers_is_compared_as_two_or_one() {
    let lines = |was: &str, is: &str| {
        let endorse = |k: &str| match k {
            "" => policy("name = \"x\"\n"),
            k => policy(&format!("name = \"x\"\n[endorse]\nk = {k}\n")),
        };
        loosenings(&endorse(was), &endorse(is)).join("\n")
    };
    assert_eq!(lines("", "1"), "endorse: k lowered from the default to 1");
    assert_eq!(
        lines("2", ""),
        "endorse: k lowered from 2 to the default",
        "which is 1 in a store of one domain"
    );
    assert_eq!(lines("", "2"), "");
    assert_eq!(lines("1", ""), "");
}

#[test]
fn giving_up_origin_is_one_line_and_taking_it_up_is_none() {
    let off = policy("name = \"x\"\norigin = \"off\"\n");
    expect!["origin: no longer enforced: every action is allowed and logged"]
        .assert_eq(&loosenings(&policy(FULL), &off).join("\n"));
    assert!(loosenings(&off, &policy(FULL)).is_empty());
    assert!(loosenings(&policy(FULL), &policy(FULL)).is_empty());
}

#[test]
fn the_sharing_of_a_recall_is_read_in_hundredths_and_refused_out_of_range() {
    let read = policy("name = \"x\"\n[recall]\nmax_share_per_principal = 0.25\nnear_duplicates = 1\n").recall;
    assert_eq!((read.max_share_per_principal, read.near_duplicates), (25, 100));
    assert_eq!((read.places(1), read.places(4), read.places(5)), (1, 1, 2));
    let default = policy("name = \"x\"\n").recall;
    assert_eq!(
        (default.max_share_per_principal, default.near_duplicates),
        (50, 90)
    );
    for (line, key) in [
        ("max_share_per_principal = 0", "recall.max_share_per_principal"),
        ("max_share_per_principal = 1.01", "recall.max_share_per_principal"),
        ("near_duplicates = \"all\"", "recall.near_duplicates"),
        ("max_share = 0.5", "recall.max_share"),
    ] {
        let text = format!("name = \"x\"\n[recall]\n{line}\n");
        let error = memwarden_guard::parse(&text).unwrap_err().to_string();
        assert!(error.contains(key) && error.starts_with("line 3"), "{error}");
    }
    let text = "name = \"x\"\norigin = \"off\"\n[recall]\nnear_duplicates = 0.5\n";
    assert!(
        memwarden_guard::parse(text)
            .unwrap_err()
            .to_string()
            .contains("recall")
    );
}

#[test]
fn more_room_for_one_writer_is_a_loosening() {
    let with = |share: &str| {
        policy(&format!(
            "name = \"x\"\n[recall]\nmax_share_per_principal = {share}\n"
        ))
    };
    let lines = memwarden_guard::loosenings(&with("0.2"), &with("0.9"));
    assert_eq!(
        lines,
        ["recall: max_share_per_principal raised from 0.20 to 0.90"]
    );
    assert!(memwarden_guard::loosenings(&with("0.9"), &with("0.2")).is_empty());
}
