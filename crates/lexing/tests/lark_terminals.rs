//! Terminals as real grammars write them, guards, limits, and several threads on one lexer.

use maskwright_automata::Fuel;
use maskwright_lexing::{
    Discipline, Flags, LarkTerminal, Lexer, LexerLimits, LexerTerminal, Pattern, TerminalSet, lark_terminals,
    parse_python, tokenize,
};

/// Regular expressions after the manner of Python's grammars, and keywords.
const EXPRESSIONS: &[(&str, &str, i32)] = &[
    ("STRING", r#"(?is:[ubf]?r?("(?!"").*?(?<!\\)(\\\\)*?"|'(?!'').*?(?<!\\)(\\\\)*?'))"#, 0),
    ("LONG", r#"(?is:[ubf]?r?("""(?<!\\).*?"""|'''(?<!\\).*?'''))"#, 0),
    ("NAME", r"[^\W\d]\w*", 0),
    ("INT", r"(?i:0|[1-9]\d*)", 0),
    ("HEX", r"(?i:0x[\da-f]*)", 2),
    ("FLOAT", r"(?i:((\d+\.\d*|\.\d+)(e[-+]?\d+)?|\d+(e[-+]?\d+)))", 2),
    ("COMMENT", r"#[^\n]*", 0),
    ("NL", r"(?:(\r?\n[\t ]*)+)", 0),
    ("SPACE", r"[\t \f]+", 0),
];
const STRINGS: &[&str] = &["if", "in", "+", "+=", "(", ")", ".", "...", ":", "="];

fn fuel() -> Fuel {
    Fuel::new(1_000_000)
}

fn terminals() -> Vec<LarkTerminal> {
    let expressions = EXPRESSIONS.iter().map(|&(name, source, priority)| LarkTerminal {
        name: name.to_owned(),
        pattern: parse_python(source, Flags::default(), &fuel()).expect("the expression is one of Python's"),
        source_length: source.len(),
        string: None,
        flags: Flags::default(),
        priority,
    });
    let strings = STRINGS.iter().map(|&text| LarkTerminal {
        name: text.to_owned(),
        pattern: Pattern::literal(text.as_bytes()),
        source_length: text.len(),
        string: Some(text.to_owned()),
        flags: Flags::default(),
        priority: 0,
    });
    expressions.chain(strings).collect()
}

fn lexer(discipline: Discipline) -> Lexer {
    let ordered = lark_terminals(&terminals(), &TerminalSet::new(), &fuel()).expect("the fuel suffices");
    Lexer::new(&ordered, discipline, LexerLimits::default(), &fuel()).expect("the fuel suffices")
}

fn names(lexer: &Lexer, text: &str) -> String {
    let terminals = terminals();
    let (tokens, stuck) = tokenize(lexer, text.as_bytes()).expect("the limits suffice");
    let shown = tokens.iter().map(|token| {
        let name = &terminals[token.terminal as usize].name;
        format!("{name}<{}>", &text[token.range.clone()])
    });
    let shown: Vec<String> = shown.chain(stuck.map(|place| format!("stuck {place}"))).collect();
    shown.join(" ")
}

#[test]
fn tokens_are_those_of_pythons_grammar() {
    for discipline in [Discipline::LeftmostFirst, Discipline::LongestMatch] {
        let lexer = lexer(discipline);
        for (text, expected) in [
            ("if(ifx)", "if<if> (<(> NAME<ifx> )<)>"),
            ("x+=0x1F+1.e5", "NAME<x> +=<+=> HEX<0x1F> +<+> FLOAT<1.e5>"),
            ("1.", "FLOAT<1.>"),
            ("01..2", "FLOAT<01.> FLOAT<.2>"),
            ("....", "...<...> .<.>"),
            (r#""a\"b"+'c'"#, r#"STRING<"a\"b"> +<+> STRING<'c'>"#),
            (r#"""+"""a"b""""#, r#"STRING<""> +<+> LONG<"""a"b""">"#),
            ("\"\"\"a\n\"\"", "stuck 0"),
            ("rB''", "NAME<rB> STRING<''>"),
            ("été:\n  # x\n\n\ty", "NAME<été> :<:> NL<\n  > COMMENT<# x> NL<\n\n\t> NAME<y>"),
            ("a$", "NAME<a> stuck 1"),
        ] {
            assert_eq!(names(&lexer, text), expected, "{discipline:?}");
        }
    }
}

#[test]
fn disciplines_differ_where_patterns_are_of_one_text() {
    let parse = |source| parse_python(source, Flags::default(), &fuel()).unwrap();
    let terminals = [
        LexerTerminal::new(0, parse("a|ab")),
        LexerTerminal::new(1, parse("[ab]+?c?")),
        LexerTerminal::new(2, parse("ab")),
        LexerTerminal::new(3, parse("a[b]")).with_priority(1),
    ];
    let token = |discipline| {
        let lexer = Lexer::new(&terminals, discipline, LexerLimits::default(), &fuel()).unwrap();
        let (tokens, _) = tokenize(&lexer, b"abc").unwrap();
        (tokens[0].terminal, tokens[0].range.end)
    };
    assert_eq!(token(Discipline::LeftmostFirst), (0, 1));
    assert_eq!(token(Discipline::LongestMatch), (3, 2));
}

#[test]
fn lookahead_beyond_the_match_is_a_guard() {
    let pattern = parse_python("a(?=b*c)|ab*", Flags::default(), &fuel()).unwrap();
    let terminals = [LexerTerminal::new(0, pattern)];
    let lexer = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &fuel()).unwrap();
    let after_a = lexer.step(lexer.start(), b'a').unwrap().unwrap();
    let accepts = lexer.accepts(after_a);
    assert_eq!(accepts.len(), 2, "{}", lexer.describe(after_a));
    let (short, long) = (accepts[0].guard, accepts[1].guard);
    assert!(lexer.refutes_at_end(short) && !lexer.refutes_at_end(long));
    let after_b = |guard| lexer.step(guard, b'b').unwrap().unwrap();
    assert!(!lexer.refutes(after_b(short)) && lexer.refutes_at_end(after_b(short)));
    // The better thread may yet match, but a longer match of this thread comes first.
    assert!(lexer.refutes(after_b(long)));
    assert_eq!(lexer.step(after_b(short), b'c').unwrap(), None);
    assert!(lexer.refutes(lexer.step(long, b'c').unwrap().unwrap()));
    assert_eq!(lexer.step(long, b'x').unwrap(), None);
    let ends = |text: &[u8]| tokenize(&lexer, text).unwrap().0[0].range.end;
    assert_eq!((ends(b"abbc"), ends(b"abb"), ends(b"ac"), ends(b"abbx")), (1, 3, 1, 3));
}

#[test]
fn lookbehind_sees_the_token_before() {
    let terminals = ["(?<=a)b", "a", "^b|b(?=b)", "(?<!^)b"].iter().enumerate().map(|(id, source)| {
        LexerTerminal::new(id as u32, parse_python(source, Flags::default(), &fuel()).unwrap())
    });
    let terminals: Vec<LexerTerminal> = terminals.collect();
    let lexer = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &fuel()).unwrap();
    let (tokens, stuck) = tokenize(&lexer, b"babbbb").unwrap();
    let found: Vec<u32> = tokens.iter().map(|token| token.terminal).collect();
    assert_eq!((found.as_slice(), stuck), (&[2, 1, 0, 2, 2, 3][..], None));
}

#[test]
fn limits_are_errors_and_leave_the_lexer_usable() {
    let parse = |source| [LexerTerminal::new(7, parse_python(source, Flags::default(), &fuel()).unwrap())];
    let new =
        |source, limits, fuel: &Fuel| Lexer::new(&parse(source), Discipline::LeftmostFirst, limits, fuel);
    let limits = LexerLimits::default();
    let nested = format!("{}a*{}b", "(?:".repeat(20), ")*".repeat(20));
    for source in ["a{600000}", "(?:a{1000}){1000}", &nested] {
        let error = new(source, limits, &Fuel::unlimited()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the lexer needs more than the 500000 instructions allowed",
            "{source}"
        );
        assert!(new(source, limits, &fuel()).unwrap_err().is_limit());
    }
    assert!(new("a{1000}", limits, &Fuel::new(100)).unwrap_err().is_limit());
    let letter = Pattern::literal(b"a");
    let inside_out = Pattern::concat([letter.look_ahead(false).look_behind(false), letter]);
    let terminal = [LexerTerminal::new(7, inside_out)];
    let error = Lexer::new(&terminal, Discipline::LeftmostFirst, limits, &fuel()).unwrap_err();
    assert_eq!(error.terminal_id(), Some(7));
    let few = LexerLimits { max_states: 20, ..limits };
    let lexer = new("[ab]*a[ab]{10}", few, &fuel()).unwrap();
    let text: Vec<u8> = (0..200u32).map(|index| b"ab"[(index.count_ones() % 2) as usize]).collect();
    for _ in 0..2 {
        let error = tokenize(&lexer, &text).unwrap_err();
        assert_eq!(error.to_string(), "the lexer needs more than the 20 states allowed");
    }
    assert!(lexer.reachable(lexer.start()).unwrap_err().is_limit());
    assert!(tokenize(&lexer, b"b").unwrap().0.is_empty());
}

#[test]
fn threads_share_a_lexer() {
    let lexer = lexer(Discipline::LeftmostFirst);
    let text = "if x in 'a\\'b': y += 0x1F # z\n  \"\"\"doc\n\"\"\"\n".repeat(20);
    let expected = names(&self::lexer(Discipline::LeftmostFirst), &text);
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..4).map(|_| scope.spawn(|| names(&lexer, &text))).collect();
        for handle in handles {
            assert_eq!(handle.join().unwrap(), expected);
        }
    });
}
