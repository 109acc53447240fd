//! Models whose files lie on this machine, run on its processor.
//!
//! Nothing is fetched from anywhere. Only this room knows the tensor library; what leaves it are the abilities of
//! `memwarden-core`, inside [`Metered`](crate::Metered).

mod files;
mod gguf;
mod grammar;
mod language;
mod llama;
mod sampling;
mod template;
mod vocabulary;

pub use files::FileError;
pub use gguf::{Gguf, MAX_GGUF_BYTES};
pub use language::LanguageModel;
