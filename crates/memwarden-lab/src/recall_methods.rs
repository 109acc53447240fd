//! The ways of recall that a store offers, as methods that the recall evaluation can ask.
//!
//! Each dialogue is a namespace of one store, so that all methods look at the same records. The policy is `off`: what
//! is measured is retrieval, not who may say what.

use crate::recall_eval::{self, DEPTH, RecallEvalError, RecallScore};
use memwarden::core::RecordId;
use memwarden::core::encode::{Embedding, Encode, EncodeError};
use memwarden::{CommonTerms, Entry, Handle, Namespace, Options, Places, Query, Retrieval, Role, Warden};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

type Failed = Box<dyn Error + Send + Sync>;

/// The methods that are measured, by name.
pub const METHODS: [(&str, Retrieval, CommonTerms); 5] = [
    ("hybrid", Retrieval::Hybrid, CommonTerms::Dropped),
    ("hybrid, common terms kept", Retrieval::Hybrid, CommonTerms::Kept),
    ("BM25", Retrieval::Lexical, CommonTerms::Dropped),
    ("BM25, common terms kept", Retrieval::Lexical, CommonTerms::Kept),
    ("vectors", Retrieval::Vector, CommonTerms::Dropped),
];

/// How far a measurement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The method at work.
    pub method: &'static str,
    /// Dialogues that it was asked about, over all methods.
    pub done: usize,
    /// How many there will be.
    pub of: usize,
}

/// Measures every method of [`METHODS`] on a LoCoMo file. The store is made in `directory`, which must be empty;
/// `progress` is told when a method begins with a dialogue.
///
/// # Errors
/// A file of another shape; a store that fails.
pub fn measure(
    json: &str,
    encoder: Arc<dyn Encode>,
    directory: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<(&'static str, RecallScore)>, RecallEvalError> {
    let dialogues = recall_eval::parse(json)?;
    let failed = |source: Failed| RecallEvalError::Method {
        dialogue: String::new(),
        source,
    };
    let mut kept = Kept::new(directory, Arc::new(Asked::of(encoder))).map_err(failed)?;
    let of = METHODS.len() * dialogues.len();
    let mut done = 0;
    let mut scores = Vec::new();
    for (name, retrieval, common_terms) in METHODS {
        let mut method = Method {
            kept: &mut kept,
            dialogue: 0,
            retrieval,
            common_terms,
            begins: &mut || {
                progress(Progress {
                    method: name,
                    done,
                    of,
                });
                done += 1;
            },
        };
        scores.push((name, recall_eval::evaluate(&dialogues, &mut method)?));
    }
    Ok(scores)
}

/// An encoder that reads each question once, however many methods ask it.
#[derive(Debug)]
struct Asked {
    encoder: Arc<dyn Encode>,
    known: Mutex<HashMap<String, Vec<f32>>>,
}

impl Asked {
    fn of(encoder: Arc<dyn Encode>) -> Self {
        Self {
            encoder,
            known: Mutex::default(),
        }
    }
}

impl Encode for Asked {
    fn name(&self) -> &str {
        self.encoder.name()
    }

    fn dimensions(&self) -> usize {
        self.encoder.dimensions()
    }

    fn encode(&self, texts: &[&str]) -> Result<Vec<Embedding>, EncodeError> {
        self.encoder.encode(texts)
    }

    fn encode_query(&self, text: &str) -> Result<Vec<f32>, EncodeError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(vector) = known.get(text) {
            return Ok(vector.clone());
        }
        let vector = self.encoder.encode_query(text)?;
        known.insert(text.to_owned(), vector.clone());
        Ok(vector)
    }
}

/// The store and which record is which turn of which dialogue.
struct Kept {
    agent: Handle,
    turns: Vec<HashMap<RecordId, usize>>,
}

impl Kept {
    fn new(directory: &Path, encoder: Arc<dyn Encode>) -> Result<Self, Failed> {
        let at = |name: &str| directory.join(name);
        let places = Places::within(at("store"), at("keys"), at("witness"));
        let policy = memwarden::guard::preset("off").ok_or("no preset `off`")?;
        let made = Warden::init(&places, &policy)?;
        let options = Options {
            encoder: Some(encoder),
            ..Options::default()
        };
        let warden = Warden::open_with(&places, &options)?;
        Ok(Self {
            agent: warden.handle(&made.credential(Role::Agent)?)?,
            turns: Vec::new(),
        })
    }

    fn namespace(dialogue: usize) -> Result<Namespace, Failed> {
        Ok(format!("dialogue.{dialogue}").parse()?)
    }

    /// Remembers a dialogue that no method has asked about before.
    fn remember(&mut self, dialogue: usize, turns: &[String]) -> Result<(), Failed> {
        if dialogue < self.turns.len() {
            return Ok(());
        }
        let namespace = Self::namespace(dialogue)?;
        let lanes: Vec<usize> = (0..turns.len()).collect();
        let agent = &self.agent;
        let written = crate::parallel::each(16, &lanes, |turn| {
            let text = turns.get(*turn).map(String::as_str).unwrap_or_default();
            let written = agent.remember(&namespace, Entry::new(text))?;
            Ok::<_, memwarden::WardenError>((written.id, *turn))
        })?;
        self.turns.push(written.into_iter().collect());
        Ok(())
    }
}

struct Method<'a> {
    kept: &'a mut Kept,
    /// Number of the dialogue that is asked about, from 1.
    dialogue: usize,
    retrieval: Retrieval,
    common_terms: CommonTerms,
    begins: &'a mut dyn FnMut(),
}

impl recall_eval::Recall for Method<'_> {
    fn remember(&mut self, turns: &[String]) -> Result<(), Failed> {
        (self.begins)();
        self.kept.remember(self.dialogue, turns)?;
        self.dialogue += 1;
        Ok(())
    }

    fn recall(&mut self, question: &str, limit: usize) -> Result<Vec<usize>, Failed> {
        let dialogue = self.dialogue.saturating_sub(1);
        let query = Query {
            k: limit.max(DEPTH),
            retrieval: self.retrieval,
            common_terms: self.common_terms,
            ..Query::new(question)
        };
        let recalled = self.kept.agent.recall(&Kept::namespace(dialogue)?, &query)?;
        let turns = self
            .kept
            .turns
            .get(dialogue)
            .ok_or("the dialogue was not remembered")?;
        let turn = |hit: &memwarden::Hit| turns.get(&hit.record.id).copied();
        Ok(recalled.hits.iter().filter_map(turn).collect())
    }
}
