//! What a report consists of, whatever the experiment: notes, tables, figures. It judges nothing.
//!
//! One report has several forms: text for a terminal is the command's business, [`html`] is one page that needs
//! nothing else, [`Table::to_csv`] and [`Report::to_json`] are for programs.

pub mod html;
pub mod svg;

use serde_json::{Map, Value, json};

/// What the records of a run come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Headline.
    pub title: String,
    /// What was done and what the numbers do not show, one sentence each.
    pub notes: Vec<String>,
    /// The first one is the experiment's own; it is what the CSV file holds.
    pub tables: Vec<Table>,
    /// The figures, in order.
    pub figures: Vec<Figure>,
}

/// Rows under columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// A name for programs: lower case, `-`.
    pub name: String,
    /// A heading.
    pub title: String,
    /// A sentence about it, or nothing.
    pub note: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// One value for each column. Null is shown as a dash and means that there is none.
    pub rows: Vec<Vec<Value>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name, the same in every form.
    pub name: String,
    /// How its values are shown to people; programs get them as they are.
    pub form: Form,
}

/// How a value is shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As it is.
    Plain,
    /// A share of 0 to 1 as a percentage with one decimal; only nothing prints as 0 and only all as 100.
    Percent,
    /// A number with this many decimals.
    Decimals(usize),
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// A heading.
    pub title: String,
    /// A sentence that says what is seen, also for those who do not see it.
    pub caption: String,
    /// `<svg>` from [`svg`], without text that was not escaped.
    pub svg: String,
}

impl Column {
    /// A column whose values are shown as they are.
    #[must_use]
    pub fn plain(name: &str) -> Self {
        Self::of(name, Form::Plain)
    }

    /// A column of shares.
    #[must_use]
    pub fn percent(name: &str) -> Self {
        Self::of(name, Form::Percent)
    }

    /// A column.
    #[must_use]
    pub fn of(name: &str, form: Form) -> Self {
        Self {
            name: name.to_owned(),
            form,
        }
    }

    /// A value as people see it.
    #[must_use]
    pub fn show(&self, value: &Value) -> String {
        match (value, self.form) {
            (Value::Null, _) => "–".to_owned(),
            (Value::String(text), _) => text.clone(),
            (Value::Bool(yes), _) => if *yes { "yes" } else { "no" }.to_owned(),
            (Value::Number(number), Form::Percent) => percent(number.as_f64().unwrap_or(f64::NAN)),
            (Value::Number(number), Form::Decimals(decimals)) => {
                format!("{:.decimals$}", number.as_f64().unwrap_or(f64::NAN))
            }
            (other, _) => other.to_string(),
        }
    }
}

/// A share as a percentage. Only nothing prints as 0 and only all as 100.
#[must_use]
pub fn percent(share: f64) -> String {
    if share <= 0.0 {
        "0%".to_owned()
    } else if share >= 1.0 {
        "100%".to_owned()
    } else {
        format!("{:.1}%", (100.0 * share).clamp(0.1, 99.9))
    }
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(name: &str, title: &str, columns: Vec<Column>) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            note: String::new(),
            columns,
            rows: Vec::new(),
        }
    }

    /// RFC 4180. Null is an empty field.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let names = self.columns.iter().map(|column| field(&column.name));
        push_line(&mut text, names);
        for row in &self.rows {
            push_line(
                &mut text,
                row.iter().map(|value| match value {
                    Value::Null => String::new(),
                    Value::String(words) => field(words),
                    other => field(&other.to_string()),
                }),
            );
        }
        text
    }

    /// Rows as objects.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let fields = self.columns.iter().zip(row);
            Value::Object(
                fields
                    .map(|(column, value)| (column.name.clone(), value.clone()))
                    .collect::<Map<_, _>>(),
            )
        });
        json!({
            "name": self.name,
            "title": self.title,
            "note": self.note,
            "columns": self.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(),
            "rows": rows.collect::<Vec<_>>(),
        })
    }
}

impl Report {
    /// Notes and tables; figures are for people.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "title": self.title,
            "notes": self.notes,
            "tables": self.tables.iter().map(Table::to_json).collect::<Vec<_>>(),
        })
    }
}

fn push_line(text: &mut String, fields: impl Iterator<Item = String>) {
    text.push_str(&fields.collect::<Vec<_>>().join(","));
    text.push_str("\r\n");
}

/// A field of RFC 4180. A leading sign that a spreadsheet would run as a formula is set in quotes with a space.
fn field(text: &str) -> String {
    let formula =
        text.starts_with(['=', '+', '@']) || (text.starts_with('-') && text.parse::<f64>().is_err());
    let safe = if formula {
        format!(" {text}")
    } else {
        text.to_owned()
    };
    if safe.contains([',', '"', '\n', '\r', ' ']) {
        format!("\"{}\"", safe.replace('"', "\"\""))
    } else {
        safe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = vec![
            Column::plain("who"),
            Column::percent("share"),
            Column::of("p", Form::Decimals(2)),
        ];
        let mut table = Table::new("t", "T", columns);
        table
            .rows
            .push(vec![json!("a, \"b\""), json!(0.0004), json!(0.005)]);
        table.rows.push(vec![json!("=1+1"), Value::Null, json!(-0.5)]);
        table
    }

    #[test]
    fn a_csv_file_has_the_values_as_they_are_and_no_formula() {
        assert_eq!(
            table().to_csv(),
            "who,share,p\r\n\"a, \"\"b\"\"\",0.0004,0.005\r\n\" =1+1\",,-0.5\r\n"
        );
    }

    #[test]
    fn people_see_percentages_that_never_round_to_nothing_or_all() {
        let column = Column::percent("share");
        let shown =
            [json!(0.0), json!(0.0004), json!(0.9999), json!(1.0), Value::Null].map(|v| column.show(&v));
        assert_eq!(shown, ["0%", "0.1%", "99.9%", "100%", "–"]);
    }

    #[test]
    fn programs_get_rows_as_objects() {
        assert_eq!(
            table().to_json()["rows"][1],
            json!({"who": "=1+1", "share": null, "p": -0.5})
        );
    }
}
