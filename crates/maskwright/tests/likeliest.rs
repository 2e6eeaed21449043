//! The likeliest text is the one that enumeration finds: never invalid, never better, as good where the
//! status says exact.
//!
//! `PROPTEST_CASES=2000 cargo test --release -p maskwright --test likeliest` runs the full campaign; without
//! the variable 100 cases of each kind run.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::cell::Cell;
use std::sync::Arc;

use maskwright::infill::CanvasConfig;
use maskwright::json_schema::{PropertyOrder, SchemaConfig, Whitespace};
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{
    Canvas, CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Likeliest, LikeliestConfig,
    LikeliestStatus, Matcher, MatcherConfig, PositionScores, TokenId, Tokenizer, Vocabulary,
};
use maskwright_automata::Fuel;
use maskwright_engine::{EngineGrammar, Limits};
use maskwright_oracle::{arb_grammar, arb_vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

/// What a model says, and what is asked.
#[derive(Clone, Debug)]
struct Case {
    /// Choices among the allowed tokens, for the text before.
    choices: Vec<Index>,
    /// By position and token.
    logits: Vec<Vec<f32>>,
    /// How many candidates are given instead of the logits, and whether the logits are given too.
    candidates: Option<(usize, bool)>,
    beam: usize,
    /// Tokens beyond the positions, or fewer.
    max_tokens: Option<i32>,
    /// The limit of the session, beyond what was read.
    limit: Option<usize>,
    padding: Option<u32>,
}

fn arb_case(n_vocab: usize, max_positions: usize) -> impl Strategy<Value = Case> {
    // Small integers tie; a forbidden token now and then; and numbers that never tie.
    let coarse = prop_oneof![9 => (-3i8..4).prop_map(f32::from), 1 => Just(f32::NEG_INFINITY)];
    let fine = -6.0f32..6.0;
    let row = prop_oneof![vec(coarse, n_vocab), vec(fine.clone(), n_vocab), vec(fine, n_vocab + 3)];
    (
        vec(any::<Index>(), 0..6),
        vec(row, 1..=max_positions),
        proptest::option::weighted(0.3, (1usize..6, any::<bool>())),
        prop_oneof![1 => Just(1usize), 1 => Just(2), 4 => Just(32)],
        proptest::option::of(-2i32..5),
        proptest::option::weighted(0.2, 2usize..9),
        proptest::option::weighted(0.3, 0..n_vocab as u32),
    )
        .prop_map(|(choices, logits, candidates, beam, max_tokens, limit, padding)| Case {
            choices,
            logits,
            candidates,
            beam,
            max_tokens,
            limit,
            padding,
        })
}

/// How much a token that the model forbids counts.
const FORBIDDEN: f64 = -1e9;

/// The logarithms of probabilities.
fn normalized(logits: &[f32]) -> Vec<f64> {
    let sum: f64 = logits.iter().map(|&logit| f64::from(logit).exp()).sum();
    logits.iter().map(|&logit| (f64::from(logit) - sum.ln()).max(FORBIDDEN)).collect()
}

/// The best score of all texts of one token for each row, by trying every token; and whether the limits on
/// work left something open.
struct Reference<'a> {
    rows: &'a [Vec<f64>],
    vocabulary: &'a Vocabulary,
    /// All tokens that the text may have.
    max_tokens: usize,
    may_go_on: bool,
    padding: TokenId,
    best: Option<f64>,
}

impl Reference<'_> {
    fn search(&mut self, matcher: &Matcher, position: usize, score: f64) -> Result<(), Error> {
        let Some(row) = self.rows.get(position) else {
            let fits = matcher.is_terminated()
                || self.may_go_on && {
                    let left = matcher.tokens_to_finish()?;
                    position + left.n_tokens <= self.max_tokens
                };
            if fits {
                self.best = Some(self.best.map_or(score, |best| best.max(score)));
            }
            return Ok(());
        };
        if matcher.is_terminated() {
            return self.search(matcher, position + 1, score + row[self.padding.index()]);
        }
        for (id, &own) in row.iter().take(self.vocabulary.n_vocab()).enumerate() {
            let mut next = matcher.fork();
            if position < self.max_tokens && next.accept_token(TokenId(id as u32))? {
                self.search(&next, position + 1, score + own)?;
            }
        }
        Ok(())
    }
}

/// What cases came to.
#[derive(Default)]
struct Counts {
    exact: Cell<u32>,
    bound: Cell<u32>,
    none: Cell<u32>,
    undecided: Cell<u32>,
}

fn count(count: &Cell<u32>) {
    count.set(count.get() + 1);
}

fn check(
    grammar: &Arc<EngineGrammar>,
    again: &Arc<EngineGrammar>,
    case: &Case,
    counts: &Counts,
) -> Result<(), TestCaseError> {
    let vocabulary = grammar.vocabulary();
    let eos = vocabulary.eos_token_ids()[0];
    let mut tokens = Vec::new();
    let mut matcher = Matcher::new(grammar);
    for choice in &case.choices {
        let allowed: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
        // No tokens may spell any text.
        let Some(&token) = allowed.get(choice.index(allowed.len().max(1))) else { break };
        if vocabulary.is_eos(token) || !matcher.accept_token(token).unwrap() {
            break;
        }
        tokens.push(token);
    }
    let n_positions = case.logits.len();
    let limit = case.limit.map(|limit| tokens.len() + limit);
    let max_tokens = case.max_tokens.map(|more| (n_positions as i32 + more).max(0) as usize);
    let padding = case.padding.map(TokenId);
    let mut config = LikeliestConfig::default();
    (config.beam, config.max_tokens, config.padding) = (case.beam, max_tokens, padding);
    let rows: Vec<Vec<f64>> = case.logits.iter().map(|logits| normalized(logits)).collect();
    let candidates: Vec<(Vec<u32>, Vec<f32>)> = rows
        .iter()
        .map(|row| {
            let mut ids: Vec<u32> = (0..row.len() as u32).collect();
            ids.sort_by(|&a, &b| row[b as usize].total_cmp(&row[a as usize]));
            ids.truncate(case.candidates.map_or(0, |(n_candidates, _)| n_candidates));
            let scores = ids.iter().map(|&id| row[id as usize] as f32).collect();
            (ids, scores)
        })
        .collect();
    let positions: Vec<PositionScores<'_>> = match case.candidates {
        None => case.logits.iter().map(|logits| PositionScores::Logits(logits)).collect(),
        Some((_, with_logits)) => candidates
            .iter()
            .zip(&case.logits)
            .map(|((ids, log_probabilities), logits)| PositionScores::Candidates {
                ids,
                log_probabilities,
                logits: with_logits.then_some(&logits[..]),
            })
            .collect(),
    };
    let ask = |grammar: &Arc<EngineGrammar>| -> Result<Option<Likeliest>, Error> {
        let mut matcher = match Matcher::with_config(grammar, &MatcherConfig::with_max_tokens(limit)) {
            Ok(matcher) => matcher,
            Err(_) => return Ok(None),
        };
        if matcher.accept_tokens(&tokens)? < tokens.len() {
            return Ok(None);
        }
        match matcher.likeliest(&positions, &config) {
            Ok(found) => Ok(Some(found)),
            Err(error) if !error.is_limit() => Ok(None),
            Err(error) => Err(error),
        }
    };
    let (found, in_another) = (ask(grammar), ask(again));
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            prop_assert_eq!(error.to_string(), in_another.unwrap_err().to_string());
            count(&counts.undecided);
            return Ok(());
        }
    };
    prop_assert_eq!(&in_another.unwrap(), &found, "the same in a grammar that knows other texts");
    let own_limit = limit.map_or(usize::MAX, |limit| limit.saturating_sub(tokens.len()));
    let asked = max_tokens.unwrap_or(n_positions).min(own_limit);
    let mut reference = Reference {
        rows: &rows,
        vocabulary,
        max_tokens: asked,
        may_go_on: max_tokens.is_some() && asked > n_positions,
        padding: padding.unwrap_or(eos),
        best: None,
    };
    let mut from = Matcher::new(grammar);
    from.accept_tokens(&tokens).unwrap();
    reference.search(&from, 0, 0.0).map_err(|error| TestCaseError::reject(error.to_string()))?;
    let Some(found) = found else {
        // A session's own limit may refuse the text before, and a text of few tokens may not be known.
        let is_known = from.tokens_to_finish().is_ok_and(|needed| needed.n_tokens <= n_positions.min(asked));
        prop_assert!(reference.best.is_none() || !is_known || limit.is_some(), "no text was found");
        count(&counts.none);
        return Ok(());
    };
    let Some(best) = reference.best else {
        return Err(TestCaseError::fail(format!("{:?} does not fit", found.token_ids)));
    };
    // The text can be read, and nothing but padding follows its end.
    prop_assert_eq!(found.token_ids.len(), n_positions);
    let n_read = from.accept_tokens(&found.token_ids[..found.n_tokens]).unwrap();
    prop_assert_eq!(n_read, found.n_tokens);
    prop_assert_eq!(from.is_terminated(), found.is_complete);
    prop_assert!(found.is_complete || reference.may_go_on && found.n_tokens == n_positions);
    prop_assert!(found.token_ids[found.n_tokens..].iter().all(|&id| id == reference.padding));
    let score: f64 = found.token_ids.iter().zip(&rows).map(|(id, row)| row[id.index()]).sum();
    prop_assert!(score <= best + 1e-4, "{score} is better than {best}");
    let own = if score < FORBIDDEN / 2.0 { f64::NEG_INFINITY } else { score };
    prop_assert!(
        (found.log_probability - own).abs() < 1e-4
            || found.log_probability == own
            || found.log_probability > own && found.status == LikeliestStatus::Bound,
        "{} for {own}",
        found.log_probability
    );
    match found.status {
        LikeliestStatus::Exact => {
            prop_assert!(
                score >= best - 1e-4 * (1.0 + f64::from(score < FORBIDDEN / 2.0) * 1e6),
                "{score} instead of {best}, {:?}",
                found
            );
            count(&counts.exact);
        }
        LikeliestStatus::Bound => count(&counts.bound),
    }
    Ok(())
}

/// The best score of all ways to fill a canvas, by trying every token.
struct CanvasReference<'a> {
    known: &'a [Option<TokenId>],
    rows: &'a [Vec<f64>],
    eos: TokenId,
    padding: TokenId,
    best: Option<f64>,
}

impl CanvasReference<'_> {
    fn search(&mut self, matcher: &Matcher, position: usize, score: f64) -> Result<(), Error> {
        if position == self.rows.len() {
            if matcher.is_accepting() {
                self.best = Some(self.best.map_or(score, |best| best.max(score)));
            }
            return Ok(());
        }
        for id in (0..self.rows[position].len() as u32).map(TokenId) {
            let known = self.known[position];
            let may_follow = matcher.is_terminated() && [self.eos, self.padding].contains(&id);
            let mut next = matcher.fork();
            if known.is_none_or(|known| known == id) && (may_follow || next.accept_token(id)?) {
                let own = if known.is_some() { 0.0 } else { self.rows[position][id.index()] };
                self.search(&next, position + 1, score + own)?;
            }
        }
        Ok(())
    }
}

/// The tokens of a canvas: the position, and a choice among all tokens or none.
type Fixed = (Index, Index);

fn check_canvas(
    grammar: &Arc<CompiledGrammar>,
    case: &Case,
    fixed: &[Fixed],
    counts: &Counts,
) -> Result<(), TestCaseError> {
    let vocabulary = grammar.vocabulary();
    let n_vocab = vocabulary.n_vocab();
    let (padding, eos) = (TokenId(n_vocab as u32 - 2), TokenId(n_vocab as u32 - 1));
    let logits: Vec<&[f32]> = case.logits.iter().map(|logits| &logits[..n_vocab]).collect();
    let rows: Vec<Vec<f64>> = logits.iter().map(|logits| normalized(logits)).collect();
    let mut known = vec![None; rows.len()];
    for (position, id) in fixed {
        known[position.index(rows.len())] = Some(TokenId(id.index(n_vocab) as u32));
    }
    let infiller = grammar.infiller(&CompileOptions::default()).unwrap();
    let mut canvas = Canvas::new(&infiller, &known, CanvasConfig::with_padding(Some(padding))).unwrap();
    let mut reference = CanvasReference { known: &known, rows: &rows, eos, padding, best: None };
    reference
        .search(&Matcher::new(grammar), 0, 0.0)
        .map_err(|error| TestCaseError::reject(error.to_string()))?;
    let positions: Vec<PositionScores<'_>> =
        logits.iter().map(|logits| PositionScores::Logits(logits)).collect();
    let found = match (canvas.likeliest(&positions, case.beam), reference.best) {
        (Ok(found), Some(_)) => found,
        (Err(error), best) => {
            prop_assert!(best.is_none() || error.is_limit(), "{error}");
            count(&counts.none);
            return Ok(());
        }
        (Ok(found), None) => return Err(TestCaseError::fail(format!("{found:?} fits nothing"))),
    };
    let best = reference.best.unwrap();
    let score = |ids: &[TokenId]| -> f64 {
        let masked = ids.iter().zip(&rows).zip(&known).filter(|(_, known)| known.is_none());
        masked.map(|((id, row), _)| row[id.index()]).sum()
    };
    let all_kept =
        found.token_ids.iter().zip(&known).all(|(id, known)| known.is_none_or(|known| known == *id));
    prop_assert!(all_kept && found.token_ids.len() == rows.len());
    // The canvas itself can be filled so.
    let ids: Vec<Option<TokenId>> = found.token_ids.iter().copied().map(Some).collect();
    let mut filled = Canvas::new(&infiller, &ids, CanvasConfig::with_padding(Some(padding))).unwrap();
    prop_assert!(filled.is_possible().unwrap(), "{:?} is no filling", found.token_ids);
    let own = score(&found.token_ids);
    let room = 1e-4 * (1.0 + own.abs() * 1e-6);
    prop_assert!(own <= best + room, "{own} is better than {best}");
    if let Ok(Some(witness)) = canvas.complete() {
        prop_assert!(own >= score(&witness) - room, "{own} is worse than the witness");
    }
    match found.status {
        LikeliestStatus::Exact => {
            prop_assert!(own >= best - room, "{own} instead of {best}");
            count(&counts.exact);
        }
        LikeliestStatus::Bound => count(&counts.bound),
    }
    Ok(())
}

#[test]
fn canvases() {
    let tokens = ["[", "]", "a", "b", ",", "ab", "1", "[a", "a,", "<|pad|>", "</s>"];
    let bytes: Vec<Vec<u8>> = tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
    let tokenizer = Tokenizer::from_tokens_with_special(bytes, &[TokenId(10)], &[TokenId(9)]).unwrap();
    let sources = [
        GrammarSource::regex("[ab1]{2,4}(,[ab]{1,3})*]?"),
        GrammarSource::gbnf(
            "root ::= \"[\" list \"]\"\nlist ::= item (\",\" item)*\nitem ::= [ab]+ | \"[\" list \"]\"",
        ),
        GrammarSource::lark("start: \"[\" [A (\",\" A)*] \"]\" | A\nA: /[ab]+/", LarkOptions::default()),
    ];
    let compiled =
        sources.map(|source| Compiler::new(&tokenizer).compile(&source, &CompileOptions::default()).unwrap());
    let strategy = (any::<Index>(), arb_case(tokens.len(), 5), vec(any::<Fixed>(), 0..3));
    run(strategy, 0.4, |(grammar, case, fixed), counts| {
        check_canvas(grammar.get(&compiled), &case, &fixed, counts)
    });
}

fn cases() -> u32 {
    maskwright_oracle::cases(100)
}

fn run<T: std::fmt::Debug>(
    strategy: impl Strategy<Value = T>,
    least_exact: f64,
    judge: impl Fn(T, &Counts) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig {
        cases: cases(),
        max_shrink_iters: 300,
        max_global_rejects: 100 * cases(),
        ..ProptestConfig::default()
    };
    let counts = Counts::default();
    let judge = |case| {
        let n_none = counts.none.get();
        judge(case, &counts)?;
        // What has no text was checked, and is replaced by another case.
        if counts.none.get() > n_none { Err(TestCaseError::reject("no text")) } else { Ok(()) }
    };
    TestRunner::new(config).run(&strategy, judge).unwrap();
    let Counts { exact, bound, none, undecided } = &counts;
    let (none, undecided) = (none.get(), undecided.get());
    assert!(undecided <= cases() / 20, "{undecided} undecided");
    let share = f64::from(exact.get()) / f64::from(exact.get() + bound.get()).max(1.0);
    assert!(
        exact.get() + bound.get() > cases() / 3 && share >= least_exact,
        "{} exact answers, {} bounds, {none} cases without a text",
        exact.get(),
        bound.get()
    );
}

/// Grammars over the same tokens, of which the last ends a text.
fn campaign(sources: &[GrammarSource], tokens: &[&str], least_exact: f64) {
    let bytes: Vec<Vec<u8>> = tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
    let special: Vec<TokenId> = tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.starts_with("<|"))
        .map(|(id, _)| TokenId(id as u32))
        .collect();
    let n_vocab = tokens.len();
    let tokenizer =
        Tokenizer::from_tokens_with_special(bytes, &[TokenId(n_vocab as u32 - 1)], &special).unwrap();
    let compile = |source: &GrammarSource| {
        Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).unwrap()
    };
    let shared: Vec<_> = sources.iter().map(compile).collect();
    run(
        (any::<Index>(), arb_case(n_vocab, if n_vocab > 20 { 3 } else { 4 })),
        least_exact,
        |(source, case), counts| {
            let source = source.index(sources.len());
            check(&compile(&sources[source]), &shared[source], &case, counts)
        },
    );
}

const JSON_TOKENS: &[&str] = &[
    "[", "]", "{", "}", "\"a\"", "\"", "a", "b\"", ",", "{\"a\":", "\"b\":1", ",\"a\":1", "1", " ", "b",
    "1]", "]]", ":", "</s>",
];

const LEXED_TOKENS: &[&str] = &[
    "x", "1", "11", "+", "x+", "(", ")", "))", " ", "\n", "\n ", "if", "f", "i", "x:\n ", ";", "x)", "=",
    "\"", "x\n", "=x", "if(", "):\n  x=", ":", "</s>",
];

#[test]
fn random_grammars() {
    let strategy = (arb_grammar(), arb_vocabulary()).prop_flat_map(|(grammar, vocabulary)| {
        let n_vocab = vocabulary.n_vocab();
        (Just(grammar), Just(vocabulary), arb_case(n_vocab, 4))
    });
    run(strategy, 0.3, |(grammar, vocabulary, case), counts| {
        if vocabulary.eos_token_ids().is_empty() {
            return Ok(());
        }
        let compile = || {
            let limits = Limits { max_calls: 5_000, ..Limits::default() };
            maskwright_engine::Compiler::new(vocabulary.clone(), limits)
                .compile(grammar.clone(), &Fuel::unlimited())
        };
        match (compile(), compile()) {
            (Ok(grammar), Ok(again)) => check(&grammar, &again, &case, counts),
            _ => Ok(()),
        }
    });
}

#[test]
fn regular_expressions_are_exact() {
    let patterns =
        ["[ab1]{2,4}(,[ab]{1,3})*]?", r#"\[("a"|1|11)(,("a"|1))*\]"#, r#"\{"a":[ab1]{0,9}\}"#, "(a|b)*1"];
    campaign(&patterns.map(GrammarSource::regex), JSON_TOKENS, 0.6);
}

#[test]
fn gbnf() {
    let grammars = [
        "root ::= \"[\" list \"]\"\nlist ::= item (\",\" item)*\nitem ::= [0-9]+ | \"[\" list \"]\"",
        "root ::= s\ns ::= \"a\" | \"b\" s s | \"[\" s \"]\" s",
        "root ::= [ab1]{2,9} (\",\" [ab]{3})* \"]\"?",
    ];
    campaign(&grammars.map(GrammarSource::gbnf), JSON_TOKENS, 0.4);
}

#[test]
fn json_schemas() {
    let mut config = SchemaConfig::default();
    config.whitespace = Whitespace::Compact;
    let mut any_order = config;
    any_order.property_order = PropertyOrder::Any;
    let keys = r#"{"type": "object", "properties": {"a": {"const": 1}, "b": {}}, "required": ["a"], "additionalProperties": false}"#;
    let schemas = [
        (keys, config),
        (keys, any_order),
        (r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, 11]}}"#, config),
        (r#"{"type": "array", "items": {"type": ["integer", "string"], "maximum": 11}}"#, config),
        (r#"{"type": "object", "additionalProperties": {"const": 1}, "minProperties": 1}"#, config),
    ];
    campaign(&schemas.map(|(schema, config)| GrammarSource::json_schema(schema, config)), JSON_TOKENS, 0.4);
}

fn lexed(lexer: LexerKind) {
    let grammars = [
        r#"
start: sum (";" sum)*
sum: item ("+" item)*
item: NAME | NUMBER | "(" sum ")" | "if" "(" sum ")" item
NAME: /[a-z]+/
NUMBER: /1+/
%ignore " "
"#,
        r#"
start: A A B | "(" start ")"
A: "x"
B: "xx"
%ignore " "
"#,
    ];
    let mut options = LarkOptions::default();
    options.lexer = lexer;
    campaign(&grammars.map(|grammar| GrammarSource::lark(grammar, options.clone())), LEXED_TOKENS, 0.3);
}

#[test]
fn a_basic_lexer() {
    lexed(LexerKind::Basic);
}

#[test]
fn a_contextual_lexer() {
    lexed(LexerKind::Contextual);
}

#[test]
fn without_a_lexer() {
    lexed(LexerKind::DynamicComplete);
}

#[test]
fn indentation() {
    let grammar = r#"
start: (_NL | line)*
line: NAME "=" sum _NL | "if" sum ":" _NL _INDENT line+ _DEDENT
sum: NAME ("+" NAME)* | LPAR sum RPAR
NAME: /(?!if\b)[a-z]+/
_NL: /(\n *)+/
LPAR: "("
RPAR: ")"
%declare _INDENT _DEDENT
%ignore / +/
"#;
    // With the contextual lexer, counts of tokens are upper bounds, so it is often open whether a text fits.
    for (lexer, least_exact) in [(LexerKind::Basic, 0.3), (LexerKind::Contextual, 0.05)] {
        let mut options = LarkOptions::default();
        options.lexer = lexer;
        options.indentation = Some(Indentation::python());
        campaign(&[GrammarSource::lark(grammar, options)], LEXED_TOKENS, least_exact);
    }
}

#[test]
fn named_tokens() {
    let tokens = ["a", "b", "<", "think>", "<|sep|>", "<|end|>", "<think>", "ab", "</s>"];
    let grammars = ["root ::= <think> [b]+ <|end|> \"a\"", "root ::= [ab]* (<[4]> [ab]* | <|end|>)"];
    campaign(&grammars.map(GrammarSource::gbnf), &tokens, 0.3);
}

/// A grammar over these tokens; the last one ends a text if `has_end`. Tokens in `<|…|>` are no text.
fn small(tokens: &[&str], has_end: bool, source: &GrammarSource) -> Arc<CompiledGrammar> {
    let bytes = tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
    let special = tokens.iter().enumerate().filter(|(_, token)| token.starts_with("<|"));
    let special: Vec<TokenId> = special.map(|(id, _)| TokenId(id as u32)).collect();
    let eos = [TokenId(tokens.len() as u32 - 1)];
    let tokenizer =
        Tokenizer::from_tokens_with_special(bytes, if has_end { &eos } else { &[] }, &special).unwrap();
    Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).unwrap()
}

/// A table that was made from the beginning knows no tokens that begin where bytes ended.
#[test]
fn after_bytes_within_a_token() {
    let grammar = small(&["abc", "bc", "c", "</s>"], true, &GrammarSource::regex("a(bc)?|abc"));
    let logits = [[0.0, 5.0, 0.0, 0.0], [0.0, 0.0, 0.0, 5.0]];
    let positions = logits.each_ref().map(|logits| PositionScores::Logits(logits));
    let config = LikeliestConfig::default();
    let first = Matcher::new(&grammar).likeliest(&positions, &config).unwrap();
    assert_eq!(first.token_ids, [0, 3].map(TokenId));
    let mut matcher = Matcher::new(&grammar);
    assert!(matcher.accept_bytes(b"a").unwrap());
    let found = matcher.likeliest(&positions, &config).unwrap();
    assert_eq!((found.token_ids, found.status), ([1, 3].map(TokenId).to_vec(), LikeliestStatus::Exact));
}

/// Where the vocabulary has no end-of-sequence token, the end of a text takes none.
#[test]
fn without_an_end_of_sequence_token() {
    for source in [GrammarSource::regex("ab"), GrammarSource::gbnf("root ::= \"ab\" | \"a\" root \"b\"")] {
        let grammar = small(&["a", "b", "<|pad|>"], false, &source);
        let logits = [[0.0f32; 3]; 3];
        let positions = logits.each_ref().map(|logits| PositionScores::Logits(logits));
        let config = |max_tokens, padding| {
            let mut config = LikeliestConfig::default();
            (config.max_tokens, config.padding) = (max_tokens, padding);
            config
        };
        let ask =
            |n: usize, config: &LikeliestConfig| Matcher::new(&grammar).likeliest(&positions[..n], config);
        let padded = ask(3, &config(Some(2), Some(TokenId(2)))).unwrap();
        assert_eq!((padded.token_ids, padded.is_complete), ([0, 1, 2].map(TokenId).to_vec(), true));
        let whole = ask(2, &config(None, None)).unwrap();
        assert_eq!((whole.token_ids, whole.is_complete), ([0, 1].map(TokenId).to_vec(), true));
        let part = ask(1, &config(Some(2), None)).unwrap();
        assert_eq!((part.token_ids, part.is_complete), (vec![TokenId(0)], false));
        assert!(ask(1, &config(None, None)).is_err());
    }
}
