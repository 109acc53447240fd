//! How entries are looked for, and what is found. Not here: what a view may see of it.

use crate::{NamespaceId, PrincipalId};

/// A record that retrieval proposes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The store's row number.
    pub row: i64,
    /// Higher is better; comparable only within one answer.
    pub score: f64,
    /// Where it stands by its words; none where they do not propose it.
    pub by_words: Option<Ranked>,
    /// Where it stands by its vector.
    pub by_vector: Option<Ranked>,
}

/// A place in the order of one way of looking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranked {
    /// From 1.
    pub rank: usize,
    /// BM25 (its sign turned), or the cosine.
    pub score: f64,
}

/// How entries are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retrieval {
    /// Words and vectors, fused by reciprocal rank.
    #[default]
    Hybrid,
    /// BM25 over words.
    Lexical,
    /// Cosine of vectors.
    Vector,
    /// Edit distance of the whole text to the query, smallest first.
    Levenshtein,
}

impl Retrieval {
    /// Every way, in the order of its declaration.
    pub const ALL: [Self; 4] = [Self::Hybrid, Self::Lexical, Self::Vector, Self::Levenshtein];

    /// The name used in requests and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Lexical => "lexical",
            Self::Vector => "vector",
            Self::Levenshtein => "levenshtein",
        }
    }
}

/// A query as a vector, and the encoder that made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryVector<'a> {
    /// Only vectors of this encoder are compared.
    pub encoder: &'a str,
    /// The vector before it was rounded, of any length.
    pub vector: &'a [f32],
    /// Records below this cosine are not proposed.
    pub at_least: f32,
}

/// A search within one namespace, over active records only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search<'a> {
    /// Where to look.
    pub namespace: NamespaceId,
    /// How to look.
    pub retrieval: Retrieval,
    /// What to look for.
    pub query: &'a str,
    /// The same as a vector; without one, nothing is found by its vector.
    pub vector: Option<QueryVector<'a>>,
    /// Most candidates.
    pub limit: usize,
    /// A term found in more records than this leaves the query when a rarer one remains.
    pub common_above: u64,
    /// Only this kind, if set.
    pub kind: Option<crate::Kind>,
    /// Nothing by these.
    pub without: &'a [PrincipalId],
}
