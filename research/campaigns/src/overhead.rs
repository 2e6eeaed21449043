//! `overhead`: what a constraint costs beside the network, over one given text of 2,000 tokens.
//!
//! The text is teacher-forced: at each position the network reads the last token, the mask is computed and
//! applied to the logits, and the text's own next token is accepted (it must be allowed: a wrong mask fails,
//! it does not win). Two workloads: a schema of records, and the grammar of all JSON in GBNF. Caches begin
//! empty.
//!
//! Claimed: mask, accept and application together cost at most 3% of the forward passes, and the median mask
//! of tokens 1,900 to 2,000 at most 1.5 times that of tokens 20 to 120. Looking for forced tokens, which
//! saves forward passes, is measured apart. Clocks are read between the parts, so everything runs with the
//! caches that the network leaves.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use maskwright::json_schema::SchemaConfig;
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, TokenId, Tokenizer, TokenizerOptions,
};
use maskwright_decode::{LanguageModel, SequenceInput, apply_mask, is_allowed, mask_len};
use maskwright_models::LlamaModel;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use crate::table::{Quantiles, median, render};

/// The largest share of the forward passes that the constraint may cost.
const LARGEST_SHARE: f64 = 0.03;
/// The largest growth of the median mask from the beginning to the end.
const LARGEST_GROWTH: f64 = 1.5;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// A GGUF file, or the name of a known model, which is pulled if need be
    #[arg(long, default_value = "smollm2")]
    model: String,
    /// How many tokens of the text are read
    #[arg(long, default_value_t = 2000)]
    tokens: usize,
    #[command(flatten)]
    log: LogArguments,
}

/// The times of one workload, in microseconds, one element a token.
#[derive(Serialize, Deserialize, Debug, Clone, Default)]
struct Entry {
    workload: String,
    forward: Vec<f64>,
    mask: Vec<f64>,
    apply: Vec<f64>,
    accept: Vec<f64>,
    forced: Vec<f64>,
}

/// What holds the text.
struct Workload {
    name: &'static str,
    grammar: Arc<CompiledGrammar>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(
        std::env::var("RAYON_NUM_THREADS").is_ok_and(|n_threads| n_threads == "1"),
        "the claim is about one thread: set RAYON_NUM_THREADS=1 (cargo xtask experiment does)"
    );
    let path = data::locate_model(&arguments.model)?;
    let tokenizer = Tokenizer::from_gguf(&path, &TokenizerOptions::default())?;
    let settings = json!({"model": arguments.model, "tokens": arguments.tokens});
    let mut log = Log::<Entry>::open("overhead", &settings, &arguments.log)?;
    let text = document(arguments.tokens / 40 + 10);
    let ids = tokenizer.encode(&text)?;
    ensure!(ids.len() >= arguments.tokens, "the text has {} tokens only", ids.len());
    let mut model = None;
    // A compiler for each workload, so that none profits from the rows of another.
    for workload in workloads(&tokenizer)? {
        if log.entries().iter().any(|entry| entry.workload == workload.name) {
            continue;
        }
        check_whole(&workload, &ids)?;
        let model = match &mut model {
            Some(model) => model,
            None => model.insert(LlamaModel::from_gguf(&path)?),
        };
        log.append(measure(model, &workload, &tokenizer, &ids[..arguments.tokens])?)?;
    }
    println!("log: {}", log.path().display());
    for entry in log.entries() {
        println!("\n{}", report(entry));
    }
    log.entries().iter().try_for_each(verdict)
}

fn workloads(tokenizer: &Tokenizer) -> anyhow::Result<[Workload; 2]> {
    let options = CompileOptions::default();
    let schema = Compiler::new(tokenizer)
        .compile(&GrammarSource::json_schema(SCHEMA, SchemaConfig::default()), &options)?;
    let json = Compiler::new(tokenizer).compile(&GrammarSource::gbnf(JSON_GBNF), &options)?;
    Ok([Workload { name: "schema", grammar: schema }, Workload { name: "json.gbnf", grammar: json }])
}

/// Whether the whole text is one of the language; on a compiler's caches of its own.
fn check_whole(workload: &Workload, ids: &[TokenId]) -> anyhow::Result<()> {
    let mut matcher = Matcher::new(&workload.grammar);
    let n_valid = matcher.accept_tokens(ids)?;
    ensure!(n_valid == ids.len(), "{}: the text is refused at token {n_valid}", workload.name);
    ensure!(matcher.is_accepting(), "{}: the text may not end", workload.name);
    Ok(())
}

fn measure(
    model: &mut dyn LanguageModel,
    workload: &Workload,
    tokenizer: &Tokenizer,
    ids: &[TokenId],
) -> anyhow::Result<Entry> {
    let mut entry = Entry { workload: workload.name.to_owned(), ..Entry::default() };
    let mut matcher = Matcher::new(&workload.grammar);
    let mut mask = vec![0; mask_len(model.n_vocab())];
    let sequence = model.create_sequence()?;
    let bar = crate::progress::bar("overhead", 0, ids.len());
    let mut last = tokenizer.eos_token_ids().first().copied().context("the tokenizer has no end of text")?;
    for (position, &id) in ids.iter().enumerate() {
        let clock = Instant::now();
        let mut logits = model.forward(&[SequenceInput::last(sequence, &[last])])?;
        entry.forward.push(microseconds(clock));

        let clock = Instant::now();
        matcher.fill_mask(&mut mask)?;
        entry.mask.push(microseconds(clock));

        let row = logits[0].last_mut().context("the model gave no logits")?;
        let clock = Instant::now();
        apply_mask(row, &mask);
        entry.apply.push(microseconds(clock));
        ensure!(is_allowed(&mask, id), "{}: token {position} is not in its mask", workload.name);

        let clock = Instant::now();
        let is_accepted = matcher.accept_token(id)?;
        entry.accept.push(microseconds(clock));
        ensure!(is_accepted, "{}: token {position} is refused", workload.name);

        let clock = Instant::now();
        matcher.forced_tokens(|bytes| tokenizer.encode_bytes(bytes).unwrap_or_default())?;
        entry.forced.push(microseconds(clock));
        last = id;
        bar.inc(1);
    }
    bar.finish();
    model.release_sequence(sequence);
    Ok(entry)
}

fn microseconds(clock: Instant) -> f64 {
    clock.elapsed().as_secs_f64() * 1e6
}

impl Entry {
    fn share(&self) -> f64 {
        let constraint = [&self.mask, &self.apply, &self.accept].into_iter().flatten().sum::<f64>();
        constraint / self.forward.iter().sum::<f64>()
    }

    /// The median masks at the beginning and at the end.
    fn early_and_late(&self) -> (f64, f64) {
        let n = self.mask.len();
        let of = |range: std::ops::Range<usize>| median(self.mask.get(range).into_iter().flatten().copied());
        (of(20..120), of(n.saturating_sub(100)..n))
    }
}

fn report(entry: &Entry) -> String {
    let mut head = Quantiles::head(&format!("{}: microseconds", entry.workload));
    head.push("% of forward".to_owned());
    let mut rows = vec![head];
    let forward: f64 = entry.forward.iter().sum();
    for (title, times) in [
        ("forward", &entry.forward),
        ("mask", &entry.mask),
        ("apply", &entry.apply),
        ("accept", &entry.accept),
        ("(forced tokens)", &entry.forced),
    ] {
        let mut row = Quantiles::row(title, times.iter().copied());
        row.push(format!("{:.3}", 100.0 * times.iter().sum::<f64>() / forward));
        rows.push(row);
    }
    let (early, late) = entry.early_and_late();
    render(&rows)
        + &format!(
            "mask + apply + accept: {:.3}% of the forward passes (at most {:.0}%)\n\
             median mask: tokens 20 to 120 {early:.2} us, last 100 {late:.2} us: {:.2} times (at most {LARGEST_GROWTH})",
            100.0 * entry.share(),
            100.0 * LARGEST_SHARE,
            late / early,
        )
}

/// Whether the claims hold.
fn verdict(entry: &Entry) -> anyhow::Result<()> {
    let (share, (early, late)) = (entry.share(), entry.early_and_late());
    ensure!(share <= LARGEST_SHARE, "{}: {:.2}% of the forward passes", entry.workload, 100.0 * share);
    ensure!(late <= LARGEST_GROWTH * early, "{}: masks grow {:.2} times", entry.workload, late / early);
    Ok(())
}

/// A long JSON text, the same on every machine, that the schema and the grammar below allow.
fn document(n_records: usize) -> String {
    const WORDS: [&str; 16] = [
        "amber",
        "brisk",
        "copper",
        "delta",
        "ember",
        "frost",
        "granite",
        "harbour",
        "indigo",
        "juniper",
        "kestrel",
        "lantern",
        "meadow",
        "naïve",
        "orchid",
        "«quartz»",
    ];
    // Knuth's MMIX generator: any fixed sequence would do.
    let mut state = 1_u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let mut text = "[".to_owned();
    for id in 0..n_records {
        let mut word = || WORDS[draw(WORDS.len())];
        let (name, surname, street) = (word(), word(), word());
        let note: Vec<&str> = (0..12).map(|_| word()).collect();
        let (note, city) = (note.join(" "), word());
        let (zip, score, age, n_tags) = (draw(90_000) + 10_000, draw(10_000), draw(80) + 18, draw(4));
        let tags: Vec<String> = (0..n_tags).map(|_| format!("\"{}\"", WORDS[draw(WORDS.len())])).collect();
        let comma = if id > 0 { ",\n " } else { "" };
        let record = format!(
            "{comma}{{\"id\": {id}, \"name\": \"{name} {surname}\", \"age\": {age}, \"active\": {}, \"score\": {}.{:02}, \
             \"address\": {{\"street\": \"{street} \\\"{}\\\"\", \"zip\": \"{zip}\", \"city\": \"{city}\"}}, \
             \"tags\": [{}], \"note\": {}}}",
            age % 2 == 0,
            score / 100,
            score % 100,
            zip % 100,
            tags.join(", "),
            if zip % 5 == 0 { "null".to_owned() } else { format!("\"{note}\"") },
        );
        text.write_str(&record).expect("writing to a string cannot fail");
    }
    text + "]"
}

const SCHEMA: &str = r#"{
  "type": "array",
  "items": {
    "type": "object",
    "properties": {
      "id": {"type": "integer", "minimum": 0},
      "name": {"type": "string", "minLength": 3, "maxLength": 60},
      "age": {"type": "integer", "minimum": 18, "maximum": 120},
      "active": {"type": "boolean"},
      "score": {"type": "number"},
      "address": {
        "type": "object",
        "properties": {
          "street": {"type": "string"},
          "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
          "city": {"type": "string"}
        },
        "required": ["street", "zip"]
      },
      "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
      "note": {"type": ["string", "null"]}
    },
    "required": ["id", "name", "age"],
    "additionalProperties": false
  }
}"#;

const JSON_GBNF: &str = r#"root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member ("," ws member)*)? "}" ws
member ::= string ":" ws value ws
array ::= "[" ws (value ws ("," ws value ws)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \t\n\r]*
"#;

#[cfg(test)]
mod tests {
    use maskwright_decode::RandomModel;

    use super::*;

    #[test]
    fn the_text_is_allowed_by_both_workloads_and_measured() {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.push(Vec::new());
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap();
        let text = document(3);
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        let ids = tokenizer.encode(&text).unwrap();
        for workload in workloads(&tokenizer).unwrap() {
            check_whole(&workload, &ids).unwrap();
            let mut model = RandomModel::new(257, 10_000, 1);
            let entry = measure(&mut model, &workload, &tokenizer, &ids[..300]).unwrap();
            assert!(entry.mask.len() == 300 && entry.share() > 0.0);
            assert!(report(&entry).contains("mask + apply + accept"));
            let error = check_whole(&workload, &ids[..300]).unwrap_err().to_string();
            assert!(error.ends_with("may not end"), "{error}");
            let error = measure(&mut model, &workload, &tokenizer, &ids[1..300]).unwrap_err().to_string();
            assert!(error.ends_with("is not in its mask"), "{error}");
        }
    }

    #[test]
    fn claims_are_judged() {
        let entry = |mask: fn(usize) -> f64| Entry {
            forward: vec![1000.0; 2000],
            mask: (0..2000).map(mask).collect(),
            ..Entry::default()
        };
        assert!(verdict(&entry(|_| 29.0)).is_ok());
        assert!(verdict(&entry(|_| 31.0)).is_err());
        assert!(verdict(&entry(|position| if position < 1900 { 1.0 } else { 1.6 })).is_err());
    }
}
