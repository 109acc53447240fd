//! From a thousand to a million records: what a write and a recall cost as a store grows.
//!
//! One store grows; at each size the same number of texts is written by one writer and the same questions are asked.
//! The figure is log-log: a flat line does not depend on the size, a straight one of slope 1 is linear in it.

use super::measure::{Bar, Figure, Rounds, Unit, median, ms};
use super::{Bench, WRITERS, entry};
use crate::scratch;
use memwarden::{Handle, Namespace, Query, Retrieval, Role, Warden};
use miette::{IntoDiagnostic as _, Result, miette};
use plotters::prelude::*;
use std::path::Path;
use std::time::Instant;

const SIZES: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// The preset `off` with room for as many.
const POLICY: &str =
    "name = \"scale\"\norigin = \"off\"\n[quota]\nrecords = 10_000_000\nbytes = 100_000_000_000\n";
const WRITES: u64 = 200;
const QUESTIONS: u64 = 60;
/// Nanoseconds that one more vector may cost.
const PER_VECTOR_NS: f64 = 35.0;
/// A write at a million records, as a multiple of one at a thousand, is flat below this.
const FLAT_BELOW: f64 = 1.5;
const TEXTS_PER_SECOND: f64 = 20_000.0;
const SHORT_TEXTS: u64 = 2_000;

/// Medians in milliseconds at one size.
#[derive(Debug, Clone, Copy)]
struct Point {
    records: u64,
    write: f64,
    vectors: f64,
    hybrid: f64,
}

impl Bench<'_> {
    /// Short texts a second that the built-in encoder turns into vectors.
    pub(super) fn encode(&self) -> Result<Figure> {
        eprintln!("bench: encoding short texts, {} rounds", self.rounds);
        let encoder = memwarden::built_in_encoder();
        let texts: Vec<String> = (0..SHORT_TEXTS)
            .map(|n| self.texts.text(n).chars().take(200).collect())
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        encoder.encode(&texts).into_diagnostic()?;
        let mut rates = Vec::new();
        for _ in 0..self.rounds {
            let started = Instant::now();
            encoder.encode(&texts).into_diagnostic()?;
            rates.push(texts.len() as f64 / started.elapsed().as_secs_f64());
        }
        let ours = Rounds::new(Unit::PerSecond, rates);
        let what = "encode texts of at most 200 characters".to_owned();
        Ok(Figure {
            bars: vec![Bar::at_least(&what, &ours, TEXTS_PER_SECOND)],
            what,
            ours,
            theirs: None,
            ratio: None,
        })
    }

    /// One figure for each size, the bars over all of them, and the picture at `picture`.
    pub(super) fn scale(&self, picture: Option<&Path>) -> Result<Vec<Figure>> {
        let trial = scratch::directory(self.base)?;
        let policy = memwarden::guard::parse(POLICY).into_diagnostic()?;
        scratch::init(trial.path(), &policy)?;
        let warden = Warden::open(&scratch::places(trial.path())).into_diagnostic()?;
        let agent = scratch::handle(trial.path(), &warden, Role::Agent).into_diagnostic()?;
        let sizes = if self.quick { &SIZES[..3] } else { &SIZES[..] };
        let (mut points, mut next) = (Vec::new(), 0);
        for records in sizes {
            eprintln!("bench: a store of {records} records");
            self.grow(&agent, next, *records)?;
            let point = self.measure_at(&agent, *records)?;
            next = *records + WRITES;
            points.push(point);
        }
        if let Some(picture) = picture {
            draw(picture, &points).map_err(|error| miette!("the picture cannot be drawn: {error}"))?;
        }
        Ok(figures(&points))
    }

    fn grow(&self, agent: &Handle, from: u64, to: u64) -> Result<()> {
        let namespace = Namespace::default();
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..WRITERS)
                .map(|thread| {
                    let (agent, namespace) = (agent, &namespace);
                    scope.spawn(move || {
                        (from + thread..to).step_by(64).try_for_each(|n| {
                            agent.remember(namespace, entry(self.texts.text(n))).map(|_| ())
                        })
                    })
                })
                .collect();
            for thread in threads {
                let filled = thread.join().map_err(|_| miette!("a writer panicked"))?;
                filled.into_diagnostic()?;
            }
            Ok(())
        })
    }

    fn measure_at(&self, agent: &Handle, records: u64) -> Result<Point> {
        let namespace = Namespace::default();
        let ask = |retrieval| {
            let mut times = Vec::new();
            for n in 0..QUESTIONS + 10 {
                let query = Query {
                    retrieval,
                    ..Query::new(self.texts.query(n * 7_919 % records))
                };
                let started = Instant::now();
                agent.recall(&namespace, &query).into_diagnostic()?;
                times.push(ms(started.elapsed()));
            }
            // The first ones read the index.
            Ok::<_, miette::Report>(median(times.split_off(10)))
        };
        let (vectors, hybrid) = (ask(Retrieval::Vector)?, ask(Retrieval::Hybrid)?);
        let mut times = Vec::new();
        for n in records..records + WRITES {
            let entry = entry(self.texts.text(n));
            let started = Instant::now();
            agent.remember(&namespace, entry).into_diagnostic()?;
            times.push(ms(started.elapsed()));
        }
        Ok(Point {
            records,
            write: median(times),
            vectors,
            hybrid,
        })
    }
}

fn figures(points: &[Point]) -> Vec<Figure> {
    let one = |what: String, value: f64| Figure {
        what,
        ours: Rounds::new(Unit::Milliseconds, vec![value]),
        theirs: None,
        ratio: None,
        bars: Vec::new(),
    };
    let mut figures: Vec<Figure> = points
        .iter()
        .flat_map(|point| {
            let at = point.records;
            [
                one(format!("{at} records: one write"), point.write),
                one(format!("{at} records: recall by vectors"), point.vectors),
                one(format!("{at} records: hybrid recall"), point.hybrid),
            ]
        })
        .collect();
    if let (Some(first), [.., smaller, last]) = (points.first(), points) {
        let per_vector = (last.vectors - smaller.vectors) / (last.records - smaller.records) as f64 * 1e6;
        let per_vector = Rounds::new(Unit::Nanoseconds, vec![per_vector]);
        let flat = Rounds::new(Unit::Ratio, vec![last.write / first.write]);
        if let Some(figure) = figures.last_mut() {
            figure.bars = vec![
                Bar::below(
                    "one more vector in a recall by vectors",
                    &per_vector,
                    PER_VECTOR_NS,
                ),
                Bar::below(
                    &format!(
                        "one write at {} records over one at {}",
                        last.records, first.records
                    ),
                    &flat,
                    FLAT_BELOW,
                ),
            ];
        }
    }
    figures
}

/// The figure, log-log.
fn draw(path: &Path, points: &[Point]) -> Result<(), Box<dyn std::error::Error>> {
    let all = points
        .iter()
        .flat_map(|point| [point.write, point.vectors, point.hybrid]);
    let (low, high) = all.fold((f64::MAX, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let (first, last) = match points {
        [first, .., last] => (first.records, last.records),
        _ => return Err("fewer than two sizes".into()),
    };
    let root = SVGBackend::new(path, (720, 440)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("Median time by size of the store", ("sans-serif", 18))
        .margin(16)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(
            (first as f64..last as f64).log_scale(),
            (low / 1.5..high * 1.5).log_scale(),
        )?;
    chart
        .configure_mesh()
        .x_desc("records")
        .y_desc("milliseconds")
        .draw()?;
    type Read = fn(&Point) -> f64;
    let lines: [(&str, RGBColor, Read); 3] = [
        ("one write", BLUE, |point| point.write),
        ("recall by vectors", RED, |point| point.vectors),
        ("hybrid recall", BLACK, |point| point.hybrid),
    ];
    for (name, color, read) in lines {
        let line: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (point.records as f64, read(point)))
            .collect();
        chart
            .draw_series(LineSeries::new(line.iter().copied(), color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        chart.draw_series(line.iter().map(|at| Circle::new(*at, 3, color.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .border_style(BLACK)
        .background_style(WHITE.mix(0.9))
        .draw()?;
    root.present()?;
    Ok(())
}
