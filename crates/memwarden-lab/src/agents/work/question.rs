//! Questions over two passages: which of two rivers is longer.

use super::Quality;
use crate::split_mix::SplitMix64;

const RIVERS: [&str; 8] = ["Aller", "Bode", "Ems", "Ilm", "Leine", "Oste", "Saale", "Werra"];

/// The question and two passages, of which each should tell one length.
pub(super) fn write(kind: &str, item: &str, quality: Quality, random: &mut SplitMix64) -> String {
    let first = random.pick(&RIVERS).copied().unwrap_or_default();
    let rest: Vec<&str> = RIVERS.iter().copied().filter(|river| *river != first).collect();
    let second = random.pick(&rest).copied().unwrap_or_default();
    let (one, other) = (100 + random.next() % 200, 300 + random.next() % 200);
    let last = match quality {
        Quality::Good => format!("The {second} is {other} km long and has two weirs."),
        Quality::Faulty => format!("The {second} is well known for its two weirs."),
    };
    format!(
        "question {item} of {kind}: which river is longer, the {first} or the {second}?\n\
         The {first} is {one} km long and flows through meadows.\n{last}\n"
    )
}

/// Looks both lengths up in the passages and compares them.
pub(super) fn answer(text: &str) -> Result<String, String> {
    let (question, passages) = text.split_once('\n').ok_or("there are no passages")?;
    let (_, asked) = question
        .split_once("longer, the ")
        .ok_or("the question asks something else")?;
    let (first, second) = asked
        .trim_end_matches('?')
        .split_once(" or the ")
        .ok_or("the question names one river only")?;
    let length = |river: &str| {
        let opening = format!("The {river} is ");
        let found = passages
            .lines()
            .find_map(|line| line.strip_prefix(&opening)?.split_once(" km long"));
        found
            .and_then(|(number, _)| number.parse::<u64>().ok())
            .ok_or_else(|| format!("no passage tells the length of the {river}"))
    };
    let longer = if length(first)? >= length(second)? {
        first
    } else {
        second
    };
    Ok(longer.to_owned())
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn the_longer_river_is_found_in_the_passages_and_nothing_is_guessed() {
        let asked = "question Q-1 of geography: which river is longer, the Ems or the Ilm?";
        let with = |passages: &str| answer(&format!("{asked}\n{passages}"));
        assert_eq!(
            with("The Ems is 371 km long.\nThe Ilm is 128 km long.").unwrap(),
            "Ems"
        );
        assert_eq!(
            with("The Ems is 71 km long.\nThe Ilm is 128 km long.").unwrap(),
            "Ilm"
        );
        assert!(with("The Ems is 371 km long.").unwrap_err().contains("Ilm"));
        assert!(answer("who?").is_err());
    }
}
