//! Tables of a run: counts and times by cell, the cost beside a forward pass, figures beside what is wanted,
//! and what went wrong.

use std::collections::BTreeMap;

use super::fill::{Filling, Stop};
use super::texts::Language;
use super::{Cell, Entry};
use crate::table::{Quantiles, render, shortened};

/// A forward pass that the constraint is held against.
const FORWARD_MS: f64 = 25.0;

/// How many slow questions are listed.
const N_LISTED: usize = 20;

/// Of one of the two ways to fill a canvas; none if it was not filled that way.
type Way = fn(&Entry) -> Option<&Filling>;

const TRUE_TOKENS: Way = |entry| Some(&entry.true_tokens);
const DRAWS: Way = |entry| entry.draws.as_ref();

pub(super) fn report(entries: &[&Entry]) -> String {
    let mut cells: BTreeMap<Cell, Vec<&Entry>> = BTreeMap::new();
    for &entry in entries {
        cells.entry(entry.cell()).or_default().push(entry);
    }
    let title = |(language, up_to, known): Cell| format!("{}, up to {up_to}, {known}%", language.title());
    let mut rows: Vec<(String, Vec<&Entry>)> =
        cells.into_iter().map(|(cell, entries)| (title(cell), entries)).collect();
    rows.push(("all".to_owned(), entries.to_vec()));
    let mut counts = vec![heads(&[
        "",
        "canvases",
        "open",
        "finished",
        "true tokens",
        "open",
        "then, of others",
        "no",
        "open",
        "masks",
        "empty",
    ])];
    let mut times = vec![heads(&[
        "ms of the processor: p50 / p99 / max",
        "construction",
        "true token",
        "put",
        "mask",
        "refused",
        "mask of a draw",
    ])];
    let mut draws = vec![heads(&["draws", "put", "refused", "asked", "open", "given"])];
    let mut shares = vec![heads(&["ms a token, share", "true tokens", "", "draws", ""])];
    for (title, entries) in &rows {
        counts.push([vec![title.clone()], counts_of(entries)].concat());
        times.push([vec![title.clone()], times_of(entries)].concat());
        draws.push([vec![title.clone()], draws_of(entries)].concat());
        let mut row = vec![title.clone()];
        for of in [TRUE_TOKENS, DRAWS] {
            let per_token = per_token(entries.iter().filter_map(|entry| of(entry)));
            row.push(format!("{per_token:.1}"));
            row.push(format!("{:.0}%", share(per_token)));
        }
        shares.push(row);
    }
    let mut tables = vec![counts, times];
    if entries.iter().any(|entry| entry.draws.is_some()) {
        tables.push(draws);
    }
    tables.extend([shares, figures(entries)]);
    let tables: Vec<String> = tables.iter().map(|table| render(table)).collect();
    tables.join("\n") + "\n" + &listed(entries)
}

fn heads(heads: &[&str]) -> Vec<String> {
    heads.iter().map(|&head| head.to_owned()).collect()
}

fn sum(entries: &[&Entry], of: Way, count: impl Fn(&Filling) -> usize) -> String {
    entries.iter().filter_map(|entry| of(entry)).map(count).sum::<usize>().to_string()
}

fn counts_of(entries: &[&Entry]) -> Vec<String> {
    let sum = |count: fn(&Filling) -> usize| sum(entries, TRUE_TOKENS, count);
    vec![
        entries.len().to_string(),
        sum(|filling| usize::from(filling.is_open())),
        entries.iter().filter(|entry| entry.is_finished()).count().to_string(),
        sum(|filling| filling.asked.all_ms().count()),
        sum(|filling| filling.asked.open_ms.len()),
        sum(|filling| filling.astray.all_ms().count()),
        sum(|filling| filling.astray.no_ms.len()),
        sum(|filling| filling.astray.open_ms.len()),
        sum(|filling| filling.masks_ms.len()),
        sum(|filling| filling.n_empty_masks),
    ]
}

fn draws_of(entries: &[&Entry]) -> Vec<String> {
    let sum = |count: fn(&Filling) -> usize| sum(entries, DRAWS, count);
    vec![
        sum(|filling| filling.n_put),
        sum(|filling| filling.drawn.n_refused),
        sum(|filling| filling.asked.all_ms().count()),
        sum(|filling| filling.asked.open_ms.len()),
        sum(|filling| filling.drawn.n_given),
    ]
}

fn times_of(entries: &[&Entry]) -> Vec<String> {
    let cell = |of: Way, values: fn(&Filling) -> Vec<f64>| {
        let values: Vec<f64> = entries.iter().filter_map(|entry| of(entry)).flat_map(values).collect();
        Quantiles::of(values).map_or(String::new(), |Quantiles { p50, p99, max, .. }| {
            format!("{p50:.1} / {p99:.0} / {max:.0}")
        })
    };
    vec![
        cell(TRUE_TOKENS, |filling| vec![filling.construction_ms]),
        cell(TRUE_TOKENS, |filling| filling.asked.all_ms().collect()),
        cell(TRUE_TOKENS, |filling| filling.puts_ms.clone()),
        cell(TRUE_TOKENS, |filling| filling.masks_ms.clone()),
        cell(DRAWS, |filling| [&filling.asked.no_ms[..], &filling.asked.open_ms].concat()),
        cell(DRAWS, |filling| filling.masks_ms.clone()),
    ]
}

/// The first canvas of two that are alike.
fn constructions(entries: &[&Entry]) -> Vec<f64> {
    entries.iter().map(|entry| entry.true_tokens.construction_ms).collect()
}

/// About true tokens while all that was put is true.
fn questions(entries: &[&Entry]) -> Vec<f64> {
    entries.iter().flat_map(|entry| entry.true_tokens.asked.all_ms()).collect()
}

fn masks(entries: &[&Entry]) -> Vec<f64> {
    entries.iter().flat_map(|entry| entry.true_tokens.masks_ms.iter().copied()).collect()
}

/// The time of the constraint for each token that was put.
fn per_token<'a>(fillings: impl Iterator<Item = &'a Filling>) -> f64 {
    let (ms, n) = fillings.fold((0.0, 0), |(ms, n), filling| (ms + filling.constraint_ms, n + filling.n_put));
    if n == 0 { 0.0 } else { ms / n as f64 }
}

/// The hundredths of a step with a forward pass that the constraint takes.
fn share(per_token: f64) -> f64 {
    100.0 * per_token / (per_token + FORWARD_MS)
}

/// What was measured, beside what is wanted.
fn figures(entries: &[&Entry]) -> Vec<Vec<String>> {
    let mut table = vec![heads(&["figure", "wanted", "measured", "met"])];
    let mut figure = |name: String, wanted: f64, measured: f64| {
        let met = if measured <= wanted { "yes" } else { "no" };
        table.push(vec![name, format!("{wanted}"), format!("{measured:.2}"), met.to_owned()]);
    };
    let n_questions = questions(entries).len().max(1) as f64;
    let n_open: usize = entries.iter().map(|entry| entry.true_tokens.asked.open_ms.len()).sum();
    figure("open questions about true tokens, %".to_owned(), 0.5, 100.0 * n_open as f64 / n_questions);
    if let Some(Quantiles { p50, p99, max, .. }) = Quantiles::of(questions(entries)) {
        figure("question p50, ms".to_owned(), 5.0, p50);
        figure("question p99, ms".to_owned(), 200.0, p99);
        figure("question max, ms".to_owned(), 2000.0, max);
    }
    if let Some(Quantiles { p50, .. }) = Quantiles::of(masks(entries)) {
        figure("mask p50, ms".to_owned(), 50.0, p50);
    }
    if let Some(Quantiles { p50, .. }) = Quantiles::of(constructions(entries)) {
        figure("construction p50, ms".to_owned(), 50.0, p50);
    }
    let mut languages: Vec<Language> = entries.iter().map(|entry| entry.language).collect();
    languages.sort_unstable();
    languages.dedup();
    for language in languages {
        let of_language = || entries.iter().filter(move |entry| entry.language == language);
        let share_of = |of: Way| share(per_token(of_language().filter_map(|entry| of(entry))));
        let title = language.title();
        figure(format!("{title}, true tokens: share of the constraint, %"), 30.0, share_of(TRUE_TOKENS));
        figure(format!("{title}, draws: share of the constraint, %"), 30.0, share_of(DRAWS));
    }
    table
}

/// What went wrong, and the slowest questions.
fn listed(entries: &[&Entry]) -> String {
    let mut text = String::new();
    let mut slow = Vec::new();
    for entry in entries {
        for (way, filling) in entry.fillings() {
            let place = format!("{} {}, {}% known, {way}", entry.language.title(), entry.text, entry.known);
            match &filling.stop {
                Some(Stop::Wrong(reason)) => text += &format!("{place}: WRONG: {}\n", shortened(reason, 200)),
                Some(Stop::Open) => text += &format!("{place}: open, {:.0} ms\n", filling.construction_ms),
                Some(Stop::Unfinished(reason)) => text += &format!("{place}: not finished: {reason}\n"),
                None => {}
            }
            let listed = filling.asked.listed.iter().chain(&filling.astray.listed);
            slow.extend(listed.map(|listed| (listed, place.clone())));
        }
    }
    slow.sort_by(|a, b| b.0.ms.total_cmp(&a.0.ms));
    for (listed, place) in slow.iter().take(N_LISTED) {
        text += &format!(
            "{:.0} ms for \"{}\": {place}, token {} at {}, {} put\n",
            listed.ms, listed.answer, listed.token, listed.position, listed.n_put
        );
    }
    text
}
