//! Who acts: a principal is known by its credential, never by what a call says.

use crate::{Authority, PrincipalId};
use std::fmt;
use std::str::FromStr;

/// What a principal is, which fixes its class of authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Administrates the store.
    Owner,
    /// The surrounding program, speaking for nobody else.
    System,
    /// A person.
    User,
    /// A language model that writes memories. The role of a key without a class.
    Agent,
    /// An action layer that executes steps and may report that they ran.
    Step,
    /// A tool whose output is stored.
    Tool,
    /// Anything from outside.
    External,
    /// Reviews quarantined entries.
    Reviewer,
}

impl Role {
    /// Every role, in the order of its code.
    pub const ALL: [Self; 8] = [
        Self::Owner,
        Self::System,
        Self::User,
        Self::Agent,
        Self::Step,
        Self::Tool,
        Self::External,
        Self::Reviewer,
    ];

    /// The name used in credentials and output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::System => "system",
            Self::User => "user",
            Self::Agent => "agent",
            Self::Step => "step",
            Self::Tool => "tool",
            Self::External => "external",
            Self::Reviewer => "reviewer",
        }
    }

    /// The byte that stands for it in a payload.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Owner => 0,
            Self::System => 1,
            Self::User => 2,
            Self::Agent => 3,
            Self::Step => 4,
            Self::Tool => 5,
            Self::External => 6,
            Self::Reviewer => 7,
        }
    }

    /// The role that `code` stands for.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The highest authority that this role can write. (A tool marked trusted by policy is raised there.)
    #[must_use]
    pub const fn class(self) -> Authority {
        match self {
            Self::Owner | Self::System | Self::User => Authority::Act,
            Self::Agent => Authority::Inform,
            Self::Step | Self::Tool | Self::External | Self::Reviewer => Authority::None,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A role name was not one of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("role `{given}` is not known: expected owner, system, user, agent, step, tool, external or reviewer")]
pub struct RoleError {
    /// What was given.
    pub given: String,
}

impl FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        Self::ALL
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| RoleError {
                given: text.chars().take(80).collect(),
            })
    }
}

/// Someone who acts on the store: bound to a credential, registered in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// Its id in every leaf it causes.
    pub id: PrincipalId,
    /// A name for people; 1 to 128 characters.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Its administrative domain. Support is counted by domain, so unassigned principals share one.
    pub domain: String,
}

impl Principal {
    /// The domain of principals that the administrator has not assigned.
    pub const SHARED_DOMAIN: &'static str = "shared";
}
