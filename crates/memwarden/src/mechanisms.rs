//! Switches for measurements: what comes back when one mechanism is taken away.
//!
//! Everything is on unless a measurement turns it off, and a warden opened with anything off says so in its
//! warnings. They are options of the process, never of a policy: no credential and no file can reach them.

use memwarden_core::GateChecks;

/// The mechanisms of the origin half, each on by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "a table of switches, one for each mechanism"
)]
pub struct Mechanisms {
    /// The gate's checks.
    pub gate: GateChecks,
    /// The newest receipt decides; off: any passed one does.
    pub newest_receipt: bool,
    /// Only a principal of role step writes receipts.
    pub step_role: bool,
    /// A context's label, and a principal's last hour, lower what is written.
    pub labels: bool,
    /// A trusted tool's output takes the context's label.
    pub echo_label: bool,
    /// An `act` record binds a parameter only in a structured field; off: a mention in its text does too.
    pub structured_fields: bool,
    /// A permit is redeemed only with the parameters that it was given for.
    pub permit_binding: bool,
    /// A permit works once.
    pub permit_once: bool,
    /// An approval is for exactly one action, context, policy and epoch.
    pub approval_binding: bool,
    /// An approval works once.
    pub approval_once: bool,
    /// Nobody approves what it asked for itself.
    pub approval_by_another: bool,
    /// Endorsers are counted by administrative domain; off: each principal counts.
    pub endorsement_domains: bool,
    /// Receipts, permits and approvals of an earlier epoch are void.
    pub epochs: bool,
    /// Only a person, or a key that vouches for roles, opens a request.
    pub request_role: bool,
    /// A weaker principal cannot hide a stronger record.
    pub stronger_records: bool,
}

impl Default for Mechanisms {
    fn default() -> Self {
        Self {
            gate: GateChecks::default(),
            newest_receipt: true,
            step_role: true,
            labels: true,
            echo_label: true,
            structured_fields: true,
            permit_binding: true,
            permit_once: true,
            approval_binding: true,
            approval_once: true,
            approval_by_another: true,
            endorsement_domains: true,
            epochs: true,
            request_role: true,
            stronger_records: true,
        }
    }
}

impl Mechanisms {
    /// Whether nothing is switched off.
    #[must_use]
    pub fn all_on(&self) -> bool {
        *self == Self::default()
    }
}
