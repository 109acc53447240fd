//! Figures as SVG, written by hand: bars with intervals and lines. Colors and fonts come from the page's style.
//!
//! They have a view box and no size, so that they fill whatever width there is.

use crate::report::Escaped;
use std::fmt::Write as _;

/// A bar with an interval around its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    /// What stands before it.
    pub label: String,
    /// 0 to 1.
    pub value: f64,
    /// The limits of the interval, if there is one.
    pub limits: Option<(f64, f64)>,
    /// What stands behind it.
    pub note: String,
}

/// A line through points.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

/// Horizontal bars, one below the other, each with its label above it, so that they can be read on a phone.
#[must_use]
pub fn bars(bars: &[Bar]) -> String {
    let (width, step) = (360.0, 34.0);
    let height = step * bars.len() as f64 + 4.0;
    let mut svg = open(width, height);
    for (at, bar) in bars.iter().enumerate() {
        let top = step * at as f64;
        let long = |share: f64| width * share.clamp(0.0, 1.0);
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\">{}</text><text x=\"{width}\" y=\"{:.1}\" class=\"end\">{}</text>\
             <rect class=\"track\" x=\"0\" y=\"{:.1}\" width=\"{width}\" height=\"10\"/>\
             <rect class=\"share\" x=\"0\" y=\"{:.1}\" width=\"{:.1}\" height=\"10\"/>",
            top + 13.0,
            Escaped(&bar.label),
            top + 13.0,
            Escaped(&bar.note),
            top + 18.0,
            top + 18.0,
            long(bar.value),
        );
        if let Some((low, high)) = bar.limits {
            let (low, high, middle) = (long(low), long(high), top + 23.0);
            let _ = write!(
                svg,
                "<path class=\"limits\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {:.1}v6M{high:.1} {:.1}v6\"/>",
                middle - 3.0,
                middle - 3.0
            );
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Lines over a common pair of axes; y runs from 0 to 1.
#[must_use]
pub fn lines(lines: &[Line], x_label: &str, y_label: &str) -> String {
    let (width, height, left, bottom, top) = (360.0, 240.0, 34.0, 30.0, 18.0);
    let mut svg = open(width, height + 18.0 * lines.len() as f64);
    let points = || lines.iter().flat_map(|line| &line.points);
    let (first, last) = points().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), (x, _)| {
        (low.min(*x), high.max(*x))
    });
    let span = if last > first { last - first } else { 1.0 };
    let x_of = |x: f64| left + (x - first) / span * (width - left - 8.0);
    let y_of = |y: f64| top + (1.0 - y.clamp(0.0, 1.0)) * (height - top - bottom);
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = y_of(tick);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{left} {y:.1}H{width}\"/><text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{:.0}%</text>",
            left - 4.0,
            y + 3.5,
            100.0 * tick
        );
    }
    let mut ticks: Vec<f64> = points().map(|(x, _)| *x).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    for x in &ticks {
        let _ = write!(
            svg,
            "<text class=\"tick middle\" x=\"{:.1}\" y=\"{:.1}\">{x}</text>",
            x_of(*x),
            height - bottom + 13.0
        );
    }
    let _ = write!(
        svg,
        "<text class=\"tick end\" x=\"{width}\" y=\"{:.1}\">{}</text><text class=\"tick\" x=\"0\" y=\"10\">{}</text>",
        height - 4.0,
        Escaped(x_label),
        Escaped(y_label)
    );
    for (at, line) in lines.iter().enumerate() {
        // Where the colors come again, the strokes differ.
        let (hue, dash) = (at % 6, at / 6 % 3);
        let path: Vec<String> = line
            .points
            .iter()
            .map(|(x, y)| format!("{:.1} {:.1}", x_of(*x), y_of(*y)))
            .collect();
        let _ = write!(
            svg,
            "<path class=\"line hue{hue} dash{dash}\" d=\"M{}\"/>",
            path.join("L")
        );
        for (x, y) in &line.points {
            let _ = write!(
                svg,
                "<circle class=\"dot hue{hue}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\"/>",
                x_of(*x),
                y_of(*y)
            );
        }
        let y = height + 18.0 * at as f64 + 8.0;
        let _ = write!(
            svg,
            "<path class=\"line hue{hue} dash{dash}\" d=\"M{left} {:.1}h18\"/><text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            y - 4.0,
            left + 24.0,
            Escaped(&line.label)
        );
    }
    svg.push_str("</svg>");
    svg
}

fn open(width: f64, height: f64) -> String {
    format!("<svg viewBox=\"0 0 {width} {height:.0}\" role=\"img\" aria-hidden=\"true\">")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_end_an_element() {
        let bar = Bar {
            label: "<script>".to_owned(),
            value: 2.0,
            limits: Some((0.1, 7.0)),
            note: "\"".to_owned(),
        };
        let drawn = bars(&[bar]);
        assert!(!drawn.contains("<script>") && drawn.contains("&lt;script&gt;"));
        assert!(
            drawn.contains("width=\"360.0\"") || drawn.contains("width=\"360\""),
            "no bar leaves the picture"
        );
    }

    #[test]
    fn a_line_of_one_point_is_drawn_too() {
        let line = Line {
            label: "a".to_owned(),
            points: vec![(3.0, 0.5)],
        };
        let drawn = lines(&[line], "n", "ASR");
        assert!(drawn.contains("<circle") && !drawn.contains("NaN"));
    }
}
