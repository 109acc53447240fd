//! Batches of patient records: identifiers, types, clinical ranges, consent and sanitation. All patients are invented.

use super::Quality;
use crate::split_mix::SplitMix64;
use std::fmt::Write as _;

const RECORDS: u64 = 6;
const NAMES: [&str; 8] = ["Abara", "Bell", "Costa", "Dahl", "Eze", "Fuchs", "Greco", "Haas"];

/// A laboratory value with the range in which it can be.
struct Range {
    name: &'static str,
    /// In tenths of its unit.
    lowest: u64,
    highest: u64,
}

const RANGES: [Range; 4] = [
    Range {
        name: "potassium",
        lowest: 20,
        highest: 80,
    },
    Range {
        name: "sodium",
        lowest: 1_100,
        highest: 1_800,
    },
    Range {
        name: "glucose",
        lowest: 20,
        highest: 400,
    },
    Range {
        name: "temperature",
        lowest: 320,
        highest: 430,
    },
];

/// A header and one line for each record: `MRN;name;birth date;measurement;value;consent`.
pub(super) fn write(kind: &str, item: &str, quality: Quality, random: &mut SplitMix64) -> String {
    let mut text = format!("batch {item} of pipeline {kind}\n");
    let fault = (quality == Quality::Faulty).then(|| (random.next() % RECORDS, random.next() % 5));
    for row in 0..RECORDS {
        let mrn = 1_000_000 + random.next() % 9_000_000;
        let name = random.pick(&NAMES).copied().unwrap_or_default();
        let (year, month, day) = (
            1930 + random.next() % 90,
            1 + random.next() % 12,
            1 + random.next() % 28,
        );
        let Some(range) = random.pick(&RANGES) else {
            continue;
        };
        let tenths = range.lowest + random.next() % (range.highest - range.lowest + 1);
        let mut mrn = format!("MRN-{mrn}");
        let mut name = name.to_owned();
        let mut born = format!("{year}-{month:02}-{day:02}");
        let mut value = format!("{}.{}", tenths / 10, tenths % 10);
        let mut consent = "yes";
        match fault {
            Some((at, 0)) if at == row => {
                mrn.pop();
            }
            Some((at, 1)) if at == row => born = format!("{day:02}.{month:02}.{year}"),
            Some((at, 2)) if at == row => value = format!("{}.0", range.highest),
            Some((at, 3)) if at == row => consent = "no",
            Some((at, _)) if at == row => name.push_str("<script>"),
            _ => {}
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mrn};{name};{born};{};{value};{consent}", range.name);
    }
    text
}

/// What is wrong with a batch, one sentence for each record.
pub(super) fn faults(text: &str) -> Vec<String> {
    let mut rows = text.lines();
    let mut faults = Vec::new();
    if !rows.next().is_some_and(|header| header.starts_with("batch ")) {
        faults.push("the header is missing".to_owned());
    }
    let mut count = 0;
    for row in rows {
        count += 1;
        if let Some(fault) = fault(row) {
            faults.push(format!("record {count}: {fault}"));
        }
    }
    if count == 0 {
        faults.push("the batch has no records".to_owned());
    }
    faults
}

fn fault(row: &str) -> Option<&'static str> {
    let fields: Vec<&str> = row.split(';').collect();
    let [mrn, name, born, measured, value, consent] = fields.as_slice() else {
        return Some("expected six fields");
    };
    let digits = mrn.strip_prefix("MRN-").unwrap_or_default();
    if digits.len() != 7 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some("the identifier is not `MRN-` and seven digits");
    }
    if name.is_empty()
        || !name
            .chars()
            .all(|c| c.is_alphabetic() || matches!(c, ' ' | '-' | '\''))
    {
        return Some("the name has characters that need sanitation");
    }
    if !is_date(born) {
        return Some("the birth date is not a date");
    }
    let Some(range) = RANGES.iter().find(|range| range.name == *measured) else {
        return Some("the measurement is not known");
    };
    let Some(tenths) = tenths(value) else {
        return Some("the value is not a number with one decimal");
    };
    if !(range.lowest..=range.highest).contains(&tenths) {
        return Some("the value is out of its clinical range");
    }
    (*consent != "yes").then_some("the patient did not authorize the use")
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let number =
        |text: &str, digits: usize| (text.len() == digits).then(|| text.parse::<u32>().ok()).flatten();
    let year = number(year, 4).is_some_and(|year| (1900..=2100).contains(&year));
    let month = number(month, 2).is_some_and(|month| (1..=12).contains(&month));
    year && month && number(day, 2).is_some_and(|day| (1..=31).contains(&day))
}

fn tenths(text: &str) -> Option<u64> {
    let (whole, tenth) = text.split_once('.')?;
    let whole: u64 = whole.parse().ok()?;
    let tenth: u64 = tenth.parse().ok().filter(|tenth| *tenth < 10)?;
    whole.checked_mul(10)?.checked_add(tenth)
}

#[cfg(test)]
mod tests {
    use super::faults;

    #[test]
    fn each_requirement_finds_its_own_fault() {
        let row = "MRN-1234567;Bell;1980-02-03;potassium;4.1;yes";
        let found = |row: &str| faults(&format!("batch EB-1 of pipeline P\n{row}\n")).join("; ");
        assert_eq!(found(row), "");
        for (from, to, said) in [
            ("1234567", "123456", "identifier"),
            ("Bell", "Bell<b>", "sanitation"),
            ("1980-02-03", "1980-13-03", "date"),
            ("4.1", "41", "number"),
            ("4.1", "99.0", "range"),
            ("potassium", "mood", "measurement"),
            (";yes", ";no", "authorize"),
            (";yes", "", "six fields"),
        ] {
            assert!(found(&row.replace(from, to)).contains(said), "{said}");
        }
        assert!(faults("").join(" ").contains("header"));
        assert!(
            faults("batch EB-1 of pipeline P\n")
                .join(" ")
                .contains("no records")
        );
    }
}
