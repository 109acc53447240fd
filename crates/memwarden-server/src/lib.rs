//! What Memwarden serves over HTTP. Rooms: the metering proxy, and an endpoint over a model of this machine;
//! the API of the verbs and the console are to stand beside them.
//!
//! The crate owns its runtime: nothing of it is `async` outside, and nothing below it knows that there is one.

pub mod endpoint;
pub mod proxy;
mod service;

pub use service::{ServiceError, Stopper};
