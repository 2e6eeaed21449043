//! `hostile-canvases`: how long a call takes where a canvas is hard.
//!
//! Counts, negations, ambiguous grammars and the built-in languages, with up to 512 positions of a large
//! vocabulary, of which few or many are known: by a walk of a session, where it comes so far, or at random.
//! Each call of a canvas is made with the limits that users have. Claimed: none takes more than five seconds
//! of the processor, and one that is to stop ends within 50 ms.

use anyhow::ensure;
use maskwright::infill::{CanvasConfig, Verdict};
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::stop::watched;
use maskwright::{
    Canvas, CompileOptions, CompiledGrammar, Compiler, GrammarSource, Mask, Matcher, TokenId, Tokenizer,
};

use crate::canvases::Clock;
use crate::data;
use crate::numbers::Numbers;

#[derive(clap::Args, Debug)]
pub(crate) struct Arguments {
    /// Whose vocabulary: a shared tokenizer's name, a file, or a built-in encoding
    #[arg(long, default_value = "dream")]
    tokenizer: String,
    /// Only grammars with this in their name
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Canvases of each size and grammar
    #[arg(long, value_name = "N", default_value_t = 2)]
    per_size: u64,
}

/// The most milliseconds of the processor that a call may take, and that a stopped one may go on for.
const MOST_MS: f64 = 5_000.0;
const MOST_MS_STOPPED: f64 = 50.0;

/// When a call is stopped.
const STOP_AFTER_MS: f64 = 100.0;

/// How many positions canvases have, and how many hundredths of them are known.
const SIZES: [(usize, usize); 8] =
    [(512, 0), (512, 2), (512, 10), (512, 50), (128, 10), (128, 50), (64, 30), (24, 50)];

const WORDS: [&str; 22] = [
    "a", "b", " ", "(", ")", "{", "}", "\"", ",", "\n", ":", "abc", "x", "1", "[", "]", "/*", "'''", "#",
    "if", "return", " int",
];

const REGEXES: [(&str, &str); 4] = [
    ("counts", "(a|b|ab){100,400}"),
    ("nested counts", r"(((\w){20,80}|(ab|a)) ?){10,40}"),
    ("300th from the end", r"(.|\n)*a.{300}"),
    ("alternatives", r"(a*b*c*|c*b*a*|(abc)*|[a-c]{50,60})*x"),
];

const GRAMMARS: [(&str, &str); 4] = [
    ("pairs", r#"root ::= root root | "a" | "(" root ")""#),
    ("triples", "root ::= s\ns ::= s s s | s s | [a-z ] | \"\""),
    ("operators", "root ::= e\ne ::= e [-+*/ ] e | \"(\" e \")\" | [0-9]+ | [a-z]+"),
    ("palindromes", "root ::= p\np ::= [a-z] p [a-z] | \"(\" p \")\" | \"[\" p \"]\" | [a-z ] | \"\""),
];

const SCHEMAS: [(&str, &str); 8] = [
    ("any JSON", "{}"),
    ("not", r#"{"not": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}"#),
    (
        "not a pattern",
        r#"{"type": "string", "allOf": [{"pattern": "a.*b.*c"}, {"not": {"pattern": "b.*a"}}], "maxLength": 200}"#,
    ),
    (
        "many properties",
        r#"{"type": "object", "minProperties": 20, "maxProperties": 40, "additionalProperties":
            {"type": "array", "uniqueItems": true, "minItems": 2, "items": {"type": "integer"}}}"#,
    ),
    (
        "long strings",
        r#"{"type": "array", "items": {"type": "string", "minLength": 40, "maxLength": 300}, "minItems": 5}"#,
    ),
    (
        "unique items",
        r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b", "c", "d", "e", 1, 2, 3]}, "minItems": 8}"#,
    ),
    (
        "recursion",
        r##"{"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"},
            "v": {"type": "integer", "multipleOf": 7}}, "required": ["v"]}"##,
    ),
    ("dates", r#"{"type": "array", "items": {"type": "string", "format": "date-time"}, "minItems": 10}"#),
];

const BUILT_IN: [&str; 4] = ["python", "cpp", "sql", "json"];

fn sources() -> Vec<(&'static str, GrammarSource)> {
    let lark = |source: String, lexer| {
        let mut options = LarkOptions::default();
        options.lexer = lexer;
        GrammarSource::lark(source, options)
    };
    let words = "start: a+\na: a a | WORD | a WORD | WORD a\nWORD: /[a-z ]{1,30}/\n".to_owned();
    let ignored = r#"
        start: x
        x: x x | A | B | C | "(" x ")" | x "," x
        A: /[a-c]+/
        B: /b[a-z]*/
        C: /[a-z]{3,20}!/
        %ignore /[ \n]+/
        %ignore /\/\*(.|\n)*?\*\//
        %ignore /#[^\n]*/
    "#;
    let name = |index: usize| format!("T{index}");
    let names: Vec<String> = (0..60).map(name).collect();
    let define = |index: usize| format!("T{index}: /[a-z]{{{},{}}}[0-9]*/\n", index + 1, index + 5);
    let terminals: String = (0..60).map(define).collect();
    let many = format!("start: ({})+\n{terminals}%ignore \" \"\n", names.join("|"));
    let mut sources: Vec<_> = REGEXES.map(|(name, source)| (name, GrammarSource::regex(source))).into();
    sources.extend(GRAMMARS.map(|(name, source)| (name, GrammarSource::gbnf(source))));
    let schema = |source: &str| GrammarSource::json_schema(source.to_owned(), Default::default());
    sources.extend(SCHEMAS.map(|(name, source)| (name, schema(source))));
    sources.push(("words", lark(words, LexerKind::DynamicComplete)));
    sources.push(("ignored text", lark(ignored.to_owned(), LexerKind::Basic)));
    sources.push(("many terminals", lark(many, LexerKind::Basic)));
    sources.extend(BUILT_IN.map(|name| (name, GrammarSource::builtin(name))));
    sources
}

/// The slowest call, and what is claimed of calls that are stopped.
#[derive(Default)]
struct Worst {
    n_calls: usize,
    ms: f64,
    call: String,
    ms_stopped: f64,
}

impl Worst {
    fn time<T>(&mut self, what: &str, (n, share): (usize, usize), call: impl FnOnce() -> T) -> T {
        let clock = Clock::start();
        let answer = call();
        let ms = clock.ms();
        self.n_calls += 1;
        if ms > self.ms {
            self.ms = ms;
            self.call = format!("{what}, {n} positions, {share}% known");
        }
        answer
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let tokenizer = data::load_tokenizer(&arguments.tokenizer)?;
    let encode = |word: &&str| tokenizer.encode_bytes(word.as_bytes());
    let words: Vec<TokenId> = WORDS
        .iter()
        .map(encode)
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .filter_map(|ids| ids.first().copied())
        .collect();
    let mut n_slow = 0;
    let mut n_grammars = 0;
    for (name, source) in sources() {
        if !name.contains(&arguments.only) {
            continue;
        }
        let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
        let mut worst = Worst::default();
        for size in SIZES {
            for seed in 0..arguments.per_size {
                fill((&tokenizer, &grammar), size, seed, &words, &mut worst)?;
            }
        }
        let Worst { n_calls, ms, call, ms_stopped } = worst;
        println!(
            "{name}: {n_calls} calls, the slowest {ms:.0} ms ({call}), stopped within {ms_stopped:.0} ms"
        );
        n_grammars += 1;
        n_slow += usize::from(ms > MOST_MS || ms_stopped > MOST_MS_STOPPED);
    }
    ensure!(n_grammars > 0, "no grammar has {:?} in its name", arguments.only);
    ensure!(n_slow == 0, "{n_slow} of {n_grammars} grammars have a call that takes too long");
    Ok(())
}

/// Makes each call of one canvas.
fn fill(
    (tokenizer, grammar): (&Tokenizer, &CompiledGrammar),
    size: (usize, usize),
    seed: u64,
    words: &[TokenId],
    worst: &mut Worst,
) -> anyhow::Result<()> {
    let (n, share) = size;
    let infiller = grammar.infiller(&CompileOptions::default())?;
    let n_vocab = tokenizer.n_vocab();
    let mut numbers = Numbers((seed * 1_000 + n as u64 + share as u64) << 8 | 1);
    let walked = if seed.is_multiple_of(2) { walk(grammar, n, words, &mut numbers)? } else { Vec::new() };
    let token = |numbers: &mut Numbers| match numbers.below(3) {
        0 => TokenId(numbers.below(n_vocab * 9 / 10) as u32),
        _ => words[numbers.below(words.len())],
    };
    let mut positions = vec![None; n];
    for (index, position) in positions.iter_mut().enumerate() {
        if numbers.below(100) < share {
            *position = Some(walked.get(index).copied().unwrap_or_else(|| token(&mut numbers)));
        }
    }
    let masked: Vec<usize> = (0..n).filter(|&index| positions[index].is_none()).collect();
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default())?;
    worst.time("status", size, || canvas.status())?;
    for n_asked in 1..=4 {
        let position = masked[numbers.below(masked.len())];
        let ids: Vec<TokenId> = (0..n_asked).map(|_| token(&mut numbers)).collect();
        let verdicts = worst.time("allows", size, || canvas.allows(position, &ids))?;
        if let Some(yes) =
            verdicts.iter().position(|&verdict| verdict == Verdict::Yes).filter(|_| n_asked == 4)
        {
            worst.time("set", size, || canvas.set(position, ids[yes]))?;
        }
    }
    let position = masked[numbers.below(masked.len())];
    let mut mask = Mask::new(n_vocab);
    worst.time("a mask", size, || canvas.fill_mask(position, mask.words_mut(), false))?;
    // Stopped before it is asked to the end: then it may be known.
    let clock = Clock::start();
    let watch = move || clock.ms() > STOP_AFTER_MS;
    watched(watch, || canvas.fill_mask(position, mask.words_mut(), true)).0.ok();
    let ms = clock.ms();
    worst.ms_stopped = worst.ms_stopped.max(ms - STOP_AFTER_MS);
    worst.time("an exact mask", size, || canvas.fill_mask(position, mask.words_mut(), true))?;
    // That something is not decided is an error of these.
    worst.time("completing", size, || canvas.complete()).ok();
    worst.time("why", size, || canvas.why_impossible()).ok();
    Ok(())
}

/// A text of the grammar, word by word where words are allowed, as far as it goes.
fn walk(
    grammar: &CompiledGrammar,
    n: usize,
    words: &[TokenId],
    numbers: &mut Numbers,
) -> anyhow::Result<Vec<TokenId>> {
    let mut matcher = Matcher::new(grammar);
    let mut mask = Mask::new(grammar.vocabulary().n_vocab());
    let mut tokens = Vec::new();
    while tokens.len() < n {
        matcher.fill_mask(mask.words_mut())?;
        let allowed: Vec<TokenId> = mask.iter().collect();
        let words: Vec<TokenId> = words.iter().copied().filter(|&word| mask.contains(word)).collect();
        let from = if words.is_empty() { &allowed } else { &words };
        let Some(&token) = from.get(numbers.below(from.len().max(1))) else { break };
        matcher.accept_token(token)?;
        if matcher.is_terminated() {
            break;
        }
        tokens.push(token);
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_grammar_compiles_and_each_call_is_timed() {
        let mut tokens: Vec<Vec<u8>> = (0..=127u8).map(|byte| vec![byte]).collect();
        tokens.push(Vec::new());
        let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(128)]).unwrap();
        let words = [TokenId(97), TokenId(40)];
        for (name, source) in sources() {
            let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default());
            let grammar = grammar.unwrap_or_else(|error| panic!("{name}: {error}"));
            if name == "pairs" {
                let mut worst = Worst::default();
                fill((&tokenizer, &grammar), (6, 30), 0, &words, &mut worst).unwrap();
                assert!(worst.n_calls >= 9 && worst.ms > 0.0, "{}", worst.call);
            }
        }
    }
}
