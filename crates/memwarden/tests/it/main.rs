//! The façade as its users see it, one sentence a test.
//!
//! With the feature `unverified-reads` only the control runs: the same changes behind the store's back, and
//! what they do where nothing is checked.

mod fixture;

#[cfg(not(feature = "unverified-reads"))]
mod authority;
#[cfg(not(feature = "unverified-reads"))]
mod concurrency;
#[cfg(not(feature = "unverified-reads"))]
mod handles;
#[cfg(not(feature = "unverified-reads"))]
mod indexes;
#[cfg(not(feature = "unverified-reads"))]
mod input;
#[cfg(not(feature = "unverified-reads"))]
mod isolation;
#[cfg(not(feature = "unverified-reads"))]
mod places;
#[cfg(not(feature = "unverified-reads"))]
mod purge;
#[cfg(not(feature = "unverified-reads"))]
mod quota;
#[cfg(not(feature = "unverified-reads"))]
mod review;
#[cfg(not(feature = "unverified-reads"))]
mod roles;
#[cfg(not(feature = "unverified-reads"))]
mod rotation;
#[cfg(not(feature = "unverified-reads"))]
mod smoke;
#[cfg(not(feature = "unverified-reads"))]
mod tampered_log;
#[cfg(not(feature = "unverified-reads"))]
mod tampered_rows;
#[cfg(not(feature = "unverified-reads"))]
mod time;
#[cfg(feature = "unverified-reads")]
mod unverified;
#[cfg(not(feature = "unverified-reads"))]
mod witness;
