//! Figures for people: quantiles, and columns that line up.

use std::fmt::Write;

/// The mean and some quantiles of a set of numbers; the quantile q is the element at floor(q (n - 1)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Quantiles {
    pub(crate) n: usize,
    pub(crate) mean: f64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

impl Quantiles {
    /// Of these numbers; `None` if there are none. O(n log n).
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Quantiles> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let &max = values.last()?;
        let at = |quantile: f64| values[((values.len() - 1) as f64 * quantile) as usize];
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let n = values.len();
        Some(Quantiles { n, mean, p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max })
    }

    /// As cells of a [`render`]ed table, after a title; `Quantiles::HEAD` stands above.
    pub(crate) fn row(title: &str, values: impl IntoIterator<Item = f64>) -> Vec<String> {
        let mut row = vec![title.to_owned()];
        match Quantiles::of(values) {
            None => row.push("0".to_owned()),
            Some(Quantiles { n, mean, p50, p90, p99, p999, max }) => {
                row.push(n.to_string());
                row.extend([mean, p50, p90, p99, p999, max].map(|value| format!("{value:.1}")));
            }
        }
        row
    }

    /// The heads of the columns of [`Quantiles::row`].
    pub(crate) fn head(title: &str) -> Vec<String> {
        [title, "n", "mean", "p50", "p90", "p99", "p99.9", "max"].map(str::to_owned).to_vec()
    }
}

/// The median; 0 of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    Quantiles::of(values).map_or(0.0, |quantiles| quantiles.p50)
}

/// Rows as lines: the first column to the left, the others to the right, two spaces between.
pub(crate) fn render(rows: &[Vec<String>]) -> String {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let written =
                if column == 0 { write!(line, "{cell:width$}") } else { write!(line, "  {cell:>width$}") };
            written.expect("writing to a string cannot fail");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A text cut to at most `n_chars` characters.
pub(crate) fn shortened(text: &str, n_chars: usize) -> String {
    if text.chars().count() <= n_chars {
        return text.to_owned();
    }
    text.chars().take(n_chars.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_elements() {
        let quantiles = Quantiles::of((0..1000).rev().map(f64::from)).unwrap();
        assert_eq!(
            (quantiles.p50, quantiles.p99, quantiles.p999, quantiles.max),
            (499.0, 989.0, 998.0, 999.0)
        );
        assert_eq!((quantiles.n, quantiles.mean), (1000, 499.5));
        assert_eq!(Quantiles::of([]), None);
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["name".to_owned(), "n".to_owned()], vec!["é".to_owned(), "10".to_owned()]];
        assert_eq!(render(&rows), "name   n\né     10\n");
        assert_eq!(shortened("abcdé", 4), "abc…");
    }
}
