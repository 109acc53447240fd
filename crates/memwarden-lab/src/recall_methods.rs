//! The ways of recall that a store offers, as methods that the recall evaluation can ask.
//!
//! Each dialogue is a namespace of one store, so that all methods look at the same records. The policy is `off`: what
//! is measured is retrieval, not who may say what.

use crate::recall_eval::{self, DEPTH, RecallEvalError, RecallScore};
use memwarden::core::RecordId;
use memwarden::core::encode::Encode;
use memwarden::{CommonTerms, Entry, Handle, Namespace, Options, Places, Query, Retrieval, Role, Warden};
use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

type Failed = Box<dyn Error + Send + Sync>;

/// The methods that are measured, by name.
pub const METHODS: [(&str, Retrieval, CommonTerms); 5] = [
    ("hybrid", Retrieval::Hybrid, CommonTerms::Dropped),
    ("hybrid, common terms kept", Retrieval::Hybrid, CommonTerms::Kept),
    ("BM25", Retrieval::Lexical, CommonTerms::Dropped),
    ("BM25, common terms kept", Retrieval::Lexical, CommonTerms::Kept),
    ("vectors", Retrieval::Vector, CommonTerms::Dropped),
];

/// Measures every method of [`METHODS`] on a LoCoMo file. The store is made in `directory`, which must be empty;
/// `done` is told after each method.
///
/// # Errors
/// A file of another shape; a store that fails.
pub fn measure(
    json: &str,
    encoder: Arc<dyn Encode>,
    directory: &Path,
    done: &mut dyn FnMut(&str),
) -> Result<Vec<(&'static str, RecallScore)>, RecallEvalError> {
    let dialogues = recall_eval::parse(json)?;
    let failed = |source: Failed| RecallEvalError::Method {
        dialogue: String::new(),
        source,
    };
    let mut kept = Kept::new(directory, encoder).map_err(failed)?;
    let mut scores = Vec::new();
    for (name, retrieval, common_terms) in METHODS {
        let mut method = Method {
            kept: &mut kept,
            dialogue: 0,
            retrieval,
            common_terms,
        };
        scores.push((name, recall_eval::evaluate(&dialogues, &mut method)?));
        done(name);
    }
    Ok(scores)
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
}

impl recall_eval::Recall for Method<'_> {
    fn remember(&mut self, turns: &[String]) -> Result<(), Failed> {
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
