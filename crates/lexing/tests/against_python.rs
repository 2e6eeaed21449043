//! Random regular expressions and texts through Python's own `re`: what is an expression, its widths, and
//! what it matches, by the backtracking matcher and by the lexer. Needs `python3`; says so if there is none.

use std::io::Write;
use std::process::{Command, Stdio};

use maskwright_automata::Fuel;
use maskwright_lexing::{
    Discipline, Flags, Lexer, LexerLimits, LexerTerminal, find_prefix, parse_python, tokenize,
};

/// For each line `expression flags text...` in hexadecimal: `error`, or the two widths and for each text the
/// end of the match in bytes.
const SCRIPT: &str = r#"
import re, sys, warnings
warnings.simplefilter("ignore")
try:
    from re import _parser as parser
except ImportError:
    import sre_parse as parser
for line in sys.stdin:
    source, flags, *texts = [bytes.fromhex(field).decode("utf-8") for field in line.rstrip("\n").split("\t")]
    value = 0
    for flag in flags:
        value |= getattr(re, flag.upper())
    try:
        expression = re.compile(source, value)
    except (re.error, OverflowError, RecursionError):
        print("error")
        continue
    low, high = parser.parse(source, value).getwidth()
    high = "none" if high >= 4294967295 else high
    ends = []
    for text in texts:
        match = expression.match(text)
        ends.append("none" if match is None else str(len(match.group().encode("utf-8"))))
    print(low, high, *ends)
"#;

/// A small generator of numbers; the cases are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const CHARACTERS: &[&str] = &[
    "a", "b", "A", "k", "K", "i", "I", "s", "é", "É", "\u{130}", "\u{131}", "\u{17F}", "\u{212A}", "µ", "μ",
    "٣", "1", "_", "-", " ", "\n",
];

const ATOMS: &[&str] = &[
    "a",
    "b",
    "ab",
    "A",
    "k",
    "i",
    "s",
    "é",
    ".",
    r"\w",
    r"\W",
    r"\d",
    r"\D",
    r"\s",
    r"\S",
    r"\b",
    r"\B",
    "^",
    "$",
    r"\A",
    r"\Z",
    "[ab]",
    "[^a]",
    "[a-zé]",
    r"[\w-]",
    r"[^\d\s]",
    "[]a]",
    "[^]-]",
    r"[\x61-\x63k]",
    r"\x61",
    r"\u00e9",
    r"\U0000006b",
    r"\141",
    r"\0",
    r"\n",
    "[É-ü]",
    "µ",
    r"[^\W_]",
    "(?#note)",
    "{",
    "a{,",
    "]",
    "}",
    r"[a\-z]",
    r"[\b\n]",
    "-",
];

const LOOKBEHINDS: &[&str] = &[
    "a",
    "ab",
    "[ab]",
    r"\w",
    "a|b",
    "(?:ab|ba)",
    r"\\",
    "^",
    "(?<!b)a",
    ".{2}",
    "é",
    "",
    r"\bab",
    r"a\b",
    r"\Ba\B|b\b",
    "^ab",
    "$",
    "a$",
    r"\n$|b\Z",
    "a(?=b)",
    "a(?!b)",
    "(?=ab).|b",
    "a{3}",
    "(?<=a|k)b{2}",
    "(?<!^|k.)bb",
    r"\s\S\w",
];

fn expression(random: &mut Random, depth: usize, n_groups: &mut usize) -> String {
    let inner = |random: &mut Random, n_groups: &mut usize| expression(random, depth - 1, n_groups);
    if depth == 0 {
        return random.pick(ATOMS).to_owned();
    }
    match random.below(12) {
        0..=2 => format!("{}{}", inner(random, n_groups), inner(random, n_groups)),
        3 | 4 => format!("(?:{}|{})", inner(random, n_groups), inner(random, n_groups)),
        5 => format!("({}|)", inner(random, n_groups)),
        6..=8 => {
            let sign = random.pick(&["?", "*", "+", "{2}", "{1,2}", "{,2}", "{1,}"]);
            format!("(?:{}){sign}{}", inner(random, n_groups), random.pick(&["", "?"]))
        }
        9 => format!("{}{})", random.pick(&["(?=", "(?!"]), inner(random, n_groups)),
        10 => format!("{}{})", random.pick(&["(?<=", "(?<!"]), random.pick(LOOKBEHINDS)),
        _ => {
            *n_groups += 1;
            let name = format!("(?P<g{n_groups}>");
            let open =
                random.pick(&[&name, "(?i:", "(?-i:", "(?s:", "(?m:", "(?a:", "(?x: ", "(?is-m:"]).to_owned();
            format!("{open}{})", inner(random, n_groups))
        }
    }
}

fn text(random: &mut Random) -> String {
    let length = 1 + random.below(7);
    let mut text = String::new();
    for _ in 0..length {
        let from = if random.below(2) == 0 { &CHARACTERS[..2] } else { CHARACTERS };
        text += random.pick(from);
    }
    text
}

struct Case {
    source: String,
    flags: String,
    texts: Vec<String>,
}

fn cases() -> Vec<Case> {
    let mut random = Random(0x5EED_CAFE);
    let mut cases = Vec::new();
    for index in 0..4_000 {
        let mut source = expression(&mut random, 1 + index % 4, &mut 0);
        if index % 5 == 0 {
            // A character less: often an expression no more.
            let n_chars = source.chars().count();
            let gone = random.below(n_chars);
            source = source.chars().enumerate().filter(|&(place, _)| place != gone).map(|(_, c)| c).collect();
        }
        let flags = random.pick(&["", "", "i", "s", "is", "m", "im", "x", "a", "ia"]).to_owned();
        let texts = (0..6).map(|_| text(&mut random)).collect();
        cases.push(Case { source, flags, texts });
    }
    cases
}

fn python(cases: &[Case]) -> Option<String> {
    let started = Command::new("python3")
        .args(["-c", SCRIPT])
        .env("PYTHONIOENCODING", "utf-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut process = started.ok()?;
    let hexadecimal = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut input = String::new();
    for case in cases {
        let fields = [&case.source, &case.flags].into_iter().chain(&case.texts);
        input += &fields.map(|field| hexadecimal(field)).collect::<Vec<_>>().join("\t");
        input.push('\n');
    }
    let mut stdin = process.stdin.take().expect("it was asked for");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = process.wait_with_output().expect("python3 answers");
    writer.join().expect("writing does not panic").expect("python3 reads");
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).expect("python3 prints UTF-8"))
}

#[test]
fn expressions_mean_what_python_says() {
    let cases = cases();
    let Some(answers) = python(&cases) else {
        println!("no python3: the comparison with its `re` was left out");
        return;
    };
    let (mut n_matches, mut n_errors, mut n_lexed) = (0, 0, 0);
    assert_eq!(answers.lines().count(), cases.len());
    for (case, answer) in cases.iter().zip(answers.lines()) {
        let fuel = Fuel::new(10_000_000);
        let shown = format!("{:?} {}", case.source, case.flags);
        let pattern = parse_python(&case.source, Flags::from_letters(&case.flags).unwrap(), &fuel);
        let pattern = match pattern {
            Ok(pattern) => pattern,
            Err(error) => {
                let is_gap = error.message().contains("not supported");
                assert!(is_gap || answer == "error", "{shown}: {error}, python: {answer}");
                n_errors += 1;
                continue;
            }
        };
        if answer == "error" {
            // Python requires one length for all alternatives of a lookbehind.
            assert!(case.source.contains("(?<=") || case.source.contains("(?<!"), "{shown}");
            continue;
        }
        let mut fields = answer.split(' ');
        let mut number = || fields.next().unwrap().parse::<u64>().ok();
        assert_eq!((Some(pattern.min_width()), pattern.max_width()), (number(), number()), "{shown}");
        let terminals = [LexerTerminal::new(0, pattern.clone())];
        let made = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &fuel);
        let lexer = match made {
            Ok(lexer) => Some(lexer),
            Err(error) => {
                assert!(pattern.min_width() == 0, "{shown}: {error}");
                None
            }
        };
        for text in &case.texts {
            let expected = number().map(|end| end as usize);
            n_matches += usize::from(expected.is_some());
            // Some expressions take the backtracking matcher longer than Python, which is less naive.
            if let Ok(found) = find_prefix(&pattern, text.as_bytes(), 0, &fuel) {
                assert_eq!(found, expected, "{shown} on {text:?}");
            }
            if let Some(lexer) = &lexer {
                let (tokens, _) = tokenize(lexer, text.as_bytes()).unwrap();
                let end = tokens.first().map(|token| token.range.end);
                assert_eq!(end, expected, "lexer: {shown} on {text:?}");
                n_lexed += usize::from(end.is_some());
            }
        }
    }
    // The cases are worth something only if most are expressions and many match.
    assert!(
        n_errors < cases.len() / 3 && n_matches > 4_000 && n_lexed > 1_000,
        "{n_errors} {n_matches} {n_lexed}"
    );
}
