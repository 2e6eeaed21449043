//! Grammars without a lexer against their definition: a text is in the language iff it splits, in any way,
//! into words of terminals and of ignored ones that the rules derive. Which words a terminal has at a place
//! of the text is what Lark asks of Python's `re` there, so that assertions see the text around a word. An
//! ignored terminal has at most one word there: its match.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod common;

use std::collections::{BTreeSet, HashMap};

use maskwright_automata::Fuel;
use maskwright_grammar::{Expr, ExprId};
use maskwright_lark::{
    ImportRequest, ImportedGrammar, LarkConfig, LarkDialect, LarkGrammar, LexerKind, SyntaxError, parse_lark,
};
use maskwright_lexing::find_prefix;
use maskwright_oracle::Oracle;
use proptest::prelude::*;
use serde_json::Value;

fn read(source: &str) -> Result<LarkGrammar, SyntaxError> {
    let config = LarkConfig { lexer: LexerKind::DynamicComplete, ..LarkConfig::default() };
    parse_lark(source, "test.lark", &config, &Fuel::new(1 << 26))
}

/// The definition, literally: by expression and place, where its texts end, to the least fixed point.
struct Definition<'a> {
    grammar: &'a LarkGrammar,
    text: &'a [u8],
    ends: HashMap<(ExprId, usize), BTreeSet<usize>>,
    has_changed: bool,
}

impl Definition<'_> {
    fn is_text(grammar: &LarkGrammar, text: &[u8]) -> bool {
        let mut definition = Definition { grammar, text, ends: HashMap::new(), has_changed: true };
        let rules = &grammar.lexed.rules;
        let start = rules.body(rules.start());
        loop {
            definition.has_changed = false;
            let mut seen = BTreeSet::new();
            let begins = definition.ignoring(0);
            let is_text =
                begins.into_iter().any(|at| definition.ends(start, at, &mut seen).contains(&text.len()));
            if is_text || !definition.has_changed {
                return is_text;
            }
        }
    }

    /// Whether the terminal's match in the text at `from` ends at `to`, or that of a prefix of this match in
    /// the prefix alone.
    fn is_word(&self, terminal: usize, from: usize, to: usize) -> bool {
        let pattern = &self.grammar.lexed.terminals[terminal].pattern;
        let find = |text, at| find_prefix(pattern, text, at, &Fuel::unlimited()).unwrap();
        let Some(end) = find(self.text, from) else { return false };
        let mut prefixes = (to..end).filter(|&cut| (self.text[cut] & 0xC0) != 0x80);
        end == to || prefixes.any(|cut| find(&self.text[from..cut], 0) == Some(to - from))
    }

    /// Where ignored words that begin at `at` may end, `at` included.
    fn ignoring(&self, at: usize) -> BTreeSet<usize> {
        let mut ends = BTreeSet::from([at]);
        let mut work = vec![at];
        while let Some(from) = work.pop() {
            for id in &self.grammar.lexed.ignored {
                let pattern = &self.grammar.lexed.terminals[id.index()].pattern;
                let end = find_prefix(pattern, self.text, from, &Fuel::unlimited()).unwrap();
                work.extend(end.filter(|&to| ends.insert(to)));
            }
        }
        ends
    }

    /// What is known of where texts of `expr` that begin at `at` end.
    fn ends(&mut self, expr: ExprId, at: usize, seen: &mut BTreeSet<(ExprId, usize)>) -> BTreeSet<usize> {
        if !seen.insert((expr, at)) {
            return self.ends.get(&(expr, at)).cloned().unwrap_or_default();
        }
        let rules = &self.grammar.lexed.rules;
        let found: BTreeSet<usize> = match rules.pool().get(expr).clone() {
            Expr::Never => BTreeSet::new(),
            Expr::Epsilon => BTreeSet::from([at]),
            Expr::Terminal(terminal) if terminal.index() < self.grammar.lexed.terminals.len() => (at + 1
                ..=self.text.len())
                .filter(|&to| self.is_word(terminal.index(), at, to))
                .flat_map(|to| self.ignoring(to))
                .collect(),
            Expr::Terminal(_) => BTreeSet::new(),
            Expr::Rule(rule) => self.ends(rules.body(rule), at, seen),
            Expr::Seq(head, tail) => {
                let middles = self.ends(head, at, seen);
                middles.into_iter().flat_map(|at| self.ends(tail, at, seen)).collect()
            }
            Expr::Alt(parts) => parts.iter().flat_map(|&part| self.ends(part, at, seen)).collect(),
            Expr::Repeat { inner, min, max } => {
                let (mut all, mut last) = (BTreeSet::new(), BTreeSet::from([at]));
                for n in 0..=max.map_or(min as usize + self.text.len() + 1, |max| max as usize) {
                    if n >= min as usize {
                        all.extend(last.iter().copied());
                    }
                    last = last.into_iter().flat_map(|at| self.ends(inner, at, seen)).collect();
                }
                all
            }
            Expr::Shuffle(_) => unreachable!("Lark has no shuffles"),
        };
        let known = self.ends.entry((expr, at)).or_default();
        let n_known = known.len();
        known.extend(found);
        self.has_changed |= known.len() > n_known;
        known.clone()
    }
}

/// All texts over x, y and z of at most `length` letters.
fn texts(length: usize) -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
    let mut begin = 0;
    for _ in 0..length {
        let end = texts.len();
        for index in begin..end {
            texts.extend(b"xyz".map(|letter| [texts[index].as_slice(), &[letter]].concat()));
        }
        begin = end;
    }
    texts
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "A",
        "B",
        "A",
        "B",
        "\"x\"",
        "\"y\"",
        "/xy?/",
        "/y|yx/",
        "/x*?y/",
        "start",
        "other",
        "/z(?!x)y?/",
        "/x+(?=y)/",
        "/(?<!x)[yz]/",
        "/((?!xy).)+/",
        "/[xy]+(?![xy])/",
        "/(?<=y)x|^y/",
        "/yx?$/",
        "/x(?=yz?)y(?!z)|xyz/",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(3, 8, 3, |inner| {
        let operator = prop::sample::select(vec!["?", "*", "+", "~2", "~1..2"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| parts.join(" ")),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|parts| format!("({})", parts.join(" | "))),
            (inner, operator).prop_map(|(inner, operator)| format!("({inner}){operator}")),
        ]
    })
}

/// Ignored patterns: some have words that are prefixes of others, some see the text around them.
const IGNORED: &[&str] = &[
    "\"z\"",
    "/zy*/",
    "/z+/",
    "/z[^y]*/",
    "/z+?y?/",
    "/z|zy/",
    "/zy|z/",
    "/z.*?y/",
    "/zx?y?/",
    "/z+(?=x)/",
    "/(?<=x)z+/",
    "/z(?!x)|x/",
    "/[yz]+/",
    "/(?<![xz])z/",
    "/z.*$/",
    "A",
    "B",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn texts_are_those_of_the_definition(
        start in expression(),
        other in expression(),
        ignored in prop::collection::vec(prop::sample::select(IGNORED.to_vec()), 0..3),
    ) {
        let ignored: String = ignored.iter().map(|ignored| format!("%ignore {ignored}\n")).collect();
        let source = format!("start: {start}\nother: \"y\" | {other}\nA: /x+/\nB: /(x|xy)+?y?/\n{ignored}");
        let Ok(grammar) = read(&source) else { return Err(TestCaseError::reject("not taken")) };
        let oracle = Oracle::new(grammar.over_bytes.as_ref().unwrap());
        for text in texts(5) {
            let shown = String::from_utf8_lossy(&text);
            prop_assert_eq!(oracle.is_word(&text), Definition::is_text(&grammar, &text), "{} of {}", shown, source);
        }
    }
}

/// Grammars, and the texts over x, y and z of at most four letters that Lark 1.3.1 accepts with
/// `parser="earley", lexer="dynamic_complete"`.
#[test]
fn texts_are_those_that_lark_accepts() {
    let recorded = ["dynamic_complete.json", "ignored_matches.json"].map(|name| {
        let recorded = std::fs::read_to_string(common::testdata().join(name)).unwrap();
        serde_json::from_str::<Vec<Value>>(&recorded).unwrap()
    });
    assert!(recorded.iter().all(|recorded| recorded.len() >= 60));
    for case in recorded.iter().flatten() {
        let source = case["source"].as_str().unwrap();
        let accepted: BTreeSet<&str> =
            case["accepted"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
        let oracle = Oracle::new(read(source).unwrap().over_bytes.as_ref().unwrap());
        for text in texts(4) {
            let shown = std::str::from_utf8(&text).unwrap();
            assert_eq!(oracle.is_word(&text), accepted.contains(shown), "{shown} of {source}");
        }
    }
}

/// In llguidance's dialect a terminal is a regular language, and may have the empty text; in Lark's it is a
/// match of Python's `re`.
#[test]
fn terminals_of_llguidance_are_languages() {
    let config = LarkConfig {
        lexer: LexerKind::DynamicComplete,
        dialect: LarkDialect::Llguidance,
        ..LarkConfig::default()
    };
    for (source, right, wrong) in [
        ("start: \"x\" /y*/ \"z\"", &["xz", "xyyz"][..], &["xy", "yz"][..]),
        ("start: A+\nA: /y*/", &["", "yyy"], &["x"]),
        ("start: A \"z\"\nA: /x|xy/", &["xz", "xyz"], &["z"]),
        ("start: A \"z\"\nA: /x*?/\n%ignore \"y\"", &["z", "xxz", "yxyz"], &["xyxz"]),
    ] {
        let grammar = parse_lark(source, "test.lark", &config, &Fuel::unlimited()).unwrap();
        let oracle = Oracle::new(grammar.over_bytes.as_ref().unwrap());
        right.iter().for_each(|text| assert!(oracle.is_word(text.as_bytes()), "{text} of {source}"));
        wrong.iter().for_each(|text| assert!(!oracle.is_word(text.as_bytes()), "{text} of {source}"));
        assert!(source.contains("x|xy") || read(source).is_err(), "{source}");
    }
    let ignored = parse_lark("start: \"x\"\n%ignore /y*/", "test.lark", &config, &Fuel::unlimited());
    assert!(ignored.unwrap_err().message().contains("matches the empty text"));
}

/// What llguidance's documentation writes and Lark does not: counts in braces, its line of options, and other
/// grammars by name.
#[test]
fn notation_of_llguidance() {
    let grammars = |request: &ImportRequest<'_>| {
        let text = match request.path {
            "call.lark" => {
                r#"start: %json {"type": "object", "properties": {"n": {"enum": [1]}}, "required": ["n"], "additionalProperties": false}"#
            }
            "my-list.lark" => "start: \"[\" item{1,2} @deep \"]\"\nitem: DIGIT \",\"\nDIGIT: /[0-9]/",
            "own.lark" => "start: \"a\" \"b\"\n%ignore \" \"",
            "deep.lark" => "%llguidance {\"no_forcing\": true}\nstart: \"!\"",
            _ => return None,
        };
        Some(ImportedGrammar { name: request.path.to_owned(), text: text.to_owned() })
    };
    let config = LarkConfig {
        lexer: LexerKind::DynamicComplete,
        dialect: LarkDialect::Llguidance,
        resolver: Some(&grammars),
        ..LarkConfig::default()
    };
    for (source, right, wrong) in [
        ("start: \"a\"{2}", &["aa"][..], &["a", "aaa"][..]),
        ("start: (\"a\" | B){1,2}\nB: \"b\"", &["a", "ab", "bb"], &["", "aba"]),
        ("start: item{,2}\nitem: \"a\"", &["", "a", "aa"], &["aaa"]),
        ("start: \"x\" A\nA: /a/{2,}", &["xaa", "xaaaaa"], &["xa"]),
        ("start: \"a\"{2,} item{0,}\nitem: \"b\"", &["aa", "aaab"], &["ab"]),
        ("start: @deep x\n%import deep.start -> x", &["!!"], &["!"]),
        ("%llguidance {}\nstart: \"f\" @call @call", &["f{\"n\":1}{\"n\": 1}"], &["f", "f{}{}"]),
        ("%llguidance {\"allow_initial_skip\": true}\nstart: @my-list", &["[1,!]", "[1,2,!]"], &["[!]"]),
    ] {
        let grammar = parse_lark(source, "test.lark", &config, &Fuel::unlimited()).unwrap();
        let oracle = Oracle::new(grammar.over_bytes.as_ref().unwrap());
        right.iter().for_each(|text| assert!(oracle.is_word(text.as_bytes()), "{text} of {source}"));
        wrong.iter().for_each(|text| assert!(!oracle.is_word(text.as_bytes()), "{text} of {source}"));
    }
    for (source, message) in [
        ("start: @own", "`%ignore` in a grammar that another one uses"),
        ("start: @cal", "no grammar `cal` is found"),
        ("start: \"a\"{2,1}", "2 to 1 repetitions"),
        ("start: \"a\"{2", "a number of repetitions or `}`"),
        ("%llguidance\nstart: \"a\"", "`%llguidance` without options after"),
        ("%llguidance {\nstart: \"a\"", "the options are not JSON"),
        ("%llguidance {\"ignore_once\": true}\nstart: \"a\"", "is not supported"),
        ("%llguidance {\"no_forcing\": 1}\nstart: \"a\"", "is 1, not true or false"),
        ("start[lazy]: \"a\"", "`:` is expected"),
    ] {
        let error = parse_lark(source, "test.lark", &config, &Fuel::unlimited()).unwrap_err();
        assert!(error.message().contains(message), "{source}: {error}");
    }
    let lark = LarkConfig::default();
    let error =
        parse_lark("%llguidance {}\nstart: \"a\"", "test.lark", &lark, &Fuel::unlimited()).unwrap_err();
    assert!(error.message().contains("only in grammars of llguidance's dialect"), "{error}");
}

#[test]
fn a_schema_is_a_rule_a_terminal_an_argument_or_a_file() {
    let call = r#"%json {"type": "object", "properties": {"n": {"enum": [1, "}"]}}, "required": ["n"],
        "additionalProperties": false}"#;
    let sources = [
        format!("start: \"f\" {call} \";\"\n%ignore \" \""),
        format!("start: \"f\" call \";\"\ncall: {call} // the arguments\n%ignore \" \""),
        format!("start: \"f\" CALL \";\"\nCALL: {call}\n%ignore \" \""),
        format!("start: then{{\"f\", {call}}} \";\"\nthen{{a, b}}: a b\n%ignore \" \""),
    ];
    for source in sources {
        let grammar = read(&source).unwrap();
        let oracle = Oracle::new(grammar.over_bytes.as_ref().unwrap());
        assert!(oracle.is_word(b" f{\"n\": 1} ; "), "{source}");
        assert!(oracle.is_word(b"f {\"n\": \"}\"};"), "{source}");
        assert!(!oracle.is_prefix(b"f {\"n\": 2") && !oracle.is_prefix(b"f {\"m"), "{source}");
    }
}

#[test]
fn what_is_wrong_with_a_schema_is_said_where_it_stands() {
    let cases = [
        ("start: %json 1", 8, "`%json` without a JSON Schema behind it"),
        ("start: %json {\"type\": }", 8, "is not JSON"),
        ("start: \"a\" %json {\"type\": \"strin\"}", 12, "strin"),
        ("start: \"a\" %json {\"not\": {}}", 12, "no"),
        ("start: \"a\" %json {\"items\": {}, \"uniqueItems\": true}", 12, "`uniqueItems` in a schema inside"),
        ("start: A\nA: \"a\" %json {}", 8, "a part of a terminal"),
        ("start: \"a\"\n%ignore %json {}", 9, "can't be ignored"),
        ("start: \"a\"\nA: %json {}\n%ignore A", 9, "can't be ignored"),
        ("start: %json \"../call.json\"", 8, "the file \"../call.json\" of a schema"),
        ("start: %json \"call.json\"", 8, "no file \"call.json\" is found"),
        ("start: %json {\"a\": {\"b\"", 8, "is not JSON"),
    ];
    for (source, column, message) in cases {
        let error = read(source).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.column(), column, "{error}");
    }
    for lexer in [LexerKind::Basic, LexerKind::Contextual] {
        let config = LarkConfig { lexer, ..LarkConfig::default() };
        let error =
            parse_lark("start: \"a\" %json {}", "test.lark", &config, &Fuel::unlimited()).unwrap_err();
        assert!(error.hint().unwrap().contains("dynamic_complete"), "{error}");
    }
}

/// For each grammar, texts that are in its language, and texts that are not.
#[test]
fn ignored_words_end_where_their_match_ends() {
    let cases: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(common::testdata().join("ignored_ends.json")).unwrap())
            .unwrap();
    let mut n_judged = 0;
    for case in &cases {
        let source = case["source"].as_str().unwrap();
        let grammar = read(source).unwrap();
        let oracle = Oracle::new(grammar.over_bytes.as_ref().unwrap());
        for (key, is_word) in [("accepted", true), ("refused", false)] {
            for text in case[key].as_array().unwrap() {
                let text = text.as_str().unwrap();
                assert_eq!(oracle.is_word(text.as_bytes()), is_word, "{text:?} of {source}");
                n_judged += 1;
            }
        }
    }
    assert!(n_judged >= 60);
}

#[test]
fn ignored_texts_that_need_no_context_stay_one_terminal() {
    let n_terminals = |ignored: &str| {
        let grammar = read(&format!("start: (\"a\" | B)+ \"c\"\nB: /b+/\n{ignored}")).unwrap();
        grammar.over_bytes.unwrap().terminals().len()
    };
    let with_blanks = n_terminals("%ignore /[ \t]+/\n%ignore /\\n/");
    assert_eq!(n_terminals("") + 1, with_blanks);
    assert_eq!(n_terminals("%ignore /\\s+/\n%ignore /\\/\\*.*?\\*\\//s\n"), with_blanks);
    let with_comments = n_terminals("%ignore /\\s+/\n%ignore /#[^\\n]*/\n");
    assert_eq!(with_comments, with_blanks + 1, "a comment at the end of the text is another terminal");
}

/// With `TEXT`, a rule can read blanks that could also be ignored, and what is ignored depends on the text
/// after it.
#[test]
fn ignored_text_around_a_schema_ends_where_its_match_ends() {
    for text in ["", "TEXT: /[ t]+/"] {
        let rule = if text.is_empty() { "" } else { " | TEXT" };
        let source = format!(
            "start: \"x\" %json {{\"type\": [\"integer\", \"object\"]}} (\"y\"{rule})\n{text}\n%ignore /#[^\\n]*/\n%ignore /\\s+/"
        );
        let grammar = read(&source).unwrap();
        let oracle = Oracle::new(grammar.over_bytes.as_ref().unwrap());
        for text in ["x1y", "x 1#y\ny", "#\nx#x\n 1 #2\n#3\n y#", "x {\"a\": [1]}#\n\ty \n#"] {
            assert!(oracle.is_word(text.as_bytes()), "{text:?} of {source}");
        }
        for text in ["x1#y", "x#1y", "#x1y", "x 1#\n# y", "x {}# y"] {
            assert!(!oracle.is_word(text.as_bytes()), "{text:?} of {source}");
        }
        let has_text = !text.is_empty();
        for (text, is_word) in [
            ("x1 t", has_text),
            ("x1 ", has_text),
            ("x1#\n t", has_text),
            ("x1t #\n", has_text),
            ("x1#\n ", false),
        ] {
            assert_eq!(oracle.is_word(text.as_bytes()), is_word, "{text:?} of {source}");
        }
    }
}

#[test]
fn tokens_by_name_may_follow_ignored_text() {
    for source in [
        "start: TEXT <[5]> \"b\"\nTEXT: /[a ]+/\n%ignore / +/",
        "start: A <[5]> \"b\"\nA: /a(?!b)/\n%ignore \" \"",
    ] {
        let grammar = read(source).unwrap().over_bytes.unwrap();
        let words = grammar.terminals().iter().filter_map(maskwright_automata::Regex::as_literal);
        let token = words.into_iter().find(|word| word.first() == Some(&0xFF)).unwrap();
        let oracle = Oracle::new(&grammar);
        for (before, after) in [("a", "b"), ("a ", "b"), ("a", " b")] {
            let text = [before.as_bytes(), &token, after.as_bytes()].concat();
            assert!(oracle.is_word(&text), "{before:?} {after:?} of {source}");
        }
        assert!(!oracle.is_word(b"ab") && !oracle.is_word(&token));
    }
}

#[test]
fn hostile_surroundings_end_in_a_limit() {
    let long = |n: usize| format!("start: {} A B\nA: /a(?!b)/\nB: /[bc]/", "\"x\" ".repeat(n));
    let word = [vec![b'x'; 400], b"ac".to_vec()].concat();
    assert!(Oracle::new(read(&long(400)).unwrap().over_bytes.as_ref().unwrap()).is_word(&word));
    let hostile = [
        long(20_000),
        format!("start: {}A{} B\nA: /a(?!b)/\nB: /[bc]/", "(B ".repeat(150), ")".repeat(150)),
        "start: (A | B)~1000000\nA: /a(?!b)/\nB: /[bc]/".to_owned(),
        "start: A+\nA: /(?:a|b)*?a(?!(?:a|b){18}c)/".to_owned(),
        "start: A+\nA: /(?<=a(?:a|b){18})b|a/".to_owned(),
        "start: A+ \"c\"\nA: /(?:(?!(?:a|b)*a(?:a|b){9}c).)+?b/".to_owned(),
        "start: /[ab]/+\n%ignore /(?:a|b)*a(?:a|b){12}/".to_owned(),
        "start: /[ab]/+\n%ignore /(?:a(?:a|b){14}c|a)/\n%ignore /b(?:a|b){14}c|b/".to_owned(),
    ];
    let config = LarkConfig { lexer: LexerKind::DynamicComplete, ..LarkConfig::default() };
    for source in hostile {
        match parse_lark(&source, "test.lark", &config, &Fuel::new(1 << 22)) {
            Ok(grammar) => assert!(grammar.over_bytes.is_some()),
            Err(error) => assert!(error.is_limit() && error.hint().is_some(), "{error}"),
        }
    }
}

#[test]
fn fuel_ends_the_work_anywhere() {
    let config = LarkConfig { lexer: LexerKind::DynamicComplete, ..LarkConfig::default() };
    let sources = [
        "start: \"a\" b\nb: \"c\" start?",
        "start: A+ \"b\" \"c\"?\nA: /a(?!b)|(?<=a)b/\n%ignore \" \"",
        "start: \"a\"+ %json {}\n%ignore /#[^\\n]*/\n%ignore /\\s+/",
        "start: \"a\"+ \" b\"\n%ignore /a?\\s+/",
    ];
    for source in sources {
        let needed = Fuel::new(1 << 22);
        parse_lark(source, "test.lark", &config, &needed).unwrap();
        let needed = (1 << 22) - needed.left();
        for limit in (0..100).map(|part| needed * part / 100) {
            let error = parse_lark(source, "test.lark", &config, &Fuel::new(limit)).unwrap_err();
            assert!(error.is_limit(), "{error}");
        }
    }
}

#[test]
fn hostile_terminals_end_in_a_limit() {
    let alternatives: Vec<String> = (0..400).map(|n| format!("a{{{n}}}b?a{{{n}}}?")).collect();
    for pattern in [alternatives.join("|"), "(?:a|b)*?a(?:a|b){18}".to_owned(), "(?:a?|b){5000}?c".to_owned()]
    {
        let config = LarkConfig { lexer: LexerKind::DynamicComplete, ..LarkConfig::default() };
        let source = format!("start: A\nA: /(?:{pattern})c/");
        match parse_lark(&source, "test.lark", &config, &Fuel::new(1 << 26)) {
            Ok(grammar) => assert!(grammar.over_bytes.is_some()),
            Err(error) => assert!(error.is_limit(), "{error}"),
        }
    }
}
