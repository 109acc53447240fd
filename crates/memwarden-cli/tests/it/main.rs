//! The `memwarden` command as its users run it: real processes on real stores in temporary directories.
//!
//! Every run goes through the fixture, which also checks what no output may ever hold: the secret of a
//! credential or key, a control character, or, where JSON was asked for, anything that is not JSON.
//!
//! The modules are `cfg(test)` so that clippy knows their helpers as test code.

#[cfg(test)]
mod costed;
#[cfg(test)]
mod damaged_files;
#[cfg(test)]
mod everyday;
#[cfg(test)]
mod exported;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod imported;
#[cfg(test)]
mod lines;
#[cfg(test)]
mod metered;
#[cfg(test)]
mod modeled;
#[cfg(test)]
mod owner;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod proxied;
#[cfg(test)]
mod published;
#[cfg(test)]
mod reported;
#[cfg(test)]
mod review;
#[cfg(test)]
mod scanned;
#[cfg(test)]
mod walked;
#[cfg(test)]
mod words;
