//! The distributions as a plot in SVG: for each measure, what share of the cases takes longer than a time.
//!
//! Both axes are logarithmic, because tails are what a batch waits for: a line that ends further to the left
//! and falls earlier is better. Text takes the colour of its surroundings, so the plot reads on light and
//! dark pages.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::summary::{Measure, Outcome};

const PANEL_WIDTH: f64 = 300.0;
const PANEL_HEIGHT: f64 = 220.0;
const MARGIN: f64 = 46.0;
const GAP: f64 = 34.0;
/// Powers of ten shown, of microseconds and of shares.
const TIMES: std::ops::RangeInclusive<i32> = -1..=6;
const SHARES: std::ops::RangeInclusive<i32> = -5..=0;
const COLOURS: [&str; 4] = ["#d1495b", "#3376bd", "#4b8b3b", "#8b6fb0"];
const POINTS: usize = 200;

/// The plot over the given schemas.
pub(crate) fn distributions(outcomes: &[Outcome], ids: &BTreeSet<&str>) -> String {
    let panels = [Measure::First, Measure::ColdMask, Measure::Commit];
    let width = MARGIN + panels.len() as f64 * (PANEL_WIDTH + GAP);
    let height = PANEL_HEIGHT + 2.0 * MARGIN + 10.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\" fill=\"#777\">\n"
    );
    for (column, measure) in panels.into_iter().enumerate() {
        let left = MARGIN + column as f64 * (PANEL_WIDTH + GAP);
        panel(&mut svg, left, measure);
        for (outcome, colour) in outcomes.iter().zip(COLOURS) {
            let points = line(&outcome.times(measure, ids), left);
            put(
                &mut svg,
                &format!(
                    "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"/>"
                ),
            );
        }
    }
    for (index, (outcome, colour)) in outcomes.iter().zip(COLOURS).enumerate() {
        let (x, y) = (MARGIN + index as f64 * 120.0, height - 8.0);
        let name = &outcome.name;
        put(&mut svg, &format!("<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{name}</text>"));
    }
    svg += "</svg>\n";
    svg
}

/// The frame of one panel, with its grid.
fn panel(svg: &mut String, left: f64, measure: Measure) {
    let (top, bottom, right) = (MARGIN, MARGIN + PANEL_HEIGHT, left + PANEL_WIDTH);
    put(svg, &format!("<text x=\"{left}\" y=\"{}\">{}</text>", top - 22.0, measure.title()));
    put(svg, &format!("<text x=\"{left}\" y=\"{}\">share that takes longer</text>", top - 8.0));
    for power in TIMES {
        let x = x_of(10f64.powi(power), left);
        let label = match power {
            ..3 => format!("{} us", 10f64.powi(power)),
            3..6 => format!("{} ms", 10i32.pow(power as u32 - 3)),
            _ => "1 s".to_owned(),
        };
        grid(svg, (x, top), (x, bottom));
        if power % 2 != 0 {
            put(
                svg,
                &format!("<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{label}</text>", bottom + 14.0),
            );
        }
    }
    for power in SHARES {
        let y = y_of(10f64.powi(power));
        grid(svg, (left, y), (right, y));
        if left == MARGIN {
            let label = format!("{}%", 100.0 * 10f64.powi(power));
            put(
                svg,
                &format!("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{label}</text>", left - 4.0, y + 4.0),
            );
        }
    }
}

fn grid(svg: &mut String, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    put(
        svg,
        &format!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#7775\" stroke-width=\"0.5\"/>"
        ),
    );
}

/// The points of the line of ascending `times`, evenly spaced in height.
fn line(times: &[f64], left: f64) -> String {
    let mut points = String::new();
    let n = times.len();
    for step in 0..=POINTS {
        let share = 10f64.powf(*SHARES.start() as f64 * step as f64 / POINTS as f64);
        // `share · n` of the times are longer than this one; below one of them nothing is known.
        if share * n as f64 >= 1.0 {
            let index = n - (share * n as f64).floor() as usize;
            let _ = write!(points, "{:.1},{:.1} ", x_of(times[index], left), y_of(share));
        }
    }
    points
}

fn x_of(time: f64, left: f64) -> f64 {
    let (low, high) = (f64::from(*TIMES.start()), f64::from(*TIMES.end()));
    left + PANEL_WIDTH * (time.max(1e-9).log10().clamp(low, high) - low) / (high - low)
}

fn y_of(share: f64) -> f64 {
    let low = f64::from(*SHARES.start());
    MARGIN + PANEL_HEIGHT * share.log10().clamp(low, 0.0) / low
}

fn put(svg: &mut String, element: &str) {
    svg.push_str(element);
    svg.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_fall_from_the_shortest_to_the_longest_time() {
        let times: Vec<f64> = (1..=1000).map(f64::from).collect();
        let points = line(&times, 0.0);
        let first = points.split(' ').next().unwrap();
        assert_eq!(first, format!("{:.1},{MARGIN:.1}", x_of(1.0, 0.0)));
        assert!(points.trim_end().ends_with(&format!("{:.1},{:.1}", x_of(1000.0, 0.0), y_of(1e-3))));
        assert_eq!(line(&[], 0.0), "");
    }
}
