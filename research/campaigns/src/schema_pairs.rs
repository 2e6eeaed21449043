//! `schema-pairs`: random schemas and random values, judged by our grammars and by an independent validator.
//!
//! For each schema a dozen values: half at random, half made from texts that the grammar itself writes under
//! random logits, as they are and with a part replaced. Claimed: the two never disagree on a schema that is
//! taken, and where a schema is said to have no value, the validator finds none of the values valid. A
//! disagreement is kept with its schema and value. Values are written with single spaces, in the order of
//! their keys; grammars take any order. Texts with more digits than doubles have are left out: the validator
//! takes 10000000000000000.5 for a multiple of 1. So are values with exponents that no grammar wrote: plain
//! numbers have those of Python and JavaScript alone.

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::ensure;
use maskwright::json_schema::{PropertyOrder, SchemaConfig};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, ErrorKind, GrammarSource, Matcher, TokenId, Tokenizer,
};
use maskwright_decode::{
    DecodeError, GenerateConfig, GrammarConstraint, RandomModel, SamplerConfig, generate,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::judge::Judge;
use crate::log::{Log, LogArguments};
use crate::random_schema::{any_schema, any_value, with_a_part_replaced};
use crate::table::{render, shortened};

/// Values for each schema.
const N_VALUES: usize = 12;
/// Schemas of one entry of the log.
const N_BATCH: u64 = 100;
/// The most tokens, of one byte each, of a text under random logits.
const MAX_TEXT: usize = 400;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// How many pairs of a schema and a value
    #[arg(long, default_value_t = 100_000)]
    pairs: usize,
    /// Changes schemas and values
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    log: LogArguments,
}

/// What became of a batch of schemas.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
struct Entry {
    batch: u64,
    n_taken: usize,
    n_unsatisfiable: usize,
    /// Said to be beyond what is enforced, or beyond the limits.
    n_declined: usize,
    /// Texts of grammars that were taken, and that a limit on work left unwritten or unread.
    n_given_up: usize,
    n_pairs: usize,
    /// Of the pairs.
    n_valid: usize,
    disagreements: Vec<Disagreement>,
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Disagreement {
    schema: Value,
    text: String,
    /// Why it is refused; `None` where our grammar accepts.
    ours: Option<String>,
    /// Why the validator objects.
    theirs: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut log = Log::<Entry>::open("schema-pairs", &json!({"seed": arguments.seed}), &arguments.log)?;
    let compiler = byte_compiler()?;
    let n_pairs = |entries: &[Entry]| entries.iter().map(|entry| entry.n_pairs).sum::<usize>();
    let bar = crate::progress::bar("schema-pairs", n_pairs(log.entries()), arguments.pairs);
    while n_pairs(log.entries()) < arguments.pairs {
        log.append(judge_batch(log.entries().len() as u64, arguments.seed, &compiler)?)?;
        bar.set_position(n_pairs(log.entries()) as u64);
    }
    bar.finish();
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries())
}

/// A compiler for a vocabulary of single bytes.
fn byte_compiler() -> anyhow::Result<Compiler> {
    let mut tokens: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    tokens.push(Vec::new());
    Ok(Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(256)])?))
}

fn judge_batch(batch: u64, seed: u64, compiler: &Compiler) -> anyhow::Result<Entry> {
    let mut entry = Entry { batch, ..Entry::default() };
    for index in 0..N_BATCH {
        let seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(batch * N_BATCH + index);
        judge_schema(seed, compiler, &mut entry)?;
    }
    Ok(entry)
}

fn judge_schema(seed: u64, compiler: &Compiler, entry: &mut Entry) -> anyhow::Result<()> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let schema = any_schema(&mut rng);
    let judge = Judge::new(&schema)?;
    let mut config = SchemaConfig::default();
    config.property_order = PropertyOrder::Any;
    let compiled =
        compiler.compile(&GrammarSource::json_schema(schema.to_string(), config), &CompileOptions::default());
    let grammar = match compiled {
        Ok(compiled) => {
            entry.n_taken += 1;
            Some(compiled)
        }
        Err(error) if error.to_string().contains("no value satisfies the schema") => {
            entry.n_unsatisfiable += 1;
            None
        }
        Err(error) => {
            ensure!(matches!(error.kind(), ErrorKind::Schema | ErrorKind::Limit), "{schema}: {error}");
            entry.n_declined += 1;
            return Ok(());
        }
    };
    let mut texts: Vec<String> = Vec::new();
    for round in 0..N_VALUES as u64 {
        let written = grammar.as_ref().filter(|_| round % 2 == 0);
        let written = written.and_then(|grammar| match write(grammar, compiler, seed ^ round) {
            Ok(text) => text,
            Err(_) => {
                entry.n_given_up += 1;
                None
            }
        });
        // The text as it was written, spaces and all, and what becomes of its value by replacing a part.
        let (text, is_ours) = match written {
            Some(text) if round % 4 == 0 => (text, true),
            Some(text) => (spaced(&with_a_part_replaced(&serde_json::from_str(&text)?, &mut rng)), false),
            None => (spaced(&any_value(&mut rng, 2)), false),
        };
        texts.extend((is_ours || !has_exponent(&text)).then_some(text));
    }
    for text in texts.into_iter().filter(|text| !has_long_numbers(text)) {
        let ours = match &grammar {
            Some(grammar) => match refusal(Matcher::new(grammar), &text) {
                Ok(refusal) => refusal,
                Err(error) if error.is_limit() => {
                    entry.n_given_up += 1;
                    continue;
                }
                Err(error) => return Err(error.into()),
            },
            None => Some("no value satisfies the schema".to_owned()),
        };
        let theirs = judge.objection(text.as_bytes());
        entry.n_pairs += 1;
        entry.n_valid += usize::from(theirs.is_none());
        if ours.is_none() != theirs.is_none() {
            entry.disagreements.push(Disagreement { schema: schema.clone(), text, ours, theirs });
        }
    }
    Ok(())
}

/// Whether a number has an exponent; or a string what looks like one.
fn has_exponent(text: &str) -> bool {
    let is_one = |at: &[u8]| matches!(at, [b'0'..=b'9', b'e' | b'E', b'0'..=b'9' | b'+' | b'-']);
    text.as_bytes().windows(3).any(is_one)
}

/// Whether digits stand side by side, or around a dot, that no double tells apart.
fn has_long_numbers(text: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    text.split(|c| !is_number(c)).any(|number| number.len() > 15)
}

/// Why the grammar refuses `text`; `None` if it accepts.
fn refusal(mut matcher: Matcher, text: &str) -> Result<Option<String>, Error> {
    for (at, byte) in text.bytes().enumerate() {
        if !matcher.accept_bytes(&[byte])? {
            return Ok(Some(format!("byte {at} is refused")));
        }
    }
    Ok((!matcher.is_accepting()).then(|| "it is not complete".to_owned()))
}

/// A text under random logits; `None` if it did not come to its end.
///
/// # Errors
/// If the session reaches a limit on work.
fn write(
    grammar: &Arc<CompiledGrammar>,
    compiler: &Compiler,
    seed: u64,
) -> Result<Option<String>, DecodeError> {
    let tokenizer = compiler.tokenizer();
    let mut model = RandomModel::new(tokenizer.n_vocab(), MAX_TEXT + 1, seed);
    let config = GenerateConfig {
        max_tokens: MAX_TEXT,
        eos_ids: tokenizer.eos_token_ids().to_vec(),
        sampler: SamplerConfig { seed, ..SamplerConfig::default() },
        jump_forward: false,
        measure_mass: false,
        n_candidates: 0,
    };
    let mut constraint = GrammarConstraint::new(Matcher::new(grammar), tokenizer);
    let written = generate(&mut model, Some(&mut constraint), &[TokenId(0)], &config, &mut |_| {
        ControlFlow::Continue(())
    })?;
    let is_complete = written.finish_reason.is_complete();
    Ok(is_complete.then(|| String::from_utf8_lossy(&tokenizer.decode(&written.tokens)).into_owned()))
}

/// The value with single spaces behind commas and colons.
fn spaced(value: &Value) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", list(items.iter().map(spaced).collect())),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| format!("{}: {}", json!(key), spaced(value));
            format!("{{{}}}", list(members.iter().map(member).collect()))
        }
        Value::Number(number) => scientific(number.as_str()),
        scalar => scalar.to_string(),
    }
}

/// A number with an exponent as printers write it: one digit that is not zero before the point. Grammars with
/// bounds take no other notation with an exponent.
fn scientific(number: &str) -> String {
    let (sign, magnitude) = number.strip_prefix('-').map_or(("", number), |magnitude| ("-", magnitude));
    let Some((mantissa, exponent)) = magnitude.split_once(['e', 'E']) else { return number.to_owned() };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0');
    let Some(first) = significant.get(..1) else { return format!("{sign}0") };
    let Ok(exponent) = exponent.parse::<i64>() else { return number.to_owned() };
    let moved = whole.len() as i64 - 1 - (digits.len() - significant.len()) as i64;
    let rest = &significant[1..];
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{first}{point}{rest}e{}", exponent.saturating_add(moved))
}

fn report(entries: &[Entry]) -> String {
    let sum = |count: fn(&Entry) -> usize| entries.iter().map(count).sum::<usize>().to_string();
    let mut text = render(&[
        vec!["schemas taken".to_owned(), sum(|entry| entry.n_taken)],
        vec!["said to have no value".to_owned(), sum(|entry| entry.n_unsatisfiable)],
        vec!["declined".to_owned(), sum(|entry| entry.n_declined)],
        vec!["texts given up by limits".to_owned(), sum(|entry| entry.n_given_up)],
        vec!["pairs".to_owned(), sum(|entry| entry.n_pairs)],
        vec!["of them valid".to_owned(), sum(|entry| entry.n_valid)],
        vec!["DISAGREEMENTS".to_owned(), sum(|entry| entry.disagreements.len())],
    ]);
    for disagreement in entries.iter().flat_map(|entry| &entry.disagreements).take(40) {
        let Disagreement { schema, text: value, ours, theirs } = disagreement;
        let verdict = |reason: &Option<String>| {
            reason.as_deref().map_or("accepts".to_owned(), |why| shortened(why, 120))
        };
        text += &format!(
            "{}\n  {}\n  ours: {}; theirs: {}\n",
            shortened(&schema.to_string(), 600),
            shortened(value, 300),
            verdict(ours),
            verdict(theirs)
        );
    }
    text
}

/// Whether the claim holds.
fn verdict(entries: &[Entry]) -> anyhow::Result<()> {
    let n_disagreements: usize = entries.iter().map(|entry| entry.disagreements.len()).sum();
    ensure!(n_disagreements == 0, "{n_disagreements} disagreements");
    println!("no disagreement");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_written_as_printers_do() {
        let texts = ["0.752e+2", "58e+496615", "-0.00120E-3", "-0e7", "1.5e3", "12.5", "100e0"];
        let written = ["7.52e1", "5.8e496616", "-1.20e-6", "-0", "1.5e3", "12.5", "1.00e2"];
        assert_eq!(texts.map(scientific), written);
    }

    #[test]
    fn a_batch_agrees_and_has_all_kinds_of_pairs() {
        let entry = judge_batch(0, 7, &byte_compiler().unwrap()).unwrap();
        assert_eq!(entry.disagreements, []);
        assert!(entry.n_taken > 50 && entry.n_valid > 100 && entry.n_valid < entry.n_pairs);
        assert_eq!(entry, judge_batch(0, 7, &byte_compiler().unwrap()).unwrap());
    }

    #[test]
    fn a_disagreement_is_shown_and_fails() {
        let disagreement = Disagreement {
            schema: json!({"type": "null"}),
            text: "1".to_owned(),
            ours: None,
            theirs: Some("at \"\": 1 is not null".to_owned()),
        };
        let entries = [Entry { disagreements: vec![disagreement], ..Entry::default() }];
        assert!(report(&entries).contains("ours: accepts; theirs: at \"\": 1 is not null"));
        assert!(verdict(&entries).is_err() && verdict(&[Entry::default()]).is_ok());
    }
}
