//! The verified read path: one consistent view of the store, brought in line with the log, whose rows can
//! be taken out only through [`Verified`].

use crate::chain::Chain;
use crate::encoder::Encoded;
use crate::recall::Query;
use crate::search::{Searching, serveable};
use crate::writer::RELOAD_TRIES;
use crate::{Damage, Warden, WardenError, sweep};
use memwarden_core::log::{NamespaceRow, Records, Snapshot, StoreError};
use memwarden_core::{Namespace, NamespaceId, Record, RecordId, Status, Verified, tokens};
use memwarden_store::MAX_TERMS;
use std::cell::RefCell;
use std::collections::HashSet;

/// One consistent, checked view.
pub(crate) struct View<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) snapshot: Box<dyn Snapshot + 'a>,
    /// Log size at the moment of the view.
    pub(crate) size: u64,
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl<'a> View<'a> {
    /// Opens a view and brings the verified state up to it.
    pub(crate) fn open(store: &'a dyn Records, chain: &'a Chain) -> Result<Self, WardenError> {
        chain.check_anchor()?;
        let mut tries = 0;
        let mut compare_all = false;
        let (mut snapshot, size, extended) = loop {
            let floor = chain.size();
            let mut snapshot = store.snapshot()?;
            compare_all |= snapshot.changed_outside_the_log();
            match chain.catch_up(&mut *snapshot, floor) {
                Err(WardenError::Unverified { reason }) if tries < RELOAD_TRIES => {
                    // Another process may have rotated the key: verify everything with the one that lies there.
                    drop(snapshot);
                    if chain.reload(store).is_err() {
                        return Err(WardenError::Unverified { reason });
                    }
                    tries += 1;
                    compare_all = true;
                }
                caught_up => {
                    let (size, extended) = caught_up?;
                    break (snapshot, size, extended);
                }
            }
        };
        chain.refresh_usage(&mut *snapshot, size)?;
        if checks_enabled() {
            if compare_all {
                sweep::compare_all(chain, &mut *snapshot, size)?;
            } else if !extended.written.is_empty() {
                sweep::compare_new(chain, &mut *snapshot, size, &extended)?;
            }
        }
        Ok(Self {
            chain,
            snapshot,
            size,
        })
    }

    /// The namespace of this name.
    ///
    /// Names lie in a table that the log does not bind row by row; each write commits to its namespace's
    /// name. While one namespace cannot be told by its name, no name that leads nowhere is believed to be new.
    pub(crate) fn namespace(&mut self, name: &Namespace) -> Result<NamespaceRow, WardenError> {
        let rows = self.snapshot.namespaces(self.chain.log)?;
        let found = rows.iter().find(|row| row.name == name.as_str());
        if checks_enabled() {
            let proven = self.chain.namespace_named(name.as_str());
            let astray = match (proven, found) {
                (Some(id), Some(row)) => id != row.id,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => self.chain.damage().iter().any(|damage| {
                    damage.namespace.is_some_and(|id| {
                        let row = rows.iter().find(|row| row.id == id);
                        row.is_none_or(|row| Some(&row.name) != self.chain.name_of(&id).as_ref())
                    })
                }),
            };
            if astray {
                let record = self.oldest_of(proven);
                return Err(WardenError::Tampered {
                    namespace: name.to_string(),
                    record,
                    what: sweep::RENAMED.to_owned(),
                });
            }
        }
        found.cloned().ok_or_else(|| WardenError::NoNamespace {
            namespace: name.to_string(),
        })
    }

    /// The oldest record of a namespace, or of one whose name does not hold.
    fn oldest_of(&self, namespace: Option<NamespaceId>) -> RecordId {
        let damaged = self.chain.damage().first().map(|damage| damage.record);
        let replay = self.chain.replay();
        let oldest = replay
            .expectations()
            .filter(|(_, expected)| Some(expected.namespace) == namespace)
            .min_by_key(|(_, expected)| expected.position)
            .map(|(record, _)| *record);
        oldest.or(damaged).unwrap_or(RecordId::from_bytes([0; 16]))
    }

    /// Fails if rows of this namespace differ from the log.
    pub(crate) fn require_intact(&self, namespace: &NamespaceRow) -> Result<(), WardenError> {
        if !checks_enabled() {
            return Ok(());
        }
        let damage = self.chain.damage();
        match damage
            .iter()
            .find(|damage| damage.namespace == Some(namespace.id))
        {
            Some(damage) => Err(WardenError::Tampered {
                namespace: namespace.name.clone(),
                record: damage.record,
                what: damage.what.clone(),
            }),
            None => Ok(()),
        }
    }

    /// The record in a row, checked against the log; `None` for a row that was isolated or written after
    /// this view.
    pub(crate) fn record(&mut self, row: i64) -> Result<Option<Verified<Record>>, WardenError> {
        let stored = match self.snapshot.row(row) {
            Ok(Some(stored)) => stored,
            Ok(None) => {
                // An index that points at nothing: find out whether a row was deleted.
                if checks_enabled() {
                    sweep::compare_all(self.chain, &mut *self.snapshot, self.size)?;
                }
                return Ok(None);
            }
            Err(StoreError::Row { reason, .. }) => return self.unreadable(row, reason),
            Err(error) => return Err(error.into()),
        };
        #[cfg(feature = "unverified-reads")]
        if !checks_enabled() {
            return Ok(Some(Verified::unchecked(stored)));
        }
        let (id, namespace) = (stored.id, stored.namespace.clone());
        let replay = self.chain.replay();
        let Some(expected) = replay.expectation(&id) else {
            if replay.is_isolated(&id) {
                return Ok(None);
            }
            let what = "it has a row that the log knows nothing of".to_owned();
            return Err(WardenError::Tampered {
                namespace,
                record: id,
                what,
            });
        };
        if expected.status == Status::Purged {
            return Err(WardenError::Purged { record: id });
        }
        Verified::check(stored, expected, self.size)
            .map(Some)
            .map_err(|mismatch| {
                self.chain.add_damage(Damage {
                    namespace: Some(expected.namespace),
                    record: id,
                    what: mismatch.to_string(),
                });
                WardenError::Tampered {
                    namespace,
                    record: id,
                    what: mismatch.to_string(),
                }
            })
    }

    /// What to say of a row that no version of this code writes: nothing, if it was isolated.
    fn unreadable(&mut self, row: i64, what: String) -> Result<Option<Verified<Record>>, WardenError> {
        let mut id = None;
        self.snapshot.rows(self.chain.log, 0, &mut |found| {
            if found.row == row {
                id = Some(found.id);
            }
        })?;
        if id.is_some_and(|id| self.chain.replay().is_isolated(&id)) {
            return Ok(None);
        }
        let known = id.and_then(|id| {
            let replay = self.chain.replay();
            replay.expectation(&id).map(|known| (id, known.namespace))
        });
        let Some((record, namespace)) = known else {
            return Err(WardenError::unverified(format!(
                "row {row} does not read back: {what}"
            )));
        };
        self.chain.add_damage(Damage {
            namespace: Some(namespace),
            record,
            what: what.clone(),
        });
        Err(WardenError::Tampered {
            namespace: self.name_of(namespace)?,
            record,
            what,
        })
    }

    /// The record of this id, checked against the log.
    pub(crate) fn find(&mut self, record: &RecordId) -> Result<Verified<Record>, WardenError> {
        let row = self.snapshot.find(record)?;
        let Some(row) = row else {
            let expected = self
                .chain
                .replay()
                .expectation(record)
                .map(|expected| expected.namespace);
            return Err(match expected {
                None => WardenError::NotFound { record: *record },
                Some(id) => WardenError::Tampered {
                    namespace: self.name_of(id)?,
                    record: *record,
                    what: "its row is missing".to_owned(),
                },
            });
        };
        self.record(row)?.ok_or(WardenError::NotFound { record: *record })
    }

    /// The name of a namespace, or its id where the name is gone.
    pub(crate) fn name_of(&mut self, id: NamespaceId) -> Result<String, WardenError> {
        let rows = self.snapshot.namespaces(self.chain.log)?;
        Ok(rows
            .into_iter()
            .find(|row| row.id == id)
            .map_or_else(|| id.to_string(), |row| row.name))
    }
}

/// A view that is opened when somebody first asks: most entries are screened without one.
pub(crate) struct LazyView<'a> {
    warden: &'a Warden,
    view: RefCell<Option<View<'a>>>,
}

impl std::fmt::Debug for LazyView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LazyView")
            .field("view", &self.view)
            .finish_non_exhaustive()
    }
}

impl<'a> LazyView<'a> {
    pub(crate) const fn new(warden: &'a Warden) -> Self {
        Self {
            warden,
            view: RefCell::new(None),
        }
    }

    pub(crate) const fn opened(warden: &'a Warden, view: View<'a>) -> Self {
        Self {
            warden,
            view: RefCell::new(Some(view)),
        }
    }

    /// Steps that last passed, as receipts of a namespace say, on a subject or on anything.
    pub(crate) fn receipts_about(&self, namespace: &str, subject: Option<&str>) -> Result<u64, WardenError> {
        self.with(|view| {
            self.warden.catch_up_facts(&mut *view.snapshot)?;
            let counts = |receipt: &crate::facts::Receipt| self.warden.receipt_counts(receipt);
            let count = self.warden.with_facts(|facts| {
                let about = facts
                    .standing_passes(namespace, counts)
                    .filter(|(of, _)| subject.is_none_or(|id| of.id == id));
                about.count()
            });
            Ok(count as u64)
        })
    }

    /// The texts of the active records of a namespace that are nearest to a text, best first: by words and vectors, the
    /// order that a recall starts from. What is found and no longer served, an expired record for example, makes room
    /// for what stands behind it.
    pub(crate) fn nearest(
        &self,
        namespace: &NamespaceRow,
        encoded: &Encoded<'_>,
        text: &str,
        limit: usize,
    ) -> Result<Vec<String>, WardenError> {
        let query = Query::new(looked_for(text));
        let vector = encoded.of(text)?.map(|(_, embedding)| embedding.scaled());
        let search = Searching::with(self.warden, &query, vector);
        let now = self.warden.now();
        let (mut texts, mut seen) = (Vec::new(), HashSet::new());
        let mut wanted = limit.saturating_mul(2);
        loop {
            let candidates = search.candidates(self, namespace, wanted, &[])?;
            for candidate in &candidates {
                if texts.len() >= limit {
                    return Ok(texts);
                }
                if seen.insert(candidate.row)
                    && let Some(record) = serveable(self, namespace, candidate.row, now)?
                {
                    texts.push(record.entry.content);
                }
            }
            if texts.len() >= limit || candidates.len() < wanted {
                return Ok(texts);
            }
            wanted = wanted.saturating_mul(2);
        }
    }

    pub(crate) fn with<T>(
        &self,
        ask: impl FnOnce(&mut View<'a>) -> Result<T, WardenError>,
    ) -> Result<T, WardenError> {
        let mut view = self.view.borrow_mut();
        match view.as_mut() {
            Some(view) => ask(view),
            None => ask(view.insert(self.warden.view()?)),
        }
    }
}

/// The words of a text that are looked for. A search takes only so many; of a long text they are taken from its whole
/// length, or it could hide what it is about behind a long beginning.
fn looked_for(text: &str) -> String {
    let mut seen = HashSet::new();
    let words: Vec<String> = tokens(text)
        .into_iter()
        .map(|token| token.text)
        .filter(|word| seen.insert(word.clone()))
        .collect();
    if words.len() <= MAX_TERMS {
        return text.to_owned();
    }
    let apart = (0..MAX_TERMS).filter_map(|at| words.get(at * words.len() / MAX_TERMS));
    apart.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Whether rows are checked. Always, but in the control build of the conformance suite.
pub(crate) const fn checks_enabled() -> bool {
    !cfg!(feature = "unverified-reads")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_that_are_looked_for_come_from_the_whole_length_of_a_text() {
        assert_eq!(looked_for("A ferry, a ferry."), "A ferry, a ferry.");
        let long: Vec<String> = (0..640).map(|at| format!("w{at}")).collect();
        let words = looked_for(&long.join(" "));
        assert_eq!(words.split(' ').count(), MAX_TERMS);
        assert!(words.starts_with("w0 ") && words.ends_with(" w630"));
    }
}
