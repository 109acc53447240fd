//! Which active records of one namespace a query proposes, and in which order.

use crate::fault::Fault;
use crate::fusion::{self, DEPTH, fuse};
use crate::index::{IN_INDEX, table};
use crate::schema::span;
use crate::terms::expressions;
use crate::vectors::{Vectors, Wanted};
use memwarden_core::log::{Candidate, Ranked, Retrieval, Search};
use memwarden_core::{Kind, PrincipalId};
use rapidfuzz::distance::levenshtein;
use rusqlite::{Connection, params};
use std::collections::BinaryHeap;

/// What a search is made of.
pub(crate) struct Searcher<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) vectors: &'a Vectors,
    /// Changes outside the log that the view knows of.
    pub(crate) changes: u64,
    /// Number of the log.
    pub(crate) log: i64,
    /// Number of the namespace.
    pub(crate) namespace: i64,
}

impl Searcher<'_> {
    /// The best candidates, best first.
    pub(crate) fn candidates(&self, search: &Search<'_>) -> Result<Vec<Candidate>, Fault> {
        if search.limit == 0 {
            return Ok(Vec::new());
        }
        match search.retrieval {
            Retrieval::Lexical => lexical(self.conn, self.namespace, search),
            Retrieval::Levenshtein => nearest(self.conn, self.log, self.namespace, search),
            Retrieval::Vector => Ok(fusion::ranked(&self.near(search, search.limit)?).collect()),
            Retrieval::Hybrid => {
                let depth = search.limit.max(DEPTH);
                let deep = Search {
                    limit: depth,
                    ..*search
                };
                let by_words = lexical(self.conn, self.namespace, &deep)?;
                let mut fused = fuse(&by_words, &self.near(search, depth)?);
                fused.truncate(search.limit);
                Ok(fused)
            }
        }
    }

    fn near(&self, search: &Search<'_>, limit: usize) -> Result<Vec<crate::nearest::Near>, Fault> {
        let Some(vector) = search.vector else {
            return Ok(Vec::new());
        };
        let wanted = Wanted {
            log: self.log,
            namespace: self.namespace,
            search,
            vector,
            limit,
            changes: self.changes,
        };
        self.vectors.nearest(self.conn, &wanted)
    }
}

/// BM25 over the query's terms, combined with OR. The score is FTS5's `bm25()` with its sign turned.
fn lexical(conn: &Connection, namespace: i64, search: &Search<'_>) -> Result<Vec<Candidate>, Fault> {
    let terms = telling(conn, namespace, expressions(search.query), search)?;
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let fts = table(namespace);
    let limit = i64::try_from(search.limit).unwrap_or(i64::MAX);
    let expression = terms.join(" OR ");
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, -row.get::<_, f64>(1)?));
    let found: Vec<(i64, f64)> = match (search.kind, search.without) {
        (None, []) => conn
            .prepare_cached(&format!(
                "SELECT rowid, bm25({fts}) AS score FROM {fts} WHERE {fts} MATCH ?1 ORDER BY score, rowid LIMIT ?2"
            ))?
            .query_map(params![expression, limit], read)?
            .collect::<Result<_, _>>()?,
        (kind, without) => conn
            .prepare_cached(&format!(
                "SELECT {fts}.rowid, bm25({fts}) AS score
                 FROM {fts} CROSS JOIN record ON record.num = {fts}.rowid
                 WHERE {fts} MATCH ?1 AND (?3 IS NULL OR record.kind = ?3) AND {}
                 ORDER BY score, {fts}.rowid LIMIT ?2",
                not_by(without)
            ))?
            .query_map(params![expression, limit, kind.map(Kind::code)], read)?
            .collect::<Result<_, _>>()?,
    };
    let ranked = |(at, (row, score))| Candidate {
        row,
        score,
        by_words: Some(Ranked { rank: at + 1, score }),
        by_vector: None,
    };
    Ok(found.into_iter().enumerate().map(ranked).collect())
}

/// The condition that none of `principals` wrote a row. Ids are hexadecimal, so nothing has to be quoted.
fn not_by(principals: &[PrincipalId]) -> String {
    let ids: Vec<String> = principals.iter().map(|id| format!("x'{id}'")).collect();
    format!("record.principal NOT IN ({})", ids.join(", "))
}

/// Leaves out terms that no record has; then those in more than `common_above` of them, unless there are no
/// others: then only the rarest stays.
fn telling(
    conn: &Connection,
    namespace: i64,
    terms: Vec<String>,
    search: &Search<'_>,
) -> Result<Vec<String>, Fault> {
    let fts = table(namespace);
    let most = i64::try_from(search.common_above).unwrap_or(i64::MAX);
    // Whoever is left out does not make a term common either.
    let matching = if search.without.is_empty() {
        format!("{fts} WHERE {fts} MATCH ?1")
    } else {
        format!(
            "{fts} CROSS JOIN record ON record.num = {fts}.rowid WHERE {fts} MATCH ?1 AND {}",
            not_by(search.without)
        )
    };
    let mut bounded = conn.prepare_cached(&format!(
        "SELECT count(*) FROM (SELECT 1 FROM {matching} LIMIT ?2)"
    ))?;
    let (mut rare, mut common) = (Vec::new(), Vec::new());
    for term in terms {
        let count: i64 = bounded.query_row(params![term, most.saturating_add(1)], |row| row.get(0))?;
        if count > most {
            common.push(term);
        } else if count > 0 {
            rare.push(term);
        }
    }
    if !rare.is_empty() || common.len() < 2 {
        return Ok(if rare.is_empty() { common } else { rare });
    }
    let mut rarest: Option<(i64, String)> = None;
    for term in common {
        let count: i64 = bounded.query_row(params![term, i64::MAX], |row| row.get(0))?;
        if rarest.as_ref().is_none_or(|(least, _)| count < *least) {
            rarest = Some((count, term));
        }
    }
    Ok(rarest.into_iter().map(|(_, term)| term).collect())
}

/// Smallest edit distance (in characters) of the whole content to the query;
/// score `1 - distance / max(length)`.
fn nearest(
    conn: &Connection,
    log: i64,
    namespace: i64,
    search: &Search<'_>,
) -> Result<Vec<Candidate>, Fault> {
    let query_length = search.query.chars().count();
    let comparator = levenshtein::BatchComparator::new(search.query.chars());
    let (first, last) = span(log);
    let mut statement = conn.prepare_cached(&format!(
        "SELECT num, content FROM record
         WHERE num BETWEEN ?1 AND ?2 AND namespace = ?3 AND {IN_INDEX} AND (?4 IS NULL OR kind = ?4)
           AND {} ORDER BY num",
        not_by(search.without)
    ))?;
    let kind = search.kind.map(|kind| kind.code());
    let mut rows = statement.query(params![first, last, namespace, kind])?;
    // The worst of the best on top; an equally near row that comes later does not displace it.
    let mut best: BinaryHeap<(usize, i64, usize)> = BinaryHeap::new();
    while let Some(row) = rows.next()? {
        let text: String = row.get(1)?;
        let bound = match best.peek() {
            Some((0, ..)) if best.len() >= search.limit => break,
            Some((worst, ..)) if best.len() >= search.limit => worst - 1,
            _ => usize::MAX,
        };
        let within = levenshtein::Args::default().score_cutoff(bound);
        if let Some(distance) = comparator.distance_with_args(text.chars(), &within) {
            if best.len() >= search.limit {
                best.pop();
            }
            best.push((distance, row.get(0)?, text.chars().count().max(query_length)));
        }
    }
    Ok(best
        .into_sorted_vec()
        .into_iter()
        .map(|(distance, row, longest)| Candidate {
            row,
            score: similarity(distance, longest),
            by_words: None,
            by_vector: None,
        })
        .collect())
}

#[expect(clippy::cast_precision_loss, reason = "lengths are far below 2^52 characters")]
fn similarity(distance: usize, longest: usize) -> f64 {
    if longest == 0 {
        1.0
    } else {
        1.0 - distance as f64 / longest as f64
    }
}
