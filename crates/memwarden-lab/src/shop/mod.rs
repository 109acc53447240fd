//! A shop of our own making, for an agent that buys: a catalog, a search, pages with links, a reward.
//!
//! It is the world and nothing else: no agent, no memory, no attack. Its shape (search, item pages, options, `Buy Now`,
//! a reward between 0 and 1) is that of `WebShop` (Yao et al. 2022); its goods, goals and texts are ours. Everything is a
//! function of `data/shop.toml` and a seed.

mod catalog;
mod goal;
mod page;
mod search;

pub(crate) use catalog::GOODS;
pub use catalog::{Catalog, Product, ProductId, ShopError};
pub use goal::Goal;
pub use page::{Session, Step};
pub(crate) use search::words;
