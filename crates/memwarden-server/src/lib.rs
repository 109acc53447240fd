//! What Memwarden serves over HTTP. Its first room is the metering proxy; the API of the verbs and the console are
//! to stand beside it.
//!
//! The crate owns its runtime: nothing of it is `async` outside, and nothing below it knows that there is one.

pub mod proxy;
