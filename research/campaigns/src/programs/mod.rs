//! `programs`: a real model at temperature 1 writes functions in Python and queries in SQL, from the prompts
//! in `examples/`.
//!
//! Texts are written under the built-in grammars `python` and `sql`, with the limit on tokens as users have
//! it: a guarantee that the text is complete before it. Every prompt for Python names its function, and the
//! text begins with `def NAME(`, which the grammar reads and the model does not choose; from there on
//! everything is the model's, parameters, body and what may follow the function. Of SQL nothing is held.
//! Random logits write texts as well, from the first byte on: they come to corners of the grammars where no
//! model goes.
//!
//! Claimed: every text is finished, and parses: in Python by `ast.parse` of Python itself, in SQL by sqlite,
//! for which an unknown name is not an error of syntax. Texts are judged when all are written, all at once
//! and anew by every run; what does not parse is listed with the parser's words. What the grammar has and
//! sqlite has not (queries in parentheses where a query must be, names of three parts) is put into sqlite's
//! words and judged again; such texts are counted and listed.
//!
//! Cost: one forward pass a token.

mod judge;

use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, Tokenizer, TokenizerOptions,
};
use maskwright_decode::{
    GenerateConfig, GrammarConstraint, LanguageModel, RandomModel, SamplerConfig, Summary, generate,
};
use maskwright_models::{ChatMessage, ChatTemplate, LlamaModel};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use crate::table::{Quantiles, render, shortened};
use judge::{Language, Verdict, Versions};

/// The first version of Python that has all that the grammar has.
const LEAST_PYTHON: (u32, u32) = (3, 12);

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// A GGUF file, or the name of a known model, which is pulled if need be
    #[arg(long, default_value = "smollm2")]
    model: String,
    /// Only these languages
    #[arg(long, value_delimiter = ',', default_value = "python,sql")]
    only: Vec<Language>,
    /// The most tokens of a text, behind what is held of it, end of text included
    #[arg(long, default_value_t = 256)]
    max_tokens: usize,
    /// The sampler's seed for the first prompt; each further one has the next
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Texts of random logits for each language
    #[arg(long, default_value_t = 50, value_name = "N")]
    random: u64,
    /// The Python that judges, 3.12 or later
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    #[command(flatten)]
    log: LogArguments,
}

/// Who writes.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Hand {
    /// The model, from the prompt in this line, the first being 1.
    Model(usize),
    /// Uniform logits from this seed.
    Random(u64),
}

/// One text.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    language: Language,
    hand: Hand,
    is_finished: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// Behind what is held, end of text included.
    n_tokens: usize,
    n_forced: usize,
    /// The mean probability that the model itself gave to what was allowed.
    allowed_mass: Option<f64>,
    seconds: f64,
    text: String,
}

impl Entry {
    fn title(&self) -> String {
        let hand = match self.hand {
            Hand::Model(line) => format!("prompt {line}"),
            Hand::Random(seed) => format!("random logits {seed}"),
        };
        format!("{}, {hand}", self.language.name())
    }
}

/// What is asked for, and how the text begins.
#[derive(Debug, PartialEq)]
struct Prompt {
    question: String,
    front: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let settings =
        json!({ "model": arguments.model, "max_tokens": arguments.max_tokens, "seed": arguments.seed });
    let mut log = Log::<Entry>::open("programs", &settings, &arguments.log)?;
    let mut writer = None;
    for &language in &arguments.only {
        let prompts = read_prompts(language)?;
        let hands = (1..=prompts.len()).map(Hand::Model).chain((0..arguments.random).map(Hand::Random));
        let is_open = |hand: &Hand| {
            !log.entries().iter().any(|entry| (entry.language, entry.hand) == (language, *hand))
        };
        let hands: Vec<Hand> = hands.filter(is_open).collect();
        if hands.is_empty() {
            continue;
        }
        let writer = match &mut writer {
            Some(writer) => writer,
            none => none.insert(Writer::load(&arguments.model)?),
        };
        let grammar =
            writer.compiler.compile(&GrammarSource::builtin(language.name()), &CompileOptions::default())?;
        let bar = crate::progress::bar(language.name(), 0, hands.len());
        for hand in hands {
            let mut task = Task { language, hand, seed: arguments.seed, max_tokens: arguments.max_tokens };
            let entry = match hand {
                Hand::Model(line) => {
                    task.seed += line as u64 - 1;
                    writer.answer(&grammar, task, &prompts[line - 1])?
                }
                Hand::Random(seed) => Task { seed, ..task }.draw(writer.compiler.tokenizer(), &grammar)?,
            };
            log.append(entry)?;
            bar.inc(1);
        }
        bar.finish();
    }
    let entries: Vec<&Entry> =
        log.entries().iter().filter(|entry| arguments.only.contains(&entry.language)).collect();
    let texts: Vec<(Language, &str)> =
        entries.iter().map(|entry| (entry.language, entry.text.as_str())).collect();
    let answer = judge::judge(&arguments.python, &texts)?;
    let judged: Vec<Judged<'_>> = entries.into_iter().zip(answer.verdicts).collect();
    println!("{}", report(&judged));
    println!("log: {}", log.path().display());
    verdict(&judged, &answer.versions)
}

/// The prompts of a language, a line each.
fn read_prompts(language: Language) -> anyhow::Result<Vec<Prompt>> {
    let file = match language {
        Language::Python => "python-functions.txt",
        Language::Sql => "sql-queries.txt",
    };
    let path = data::workspace().join("examples/prompts").join(file);
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let place = |index| format!("{}, line {}", path.display(), index + 1);
    text.lines()
        .enumerate()
        .map(|(index, line)| prompt(language, line).with_context(|| place(index)))
        .collect()
}

/// A line as a prompt. The first name between backquotes is that of the function in Python.
fn prompt(language: Language, line: &str) -> anyhow::Result<Prompt> {
    let (what, front) = match language {
        Language::Python => {
            let name = line.split('`').nth(1).context("there is no name between backquotes")?;
            ("function", format!("def {name}("))
        }
        Language::Sql => ("query", String::new()),
    };
    Ok(Prompt { question: format!("{line} Answer with the code of the {what} and nothing else."), front })
}

/// A loaded model and a compiler for its vocabulary.
struct Writer {
    model: LlamaModel,
    template: Option<ChatTemplate>,
    compiler: Compiler,
}

impl Writer {
    fn load(name: &str) -> anyhow::Result<Self> {
        let path = data::locate_model(name)?;
        let model = LlamaModel::from_gguf(&path)?;
        let tokenizer = Tokenizer::from_gguf(&path, &TokenizerOptions::default())?;
        let template = ChatTemplate::from_info(model.info())?;
        Ok(Writer { model, template, compiler: Compiler::new(&tokenizer) })
    }

    /// The text of the model from a prompt.
    fn answer(
        &mut self,
        grammar: &Arc<CompiledGrammar>,
        task: Task,
        prompt: &Prompt,
    ) -> anyhow::Result<Entry> {
        let tokenizer = self.compiler.tokenizer();
        let question = match &self.template {
            Some(template) => template.render(&[ChatMessage::user(&prompt.question)], true)?,
            None => prompt.question.clone(),
        };
        let question_ids = tokenizer.encode_with_special(&question)?;
        task.write(&mut self.model, tokenizer, grammar, &question_ids, &prompt.front)
    }
}

/// A text to write.
struct Task {
    language: Language,
    hand: Hand,
    seed: u64,
    max_tokens: usize,
}

impl Task {
    /// The text of random logits.
    fn draw(self, tokenizer: &Tokenizer, grammar: &Arc<CompiledGrammar>) -> anyhow::Result<Entry> {
        let mut model = RandomModel::new(tokenizer.n_vocab(), self.max_tokens + 2, self.seed);
        self.write(&mut model, tokenizer, grammar, &[TokenId(0)], "")
    }

    /// The text that `model` writes behind the question and `front`.
    fn write(
        self,
        model: &mut dyn LanguageModel,
        tokenizer: &Tokenizer,
        grammar: &Arc<CompiledGrammar>,
        question_ids: &[TokenId],
        front: &str,
    ) -> anyhow::Result<Entry> {
        let held = tokenizer.encode(front)?;
        let mut matcher = Matcher::with_config(grammar, &MatcherConfig::with_max_tokens(self.max_tokens + held.len()))?;
        ensure!(matcher.accept_tokens(&held)? == held.len(), "the grammar has no text that begins {front:?}");
        let config = GenerateConfig {
            max_tokens: self.max_tokens,
            eos_ids: tokenizer.eos_token_ids().to_vec(),
            sampler: SamplerConfig { temperature: 1.0, seed: self.seed, ..SamplerConfig::default() },
            jump_forward: true,
            measure_mass: true,
            n_candidates: 0,
        };
        let ids = [question_ids, &held].concat();
        let mut constraint = GrammarConstraint::new(matcher, tokenizer);
        let clock = Instant::now();
        let result =
            generate(model, Some(&mut constraint), &ids, &config, &mut |_| ControlFlow::Continue(()));
        let mut entry = Entry {
            language: self.language,
            hand: self.hand,
            is_finished: false,
            failure: None,
            n_tokens: 0,
            n_forced: 0,
            allowed_mass: None,
            seconds: clock.elapsed().as_secs_f64(),
            text: front.to_owned(),
        };
        match result {
            Err(error) => entry.failure = Some(format!("{:#}", anyhow::Error::new(error))),
            Ok(generation) => {
                let summary = Summary::of(&generation.steps);
                entry.n_tokens = summary.n_tokens;
                entry.n_forced = summary.n_forced;
                entry.allowed_mass = summary.mean_allowed_mass;
                entry.is_finished = generation.finish_reason.is_complete();
                entry.text += &String::from_utf8_lossy(&tokenizer.decode(&generation.tokens));
            }
        }
        Ok(entry)
    }
}

/// An entry, and what the judge says of its text.
type Judged<'a> = (&'a Entry, Verdict);

fn report(judged: &[Judged<'_>]) -> String {
    let mut rows = vec![
        ["", "texts", "finished", "parse", "of these beyond sqlite", "unfinished", "failed"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut costs = Vec::new();
    for &language in Language::value_variants() {
        for (title, is_model) in [("the model", true), ("random logits", false)] {
            let is_this = |entry: &Entry| {
                entry.language == language && matches!(entry.hand, Hand::Model(_)) == is_model
            };
            let chosen: Vec<&Judged<'_>> = judged.iter().filter(|(entry, _)| is_this(entry)).collect();
            if chosen.is_empty() {
                continue;
            }
            let title = format!("{}, {title}", language.name());
            let count = |is: &dyn Fn(&Judged<'_>) -> bool| chosen.iter().filter(|one| is(one)).count();
            let counts = [
                chosen.len(),
                count(&|(entry, _)| entry.is_finished),
                count(&|judged| is_good(judged)),
                count(&|judged| is_good(judged) && !judged.1.beyond.is_empty()),
                count(&|(entry, _)| !entry.is_finished && entry.failure.is_none()),
                count(&|(entry, _)| entry.failure.is_some()),
            ];
            rows.push([vec![title.clone()], counts.map(|n| n.to_string()).to_vec()].concat());
            let of = |value: fn(&Entry) -> f64| chosen.iter().map(move |(entry, _)| value(entry));
            costs.push(Quantiles::head(&title));
            costs.push(Quantiles::row("tokens", of(|entry| entry.n_tokens as f64)));
            costs.push(Quantiles::row("seconds", of(|entry| entry.seconds)));
            costs.push(Quantiles::row(
                "allowed mass %",
                of(|entry| 100.0 * entry.allowed_mass.unwrap_or(1.0)),
            ));
        }
    }
    let mut text = render(&rows) + &render(&costs);
    for (entry, verdict) in judged {
        let end: String = entry.text.chars().skip(entry.text.chars().count().saturating_sub(60)).collect();
        let why = match (&entry.failure, &verdict.objection) {
            (Some(failure), _) => format!("failed: {failure}, behind {end:?}"),
            (None, _) if !entry.is_finished => {
                format!("unfinished: {} tokens, ending in {end:?}", entry.n_tokens)
            }
            (None, Some(objection)) => format!("does not parse: {objection}"),
            (None, None) if !verdict.beyond.is_empty() => {
                format!("beyond sqlite: {}", verdict.beyond.join(", "))
            }
            (None, None) => continue,
        };
        writeln!(text, "{}: {}", entry.title(), shortened(&why, 240))
            .expect("writing to a string cannot fail");
    }
    text
}

fn is_good((entry, verdict): &Judged<'_>) -> bool {
    entry.is_finished && verdict.objection.is_none()
}

/// Whether the claim holds.
fn verdict(judged: &[Judged<'_>], versions: &Versions) -> anyhow::Result<()> {
    ensure!(!judged.is_empty(), "no text was written");
    let (major, minor) = versions.python;
    ensure!(
        versions.python >= LEAST_PYTHON,
        "Python {major}.{minor} does not have all of the grammar: give a Python 3.12 or later with --python"
    );
    let n_bad = judged.len() - judged.iter().filter(|judged| is_good(judged)).count();
    ensure!(n_bad == 0, "{n_bad} of {} texts are not finished or do not parse", judged.len());
    println!(
        "{} texts, all finished; they parse in Python {major}.{minor} and sqlite {}",
        judged.len(),
        versions.sqlite
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_there_and_name_their_functions() {
        for &language in Language::value_variants() {
            assert_eq!(read_prompts(language).unwrap().len(), 50);
        }
        let line = "Write a Python function `double` that doubles.";
        let prompt = prompt(Language::Python, line).unwrap();
        assert!(prompt.front == "def double(" && prompt.question.starts_with(line), "{prompt:?}");
        assert!(super::prompt(Language::Python, "Write a function.").is_err());
        assert_eq!(super::prompt(Language::Sql, "Write a query.").unwrap().front, "");
    }

    #[test]
    fn texts_are_finished_and_parse() {
        let mut tokens: Vec<Vec<u8>> = (0..=127u8).map(|byte| vec![byte]).collect();
        tokens.extend(
            ["SELECT ", "def ", "(x):", "\n    ", " FROM ", "return", ""]
                .map(|text| text.as_bytes().to_vec()),
        );
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(134)]).unwrap();
        let compiler = Compiler::new(&tokenizer);
        let mut entries = Vec::new();
        for (language, front) in [(Language::Python, "def f("), (Language::Sql, "SELECT a")] {
            let grammar = compiler
                .compile(&GrammarSource::builtin(language.name()), &CompileOptions::default())
                .unwrap();
            for seed in 0..5 {
                let task = |hand| Task { language, hand, seed, max_tokens: 30 };
                entries.push(task(Hand::Random(seed)).draw(&tokenizer, &grammar).unwrap());
                let mut model = RandomModel::new(135, 200, seed).with_scale(6.0);
                let entry = task(Hand::Model(1))
                    .write(&mut model, &tokenizer, &grammar, &[TokenId(1)], front)
                    .unwrap();
                assert!(entry.text.starts_with(front) && entry.n_tokens <= 30, "{entry:?}");
                entries.push(entry);
            }
            let task = Task { language, hand: Hand::Model(1), seed: 0, max_tokens: 30 };
            let mut model = RandomModel::new(135, 200, 0);
            assert!(task.write(&mut model, &tokenizer, &grammar, &[TokenId(1)], ")").is_err());
        }
        let versions = Versions { python: LEAST_PYTHON, sqlite: "3".to_owned() };
        let mut judged: Vec<Judged<'_>> = entries.iter().map(|entry| (entry, Verdict::default())).collect();
        verdict(&judged, &versions).unwrap();
        assert!(verdict(&judged, &Versions { python: (3, 11), ..versions }).is_err());
        let versions = Versions { python: LEAST_PYTHON, sqlite: "3".to_owned() };
        assert!(verdict(&[], &versions).is_err());
        judged[0].1.objection = Some("odd".to_owned());
        judged[19].1.beyond.push("even".to_owned());
        let report = report(&judged);
        assert!(report.contains("python, random logits 0: does not parse: odd"), "{report}");
        assert!(report.contains("sql, prompt 1: beyond sqlite: even"), "{report}");
        assert!(verdict(&judged, &versions).unwrap_err().to_string().starts_with("1 of 20"));
        let cut_off = Entry { is_finished: false, ..entries[1].clone() };
        assert!(verdict(&[(&cut_off, Verdict::default())], &versions).is_err());
    }
}
