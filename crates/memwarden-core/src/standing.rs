//! What changes a record's authority after it was written: endorsements raise it, revocations cap it.

use crate::{Authority, PrincipalId, RecordId, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Someone vouched for a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endorsement {
    /// The record.
    pub record: RecordId,
    /// Who vouched.
    pub principal: PrincipalId,
    /// When.
    pub time: Timestamp,
    /// Records that the endorser rests on.
    pub grounds: Vec<RecordId>,
    /// Its place in the log.
    pub position: u64,
}

/// What a principal wrote in an interval counts for nothing, nor does what is derived from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revocation {
    /// The principal.
    pub principal: PrincipalId,
    /// Start, inclusive.
    pub since: Timestamp,
    /// End, inclusive; `None` for no end.
    pub until: Option<Timestamp>,
}

/// What raises and caps authority now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// Records that enough independent endorsers vouched for.
    pub endorsed: HashSet<RecordId>,
    /// Revocations in force.
    pub revocations: Vec<Revocation>,
}

impl Standing {
    /// Whether a revocation covers what `principal` did at `time`.
    #[must_use]
    pub fn revokes(&self, principal: &PrincipalId, time: Timestamp) -> bool {
        self.revocations.iter().any(|revocation| {
            revocation.principal == *principal
                && revocation.since <= time
                && revocation.until.is_none_or(|until| time <= until)
        })
    }

    /// Authority now: as written, raised by endorsements, capped by revocations.
    #[must_use]
    pub fn effective(&self, record: &RecordId, written: Authority, capped: bool) -> Authority {
        if capped {
            Authority::None
        } else if self.endorsed.contains(record) {
            Authority::Act
        } else {
            written
        }
    }
}

/// The records that at least `k` endorsers vouch for who are `act` principals of different administrative
/// domains and whose grounds share no ancestor. `domain_of` is `None` for a principal that is not `act`, or
/// that a revocation reaches. Copies and restatements never count: an endorsement names a record.
#[must_use]
pub fn endorsed(
    endorsements: &[Endorsement],
    k: usize,
    domain_of: impl Fn(&Endorsement) -> Option<String>,
    parents_of: impl Fn(&RecordId) -> Vec<RecordId>,
) -> HashSet<RecordId> {
    let mut by_record: HashMap<RecordId, BTreeMap<String, Vec<HashSet<RecordId>>>> = HashMap::new();
    for endorsement in endorsements {
        if let Some(domain) = domain_of(endorsement) {
            let grounds = ancestry(&endorsement.grounds, &parents_of);
            by_record
                .entry(endorsement.record)
                .or_default()
                .entry(domain)
                .or_default()
                .push(grounds);
        }
    }
    let enough = |domains: &BTreeMap<String, Vec<HashSet<RecordId>>>| {
        let domains: Vec<_> = domains.values().map(Vec::as_slice).collect();
        independent(&domains, &HashSet::new(), k.max(1))
    };
    by_record
        .into_iter()
        .filter(|(_, domains)| enough(domains))
        .map(|(record, _)| record)
        .collect()
}

/// Whether `k` of the domains have grounds that are pairwise disjoint and disjoint from `taken`.
fn independent(domains: &[&[HashSet<RecordId>]], taken: &HashSet<RecordId>, k: usize) -> bool {
    if k == 0 {
        return true;
    }
    let Some((first, rest)) = domains.split_first() else {
        return false;
    };
    if domains.len() < k {
        return false;
    }
    let with_first = first
        .iter()
        .filter(|grounds| grounds.is_disjoint(taken))
        .any(|grounds| {
            let taken = taken.union(grounds).copied().collect();
            independent(rest, &taken, k - 1)
        });
    with_first || independent(rest, taken, k)
}

fn ancestry(grounds: &[RecordId], parents_of: &impl Fn(&RecordId) -> Vec<RecordId>) -> HashSet<RecordId> {
    let mut family = HashSet::new();
    let mut rest = grounds.to_vec();
    while let Some(record) = rest.pop() {
        if family.insert(record) {
            rest.extend(parents_of(&record));
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endorsement(by: u8, grounds: &[u8]) -> Endorsement {
        Endorsement {
            record: RecordId::from_bytes([1; 16]),
            principal: PrincipalId::from_bytes([by; 16]),
            time: Timestamp::default(),
            grounds: grounds.iter().map(|id| RecordId::from_bytes([*id; 16])).collect(),
            position: by.into(),
        }
    }

    fn counts(endorsements: &[Endorsement], k: usize) -> bool {
        // Principals 1 and 2 share a domain; 9 is no `act` principal. Record 20 is a child of 10.
        let domain = |endorsement: &Endorsement| match endorsement.principal.as_bytes()[0] {
            1 | 2 => Some("a".to_owned()),
            9 => None,
            other => Some(format!("d{other}")),
        };
        let parents = |record: &RecordId| {
            if record.as_bytes()[0] == 20 {
                vec![RecordId::from_bytes([10; 16])]
            } else {
                Vec::new()
            }
        };
        !endorsed(endorsements, k, domain, parents).is_empty()
    }

    #[test]
    fn support_is_counted_by_independent_domains() {
        assert!(counts(&[endorsement(1, &[]), endorsement(3, &[])], 2));
        assert!(
            !counts(&[endorsement(1, &[]), endorsement(2, &[])], 2),
            "one domain"
        );
        assert!(
            !counts(&[endorsement(1, &[]), endorsement(1, &[])], 2),
            "twice the same"
        );
        assert!(
            !counts(&[endorsement(1, &[]), endorsement(9, &[])], 2),
            "not an act principal"
        );
        assert!(
            !counts(&[endorsement(1, &[10]), endorsement(3, &[20])], 2),
            "a shared ancestor"
        );
        assert!(
            counts(
                &[
                    endorsement(1, &[10]),
                    endorsement(2, &[11]),
                    endorsement(3, &[20])
                ],
                2
            ),
            "another of the domain"
        );
        assert!(counts(&[endorsement(1, &[])], 1));
    }
}
