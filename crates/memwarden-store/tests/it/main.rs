//! What every store must do, written against `&dyn Records`, and what is peculiar to one SQLite file.

mod commits;
mod erasure;
mod files;
mod house;
mod indexes;
mod processes;
mod records;
mod retrieval;
