//! Limits on tokens of lexed grammars beside the naive reference: breadth-first search over texts and tokens.
//!
//! The search goes by texts and reads each with the engine without a limit, whose masks `lexed.rs` checks
//! against the definition. It knows nothing of hypotheses or ways.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-engine --test budget_lexed` runs the full
//! campaign.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::collections::HashMap;
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{
    Compiler, EngineGrammar, Error, Limits, MaskStatus, Matcher, MatcherConfig, Options, TokenCountStatus,
};
use maskwright_lark::{Indentation, LarkConfig, LexerKind, parse_lark};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The most tokens, EOS not included, that the reference looks ahead.
const MAX_AHEAD: usize = 5;
/// The most texts that it looks at.
const MAX_TEXTS: usize = 1_500;

fn cases(default: u32) -> ProptestConfig {
    let config = ProptestConfig { max_shrink_iters: 500, ..ProptestConfig::default() };
    ProptestConfig { cases: maskwright_oracle::cases(default), ..config }
}

fn vocabulary(tokens: &[&str]) -> Arc<Vocabulary> {
    let all = tokens.iter().chain([&"</s>"]).map(|token| Some(token.as_bytes().to_vec())).collect();
    Vocabulary::from_tokens(all, &[TokenId(tokens.len() as u32)], None).unwrap().shared()
}

/// `None` if the grammar is refused.
fn compile(
    source: &str,
    is_indented: bool,
    lexer: LexerKind,
    vocabulary: &Arc<Vocabulary>,
    options: Options,
) -> Option<Arc<EngineGrammar>> {
    let indentation = is_indented.then(Indentation::python);
    let config = LarkConfig { lexer, indentation, ..LarkConfig::default() };
    let fuel = Fuel::unlimited();
    let grammar = parse_lark(source, "test.lark", &config, &fuel).ok()?;
    let compiler = Compiler::with_options(vocabulary.clone(), Limits::default(), options);
    match lexer {
        LexerKind::Basic => compiler.compile_lexed(grammar.lexed, grammar.indentation, &fuel).ok(),
        LexerKind::Contextual | LexerKind::DynamicComplete => {
            compiler.compile_contextual(grammar.lexed, grammar.indentation, &fuel).ok()
        }
    }
}

/// What the reference finds.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Found {
    /// The least number of tokens, EOS included.
    Least(usize),
    /// It is more than this.
    MoreThan(usize),
    /// No text can be completed.
    Never,
}

/// By levels: all texts that so many tokens make, as long as a word can begin with them; up to `max_ahead`
/// tokens.
fn reference(start: &Matcher, n_ordinary: usize, max_ahead: usize) -> Result<Found, Error> {
    let max_ahead = max_ahead.min(MAX_AHEAD);
    let mut level: HashMap<Vec<u8>, Matcher> = HashMap::from([(Vec::new(), start.clone())]);
    let mut n_texts = 0;
    for n_tokens in 0..=max_ahead {
        if level.is_empty() {
            return Ok(Found::Never);
        }
        if level.values().any(Matcher::is_accepting) {
            return Ok(Found::Least(n_tokens + 1));
        }
        n_texts += level.len() * n_ordinary;
        if n_tokens == max_ahead || n_texts > MAX_TEXTS {
            return Ok(Found::MoreThan(n_tokens + 1));
        }
        let mut next = HashMap::new();
        for (text, matcher) in &level {
            for id in 0..n_ordinary as u32 {
                let bytes = matcher.grammar().vocabulary().token_bytes(TokenId(id)).unwrap();
                let longer = [text.as_slice(), bytes].concat();
                if next.contains_key(&longer) {
                    continue;
                }
                let mut matcher = matcher.fork();
                if matcher.accept_token(TokenId(id))? {
                    next.insert(longer, matcher);
                }
            }
        }
        level = next;
    }
    Ok(Found::MoreThan(max_ahead + 1))
}

/// The value, unless a search of the engine reached its limit: then the case doesn't count as judged, and
/// another is drawn.
fn within_limits<T>(result: Result<T, Error>) -> Result<T, TestCaseError> {
    result.map_err(|error| match error.is_limit() {
        true => TestCaseError::reject("a search reached its limit"),
        false => TestCaseError::fail(error.to_string()),
    })
}

/// Checks how many tokens complete a session's text against the reference; `None` if none are known to.
fn check_least(matcher: &Matcher, n_ordinary: usize) -> Result<Option<usize>, TestCaseError> {
    let expected = within_limits(reference(matcher, n_ordinary, MAX_AHEAD))?;
    let least = match matcher.tokens_to_finish() {
        Ok(least) => least,
        Err(error) => {
            let is_none = error.to_string().contains("spell no completion");
            prop_assert!(is_none || error.is_limit(), "{error}");
            prop_assert!(!is_none || !matches!(expected, Found::Least(_)), "{error} instead of {expected:?}");
            return Ok(None);
        }
    };
    match expected {
        Found::Least(known) => {
            prop_assert!(known <= least.n_tokens, "{least:?} instead of {known}");
            prop_assert!(
                least.status == TokenCountStatus::Upper || known == least.n_tokens,
                "{least:?} is {known}"
            );
        }
        Found::MoreThan(bound) => prop_assert!(least.n_tokens > bound, "{} <= {}", least.n_tokens, bound),
        Found::Never => prop_assert!(false, "{} tokens, but there is no way", least.n_tokens),
    }
    let completion = within_limits(matcher.finish())?;
    prop_assert!(completion.len() <= least.n_tokens);
    let mut rest = matcher.fork();
    prop_assert_eq!(within_limits(rest.accept_tokens(&completion))?, completion.len());
    prop_assert!(rest.is_terminated());
    Ok(Some(least.n_tokens))
}

/// Walks along a text that the choices make; checks each place, and the mask under limits around the number
/// there.
fn check(
    source: &str,
    (is_indented, lexer): (bool, LexerKind),
    tokens: &[&str],
    choices: &[u16],
    options: Options,
) -> Result<(), TestCaseError> {
    let vocabulary = vocabulary(tokens);
    let compiled = compile(source, is_indented, lexer, &vocabulary, options);
    prop_assume!(compiled.is_some());
    let compiled = compiled.unwrap();
    let mut matcher = Matcher::new(&compiled);
    let mut accepted = Vec::new();
    for choice in choices {
        let Some(needed) = check_least(&matcher, tokens.len())? else { return Ok(()) };
        for spare in 0..2 {
            let left = needed + spare;
            let Ok(mut session) =
                Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(accepted.len() + left))
            else {
                break;
            };
            if within_limits(session.accept_tokens(&accepted))? < accepted.len() {
                break;
            }
            let mask = within_limits(session.mask())?;
            let is_exact = session.mask_status() == MaskStatus::Exact;
            prop_assert!(!mask.is_empty());
            for id in 0..tokens.len() as u32 {
                let token = TokenId(id);
                let mut after = matcher.fork();
                let is_viable = within_limits(after.accept_token(token))?;
                let is_allowed = is_viable
                    && match reference(&after, tokens.len(), left.saturating_sub(2)) {
                        Ok(Found::Least(rest)) => rest < left,
                        Ok(Found::Never) => false,
                        Ok(Found::MoreThan(bound)) if bound + 1 >= left => false,
                        _ => continue,
                    };
                let is_given = mask.contains(token);
                prop_assert!(
                    is_given == is_allowed || !is_exact && !is_given,
                    "{:?} after {:?} with {} left: {}",
                    tokens[id as usize],
                    accepted.iter().map(|token: &TokenId| tokens[token.0 as usize]).collect::<Vec<_>>(),
                    left,
                    is_given
                );
                prop_assert_eq!(within_limits(session.validate_tokens(&[token]))? == 1, is_given);
            }
            prop_assert_eq!(mask.contains(TokenId(tokens.len() as u32)), session.is_accepting());
        }
        let mask = within_limits(matcher.mask())?;
        let allowed: Vec<TokenId> = mask.iter().filter(|token| (token.0 as usize) < tokens.len()).collect();
        if allowed.is_empty() {
            return Ok(());
        }
        let token = allowed[usize::from(*choice) % allowed.len()];
        prop_assert!(matcher.accept_token(token).unwrap());
        accepted.push(token);
    }
    Ok(())
}

/// Whatever is drawn, the text ends in time, from the least limit that is taken on.
fn walk_within(compiled: &Arc<EngineGrammar>, choices: &[u16], spare: usize) -> Result<(), TestCaseError> {
    let Ok(needed) = Matcher::new(compiled).tokens_to_finish() else {
        return Err(TestCaseError::reject("no completion is known"));
    };
    let limit = needed.n_tokens + spare;
    let mut matcher = Matcher::with_config(compiled, &MatcherConfig::with_max_tokens(limit)).unwrap();
    let mut unlimited = Matcher::new(compiled);
    for n_tokens in 0..=limit {
        if matcher.is_terminated() {
            return Ok(());
        }
        prop_assert!(n_tokens < limit, "the text is not complete in time");
        let mask = within_limits(matcher.mask())?;
        let least = within_limits(matcher.tokens_to_finish())?;
        prop_assert!(n_tokens + least.n_tokens <= limit, "{least:?}");
        let allowed: Vec<TokenId> = mask.iter().collect();
        prop_assert!(!allowed.is_empty(), "dead end within {} of {} tokens", n_tokens, limit);
        let token = allowed[usize::from(choices[n_tokens % choices.len()]) % allowed.len()];
        prop_assert!(matcher.accept_token(token).unwrap() && unlimited.accept_token(token).unwrap());
        if n_tokens % 3 == 2 {
            let before = matcher.fork().mask().ok();
            matcher.rollback(1).unwrap();
            prop_assert!(matcher.accept_token(token).unwrap());
            prop_assert_eq!(matcher.fork().mask().ok(), before);
        }
    }
    Ok(())
}

const INDENTED: &str = r#"
start: (_NL | stmt)*
?stmt: simple | block
simple: expr (";" expr)* _NL
block: "if" expr ":" suite ["else" ":" suite] | "try" ":" suite "end" ":" suite
suite: simple | _NL _INDENT stmt+ _DEDENT
expr: NAME | NUMBER | LPAR [expr ("," expr)*] RPAR | expr "." NAME
LPAR: "("
RPAR: ")"
NAME: /[a-z]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
COMMENT: /#[^\n]*/
_NL: /(\r?\n[\t ]*|#[^\n]*)+/
%ignore /[ ]+/
%declare _INDENT _DEDENT
"#;

const BRACKETS: &str = r#"
start: value
value: NUMBER | STRING | "[" [value ("," value)*] "]" | "{" [pair ("," pair)*] "}" | "null"
pair: STRING ":" value
NUMBER: /-?[0-9]+(\.[0-9]+)?/
STRING: /"[^"\\]*"/
COMMENT: "/*" /(.|\n)*?/ "*/"
%ignore /[ \n]+/
%ignore COMMENT
"#;

const KEYWORDS: &str = r#"
start: (decl | call)+
decl: "int" NAME ["=" NUMBER] ";"
call: NAME "(" [NAME ("," NAME)*] ")" ("+" | "++" | "..")* ";"
NAME: /[a-z_]+/
NUMBER: /[0-9]+(\.[0-9]+)?/
%ignore " "
"#;

const INDENTED_TOKENS: [&str; 42] = [
    "i",
    "f",
    "e",
    "l",
    "s",
    "t",
    "r",
    "y",
    "n",
    "d",
    "a",
    "b",
    "1",
    ".",
    ".5",
    "if",
    "if ",
    "else",
    "else:",
    "try",
    "try:",
    "end",
    ":",
    ": a",
    "\n",
    "\n ",
    "\n  ",
    "\n    ",
    "\n  a",
    "\n\t",
    "\t",
    " ",
    "  ",
    "(",
    ")",
    "((",
    "))",
    ")\n",
    "a\n",
    ";",
    "\nelse:",
    "\n end:\n  ",
];
const BRACKETS_TOKENS: [&str; 26] = [
    "1", "-", ".", "\"", "\"a", "a\"", "\"\"", "[", "]", "[[", "]]", "{", "}", "}}", "{\"", "\":", "\",",
    "null", "n", "ull", " ", "/*", "*/", "*/]", ",", "1]",
];
const KEYWORDS_TOKENS: [&str; 24] = [
    "int", "in", "t", "t ", " ", "a", "a(", "(", ")", ");", ";", "=", "= 1", "1", "1.", ".", "..", "+", "++",
    "++;", "+;", "int a", ",a", "a;int",
];

/// Some of the tokens.
fn some_of<const N: usize>(all: [&'static str; N]) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(all.to_vec(), N / 3..=N)
}

/// The tokens of one byte, and some of the longer ones.
fn letters_and_some_of<const N: usize>(all: [&'static str; N]) -> impl Strategy<Value = Vec<&'static str>> {
    some_of(all).prop_map(move |mut some| {
        some.extend(all.iter().filter(|token| token.len() == 1));
        some.sort_unstable();
        some.dedup();
        some
    })
}

fn arb_options() -> impl Strategy<Value = Options> {
    any::<bool>().prop_map(|use_memo| Options { use_memo, ..Options::default() })
}

/// Terminals that overlap, look further than one byte or cannot stand side by side.
fn arb_source() -> impl Strategy<Value = String> {
    let terminals = [
        "\"a\"",
        "\"b\"",
        "\"ab\"",
        "\"aab\"",
        "/a+/",
        "/[ab]+/",
        "/a+?/",
        "/a*b/",
        "/a|ab/",
        "/a(?!b)/",
        "/a+\\.a+/",
        "/[a.]+b/",
        "/\\.[ab]*?\\./",
        "\".\"",
        "\"..\"",
        "/(?<!a)b/",
        "/b(?=a|$)/",
    ];
    let rules = [
        "T0",
        "T1",
        "T2",
        "r0",
        "r1",
        "T0 r1",
        "r1 T1",
        "(T0 | T2)",
        "T1*",
        "[r0 T2]",
        "(T2 r1)*",
        "T0 T1",
        "T2 T2",
        "(T0 r0)",
        "T1+",
        "",
    ];
    let ignored = select(vec!["", "%ignore \" \"", "%ignore / +/", "%ignore / a? /", "%ignore /\\.\\./"]);
    let alternatives = prop::collection::vec(prop::collection::vec(select(rules.to_vec()), 1..4), 1..4);
    let rule = move || alternatives.clone();
    (prop::collection::vec(select(terminals.to_vec()), 3), rule(), rule(), rule(), ignored).prop_map(
        |(terminals, start, r0, r1, ignored)| {
            let body = |alternatives: Vec<Vec<&str>>| {
                alternatives.into_iter().map(|parts| parts.join(" ")).collect::<Vec<_>>().join(" | ")
            };
            let mut source =
                format!("start: {}\nr0: {} | T0\nr1: {} | T1 T2\n", body(start), body(r0), body(r1));
            for (index, terminal) in terminals.iter().enumerate() {
                source += &format!("T{index}: {terminal}\n");
            }
            source + ignored + "\n"
        },
    )
}

const SMALL_TOKENS: [&str; 14] =
    ["a", "b", ".", " ", "ab", "ba", "aa", "a b", " a", "..", ".a", "b ", "a.a", "bb a"];

/// A completion is spelled with the fewest tokens, across those of the lexer.
#[test]
fn tokens_span_those_of_the_lexer() {
    let vocabulary = vocabulary(&["[", "]", "]]", "1"]);
    let compiled = compile(BRACKETS, false, LexerKind::Basic, &vocabulary, Options::default()).unwrap();
    let mut matcher = Matcher::new(&compiled);
    assert_eq!(matcher.accept_tokens(&[TokenId(0), TokenId(0), TokenId(3)]).unwrap(), 3);
    let least = matcher.tokens_to_finish().unwrap();
    assert_eq!((least.n_tokens, least.status), (2, TokenCountStatus::Exact));
    assert_eq!(matcher.finish().unwrap(), [TokenId(2), TokenId(4)]);
}

#[test]
fn a_completion_ends_where_the_text_is_complete() {
    let source = "start: T2 T2 T1+ | T0 T0 T1\nT0: /a|ab/\nT1: /a+?/\nT2: \"aab\"\n";
    let vocabulary = vocabulary(&["a", "ba", ".a", "a.a"]);
    let compiled = compile(source, false, LexerKind::Contextual, &vocabulary, Options::default()).unwrap();
    let matcher = Matcher::new(&compiled);
    let completion = matcher.finish().unwrap();
    let mut rest = matcher.fork();
    assert_eq!(rest.accept_tokens(&completion).unwrap(), completion.len());
    assert!(rest.is_terminated());
}

/// With strict readings, which let all terminals that may follow compete, no `A` wins before another, so they
/// find no completion. The lexer's actual steps do.
#[test]
fn words_that_a_longer_one_could_swallow_have_a_length() {
    let letters = ["a", "b", "x", " ", "n"];
    let cases = [
        ("start: A A B\nA: \"x\"\nB: \"xx\"\n", 5),
        ("start: \"a\" \"a\" P\nP: \"aa\"\n", 5),
        ("start: \"a\" \"a\" P\nP: \"aa\" | \"ab\"\n", 5),
        ("start: \"a\" \"a\" \"a\" P \"x\"\nP: \"aa\"\n", 7),
    ];
    for (source, n_tokens) in cases {
        let compiled =
            compile(source, false, LexerKind::Contextual, &vocabulary(&letters), Options::default()).unwrap();
        let matcher = Matcher::new(&compiled);
        let least = matcher.tokens_to_finish().unwrap();
        assert_eq!(least.n_tokens, n_tokens, "{source}");
        let completion = matcher.finish().unwrap();
        assert_eq!(completion.len(), n_tokens, "{source}");
        assert_eq!(matcher.fork().accept_tokens(&completion).unwrap(), n_tokens);
        let mut limited = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(n_tokens)).unwrap();
        while !limited.is_terminated() {
            let mask = limited.mask().unwrap();
            let token = mask.iter().last().expect("it can be completed");
            assert!(limited.accept_token(token).unwrap(), "{source}");
        }
        assert!(
            Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(n_tokens - 1)).is_err(),
            "{source}"
        );
    }
    // Texts longer than `aaaa` may be found first, so the number may be too high. The completion is at most
    // that long.
    for source in [
        "start: \"a\" \"a\" P\nP: \"aa\"\n%ignore \" \"\n",
        "start: \"a\" r P\nr: \"a\" | \"b\" r\nP: \"aa\"\n",
    ] {
        let compiled =
            compile(source, false, LexerKind::Contextual, &vocabulary(&letters), Options::default()).unwrap();
        let least = Matcher::new(&compiled).tokens_to_finish().unwrap();
        let completion = Matcher::new(&compiled).finish().unwrap();
        assert!(
            (5..=7).contains(&least.n_tokens) && completion.len() <= least.n_tokens,
            "{source}: {least:?}"
        );
        assert_eq!(Matcher::new(&compiled).accept_tokens(&completion).unwrap(), completion.len());
    }
    // If the vocabulary cannot spell the text that is found first, its tokens are tried.
    let compiled = compile(
        "start: A A B+\nA: \"x\"\nB: \"xx\"\n",
        false,
        LexerKind::Contextual,
        &vocabulary(&["xxx"]),
        Options::default(),
    );
    let least = Matcher::new(&compiled.unwrap()).tokens_to_finish().unwrap();
    assert_eq!(least.n_tokens, 3);
}

/// Without a `.` no text can be completed, and each `b` leads to a deeper stack: looking for a completion
/// ends soon all the same.
#[test]
fn a_search_ends_soon_where_rules_go_ever_deeper() {
    let source = "start: r1 T0 T2\nr0: T2 T2 | T1* (T2 r1)* | T0\nr1: T1+ T0 r1 T0 T1 | r0 r0 [r0 T2] | T1 T2\n\
                  T0: /[ab]+/\nT1: /a+\\.a+/\nT2: /[a.]+b/\n%ignore /\\.\\./\n";
    let tokens = vocabulary(&[" ", "ab", "ba", "aa"]);
    let compiled = compile(source, false, LexerKind::Basic, &tokens, Options::default()).unwrap();
    let error = Matcher::new(&compiled).tokens_to_finish().unwrap_err();
    assert!(error.to_string().contains("no completion"), "{error}");
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn random_grammars(
        source in arb_source(),
        tokens in some_of(SMALL_TOKENS),
        choices in prop::collection::vec(any::<u16>(), 1..4),
        lexer in select(vec![LexerKind::Basic, LexerKind::Contextual]),
    ) {
        // Without memoising the engine looks for the same completions again and again where tokens cannot
        // stand side by side.
        check(&source, (false, lexer), &tokens, &choices, Options::default())?;
    }

    #[test]
    fn indentation(
        tokens in letters_and_some_of(INDENTED_TOKENS),
        choices in prop::collection::vec(any::<u16>(), 1..8),
        options in arb_options(),
        lexer in select(vec![LexerKind::Basic, LexerKind::Contextual]),
    ) {
        check(INDENTED, (true, lexer), &tokens, &choices, options)?;
    }

    #[test]
    fn brackets_and_comments(
        tokens in some_of(BRACKETS_TOKENS),
        choices in prop::collection::vec(any::<u16>(), 1..8),
        options in arb_options(),
        lexer in select(vec![LexerKind::Basic, LexerKind::Contextual]),
    ) {
        check(BRACKETS, (false, lexer), &tokens, &choices, options)?;
    }

    #[test]
    fn keywords(
        tokens in some_of(KEYWORDS_TOKENS),
        choices in prop::collection::vec(any::<u16>(), 1..8),
        options in arb_options(),
        lexer in select(vec![LexerKind::Basic, LexerKind::Contextual]),
    ) {
        check(KEYWORDS, (false, lexer), &tokens, &choices, options)?;
    }

    #[test]
    fn random_walks_end_in_time(
        choices in prop::collection::vec(any::<u16>(), 1..40),
        spare in 0usize..25,
    ) {
        for lexer in [LexerKind::Basic, LexerKind::Contextual] {
            let of = |source, is_indented, tokens: &[&str]| {
                compile(source, is_indented, lexer, &vocabulary(tokens), Options::default()).unwrap()
            };
            walk_within(&of(INDENTED, true, &INDENTED_TOKENS), &choices, spare)?;
            walk_within(&of(BRACKETS, false, &BRACKETS_TOKENS), &choices, spare)?;
            walk_within(&of(KEYWORDS, false, &KEYWORDS_TOKENS), &choices, spare)?;
        }
    }

    #[test]
    fn random_walks_of_random_grammars_end_in_time(
        source in arb_source(),
        tokens in some_of(SMALL_TOKENS),
        choices in prop::collection::vec(any::<u16>(), 1..8),
        spare in 0usize..9,
        lexer in select(vec![LexerKind::Basic, LexerKind::Contextual]),
    ) {
        let compiled = compile(&source, false, lexer, &vocabulary(&tokens), Options::default());
        prop_assume!(compiled.is_some());
        walk_within(&compiled.unwrap(), &choices, spare)?;
    }
}
