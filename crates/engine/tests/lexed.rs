//! Lexed grammars against the definition: which texts are words, which are prefixes of words, which masks.
//!
//! All texts over a small alphabet up to some length are judged by the reference. Every prefix of a word must
//! be readable; the end is allowed after words only; and where the engine can go on, a completion is looked
//! for byte by byte and judged by the reference, so that nothing leads to a dead end.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{
    Compiler, EngineGrammar, ErrorKind, Layout, Limits, MaskStatus, Matcher, MatcherConfig, Options,
};
use maskwright_grammar::{ExprId, GrammarBuilder, LexedGrammar, RuleId, Tabs, TerminalId};
use maskwright_lexing::{Flags, LarkTerminal, Pattern, ignored_keywords, parse_python};
use maskwright_oracle::LexedOracle;
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;
use proptest::sample::select;

/// The most texts that one look for a completion visits.
const MAX_VISITED: usize = 300;

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

use Rhs::{Alt, Repeat, Rule, Seq, Terminal};

fn star(inner: Rhs) -> Rhs {
    Repeat(Box::new(inner), 0, None)
}

fn optional(inner: Rhs) -> Rhs {
    Repeat(Box::new(inner), 0, Some(1))
}

impl Rhs {
    fn build(&self, builder: &mut GrammarBuilder, terminals: &[ExprId], rules: &[RuleId]) -> ExprId {
        let all = |parts: &[Rhs], builder: &mut GrammarBuilder| -> Vec<ExprId> {
            parts.iter().map(|part| part.build(builder, terminals, rules)).collect()
        };
        match self {
            Terminal(index) => terminals[index % terminals.len()],
            Rule(index) => builder.rule(rules[index % rules.len()]),
            Seq(parts) => {
                let parts = all(parts, builder);
                builder.seq(&parts)
            }
            Alt(parts) => {
                let parts = all(parts, builder);
                builder.alt(&parts)
            }
            Repeat(inner, min, max) => {
                let inner = inner.build(builder, terminals, rules);
                builder.repeat(inner, *min, *max)
            }
        }
    }
}

fn grammar(
    mut terminals: Vec<LarkTerminal>,
    declared: &[&str],
    ignored: &[usize],
    rules: &[Rhs],
) -> LexedGrammar<LarkTerminal> {
    for (id, terminal) in terminals.iter_mut().enumerate() {
        // One character behind another tells the words for terminals apart.
        terminal.name = format!("{};", char::from(b'A' + id as u8));
    }
    let declared: Vec<String> = declared.iter().map(|name| format!("{name};")).collect();
    let names: Vec<&String> = terminals.iter().map(|terminal| &terminal.name).chain(&declared).collect();
    let mut builder = GrammarBuilder::new();
    let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &names);
    let rule_ids: Vec<RuleId> = (0..rules.len()).map(|index| builder.declare(format!("r{index}"))).collect();
    for (rule, &id) in rules.iter().zip(&rule_ids) {
        let body = rule.build(&mut builder, &ids, &rule_ids);
        builder.define(id, body);
    }
    let ignored = ignored.iter().map(|&index| TerminalId::from_index(index)).collect();
    LexedGrammar { rules: builder.finish(rule_ids[0]).unwrap(), terminals, declared, ignored }
}

/// The same grammar with two terminals for each ignored string that may be a keyword too. Rules have the
/// keyword, but of the contextual discipline the ignored one, which they never get.
fn with_ignored_keywords(
    lexing: Lexing,
    mut grammar: LexedGrammar<LarkTerminal>,
) -> LexedGrammar<LarkTerminal> {
    let ignored = grammar.ignored.iter().map(|id| id.index() as u32).collect();
    for keyword in ignored_keywords(&grammar.terminals, &ignored, &Fuel::unlimited()).unwrap() {
        let last = TerminalId::from_index(grammar.terminals.len());
        assert!(grammar.declared.is_empty(), "declared terminals would be others");
        grammar.terminals.push(grammar.terminals[keyword].clone());
        if lexing == Basic {
            grammar.ignored.iter_mut().filter(|id| id.index() == keyword).for_each(|id| *id = last);
        }
    }
    grammar
}

fn texts(alphabet: &[u8], length: usize) -> Vec<Vec<u8>> {
    let mut texts = vec![Vec::new()];
    let mut begin = 0;
    for _ in 0..length {
        let end = texts.len();
        for index in begin..end {
            for &letter in alphabet {
                texts.push([texts[index].as_slice(), &[letter]].concat());
            }
        }
        begin = end;
    }
    texts
}

/// A completion of `text` by letters of `alphabet`, found with the engine; `Err` if there is none, `Ok(None)`
/// if the search takes too long, here or in the engine.
fn completion(
    compiled: &Arc<EngineGrammar>,
    alphabet: &[u8],
    text: &[u8],
) -> Result<Option<Vec<u8>>, String> {
    let mut start = Matcher::new(compiled);
    assert!(start.accept_bytes(text).unwrap());
    let mut seen = HashSet::from([start.inspect_configuration()]);
    let mut queue = VecDeque::from([(start, Vec::new())]);
    let mut n_visited = 0;
    while let Some((matcher, rest)) = queue.pop_front() {
        if matcher.is_accepting() {
            return Ok(Some(rest));
        }
        n_visited += 1;
        if n_visited > MAX_VISITED {
            return Ok(None);
        }
        for &letter in alphabet {
            let mut next = matcher.fork();
            let Ok(is_read) = next.accept_bytes(&[letter]) else { return Ok(None) };
            // What goes on for ever without an end is a dead end too.
            if is_read && seen.insert(next.inspect_configuration()) {
                queue.push_back((next, [rest.as_slice(), &[letter]].concat()));
            }
        }
    }
    Err(format!("a dead end after {:?}", text.escape_ascii().to_string()))
}

/// Which terminals compete for a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lexing {
    Basic,
    Contextual,
}

use Lexing::{Basic, Contextual};

/// A limit was reached: the case doesn't count as judged, and another is drawn.
fn not_judged() -> TestCaseError {
    TestCaseError::reject("a limit was reached")
}

/// Judges all texts up to `length`; how many are words.
fn check(
    lexing: Lexing,
    grammar: &LexedGrammar<LarkTerminal>,
    layout: Option<Layout>,
    alphabet: &[u8],
    length: usize,
    tokens: &[Vec<u8>],
) -> Result<usize, TestCaseError> {
    let oracle = match lexing {
        Basic => LexedOracle::new(grammar, layout.clone()),
        Contextual => LexedOracle::contextual(grammar, layout.clone()),
    };
    let texts = texts(alphabet, length);
    let words: Vec<&Vec<u8>> = texts.iter().filter(|text| oracle.is_word(text)).collect();
    let prefixes: HashSet<&[u8]> =
        words.iter().flat_map(|word| (0..=word.len()).map(|length| &word[..length])).collect();
    let eos = tokens.len() as u32;
    let all_tokens = tokens.iter().cloned().map(Some).chain([Some(b"</s>".to_vec())]).collect();
    let vocabulary = Vocabulary::from_tokens(all_tokens, &[TokenId(eos)], None).unwrap().shared();
    for options in [Options::default(), Options { use_memo: false, use_rows: false, ..Options::default() }] {
        let compiler = Compiler::with_options(vocabulary.clone(), Limits::default(), options);
        let (grammar, layout, fuel) = (grammar.clone(), layout.clone(), Fuel::unlimited());
        let compiled = match lexing {
            Basic => compiler.compile_lexed(grammar, layout, &fuel),
            Contextual => compiler.compile_contextual(grammar, layout, &fuel),
        };
        let compiled = match compiled {
            Ok(compiled) => compiled,
            Err(error) if error.kind() == ErrorKind::Grammar => {
                prop_assert!(words.is_empty(), "refused as empty, but it has {:?}", words[0]);
                continue;
            }
            // It depends on the stack which tokens can stand side by side, and too far to look.
            Err(error) if error.is_limit() => return Err(not_judged()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        for text in &texts {
            let shown = || text.escape_ascii().to_string();
            let mut matcher = Matcher::new(&compiled);
            let Ok(is_read) = matcher.accept_bytes(text) else { return Err(not_judged()) };
            prop_assert!(is_read || !prefixes.contains(text.as_slice()), "{:?} cannot be read", shown());
            if !is_read {
                continue;
            }
            prop_assert_eq!(matcher.is_accepting(), oracle.is_word(text), "end after {:?}", shown());
            let Ok(mask) = matcher.mask() else { return Err(not_judged()) };
            for (id, token) in tokens.iter().enumerate() {
                let said = matcher.fork().accept_token(TokenId(id as u32));
                prop_assert_eq!(
                    Some(mask.contains(TokenId(id as u32))),
                    said.ok(),
                    "{:?} {:?}",
                    shown(),
                    token
                );
            }
            prop_assert_eq!(mask.contains(TokenId(eos)), matcher.is_accepting());
            if text.len() < length || !options.use_memo {
                continue;
            }
            // Shorter texts that can be read go on to one of the full length or to their end.
            if let Some(rest) = completion(&compiled, alphabet, text).map_err(TestCaseError::fail)? {
                let word = [text.as_slice(), &rest].concat();
                prop_assert!(oracle.is_word(&word), "{:?} is no word", word.escape_ascii().to_string());
            }
        }
        if options.use_memo {
            for text in texts.iter().filter(|text| text.len() < length) {
                let mut matcher = Matcher::new(&compiled);
                if matcher.accept_bytes(text).unwrap() {
                    completion(&compiled, alphabet, text).map_err(TestCaseError::fail)?;
                }
            }
        }
    }
    Ok(words.len())
}

fn tokens() -> Vec<Vec<u8>> {
    [&b"a"[..], b"b", b" ", b"ab", b"ba", b"a b", b" a", b"aa", b"bb ", b"a  b", b">", b">>a", b"a<a"]
        .map(<[u8]>::to_vec)
        .to_vec()
}

/// Under both disciplines.
fn words_of_both(grammar: &LexedGrammar<LarkTerminal>, alphabet: &[u8], length: usize) -> [usize; 2] {
    [Basic, Contextual].map(|lexing| check(lexing, grammar, None, alphabet, length, &tokens()).unwrap())
}

fn words_of(grammar: &LexedGrammar<LarkTerminal>, alphabet: &[u8], length: usize) -> usize {
    let [basic, contextual] = words_of_both(grammar, alphabet, length);
    assert!(contextual > 0 || basic == 0);
    basic
}

#[test]
fn tokens_that_cannot_stand_side_by_side() {
    let two = [Seq(vec![Terminal(0), Terminal(0)])];
    // Empty under maximal munch.
    assert_eq!(words_of(&grammar(vec![regexp("a+", 0)], &[], &[], &two), b"ab", 5), 0);
    // With something to part them it is not.
    let parted = grammar(vec![regexp("a+", 0), regexp(" ", 0)], &[], &[1], &two);
    assert!(words_of(&parted, b"a b", 6) > 0);
    // Lazy: each takes one letter.
    assert_eq!(words_of(&grammar(vec![regexp("a+?", 0)], &[], &[], &two), b"ab", 5), 1);
}

#[test]
fn a_rule_that_matches_nothing_but_the_empty_word() {
    // Between two terminals it hides what follows the first, unless it is seen through.
    let rules = [Seq(vec![Terminal(0), Rule(1), Terminal(0)]), Repeat(Box::new(Rule(1)), 0, Some(2))];
    assert_eq!(words_of(&grammar(vec![string("a")], &[], &[], &rules), b"ab", 3), 1);
}

#[test]
fn keywords_and_names() {
    let terminals = vec![string("ab"), regexp("[ab]+", 0), regexp(" +", 0)];
    let rules = [Seq(vec![Terminal(0), Terminal(1)])];
    let named = grammar(terminals, &[], &[2], &rules);
    assert!(words_of(&named, b"ab ", 7) > 0);
}

#[test]
fn looks_further_than_one_byte() {
    // As `1..2` and `1.5`: the lexer must look behind the first dot.
    let terminals = vec![regexp("a+", 0), regexp(r"a+\.a+", 0), string(".."), string(".")];
    let rules = [Seq(vec![
        Alt(vec![Terminal(0), Terminal(1)]),
        star(Seq(vec![Alt(vec![Terminal(2), Terminal(3)]), Terminal(0)])),
    ])];
    assert!(words_of(&grammar(terminals, &[], &[], &rules), b"a.b", 7) > 0);
}

#[test]
fn a_comment_that_may_stay_open() {
    // `/*` is two operators if no `*/` ever comes, and then nothing may close it.
    let terminals = vec![regexp(r"/\*(.|\n)*?\*/", 0), string("/"), string("*"), string("a"), string("\n")];
    let rules = [Seq(vec![
        Terminal(3),
        star(Seq(vec![Alt(vec![Terminal(1), Terminal(2), Terminal(4)]), star(Terminal(3))])),
        Terminal(4),
    ])];
    assert!(words_of(&grammar(terminals, &[], &[0], &rules), b"/*a\n", 6) > 0);
}

#[test]
fn indentation() {
    // 0 newline, 1 statement, 2 block opener, 3 and 4 brackets, 5 blanks; 6 indent, 7 dedent
    let terminals = || {
        vec![regexp(r"(\n[\t ]*)+", 0), string("a"), string("b"), string("("), string(")"), regexp(" +", 0)]
    };
    let rules = [
        star(Alt(vec![Terminal(0), Rule(1)])),
        Alt(vec![
            Rule(2),
            Seq(vec![Terminal(2), Terminal(0), Terminal(6), Rule(1), star(Rule(1)), Terminal(7)]),
        ]),
        Seq(vec![Terminal(1), optional(Seq(vec![Terminal(3), star(Terminal(1)), Terminal(4)])), Terminal(0)]),
    ];
    let layout = Layout {
        newline: TerminalId::from_index(0),
        indent: TerminalId::from_index(6),
        dedent: TerminalId::from_index(7),
        open: vec![TerminalId::from_index(3)],
        close: vec![TerminalId::from_index(4)],
        tabs: Tabs::Spaces(8),
    };
    let grammar = grammar(terminals(), &["IN", "OUT"], &[5], &rules);
    let tokens: Vec<Vec<u8>> =
        [&b"a"[..], b"\n", b"\n ", b"\n  ", b"\n  a", b"a\nb", b"b\n a", b" ", b"\t", b"(\n", b")", b"\n\na"]
            .map(<[u8]>::to_vec)
            .to_vec();
    let check = |alphabet: &[u8], length| {
        let both = [Basic, Contextual]
            .map(|lexing| check(lexing, &grammar, Some(layout.clone()), alphabet, length, &tokens).unwrap());
        assert!(both[0] > 0 && both[0] == both[1], "no terminal hides another here");
    };
    check(b"ab \n", 6);
    check(b"a()\n ", 5);
    check(b"ab\t\n", 5);
}

/// Against CPython's rule. Up to eight letters tell every pair of lines apart but some that only CPython
/// orders.
#[test]
fn tabs_that_are_not_compared_with_spaces() {
    // 0 newline, 1 statement; 2 indent, 3 dedent
    let terminals = vec![regexp(r"(\n[\t ]*)*\n\t* *", 0), string("a")];
    let block = Seq(vec![Terminal(2), Rule(1), star(Rule(1)), Terminal(3)]);
    let line = Seq(vec![Terminal(1), optional(Seq(vec![Terminal(0), optional(block)]))]);
    let layout = Layout {
        newline: TerminalId::from_index(0),
        indent: TerminalId::from_index(2),
        dedent: TerminalId::from_index(3),
        open: Vec::new(),
        close: Vec::new(),
        tabs: Tabs::Apart,
    };
    let grammar = grammar(terminals, &["IN", "OUT"], &[], &[star(Rule(1)), line]);
    let tokens: Vec<Vec<u8>> =
        [&b"a"[..], b"\n", b" ", b"\t", b"\n ", b"\n\t", b"\n\t a", b"\t\n  ", b" \t\na", b"a\n\ta\n\t"]
            .map(<[u8]>::to_vec)
            .to_vec();
    for lexing in [Basic, Contextual] {
        let n_words = check(lexing, &grammar, Some(layout.clone()), b"a\n\t ", 7, &tokens).unwrap();
        assert!(n_words > 500, "{n_words}");
        let oracle = LexedOracle::new(&grammar, Some(layout.clone()));
        assert!(oracle.is_word(b"a\n\ta\n\t a\n\t a\na") && !oracle.is_word(b"a\n a\n\ta"));
        assert!(oracle.is_word(b"a\n a\n\t\ta"), "two tabs are more than a space, however wide");
    }
}

#[test]
fn only_what_can_follow_competes() {
    // A word in quotes, where anything else is text: neither can be read where the other can.
    let terminals = vec![string("."), regexp("a+", 0), regexp(r"[^.]+", 0), regexp(" +", 0)];
    let rules = [Seq(vec![Terminal(1), Terminal(0), Terminal(2), Terminal(0), Terminal(1)])];
    let [basic, contextual] = words_of_both(&grammar(terminals, &[], &[], &rules), b"ab. ", 6);
    assert!(basic == 0 && contextual > 0);
    // A keyword is a name where it cannot be read.
    let terminals = vec![string("ab"), regexp("[ab]+", 0), regexp(" +", 0)];
    let rules = [Seq(vec![Terminal(0), Terminal(1)])];
    let [basic, contextual] = words_of_both(&grammar(terminals, &[], &[2], &rules), b"ab ", 6);
    assert!(basic < contextual, "`ab ab`, and `aba`: no name competes at its beginning");
    // Where a name can be read, it takes all it can.
    let terminals = vec![string("ab"), regexp("[ab]+", 0), regexp(" +", 0)];
    let rules = [Alt(vec![Seq(vec![Terminal(0), Terminal(1)]), Terminal(1)])];
    let oracle = LexedOracle::contextual(&grammar(terminals.clone(), &[], &[2], &rules), None);
    assert!(oracle.is_word(b"ab b") && oracle.is_word(b"aba") && !oracle.is_word(b"ab"));
    words_of(&grammar(terminals, &[], &[2], &rules), b"ab ", 6);
}

/// Lark decides what is ignored before it renames what a regular expression matched to the string that it is.
/// So an ignored string is a token where such a regular expression can be read, and is ignored elsewhere.
#[test]
fn an_ignored_string_is_a_token_where_a_regular_expression_finds_it() {
    let terminals = vec![string("b"), string("a"), regexp("[a.]", 0), regexp("a| ", 0)];
    let pair = Seq(vec![Terminal(0), Terminal(1)]);
    let rules = [Alt(vec![Terminal(2), pair])];
    let grammar = grammar(terminals, &[], &[1, 3], &rules);
    for (lexing, word) in [(Basic, b"ba"), (Contextual, b".a")] {
        let grammar = with_ignored_keywords(lexing, grammar.clone());
        assert_eq!(grammar.terminals.len(), 5);
        let oracle = match lexing {
            Basic => LexedOracle::new(&grammar, None),
            Contextual => LexedOracle::contextual(&grammar, None),
        };
        assert!(oracle.is_word(word) && !oracle.is_word(b"a"));
        assert!(check(lexing, &grammar, None, b"ab. ", 4, &tokens()).unwrap() > 0);
    }
}

#[test]
fn operators_are_read_both_ways() {
    // As `>>` where brackets nest and numbers are shifted, both behind one name.
    let terminals = || vec![string("a"), string("<"), string(">"), string(">>"), regexp(" ", 0)];
    let types = Seq(vec![Terminal(0), optional(Seq(vec![Terminal(1), Rule(1), Terminal(2)]))]);
    let operator = Alt(vec![Terminal(1), Terminal(2), Terminal(3)]);
    let sums = Seq(vec![Terminal(0), star(Seq(vec![operator, Terminal(0)]))]);
    let rules = [Alt(vec![Rule(1), Rule(2)]), types, sums];
    let generic = grammar(terminals(), &[], &[4], &rules);
    let oracle = LexedOracle::contextual(&generic, None);
    assert!(oracle.is_word(b"a<a<a>>") && oracle.is_word(b"a>>a") && !oracle.is_word(b"a> >a"));
    words_of(&generic, b"a<> ", 6);
    let [basic, contextual] = words_of_both(&generic, b"a<>", 7);
    assert!(0 < basic && basic < contextual);
}

#[test]
fn quotes_of_two_kinds() {
    // As `"""`: an empty string and the beginning of another, if the long one is never closed.
    let terminals = vec![regexp(r"\.[ab]*\.", 0), regexp(r"\.\.\.[ab.]*?\.\.\.", 0)];
    let rules = [Repeat(Box::new(Alt(vec![Terminal(0), Terminal(1)])), 1, None)];
    let oracle = LexedOracle::contextual(&grammar(terminals.clone(), &[], &[], &rules), None);
    assert!(oracle.is_word(b"...a.") && oracle.is_word(b"...a..b...") && !oracle.is_word(b"..."));
    assert!(words_of(&grammar(terminals, &[], &[], &rules), b"a.", 8) > 0);
}

#[test]
fn what_cannot_be_finished_is_not_begun() {
    // The rules need an ignored token, and one of two terminals that match alike always hides the other.
    let terminals = vec![regexp("a+", 0), regexp("aa?", 0), string("a"), regexp(" ", 0)];
    let pair = Seq(vec![Rule(1), Terminal(3), Terminal(0), Terminal(1)]);
    let rules = [star(Seq(vec![Rule(2), Terminal(0)])), Terminal(0), pair];
    words_of(&grammar(terminals, &[], &[3], &rules), b"a ", 4);
}

/// Without the terminal that the text has begun with no whole rule has a sentence, but what is left of one
/// still asks for two tokens that cannot stand side by side.
#[test]
fn what_is_left_of_a_rule_needs_what_cannot_follow() {
    let terminals = vec![string("ab"), regexp(r"a+\.a+", 0)];
    let rules = [Seq(vec![Terminal(0), optional(Seq(vec![Terminal(1), Terminal(1)]))])];
    let grammar = grammar(terminals, &[], &[], &rules);
    assert_eq!(words_of_both(&grammar, b"ab.", 6), [1, 1]);
}

/// At the start of a text one terminal hides another, or does not match; behind a token it is not so.
#[test]
fn the_first_token_is_not_like_the_others() {
    let terminals = vec![regexp("b(?=a|$)", -1), string("ba"), regexp("(?<!a)b", 0), regexp("(?<=b)a", 0)];
    let rules =
        [Alt(vec![star(Alt(vec![Terminal(1), Rule(0)])), Terminal(0), Seq(vec![Terminal(2), Terminal(3)])])];
    let [basic, contextual] = words_of_both(&grammar(terminals, &[], &[], &rules), b"ab", 4);
    assert!(basic > 3 && contextual > 3);
}

/// A terminal that ends the text, beside a rule in which the same one needs an ignored token behind.
#[test]
fn what_may_follow_is_found_in_any_order_of_rules() {
    let terminals = vec![string("a"), regexp(r"a+\.a+", 0), string("a"), regexp(" ", 0)];
    let same = Alt(vec![Terminal(1), Terminal(1)]);
    let rules = [Alt(vec![Seq(vec![Terminal(1), Terminal(3)]), Rule(2)]), Terminal(0), same];
    let grammar = grammar(terminals, &[], &[3], &rules);
    for lexing in [Basic, Contextual] {
        assert!(check(lexing, &grammar, None, b"a. ", 4, &[b"a ".to_vec()]).unwrap() > 0);
    }
}

/// A rule that is begun within a token has no end, since it needs an ignored token behind.
#[test]
fn what_a_token_has_begun_may_have_no_end() {
    let terminals = vec![regexp("a+", 0), string("ab"), regexp(" ", 0)];
    let long = Seq(vec![Terminal(1), Alt(vec![Terminal(0), Rule(1)]), Terminal(2), Terminal(0)]);
    let rules = [Alt(vec![long, Terminal(1)]), Seq(vec![Rule(0), Terminal(0), Rule(0)])];
    let grammar = grammar(terminals, &[], &[2], &rules);
    assert!(check(Contextual, &grammar, None, b"ab ", 4, &[b"ba".to_vec()]).unwrap() > 0);
}

#[test]
fn what_needs_an_ignored_token_has_no_completion() {
    // Each `a` asks for one more blank, and the parser gets none; without an end to that, a search finds none
    // either.
    let terminals = vec![string("a"), string("ab"), regexp(" ", 0)];
    let nested = Seq(vec![Terminal(0), Rule(0), Terminal(0), Terminal(2)]);
    assert!(words_of(&grammar(terminals, &[], &[2], &[Alt(vec![nested, Terminal(1)])]), b"ab .", 4) > 0);
}

/// There are as many continuations as texts of `a` and `b`, and all but one need two adjacent tokens that
/// cannot be adjacent. One search covers all stacks.
#[test]
fn a_token_is_accepted_whatever_may_follow_a_part_of_it() {
    let terminals = vec![
        string("a"),
        string("b"),
        string("c"),
        string("."),
        regexp("y+", 0),
        regexp("z+", 0),
        string("!"),
    ];
    let nested = |letter, closing| Seq(vec![Terminal(letter), Rule(1), Terminal(closing), Terminal(closing)]);
    let path = b"abbaababbabaabbaababbabb";
    let letters = path.iter().map(|&letter| Terminal(usize::from(letter - b'a')));
    let rules = [
        Alt(vec![Rule(1), Seq(letters.chain([Terminal(3)]).collect()), Terminal(6)]),
        Alt(vec![nested(0, 4), nested(1, 5), Terminal(2)]),
    ];
    let grammar = grammar(terminals, &[], &[], &rules);
    let tokens = [&path[..], b".", b"ab!", b"</s>"].map(|token| Some(token.to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap().shared();
    for (lexing, use_rows) in [(Basic, true), (Basic, false), (Contextual, true), (Contextual, false)] {
        let options = Options { use_rows, ..Options::default() };
        let compiler = Compiler::with_options(vocabulary.clone(), Limits::default(), options);
        let (grammar, fuel) = (grammar.clone(), Fuel::unlimited());
        let compiled = match lexing {
            Basic => compiler.compile_lexed(grammar, None, &fuel),
            Contextual => compiler.compile_contextual(grammar, None, &fuel),
        };
        let mut matcher = Matcher::new(&compiled.unwrap());
        let allowed: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
        assert_eq!(allowed, [TokenId(0)], "{lexing:?}, rows: {use_rows}");
        assert_eq!(matcher.mask_status(), MaskStatus::Exact);
        for length in 1..=path.len() {
            assert!(matcher.fork().accept_bytes(&path[..length]).unwrap(), "{lexing:?}, {length} letters");
        }
        assert!(!matcher.fork().accept_bytes(b"ba").unwrap());
        assert!(!matcher.accept_token(TokenId(2)).unwrap());
        assert!(matcher.fork().accept_bytes(path).unwrap());
        assert!(matcher.accept_token(TokenId(0)).unwrap());
        assert!(matcher.accept_token(TokenId(1)).unwrap() && matcher.is_accepting());
    }
}

/// Each nested part needs the pattern `y` where the string `y` wins, or two adjacent `p+`, which are read as
/// one. So no text begins with `a`. No search can decide that: the pattern might win among fewer terminals,
/// and parts nest without end.
#[test]
fn what_cannot_be_decided_is_refused_and_said() {
    let terminals = vec![
        string("a"),
        string("c"),
        string("!"),
        regexp("y", 0),
        string("y"),
        regexp("p+", 0),
        string("b"),
    ];
    let nested = |letter| {
        let first = Seq(vec![Terminal(letter), Rule(1), Terminal(3)]);
        Alt(vec![first, Seq(vec![Terminal(letter), Rule(1), Terminal(4), Terminal(5), Terminal(5)])])
    };
    let word = Seq(vec![Terminal(2), Terminal(2)]);
    let rules = [Alt(vec![word, nested(0)]), Alt(vec![nested(0), nested(6), Terminal(1)])];
    let grammar = grammar(terminals, &[], &[], &rules);
    let tokens = ["a", "!", "ab", "!!", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
    for (lexing, use_rows) in [(Basic, true), (Basic, false), (Contextual, true), (Contextual, false)] {
        let options = Options { use_rows, ..Options::default() };
        let compiler = Compiler::with_options(vocabulary.clone(), Limits::default(), options);
        let (grammar, fuel) = (grammar.clone(), Fuel::unlimited());
        let (compiled, status) = match lexing {
            Basic => (compiler.compile_lexed(grammar, None, &fuel), MaskStatus::Exact),
            Contextual => (compiler.compile_contextual(grammar, None, &fuel), MaskStatus::Bound),
        };
        let compiled = compiled.unwrap();
        let mut matcher = Matcher::new(&compiled);
        let allowed: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
        assert_eq!(allowed, [TokenId(1), TokenId(3)], "{lexing:?}, rows: {use_rows}");
        assert_eq!(matcher.mask_status(), status, "{lexing:?}, rows: {use_rows}");
        for text in [&b"a"[..], b"ab", b"acy"] {
            assert!(!matcher.fork().accept_bytes(text).unwrap(), "{lexing:?}, rows: {use_rows}");
            assert_eq!(matcher.validate_bytes(text).unwrap(), 0);
        }
        assert!(!matcher.accept_token(TokenId(0)).unwrap());
        assert!(matcher.forced_bytes().unwrap().is_empty() || lexing == Basic);
        let mut limited = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(3)).unwrap();
        let allowed: Vec<TokenId> = limited.mask().unwrap().iter().collect();
        assert_eq!(allowed, [TokenId(1), TokenId(3)], "{lexing:?}, rows: {use_rows}");
        assert_eq!(limited.mask_status(), status);
        assert!(matcher.accept_bytes(b"!!").unwrap() && matcher.is_accepting());
    }
}

#[test]
fn what_lies_before_is_seen_where_nothing_can_be_read() {
    let terminals = vec![regexp("a+", 0), regexp("(?<!a)b", 0)];
    let rules = [Alt(vec![Seq(vec![Terminal(0), Terminal(1), Terminal(0)]), Terminal(0)])];
    words_of(&grammar(terminals, &[], &[], &rules), b"ab", 4);
}

fn arb_terminals() -> impl Strategy<Value = (Vec<LarkTerminal>, Vec<usize>)> {
    let strings = ["a", "b", "ab", "ba", "aa", "aab", ".", ".."];
    let regexps = [
        "a+",
        "[ab]+",
        "b+",
        "a+?",
        "a*b",
        "aa?",
        "a|ab",
        "ab|a",
        "a|b",
        "[b.]",
        "a(?!b)",
        "b(?=a|$)",
        r"a+\.a+",
        "[a.]+b",
        r"\.[ab]*?\.",
        "(?<!a)b",
        "a{2,3}",
    ];
    let one = prop_oneof![
        select(strings.to_vec()).prop_map(string),
        (select(regexps.to_vec()), -1..2i32).prop_map(|(source, priority)| regexp(source, priority)),
    ];
    let ignored = select(vec![None, Some(" "), Some(" +"), Some(" a? "), Some(r"\.\.")]);
    let is_first_ignored = prop::bool::weighted(0.2);
    (prop::collection::vec(one, 1..4), ignored, is_first_ignored).prop_map(
        |(mut terminals, ignored, is_first_ignored)| {
            let mut places = if is_first_ignored { vec![0] } else { Vec::new() };
            places.extend(ignored.map(|_| terminals.len()));
            terminals.extend(ignored.map(|source| regexp(source, 0)));
            (terminals, places)
        },
    )
}

fn arb_rule() -> impl Strategy<Value = Rhs> {
    let leaf = prop_oneof![4 => (0usize..4).prop_map(Terminal), 1 => (0usize..3).prop_map(Rule)];
    let body = leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 2..=3).prop_map(Seq),
            2 => prop::collection::vec(inner.clone(), 2..=3).prop_map(Alt),
            1 => (inner.clone(), 0..2u32).prop_map(|(inner, min)| Repeat(Box::new(inner), min, None)),
            1 => (inner, 0..2u32).prop_map(|(inner, min)| Repeat(Box::new(inner), min, Some(2))),
        ]
    });
    // A way out, so that few grammars are empty.
    (body, 0usize..4, any::<bool>()).prop_map(|(body, terminal, has_way_out)| {
        if has_way_out { Alt(vec![body, Terminal(terminal)]) } else { body }
    })
}

/// So many cases, if the environment does not say how many.
fn cases(default: u32) -> ProptestConfig {
    let config = ProptestConfig { max_shrink_iters: 5_000, ..ProptestConfig::default() };
    ProptestConfig { cases: maskwright_oracle::cases(default), ..config }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn random_grammars(
        (terminals, ignored) in arb_terminals(),
        rules in prop::collection::vec(arb_rule(), 1..=3),
        tokens in prop::collection::vec("[ab. ]{1,4}", 1..12),
    ) {
        let grammar = grammar(terminals, &[], &ignored, &rules);
        let tokens: Vec<Vec<u8>> = tokens.into_iter().map(String::into_bytes).collect();
        for lexing in [Basic, Contextual] {
            let grammar = with_ignored_keywords(lexing, grammar.clone());
            check(lexing, &grammar, None, b"ab. ", 4, &tokens)?;
        }
    }
}
