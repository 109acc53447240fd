//! What the shop has: at least 400 products in 20 categories.

use super::search::Index;
use crate::split_mix::SplitMix64;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

pub(crate) const GOODS: &str = include_str!("../../data/shop.toml");
/// How many brands each category has.
const BRANDS_PER_CATEGORY: usize = 6;
/// How many attributes each product has.
const ATTRIBUTES: usize = 3;

/// The shop cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShopError {
    /// The file of goods, which is part of the program, does not parse.
    #[error("the goods of the shop do not parse: {reason}")]
    Goods {
        /// What the parser says.
        reason: String,
    },
}

/// The number of a product: `P-0123`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProductId(pub(super) usize);

impl fmt::Display for ProductId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P-{:04}", self.0)
    }
}

/// One product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// Its number.
    pub id: ProductId,
    /// The noun of its category.
    pub category: String,
    /// Who makes it.
    pub brand: String,
    /// What is said of it.
    pub attributes: Vec<String>,
    /// What can be chosen: the values of each option.
    pub options: BTreeMap<String, Vec<String>>,
    /// Its price.
    pub cents: u64,
}

impl Product {
    /// The line that search results and its own page show.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {} {}", self.brand, self.attributes.join(" "), self.category)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Goods {
    products_per_category: usize,
    brands: Vec<String>,
    category: Vec<Category>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Category {
    noun: String,
    attributes: Vec<String>,
    options: BTreeMap<String, Vec<String>>,
    cents: [u64; 2],
}

/// Everything on offer, with its search.
#[derive(Debug, Clone)]
pub struct Catalog {
    products: Vec<Product>,
    categories: Vec<String>,
    index: Index,
}

impl Catalog {
    /// The catalog of a seed.
    ///
    /// # Errors
    /// The file of goods does not parse.
    pub fn generate(seed: u64) -> Result<Self, ShopError> {
        let goods: Goods = toml::from_str(GOODS).map_err(|error| ShopError::Goods {
            reason: error.to_string(),
        })?;
        let mut random = SplitMix64::new(seed);
        let mut products = Vec::new();
        for (place, category) in goods.category.iter().enumerate() {
            let brands: Vec<&str> = goods
                .brands
                .iter()
                .cycle()
                .skip(place)
                .take(BRANDS_PER_CATEGORY)
                .map(String::as_str)
                .collect();
            let attributes: Vec<&str> = category.attributes.iter().map(String::as_str).collect();
            // As many of each brand as of any other, so that none is hard to find.
            for brand in brands.iter().cycle().take(goods.products_per_category) {
                let [low, high] = category.cents;
                products.push(Product {
                    id: ProductId(products.len()),
                    category: category.noun.clone(),
                    brand: (*brand).to_owned(),
                    attributes: random
                        .sample(&attributes, ATTRIBUTES)
                        .into_iter()
                        .map(str::to_owned)
                        .collect(),
                    options: category.options.clone(),
                    cents: low + random.next() % high.saturating_sub(low).max(1),
                });
            }
        }
        let index = Index::new(products.iter().map(Product::title));
        let categories = goods.category.into_iter().map(|category| category.noun).collect();
        Ok(Self {
            products,
            categories,
            index,
        })
    }

    /// Every product, in the order of their numbers.
    #[must_use]
    pub fn products(&self) -> &[Product] {
        &self.products
    }

    /// The nouns of the categories.
    #[must_use]
    pub fn categories(&self) -> &[String] {
        &self.categories
    }

    /// The product of a number as it is written on a page.
    #[must_use]
    pub fn find(&self, id: &str) -> Option<&Product> {
        let number: usize = id.strip_prefix("P-")?.parse().ok()?;
        self.products.get(number)
    }

    /// The brands of a category, in the order of the alphabet.
    #[must_use]
    pub fn brands(&self, category: &str) -> Vec<&str> {
        let mut brands: Vec<&str> = self
            .products
            .iter()
            .filter(|product| product.category == category)
            .map(|product| product.brand.as_str())
            .collect();
        brands.sort_unstable();
        brands.dedup();
        brands
    }

    /// The products that a search finds, best first.
    #[must_use]
    pub fn search(&self, words: &str) -> Vec<&Product> {
        let found = self.index.search(words);
        found.into_iter().filter_map(|at| self.products.get(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn it_has_at_least_400_products_in_20_categories_with_toothbrushes_among_them() {
        let catalog = Catalog::generate(1).unwrap();
        assert!(catalog.products().len() >= 400);
        let nouns: BTreeSet<&str> = catalog.products().iter().map(|p| p.category.as_str()).collect();
        assert_eq!(nouns.len(), 20);
        assert!(nouns.contains("toothbrush"));
        assert!(catalog.brands("toothbrush").len() >= 5);
    }

    #[test]
    fn a_seed_is_a_catalog() {
        let of = |seed| Catalog::generate(seed).unwrap().products().to_vec();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn a_product_is_found_by_its_number_and_by_its_words() {
        let catalog = Catalog::generate(1).unwrap();
        let product = &catalog.products()[77];
        assert_eq!(catalog.find(&product.id.to_string()), Some(product));
        assert_eq!(catalog.find("P-9999"), None);
        let found = catalog.search(&product.title());
        assert_eq!(found[0].title(), product.title());
    }
}
