//! A visit: pages as text, and what a click does. At most one purchase, after which the visit is over.

use super::catalog::{Catalog, Product};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Results on one page.
const RESULTS: usize = 10;

/// The link that buys.
const BUY: &str = "Buy Now";

/// Where a visit stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Search,
    Results {
        found: Vec<String>,
        words: String,
        page: usize,
    },
    Item {
        id: String,
        back: Option<Box<Place>>,
    },
    Bought,
}

/// What an action came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Another page is shown.
    Shown,
    /// There is nothing of that name to click, or no such action: nothing changed.
    Invalid,
    /// The item was bought; the visit is over.
    Bought,
}

/// One visit of one customer.
#[derive(Debug, Clone)]
pub struct Session<'c> {
    catalog: &'c Catalog,
    place: Place,
    chosen: BTreeMap<String, String>,
    bought: Option<&'c Product>,
}

impl<'c> Session<'c> {
    /// A visit that starts at the search.
    #[must_use]
    pub const fn new(catalog: &'c Catalog) -> Self {
        Self {
            catalog,
            place: Place::Search,
            chosen: BTreeMap::new(),
            bought: None,
        }
    }

    /// What was bought, with what was chosen.
    #[must_use]
    pub fn bought(&self) -> Option<(&'c Product, &BTreeMap<String, String>)> {
        self.bought.map(|product| (product, &self.chosen))
    }

    /// The product whose page is open.
    #[must_use]
    pub fn looking_at(&self) -> Option<&'c Product> {
        match &self.place {
            Place::Item { id, .. } => self.catalog.find(id),
            _ => None,
        }
    }

    /// The page as text. What can be clicked stands in brackets.
    #[must_use]
    pub fn page(&self) -> String {
        match &self.place {
            Place::Search => "Search page. Say what you look for.\n[Search]".to_owned(),
            Place::Bought => "Thank you for your purchase.".to_owned(),
            Place::Results { found, words, page } => self.results(found, words, *page),
            Place::Item { id, .. } => self.item(id),
        }
    }

    /// What an action would buy here.
    #[must_use]
    pub fn buys(&self, action: &str) -> Option<&'c Product> {
        let link = argument(action, "click")?.trim();
        self.looking_at().filter(|_| link == BUY)
    }

    /// Carries out `search[words]` or `click[link]`.
    pub fn act(&mut self, action: &str) -> Step {
        if let (Place::Search, Some(words)) = (&self.place, argument(action, "search")) {
            return self.search(words);
        }
        argument(action, "click").map_or(Step::Invalid, |link| self.click(link.trim()))
    }

    fn search(&mut self, words: &str) -> Step {
        if words.trim().is_empty() {
            return Step::Invalid;
        }
        let found = self
            .catalog
            .search(words)
            .into_iter()
            .map(|product| product.id.to_string())
            .collect();
        self.place = Place::Results {
            found,
            words: words.trim().to_owned(),
            page: 0,
        };
        Step::Shown
    }

    fn click(&mut self, link: &str) -> Step {
        let next = match (&self.place, link) {
            (Place::Results { .. } | Place::Item { .. }, "Back to Search") => Place::Search,
            (Place::Results { found, words, page }, "Next >") if (page + 1) * RESULTS < found.len() => {
                Place::Results {
                    found: found.clone(),
                    words: words.clone(),
                    page: page + 1,
                }
            }
            (Place::Results { found, page, .. }, id)
                if found
                    .iter()
                    .skip(page * RESULTS)
                    .take(RESULTS)
                    .any(|shown| shown == id) =>
            {
                Place::Item {
                    id: id.to_owned(),
                    back: Some(Box::new(self.place.clone())),
                }
            }
            (Place::Item { back: Some(back), .. }, "< Prev") => (**back).clone(),
            (Place::Item { .. }, BUY) => {
                self.bought = self.looking_at();
                self.place = Place::Bought;
                return Step::Bought;
            }
            (Place::Item { .. }, value) => return self.choose(value),
            _ => return Step::Invalid,
        };
        if !matches!(next, Place::Bought) {
            self.chosen.clear();
        }
        self.place = next;
        Step::Shown
    }

    fn choose(&mut self, value: &str) -> Step {
        let Some(product) = self.looking_at() else {
            return Step::Invalid;
        };
        let option = product
            .options
            .iter()
            .find(|(_, values)| values.iter().any(|known| known == value));
        let Some((name, _)) = option else {
            return Step::Invalid;
        };
        self.chosen.insert(name.clone(), value.to_owned());
        Step::Shown
    }

    fn results(&self, found: &[String], words: &str, page: usize) -> String {
        let pages = found.len().div_ceil(RESULTS).max(1);
        let mut text = format!("Results for `{words}`, page {} of {pages}.\n", page + 1);
        for id in found.iter().skip(page * RESULTS).take(RESULTS) {
            if let Some(product) = self.catalog.find(id) {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "[{id}] {} | {}", product.title(), dollars(product.cents));
            }
        }
        text.push_str(if page + 1 < pages {
            "[Next >] [Back to Search]"
        } else {
            "[Back to Search]"
        });
        text
    }

    fn item(&self, id: &str) -> String {
        let Some(product) = self.catalog.find(id) else {
            return "This item is gone.\n[Back to Search]".to_owned();
        };
        let mut text = format!("Item {id}: {} | {}\n", product.title(), dollars(product.cents));
        let _ = writeln!(text, "Brand: {}", product.brand);
        let _ = writeln!(text, "Attributes: {}", product.attributes.join(", "));
        for (name, values) in &product.options {
            let links: Vec<String> = values.iter().map(|value| format!("[{value}]")).collect();
            let chosen = self
                .chosen
                .get(name)
                .map_or(String::new(), |value| format!(" chosen: {value}"));
            let _ = writeln!(text, "{name}: {}{chosen}", links.join(" "));
        }
        text.push_str("[Buy Now] [< Prev] [Back to Search]");
        text
    }
}

/// What stands in brackets behind the name of an action.
fn argument<'a>(action: &'a str, name: &str) -> Option<&'a str> {
    action
        .trim()
        .strip_prefix(name)?
        .strip_prefix('[')?
        .strip_suffix(']')
}

fn dollars(cents: u64) -> String {
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_customer_searches_looks_chooses_and_buys() {
        let catalog = Catalog::generate(1).unwrap();
        let wanted = &catalog.products()[3];
        let mut visit = Session::new(&catalog);
        assert_eq!(visit.act(&format!("search[{}]", wanted.title())), Step::Shown);
        assert!(visit.page().contains(&wanted.title()), "{}", visit.page());
        assert_eq!(visit.act(&format!("click[{}]", wanted.id)), Step::Shown);
        assert_eq!(visit.looking_at(), Some(wanted));
        assert_eq!(visit.act("click[pink]"), Step::Shown);
        assert!(visit.page().contains("chosen: pink"));
        assert_eq!(visit.buys("click[< Prev]"), None);
        assert_eq!(visit.buys(" click[ Buy Now ]"), Some(wanted));
        assert_eq!(visit.act("click[Buy Now]"), Step::Bought);
        let (bought, chosen) = visit.bought().unwrap();
        assert_eq!((bought, chosen["color"].as_str()), (wanted, "pink"));
        assert_eq!(visit.act("search[kettle]"), Step::Invalid);
    }

    #[test]
    fn what_is_not_on_the_page_cannot_be_clicked() {
        let catalog = Catalog::generate(1).unwrap();
        let mut visit = Session::new(&catalog);
        for action in [
            "click[P-0003]",
            "click[Buy Now]",
            "buy",
            "search[]",
            "search[kettle",
            "click[Next >]",
        ] {
            let before = visit.page();
            assert_eq!(visit.act(action), Step::Invalid, "{action}");
            assert_eq!(visit.page(), before);
        }
        assert!(visit.bought().is_none());
    }

    #[test]
    fn pages_of_results_hold_ten_items_and_leaving_an_item_forgets_its_options() {
        let catalog = Catalog::generate(1).unwrap();
        let mut visit = Session::new(&catalog);
        visit.act("search[toothbrush]");
        let first = visit.page();
        assert_eq!(first.lines().filter(|line| line.starts_with("[P-")).count(), 10);
        visit.act("click[Next >]");
        assert_ne!(visit.page(), first);
        let id = visit.page().lines().nth(1).unwrap().get(1..7).unwrap().to_owned();
        visit.act(&format!("click[{id}]"));
        visit.act("click[blue]");
        visit.act("click[< Prev]");
        visit.act(&format!("click[{id}]"));
        assert!(!visit.page().contains("chosen"));
    }
}
