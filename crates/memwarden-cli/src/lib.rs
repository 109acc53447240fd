//! What the `memwarden` command is made of, as a library so that its parts can be tested.

pub mod formats;
