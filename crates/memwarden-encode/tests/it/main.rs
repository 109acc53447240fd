//! The embedded encoder against a plain reading of its own files.
//!
//! Modules are `cfg(test)` so that clippy knows helpers as test code.

#[cfg(test)]
mod pieces;
#[cfg(test)]
mod vectors;
