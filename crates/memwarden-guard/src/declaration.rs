//! Whether what an entry declares about its source fits the principal that wrote it.
//!
//! For: a finding. Not for: authority, which comes from the principal alone and never from a declaration; nor
//! for the published layers, which believe it (`provenance`).

use memwarden_core::{Finding, Role, Score, Severity};

/// The stage that findings about origin carry. It is no stage that a policy lists: it always looks.
pub const ORIGIN_STAGE: &str = "origin";
/// The rule of [`declaration_mismatch`].
pub const DECLARED_SOURCE_RULE: &str = "declared-source";

/// A finding where an entry declares a source that its writer, of role `role`, cannot speak for.
///
/// A writer may declare its own role, a role whose class of authority is lower, and `tool` or `external`, since
/// it may pass on what it was told. The owner administers the store and may declare any. A declaration that
/// names no role, and none at all, claims nothing and is no mismatch. Case and blanks around it are ignored.
///
/// Imported entries declare what their export said; the caller leaves them out.
///
/// ```
/// use memwarden_core::Role;
/// use memwarden_guard::declaration_mismatch;
/// assert!(declaration_mismatch(Some("user"), Role::Tool).is_some());
/// assert!(declaration_mismatch(Some("agent"), Role::Agent).is_none());
/// assert!(declaration_mismatch(None, Role::Tool).is_none());
/// ```
#[must_use]
pub fn declaration_mismatch(declared_source: Option<&str>, role: Role) -> Option<Finding> {
    let source = declared_source?.trim();
    let declared = Role::ALL
        .into_iter()
        .find(|role| source.eq_ignore_ascii_case(role.as_str()))?;
    let passed_on = matches!(declared, Role::Tool | Role::External);
    if declared == role || role == Role::Owner || passed_on || declared.class() < role.class() {
        return None;
    }
    Some(Finding {
        stage: ORIGIN_STAGE.to_owned(),
        rule: DECLARED_SOURCE_RULE.to_owned(),
        severity: Severity::Warning,
        score: Score::MAX,
        span: None,
        reason: format!("the entry declares the source `{declared}`, but its writer is of role {role}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The roles that each role may not declare.
    fn refused(role: Role) -> Vec<&'static str> {
        let names = Role::ALL.into_iter().map(Role::as_str);
        names
            .filter(|name| declaration_mismatch(Some(name), role).is_some())
            .collect()
    }

    #[test]
    fn nobody_but_the_owner_declares_a_source_above_or_beside_itself() {
        assert!(refused(Role::Owner).is_empty());
        assert_eq!(refused(Role::System), ["owner", "user"]);
        assert_eq!(refused(Role::User), ["owner", "system"]);
        assert_eq!(refused(Role::Agent), ["owner", "system", "user"]);
        assert_eq!(
            refused(Role::Step),
            ["owner", "system", "user", "agent", "reviewer"]
        );
        assert_eq!(
            refused(Role::Tool),
            ["owner", "system", "user", "agent", "step", "reviewer"]
        );
        assert_eq!(
            refused(Role::External),
            ["owner", "system", "user", "agent", "step", "reviewer"]
        );
        assert_eq!(
            refused(Role::Reviewer),
            ["owner", "system", "user", "agent", "step"]
        );
    }

    #[test]
    fn case_and_blanks_hide_nothing_and_other_words_claim_nothing() {
        for source in ["USER", " User\n", "\u{a0}user"] {
            assert!(
                declaration_mismatch(Some(source), Role::Tool).is_some(),
                "{source:?}"
            );
        }
        for source in [
            None,
            Some(""),
            Some(" "),
            Some("crm"),
            Some("users"),
            Some("user: ana"),
        ] {
            assert_eq!(declaration_mismatch(source, Role::Tool), None, "{source:?}");
        }
    }

    #[test]
    fn the_finding_names_both_sides_and_fires() {
        let finding = declaration_mismatch(Some("System"), Role::Agent).unwrap();
        assert_eq!(
            (finding.stage.as_str(), finding.rule.as_str()),
            ("origin", "declared-source")
        );
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.reason,
            "the entry declares the source `system`, but its writer is of role agent"
        );
    }
}
