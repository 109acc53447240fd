//! Windows, proofs of executed steps, and permissions to act.
//!
//! The shapes have their place in leaves and payloads from the first version of the log; the gate that uses
//! them is not part of this version, so nothing constructs a [`Receipt`] or a [`Permit`] yet.

use crate::{Authority, ContextId, Digest, PrincipalId, Timestamp};

/// One model's window. Its label starts at `Act` and only falls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Its id in leaves.
    pub id: ContextId,
    /// Who opened it.
    pub opened_by: PrincipalId,
    /// The lowest authority of everything that entered the window.
    pub label: Authority,
    /// When its token stops working.
    pub expires: Timestamp,
}

/// What a step was about: the digest is of the very bytes that were checked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Subject {
    /// The kind of thing, such as `batch`.
    pub kind: String,
    /// Its name in the caller's world.
    pub id: String,
    /// SHA-256 of its bytes.
    pub digest: Digest,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The check ran and held.
    Passed,
    /// The check ran and did not hold.
    Failed,
    /// The check did not finish.
    Error,
}

/// A step was executed; only a principal with role `step` may say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The context it ran for.
    pub context: ContextId,
    /// Who ran it.
    pub issuer: PrincipalId,
    /// The step's name.
    pub step: String,
    /// What it was about.
    pub subject: Subject,
    /// SHA-256 of the canonical arguments.
    pub arguments: Digest,
    /// How it ended.
    pub outcome: Outcome,
    /// Its position in the log.
    pub position: u64,
    /// When it stops counting.
    pub expires: Timestamp,
}

/// One action may run once, with exactly these parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permit {
    /// RFC 8785 hash of tool, parameters, namespace and context.
    pub action: Digest,
    /// The context it was granted in.
    pub context: ContextId,
    /// When it stops working.
    pub expires: Timestamp,
}
