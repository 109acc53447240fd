//! A store with everybody in it: the agent that learns, its users, and a plugin that came with a credential.
//!
//! It writes what an agent would and finds examples as the agent's paper says. Its time stands still, so that a run
//! depends on its seed alone.

use super::till::{Guarded, Leave, Open, Till};
use crate::experiment::ExperimentError;
use crate::shop::{Catalog, Product};
use memwarden::{
    Clock, Credential, Durability, Entry, Handle, Kind, Namespace, Options, Places, Policy, Query, RecordId,
    Retrieval, Role, Status, TraceType, Warden, WardenError,
};
use memwarden_core::encode::Encode;
use memwarden_core::{Digest, OriginMode, Timestamp};
use rapidfuzz::distance::levenshtein;
#[cfg(test)]
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time in every bank, in microseconds since 1970.
const NOW_US: u64 = 1_800_000_000_000_000;
/// How many records are looked through for one that is asked for by its very words.
const AMONG: usize = 8;

/// How an agent looks for examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// By the edit distance of the requests, smallest first.
    Requests,
    /// By the words of the whole record.
    Words,
    /// By the vector of the whole record.
    Vectors,
    /// By both.
    Hybrid,
}

impl Way {
    /// The name in experiment files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Words => "words",
            Self::Vectors => "vectors",
            Self::Hybrid => "hybrid",
        }
    }
}

/// What an agent read before it wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Nothing but its memory and what its user asked.
    Nothing,
    /// A document that somebody else wrote.
    Document(Digest),
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The record.
    pub id: RecordId,
    /// Whether it may be served.
    pub active: bool,
    /// Whether it waits for a person.
    pub waits: bool,
}

/// An example that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The record.
    pub id: RecordId,
    /// Its text.
    pub text: String,
}

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(NOW_US)
    }

    fn running(&self) -> Duration {
        Duration::ZERO
    }
}

/// A written record that may be served.
#[derive(Debug)]
struct Card {
    id: RecordId,
    request: String,
    text: String,
}

/// The store.
#[derive(Debug)]
pub struct Bank {
    agent: Handle,
    user: Handle,
    plugin: Handle,
    step: Handle,
    namespace: Namespace,
    origin: OriginMode,
    way: Way,
    cards: Mutex<Vec<Card>>,
    /// What the store said about serving a card, since the last write.
    served: Mutex<HashMap<RecordId, bool>>,
}

impl Bank {
    /// A new store under a policy, in a directory of its own.
    ///
    /// # Errors
    /// The store cannot be made.
    pub fn new(
        directory: &Path,
        policy: &Policy,
        encoder: Option<Arc<dyn Encode>>,
        way: Way,
    ) -> Result<Self, ExperimentError> {
        let places = Places::within(
            directory.join("store"),
            directory.join("keys"),
            directory.join("witness"),
        );
        let clock: Arc<dyn Clock> = Arc::new(Still);
        let made = Warden::init_at(&places, policy, clock.now())?;
        let options = Options {
            clock,
            encoder,
            // A cell is thrown away: nothing in it has to outlast the machine.
            durability: Durability::Unsynced,
            ..Options::default()
        };
        let warden = Warden::open_with(&places, &options)?;
        let owner = warden.handle(&made.credential(Role::Owner)?)?;
        let bound = |credential: &Credential| warden.handle(credential);
        Ok(Self {
            agent: bound(&owner.register("agent", Role::Agent, None)?)?,
            user: bound(&owner.register("user", Role::User, None)?)?,
            plugin: bound(&owner.register("plugin", Role::Tool, None)?)?,
            step: bound(&made.credential(Role::Step)?)?,
            origin: policy.origin,
            namespace: "track".parse().map_err(|_| WardenError::BadInput {
                field: "namespace",
                given: "track".to_owned(),
                expected: "a name".to_owned(),
            })?,
            way,
            cards: Mutex::new(Vec::new()),
            served: Mutex::new(HashMap::new()),
        })
    }

    /// Opens a window of the agent in which a user asks for something.
    ///
    /// # Errors
    /// The store fails.
    pub fn window(&self, request: &str) -> Result<Window<'_>, ExperimentError> {
        let opened = self.agent.begin()?;
        let handle = self.agent.within(&opened.token)?;
        if self.origin == OriginMode::Enforced {
            self.user.request(opened.context, request, None)?;
        }
        Ok(Window { bank: self, handle })
    }

    /// The plugin writes a record that passes itself off as the agent's.
    ///
    /// # Errors
    /// The store fails.
    pub fn plant(&self, request: &str, record: &str) -> Result<Kept, ExperimentError> {
        self.write(&self.plugin, request, record)
    }

    fn write(&self, handle: &Handle, request: &str, record: &str) -> Result<Kept, ExperimentError> {
        let entry = Entry {
            kind: Kind::Reasoning,
            trace_type: TraceType::ThoughtChain,
            source: Some("agent".to_owned()),
            trust: Some("verified".to_owned()),
            ..Entry::new(record)
        };
        let written = handle.remember(&self.namespace, entry)?;
        let active = written.status == Status::Active;
        if active {
            self.cards
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Card {
                    id: written.id,
                    request: request.to_owned(),
                    text: record.to_owned(),
                });
            self.served.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
        Ok(Kept {
            id: written.id,
            active,
            waits: written.status == Status::Quarantined,
        })
    }

    /// The names of those who wrote what may be served.
    ///
    /// # Errors
    /// The store fails.
    #[cfg(test)]
    pub(crate) fn writers(&self) -> Result<BTreeSet<String>, ExperimentError> {
        let records = self.agent.list(&self.namespace, Status::Active)?;
        let name = |record: memwarden::Record| {
            let known = [&self.agent, &self.user, &self.plugin, &self.step];
            let writer = known
                .into_iter()
                .find(|handle| handle.principal().id == record.principal);
            writer.map_or_else(|| "unknown".to_owned(), |handle| handle.principal().name.clone())
        };
        Ok(records.into_iter().map(name).collect())
    }

    /// How many records may be served.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cards.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing may be served.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn examples(&self, reader: &Handle, request: &str, k: usize) -> Result<Vec<Found>, ExperimentError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let retrieval = match self.way {
            Way::Requests => return self.nearest(request, k),
            Way::Words => Retrieval::Lexical,
            Way::Vectors => Retrieval::Vector,
            Way::Hybrid => Retrieval::Hybrid,
        };
        let query = Query {
            k,
            retrieval,
            ..Query::new(request)
        };
        let recall = reader.recall(&self.namespace, &query)?;
        let found = recall.hits.into_iter().map(|hit| Found {
            id: hit.record.id,
            text: hit.record.entry.content,
        });
        Ok(found.collect())
    }

    /// The store compares whole texts, the agent only requests: so the agent ranks, and the store says of each
    /// record in turn whether it serves it.
    fn nearest(&self, request: &str, k: usize) -> Result<Vec<Found>, ExperimentError> {
        let cards = self.cards.lock().unwrap_or_else(PoisonError::into_inner);
        let asked: Vec<char> = request.chars().collect();
        let mut order: Vec<(usize, &Card)> = cards
            .iter()
            .map(|card| {
                (
                    levenshtein::distance(asked.iter().copied(), card.request.chars()),
                    card,
                )
            })
            .collect();
        order.sort_by_key(|(distance, _)| *distance);
        let mut found = Vec::with_capacity(k);
        for (_, card) in order {
            if found.len() == k {
                break;
            }
            if let Some(text) = self.serves(card)? {
                found.push(Found { id: card.id, text });
            }
        }
        Ok(found)
    }

    /// The text of a card as the store serves it, if it does.
    fn serves(&self, card: &Card) -> Result<Option<String>, ExperimentError> {
        let known = self
            .served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&card.id)
            .copied();
        if let Some(served) = known {
            return Ok(served.then(|| card.text.clone()));
        }
        let query = Query {
            k: AMONG,
            retrieval: Retrieval::Levenshtein,
            ..Query::new(card.text.as_str())
        };
        let recall = self.agent.recall(&self.namespace, &query)?;
        let served = recall.hits.iter().any(|hit| hit.record.id == card.id);
        self.served
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(card.id, served);
        Ok(served.then(|| card.text.clone()))
    }
}

/// One window of the agent.
#[derive(Debug)]
pub struct Window<'b> {
    bank: &'b Bank,
    handle: Handle,
}

impl Window<'_> {
    /// The k best examples for a request.
    ///
    /// # Errors
    /// The store fails.
    pub fn examples(&self, request: &str, k: usize) -> Result<Vec<Found>, ExperimentError> {
        self.bank.examples(&self.handle, request, k)
    }

    /// The agent remembers a record about a request.
    ///
    /// # Errors
    /// The store fails.
    pub fn remember(&self, request: &str, record: &str, reading: Reading) -> Result<Kept, ExperimentError> {
        if let Reading::Document(digest) = reading {
            self.handle.observe("document", digest)?;
        }
        self.bank.write(&self.handle, request, record)
    }

    /// The window is over.
    ///
    /// # Errors
    /// The store fails.
    pub fn end(self) -> Result<(), ExperimentError> {
        Ok(self.handle.end()?)
    }
}

impl Till for Window<'_> {
    fn leave(&self, request: &str, product: &Product, catalog: &Catalog) -> Result<Leave, ExperimentError> {
        match self.bank.origin {
            OriginMode::Off => Open.leave(request, product, catalog),
            OriginMode::Enforced => Guarded {
                window: &self.handle,
                step: &self.bank.step,
                namespace: &self.bank.namespace,
            }
            .leave(request, product, catalog),
        }
    }
}
