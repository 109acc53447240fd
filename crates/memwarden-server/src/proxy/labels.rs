//! What a call is for, and for which cell of an experiment: read from its headers and its path.

use super::problem::Problem;
use http::HeaderMap;
use memwarden::core::model::{Cell, Purpose};
use std::str::FromStr;

/// Names the purpose of a call. It goes no further than the proxy.
pub const PURPOSE_HEADER: &str = "x-memwarden-purpose";
/// Names the cell of an experiment. It goes no further than the proxy.
pub const CELL_HEADER: &str = "x-memwarden-cell";

/// The two labels of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Labels {
    pub(super) purpose: Purpose,
    pub(super) cell: Option<Cell>,
}

/// Reads the labels. A purpose may stand in the header, in the path, or in both if they agree; none at all is the
/// default, and refused where there is no default.
pub(super) fn read(
    headers: &HeaderMap,
    in_path: Option<&str>,
    default: Option<&Purpose>,
) -> Result<Labels, Problem> {
    let in_header = header::<Purpose>(headers, PURPOSE_HEADER)?;
    let in_path = in_path.map(|text| label(PURPOSE_HEADER, text)).transpose()?;
    let purpose = match (in_header, in_path) {
        (Some(header), Some(path)) if header != path => {
            return Err(two(PURPOSE_HEADER, header.as_str(), path.as_str()));
        }
        (Some(purpose), _) | (None, Some(purpose)) => purpose,
        (None, None) => default.cloned().ok_or(Problem::NoPurpose)?,
    };
    let cell = header(headers, CELL_HEADER)?;
    Ok(Labels { purpose, cell })
}

fn header<T>(headers: &HeaderMap, name: &'static str) -> Result<Option<T>, Problem>
where
    T: FromStr<Err: std::fmt::Display>,
{
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(value.as_bytes());
    if let Some(second) = values.next() {
        let second = String::from_utf8_lossy(second.as_bytes());
        return Err(two(name, &text, &second));
    }
    label(name, &text).map(Some)
}

fn label<T>(header: &'static str, text: &str) -> Result<T, Problem>
where
    T: FromStr<Err: std::fmt::Display>,
{
    text.parse().map_err(|error: T::Err| Problem::Label {
        header,
        given: shortened(text),
        why: error.to_string(),
    })
}

fn two(header: &'static str, first: &str, second: &str) -> Problem {
    Problem::TwoLabels {
        header,
        first: shortened(first),
        second: shortened(second),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn purpose(given: &[(&'static str, &'static str)], path: Option<&str>) -> Result<String, &'static str> {
        match read(&headers(given), path, None) {
            Ok(labels) => Ok(labels.purpose.to_string()),
            Err(problem) => Err(problem.code()),
        }
    }

    #[test]
    fn a_purpose_comes_from_the_header_or_the_path_and_is_one() {
        let extract = [(PURPOSE_HEADER, "extract")];
        assert_eq!(purpose(&extract, None), Ok("extract".to_owned()));
        assert_eq!(
            purpose(&[], Some("defense:rerank")),
            Ok("defense:rerank".to_owned())
        );
        assert_eq!(purpose(&extract, Some("extract")), Ok("extract".to_owned()));
        assert_eq!(purpose(&extract, Some("answer")), Err("two_labels"));
        let twice = [(PURPOSE_HEADER, "extract"), (PURPOSE_HEADER, "answer")];
        assert_eq!(purpose(&twice, None), Err("two_labels"));
    }

    #[test]
    fn a_call_that_nobody_can_account_for_is_refused_unless_there_is_a_default() {
        assert_eq!(purpose(&[], None), Err("missing_purpose"));
        assert_eq!(purpose(&[(PURPOSE_HEADER, "")], None), Err("bad_label"));
        assert_eq!(purpose(&[], Some("two words")), Err("bad_label"));
        assert_eq!(
            purpose(&[(PURPOSE_HEADER, "answer"), (CELL_HEADER, "a b")], None),
            Err("bad_label")
        );
        let default = "other".parse().unwrap();
        let labels = read(
            &headers(&[(CELL_HEADER, "rerank/conv-26/2")]),
            None,
            Some(&default),
        )
        .unwrap();
        assert_eq!(labels.purpose, default);
        assert_eq!(labels.cell.unwrap().as_str(), "rerank/conv-26/2");
    }
}
