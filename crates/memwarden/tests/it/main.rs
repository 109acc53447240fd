//! The façade as its users see it, one sentence a test.
//!
//! With the feature `unverified-reads` only the control runs: the same changes behind the store's back, and
//! what they do where nothing is checked. Modules are `cfg(test)` so that clippy knows helpers as test code.

#[cfg(test)]
mod fixture;

#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod authority;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod concurrency;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod handles;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod hybrid;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod indexes;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod input;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod isolation;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod judged;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_compromise;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_evidence;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_grants;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_labels;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_parameters;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_people;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_play;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_properties;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_receipts;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod origin_revocation;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod places;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod purge;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod quota;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod review;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod rewrite;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod roles;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod rotation;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod smoke;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod tampered_log;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod tampered_rows;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod time;
#[cfg(feature = "unverified-reads")]
#[cfg(test)]
mod unverified;
#[cfg(not(feature = "unverified-reads"))]
#[cfg(test)]
mod witness;
