//! `canvases`: canvases made of true programs stay possible, and their true tokens stay in every mask, to the end.
//!
//! A program's tokens are known in part (25, 50 and 75%), the others are masked. Claimed: the canvas is possible; for the
//! masked positions in a random order, the true token is in the mask, and the canvas stays possible when it is set,
//! until nothing is masked. And against the engine, which shares nothing with the chart of infilling:
//! * with one position masked and all others known, its mask is exactly the tokens with which a session reads the
//!   whole text (`--compare` of them a canvas, where at most `--longest-rest` tokens follow);
//! * with a token that a session refuses among the first known ones, the canvas is impossible at once.
//!
//! Calls are limited in work by the infiller, canvases in time by `--seconds`: what is not finished is listed by name and
//! tried again with `--again`. Programs that are not of the grammar are passed over and counted; they are an error where
//! Lark is on record as accepting them.

use std::collections::{BTreeMap, btree_map};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use maskwright::infill::CanvasConfig;
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{
    Canvas, CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Mask, Matcher, TokenId,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use crate::numbers::Numbers;
use crate::random_logits::hash;
use crate::table::{Quantiles, render, shortened};

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Whose vocabulary: a shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "smollm2")]
    tokenizer: String,
    /// What is written in
    #[arg(long, value_delimiter = ',', default_value = "smiles,cpp,go,java,python")]
    languages: Vec<Language>,
    /// Hundredths of the tokens that are known
    #[arg(long, value_delimiter = ',', default_value = "75,50,25")]
    known: Vec<u32>,
    /// Only programs of at most N tokens
    #[arg(long, value_name = "N", default_value_t = 256)]
    longest: usize,
    /// Only the first N programs of each language, the shortest first
    #[arg(long, value_name = "N")]
    programs: Option<usize>,
    /// The most seconds that a canvas may take; looked at between calls
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Masks of each canvas that are compared with the engine's answers
    #[arg(long, default_value_t = 2)]
    compare: usize,
    /// The most tokens behind a position whose mask is compared: the engine reads them once for every token
    #[arg(long, default_value_t = 40)]
    longest_rest: usize,
    /// Changes what is known, and the order
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Try again what was not finished
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(ValueEnum, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Language {
    /// Built in; the molecules of the shared folder
    Smiles,
    /// Built in; the programs of the shared folder
    Cpp,
    /// Grammar and programs of the shared folder
    Go,
    /// Grammar and programs of the shared folder
    Java,
    /// Grammar and programs of the shared folder; the programs with a newline behind them
    Python,
}

/// One canvas.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    language: Language,
    program: String,
    known: u32,
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    n_tokens: usize,
    n_masked: usize,
    /// How many masked positions were filled, each with its mask looked at before.
    n_filled: usize,
    /// Masks that equalled the engine's answers.
    n_compared: usize,
    /// The first question on a new canvas; the grammar's tables may grow on the way.
    cold_ms: f64,
    slowest_mask_ms: f64,
    slowest_set_ms: f64,
    seconds: f64,
}

#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Finished,
    /// Out of time, or at the infiller's limit on work.
    Unfinished,
    /// The program is not in the language.
    NotAWord,
    /// A claim is broken: a bug.
    Wrong,
}

/// A text and what it is called.
struct Program {
    name: String,
    tokens: Vec<TokenId>,
    /// Whether it is known to be in the language.
    is_accepted: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let settings = json!({ "tokenizer": arguments.tokenizer, "seed": arguments.seed });
    let mut log = Log::<Entry>::open("canvases", &settings, &arguments.log)?;
    let before: BTreeMap<(Language, String, u32), Outcome> = log
        .entries()
        .iter()
        .map(|entry| ((entry.language, entry.program.clone(), entry.known), entry.outcome))
        .collect();
    let compiler = Compiler::new(&data::load_tokenizer(&arguments.tokenizer)?);
    for &language in &arguments.languages {
        let grammar = language.compile(&compiler)?;
        let mut programs = language.programs(&data::shared().join("data"), &compiler)?;
        programs.retain(|program| program.tokens.len() <= arguments.longest && !program.tokens.is_empty());
        programs.sort_by(|a, b| (a.tokens.len(), &a.name).cmp(&(b.tokens.len(), &b.name)));
        programs.truncate(arguments.programs.unwrap_or(usize::MAX));
        let title = match language {
            Language::Smiles => "smiles",
            Language::Cpp => "cpp",
            Language::Go => "go",
            Language::Java => "java",
            Language::Python => "python",
        };
        let bar = crate::progress::bar(title, 0, programs.len() * arguments.known.len());
        for program in &programs {
            for &known in &arguments.known {
                let before = before.get(&(language, program.name.clone(), known));
                if before.is_none_or(|outcome| arguments.again && *outcome == Outcome::Unfinished) {
                    let entry = fill(language, &grammar, program, known, arguments)
                        .with_context(|| program.name.clone())?;
                    log.append(entry)?;
                }
                bar.inc(1);
            }
        }
        bar.finish();
    }
    let entries = latest(log.entries());
    println!("{}", report(&entries));
    println!("log: {}", log.path().display());
    verdict(&entries)
}

impl Language {
    fn compile(self, compiler: &Compiler) -> anyhow::Result<Arc<CompiledGrammar>> {
        let options = CompileOptions::default();
        let name = match self {
            Language::Smiles => return Ok(compiler.compile(&GrammarSource::builtin("smiles"), &options)?),
            Language::Cpp => return Ok(compiler.compile(&GrammarSource::builtin("cpp"), &options)?),
            Language::Go => "go",
            Language::Java => "java",
            Language::Python => "python",
        };
        let path = data::shared().join("data/grammars").join(format!("{name}.lark"));
        let mut lark = LarkOptions::default();
        lark.lexer = LexerKind::Basic;
        lark.indentation = (self == Language::Python).then(Indentation::python);
        Ok(compiler.compile(&GrammarSource::lark(read(&path)?, lark).file(&path), &options)?)
    }

    /// All programs of the shared data in this language.
    fn programs(self, data: &Path, compiler: &Compiler) -> anyhow::Result<Vec<Program>> {
        let program = |name: String, text: &str, is_accepted| {
            let ids = compiler.tokenizer().encode_bytes(text.as_bytes())?;
            anyhow::Ok(Program { name, tokens: ids.into_iter().map(TokenId).collect(), is_accepted })
        };
        let folder = data.join("programs");
        match self {
            Language::Smiles => {
                let texts = read(&data.join("smiles.txt"))?;
                let named =
                    |(index, text): (usize, &str)| program(format!("line {}", index + 1), text.trim(), false);
                texts.lines().enumerate().map(named).collect()
            }
            Language::Cpp => {
                let mut programs = Vec::new();
                for kind in ["solution", "full"] {
                    let place = folder.join("cpp").join(kind);
                    for file in std::fs::read_dir(&place).with_context(|| place.display().to_string())? {
                        let file = file?;
                        let name = format!("{kind}/{}", file.file_name().to_string_lossy());
                        programs.push(program(name, &read(&file.path())?, false)?);
                    }
                }
                Ok(programs)
            }
            Language::Go | Language::Java | Language::Python => {
                let (language, behind) = match self {
                    Language::Go => ("go", ""),
                    Language::Java => ("java", ""),
                    _ => ("python", "\n"),
                };
                let mut programs = Vec::new();
                for line in read(&folder.join("syncode_lark_verdicts.tsv"))?.lines() {
                    if let [of, kind, file, "accept", ..] = line.split('\t').collect::<Vec<_>>()[..]
                        && of == language
                    {
                        let text = read(&folder.join(language).join(kind).join(file))? + behind;
                        programs.push(program(format!("{kind}/{file}"), &text, true)?);
                    }
                }
                Ok(programs)
            }
        }
    }
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// What ended the filling of a canvas before its end.
enum Stop {
    Unfinished(String),
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        if error.is_limit() { Stop::Unfinished(error.to_string()) } else { Stop::Wrong(error.to_string()) }
    }
}

/// Fills one canvas of `program`, and checks the canvases around it.
fn fill(
    language: Language,
    grammar: &Arc<CompiledGrammar>,
    program: &Program,
    known: u32,
    arguments: &Arguments,
) -> anyhow::Result<Entry> {
    let start = Instant::now();
    let mut entry = Entry {
        language,
        program: program.name.clone(),
        known,
        outcome: Outcome::Finished,
        reason: None,
        n_tokens: program.tokens.len(),
        n_masked: 0,
        n_filled: 0,
        n_compared: 0,
        cold_ms: 0.0,
        slowest_mask_ms: 0.0,
        slowest_set_ms: 0.0,
        seconds: 0.0,
    };
    let mut session = Matcher::new(grammar);
    let is_word = session.accept_tokens(&program.tokens)? == program.tokens.len() && session.is_accepting();
    if !is_word {
        entry.outcome = if program.is_accepted { Outcome::Wrong } else { Outcome::NotAWord };
        entry.reason = program.is_accepted.then(|| "Lark accepts it, the grammar does not".to_owned());
        return Ok(entry);
    }
    let seed = arguments.seed
        ^ hash(program.name.as_bytes())
        ^ u64::from(known + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut numbers = Numbers(seed | 1);
    let filled = fill_in_order(grammar, program, &mut numbers, arguments, &mut entry)
        .and_then(|()| break_prefix(grammar, program, &mut numbers, known))
        .and_then(|()| {
            (0..arguments.compare).try_for_each(|_| {
                entry.n_compared +=
                    usize::from(compare(grammar, program, &mut numbers, arguments.longest_rest)?);
                Ok(())
            })
        });
    match filled {
        Ok(()) => {}
        Err(Stop::Unfinished(reason)) => (entry.outcome, entry.reason) = (Outcome::Unfinished, Some(reason)),
        Err(Stop::Wrong(reason)) => (entry.outcome, entry.reason) = (Outcome::Wrong, Some(reason)),
    }
    entry.seconds = start.elapsed().as_secs_f64();
    Ok(entry)
}

/// The canvas with `entry.known` hundredths of the tokens known, filled with the true tokens in a random order.
fn fill_in_order(
    grammar: &Arc<CompiledGrammar>,
    program: &Program,
    numbers: &mut Numbers,
    arguments: &Arguments,
    entry: &mut Entry,
) -> Result<(), Stop> {
    let wrong = |what: String| Err(Stop::Wrong(what));
    let start = Instant::now();
    let positions = some_known(&program.tokens, entry.known, numbers);
    let mut masked: Vec<usize> = (0..positions.len()).filter(|&at| positions[at].is_none()).collect();
    for index in (1..masked.len()).rev() {
        masked.swap(index, numbers.below(index + 1));
    }
    entry.n_masked = masked.len();
    let infiller = grammar.infiller(&CompileOptions::default())?;
    let clock = Instant::now();
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default())?;
    let is_possible = canvas.is_possible()?;
    entry.cold_ms = ms(clock);
    if !is_possible {
        return wrong("a canvas of a program is called impossible".to_owned());
    }
    let mut mask = Mask::new(infiller.vocabulary().n_vocab());
    for at in masked {
        if start.elapsed().as_secs_f64() > arguments.seconds {
            return Err(Stop::Unfinished(format!("{} seconds are over", arguments.seconds)));
        }
        let token = program.tokens[at];
        let clock = Instant::now();
        canvas.fill_bitmask(at, mask.words_mut(), true)?;
        entry.slowest_mask_ms = entry.slowest_mask_ms.max(ms(clock));
        if !mask.contains(token) {
            return wrong(format!(
                "the true token of position {at} is not in its mask, {} are filled",
                entry.n_filled
            ));
        }
        let clock = Instant::now();
        let is_set = canvas.set(at, token)?;
        let is_possible = is_set && canvas.is_possible()?;
        entry.slowest_set_ms = entry.slowest_set_ms.max(ms(clock));
        if !is_possible {
            return wrong(format!(
                "the true token of position {at} is refused, {} are filled",
                entry.n_filled
            ));
        }
        entry.n_filled += 1;
    }
    Ok(())
}

/// A canvas that begins with known tokens, the last of which no session takes: it must be impossible.
fn break_prefix(
    grammar: &Arc<CompiledGrammar>,
    program: &Program,
    numbers: &mut Numbers,
    known: u32,
) -> Result<(), Stop> {
    let at = numbers.below(program.tokens.len());
    let mut session = Matcher::new(grammar);
    session.accept_tokens(&program.tokens[..at])?;
    let allowed = session.mask()?;
    let vocabulary = grammar.vocabulary();
    let is_refused = |token: &TokenId| !allowed.contains(*token) && vocabulary.token_bytes(*token).is_some();
    let refused: Vec<TokenId> = (0..vocabulary.n_vocab() as u32).map(TokenId).filter(is_refused).collect();
    if refused.is_empty() {
        return Ok(());
    }
    let token = refused[numbers.below(refused.len())];
    let mut positions = some_known(&program.tokens, known, numbers);
    for (position, &token) in positions.iter_mut().zip(&program.tokens[..at]) {
        *position = Some(token);
    }
    positions[at] = Some(token);
    let infiller = grammar.infiller(&CompileOptions::default())?;
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default())?;
    if canvas.is_possible()? {
        let bytes = String::from_utf8_lossy(vocabulary.token_bytes(token).unwrap_or_default());
        return Err(Stop::Wrong(format!("with {bytes:?} at {at} the canvas is called possible")));
    }
    Ok(())
}

/// The mask of one position among known ones, against a session that reads the text with each token there. False if too
/// many tokens follow.
fn compare(
    grammar: &Arc<CompiledGrammar>,
    program: &Program,
    numbers: &mut Numbers,
    longest_rest: usize,
) -> Result<bool, Stop> {
    let n_tokens = program.tokens.len();
    let at = n_tokens - 1 - numbers.below(n_tokens.min(longest_rest + 1));
    let mut positions: Vec<Option<TokenId>> = program.tokens.iter().copied().map(Some).collect();
    positions[at] = None;
    let infiller = grammar.infiller(&CompileOptions::default())?;
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default())?;
    let mut mask = Mask::new(infiller.vocabulary().n_vocab());
    canvas.fill_bitmask(at, mask.words_mut(), true)?;
    let mut session = Matcher::new(grammar);
    let mut reads = || {
        session.accept_tokens(&program.tokens[..at])?;
        let allowed = session.mask()?;
        let rest = &program.tokens[at + 1..];
        for id in (0..infiller.vocabulary().n_vocab() as u32).map(TokenId) {
            // The end of the text may stand there where nothing else follows.
            let is_end = infiller.vocabulary().is_eos(id);
            let is_allowed = if is_end {
                rest.is_empty() && session.is_accepting()
            } else {
                allowed.contains(id) && {
                    let mut session = session.fork();
                    session.accept_token(id)?
                        && session.accept_tokens(rest)? == rest.len()
                        && session.is_accepting()
                }
            };
            if is_allowed != mask.contains(id) {
                return Ok(Some((id, is_allowed)));
            }
        }
        Ok::<_, Error>(None)
    };
    match reads()? {
        None => Ok(true),
        Some((id, is_allowed)) => {
            let bytes = infiller.vocabulary().token_bytes(id).unwrap_or_default();
            let bytes = String::from_utf8_lossy(bytes).into_owned();
            Err(Stop::Wrong(format!(
                "at {at} alone, {bytes:?} is allowed: {is_allowed}, the mask says otherwise"
            )))
        }
    }
}

/// Each token with a probability of `known` hundredths.
fn some_known(tokens: &[TokenId], known: u32, numbers: &mut Numbers) -> Vec<Option<TokenId>> {
    tokens.iter().map(|&token| (numbers.below(100) < known as usize).then_some(token)).collect()
}

fn ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// The last entry of each canvas.
fn latest(entries: &[Entry]) -> Vec<&Entry> {
    let mut latest: Vec<&Entry> = Vec::new();
    let mut places = BTreeMap::new();
    for entry in entries {
        match places.entry((entry.language, entry.program.as_str(), entry.known)) {
            btree_map::Entry::Occupied(place) => latest[*place.get()] = entry,
            btree_map::Entry::Vacant(place) => {
                place.insert(latest.len());
                latest.push(entry);
            }
        }
    }
    latest
}

fn report(entries: &[&Entry]) -> String {
    let head = [
        "",
        "canvases",
        "finished",
        "unfinished",
        "not words",
        "WRONG",
        "positions filled",
        "masks compared",
    ];
    let mut counts = vec![head.map(str::to_owned).to_vec()];
    let mut times = vec![Quantiles::head("ms")];
    for &language in Language::value_variants() {
        for known in [75, 50, 25, 0] {
            let chosen: Vec<&Entry> = entries
                .iter()
                .copied()
                .filter(|entry| (entry.language, entry.known) == (language, known))
                .collect();
            if chosen.is_empty() {
                continue;
            }
            let title = format!("{language:?}, {known}% known");
            let count = |outcome| chosen.iter().filter(|entry| entry.outcome == outcome).count().to_string();
            let sum =
                |of: fn(&Entry) -> usize| chosen.iter().map(|entry| of(entry)).sum::<usize>().to_string();
            counts.push(vec![
                title.clone(),
                chosen.len().to_string(),
                count(Outcome::Finished),
                count(Outcome::Unfinished),
                count(Outcome::NotAWord),
                count(Outcome::Wrong),
                sum(|entry| entry.n_filled),
                sum(|entry| entry.n_compared),
            ]);
            let finished = || chosen.iter().filter(|entry| entry.outcome == Outcome::Finished);
            times.push(Quantiles::row(&format!("{title}: cold"), finished().map(|entry| entry.cold_ms)));
            let slowest = finished().map(|entry| entry.slowest_mask_ms);
            times.push(Quantiles::row(&format!("{title}: slowest mask"), slowest));
            let slowest = finished().map(|entry| entry.slowest_set_ms);
            times.push(Quantiles::row(&format!("{title}: slowest set"), slowest));
        }
    }
    let mut text = render(&counts) + &render(&times);
    for entry in entries {
        if let (Outcome::Wrong | Outcome::Unfinished, Some(reason)) = (entry.outcome, &entry.reason) {
            let Entry { language, program, known, outcome, n_filled, n_masked, .. } = entry;
            text += &format!(
                "{outcome:?}: {language:?} {program}, {known}% known, {n_filled} of {n_masked} filled: {}\n",
                shortened(reason, 160)
            );
        }
    }
    text
}

/// Whether the claims hold of all that was finished.
fn verdict(entries: &[&Entry]) -> anyhow::Result<()> {
    let count = |outcome| entries.iter().filter(|entry| entry.outcome == outcome).count();
    let (n_finished, n_wrong) = (count(Outcome::Finished), count(Outcome::Wrong));
    ensure!(n_wrong == 0, "{n_wrong} canvases are wrong");
    ensure!(n_finished > 0, "no canvas was finished");
    println!("{n_finished} canvases of programs were filled to the end, every true token in its mask");
    let n_unfinished = count(Outcome::Unfinished);
    if n_unfinished > 0 {
        println!("{n_unfinished} were not finished: nothing is claimed of them");
    }
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
            longest: 100,
            programs: None,
            seconds: 60.0,
            compare: 2,
            longest_rest: 20,
            seed: 1,
            again: false,
            log: LogArguments::default(),
        }
    }

    fn program(name: &str, text: &str, compiler: &Compiler) -> Program {
        let tokens = compiler.tokenizer().encode_bytes(text.as_bytes()).unwrap();
        Program {
            name: name.to_owned(),
            tokens: tokens.into_iter().map(TokenId).collect(),
            is_accepted: false,
        }
    }

    #[test]
    fn canvases_of_programs_are_filled() {
        let mut tokens: Vec<Vec<u8>> = (0..=127u8).map(|byte| vec![byte]).collect();
        tokens.extend(
            ["c1", "(C", "=O)", "int ", "){", "return ", ";}", " = "].map(|text| text.as_bytes().to_vec()),
        );
        tokens.push(Vec::new());
        let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[136]).unwrap());
        let mut entries = Vec::new();
        for (language, text) in [
            (Language::Smiles, "c1ccccc1C(C=O)=O"),
            (Language::Cpp, "int f(int x) { int y = x + 1; return y; }"),
            (Language::Smiles, "C(C"),
        ] {
            let grammar = language.compile(&compiler).unwrap();
            for known in [75, 25] {
                let program = program(text, text, &compiler);
                entries.push(fill(language, &grammar, &program, known, &arguments()).unwrap());
            }
        }
        let entries: Vec<&Entry> = entries.iter().collect();
        verdict(&entries[..4]).unwrap();
        assert!(entries[..4].iter().all(|entry| entry.n_filled == entry.n_masked && entry.n_compared == 2));
        assert!(entries[4..].iter().all(|entry| entry.outcome == Outcome::NotAWord));
        assert!(report(&entries).contains("Cpp, 25% known"), "{}", report(&entries));
        assert!(verdict(&entries[4..]).is_err(), "nothing was finished");
    }

    #[test]
    fn what_was_tried_again_counts_once() {
        let entry = Entry {
            language: Language::Go,
            program: "x".to_owned(),
            known: 25,
            outcome: Outcome::Unfinished,
            reason: Some("60 seconds are over".to_owned()),
            n_tokens: 9,
            n_masked: 7,
            n_filled: 3,
            n_compared: 0,
            cold_ms: 1.0,
            slowest_mask_ms: 2.0,
            slowest_set_ms: 3.0,
            seconds: 60.0,
        };
        assert!(report(&[&entry]).contains("Unfinished: Go x, 25% known, 3 of 7 filled: 60 seconds"));
        let finished = Entry { outcome: Outcome::Finished, reason: None, ..entry.clone() };
        let both = [entry, finished.clone()];
        assert_eq!(latest(&both), [&finished]);
    }
}
