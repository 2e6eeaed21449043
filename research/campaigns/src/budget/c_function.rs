//! `c-function`: a function in C within 40 tokens, as in figure 5 of paper 4.
//!
//! The prompt and the grammar (appendix B.9) are the paper's, the model is another. One change: a text is one
//! function, where the paper's is any number of them, so that nobody gets by with the empty text. The exact
//! budget and the limit-less mask read the lexed grammar of the shared folder. The paper's estimate takes no
//! lexer, so it gets an LL(1) grammar of the same functions with white space in its terminals
//! ([`ll1_grammar`]).
//!
//! Claimed: under the exact budget every text, the model's and those of random logits, is a function within
//! the limit; the tree search's value is at least the greedy text's. What the functions compute is for the
//! reader to judge: the report prints the model's.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use maskwright::grammar::{Grammar, GrammarBuilder, Regex};
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, Tokenizer, TokenizerOptions,
};
use maskwright_decode::{
    Constraint, DecodeError, GrammarConstraint, LanguageModel, RandomModel, SearchConfig, SearchOutcome,
    Unconstrained,
};
use maskwright_models::{ChatMessage, ChatTemplate, LlamaModel};
use maskwright_truncproof::{TruncProof, TruncProofConstraint};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::write::{decode, sample};
use super::{Method, Strategy};
use crate::data;
use crate::log::{Log, LogArguments};
use crate::prompt_memory::PromptMemory;
use crate::table::{Quantiles, median, render};

/// Figure 5's.
const PROMPT: &str =
    "Write a C function that sums up 1 to N. Only output the code without codeblock quotations.";
/// So many times the limit a text without any constraint may take, to see what the model would have written.
const FREE_FACTOR: usize = 5;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// A GGUF file, or the name of a known model, which is pulled if need be
    #[arg(long, default_value = "smollm2")]
    model: String,
    /// The most tokens of a function, end of text included
    #[arg(long, default_value_t = 40)]
    max_tokens: usize,
    /// Which ways to hold the model to grammar and limit
    #[arg(long, value_delimiter = ',', default_value = "free,unlimited,estimate,exact")]
    methods: Vec<Method>,
    /// Which strategies
    #[arg(long, value_delimiter = ',', default_value = "greedy,beam,tree")]
    strategies: Vec<Strategy>,
    /// Texts of random logits, for each of the constrained methods
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    random: u64,
    #[command(flatten)]
    log: LogArguments,
}

/// Who writes.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
enum Hand {
    Model(Strategy),
    /// Uniform logits from this seed.
    Random(u64),
}

/// One text.
#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Entry {
    method: Method,
    hand: Hand,
    is_finished: bool,
    /// Whether it is a function of the grammar, in the eyes of a session without a limit that reads bytes.
    is_function: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// End of text included.
    n_tokens: usize,
    n_model_tokens: usize,
    perplexity: f64,
    seconds: f64,
    text: String,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let settings = json!({ "model": arguments.model, "max_tokens": arguments.max_tokens });
    let mut log = Log::<Entry>::open("c-function", &settings, &arguments.log)?;
    let jobs: Vec<(Method, Hand)> = jobs(arguments)
        .into_iter()
        .filter(|job| !log.entries().iter().any(|entry| (entry.method, entry.hand) == *job))
        .collect();
    if !jobs.is_empty() {
        let path = data::shared().join("data/grammars/truncproof_c.lark");
        let source =
            std::fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        let path = data::locate_model(&arguments.model)?;
        let tokenizer = Tokenizer::from_gguf(&path, &TokenizerOptions::default())?;
        let grammars = Grammars::new(&source, &tokenizer)?;
        let mut model = None;
        let bar = crate::progress::bar("c-function", 0, jobs.len());
        for (method, hand) in jobs {
            let entry = match hand {
                Hand::Random(seed) => grammars.random(method, seed, arguments.max_tokens)?,
                Hand::Model(strategy) => {
                    if model.is_none() {
                        let loaded = LlamaModel::from_gguf(&path)?;
                        let prompt = match ChatTemplate::from_info(loaded.info())? {
                            Some(template) => template.render(&[ChatMessage::user(PROMPT)], true)?,
                            None => PROMPT.to_owned(),
                        };
                        model = Some((PromptMemory::new(loaded), tokenizer.encode_with_special(&prompt)?));
                    }
                    let (model, prompt_ids) = model.as_mut().context("was loaded above")?;
                    grammars.write(model, prompt_ids, method, strategy, arguments.max_tokens)?
                }
            };
            log.append(entry)?;
            bar.inc(1);
        }
        bar.finish();
    }
    println!("{}", report(log.entries()));
    println!("log: {}", log.path().display());
    verdict(log.entries(), arguments.max_tokens)
}

fn jobs(arguments: &Arguments) -> Vec<(Method, Hand)> {
    let mut jobs = Vec::new();
    for &method in &arguments.methods {
        for &strategy in &arguments.strategies {
            let is_meant = method != Method::Free || strategy == Strategy::Greedy;
            // Texts of random logits are counted by `--random`.
            if is_meant && strategy != Strategy::Random {
                jobs.push((method, Hand::Model(strategy)));
            }
        }
        if method != Method::Free {
            jobs.extend((0..arguments.random).map(|seed| (method, Hand::Random(seed))));
        }
    }
    jobs
}

/// The grammar of functions for one vocabulary, by both methods.
struct Grammars {
    tokenizer: Tokenizer,
    lexed: Arc<CompiledGrammar>,
    estimate: Arc<TruncProof>,
}

impl Grammars {
    fn new(source: &str, tokenizer: &Tokenizer) -> anyhow::Result<Grammars> {
        let mut options = LarkOptions::default();
        options.start = "declaration".to_owned();
        options.lexer = LexerKind::Basic;
        let compiler = Compiler::new(tokenizer);
        let lexed = compiler.compile(&GrammarSource::lark(source, options), &CompileOptions::default())?;
        let estimate = Arc::new(TruncProof::new(ll1_grammar()?, tokenizer.vocabulary())?);
        Ok(Grammars { tokenizer: tokenizer.clone(), lexed, estimate })
    }

    fn random(&self, method: Method, seed: u64, max_tokens: usize) -> anyhow::Result<Entry> {
        let mut model = RandomModel::new(self.tokenizer.n_vocab(), max_tokens + 2, seed);
        self.hold(method, Hand::Random(seed), &mut model, &[TokenId(0)], max_tokens)
    }

    fn write<M: LanguageModel>(
        &self,
        model: &mut M,
        prompt_ids: &[TokenId],
        method: Method,
        strategy: Strategy,
        max_tokens: usize,
    ) -> anyhow::Result<Entry> {
        self.hold(method, Hand::Model(strategy), model, prompt_ids, max_tokens)
    }

    /// One text under `method`, and what it is.
    fn hold(
        &self,
        method: Method,
        hand: Hand,
        model: &mut dyn LanguageModel,
        prompt_ids: &[TokenId],
        max_tokens: usize,
    ) -> anyhow::Result<Entry> {
        let eos_ids = self.tokenizer.eos_token_ids().to_vec();
        let factor = if method == Method::Free { FREE_FACTOR } else { 1 };
        let search = SearchConfig { max_tokens: factor * max_tokens, eos_ids };
        let clock = Instant::now();
        let result = match method {
            Method::Free => {
                let anything = Unconstrained::new(search.eos_ids.clone());
                put(hand, model, &anything, prompt_ids, &search)
            }
            Method::Unlimited | Method::Exact => {
                let limit = (method == Method::Exact).then_some(max_tokens);
                let matcher = Matcher::with_config(&self.lexed, &MatcherConfig::with_max_tokens(limit))?;
                put(hand, model, &GrammarConstraint::new(matcher, &self.tokenizer), prompt_ids, &search)
            }
            Method::Estimate => {
                let held = TruncProofConstraint::new(&self.estimate, Some(max_tokens))?;
                put(hand, model, &held, prompt_ids, &search)
            }
        };
        let seconds = clock.elapsed().as_secs_f64();
        let mut entry = Entry {
            method,
            hand,
            is_finished: false,
            is_function: false,
            failure: None,
            n_tokens: 0,
            n_model_tokens: 0,
            perplexity: 0.0,
            seconds,
            text: String::new(),
        };
        match result {
            Err(error) => entry.failure = Some(format!("{:#}", anyhow::Error::new(error))),
            Ok(outcome) => {
                let best = outcome.best().context("a search returns a text")?;
                let text = self.tokenizer.decode(&best.tokens);
                let mut matcher = Matcher::new(&self.lexed);
                entry.is_function = matcher.accept_bytes(&text)? && matcher.is_accepting();
                entry.is_finished = best.is_complete();
                (entry.n_tokens, entry.n_model_tokens) = (best.n_tokens, outcome.n_model_tokens);
                entry.perplexity = best.perplexity();
                entry.text = String::from_utf8_lossy(&text).into_owned();
            }
        }
        Ok(entry)
    }
}

fn put<C: Constraint + Clone>(
    hand: Hand,
    model: &mut dyn LanguageModel,
    constraint: &C,
    prompt_ids: &[TokenId],
    search: &SearchConfig,
) -> Result<SearchOutcome, DecodeError> {
    match hand {
        Hand::Model(strategy) => decode(strategy, model, constraint, prompt_ids, search),
        Hand::Random(seed) => sample(seed, model, constraint, prompt_ids, search),
    }
}

/// The functions of appendix B.9 over terminals that take the white space around them; LL(1) by taking apart
/// what begins with a name. Every word is one of the lexed grammar's. Some of those are missing: `return(x)`
/// without a space, since two terminals that need a space between them only sometimes are beyond a grammar
/// without a lexer.
fn ll1_grammar() -> anyhow::Result<Grammar> {
    let mut builder = GrammarBuilder::new();
    let regex = |pattern: &str| {
        let grammar = GrammarSource::regex(pattern).grammar(&CompileOptions::default())?;
        anyhow::Ok(grammar.terminals().first().context("a pattern is one terminal")?.clone())
    };
    let (space, blanks) = (regex(r"[ \t\n]+")?, regex(r"[ \t\n]*")?);
    let words = ["int", "float", "char", "void", "return", "while", "for", "if", "else"];
    let name = regex("[a-zA-Z_][a-zA-Z_0-9]*")?.difference(&Regex::union(words.map(Regex::literal)));
    // What follows a name, a number or a mark may be set off, so they take the white space behind them.
    let mark = |builder: &mut GrammarBuilder, text: &str| {
        builder.terminal(Regex::concat([Regex::literal(text), blanks.clone()]))
    };
    let word = |builder: &mut GrammarBuilder, text: &str| {
        builder.terminal(Regex::concat([Regex::literal(text), space.clone()]))
    };
    let kinds = ["int", "float", "char", "void"].map(|kind| word(&mut builder, kind));
    let kind = builder.alt(&kinds);
    let first = ["int", "float", "char", "void"]
        .map(|kind| builder.terminal(Regex::concat([blanks.clone(), Regex::literal(kind), space.clone()])));
    let first = builder.alt(&first);
    let name = builder.terminal(Regex::concat([name, blanks.clone()]));
    let number = builder.terminal(Regex::concat([regex("[0-9]+")?, blanks.clone()]));
    let [open, close, begin, end, comma, semicolon, equals] =
        ["(", ")", "{", "}", ",", ";", "="].map(|text| mark(&mut builder, text));
    let [plus, minus, times, over] = ["+", "-", "*", "/"].map(|text| mark(&mut builder, text));
    let relations = ["<=", "<", "==", "!=", ">=", ">"].map(|text| mark(&mut builder, text));
    let relation = builder.alt(&relations);
    let back = word(&mut builder, "return");
    let [repeat, count, branch, otherwise] =
        ["while", "for", "if", "else"].map(|text| mark(&mut builder, text));

    let [expression, statement] = ["expression", "statement"].map(|rule| builder.declare(rule));
    let (value, inner) = (builder.rule(expression), builder.rule(statement));
    let list = |builder: &mut GrammarBuilder, item| {
        let more = builder.seq(&[comma, item]);
        let more = builder.repeat(more, 0, None);
        let items = builder.seq(&[item, more]);
        let items = builder.optional(items);
        builder.seq(&[open, items, close])
    };
    let call = list(&mut builder, value);
    let argument = builder.seq(&[kind, name]);
    let head = list(&mut builder, argument);

    let factor = builder.declare("factor");
    let operand = builder.rule(factor);
    let called = builder.optional(call);
    let named = builder.seq(&[name, called]);
    let negated = builder.seq(&[minus, operand]);
    let bracketed = builder.seq(&[open, value, close]);
    let body = builder.alt(&[named, number, negated, bracketed]);
    builder.define(factor, body);
    let chain = |builder: &mut GrammarBuilder, item, operators: [_; 2]| {
        let operator = builder.alt(&operators);
        let more = builder.seq(&[operator, item]);
        let more = builder.repeat(more, 0, None);
        builder.seq(&[item, more])
    };
    let term = chain(&mut builder, operand, [times, over]);
    let body = chain(&mut builder, term, [plus, minus]);
    builder.define(expression, body);

    let statements = builder.repeat(inner, 0, None);
    let block = builder.seq(&[begin, statements, end]);
    let condition = builder.seq(&[value, relation, value]);
    let update = builder.seq(&[name, equals, value]);
    let start_kind = builder.optional(kind);
    let start = builder.seq(&[start_kind, update]);
    let declared = builder.seq(&[kind, update, semicolon]);
    let assigned = builder.seq(&[equals, value]);
    let changed = builder.alt(&[assigned, call]);
    let changed = builder.seq(&[name, changed, semicolon]);
    let returned = builder.seq(&[back, value, semicolon]);
    let looped = builder.seq(&[repeat, open, condition, close, block]);
    let counted = builder.seq(&[count, open, start, semicolon, condition, semicolon, update, close, block]);
    let other = builder.seq(&[otherwise, block]);
    let other = builder.optional(other);
    let branched = builder.seq(&[branch, open, condition, close, block, other]);
    let body = builder.alt(&[declared, changed, returned, looped, counted, branched]);
    builder.define(statement, body);
    let declaration = builder.declare("declaration");
    let body = builder.seq(&[first, name, head, block]);
    builder.define(declaration, body);
    Ok(builder.finish(declaration).map_err(maskwright::Error::from)?)
}

/// Figure 5 as a table, then the model's texts.
fn report(entries: &[Entry]) -> String {
    let head = ["", "n", "finished", "functions", "failed", "perplexity", "ms/token"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let mut texts = String::new();
    for &method in Method::value_variants() {
        let mut row = |title: String, chosen: &[&Entry]| {
            if chosen.is_empty() {
                return;
            }
            let count = |is: fn(&Entry) -> bool| chosen.iter().filter(|entry| is(entry)).count().to_string();
            let of = |entry: &&Entry| 1_000.0 * entry.seconds / entry.n_tokens.max(1) as f64;
            rows.push(vec![
                title,
                chosen.len().to_string(),
                count(|entry| entry.is_finished),
                count(|entry| entry.is_function),
                count(|entry| entry.failure.is_some()),
                format!("{:.2}", median(chosen.iter().map(|entry| entry.perplexity))),
                format!("{:.2}", Quantiles::of(chosen.iter().map(of)).map_or(0.0, |times| times.mean)),
            ]);
        };
        for strategy in [Strategy::Greedy, Strategy::Beam, Strategy::Tree] {
            let is_this = |entry: &&Entry| (entry.method, entry.hand) == (method, Hand::Model(strategy));
            let chosen: Vec<&Entry> = entries.iter().filter(is_this).collect();
            row(format!("{method:?} {strategy:?}"), &chosen);
            for entry in chosen {
                let (n_tokens, perplexity) = (entry.n_tokens, entry.perplexity);
                let what = if entry.is_function { "a function" } else { "no function" };
                texts += &format!(
                    "\n{method:?} {strategy:?}: {n_tokens} tokens, perplexity {perplexity:.2}, {what}\n{}\n",
                    entry.text
                );
            }
        }
        let is_random = |entry: &&Entry| entry.method == method && matches!(entry.hand, Hand::Random(_));
        row(format!("{method:?}, random logits"), &entries.iter().filter(is_random).collect::<Vec<_>>());
    }
    for entry in entries.iter().filter(|entry| entry.failure.is_some()) {
        let failure = entry.failure.as_deref().unwrap_or_default();
        texts += &format!("\n{:?} {:?} failed: {failure}\n", entry.method, entry.hand);
    }
    render(&rows) + &texts
}

/// Whether the claims hold.
fn verdict(entries: &[Entry], max_tokens: usize) -> anyhow::Result<()> {
    let exact: Vec<&Entry> = entries.iter().filter(|entry| entry.method == Method::Exact).collect();
    for entry in &exact {
        let is_right = entry.is_finished && entry.is_function && entry.n_tokens <= max_tokens;
        ensure!(
            is_right,
            "under the exact budget {:?} wrote {:?}: {:?}",
            entry.hand,
            entry.text,
            entry.failure
        );
    }
    let perplexity = |method, strategy| {
        let wanted = (method, Hand::Model(strategy));
        let is_this = |entry: &&Entry| (entry.method, entry.hand) == wanted && entry.is_finished;
        entries.iter().find(is_this).map(|entry| entry.perplexity)
    };
    for &method in Method::value_variants() {
        if let (Some(greedy), Some(tree)) =
            (perplexity(method, Strategy::Greedy), perplexity(method, Strategy::Tree))
            // Batches of another shape round otherwise.
            && tree > greedy * 1.001
        {
            bail!("{method:?}: perplexity {tree} by tree search, {greedy} greedily");
        }
    }
    println!("{} texts under the exact budget, all functions within {max_tokens} tokens", exact.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few rules of the paper's grammar, in other words; the file itself is not in the repository.
    const SOURCE: &str = r#"
        declaration: type NAME "(" (type NAME ("," type NAME)*)? ")" "{" statement* "}"
        statement: type NAME "=" sum ";" | NAME "=" sum ";" | "return" sum ";"
            | "for" "(" type? NAME "=" sum ";" sum ("<"|"<=") sum ";" NAME "=" sum ")" "{" statement* "}"
        type: "int" | "float" | "char" | "void"
        sum: atom (("+"|"-"|"*"|"/") atom)*
        atom: NAME | /[0-9]+/ | "(" sum ")" | NAME "(" (sum ("," sum)*)? ")" | "-" atom
        NAME: /[a-zA-Z_][a-zA-Z_0-9]*/
        WS: /[ \t\n]+/
        %ignore WS
    "#;
    const FUNCTION: &str =
        "int f(int n) { int s = 0; for (int i = 1; i <= n; i = i + 1) { s = s + i; } return s; }";

    fn tokenizer() -> Tokenizer {
        let mut tokens: Vec<Vec<u8>> = (0..=127u8).map(|byte| vec![byte]).collect();
        tokens
            .extend(["int ", "){", "return ", ";}", " = ", "(int ", ""].map(|text| text.as_bytes().to_vec()));
        Tokenizer::from_tokens(tokens, &[TokenId(134)]).unwrap()
    }

    #[test]
    fn the_grammar_for_the_estimate_reads_functions() {
        let tokenizer = tokenizer();
        let grammar = ll1_grammar().unwrap();
        assert!(TruncProof::new(grammar.clone(), tokenizer.vocabulary()).is_ok(), "it is LL(1)");
        let compiled =
            Compiler::new(&tokenizer).compile(&grammar.into(), &CompileOptions::default()).unwrap();
        let is_function = |text: &str| {
            let mut matcher = Matcher::new(&compiled);
            matcher.accept_bytes(text.as_bytes()).unwrap() && matcher.is_accepting()
        };
        for text in [
            FUNCTION,
            "void f(){}",
            " int f ( float a , char b ) { f(a, b-1) ; } ",
            "int f(){if(a<b){}else{return -(1*x(2))/y ;}}",
            "int f(){while(i!=0){ints=3;}}",
        ] {
            assert!(is_function(text), "{text}");
        }
        for text in ["", "intf(){}", "int int(){}", "int f(){returnx;}", "int f(){x;}", "int f(){if(a){}}"] {
            assert!(!is_function(text), "{text}");
        }
    }

    #[test]
    fn random_logits_end_in_time() {
        let grammars = Grammars::new(SOURCE, &tokenizer()).unwrap();
        let mut entries = Vec::new();
        for method in [Method::Unlimited, Method::Exact] {
            for seed in 0..20 {
                entries.push(grammars.random(method, seed, 40).unwrap());
            }
        }
        let mut model = RandomModel::new(135, 500, 7).with_scale(6.0);
        for strategy in [Strategy::Greedy, Strategy::Beam, Strategy::Tree] {
            entries.push(grammars.write(&mut model, &[TokenId(1)], Method::Exact, strategy, 40).unwrap());
        }
        entries.push(grammars.write(&mut model, &[TokenId(1)], Method::Free, Strategy::Greedy, 40).unwrap());
        verdict(&entries, 40).unwrap();
        let report = report(&entries);
        assert!(report.contains("Exact, random logits") && report.contains("Exact Tree: "), "{report}");
        let cut_off = Entry { is_finished: false, ..entries[20].clone() };
        assert!(verdict(&[cut_off], 40).is_err());
    }

    #[test]
    fn the_estimate_writes_functions_too() {
        let mut grammars = Grammars::new(SOURCE, &tokenizer()).unwrap();
        // Judged by its own grammar: the one above has fewer rules.
        grammars.lexed = Compiler::new(&grammars.tokenizer)
            .compile(&ll1_grammar().unwrap().into(), &CompileOptions::default())
            .unwrap();
        for seed in 0..5 {
            let entry = grammars.random(Method::Estimate, seed, 40).unwrap();
            assert!(entry.is_finished && entry.is_function && entry.n_tokens <= 40, "{entry:?}");
        }
    }
}
