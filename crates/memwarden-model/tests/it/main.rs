//! What a user of the room sees: endpoints that misbehave, replies that are none, and what the meter says of them.
//!
//! The endpoint is a double on the loopback that says what a test scripts; time is brought along.
//! The modules are `cfg(test)` so that clippy knows their helpers as test code.

#[cfg(test)]
mod abilities;
#[cfg(test)]
mod cassettes;
#[cfg(test)]
mod double;
#[cfg(test)]
mod embeddings;
#[cfg(feature = "local")]
#[cfg(test)]
mod encoder_files;
#[cfg(test)]
mod endpoint;
#[cfg(feature = "local")]
#[cfg(test)]
mod entailment;
#[cfg(test)]
mod fixture;
#[cfg(feature = "local")]
#[cfg(test)]
mod llama;
#[cfg(test)]
mod meter_file;
#[cfg(test)]
mod replies;
#[cfg(feature = "local")]
#[cfg(test)]
mod sentences;
