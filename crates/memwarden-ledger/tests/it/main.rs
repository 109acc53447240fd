//! What the ledger promises, one module for each promise.
//!
//! The modules are marked `cfg(test)` so that the lints treat their helper functions as test code.

#[cfg(test)]
mod exports;
#[cfg(test)]
mod format_page;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod notes;
#[cfg(test)]
mod proof_files;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod trees;
#[cfg(test)]
mod verifier;
#[cfg(test)]
mod witnesses;
