//! Looking for records: what proposes candidates, and which of them may be served at all.
//!
//! For: `recall`, and stages that ask what is stored near a text. Not for: the order that is shown, which trust and
//! shares decide (`recall`, `shelf`).

use crate::recall::{CommonTerms, Query};
use crate::view::{LazyView, checks_enabled};
use crate::{Warden, WardenError};
use memwarden_core::log::{Candidate, NamespaceRow, QueryVector, Retrieval, Search};
use memwarden_core::{PrincipalId, Record, Status, Timestamp};

/// A term in more records than this share of a namespace counts as common (1 %, measured on LoCoMo).
const COMMON_SHARE_DIVISOR: u64 = 100;
/// A term in at most this many records is never common, or small stores would lose their words.
const COMMON_FLOOR: u64 = 100;
/// A record whose vector is farther from the query than this is not found by its vector, or a store of a few records
/// would answer every query with all of them. It leaves out only what has nothing in common with the query: with
/// the built-in encoder, LoCoMo's questions lie at 0.38 from turns picked at random (median; 5 % below 0.24).
pub(crate) const LEAST_COSINE: u32 = 25;

/// A query with its vector.
#[derive(Debug)]
pub(crate) struct Searching<'a> {
    warden: &'a Warden,
    query: &'a Query,
    vector: Option<Vec<f32>>,
}

impl<'a> Searching<'a> {
    /// Encodes the query, where a vector is wanted and there is an encoder.
    pub(crate) fn new(warden: &'a Warden, query: &'a Query) -> Result<Self, WardenError> {
        let wanted = matches!(query.retrieval, Retrieval::Hybrid | Retrieval::Vector);
        let vector = match &warden.encoder {
            Some(encoder) if wanted => Some(encoder.encode_query(&query.text)?),
            None if query.retrieval == Retrieval::Vector => {
                return Err(WardenError::BadInput {
                    field: "retrieval",
                    given: query.retrieval.as_str().to_owned(),
                    expected: "hybrid, lexical or levenshtein: this store was opened without an encoder"
                        .to_owned(),
                });
            }
            _ => None,
        };
        Ok(Self {
            warden,
            query,
            vector,
        })
    }

    /// Looks with a vector that is there already.
    pub(crate) const fn with(warden: &'a Warden, query: &'a Query, vector: Option<Vec<f32>>) -> Self {
        Self {
            warden,
            query,
            vector,
        }
    }

    /// The `limit` best of a namespace, without those of some writers.
    pub(crate) fn candidates(
        &self,
        view: &LazyView<'_>,
        namespace: &NamespaceRow,
        limit: usize,
        without: &[PrincipalId],
    ) -> Result<Vec<Candidate>, WardenError> {
        let active = self.warden.chain.replay().active_in(&namespace.id);
        let vector = self.vector.as_deref();
        let encoder = self.warden.encoder.as_ref();
        let search = Search {
            namespace: namespace.id,
            // Words alone keep their own scores.
            retrieval: match self.query.retrieval {
                Retrieval::Hybrid if vector.is_none() => Retrieval::Lexical,
                retrieval => retrieval,
            },
            query: &self.query.text,
            vector: vector.zip(encoder).map(|(vector, encoder)| QueryVector {
                encoder: encoder.name(),
                vector,
                at_least: hundredths(self.query.least_cosine),
            }),
            limit,
            common_above: match self.query.common_terms {
                CommonTerms::Dropped => (active / COMMON_SHARE_DIVISOR).max(COMMON_FLOOR),
                CommonTerms::Kept => u64::MAX,
            },
            kind: self.query.kind,
            without,
        };
        view.with(|view| Ok(view.snapshot.candidates(&search)?))
    }
}

/// As a share; above 1 nothing is near enough.
#[expect(
    clippy::cast_precision_loss,
    reason = "anything above 100 stands for the same"
)]
fn hundredths(value: u32) -> f32 {
    value.min(1_000) as f32 / 100.0
}

/// The record of a candidate, if it is still to be served.
pub(crate) fn serveable(
    view: &LazyView<'_>,
    namespace: &NamespaceRow,
    row: i64,
    now: Timestamp,
) -> Result<Option<Record>, WardenError> {
    let found = match view.with(|view| view.record(row)) {
        // Purged after this view was opened, or an index row that was planted: nothing to serve.
        Err(WardenError::Purged { .. }) => None,
        found => found?,
    };
    let Some(record) = found else {
        // The row may have been deleted behind our back.
        view.with(|view| view.require_intact(namespace))?;
        return Ok(None);
    };
    let record = record.into_inner();
    if record.namespace != namespace.name && checks_enabled() {
        let what = "the index of another namespace points at it".to_owned();
        return Err(WardenError::Tampered {
            namespace: namespace.name.clone(),
            record: record.id,
            what,
        });
    }
    let expired = record.entry.valid_until.is_some_and(|end| end <= now);
    Ok((record.status == Status::Active && !expired).then_some(record))
}
