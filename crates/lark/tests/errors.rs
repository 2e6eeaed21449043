//! How errors look, as a snapshot, and that hostile grammars end in one.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fmt::Write;

use maskwright_automata::{CancelToken, Fuel};
use maskwright_lark::{
    ImportRequest, ImportedGrammar, Indentation, LarkConfig, SyntaxError, builtin, builtin_names, parse_lark,
};

fn refuse(source: &str) -> SyntaxError {
    let imports = |request: &ImportRequest<'_>| {
        let text = match request.path {
            "lib/list.lark" => "list{x}: x (\",\" x)*\nNAME: LETTER+\nLETTER: /[a-z]/\n",
            "lib/broken.lark" => "list: (\"a\" | \"b\"\n",
            "lib/loop.lark" => "%import .loop.NAME\nNAME: \"x\"\n",
            "lib/lib/loop.lark" | "lib/loop/loop.lark" => "%import .loop.NAME\n",
            path if path.ends_with("loop.lark") => "%import .loop.NAME\n",
            _ => return None,
        };
        Some(ImportedGrammar { name: request.path.to_owned(), text: text.to_owned() })
    };
    let config = LarkConfig { resolver: Some(&imports), ..LarkConfig::default() };
    parse_lark(source, "test.lark", &config, &Fuel::new(1 << 24)).unwrap_err()
}

/// It said that a priority is expected.
#[test]
fn the_name_of_a_file_is_no_grammar() {
    for name in ["cfg.lark", "grammars/cfg", "my grammar.gbnf", "../rules.txt"] {
        let error = refuse(name);
        assert_eq!(
            error.hint(),
            Some("this looks like the name of a file: pass its content, or a pathlib.Path"),
            "{error}"
        );
    }
    for grammar in ["start", "start: /a+", "start: a/b", "start: \"a\"\n.lark"] {
        let error = refuse(grammar);
        assert!(error.hint().is_none_or(|hint| !hint.contains("file")), "{error}");
    }
}

#[test]
fn what_errors_look_like() {
    let mut rendered = String::new();
    for source in [
        // Not in the language.
        "",
        "start = \"a\"\n",
        "start: (\"a\" | \"b\"\nother: \"c\"\n",
        "start: \"a\")\n",
        "start: \"abc\n",
        "start: /abc\n",
        "start: 'abc'\n",
        "start: \"a\"??\n",
        "start: \"a\"~3..2\n",
        "start: \"a\"~-1\n",
        "start: \"a\" -> Alias\n",
        "start: Abc\n",
        "start: __a\n",
        "?START: \"a\"\n",
        "start.x: \"a\"\n",
        "start.99999999999: \"a\"\n",
        "%ignored \"a\"\n",
        "%import common\n",
        "%import common.INT -> int\n",
        "start: \"a\"i..\"b\"\n",
        "start: /a\nb/\n",
        "start: \"\\x4\"\n",
        "start: \"\"\n",
        "start: \"a\" ;\n",
        // Names.
        "start: expresion\nexpression: \"a\"\n",
        "start: NUMBR\n%import common.NUMBER\n",
        "start: \"a\"\nstart: \"b\"\n",
        "start: INT\n%import common.INT\nINT: \"1\"\n",
        "%override start: \"a\"\n",
        "%extend strat: \"a\"\nstart: \"b\"\n",
        "start: \"a\"\n%ignore SPACE\n",
        "strat: \"a\"\n",
        "START: \"a\"\n",
        "%declare A\nstart: A\nB: A \"b\"\n%ignore B\n",
        "%declare thing\nstart: thing\n",
        // Imports.
        "%import commn.INT\nstart: INT\n",
        "%import .common.INT\nstart: INT\n",
        "%import common.INTEGER\nstart: INTEGER\n",
        "%import .lib.list.lst\nstart: lst{\"a\"}\n",
        "%import .lib.broken.list\nstart: list\n",
        "%import .lib.loop.NAME\nstart: NAME\n",
        "%import lib.list.NAME\n%import .lib.list.LETTER\nstart: NAME LETTER\n",
        // Templates.
        "start: list{\"a\", \"b\"}\nlist{x}: x+\n",
        "start: list\nlist{x}: x+\n",
        "start: list{start}\nlist{start}: start+\n",
        "start: list{\"a\"}\nlist{x}: x | list{list{x}}\n",
        // Terminals.
        "start: A\nA: B\nB: \"b\" A?\n",
        "start: A\nA: b\nb: \"b\"\n",
        "start: A\nA: \"a\" -> b\n",
        "start: A\nA:\n",
        "start: A\nA: /a*/\n",
        "start: /b?/\n",
        "start: A\nA: \"a\" /b(/\n",
        "start: A\nA: \"a\" | /(b)\\1/\n",
        "start: /[z-a]/ \"x\"\n",
        "start: /a/l\n",
    ] {
        writeln!(rendered, "{}\n", refuse(source)).unwrap();
    }
    let config = LarkConfig { indentation: Some(Indentation::python()), ..LarkConfig::default() };
    for source in [
        "start: _NL\n_NL: \"\\n\"\n",
        "start: _NL\n_NL: \"\\n\"\n%declare INDENT DEDENT\n",
        "start: _INDENT _DEDENT\n%declare _INDENT _DEDENT\n",
        "start: EOL LINES /\\n/\nEOL: /\\r?\\n/\nLINES: (\"\\n\" \" \"*)+\n%declare _INDENT _DEDENT\n",
    ] {
        let error = parse_lark(source, "test.lark", &config, &Fuel::new(1 << 20)).unwrap_err();
        writeln!(rendered, "{error}\n").unwrap();
    }
    insta::assert_snapshot!(rendered);
}

#[test]
fn an_error_in_an_imported_file_is_placed_there() {
    let error = refuse("%import .lib.broken.list\nstart: list\n");
    assert_eq!((error.source_name(), error.line(), error.column()), ("lib/broken.lark", 1, 7));
}

#[test]
fn hostile_grammars_end_in_located_errors() {
    let deep = format!("start: {}\"a\"{}\n", "(".repeat(100_000), ")".repeat(100_000));
    let many = format!("start: \"a\"{}\n", " | \"b\"".repeat(2_000_000));
    let mut chain = "start: A0\nA5000: \"a\"\n".to_owned();
    let mut doubling = "start: A0\nA60: \"a\"\n".to_owned();
    let mut instances = "start: t0{\"x\"}\nt60{x}: x\n".to_owned();
    for n in 0..5000 {
        writeln!(chain, "A{n}: A{} \"b\"", n + 1).unwrap();
    }
    for n in 0..60 {
        writeln!(doubling, "A{n}: A{0} A{0}", n + 1).unwrap();
        writeln!(
            instances,
            "t{n}{{x}}: t{0}{{a{0}{{x}}}} t{0}{{b{0}{{x}}}}\na{0}{{x}}: x\nb{0}{{x}}: x",
            n + 1
        )
        .unwrap();
    }
    for (source, what) in [
        (deep, "nested"),
        (many, "tokens"),
        (chain, "inside terminals"),
        (doubling, "bytes"),
        (instances, "instances"),
        ("start: t{\"x\"}\nt{x}: x t{u{x, x}}\nu{x, y}: x y\n".to_owned(), "instances"),
        ("start: \"a\"\n%import .lib.loop.NAME\n".to_owned(), "imports"),
    ] {
        let error = refuse(&source);
        assert!(error.is_limit() && error.message().contains(what), "{what}: {error:?}");
        assert!(error.line() >= 1 && error.to_string().len() < 2_000);
    }
}

#[test]
fn catastrophic_but_legal_grammars_are_read() {
    for source in [
        "start: start start | \"x\" |\n",
        "start: a\na: b | \"x\"\nb: a |\n",
        "start: \"a\"~4000000000\n",
        "start: (((\"a\"*)*)*)*\n",
    ] {
        let grammar = parse_lark(source, "test.lark", &LarkConfig::default(), &Fuel::new(1 << 20)).unwrap();
        assert_eq!(grammar.lexed.terminals.len(), 1, "{source}");
    }
}

#[test]
fn a_start_without_a_sentence_is_located() {
    for (source, line) in
        [("start: start \"x\"\n", 1), ("a: \"x\" b\nb: a | b b\nstart: a | \"y\" start\n", 3)]
    {
        let error = refuse(source);
        assert!(error.message().contains("rule `start` matches no text at all"), "{error:?}");
        assert_eq!((error.line(), error.is_limit()), (line, false));
    }
}

#[test]
fn fuel_and_cancelling_end_the_work() {
    let source = "start: NUMBER+\n%import common.NUMBER\n";
    let parse = |fuel: &Fuel| parse_lark(source, "test.lark", &LarkConfig::default(), fuel);
    let needed = (0..).find(|&fuel| parse(&Fuel::new(fuel)).is_ok()).unwrap();
    assert!(needed > 10);
    for fuel in 0..needed {
        assert!(parse(&Fuel::new(fuel)).unwrap_err().is_limit(), "{fuel} of {needed}");
    }
    let token = CancelToken::new();
    let fuel = Fuel::new(1 << 20).with_cancel(token.clone());
    assert!(parse(&fuel).is_ok());
    token.cancel();
    assert!(parse(&fuel).unwrap_err().is_cancelled());
}

#[test]
fn built_in_grammars_load() {
    let mut n_grammars = 0;
    for name in builtin_names() {
        let grammar = builtin(name).unwrap();
        let config =
            LarkConfig { lexer: grammar.lexer, indentation: grammar.indentation, ..LarkConfig::default() };
        let read = parse_lark(grammar.text, name, &config, &Fuel::new(1 << 24));
        assert!(read.is_ok(), "{read:?}");
        n_grammars += 1;
    }
    assert!(n_grammars >= 2 && builtin("no such grammar").is_none());
}

#[test]
fn damaged_grammars_are_read_or_refused_with_a_place() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/lark");
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    };
    let (mut n_read, mut n_refused) = (0, 0);
    for name in ["operators", "terminals", "templates"] {
        let source = std::fs::read_to_string(format!("{folder}/{name}.lark")).unwrap();
        let chars: Vec<char> = source.chars().collect();
        for _ in 0..400 {
            let mut damaged = chars.clone();
            let (from, to) = (random(chars.len()), random(chars.len()));
            match random(3) {
                0 => drop(damaged.remove(from)),
                1 => damaged.insert(to, chars[from]),
                _ => damaged.swap(from, to),
            }
            let damaged: String = damaged.into_iter().collect();
            match parse_lark(&damaged, name, &LarkConfig::default(), &Fuel::new(1 << 22)) {
                Ok(_) => n_read += 1,
                Err(error) => {
                    n_refused += 1;
                    assert!(error.offset() <= damaged.len() && error.line() <= damaged.lines().count() + 1);
                }
            }
        }
    }
    assert!(n_read > 100 && n_refused > 100, "{n_read} read, {n_refused} refused");
}
