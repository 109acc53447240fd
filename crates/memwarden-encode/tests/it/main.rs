//! The embedded encoder against a plain reading of its own files.

mod pieces;
mod vectors;
