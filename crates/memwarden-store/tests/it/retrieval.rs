//! Retrieval: which active records a query finds, in which order, and what cannot influence it.

use crate::house::{A, B, House, any, status, write};
use memwarden_core::log::{Retrieval, Search};
use memwarden_core::{Entry, Kind, Status};
use proptest::prelude::*;

fn scored(house: &House, query: &str) -> Vec<(i64, u64)> {
    house
        .search(A, query)
        .iter()
        .map(|candidate| (candidate.row, candidate.score.to_bits()))
        .collect()
}

#[test]
fn the_better_match_comes_first_with_the_higher_score_and_ties_by_age() {
    let house = House::new();
    house.remember(
        1,
        A,
        "The invoice of March was paid late and after many reminders by phone",
    );
    house.remember(2, A, "Invoice paid");
    house.remember(3, A, "Nothing of the kind");
    house.remember(4, A, "Invoice paid");
    assert_eq!(house.found(A, "paid invoices"), vec![2, 4, 1]);
    let found = house.search(A, "paid invoices");
    assert!(found[0].score > found[2].score && found[2].score > 0.0);
    assert_eq!(found[0].score.to_bits(), found[1].score.to_bits());
    let top = Search {
        query: "paid invoices",
        limit: 1,
        ..any(A)
    };
    assert_eq!(house.numbers(&house.look(&top)), vec![2]);
    assert!(house.look(&Search { limit: 0, ..top }).is_empty());
}

#[test]
fn words_of_the_subject_count_too() {
    let house = House::new();
    let mut entry = Entry::new("Passed");
    entry.subject = Some("batch-77".into());
    house.commit(&[write(1, A, entry, Status::Active)]);
    assert_eq!(house.found(A, "batch"), vec![1]);
    assert_eq!(house.found(A, "77"), vec![1]);
}

#[test]
fn scores_of_a_namespace_do_not_depend_on_another_or_on_what_is_not_active() {
    let house = House::new();
    for (n, text) in [
        "invoice paid in march",
        "the invoice of april is open",
        "march and april",
        "reminder sent by letter",
    ]
    .iter()
    .enumerate()
    {
        house.remember(u32::try_from(n).unwrap(), A, text);
    }
    let before = scored(&house, "invoice march");
    assert_eq!(before.len(), 3);
    let in_b: Vec<_> = (1_000..1_500)
        .map(|n| {
            write(
                n,
                B,
                Entry::new(format!("invoice march april {n}")),
                Status::Active,
            )
        })
        .collect();
    house.commit(&in_b);
    assert_eq!(scored(&house, "invoice march"), before);
    let hidden: Vec<_> = (2_000..2_200)
        .map(|n| write(n, A, Entry::new("invoice march invoice"), Status::Quarantined))
        .collect();
    house.commit(&hidden);
    assert_eq!(scored(&house, "invoice march"), before);
    // Records that were active for a while leave no trace in the statistics.
    house.remember(
        3_000,
        A,
        "invoice invoice march of a long text that moves the average length",
    );
    assert_ne!(scored(&house, "invoice march"), before);
    house.commit(&[status(3_000, A, Status::Quarantined)]);
    assert_eq!(scored(&house, "invoice march"), before);
    house.commit(&[status(3_000, A, Status::Active)]);
    house.commit(&[status(3_000, A, Status::Retired)]);
    assert_eq!(scored(&house, "invoice march"), before);
}

#[test]
fn a_kind_filter_returns_the_best_of_that_kind() {
    let house = House::new();
    for n in 0..40 {
        let mut entry = Entry::new(format!("invoice {}", "filler ".repeat(n as usize)));
        entry.kind = if n < 30 { Kind::General } else { Kind::Reasoning };
        house.commit(&[write(n, A, entry, Status::Active)]);
    }
    let search = Search {
        query: "invoice",
        limit: 3,
        kind: Some(Kind::Reasoning),
        ..any(A)
    };
    assert_eq!(house.numbers(&house.look(&search)), vec![30, 31, 32]);
    let nearest = Search {
        retrieval: Retrieval::Levenshtein,
        ..search
    };
    assert_eq!(house.numbers(&house.look(&nearest)), vec![30, 31, 32]);
}

#[test]
fn a_common_term_leaves_the_query_when_a_rarer_one_remains() {
    let house = House::new();
    for n in 0..6 {
        house.remember(
            n,
            A,
            &format!("invoice number {n} {}", if n < 4 { "paid" } else { "open" }),
        );
    }
    let found = |query: &str, common_above| {
        let search = Search {
            query,
            common_above,
            ..any(A)
        };
        let mut found = house.numbers(&house.look(&search));
        found.sort_unstable();
        found
    };
    assert_eq!(found("invoice open", 6), vec![0, 1, 2, 3, 4, 5]);
    assert_eq!(found("invoice open", 5), vec![4, 5]);
    // All are common: the rarest stays.
    assert_eq!(found("invoice paid", 1), vec![0, 1, 2, 3]);
    assert_eq!(found("invoice", 1), vec![0, 1, 2, 3, 4, 5]);
    // A term that nobody wrote is not a rarer one.
    assert_eq!(found("invoice xyzzy", 1), vec![0, 1, 2, 3, 4, 5]);
    assert_eq!(found("xyzzy", 1), Vec::<u32>::new());
}

#[test]
fn stop_words_find_nothing_beside_other_words_but_alone_they_do() {
    let house = House::new();
    house.remember(1, A, "What is it that you want");
    house.remember(2, A, "The invoice");
    assert_eq!(house.found(A, "what is the invoice"), vec![2]);
    assert_eq!(house.found(A, "what is it?"), vec![1]);
}

#[test]
fn what_a_user_types_is_never_syntax() {
    let house = House::new();
    house.remember(1, A, "alpha and beta");
    house.remember(2, A, "gamma only");
    assert_eq!(house.found(A, "alpha NOT alpha"), vec![1]);
    assert_eq!(house.found(A, "body: gamma"), vec![2]);
    assert_eq!(house.found(A, "gam*"), Vec::<u32>::new());
    assert_eq!(house.found(A, "\"alpha gamma\""), vec![2, 1]);
    assert_eq!(house.found(A, "NEAR(alpha gamma) ^alpha {body}"), vec![2, 1]);
    for odd in [
        "\"", "''", "(", "*", "-", "\u{301}", "ॐ", "²", "\u{e000}", "a\0b", "", "  ",
    ] {
        house.search(A, odd);
    }
}

#[test]
fn scripts_other_than_latin_are_found() {
    let house = House::new();
    house.remember(1, A, "我喜欢在早上喝咖啡。");
    house.remember(2, A, "Счёт за март оплачен");
    house.remember(3, A, "東京タワーの入場料");
    house.remember(4, A, "한국어 메모");
    house.remember(5, A, "Crème brûlée");
    assert_eq!(house.found(A, "咖啡"), vec![1]);
    assert_eq!(house.found(A, "早上喝什么咖啡?"), vec![1]);
    assert_eq!(house.found(A, "咖"), vec![1]);
    assert_eq!(house.found(A, "МАРТ"), vec![2]);
    assert_eq!(house.found(A, "タワー"), vec![3]);
    assert_eq!(house.found(A, "메모"), vec![4]);
    assert_eq!(house.found(A, "creme"), vec![5]);
    assert!(house.differences(A).is_empty());
}

#[test]
fn edit_distance_is_of_whole_texts_smallest_first() {
    let house = House::new();
    for (n, text) in ["kitten", "sitting", "mitten", "kitte", "äkitten"]
        .iter()
        .enumerate()
    {
        house.remember(u32::try_from(n).unwrap(), A, text);
    }
    house.commit(&[write(9, A, Entry::new("kitten"), Status::Quarantined)]);
    house.remember(10, B, "kitten");
    let search = Search {
        retrieval: Retrieval::Levenshtein,
        query: "kitten",
        limit: 4,
        ..any(A)
    };
    let found = house.look(&search);
    assert_eq!(house.numbers(&found), vec![0, 2, 3, 4]);
    let scores: Vec<f64> = found.iter().map(|c| c.score).collect();
    assert_eq!(scores, [1.0, 1.0 - 1.0 / 6.0, 1.0 - 1.0 / 6.0, 1.0 - 1.0 / 7.0]);
    assert_eq!(
        house.numbers(&house.look(&Search { limit: 2, ..search })),
        vec![0, 2]
    );
    let all = house.look(&Search { limit: 50, ..search });
    assert_eq!(house.numbers(&all), vec![0, 2, 3, 4, 1]);
    assert!((all[4].score - (1.0 - 3.0 / 7.0)).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_query_makes_the_search_fail(queries in prop::collection::vec("\\PC{0,40}|[\"*():^{}+ abANDORTNE-]{0,30}", 1..8)) {
        let house = House::new();
        house.remember(1, A, "and or not near a b");
        for query in queries {
            prop_assert!(house.search(A, &query).len() <= 1);
        }
    }

    #[test]
    fn nearest_agrees_with_sorting_all_distances(texts in prop::collection::vec("[ab]{1,6}", 1..12), query in "[ab]{0,6}", limit in 1usize..6) {
        let house = House::new();
        let drafts: Vec<_> = (0u32..)
            .zip(&texts)
            .map(|(n, text)| write(n, A, Entry::new(text), Status::Active))
            .collect();
        house.commit(&drafts);
        let mut expected: Vec<(usize, u32)> = (0u32..)
            .zip(&texts)
            .map(|(n, text)| (rapidfuzz::distance::levenshtein::distance(text.chars(), query.chars()), n))
            .collect();
        expected.sort_unstable();
        let found = house.look(&Search { retrieval: Retrieval::Levenshtein, query: &query, limit, ..any(A) });
        let expected: Vec<u32> = expected.into_iter().take(limit).map(|(_, n)| n).collect();
        prop_assert_eq!(house.numbers(&found), expected);
    }
}
