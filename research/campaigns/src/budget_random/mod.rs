//! `budget-random`: under a limit on tokens a model without taste writes texts, and every one must be
//! complete in time; and known texts at a limit of exactly their length must not be refused a token.
//!
//! Schemas are taken from MaskBench in the order of a hash of their ids, as long as the compiler and the
//! judge take them; the first is that of any JSON. In rounds, each schema gets one text a round, at a limit
//! of its least number of tokens plus the round's number modulo 41, so that each of 41 limits comes up alike.
//! Logits are uniform: what is drawn is any token of the mask. In even rounds tokens are forced where they
//! can be. In the first round the valid instances are replayed too, as Python spells them, up to 1,000 tokens
//! long. Calls whose answer is only an upper bound are counted.
//!
//! `--grammar NAME`, as often as wanted, takes Lark grammars of the shared folder (basic lexer) in place of
//! schemas, and replays the programs there that Lark accepts.

mod subjects;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use maskwright::{Compiler, Mask, Matcher, MatcherConfig, TokenCountStatus, TokenId};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data;
use crate::log::{Log, LogArguments};
use crate::numbers::Numbers;
use crate::random_logits::hash;
use crate::table::{Quantiles, render, shortened};
use subjects::Subject;

/// The limits of one schema go from its least number of tokens to so many more, the last not included.
const N_LIMITS: u64 = 41;
/// Longer instances are not replayed.
const MAX_REPLAYED: usize = 1_000;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Whose vocabulary: a shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "llama2")]
    tokenizer: String,
    /// Records of schemas [default: data/maskbench of the shared folder]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A Lark grammar in place of the schemas
    #[arg(long, value_name = "NAME")]
    grammar: Vec<String>,
    /// How many schemas
    #[arg(long, default_value_t = 50)]
    schemas: usize,
    /// How many texts in all
    #[arg(long, default_value_t = 10_000)]
    texts: usize,
    /// Changes what is drawn
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    log: LogArguments,
}

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    id: String,
    round: u64,
    limit: usize,
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    n_tokens: usize,
    /// Answers, and how many of them were exact.
    n_calls: usize,
    n_exact: usize,
    /// Masks that were made, and the time that they took together.
    n_masks: usize,
    mask_us: f64,
    /// Instances that were replayed at exactly their length.
    n_replayed: usize,
}

#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    /// Complete within the limit, and the validator agrees.
    Valid,
    /// Complete, and the validator objects: a bug.
    Invalid,
    /// A dead end, a refused token or an error: a bug.
    Failed,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let compiler = Compiler::new(&data::load_tokenizer(&arguments.tokenizer)?);
    let (settings, subjects): (_, Vec<Subject>) = if arguments.grammar.is_empty() {
        let data = arguments.data.clone().unwrap_or_else(|| data::shared().join("data/maskbench"));
        let records = data::read_records(&data)?;
        let settings = json!({
            "tokenizer": arguments.tokenizer, "n_records": records.len(), "schemas": arguments.schemas,
            "seed": arguments.seed,
        });
        (settings, subjects::of_schemas(records, arguments.schemas, &compiler))
    } else {
        let settings = json!({
            "tokenizer": arguments.tokenizer, "grammars": arguments.grammar, "seed": arguments.seed,
        });
        let shared = data::shared();
        let grammars = arguments.grammar.iter().map(|name| subjects::of_grammar(name, &shared, &compiler));
        (settings, grammars.collect::<anyhow::Result<_>>()?)
    };
    let mut log = Log::<Entry>::open("budget-random", &settings, &arguments.log)?;
    write_texts(&subjects, &compiler, arguments, &mut log)?;
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries(), arguments.grammar.is_empty())
}

fn write_texts(
    subjects: &[Subject],
    compiler: &Compiler,
    arguments: &Arguments,
    log: &mut Log<Entry>,
) -> anyhow::Result<()> {
    let known: HashSet<(String, u64)> =
        log.entries().iter().map(|entry| (entry.id.clone(), entry.round)).collect();
    let mut n_texts = known.len();
    let bar = crate::progress::bar("budget-random", n_texts, arguments.texts);
    let mut round = 0;
    while n_texts < arguments.texts {
        for subject in subjects {
            if n_texts >= arguments.texts {
                break;
            }
            if !known.contains(&(subject.id.clone(), round)) {
                log.append(write_text(subject, compiler, arguments.seed, round)?)?;
                n_texts += 1;
                bar.set_position(n_texts as u64);
            }
        }
        round += 1;
    }
    Ok(())
}

/// Writes one text, in the first round replays the known ones.
fn write_text(subject: &Subject, compiler: &Compiler, seed: u64, round: u64) -> anyhow::Result<Entry> {
    let least = Matcher::new(&subject.grammar).tokens_to_finish()?.n_tokens;
    let limit = least + (round % N_LIMITS) as usize;
    let mut entry = Entry {
        id: subject.id.clone(),
        round,
        limit,
        outcome: Outcome::Valid,
        reason: None,
        n_tokens: 0,
        n_calls: 0,
        n_exact: 0,
        n_masks: 0,
        mask_us: 0.0,
        n_replayed: 0,
    };
    let numbers =
        Numbers(seed ^ hash(subject.id.as_bytes()) ^ (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text = draw(subject, compiler, limit, numbers, &mut entry);
    let judged = text.and_then(|text| subject.objection(&text)).and_then(|objection| {
        if round == 0 {
            subject.texts.iter().try_for_each(|text| replay(subject, compiler, text, &mut entry))?;
        }
        Ok(objection)
    });
    match judged {
        Ok(None) => {}
        Ok(objection) => (entry.outcome, entry.reason) = (Outcome::Invalid, objection),
        Err(error) => (entry.outcome, entry.reason) = (Outcome::Failed, Some(format!("{error:#}"))),
    }
    Ok(entry)
}

/// Draws tokens from the masks until the end.
fn draw(
    subject: &Subject,
    compiler: &Compiler,
    limit: usize,
    mut numbers: Numbers,
    entry: &mut Entry,
) -> anyhow::Result<Vec<u8>> {
    let tokenizer = compiler.tokenizer();
    let mut matcher = Matcher::with_config(&subject.grammar, &MatcherConfig::with_max_tokens(limit))?;
    let mut mask = Mask::new(tokenizer.n_vocab());
    let mut tokens: Vec<TokenId> = Vec::new();
    while !matcher.is_terminated() {
        if entry.round.is_multiple_of(2) {
            let forced = matcher.forced_tokens(|bytes| tokenizer.encode_bytes(bytes).unwrap_or_default())?;
            let n_accepted = matcher.accept_tokens(&forced)?;
            ensure!(n_accepted == forced.len(), "a forced token is refused");
            tokens.extend(&forced);
            ensure!(tokens.len() <= limit, "forced tokens go beyond the limit");
            if matcher.is_terminated() {
                break;
            }
        }
        count(&matcher, entry)?;
        fill(&mut matcher, &mut mask, entry)?;
        let n_allowed = mask.iter().count();
        ensure!(n_allowed > 0, "no token is allowed after {} of {limit}", tokens.len());
        let token = mask.iter().nth(numbers.below(n_allowed)).context("a mask has what it counts")?;
        ensure!(matcher.accept_token(token)?, "a token of the mask is refused");
        tokens.push(token);
        ensure!(tokens.len() <= limit, "the text is not complete within {limit} tokens");
    }
    entry.n_tokens = tokens.len();
    Ok(tokenizer.decode(&tokens))
}

/// Replays a known text, if it is one of the grammar's, at exactly its length.
fn replay(subject: &Subject, compiler: &Compiler, text: &str, entry: &mut Entry) -> anyhow::Result<()> {
    let tokens = compiler.tokenizer().encode_bytes(text.as_bytes())?;
    let mut unlimited = Matcher::new(&subject.grammar);
    if tokens.len() > MAX_REPLAYED
        || unlimited.accept_tokens(&tokens)? < tokens.len()
        || !unlimited.is_accepting()
    {
        return Ok(());
    }
    let mut matcher = Matcher::with_config(&subject.grammar, &MatcherConfig::with_max_tokens(tokens.len() + 1))?;
    let mut mask = Mask::new(compiler.tokenizer().n_vocab());
    for (place, &token) in tokens.iter().enumerate() {
        count(&matcher, entry)?;
        fill(&mut matcher, &mut mask, entry)?;
        ensure!(mask.contains(token), "token {place} of {} is refused: {text}", tokens.len());
        ensure!(matcher.accept_token(token)?, "token {place} is in the mask and is refused");
    }
    entry.n_replayed += 1;
    Ok(())
}

fn fill(matcher: &mut Matcher, mask: &mut Mask, entry: &mut Entry) -> anyhow::Result<()> {
    let begin = Instant::now();
    matcher.fill_mask(mask.words_mut())?;
    entry.mask_us += begin.elapsed().as_secs_f64() * 1e6;
    entry.n_masks += 1;
    Ok(())
}

fn count(matcher: &Matcher, entry: &mut Entry) -> anyhow::Result<()> {
    entry.n_calls += 1;
    entry.n_exact += usize::from(matcher.tokens_to_finish()?.status == TokenCountStatus::Exact);
    Ok(())
}

fn report(entries: &[Entry]) -> String {
    let count = |outcome| entries.iter().filter(|entry| entry.outcome == outcome).count().to_string();
    let n_schemas = entries.iter().map(|entry| &entry.id).collect::<HashSet<_>>().len();
    let sum = |of: fn(&Entry) -> usize| entries.iter().map(of).sum::<usize>();
    let mut text = render(&[
        vec!["schemas or grammars".to_owned(), n_schemas.to_string()],
        vec!["complete in time and valid".to_owned(), count(Outcome::Valid)],
        vec!["complete in time and INVALID".to_owned(), count(Outcome::Invalid)],
        vec!["FAILED".to_owned(), count(Outcome::Failed)],
        vec!["instances replayed".to_owned(), sum(|entry| entry.n_replayed).to_string()],
        vec!["calls".to_owned(), sum(|entry| entry.n_calls).to_string()],
        vec!["of them exact".to_owned(), sum(|entry| entry.n_exact).to_string()],
    ]);
    for entry in entries.iter().filter(|entry| entry.reason.is_some()) {
        let reason = entry.reason.as_deref().unwrap_or_default();
        text += &format!("{} round {}: {}\n", entry.id, entry.round, shortened(reason, 160));
    }
    let mean = |entry: &Entry| entry.mask_us / entry.n_masks.max(1) as f64;
    text += &render(&[
        Quantiles::head("per text"),
        Quantiles::row("tokens", entries.iter().map(|entry| entry.n_tokens as f64)),
        Quantiles::row("spare tokens", entries.iter().map(|entry| (entry.limit - entry.n_tokens) as f64)),
        Quantiles::row("us per mask", entries.iter().map(mean)),
    ]);
    text
}

/// Whether the claim holds; that nearly all answers are exact is claimed of schemas.
fn verdict(entries: &[Entry], is_of_schemas: bool) -> anyhow::Result<()> {
    let n_bad = entries.iter().filter(|entry| entry.outcome != Outcome::Valid).count();
    ensure!(n_bad == 0, "{n_bad} texts are invalid or failed");
    let (n_calls, n_exact) =
        entries.iter().fold((0, 0), |(calls, exact), entry| (calls + entry.n_calls, exact + entry.n_exact));
    ensure!(
        !is_of_schemas || (n_calls - n_exact) * 1_000 <= n_calls,
        "{n_exact} of {n_calls} answers are exact, fewer than 99.9%"
    );
    println!("{} texts, all of them valid and within their limits", entries.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use maskwright::Tokenizer;

    use super::*;
    use crate::data::Record;

    #[test]
    fn texts_end_in_time_and_are_not_written_again() {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        tokens.extend([&b"true"[..], b"\"]", b"[[", b"]]", b"\": ", b", ", b"}]", b""].map(<[u8]>::to_vec));
        let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[TokenId(263)]).unwrap());
        let record = |id: &str, schema, valid| Record {
            id: id.to_owned(),
            schema,
            tests: vec![data::Instance { valid: true, data: valid }],
            gold: None,
        };
        let records = vec![
            record("a", json!({"type": "array", "items": {"type": "boolean"}}), json!([true, false])),
            record("b", json!({"minLength": 2, "maxLength": 1, "type": "string"}), json!("")),
            record(
                "c",
                json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}),
                json!({"x": 5}),
            ),
        ];
        let subjects = subjects::of_schemas(records, 3, &compiler);
        assert_eq!(subjects.len(), 3, "the unsatisfiable one is passed over, any JSON is first");
        let folder = tempfile::tempdir().unwrap();
        let mut arguments = Arguments {
            tokenizer: String::new(),
            data: None,
            grammar: Vec::new(),
            schemas: 3,
            texts: 60,
            seed: 0,
            log: LogArguments { log: Some(folder.path().join("log.jsonl")), fresh: false },
        };
        let open = |arguments: &Arguments| Log::<Entry>::open("test", &json!({}), &arguments.log).unwrap();
        let mut log = open(&arguments);
        write_texts(&subjects, &compiler, &arguments, &mut log).unwrap();
        verdict(log.entries(), true).unwrap();
        assert_eq!(log.entries().len(), 60);
        assert_eq!(log.entries().iter().map(|entry| entry.n_replayed).sum::<usize>(), 2);
        assert!(report(log.entries()).contains("complete in time and valid"));
        arguments.texts = 61;
        let mut log = open(&arguments);
        write_texts(&subjects, &compiler, &arguments, &mut log).unwrap();
        assert_eq!(log.entries().len(), 61);
    }
}
