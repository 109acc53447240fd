//! The verified read path: one consistent view of the store, brought in line with the log, whose rows can
//! be taken out only through [`Verified`].

use crate::chain::Chain;
use crate::{Warden, WardenError, sweep};
use memwarden_core::log::{NamespaceRow, Records, Snapshot};
use memwarden_core::{Namespace, NamespaceId, Record, RecordId, Status, Verified};
use std::cell::RefCell;

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
        let mut snapshot = store.snapshot()?;
        let (size, extended) = chain.catch_up(&mut *snapshot)?;
        if checks_enabled() {
            if snapshot.changed_outside_the_log() {
                sweep::compare_all(chain, &mut *snapshot, size)?;
            } else {
                sweep::compare_new(chain, &mut *snapshot, &extended)?;
            }
        }
        Ok(Self {
            chain,
            snapshot,
            size,
        })
    }

    /// The namespace of this name.
    pub(crate) fn namespace(&mut self, name: &Namespace) -> Result<NamespaceRow, WardenError> {
        let found = self
            .snapshot
            .namespaces(self.chain.log)?
            .into_iter()
            .find(|row| row.name == name.as_str());
        found.ok_or_else(|| WardenError::NoNamespace {
            namespace: name.to_string(),
        })
    }

    /// Fails if rows of this namespace differ from the log.
    pub(crate) fn require_intact(&self, namespace: &NamespaceRow) -> Result<(), WardenError> {
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
        let Some(stored) = self.snapshot.row(row)? else {
            return Ok(None);
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
            .map_err(|mismatch| WardenError::Tampered {
                namespace,
                record: id,
                what: mismatch.to_string(),
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

/// Whether rows are checked. Always, but in the control build of the conformance suite.
pub(crate) const fn checks_enabled() -> bool {
    !cfg!(feature = "unverified-reads")
}
