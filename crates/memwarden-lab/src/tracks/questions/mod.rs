//! Questions with four options: read from the CSV files of MMLU (Hendrycks et al. 2021) where an experiment names their
//! directory, or a handful of our own for tests.

use std::path::{Path, PathBuf};

const OWN: &str = include_str!("own.csv");

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is asked, on one line.
    pub stem: String,
    /// The options A, B, C, D.
    pub options: Vec<String>,
    /// The letter of the right one.
    pub right: char,
}

/// Questions could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuestionError {
    /// A file or directory.
    #[error("questions at `{}` cannot be read: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A row that is no question.
    #[error("row {row} of `{}` has {given} fields or no answer of A to D: expected question, A, B, C, D, answer", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, from 1.
        row: usize,
        /// How many fields it has.
        given: usize,
    },
}

impl Question {
    /// The options as lines `(A) …`.
    #[must_use]
    pub fn options_shown(&self) -> String {
        let lines: Vec<String> = ('A'..)
            .zip(&self.options)
            .map(|(letter, option)| format!("({letter}) {option}"))
            .collect();
        lines.join("\n")
    }
}

/// The questions of the project itself.
///
/// # Errors
/// A row that is none, which a test rules out.
pub fn own_questions() -> Result<Vec<Question>, QuestionError> {
    parse(OWN, Path::new("own.csv"))
}

/// Every question of the `.csv` files of a directory, in the order of their names.
///
/// # Errors
/// A directory or file that cannot be read, a row that is no question.
pub fn read_csv_directory(directory: &Path) -> Result<Vec<Question>, QuestionError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| QuestionError::Io { path, source }
    };
    let mut files = Vec::new();
    for file in std::fs::read_dir(directory).map_err(io(directory))? {
        let path = file.map_err(io(directory))?.path();
        if path.extension().is_some_and(|extension| extension == "csv") {
            files.push(path);
        }
    }
    files.sort();
    let mut questions = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(io(&path))?;
        questions.extend(parse(&text, &path)?);
    }
    Ok(questions)
}

fn parse(text: &str, path: &Path) -> Result<Vec<Question>, QuestionError> {
    let mut questions = Vec::new();
    for (at, fields) in rows(text).into_iter().enumerate() {
        let wrong = || QuestionError::Row {
            path: path.to_owned(),
            row: at + 1,
            given: fields.len(),
        };
        let [stem, a, b, c, d, answer] = fields.as_slice() else {
            return Err(wrong());
        };
        let mut letters = answer.trim().chars();
        let (Some(right @ 'A'..='D'), None) = (letters.next(), letters.next()) else {
            return Err(wrong());
        };
        questions.push(Question {
            stem: flat(stem),
            options: [a, b, c, d].iter().map(|option| flat(option)).collect(),
            right,
        });
    }
    Ok(questions)
}

/// On one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The rows of RFC 4180: quoted fields may hold commas, line ends and doubled quotes.
fn rows(text: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.is_empty() => quoted = true,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            letter => field.push(letter),
        }
    }
    if !field.is_empty() || !row.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows.retain(|row| row.iter().any(|field| !field.is_empty()));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn quoted_fields_may_hold_commas_quotes_and_line_ends() {
        let text = "\"Which, of\nthese \"\"two\"\"?\",a,\"b, c\",d,e,B\r\nNext?,1,2,3,4,D";
        let questions = parse(text, Path::new("x.csv")).unwrap();
        assert_eq!(questions[0].stem, "Which, of these \"two\"?");
        assert_eq!(questions[0].options, ["a", "b, c", "d", "e"]);
        assert_eq!((questions.len(), questions[1].right), (2, 'D'));
    }

    #[test]
    fn a_row_that_is_no_question_is_named() {
        for text in ["q,a,b,c,d\n", "q,a,b,c,d,E\n", "q,a,b,c,d,AB\n"] {
            let error = parse(&format!("q,a,b,c,d,A\n{text}"), Path::new("x.csv")).unwrap_err();
            assert!(error.to_string().contains("row 2 of `x.csv`"), "{error}");
        }
    }

    #[test]
    fn our_own_questions_are_distinct_and_some_of_them_are_about_food() {
        let questions = own_questions().unwrap();
        let stems: BTreeSet<&str> = questions.iter().map(|question| question.stem.as_str()).collect();
        assert_eq!(stems.len(), questions.len());
        let food = stems.iter().filter(|stem| {
            stem.to_lowercase()
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| word == "food")
        });
        assert!(food.count() >= 12);
        assert!(questions.len() >= 36);
        let letters: BTreeSet<char> = questions.iter().map(|question| question.right).collect();
        assert_eq!(letters.len(), 4);
    }
}
