//! Shares with their intervals, and what one method has over another on the same records.
//!
//! Intervals are 95% percentile intervals of the bootstrap (Efron 1979): records are drawn with replacement,
//! both methods of a pair from the same draw.

use std::collections::{BTreeMap, BTreeSet};

use super::{Entry, Method, Outcome, Setting};
use crate::table::{median, render};

/// Draws of the bootstrap; fixed, as is their seed, so that a report of a log is always the same.
const N_DRAWS: usize = 2_000;

/// A property of a text that is counted, with its title.
type Measure = (&'static str, fn(&Entry) -> bool);

/// All of them.
pub(super) const MEASURES: [Measure; 3] =
    [("syntax", |entry| entry.is_json), ("schema", |entry| entry.is_valid), ("gold", |entry| entry.is_gold)];

/// The tables.
pub(super) fn report(entries: &[Entry]) -> String {
    let mut by_setting: BTreeMap<Setting, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        by_setting.entry(entry.setting).or_default().push(entry);
    }
    let mut rows = vec![
        [
            "grammar, prompt, limit",
            "method",
            "n",
            "refused",
            "syntax %",
            "schema %",
            "gold %",
            "perplexity",
            "ms/token",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for (setting, entries) in &by_setting {
        let written: Vec<&Entry> =
            entries.iter().copied().filter(|entry| entry.outcome != Outcome::Refused).collect();
        let mut row = vec![place(*setting), format!("{:?} {:?}", setting.method, setting.strategy)];
        row.extend([written.len().to_string(), (entries.len() - written.len()).to_string()]);
        for (_, measure) in MEASURES {
            let values: Vec<f64> = written.iter().map(|entry| f64::from(u8::from(measure(entry)))).collect();
            row.push(with_interval(&values));
        }
        row.push(format!("{:.2}", median(written.iter().map(|entry| entry.perplexity))));
        let of = |entry: &&Entry| 1_000.0 * entry.seconds / entry.n_tokens.max(1) as f64;
        row.push(format!("{:.1}", median(written.iter().map(of))));
        rows.push(row);
    }
    let differences = differences(&by_setting);
    format!("{}\nExact minus the other method, same records:\n{}", render(&rows), render(&differences))
}

fn place(setting: Setting) -> String {
    format!("{:?}, {:?}, {}", setting.grammar, setting.prompt, setting.limit)
}

/// What the exact budget has over the other methods with the same strategy; a text that one method refuses
/// counts as wrong, one that both refuse does not count.
fn differences(by_setting: &BTreeMap<Setting, Vec<&Entry>>) -> Vec<Vec<String>> {
    let head = ["grammar, prompt, limit", "pair", "n", "syntax", "schema", "gold"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (setting, exact) in by_setting.iter().filter(|(setting, _)| setting.method == Method::Exact) {
        for other_method in [Method::Unlimited, Method::Estimate] {
            let Some(others) = by_setting.get(&Setting { method: other_method, ..*setting }) else {
                continue;
            };
            let others: BTreeMap<&str, &Entry> =
                others.iter().map(|&entry| (entry.id.as_str(), entry)).collect();
            let is_written = |(exact, other): &(&Entry, &Entry)| {
                exact.outcome != Outcome::Refused || other.outcome != Outcome::Refused
            };
            let pairs: Vec<(&Entry, &Entry)> = exact
                .iter()
                .filter_map(|&entry| Some((entry, *others.get(entry.id.as_str())?)))
                .filter(is_written)
                .collect();
            let mut row = vec![place(*setting), format!("{other_method:?} {:?}", setting.strategy)];
            row.push(pairs.len().to_string());
            for (_, measure) in MEASURES {
                let value = |entry| f64::from(u8::from(measure(entry)));
                let values: Vec<f64> =
                    pairs.iter().map(|(exact, other)| value(exact) - value(other)).collect();
                row.push(with_interval(&values));
            }
            rows.push(row);
        }
    }
    rows
}

/// The mean in hundredths and its interval.
fn with_interval(values: &[f64]) -> String {
    match interval(values) {
        None => "-".to_owned(),
        Some((low, mean, high)) => {
            format!("{:.0} [{:.0}, {:.0}]", 100.0 * mean, 100.0 * low, 100.0 * high)
        }
    }
}

/// The mean of `values` between the ends of its interval; `None` of nothing.
fn interval(values: &[f64]) -> Option<(f64, f64, f64)> {
    let mean = |values: &mut dyn Iterator<Item = f64>, n: usize| values.sum::<f64>() / n as f64;
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mut state = 0;
    let mut means: Vec<f64> = (0..N_DRAWS)
        .map(|_| mean(&mut (0..n).map(|_| values[(split_mix(&mut state) % n as u64) as usize]), n))
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |share: f64| means[((N_DRAWS - 1) as f64 * share) as usize];
    Some((at(0.025), mean(&mut values.iter().copied(), n), at(0.975)))
}

/// SplitMix64 (Steele, Lea, Flood 2014): enough to draw records.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut hash = *state;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// The limits that occur, ascending.
pub(super) fn limits(entries: &[Entry]) -> Vec<super::task::Limit> {
    entries.iter().map(|entry| entry.setting.limit).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_mean_and_shrink() {
        let half = |n: usize| -> Vec<f64> { (0..n).map(|index| (index % 2) as f64).collect() };
        let (low, mean, high) = interval(&half(100)).unwrap();
        assert!(mean == 0.5 && (low - 0.4).abs() < 0.03 && (high - 0.6).abs() < 0.03, "{low} {high}");
        let (lower, _, higher) = interval(&half(10)).unwrap();
        assert!(lower < low && high < higher);
        assert_eq!(interval(&[1.0; 5]), Some((1.0, 1.0, 1.0)));
        assert_eq!((interval(&[]), with_interval(&[])), (None, "-".to_owned()));
    }
}
