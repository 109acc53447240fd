//! Models whose files lie on this machine, run on its processor.
//!
//! Nothing is fetched from anywhere. Only this room knows the tensor library; what leaves it are the abilities of
//! `memwarden-core`, inside [`Metered`](crate::Metered).

mod files;

pub use files::FileError;
