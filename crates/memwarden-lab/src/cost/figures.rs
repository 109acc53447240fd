//! The figures of the report as SVG: differences with their intervals around a line of no difference, and cost against
//! utility. Colors and fonts come from the page's style.

use crate::report::Escaped;
use std::fmt::Write as _;

/// A difference, in points.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// What stands above it.
    pub label: String,
    /// The difference.
    pub delta: f64,
    /// Its interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Which color: 0 for ours, 1 for the paper's.
    pub hue: usize,
}

/// A condition as a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Its name.
    pub label: String,
    /// To the right, a share.
    pub x: f64,
    /// Upwards, in points.
    pub y: f64,
    /// Which color.
    pub hue: usize,
}

const WIDTH: f64 = 360.0;

/// Differences below each other on one scale, with a line at none.
#[must_use]
pub fn forest(differences: &[Difference]) -> String {
    let reach = differences
        .iter()
        .flat_map(|difference| {
            [
                difference.low.abs(),
                difference.high.abs(),
                difference.delta.abs(),
            ]
        })
        .fold(1.0_f64, f64::max);
    let reach = (reach * 1.05).ceil();
    let x_of = |points: f64| WIDTH / 2.0 + points / reach * (WIDTH / 2.0 - 6.0);
    let (step, top) = (34.0, 22.0);
    let height = top + step * differences.len() as f64 + 4.0;
    let mut svg = open(WIDTH, height);
    for tick in [-reach, -reach / 2.0, 0.0, reach / 2.0, reach] {
        let x = x_of(tick);
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} {top}V{height:.0}\"/><text class=\"tick middle\" x=\"{:.1}\" y=\"12\">{tick:+.0}</text>",
            x.clamp(14.0, WIDTH - 14.0)
        );
    }
    for (at, difference) in differences.iter().enumerate() {
        let y = top + step * at as f64;
        let (low, high, delta) = (
            x_of(difference.low),
            x_of(difference.high),
            x_of(difference.delta),
        );
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\">{}</text><text x=\"{WIDTH}\" y=\"{:.1}\" class=\"end\">{:+.1} [{:+.1}, {:+.1}]</text>\
             <path class=\"line hue{}\" d=\"M{low:.1} {:.1}H{high:.1}M{low:.1} {:.1}v6M{high:.1} {:.1}v6\"/>\
             <circle class=\"dot hue{}\" cx=\"{delta:.1}\" cy=\"{:.1}\" r=\"3.5\"/>",
            y + 13.0,
            Escaped(&difference.label),
            y + 13.0,
            difference.delta,
            difference.low,
            difference.high,
            difference.hue,
            y + 23.0,
            y + 20.0,
            y + 20.0,
            difference.hue,
            y + 23.0,
        );
    }
    svg.push_str("</svg>");
    svg
}

/// Points over a scale of shares and one of points, each with a number that the list below explains.
#[must_use]
pub fn scatter(points: &[Point], x_label: &str, y_label: &str) -> String {
    let (plot, left, top, right) = (220.0, 38.0, 20.0, WIDTH - 10.0);
    let widest = points.iter().map(|point| point.x).fold(0.01_f64, f64::max) * 1.1;
    let reach = points.iter().map(|point| point.y.abs()).fold(1.0_f64, f64::max) * 1.15;
    let x_of = |x: f64| left + x / widest * (right - left);
    let y_of = |y: f64| top + (1.0 - (y + reach) / (2.0 * reach)) * (plot - top);
    let height = plot + 24.0 + 18.0 * points.len() as f64;
    let mut svg = open(WIDTH, height);
    for share in [-1.0, -0.5, 0.0, 0.5, 1.0] {
        let y = y_of(share * reach);
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/><text class=\"tick end\" x=\"{:.1}\" y=\"{:.1}\">{:+.1}</text>",
            left - 4.0,
            y + 3.5,
            share * reach
        );
    }
    for share in [0.0, 0.5, 1.0] {
        let _ = write!(
            svg,
            "<text class=\"tick {}\" x=\"{:.1}\" y=\"{:.1}\">{:.1}%</text>",
            if share < 1.0 { "middle" } else { "end" },
            x_of(share * widest),
            plot + 13.0,
            100.0 * share * widest
        );
    }
    let _ = write!(
        svg,
        "<text class=\"tick\" x=\"0\" y=\"10\">{}</text><text class=\"tick end\" x=\"{right}\" y=\"{:.1}\">{}</text>",
        Escaped(y_label),
        plot + 24.0,
        Escaped(x_label)
    );
    for (at, point) in points.iter().enumerate() {
        let y = plot + 40.0 + 18.0 * at as f64;
        let number = at + 1;
        let _ = write!(
            svg,
            "<circle class=\"dot hue{hue}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"/><text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{number}</text>\
             <circle class=\"dot hue{hue}\" cx=\"{left}\" cy=\"{:.1}\" r=\"4\"/><text x=\"{:.1}\" y=\"{y:.1}\">{number} {}: {:.1}% tokens, {:+.1} points</text>",
            x_of(point.x),
            y_of(point.y),
            x_of(point.x) + 6.0,
            y_of(point.y) - 4.0,
            y - 4.0,
            left + 10.0,
            Escaped(&point.label),
            100.0 * point.x,
            point.y,
            hue = point.hue,
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
    fn nothing_leaves_the_picture_and_no_label_ends_an_element() {
        let difference = Difference {
            label: "<b>".to_owned(),
            delta: -40.0,
            low: -80.0,
            high: 3.0,
            hue: 0,
        };
        let drawn = forest(&[difference]);
        assert!(drawn.contains("&lt;b&gt;") && !drawn.contains("<b>") && !drawn.contains("NaN"));
        assert!(!drawn.contains("cx=\"-"));
        assert!(scatter(&[], "x", "y").ends_with("</svg>"));
    }
}
