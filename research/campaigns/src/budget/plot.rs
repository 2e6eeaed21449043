//! The shares by limit as a drawing: one panel for each measure, one line for each method and strategy, over
//! the texts of RFC 8259's grammar.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::report::{MEASURES, limits};
use super::{Entry, GrammarKind, Method, Outcome, Strategy};

const WIDTH: f64 = 260.0;
const HEIGHT: f64 = 200.0;
const MARGIN: f64 = 40.0;
const COLOURS: [&str; 10] = [
    "#444444", "#d62728", "#ff9896", "#8c564b", "#1f77b4", "#17becf", "#9467bd", "#2ca02c", "#98df8a",
    "#bcbd22",
];

/// An SVG document.
pub(super) fn svg(entries: &[Entry]) -> String {
    let entries: Vec<Entry> =
        entries.iter().filter(|entry| entry.setting.grammar == GrammarKind::Json).cloned().collect();
    let limits = limits(&entries);
    let series: BTreeSet<(Method, Strategy)> =
        entries.iter().map(|entry| (entry.setting.method, entry.setting.strategy)).collect();
    let total_width = MEASURES.len() as f64 * (WIDTH + MARGIN) + MARGIN;
    let total_height = HEIGHT + 2.0 * MARGIN + 14.0 * series.len() as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total_width}\" height=\"{total_height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n"
    );
    let step = WIDTH / limits.len().saturating_sub(1).max(1) as f64;
    for (panel, (title, measure)) in MEASURES.into_iter().enumerate() {
        let left = MARGIN + panel as f64 * (WIDTH + MARGIN);
        let at = |index: usize, share: f64| (left + index as f64 * step, MARGIN + HEIGHT * (1.0 - share));
        line(&mut text, &format!("<text x=\"{left}\" y=\"{}\">{title} %</text>", MARGIN - 10.0));
        for share in [0.0, 0.5, 1.0] {
            let (x, y) = at(0, share);
            let right = x + WIDTH;
            line(&mut text, &format!("<path d=\"M{x} {y}H{right}\" stroke=\"#cccccc\"/>"));
            line(&mut text, &format!("<text x=\"{}\" y=\"{y}\">{:.0}</text>", x - 24.0, 100.0 * share));
        }
        for (index, limit) in limits.iter().enumerate() {
            let (x, y) = at(index, 0.0);
            line(&mut text, &format!("<text x=\"{x}\" y=\"{}\">{limit}</text>", y + 16.0));
        }
        for (&(method, strategy), colour) in series.iter().zip(COLOURS.into_iter().cycle()) {
            let mut points = String::new();
            for (index, &limit) in limits.iter().enumerate() {
                let is_of = |entry: &&Entry| {
                    let setting = entry.setting;
                    (setting.limit, setting.method, setting.strategy) == (limit, method, strategy)
                        && entry.outcome != Outcome::Refused
                };
                let values: Vec<bool> = entries.iter().filter(is_of).map(measure).collect();
                if !values.is_empty() {
                    let n_right = values.iter().filter(|is_right| **is_right).count();
                    let (x, y) = at(index, n_right as f64 / values.len() as f64);
                    points += &format!("{x:.1},{y:.1} ");
                }
            }
            line(
                &mut text,
                &format!(
                    "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
                ),
            );
        }
    }
    for (row, (&(method, strategy), colour)) in series.iter().zip(COLOURS.into_iter().cycle()).enumerate() {
        let y = HEIGHT + 2.0 * MARGIN + 14.0 * row as f64;
        let label =
            format!("<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{colour}\">{method:?} {strategy:?}</text>");
        line(&mut text, &label);
    }
    text + "</svg>\n"
}

fn line(text: &mut String, element: &str) {
    writeln!(text, "{element}").expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_a_drawing_too() {
        let text = svg(&[]);
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
        assert_eq!(text.matches("%</text>").count(), MEASURES.len());
    }
}
