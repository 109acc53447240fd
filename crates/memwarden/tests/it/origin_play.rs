//! The cast of the tests of origin: a clinic's policy, its people, one agent in one context, and a way to run an
//! attack twice, with everything on and with one mechanism switched off.

use crate::fixture::{Fixture, START, ns};
use memwarden::core::{ContextId, Decided, Decision, Digest, Outcome, ParamValue, Params, Subject};
use memwarden::{
    Authority, Authorized, Credential, Entry, Executed, FieldValue, Handle, Mechanisms, Options, Query,
    Receipted, RecordId, Remembered, Role, Warden, WardenError,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const SECOND: u64 = 1_000_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;

/// `import` needs a validated batch, `pay` what its parameters say, `wipe` a person each time.
pub const POLICY: &str = r#"
name = "clinic"

[tool.registry]
trust = "trusted"
echoes = "never"

[tool.mirror]
trust = "trusted"

[[action]]
tool = "import"
class = "sensitive"
control = ["batch"]
requires = [{ step = "validate", subject = "batch", max_age = "30m" }]

[[action]]
tool = "pay"
class = "sensitive"

[[action]]
tool = "wipe"
class = "high_impact"

[[action]]
tool = "clock"
class = "routine"
"#;

/// An open store, everyone's handle, and the agent's context.
pub struct Play {
    pub fixture: Fixture,
    pub mechanisms: Mechanisms,
    pub warden: Arc<Warden>,
    pub owner: Handle,
    pub user: Handle,
    pub agent: Handle,
    pub step: Handle,
    pub context: ContextId,
    pub token: String,
    /// The agent in its context.
    pub within: Handle,
    user_credential: Credential,
}

impl Play {
    pub fn new() -> Self {
        Self::without(|_| {})
    }

    /// Opened with what `off` switches off.
    pub fn without(off: impl FnOnce(&mut Mechanisms)) -> Self {
        let fixture = Fixture::new("off");
        let mut mechanisms = Mechanisms::default();
        off(&mut mechanisms);
        let options = Options {
            mechanisms,
            ..fixture.options()
        };
        let warden = Warden::open_with(&fixture.places, &options).unwrap();
        let owner = fixture.handle(&warden, Role::Owner);
        owner
            .load_policy(&memwarden::guard::parse(POLICY).unwrap())
            .unwrap();
        let user_credential = owner.register("ann", Role::User, None).unwrap();
        let user = warden.handle(&user_credential).unwrap();
        let agent = fixture.handle(&warden, Role::Agent);
        let step = fixture.handle(&warden, Role::Step);
        let opened = agent.begin().unwrap();
        let within = agent.within(&opened.token).unwrap();
        Self {
            fixture,
            mechanisms,
            warden,
            owner,
            user,
            agent,
            step,
            context: opened.context,
            token: opened.token,
            within,
            user_credential,
        }
    }

    pub fn options(&self) -> Options {
        Options {
            mechanisms: self.mechanisms,
            ..self.fixture.options()
        }
    }

    /// A second process on the same directory.
    pub fn other(&self) -> Arc<Warden> {
        Warden::open_with(&self.fixture.places, &self.options()).unwrap()
    }

    /// Puts time at so many microseconds after the start.
    pub fn at(&self, micros: u64) {
        self.fixture.clock.set(START + micros);
    }

    /// Ends this process and starts another on the same directory.
    pub fn reopened(self) -> Self {
        let Self {
            fixture,
            mechanisms,
            warden,
            owner,
            user,
            agent,
            step,
            context,
            token,
            within,
            user_credential,
        } = self;
        drop((owner, user, agent, step, within, warden));
        let options = Options {
            mechanisms,
            ..fixture.options()
        };
        let warden = Warden::open_with(&fixture.places, &options).unwrap();
        Self::seated(fixture, mechanisms, warden, context, token, user_credential)
    }

    /// A backup of `then` lies in the place of what happened since, accepted by the owner.
    pub fn restored(self, backup: &std::path::Path) -> Self {
        let Self {
            fixture,
            mechanisms,
            warden,
            owner,
            user,
            agent,
            step,
            context,
            token,
            within,
            user_credential,
        } = self;
        drop((owner, user, agent, step, within, warden));
        let options = Options {
            mechanisms,
            ..fixture.options()
        };
        let credential = fixture.made.credential(Role::Owner).unwrap();
        let restored = Warden::restore_from(&fixture.places, &options, &credential, backup, "disk lost");
        let (warden, _) = restored.unwrap();
        Self::seated(fixture, mechanisms, warden, context, token, user_credential)
    }

    fn seated(
        fixture: Fixture,
        mechanisms: Mechanisms,
        warden: Arc<Warden>,
        context: ContextId,
        token: String,
        user_credential: Credential,
    ) -> Self {
        let agent = fixture.handle(&warden, Role::Agent);
        Self {
            owner: fixture.handle(&warden, Role::Owner),
            user: warden.handle(&user_credential).unwrap(),
            within: agent.within(&token).unwrap_or_else(|_| agent.clone()),
            step: fixture.handle(&warden, Role::Step),
            agent,
            warden,
            fixture,
            mechanisms,
            context,
            token,
            user_credential,
        }
    }

    /// What the user asks for in the agent's context.
    pub fn asks(&self, text: &str) {
        self.user.request(self.context, text, None).unwrap();
    }

    pub fn authorize(&self, tool: &str, params: &Params) -> Authorized {
        self.within
            .authorize(&ns("a"), tool, params, None)
            .unwrap_or_else(|error| panic!("{tool}: {error}"))
    }

    pub fn decides(&self, tool: &str, params: &Params) -> Decision {
        self.authorize(tool, params).decided.decision
    }

    pub fn explains(&self, tool: &str, params: &Params) -> Decided {
        self.within.explain(&ns("a"), tool, params).unwrap()
    }

    /// The step says how it ended on batch 0412 with these bytes.
    pub fn validated(&self, bytes: &str, outcome: Outcome) -> Receipted {
        self.step
            .receipt(&executed(self.context, "validate", bytes, outcome))
            .unwrap()
    }

    pub fn remembers(&self, by: &Handle, text: &str) -> Remembered {
        by.remember(&ns("a"), Entry::new(text)).unwrap()
    }

    /// Something from outside, stored at authority none.
    pub fn poison(&self, text: &str) -> RecordId {
        let outside = self.owner.register("web", Role::External, None).unwrap();
        let outside = self.warden.handle(&outside).unwrap();
        self.remembers(&outside, text).id
    }

    /// The texts that a handle is served for `words`.
    pub fn recalls(&self, by: &Handle, words: &str) -> Vec<String> {
        let recalled = by.recall(&ns("a"), &Query::new(words)).unwrap();
        recalled
            .hits
            .into_iter()
            .map(|hit| hit.record.entry.content)
            .collect()
    }

    pub fn effective(&self, record: RecordId) -> Authority {
        self.owner.inspect(record).unwrap().effective
    }
}

/// Runs an attack twice on fresh stores: what it gains with everything on, and with `off` switched off.
#[track_caller]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a test reads better without references"
)]
pub fn attack<T: std::fmt::Debug + PartialEq>(
    off: fn(&mut Mechanisms),
    gains: impl Fn(Play) -> T,
    stopped: T,
    back: T,
) {
    assert_eq!(gains(Play::new()), stopped, "with everything on");
    assert_eq!(gains(Play::without(off)), back, "with the mechanism switched off");
}

pub fn text(value: &str) -> ParamValue {
    ParamValue::String(value.to_owned())
}

pub fn params<const N: usize>(values: [(&str, ParamValue); N]) -> Params {
    Params::new(
        values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
    .unwrap()
}

/// The import of batch 0412 with these bytes.
pub fn import(bytes: &str) -> Params {
    params([
        ("batch", text("0412")),
        ("batch_sha256", text(&Digest::of(bytes.as_bytes()).to_string())),
    ])
}

pub fn pay(payee: &str) -> Params {
    params([("payee", text(payee))])
}

pub fn executed(context: ContextId, step: &str, bytes: &str, outcome: Outcome) -> Executed {
    Executed {
        namespace: ns("a"),
        context,
        step: step.to_owned(),
        subject: Subject {
            kind: "batch".to_owned(),
            id: "0412".to_owned(),
            digest: Digest::of(bytes.as_bytes()),
        },
        arguments: Digest::of(b"{}"),
        outcome,
        tool: None,
        output: Vec::new(),
        life_us: None,
    }
}

pub fn with_field(content: &str, name: &str, value: &str) -> Entry {
    let mut entry = Entry::new(content);
    entry.fields = BTreeMap::from([(name.to_owned(), FieldValue::String(value.to_owned()))]);
    entry
}

/// The name of the refusal, so that a test says by which rule it was.
pub fn refusal(error: &WardenError) -> String {
    match error {
        WardenError::Refused(refused) => format!("refused: {refused}"),
        WardenError::Forbidden { verb, .. } => format!("forbidden: {verb}"),
        WardenError::Context { .. } => "context".to_owned(),
        WardenError::BadInput { field, .. } => format!("bad input: {field}"),
        other => format!("unexpected: {other}"),
    }
}
