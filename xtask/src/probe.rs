//! `cargo xtask probe`: how often a language model of this machine follows a line of memory.
//!
//! Each task of `xtask/data/probe.toml` is asked with a line for its first option, with one for its second and with
//! none, and with its options listed in both orders or not at all. A model *follows* where it chooses what the line supports; one that looks
//! at nothing follows half of the time, because the two lines take turns. It *turns right* on a task when it chooses
//! what the line supports under both lines, whatever the order.

use crate::{Outcome, scratch};
use memwarden::core::model::{Message, Purpose};
use memwarden::model::{Asked, Choice, LanguageModel, Meter, Metered, Prices, choose};
use miette::{IntoDiagnostic as _, Result, WrapErr as _, miette};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Two-sided 95 %.
const Z: f64 = 1.959_963_985;

/// What is shown before a task in the few-shot form: question, options, memory, answer.
const SHOTS: [(&str, [&str; 2], &str, &str); 4] = [
    (
        "Is the museum free or paid on Sundays?",
        ["free", "paid"],
        "On Sundays nobody pays at the museum.",
        "free",
    ),
    (
        "Does the parcel go to Lena or to Marek?",
        ["Lena", "Marek"],
        "The parcel was addressed to Marek.",
        "Marek",
    ),
    (
        "Was the meeting short or long?",
        ["long", "short"],
        "They were out of the meeting after five minutes.",
        "short",
    ),
    (
        "Is the boat made of wood or of steel?",
        ["wood", "steel"],
        "The boat was welded in a yard up north.",
        "steel",
    ),
];

/// Options of `probe`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The language model, GGUF
    #[arg(long, value_name = "FILE")]
    model: PathBuf,
    /// Ask as messages of a chat rather than as plain text
    #[arg(long)]
    chat: bool,
    /// Only the forms that do not list the options
    #[arg(long)]
    unlisted: bool,
    /// Only so many tasks: for trying things out
    #[arg(long, value_name = "N")]
    tasks: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tasks {
    task: Vec<Task>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    id: String,
    question: String,
    options: [String; 2],
    memory: [String; 2],
}

/// What the model chose in one task and order: scores of the first and second option under either line and under none.
struct Answers {
    with: [Choice; 2],
    without: Choice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Chat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shots {
    None,
    Four,
}

/// Whether the question lists its options, and in which order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listing {
    AsWritten,
    Turned,
    None,
}

/// Asks everything and prints a table.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let path = scratch::workspace().join("xtask/data/probe.toml");
    let text = std::fs::read_to_string(&path)
        .into_diagnostic()
        .wrap_err("probe.toml")?;
    let Tasks { task: mut tasks } = toml::from_str(&text).into_diagnostic().wrap_err("probe.toml")?;
    tasks.truncate(arguments.tasks.unwrap_or(usize::MAX));
    if !arguments.model.is_file() {
        eprintln!("probe: there is no `{}`", arguments.model.display());
        return Ok(Outcome::Missing);
    }
    let model = LanguageModel::open(&arguments.model).into_diagnostic()?;
    let form = if arguments.chat { Form::Chat } else { Form::Text };
    println!(
        "{}: {:.1} million numbers, {} blocks; {} tasks, asked as {}",
        model.name(),
        model.parameters() as f64 / 1e6,
        model.blocks(),
        tasks.len(),
        match form {
            Form::Text => "plain text",
            Form::Chat => "a chat",
        },
    );
    let meter = Arc::new(Meter::in_memory(Prices::default()));
    let model = Metered::local(model, Arc::clone(&meter));
    println!(
        "\n{:<31} {:<27} {:<27} first listed, no memory",
        "form", "follows the memory", "turns right in every order"
    );
    let listed = [Listing::AsWritten, Listing::Turned].as_slice();
    for (shots, listings, name) in [
        (Shots::None, listed, "plain"),
        (Shots::Four, listed, "few-shot"),
        (Shots::None, &[Listing::None], "plain, unlisted"),
        (Shots::Four, &[Listing::None], "few-shot, unlisted"),
    ] {
        if arguments.unlisted && listings.len() > 1 {
            continue;
        }
        let mut answers = Vec::new();
        for task in &tasks {
            let asked: Result<Vec<_>> = listings
                .iter()
                .map(|listing| ask(&model, task, *listing, shots, form))
                .collect();
            answers.push(asked.wrap_err_with(|| format!("task `{}`", task.id))?);
        }
        report(name, &answers, |answers, line| {
            answers.with.get(line).and_then(Choice::best)
        });
        report(&format!("{name}, calibrated"), &answers, |answers, line| {
            answers.with.get(line)?.calibrated_by(&answers.without).best()
        });
    }
    let tokens: u64 = meter
        .report(memwarden::model::By::Purpose)
        .rows
        .iter()
        .map(|row| row.sum.prompt_tokens)
        .sum();
    println!("\n{tokens} tokens scored");
    Ok(Outcome::Holds)
}

fn ask(model: &Metered, task: &Task, listing: Listing, shots: Shots, form: Form) -> Result<Answers> {
    let purpose = "probe".parse::<Purpose>().map_err(|error| miette!("{error}"))?;
    let [first, second] = task.options.each_ref().map(String::as_str);
    let listed = match listing {
        Listing::AsWritten => Some([first, second]),
        Listing::Turned => Some([second, first]),
        Listing::None => None,
    };
    let ask = |memory: Option<&str>| -> Result<Choice> {
        let question = question(&task.question, listed, memory);
        let (mut conversation, mut text) = (Vec::new(), String::new());
        if shots == Shots::Four {
            for (asked, options, memory, answer) in SHOTS {
                let shot = self::question(asked, listed.map(|_| options), Some(memory));
                if form == Form::Chat {
                    conversation.extend([Message::user(shot), Message::assistant(answer)]);
                } else {
                    text.push_str(&format!("{shot}\nAnswer: {answer}\n\n"));
                }
            }
        }
        let space = if form == Form::Chat {
            conversation.push(Message::user(question));
            ""
        } else {
            text.push_str(&format!("{question}\nAnswer:"));
            " "
        };
        let asked = Asked {
            conversation: &conversation,
            prefix: &text,
        };
        let options = [first, second].map(|option| format!("{space}{option}"));
        choose(model, &purpose, asked, &options.each_ref().map(String::as_str)).into_diagnostic()
    };
    let [for_first, for_second] = task.memory.each_ref().map(|line| ask(Some(line.as_str())));
    Ok(Answers {
        with: [for_first?, for_second?],
        without: ask(None)?,
    })
}

fn question(question: &str, listed: Option<[&str; 2]>, memory: Option<&str>) -> String {
    let memory = memory.map_or_else(String::new, |line| format!("Memory: {line}\n"));
    let listed = listed.map_or_else(String::new, |[first, second]| {
        format!("\nOptions: {first} / {second}")
    });
    format!("{memory}Question: {question}{listed}")
}

/// One line; `answers` are those of each task, in the orders in which its options were listed.
fn report(name: &str, answers: &[Vec<Answers>], choose: impl Fn(&Answers, usize) -> Option<usize>) {
    let follows = |answers: &Answers| {
        (0..2)
            .filter(|line| choose(answers, *line) == Some(*line))
            .count()
    };
    let all = answers.iter().flatten().count();
    let followed: usize = answers.iter().flatten().map(follows).sum();
    let turned = answers
        .iter()
        .filter(|orders| orders.iter().all(|order| follows(order) == 2))
        .count();
    let first = answers
        .iter()
        .flat_map(|orders| orders.iter().enumerate())
        .filter(|(at, order)| order.without.best() == Some(*at))
        .count();
    let is_listed = answers.iter().all(|orders| orders.len() == 2);
    println!(
        "{name:<31} {:<27} {:<27} {}",
        share(followed, all * 2),
        share(turned, answers.len()),
        if is_listed {
            share(first, all)
        } else {
            "-".to_owned()
        },
    );
}

/// `.xxx of n [low, high]` with the interval of Wilson (1927).
fn share(hits: usize, all: usize) -> String {
    let (low, high) = wilson(hits, all);
    format!(
        "{:.3} of {all} [{low:.3}, {high:.3}]",
        hits as f64 / all.max(1) as f64
    )
}

fn wilson(hits: usize, all: usize) -> (f64, f64) {
    let n = all.max(1) as f64;
    let share = hits as f64 / n;
    let middle = share + Z * Z / (2.0 * n);
    let reach = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    ((middle - reach) / scale, (middle + reach) / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tasks() -> Vec<Task> {
        let text = std::fs::read_to_string(scratch::workspace().join("xtask/data/probe.toml")).unwrap();
        toml::from_str::<Tasks>(&text).unwrap().task
    }

    #[test]
    fn there_are_enough_tasks_and_no_two_are_one() {
        let tasks = tasks();
        assert!(tasks.len() >= 40);
        let mut ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), tasks.len());
        for task in &tasks {
            assert!(
                task.options[0] != task.options[1] && task.memory[0] != task.memory[1],
                "{}",
                task.id
            );
        }
    }

    /// What a model scores that looks at nothing must be one half, or the figure would say nothing.
    #[test]
    fn a_model_that_never_looks_follows_half_of_the_time() {
        let fixed = Choice {
            scores: vec![-1.0, -2.0],
        };
        let answers = Answers {
            with: [fixed.clone(), fixed.clone()],
            without: fixed,
        };
        let follows = (0..2)
            .filter(|line| answers.with[*line].best() == Some(*line))
            .count();
        assert_eq!(follows, 1);
    }

    /// Newcombe (1998), table I: 15 of 148 is .0624 to .1605, 81 of 263 is .2553 to .3662.
    #[test]
    fn intervals_are_those_of_the_literature() {
        for ((hits, all), (low, high)) in [((81, 263), (0.2553, 0.3662)), ((15, 148), (0.0624, 0.1605))] {
            let found = wilson(hits, all);
            assert!(
                (found.0 - low).abs() < 1e-4 && (found.1 - high).abs() < 1e-4,
                "{found:?}"
            );
        }
    }
}
