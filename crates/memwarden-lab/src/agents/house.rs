//! One store with everybody in it: the owner, a user, three agents, their action layer, and what reads the web.
//!
//! Its time is its own: it stands still until somebody moves it, so that a run depends on its seed alone.

use super::Agent;
use super::layer::{Deed, Layer};
use super::work::{Checked, Job};
use crate::demo::DemoError;
use crate::parallel;
use memwarden::{
    Authorized, Clock, Credential, Durability, Handle, Mechanisms, Namespace, Options, Places, Policy,
    RecordId, Role, Warden, WardenError,
};
use memwarden_core::encode::Encode;
use memwarden_core::{ContextId, Decision, Outcome, Timestamp};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where the time of a house starts, in microseconds since 1970.
const START_US: u64 = 1_800_000_000_000_000;
/// Things done at a time in one house: a store commits what waits together, so that they share one wait for the disk.
pub(crate) const LANES: usize = 8;

/// Time that stands still until it is moved.
#[derive(Debug)]
pub(crate) struct HouseClock(AtomicU64);

impl Clock for HouseClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }

    fn running(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Credentials of those who are in every house, in the order of [`EVERYBODY`].
type Keys = Arc<Vec<Credential>>;

const EVERYBODY: [(&str, Role); 6] = [
    ("import agent", Role::Agent),
    ("question agent", Role::Agent),
    ("shopping agent", Role::Agent),
    ("user", Role::User),
    ("web reader", Role::Tool),
    ("compromised plugin", Role::Tool),
];

/// What a store of a house is opened with.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// What a measurement switches off.
    pub(crate) mechanisms: Mechanisms,
    /// What retrieval by vectors goes by; without one, words alone.
    pub(crate) encoder: Option<Arc<dyn Encode>>,
    /// Whether commits are synced.
    pub(crate) durability: Durability,
}

/// One store and the handles on it.
#[derive(Debug)]
pub(crate) struct House {
    directory: PathBuf,
    places: Places,
    options: Options,
    keys: Keys,
    owner_key: Arc<Credential>,
    step_key: Arc<Credential>,
    clock: Arc<HouseClock>,
    pub(crate) owner: Handle,
    pub(crate) user: Handle,
    pub(crate) web: Handle,
    pub(crate) plugin: Handle,
    pub(crate) layer: Layer,
    agents: Vec<(Agent, Handle, Namespace)>,
}

impl House {
    /// A new store under `policy` in a directory of its own, as the demo has it.
    pub(crate) fn new(directory: &Path, policy: &Policy, mechanisms: Mechanisms) -> Result<Self, DemoError> {
        // The published agents retrieve by words.
        let setting = Setting {
            mechanisms,
            encoder: None,
            durability: Durability::Synced,
        };
        Self::with(directory, policy, setting)
    }

    /// A new store under `policy` in a directory of its own.
    pub(crate) fn with(directory: &Path, policy: &Policy, setting: Setting) -> Result<Self, DemoError> {
        let places = Places::within(
            directory.join("store"),
            directory.join("keys"),
            directory.join("witness"),
        );
        let clock = Arc::new(HouseClock(AtomicU64::new(START_US)));
        let made = Warden::init_at(&places, policy, clock.now())?;
        let shared: Arc<dyn Clock> = clock.clone();
        let options = Options {
            clock: shared,
            mechanisms: setting.mechanisms,
            encoder: setting.encoder,
            durability: setting.durability,
            ..Options::default()
        };
        let warden = Warden::open_with(&places, &options)?;
        let owner_key = Arc::new(made.credential(Role::Owner)?);
        let owner = warden.handle(&owner_key)?;
        let keys = parallel::each(LANES, &EVERYBODY, |(name, role)| {
            owner.register(name, *role, None)
        })?;
        let step_key = Arc::new(made.credential(Role::Step)?);
        let layer = Layer::new(warden.handle(&step_key)?);
        let parts = Parts {
            directory: directory.to_owned(),
            places,
            options,
            keys: Arc::new(keys),
            owner_key,
            step_key,
            clock,
        };
        parts.furnish(&warden, layer)
    }

    /// The handle and the namespace of an agent.
    pub(crate) fn agent(&self, agent: Agent) -> Result<(&Handle, &Namespace), DemoError> {
        let found = self.agents.iter().find(|(known, _, _)| *known == agent);
        found
            .map(|(_, handle, namespace)| (handle, namespace))
            .ok_or(DemoError::Empty)
    }

    /// A handle for somebody who is only in this house.
    pub(crate) fn register(&self, name: &str, role: Role, domain: Option<&str>) -> Result<Handle, DemoError> {
        let credential = self.owner.register(name, role, domain)?;
        Ok(self.owner.warden().handle(&credential)?)
    }

    /// The time in this house.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass.
    pub(crate) fn wait(&self, micros: u64) {
        self.clock.0.fetch_add(micros, Ordering::SeqCst);
    }

    /// The database file.
    pub(crate) fn database(&self) -> PathBuf {
        self.places.store.join("memwarden.db")
    }

    /// Opens a window of an agent; with a text, the user asks for it there.
    pub(crate) fn window(&self, agent: Agent, request: Option<&str>) -> Result<Window<'_>, DemoError> {
        let (handle, namespace) = self.agent(agent)?;
        let opened = handle.begin()?;
        let handle = handle.within(&opened.token)?;
        if let Some(text) = request {
            self.user.request(opened.context, text, None)?;
        }
        let token = opened.token;
        Ok(Window {
            house: self,
            handle,
            context: opened.context,
            token,
            namespace,
        })
    }

    /// Comes back to a window with its token; `None` if it is not open any more.
    pub(crate) fn rejoin(&self, agent: Agent, token: &str) -> Result<Option<Window<'_>>, DemoError> {
        let (handle, namespace) = self.agent(agent)?;
        let handle = match handle.within(token) {
            Err(WardenError::Context { .. }) => return Ok(None),
            handle => handle?,
        };
        let context = handle.context().ok_or(DemoError::Unexpected {
            what: "a token opened no window",
        })?;
        Ok(Some(Window {
            house: self,
            handle,
            context,
            token: token.to_owned(),
            namespace,
        }))
    }

    /// Runs the check of a job in a window of its own, as an earlier session would have.
    pub(crate) fn check_earlier(&self, job: &Job, life_us: Option<u64>) -> Result<Checked, DemoError> {
        let window = self.window(job.agent, None)?;
        Ok(self.layer.check(window.namespace, window.context, job, life_us)?)
    }

    /// Leaves a failed receipt for everything that a check covers.
    pub(crate) fn fail_later(&self, job: &Job) -> Result<(), DemoError> {
        let window = self.window(job.agent, None)?;
        for subject in &job.check().covered {
            self.layer.receipt(
                window.namespace,
                window.context,
                job.agent,
                subject,
                Outcome::Failed,
                None,
            )?;
        }
        Ok(())
    }

    /// Writes a backup into the house's directory.
    pub(crate) fn backup(&self) -> Result<PathBuf, DemoError> {
        let file = self.directory.join("backup.db");
        self.owner.backup(&file)?;
        Ok(file)
    }

    /// Another house with the same memory, log and credentials, in a directory of its own: what is done there is not
    /// done here. Its time is this one's.
    #[cfg(feature = "full")]
    pub(crate) fn fork(&self, directory: &Path) -> Result<Self, DemoError> {
        let places = Places::within(
            directory.join("store"),
            directory.join("keys"),
            directory.join("witness"),
        );
        std::fs::create_dir_all(&places.store).map_err(|error| DemoError::file(&places.store, &error))?;
        self.owner.backup(&places.store.join("memwarden.db"))?;
        let keys = self.places.keys_of(self.owner.warden().store_id())?;
        let copy = places.keys_of(self.owner.warden().store_id())?;
        copy_files(&keys, &copy).map_err(|error| DemoError::file(&copy, &error))?;
        let clock = Arc::new(HouseClock(AtomicU64::new(self.clock.0.load(Ordering::SeqCst))));
        let options = Options {
            clock: clock.clone(),
            ..self.options.clone()
        };
        let warden = Warden::open_with(&places, &options)?;
        let layer = self.layer.forked(warden.handle(&self.step_key)?);
        let parts = Parts {
            directory: directory.to_owned(),
            places,
            options,
            keys: Arc::clone(&self.keys),
            owner_key: Arc::clone(&self.owner_key),
            step_key: Arc::clone(&self.step_key),
            clock,
        };
        parts.furnish(&warden, layer)
    }

    /// The house after its owner put a backup in the place of the store and accepted it.
    pub(crate) fn restored(self, backup: &Path) -> Result<Self, DemoError> {
        let Self {
            directory,
            places,
            options,
            keys,
            owner_key,
            step_key,
            clock,
            layer,
            ..
        } = self;
        let (warden, _) = Warden::restore_from(
            &places,
            &options,
            &owner_key,
            backup,
            "the demo restores a backup",
        )?;
        let layer = layer.reopened(warden.handle(&step_key)?);
        Parts {
            directory,
            places,
            options,
            keys,
            owner_key,
            step_key,
            clock,
        }
        .furnish(&warden, layer)
    }
}

#[cfg(feature = "full")]
fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for file in std::fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_file() {
            std::fs::copy(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}

/// What is left of a house without an open store.
struct Parts {
    directory: PathBuf,
    places: Places,
    options: Options,
    keys: Keys,
    owner_key: Arc<Credential>,
    step_key: Arc<Credential>,
    clock: Arc<HouseClock>,
}

impl Parts {
    fn furnish(self, warden: &Arc<Warden>, layer: Layer) -> Result<House, DemoError> {
        let handles: Vec<Handle> = self
            .keys
            .iter()
            .map(|key| warden.handle(key))
            .collect::<Result<_, WardenError>>()?;
        let [ehr, question, rap, user, web, plugin] =
            <[Handle; 6]>::try_from(handles).map_err(|_| DemoError::Empty)?;
        let mut agents = Vec::new();
        for (agent, handle) in Agent::ALL.iter().zip([ehr, question, rap]) {
            let namespace = agent.as_str().parse().map_err(|_| DemoError::Empty)?;
            agents.push((*agent, handle, namespace));
        }
        let owner = warden.handle(&self.owner_key)?;
        let Self {
            directory,
            places,
            options,
            keys,
            owner_key,
            step_key,
            clock,
        } = self;
        Ok(House {
            directory,
            places,
            options,
            keys,
            owner_key,
            step_key,
            clock,
            owner,
            user,
            web,
            plugin,
            layer,
            agents,
        })
    }
}

/// One model's window.
#[derive(Debug)]
pub(crate) struct Window<'h> {
    house: &'h House,
    pub(crate) handle: Handle,
    pub(crate) context: ContextId,
    pub(crate) token: String,
    pub(crate) namespace: &'h Namespace,
}

/// What became of an attempt to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It was allowed and executed.
    Executed,
    /// A person would be asked.
    Confirm,
    /// It may not run.
    Deny,
    /// An approval or permit did not hold.
    Refused,
}

impl Window<'_> {
    /// Runs the check of a job in this window.
    pub(crate) fn check(&self, job: &Job) -> Result<Checked, WardenError> {
        self.house.layer.check(self.namespace, self.context, job, None)
    }

    /// Runs the check of a job, then asks for the action that follows from it.
    pub(crate) fn check_and_act(&self, job: &Job) -> Result<Answer, DemoError> {
        let checked = self.check(job)?;
        let tool = if checked.outcome == Outcome::Passed {
            job.agent.checked_action()
        } else {
            "reject"
        };
        let deed = Deed::new(tool, job, checked.result.as_deref(), job.agent.lever().usual)?;
        Ok(self.act(&deed, None)?)
    }

    /// Asks the gate; `None` if the approval that was shown does not hold.
    pub(crate) fn authorize(
        &self,
        deed: &Deed,
        approval: Option<RecordId>,
    ) -> Result<Option<Authorized>, WardenError> {
        match self
            .handle
            .authorize(self.namespace, &deed.tool, &deed.params, approval)
        {
            Err(WardenError::Refused(memwarden_core::log::Refusal::Spent { .. })) => Ok(None),
            authorized => authorized.map(Some),
        }
    }

    /// Asks the gate and, if allowed, redeems the permit and executes.
    pub(crate) fn act(&self, deed: &Deed, approval: Option<RecordId>) -> Result<Answer, WardenError> {
        let Some(authorized) = self.authorize(deed, approval)? else {
            return Ok(Answer::Refused);
        };
        match (authorized.decided.decision, authorized.permit) {
            (Decision::Confirm, _) => Ok(Answer::Confirm),
            (Decision::Allow, Some(permit)) => {
                let executed = self
                    .house
                    .layer
                    .execute(permit, self.namespace, self.context, deed)?;
                Ok(if executed {
                    Answer::Executed
                } else {
                    Answer::Refused
                })
            }
            (Decision::Allow | Decision::Deny, _) => Ok(Answer::Deny),
        }
    }
}
