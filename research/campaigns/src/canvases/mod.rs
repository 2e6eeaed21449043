//! `canvases`: canvases of true texts are filled to the end, and never fail.
//!
//! Some of a text's tokens are known (25, 50 and 75%), the others are masked. The text itself is not handed
//! over. Each canvas is filled twice: with its true tokens in a random order, and with tokens drawn from a
//! model to which all tokens are equally likely. Claimed:
//!
//! * a witness is found when the canvas is made, of all canvases but a few (5% of a cell, 2% of all), and no
//!   call raises;
//! * no true token is refused while all tokens put are true (an open question gives the position another
//!   token: what is refused later may be wrong there);
//! * a token of a mask is never refused when it is asked about, and a mask that says that it is exact has
//!   each token that is allowed;
//! * every full canvas is a text of its language, as a session judges it, and Lark or a JSON Schema validator
//!   where there is one.
//!
//! Times (of the processor) and shares of open questions are figures: they are reported beside what is
//! wanted, and fail nothing.
//!
//! A canvas has `--seconds` for each of the two. What is not finished within them is a failure as well, and
//! tried again with `--again`, as is what was wrong.

mod fill;
mod report;
mod texts;

use std::collections::{BTreeMap, btree_map};
use std::path::PathBuf;

use anyhow::{Context, ensure};
use maskwright::{CompileOptions, Compiler, Limits, TokenId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use crate::numbers::Numbers;
use crate::random_logits::hash;
pub(crate) use fill::Clock;
use fill::{Filling, Stop, Task, with_draws, with_true_tokens};
use texts::{Choice, Language, Text, Texts};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Whose vocabulary: a shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "dream")]
    tokenizer: String,
    /// What is written in
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpp,python,sql,json,smiles")]
    languages: Vec<Language>,
    /// Hundredths of the tokens that are known
    #[arg(long, value_delimiter = ',', default_value = "25,50,75")]
    known: Vec<u32>,
    /// Texts of each language and length; each makes a canvas for each of `--known`
    #[arg(long, value_name = "N", default_value_t = 2)]
    per_cell: usize,
    /// How many tokens texts have: at most the first number, more than that and at most the second, and so on
    #[arg(long, value_delimiter = ',', default_value = "60,120,200")]
    lengths: Vec<usize>,
    /// Work units of the first question about a canvas, and of an exact mask [default: what users have]
    #[arg(long, value_name = "UNITS")]
    work: Option<u64>,
    /// Fill canvases with their true tokens only
    #[arg(long)]
    no_draws: bool,
    /// The most seconds for each of the two ways to fill a canvas; looked at between tokens
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Masks of each canvas that are looked at
    #[arg(long, default_value_t = 2)]
    masks: usize,
    /// How many of the model's likeliest tokens are asked about where a draw is refused, before a mask is
    /// computed
    #[arg(long, value_name = "N", default_value_t = 8)]
    alternatives: usize,
    /// A Python that has Lark [default: a virtual environment under target/, made if it is not there]
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Changes the texts, what is known of them, and the order
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Try again what was not finished, or wrong
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    log: LogArguments,
}

/// The most hundredths of canvases that may be open, of one cell and of all.
const MAX_OPEN_OF_CELL: usize = 5;
const MAX_OPEN_OF_ALL: usize = 2;

/// A language, the most tokens of its texts, and the hundredths of the tokens that are known.
type Cell = (Language, usize, u32);

/// One canvas.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    language: Language,
    text: String,
    known: u32,
    /// The text has at most so many tokens.
    up_to: usize,
    n_tokens: usize,
    n_masked: usize,
    true_tokens: Filling,
    /// Of a run with draws.
    draws: Option<Filling>,
}

impl Entry {
    fn cell(&self) -> Cell {
        (self.language, self.up_to, self.known)
    }

    fn fillings(&self) -> impl Iterator<Item = (&'static str, &Filling)> {
        let draws = self.draws.iter().map(|draws| ("draws", draws));
        std::iter::once(("true tokens", &self.true_tokens)).chain(draws)
    }

    fn is_finished(&self) -> bool {
        self.fillings().all(|(_, filling)| filling.stop.is_none())
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let settings = json!({
        "tokenizer": arguments.tokenizer, "lengths": arguments.lengths, "seed": arguments.seed,
        "alternatives": arguments.alternatives, "work": arguments.work,
    });
    let mut log = Log::<Entry>::open("canvases", &settings, &arguments.log)?;
    let mut is_done: BTreeMap<(Language, String, u32), bool> = BTreeMap::new();
    for entry in log.entries() {
        is_done.insert((entry.language, entry.text.clone(), entry.known), entry.is_finished());
    }
    let tokenizer = data::load_tokenizer(&arguments.tokenizer)?;
    for &language in &arguments.languages {
        // A compiler for each language: its caches end with it.
        let mut limits = Limits::default();
        limits.infill_work = arguments.work.unwrap_or(limits.infill_work);
        let compiler = Compiler::with_limits(&tokenizer, limits);
        let mut shortest = 0;
        for &up_to in &arguments.lengths {
            let lengths = (std::mem::replace(&mut shortest, up_to), up_to);
            let choice = Choice { n: arguments.per_cell, lengths, seed: arguments.seed };
            let texts = language.texts(&compiler, choice, arguments.python.as_deref())?;
            let (n, n_refused, title) = (texts.chosen.len(), texts.n_refused, language.title());
            println!(
                "{title}, up to {up_to} tokens: {n} texts chosen, {n_refused} passed over as not of the language"
            );
            let bar = crate::progress::bar("canvases", 0, n * arguments.known.len());
            for text in &texts.chosen {
                for &known in &arguments.known {
                    let done = is_done.get(&(language, text.name.clone(), known));
                    if done.is_none_or(|&is_finished| arguments.again && !is_finished) {
                        let entry = fill((language, &texts, text), (known, up_to), arguments)
                            .with_context(|| format!("{title} {}, {known}% known", text.name))?;
                        log.append(entry)?;
                    }
                    bar.inc(1);
                }
            }
            bar.finish();
        }
    }
    let entries = latest(log.entries());
    println!("{}", report::report(&entries));
    println!("log: {}", log.path().display());
    verdict(&entries)
}

/// Fills one canvas of `text` twice.
fn fill(
    (language, texts, text): (Language, &Texts, &Text),
    (known, up_to): (u32, usize),
    arguments: &Arguments,
) -> anyhow::Result<Entry> {
    let infiller = text.grammar.infiller(&CompileOptions::default())?;
    let seed = arguments.seed
        ^ hash(text.name.as_bytes())
        ^ u64::from(known + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut numbers = Numbers(seed | 1);
    let positions = some_known(&text.tokens, known, &mut numbers);
    let mut task = || Task {
        infiller: &infiller,
        positions: &positions,
        seconds: arguments.seconds,
        numbers: Numbers(numbers.below(1 << 40) as u64 | 1),
    };
    let (mut true_tokens, filled) = with_true_tokens(task(), &text.tokens, arguments.masks);
    judge((texts, text), &mut true_tokens, filled)?;
    let mut draws = None;
    if !arguments.no_draws {
        let (filling, filled) = with_draws(task(), arguments.alternatives);
        judge((texts, text), draws.insert(filling), filled)?;
    }
    let n_masked = positions.iter().filter(|position| position.is_none()).count();
    let n_tokens = text.tokens.len();
    Ok(Entry { language, text: text.name.clone(), known, up_to, n_tokens, n_masked, true_tokens, draws })
}

/// Notes what is wrong with a full canvas.
fn judge(
    (texts, text): (&Texts, &Text),
    filling: &mut Filling,
    filled: Option<Vec<TokenId>>,
) -> anyhow::Result<()> {
    let Some(filled) = filled else { return Ok(()) };
    let objection = if filled.len() == text.tokens.len() {
        texts.objection(text, &filled)?
    } else {
        Some(format!("{} of {} positions are filled", filled.len(), text.tokens.len()))
    };
    filling.stop = objection.map(Stop::Wrong);
    Ok(())
}

/// Each token with a probability of `known` hundredths.
fn some_known(tokens: &[TokenId], known: u32, numbers: &mut Numbers) -> Vec<Option<TokenId>> {
    tokens.iter().map(|&token| (numbers.below(100) < known as usize).then_some(token)).collect()
}

/// The last entry of each canvas.
fn latest(entries: &[Entry]) -> Vec<&Entry> {
    let mut latest: Vec<&Entry> = Vec::new();
    let mut places = BTreeMap::new();
    for entry in entries {
        match places.entry((entry.language, entry.text.as_str(), entry.known)) {
            btree_map::Entry::Occupied(place) => latest[*place.get()] = entry,
            btree_map::Entry::Vacant(place) => {
                place.insert(latest.len());
                latest.push(entry);
            }
        }
    }
    latest
}

/// Whether the claims hold.
fn verdict(entries: &[&Entry]) -> anyhow::Result<()> {
    let fillings = || entries.iter().flat_map(|entry| entry.fillings());
    let stops = || fillings().filter_map(|(_, filling)| filling.stop.as_ref());
    let n_fillings = fillings().count();
    let n_wrong = stops().filter(|stop| matches!(stop, Stop::Wrong(_))).count();
    let n_unfinished = stops().filter(|stop| matches!(stop, Stop::Unfinished(_))).count();
    ensure!(!entries.is_empty(), "there is no canvas");
    ensure!(n_wrong == 0, "{n_wrong} of {n_fillings} fillings are wrong");
    ensure!(n_unfinished == 0, "{n_unfinished} of {n_fillings} fillings are not finished");
    let is_open = |entry: &&Entry| entry.true_tokens.is_open();
    let mut cells: BTreeMap<Cell, Vec<&Entry>> = BTreeMap::new();
    for &entry in entries {
        cells.entry(entry.cell()).or_default().push(entry);
    }
    let all = (MAX_OPEN_OF_ALL, entries.to_vec());
    for (most, entries) in cells.into_values().map(|entries| (MAX_OPEN_OF_CELL, entries)).chain([all]) {
        let n_open = entries.iter().copied().filter(is_open).count();
        let share = 100 * n_open;
        ensure!(share <= most * entries.len(), "{n_open} of {} canvases are open", entries.len());
    }
    let n_canvases = entries.iter().filter(|entry| !entry.true_tokens.is_open()).count();
    println!("{n_canvases} canvases were filled to the end, and every text was accepted");
    Ok(())
}

#[cfg(test)]
mod tests {
    use maskwright::Tokenizer;

    use super::*;

    fn arguments() -> Arguments {
        Arguments {
            tokenizer: String::new(),
            languages: vec![Language::Smiles],
            known: vec![50],
            per_cell: 1,
            lengths: vec![100],
            work: None,
            no_draws: false,
            seconds: 60.0,
            masks: 2,
            alternatives: 8,
            python: None,
            seed: 1,
            again: false,
            log: LogArguments::default(),
        }
    }

    fn compiler() -> Compiler {
        let mut tokens: Vec<Vec<u8>> = (0..=127u8).map(|byte| vec![byte]).collect();
        let words = ["c1", "(C", "=O)", "int ", "){", "return ", ";}", " = "];
        tokens.extend(words.map(|text| text.as_bytes().to_vec()));
        tokens.push(Vec::new());
        Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(136)]).unwrap())
    }

    #[test]
    fn canvases_of_texts_are_filled_and_judged() {
        let compiler = compiler();
        let mut entries = Vec::new();
        for (language, text) in [
            (Language::Smiles, "c1ccccc1C(C=O)=O"),
            (Language::Cpp, "int f(int x) { int y = x + 1; return y; }"),
        ] {
            let texts = Texts::of(language, &compiler, text);
            assert_eq!(texts.objection(&texts.chosen[0], &texts.chosen[0].tokens).unwrap(), None);
            for known in [75, 0] {
                entries.push(fill((language, &texts, &texts.chosen[0]), (known, 100), &arguments()).unwrap());
            }
        }
        let entries: Vec<&Entry> = entries.iter().collect();
        verdict(&entries).unwrap();
        for entry in &entries {
            let Entry { true_tokens, draws: Some(draws), n_masked, .. } = entry else { panic!("no draws") };
            assert_eq!((true_tokens.n_put, draws.n_put), (*n_masked, *n_masked));
            assert_eq!(true_tokens.asked.yes_ms.len(), *n_masked);
            assert_eq!(true_tokens.masks_ms.len(), 2);
            assert!(draws.asked.all_ms().count() >= *n_masked);
        }
        let report = report::report(&entries);
        assert!(
            report.contains("cpp, up to 100, 75%") && report.contains("smiles, up to 100, 0%"),
            "{report}"
        );
    }

    #[test]
    fn canvases_that_are_no_texts_are_wrong() {
        let texts = Texts::of(Language::Smiles, &compiler(), "C(C");
        let text = &texts.chosen[0];
        assert!(texts.objection(text, &text.tokens).unwrap().unwrap().contains("not whole"));
        let entry = fill((Language::Smiles, &texts, text), (100, 100), &arguments()).unwrap();
        let impossible = Stop::Wrong("impossible at construction".to_owned());
        assert_eq!(entry.true_tokens.stop, Some(impossible.clone()));
        assert_eq!(entry.draws.as_ref().unwrap().stop, Some(impossible));
        assert!(verdict(&[&entry]).unwrap_err().to_string().starts_with("2 of 2"));
        assert!(report::report(&[&entry]).contains("smiles C(C, 100% known, true tokens: WRONG"));
        assert!(verdict(&[]).is_err(), "nothing was filled");
    }

    #[test]
    fn a_token_that_is_refused_at_first_is_wrong() {
        let texts = Texts::of(Language::Smiles, &compiler(), "C=O");
        let text = &texts.chosen[0];
        let infiller = text.grammar.infiller(&CompileOptions::default()).unwrap();
        let positions = [None, Some(text.tokens[1]), Some(text.tokens[2])];
        let task = Task { infiller: &infiller, positions: &positions, seconds: 60.0, numbers: Numbers(3) };
        let other = [text.tokens[1], text.tokens[1], text.tokens[2]];
        let (filling, filled) = with_true_tokens(task, &other, 1);
        assert_eq!(filled, None);
        assert_eq!(filling.stop, Some(Stop::Wrong("true token 0 is refused, 0 are put".to_owned())));
        assert_eq!((filling.asked.no_ms.len(), filling.masks_ms.len()), (1, 1));
    }

    #[test]
    fn what_was_tried_again_counts_once() {
        let late = Filling {
            stop: Some(Stop::Unfinished("3 of 7 tokens are put".to_owned())),
            ..Filling::default()
        };
        let finished = Entry {
            language: Language::Go,
            text: "x".to_owned(),
            known: 25,
            up_to: 60,
            n_tokens: 9,
            n_masked: 7,
            true_tokens: Filling::default(),
            draws: Some(Filling::default()),
        };
        let entry = Entry { draws: Some(late), ..finished.clone() };
        assert!(report::report(&[&entry]).contains("go x, 25% known, draws: not finished: 3 of 7"));
        assert!(verdict(&[&entry]).unwrap_err().to_string().contains("not finished"));
        let both = [entry, finished.clone()];
        assert_eq!(latest(&both), [&finished]);
        verdict(&latest(&both)).unwrap();
    }
}
