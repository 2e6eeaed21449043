//! Canvases and templates of random small lexed grammars and vocabularies against exhaustive search.
//!
//! The reference splits a text into tokens as Lark's basic lexer does, terminal by terminal, and parses them. A
//! canvas is decided by trying all tokens at all masked positions; a template from both sides, as in `exhaustive`.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-infill --test lexed` runs the full campaign; without the variable
//! 200 cases of each kind run.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

mod common;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, GrammarBuilder, LexedGrammar, RuleId, TerminalId};
use maskwright_infill::{Canvas, CanvasConfig, Hole, InfillLimits, Infiller, Part, Template};
use maskwright_lexing::{Flags, LarkTerminal, Pattern, parse_python};
use maskwright_oracle::LexedOracle;
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use common::{arb_hole, checked, mask_of, tokens, write_hole};

const ALPHABET: &[u8] = b"ab. ";

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    ProptestConfig {
        cases,
        max_shrink_iters: 2_000,
        max_global_rejects: cases * 20,
        ..ProptestConfig::default()
    }
}

fn regexp(source: &str, priority: i32) -> LarkTerminal {
    LarkTerminal {
        name: String::new(),
        pattern: parse_python(source, Flags::default(), &Fuel::unlimited()).unwrap(),
        source_length: source.len(),
        string: None,
        flags: Flags::default(),
        priority,
    }
}

fn string(text: &str) -> LarkTerminal {
    LarkTerminal {
        string: Some(text.to_owned()),
        pattern: Pattern::literal(text.as_bytes()),
        source_length: text.len(),
        ..regexp("a", 0)
    }
}

/// A right-hand side.
#[derive(Clone, Debug)]
enum Rhs {
    Terminal(usize),
    Rule(usize),
    Seq(Vec<Rhs>),
    Alt(Vec<Rhs>),
    Repeat(Box<Rhs>, u32, Option<u32>),
}

impl Rhs {
    fn build(&self, builder: &mut GrammarBuilder, terminals: &[ExprId], rules: &[RuleId]) -> ExprId {
        let all = |parts: &[Rhs], builder: &mut GrammarBuilder| -> Vec<ExprId> {
            parts.iter().map(|part| part.build(builder, terminals, rules)).collect()
        };
        match self {
            Rhs::Terminal(index) => terminals[index % terminals.len()],
            Rhs::Rule(index) => builder.rule(rules[index % rules.len()]),
            Rhs::Seq(parts) => {
                let parts = all(parts, builder);
                builder.seq(&parts)
            }
            Rhs::Alt(parts) => {
                let parts = all(parts, builder);
                builder.alt(&parts)
            }
            Rhs::Repeat(inner, min, max) => {
                let inner = inner.build(builder, terminals, rules);
                builder.repeat(inner, *min, *max)
            }
        }
    }
}

/// The grammar of `rules` over `terminals` and, where there is one, an ignored terminal.
fn grammar(
    mut terminals: Vec<LarkTerminal>,
    ignored: Option<LarkTerminal>,
    rules: &[Rhs],
) -> LexedGrammar<LarkTerminal> {
    let n_read = terminals.len();
    terminals.extend(ignored);
    for (id, terminal) in terminals.iter_mut().enumerate() {
        // One character behind another tells the words for terminals apart.
        terminal.name = format!("{};", char::from(b'A' + id as u8));
    }
    let names: Vec<&String> = terminals.iter().map(|terminal| &terminal.name).collect();
    let mut builder = GrammarBuilder::new();
    let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &names);
    let rule_ids: Vec<RuleId> = (0..rules.len()).map(|index| builder.declare(format!("r{index}"))).collect();
    for (rule, &id) in rules.iter().zip(&rule_ids) {
        let body = rule.build(&mut builder, &ids[..n_read], &rule_ids);
        builder.define(id, body);
    }
    let ignored = (n_read..terminals.len()).map(TerminalId::from_index).collect();
    LexedGrammar { rules: builder.finish(rule_ids[0]).unwrap(), terminals, declared: Vec::new(), ignored }
}

fn arb_grammar() -> impl Strategy<Value = LexedGrammar<LarkTerminal>> {
    let strings = ["a", "b", "ab", "ba", "aa", "aab", "."];
    let regexps = [
        "a+",
        "[ab]+",
        "b+",
        "a+?",
        "a*b",
        "aa?",
        "a|ab",
        "ab|a",
        "a(?!b)",
        "b(?=a|$)",
        r"a+\.a+",
        "[a.]+b",
        r"\.[ab]*?\.",
        "(?<!a)b",
        "a{2,3}",
    ];
    let terminal = prop_oneof![
        select(strings.to_vec()).prop_map(string),
        (select(regexps.to_vec()), -1..2i32).prop_map(|(source, priority)| regexp(source, priority)),
    ];
    let ignored = select(vec![None, Some(" "), Some(" +"), Some(" a? "), Some(r"\.\.")]);
    let ignored = ignored.prop_map(|source| source.map(|source| regexp(source, 0)));
    (vec(terminal, 1..4), ignored, vec(arb_rule(), 1..=3))
        .prop_map(|(terminals, ignored, rules)| grammar(terminals, ignored, &rules))
}

fn arb_rule() -> impl Strategy<Value = Rhs> {
    let leaf = prop_oneof![4 => (0usize..4).prop_map(Rhs::Terminal), 1 => (0usize..3).prop_map(Rhs::Rule)];
    let body = leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..=3).prop_map(Rhs::Seq),
            2 => vec(inner.clone(), 2..=3).prop_map(Rhs::Alt),
            1 => (inner.clone(), 0..2u32).prop_map(|(inner, min)| Rhs::Repeat(Box::new(inner), min, None)),
            1 => (inner, 0..2u32).prop_map(|(inner, min)| Rhs::Repeat(Box::new(inner), min, Some(2))),
        ]
    });
    // A way out, so that few grammars are empty.
    (body, 0usize..4, any::<bool>()).prop_map(|(body, terminal, has_way_out)| {
        if has_way_out { Rhs::Alt(vec![body, Rhs::Terminal(terminal)]) } else { body }
    })
}

fn arb_tokens() -> impl Strategy<Value = Vec<String>> {
    vec("[ab. ]{1,4}", 1..6)
}

/// The tokens, then EOS and a token that is no text.
fn vocabulary(tokens: &[String]) -> Arc<Vocabulary> {
    let eos = tokens.len() as u32;
    let texts = tokens.iter().map(|token| Some(token.clone().into_bytes())).chain([None, None]).collect();
    Vocabulary::from_tokens(texts, &[eos], None).unwrap().shared()
}

fn infiller(
    grammar: &LexedGrammar<LarkTerminal>,
    vocabulary: &Arc<Vocabulary>,
    (merge_alike, narrow_first): (bool, bool),
) -> Option<Infiller> {
    let limits = InfillLimits { merge_alike, narrow_first, ..InfillLimits::default() };
    match Infiller::lexed(grammar, vocabulary.clone(), limits, &Fuel::unlimited()) {
        Ok(infiller) => Some(infiller),
        Err(error) => {
            assert!(error.to_string().contains("no text"), "{error}");
            None
        }
    }
}

/// The reference, with what it said.
struct Judge {
    oracle: LexedOracle,
    known: RefCell<HashMap<Vec<u8>, bool>>,
}

impl Judge {
    fn new(grammar: &LexedGrammar<LarkTerminal>) -> Judge {
        Judge { oracle: LexedOracle::new(grammar, None), known: RefCell::default() }
    }

    fn is_word(&self, text: &[u8]) -> bool {
        if let Some(&known) = self.known.borrow().get(text) {
            return known;
        }
        let is_word = self.oracle.is_word(text);
        self.known.borrow_mut().insert(text.to_vec(), is_word);
        is_word
    }

    /// All words over the alphabet up to a length, shortest first.
    fn words_up_to(&self, length: usize) -> Vec<Vec<u8>> {
        let mut texts = vec![Vec::new()];
        let mut begin = 0;
        for _ in 0..length {
            let end = texts.len();
            for index in begin..end {
                texts.extend(
                    ALPHABET
                        .iter()
                        .map(|&letter| [&texts[index][..], &[letter]].concat())
                        .collect::<Vec<_>>(),
                );
            }
            begin = end;
        }
        texts.retain(|text| self.is_word(text));
        texts
    }

    /// Whether a canvas that is full is one word, and EOS and padding behind it.
    fn is_full_word(&self, vocabulary: &Vocabulary, filled: &[TokenId], padding: Option<TokenId>) -> bool {
        let mut text = Vec::new();
        let mut rest = filled;
        while let [first, behind @ ..] = rest
            && let Some(bytes) = vocabulary.token_bytes(*first)
        {
            text.extend_from_slice(bytes);
            rest = behind;
        }
        let is_tail = match rest {
            [] => true,
            [first, behind @ ..] => {
                vocabulary.is_eos(*first)
                    && behind.iter().all(|&token| vocabulary.is_eos(token) || Some(token) == padding)
            }
        };
        is_tail && self.is_word(&text)
    }

    /// All ways to fill `positions`.
    fn fillings(
        &self,
        vocabulary: &Vocabulary,
        positions: &[Option<TokenId>],
        padding: Option<TokenId>,
    ) -> Vec<Vec<TokenId>> {
        let mut all: Vec<Vec<TokenId>> = vec![Vec::new()];
        for position in positions {
            let choices: Vec<TokenId> =
                position.map_or_else(|| tokens(vocabulary).collect(), |token| vec![token]);
            all = all
                .into_iter()
                .flat_map(|filled| choices.iter().map(move |&token| [&filled[..], &[token]].concat()))
                .collect();
        }
        all.retain(|filled| self.is_full_word(vocabulary, filled, padding));
        all
    }
}

/// What a canvas is made of: a word's tokens, any tokens, masks.
#[derive(Clone, Debug)]
struct CanvasCase {
    kinds: Vec<(u8, Index)>,
    has_padding: bool,
    sets: Vec<(Index, Index)>,
}

fn arb_canvas() -> impl Strategy<Value = CanvasCase> {
    let kind = prop_oneof![3 => Just(0u8), 3 => Just(1)];
    (vec((kind, any::<Index>()), 0..=4), any::<bool>(), vec((any::<Index>(), any::<Index>()), 0..3))
        .prop_map(|(kinds, has_padding, sets)| CanvasCase { kinds, has_padding, sets })
}

fn check_canvas(
    grammar: &LexedGrammar<LarkTerminal>,
    vocabulary: &Arc<Vocabulary>,
    case: &CanvasCase,
    options: (bool, bool),
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(grammar, vocabulary, options) else { return Ok(()) };
    let judge = Judge::new(grammar);
    let padding = case.has_padding.then(|| TokenId(vocabulary.n_vocab() as u32 - 1));
    // The known positions are those of one of the words, if there is one.
    let masked = vec![None; case.kinds.len().min(3)];
    let words = judge.fillings(vocabulary, &masked, padding);
    let any_token = |index: &Index| TokenId(index.index(vocabulary.n_vocab()) as u32);
    let word = case.kinds.first().filter(|_| !words.is_empty()).map(|(_, index)| index.get(&words).clone());
    let mut positions: Vec<Option<TokenId>> = case
        .kinds
        .iter()
        .enumerate()
        .map(|(at, (kind, index))| {
            let known = word.as_ref().and_then(|word| word.get(at).copied());
            (*kind == 1).then(|| known.unwrap_or_else(|| any_token(index)))
        })
        .collect();
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig { padding }).unwrap();
    let mut sets = case.sets.iter();
    loop {
        let fillings = judge.fillings(vocabulary, &positions, padding);
        prop_assert_eq!(canvas.is_possible().unwrap(), !fillings.is_empty(), "{:?}", positions);
        match canvas.complete().unwrap() {
            None => prop_assert!(fillings.is_empty()),
            Some(filled) => prop_assert!(fillings.contains(&filled), "{:?} gave {:?}", positions, filled),
        }
        let mut masks = Vec::new();
        for at in 0..positions.len() {
            let mut open = positions.clone();
            open[at] = None;
            let allowed: BTreeSet<TokenId> =
                judge.fillings(vocabulary, &open, padding).iter().map(|filled| filled[at]).collect();
            let expected: Vec<bool> = tokens(vocabulary).map(|token| allowed.contains(&token)).collect();
            let mask = mask_of(vocabulary, |mask| canvas.fill_bitmask(at, mask).unwrap());
            prop_assert_eq!(&mask, &expected, "position {} of {:?}", at, positions);
            masks.push(expected);
        }
        let Some((at, token)) = sets.next().filter(|_| !positions.is_empty()) else { return Ok(()) };
        let at = at.index(positions.len());
        let allowed: Vec<TokenId> = tokens(vocabulary).filter(|token| masks[at][token.index()]).collect();
        let token =
            if allowed.is_empty() || token.index(5) == 0 { any_token(token) } else { *token.get(&allowed) };
        let is_allowed = masks[at][token.index()];
        prop_assert_eq!(canvas.set(at, token).unwrap(), is_allowed);
        if is_allowed {
            prop_assert!(canvas.undo());
            prop_assert_eq!(canvas.positions(), &positions[..]);
            prop_assert!(canvas.set(at, token).unwrap());
            positions[at] = Some(token);
        }
        prop_assert_eq!(canvas.positions(), &positions[..]);
    }
}

/// Parts as cuts of a word, or of a text that is none.
#[derive(Clone, Debug)]
struct TemplateCase {
    word: Index,
    parts: Vec<(usize, Option<Hole>)>,
    noise: Option<String>,
    choices: Vec<Index>,
}

fn arb_template() -> impl Strategy<Value = TemplateCase> {
    let part = (0usize..3, proptest::option::weighted(0.55, arb_hole()));
    let noise = proptest::option::weighted(0.1, "[ab. ]{1,2}");
    (any::<Index>(), vec(part, 0..=4), noise, vec(any::<Index>(), 0..3))
        .prop_map(|(word, parts, noise, choices)| TemplateCase { word, parts, noise, choices })
}

fn check_template(
    grammar: &LexedGrammar<LarkTerminal>,
    vocabulary: &Arc<Vocabulary>,
    case: &TemplateCase,
    options: (bool, bool),
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(grammar, vocabulary, options) else { return Ok(()) };
    let judge = Judge::new(grammar);
    let words = judge.words_up_to(5);
    let text = if words.is_empty() { b"ab.".to_vec() } else { case.word.get(&words).clone() };
    let words: BTreeSet<Vec<u8>> = words.into_iter().collect();
    let mut at = 0;
    let mut parts = Vec::new();
    for &(n_bytes, hole) in &case.parts {
        let end = (at + n_bytes).min(text.len());
        parts.push(hole.map_or_else(|| Part::Text(text[at..end].to_vec()), Part::Hole));
        at = end;
    }
    parts.extend(case.noise.clone().map(|noise| Part::Text(noise.into_bytes())));
    let is_word = |text: &[u8]| judge.is_word(text);
    let is_possible = checked(&infiller, &is_word, &words, &parts)?;
    write_hole(&infiller, &is_word, &words, &parts, is_possible, &case.choices)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn canvases_equal_exhaustive_search(grammar in arb_grammar(), texts in arb_tokens(), case in arb_canvas(), options in any::<(bool, bool)>()) {
        check_canvas(&grammar, &vocabulary(&texts), &case, options)?;
    }

    #[test]
    fn templates_equal_the_definition(grammar in arb_grammar(), texts in arb_tokens(), case in arb_template(), options in any::<(bool, bool)>()) {
        check_template(&grammar, &vocabulary(&texts), &case, options)?;
    }
}

/// Tokens that make a word only where the lexer sees them apart.
#[test]
fn adjacency_is_part_of_the_language() {
    let two = [Rhs::Seq(vec![Rhs::Terminal(0), Rhs::Terminal(1)])];
    let named = grammar(vec![string("ab"), regexp("[ab]+", 0)], Some(regexp(" ", 0)), &two);
    let vocabulary = vocabulary(&["ab".to_owned(), "a".to_owned(), " ".to_owned()]);
    let infiller = infiller(&named, &vocabulary, (true, true)).unwrap();
    let canvas = |positions: &[Option<u32>]| {
        let positions: Vec<Option<TokenId>> = positions.iter().map(|id| id.map(TokenId)).collect();
        Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap().complete().unwrap()
    };
    assert_eq!(canvas(&[Some(0), Some(1)]), None, "`aba` is one name");
    let ids = |ids: [u32; 3]| Some(ids.map(TokenId).to_vec());
    assert_eq!(canvas(&[Some(0), None, Some(1)]), ids([0, 2, 1]), "the keyword, a blank, a name");
    let parts = vec![Part::Text(b"a".to_vec()), Part::Hole(Hole::Any), Part::Text(b"b".to_vec())];
    let text = Template::new(&infiller, parts).unwrap().complete().unwrap().unwrap();
    assert!(text.starts_with(b"ab "), "the keyword is begun by the first piece: {}", text.escape_ascii());
}

/// Within any text boundaries lead to each other, so what lies ahead of one is learned of another, whichever was made first.
#[test]
fn what_lies_ahead_goes_round_in_any_text() {
    let three = [Rhs::Seq(vec![Rhs::Terminal(0), Rhs::Terminal(0), Rhs::Terminal(0)])];
    let grammar = grammar(vec![regexp("a+", 0)], Some(regexp(" +", 0)), &three);
    for options in [(false, false), (true, true)] {
        let infiller = infiller(&grammar, &vocabulary(&["a".to_owned(), " ".to_owned()]), options).unwrap();
        let complete = |parts: Vec<Part>| Template::new(&infiller, parts).unwrap().complete().unwrap();
        let text = |text: &str| Part::Text(text.as_bytes().to_vec());
        let filled = complete(vec![Part::Hole(Hole::Any), text("a"), text(" "), text("a")]);
        let is_word =
            |text: &Vec<u8>| text.split(|&byte| byte == b' ').filter(|name| !name.is_empty()).count() == 3;
        assert!(filled.as_ref().is_some_and(is_word), "{filled:?}");
        assert_eq!(complete(vec![text("a a a"), Part::Hole(Hole::Any), text(" a")]), None);
    }
}

/// Terminals that are made between lexer and parser.
#[test]
fn indentation_is_refused() {
    let mut grammar = grammar(vec![regexp("a", 0)], None, &[Rhs::Terminal(0)]);
    grammar.declared.push("_INDENT".to_owned());
    let error =
        Infiller::lexed(&grammar, vocabulary(&[]), Default::default(), &Fuel::unlimited()).unwrap_err();
    assert!(error.to_string().contains("`_INDENT`"), "{error}");
}

/// A vocabulary of all printable characters, some words and some tokens of several terminals.
fn code_vocabulary() -> Arc<Vocabulary> {
    let mut texts: Vec<String> = (b' '..=b'~').map(|byte| char::from(byte).to_string()).collect();
    let words =
        ["\n", "int", " int", " x", "();", ") {", " return", ";\n", "}\n", "/*", "*/", " =", " +", "1"];
    texts.extend(words.map(str::to_owned));
    vocabulary(&texts)
}

/// The tokens of a text, each the longest that fits.
fn longest_tokens(vocabulary: &Vocabulary, mut text: &str) -> Vec<TokenId> {
    let mut all = Vec::new();
    while !text.is_empty() {
        let fits = |token: &TokenId| {
            vocabulary.token_bytes(*token).is_some_and(|bytes| text.as_bytes().starts_with(bytes))
        };
        let length = |token: &TokenId| vocabulary.token_bytes(*token).map_or(0, <[u8]>::len);
        let token = tokens(vocabulary).filter(fits).max_by_key(length).unwrap();
        text = &text[length(&token)..];
        all.push(token);
    }
    all
}

fn cpp() -> LexedGrammar<LarkTerminal> {
    let known = maskwright_lark::builtin("cpp").unwrap();
    let config = maskwright_lark::LarkConfig { lexer: known.lexer, ..maskwright_lark::LarkConfig::default() };
    maskwright_lark::parse_lark(known.text, "cpp", &config, &Fuel::unlimited()).unwrap().lexed
}

/// Canvases made of a program are possible, and its tokens are in every mask.
#[test]
fn canvases_of_a_program() {
    let vocabulary = code_vocabulary();
    let infiller = infiller(&cpp(), &vocabulary, (true, true)).unwrap();
    let program = longest_tokens(&vocabulary, "int f(int x) {\n int y = x + 1;\n return y;\n}\n");
    for period in [2, 3, 5] {
        let masked = |at: usize| !at.is_multiple_of(period);
        let positions: Vec<Option<TokenId>> =
            program.iter().enumerate().map(|(at, &token)| (!masked(at)).then_some(token)).collect();
        let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
        assert!(canvas.is_possible().unwrap(), "every {period}th known");
        let filled = canvas.complete().unwrap().unwrap();
        let all: Vec<Option<TokenId>> = filled.iter().copied().map(Some).collect();
        assert!(Canvas::new(&infiller, &all, CanvasConfig::default()).unwrap().is_possible().unwrap());
        for at in (0..program.len()).filter(|&at| masked(at)).step_by(3) {
            let mask = mask_of(&vocabulary, |mask| canvas.fill_bitmask(at, mask).unwrap());
            assert!(mask[program[at].index()], "position {at} with every {period}th known");
            assert!(canvas.set(at, program[at]).unwrap());
        }
    }
}

/// What is known can be wrong however much is masked around it.
#[test]
fn a_broken_canvas_is_impossible() {
    let vocabulary = code_vocabulary();
    let infiller = infiller(&cpp(), &vocabulary, (true, true)).unwrap();
    let canvas = |texts: &[Option<&str>]| {
        let positions: Vec<Option<TokenId>> = texts
            .iter()
            .flat_map(|text| {
                text.map_or(vec![None], |text| {
                    longest_tokens(&vocabulary, text).into_iter().map(Some).collect()
                })
            })
            .collect();
        Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap().is_possible().unwrap()
    };
    assert!(canvas(&[Some("int f() { return ("), None, None, Some(") + 1; }\n")]));
    assert!(!canvas(&[Some("int f() { return ) "), None, None, Some("; }\n")]));
    assert!(!canvas(&[Some("int f() { return return x"), None, None, None, Some("; }\n")]));
}

/// As many positions as a model may have.
#[test]
fn canvases_of_thousands_of_positions() {
    let vocabulary = code_vocabulary();
    let infiller = infiller(&cpp(), &vocabulary, (true, true)).unwrap();
    let mut positions = vec![None; 4096];
    let last = longest_tokens(&vocabulary, "}")[0];
    positions[4095] = Some(last);
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
    assert!(canvas.is_possible().unwrap());
    assert_eq!(canvas.complete().unwrap().map(|filled| (filled.len(), filled[4095])), Some((4096, last)));
}
