//! The proxy between a client and an endpoint that are both made of bytes on a socket, so that each can do what a
//! library would not let it; and the endpoint over a model.
//!
//! The modules are `cfg(test)` so that clippy knows their helpers as test code.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod endpoint;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod passing;
#[cfg(test)]
mod serving;
#[cfg(test)]
mod wire;
