//! How errors look, as snapshots, and that hostile input ends in one.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it did"
)]

use std::fmt::Write;

use maskwright_automata::{CancelToken, Fuel};
use maskwright_syntax::regex::{Dialect, parse, parse_search};
use maskwright_syntax::{SyntaxError, choice, parse_gbnf};

#[test]
fn regex_errors() {
    let mut rendered = String::new();
    for pattern in [
        "a(b",
        "a)b",
        "x**",
        "*x",
        "a{3,2}",
        "a{,3}",
        "[a-",
        "[z-a]",
        r"(a)\1",
        r"\k<n>",
        r"\q",
        r"\u{110000}",
        r"\p{Nope}",
        r"\x4",
        "é(?>a)",
        "(?<=ab*)c",
        "(?:(?!ab)b+)*c",
        "a++",
        "(?<>a)",
        "a\\",
        "(?:(?=a)b){300}",
    ] {
        let error = parse(pattern, Dialect::Ecma, &Fuel::new(1 << 20)).unwrap_err();
        writeln!(rendered, "{error}\n").unwrap();
    }
    for pattern in ["a(b", "[z-a]", r"\p{Nope}", r"(?-u:\xFF)", "(?R)(?m)^a"] {
        let error = parse(pattern, Dialect::Rust, &Fuel::new(1 << 20)).unwrap_err();
        writeln!(rendered, "{error}\n").unwrap();
    }
    insta::assert_snapshot!(rendered);
}

#[test]
fn gbnf_errors() {
    let mut rendered = String::new();
    for source in [
        "",
        "rot ::= \"a\"",
        "root ::= item+ \"x\"\n",
        "root ::= \"a\"\nroot ::= \"b\"\n",
        "root ::= \"abc\n",
        "root ::= [a-z\n",
        "root ::= [z-a]\n",
        "root ::= (\"a\" | \"b\"\nother ::= \"c\"\n",
        "root ::= \"a\")\n",
        "root = \"a\"\n",
        "root ::= * \"a\"\n",
        "root ::= \"a\"{2,1}\n",
        "root ::= \"a\"{,1}\n",
        "root ::= \"\\q\"\n",
        "root ::= \"\\uD800\"\n",
        "root ::= <[1-]>\n",
        "root ::= <[99999999999]>\n",
        "root ::= <two words>\n",
        "root ::= !\"a\"\n",
        "root ::= !<[*]>\n",
        "root ::= \"a\" (=\"b\")\n",
        "root ::= TagDispatch((\"<a>\", a), stop_eos=true)\na ::= \"b\"\n",
        "root ::= Token(1, 2)\n",
        "root ::= \"a\" | \"b\" ::= \"c\"\n",
        "\"a\" ::= root\n",
    ] {
        let error = parse_gbnf(source, "test.gbnf", &Fuel::new(1 << 20)).unwrap_err();
        writeln!(rendered, "{error}\n").unwrap();
    }
    writeln!(rendered, "{}", choice::<String>(&[]).unwrap_err()).unwrap();
    insta::assert_snapshot!(rendered);
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let pattern = format!("{}(", "ab".repeat(30_000));
    let error = parse(&pattern, Dialect::Ecma, &Fuel::new(1 << 20)).unwrap_err();
    assert_eq!((error.line(), error.column(), error.offset()), (1, 60_001, 60_000));
    assert!(error.to_string().len() < 2_000);
}

fn is_limit<T>(result: Result<T, SyntaxError>) -> bool {
    result.is_err_and(|error| error.is_limit())
}

#[test]
fn errors_of_the_python_dialect() {
    for (pattern, column, told) in [
        (r"ab(c)\1", 6, "back-references are not supported"),
        ("a++", 3, "possessive repetition is not supported"),
        ("(?<=ab*)c", 1, "must have a greatest length"),
        ("(?:(?!ab)b+)*c", 1, "look-ahead inside an unbounded repetition"),
    ] {
        let error = parse(pattern, Dialect::Python, &Fuel::new(1 << 20)).unwrap_err();
        assert_eq!(error.column(), column, "{pattern}");
        assert!(error.message().contains(told), "{pattern}: {}", error.message());
    }
}

#[test]
fn look_around_without_a_dialect_is_taken_where_python_and_javascript_agree() {
    let fuel = || Fuel::new(1 << 22);
    let both = "\"python\" and \"ecma\" read this pattern";
    for (pattern, told) in [
        ("(?=a)a", None),
        (r"(?!foo)[a-z]{3}\d", None),
        (r"(?=[^\n]*[0-9])[a-z0-9]{4,}(?<!9)", None),
        (r"\b(?!x)\w+", None),
        // `.` has carriage returns in Python, `\s` is more in JavaScript.
        (r"(?=.*[0-9]).{4,}", Some(both)),
        (r"(?=\s)[\s\w]*", Some(both)),
        ("(?<=a(?#ab))b", Some("\"python\" reads this pattern")),
        (r"(?=\/)[^]", Some("\"ecma\" reads this pattern")),
        ("(?=a", Some("")),
        (r"(?=(a)\1)a", Some("")),
    ] {
        match (parse(pattern, Dialect::RustAscii, &fuel()), told) {
            (Ok(language), None) => {
                assert_eq!(language, parse(&format!("(?a){pattern}"), Dialect::Python, &fuel()).unwrap());
            }
            (Err(error), Some(told)) => {
                let hint = error.hint().unwrap_or_default();
                assert!(hint.contains(told) && hint.is_empty() == told.is_empty(), "{pattern}: {error}");
            }
            (result, _) => panic!("{pattern}: {:?}", result.map(|_| "taken")),
        }
        // A dialect that is named has what it has.
        let error = parse(pattern, Dialect::Rust, &fuel()).unwrap_err();
        assert_eq!(error.hint().is_none(), told == Some(""), "{pattern}: {error}");
    }
}

#[test]
fn hostile_patterns_end() {
    let fuel = || Fuel::new(1 << 20);
    let deep = |n: usize| "(".repeat(n) + "a" + &")".repeat(n);
    for dialect in [Dialect::Rust, Dialect::Ecma, Dialect::Python] {
        assert!(parse(&deep(200), dialect, &fuel()).is_ok());
        assert!(is_limit(parse(&deep(100_000), dialect, &fuel())));
        assert!(parse(&"(?:".repeat(100_000), dialect, &fuel()).is_err());
        // A counted repetition is one node, however large.
        assert!(parse("(((a{1000}){1000}){1000}){1000}", dialect, &fuel()).is_ok());
        assert!(parse_search("(a+)+$", dialect, &fuel()).is_ok());
        assert!(is_limit(parse("a{99999999999}", dialect, &fuel())) || dialect != Dialect::Ecma);
        // Each of these assertions doubles what follows.
        let doubling = r"(?:a\b.|b\B.|.\bc)".repeat(60);
        assert!(is_limit(parse(&doubling, dialect, &fuel())));
        assert!(is_limit(parse("aaaa", dialect, &Fuel::new(2))));
    }
    assert!(is_limit(parse(&"a".repeat(100_000), Dialect::Ecma, &fuel())));
    // Case folding and large classes, as many as fit.
    for (dialect, class) in [(Dialect::Rust, r"\pL"), (Dialect::Ecma, r"\pL")] {
        let classes = format!("(?i){}", class.repeat(20_000));
        assert!(is_limit(parse(&classes, dialect, &fuel())));
    }
    assert!(is_limit(parse(&deep(251), Dialect::Ecma, &fuel())));
    let look = "(?=".repeat(240) + "a" + &")".repeat(240);
    assert!(parse_search(&look, Dialect::Ecma, &fuel()).is_ok());
    let many_kinds: String = ('a'..='z').map(|letter| format!("(?<={letter})")).collect();
    assert!(is_limit(parse(&many_kinds, Dialect::Ecma, &fuel())));
}

#[test]
fn hostile_grammars_end() {
    let fuel = || Fuel::new(1 << 24);
    let deep = |n: usize| format!("root ::= {}\"a\"{}", "(".repeat(n), ")".repeat(n));
    assert!(parse_gbnf(&deep(250), "deep", &fuel()).is_ok());
    assert!(is_limit(parse_gbnf(&deep(100_000), "deep", &fuel())));
    assert!(is_limit(parse_gbnf(&format!("root ::= \"a\"{}", "*".repeat(100_000)), "stars", &fuel())));
    let wide = format!("root ::= \"a\"{}", "|\"b\"".repeat(2_000_000));
    assert!(parse_gbnf(&wide, "wide", &fuel()).is_ok());
    let long = format!("root ::= \"a\"{}", " root".repeat(500_000));
    assert!(parse_gbnf(&long, "long", &fuel()).is_ok());
    assert!(is_limit(parse_gbnf(&long, "long", &Fuel::new(1_000))));
    let lines = format!("root ::= \"a\"{}", "\n".repeat(1_000_000));
    assert!(parse_gbnf(&lines, "lines", &fuel()).is_ok());
}

#[test]
fn work_can_be_cancelled() {
    let token = CancelToken::new();
    token.cancel();
    let fuel = Fuel::unlimited().with_cancel(token);
    assert!(parse("a", Dialect::Ecma, &fuel).unwrap_err().is_cancelled());
    assert!(parse_gbnf("root ::= \"a\"", "grammar", &fuel).unwrap_err().is_cancelled());
}

#[test]
fn what_is_no_gbnf_is_recognised() {
    let hint = |source: &str| {
        let error = maskwright_syntax::parse_gbnf(source, "grammar", &maskwright_automata::Fuel::unlimited())
            .unwrap_err();
        error.hint().map(str::to_owned)
    };
    assert!(hint("grammars/todo.gbnf").unwrap().contains("name of a file"));
    assert!(hint("start: \"a\"\n").unwrap().contains("Lark"));
    assert!(hint("?start: item+\nitem: \"a\"\n").unwrap().contains("Lark"));
    assert_eq!(hint("root ::= \"a: b").filter(|hint| hint.contains("Lark")), None);
}
