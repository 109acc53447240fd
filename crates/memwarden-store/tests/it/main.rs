//! What every store must do, written against `&dyn Records`, and what is peculiar to one SQLite file.
//!
//! The modules are `cfg(test)` so that clippy knows their helpers as test code.

#[cfg(test)]
mod commits;
#[cfg(test)]
mod erasure;
#[cfg(test)]
mod files;
#[cfg(test)]
mod house;
#[cfg(test)]
mod indexes;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod records;
#[cfg(test)]
mod retrieval;
