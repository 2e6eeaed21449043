//! Tokenizes texts with a grammar's terminals, for `compare_with_lark.py`, which writes the input and
//! compares.
//!
//! Lines of the input, fields parted by tabs, texts as hexadecimal UTF-8:
//! `T name kind value source_length flags priority` defines a terminal (`kind` is `str` or `re`; `value` of
//! `re` has its flags inside), `X text` asks for the tokens of a text. The answer to the latter is one line
//! of `terminal:start:end` (an index and bytes), with `!place` at the end if no terminal matches there. Times
//! go to standard error.

use std::io::{BufRead, Write};
use std::time::Instant;

use maskwright_automata::Fuel;
use maskwright_lexing::{
    Discipline, Flags, LarkTerminal, Lexer, LexerLimits, Pattern, TerminalSet, lark_terminals,
    literal_ignoring_case, parse_python, tokenize,
};

type Failure = Box<dyn std::error::Error>;

#[allow(clippy::print_stderr, reason = "it reports times")]
fn main() -> Result<(), Failure> {
    let fuel = Fuel::unlimited();
    let (mut sources, mut lexer): (Vec<Vec<String>>, Option<Lexer>) = (Vec::new(), None);
    let mut output = std::io::stdout().lock();
    let (mut n_bytes, mut seconds) = (0, 0.0);
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        if fields[0] == "T" {
            sources.push(fields);
            continue;
        }
        if lexer.is_none() {
            let begin = Instant::now();
            let terminals =
                sources.iter().map(|fields| terminal(fields, &fuel)).collect::<Result<Vec<_>, _>>()?;
            let parsed = begin.elapsed();
            let ordered = lark_terminals(&terminals, &TerminalSet::new(), &fuel)?;
            let made = Lexer::new(&ordered, Discipline::LeftmostFirst, LexerLimits::default(), &fuel)?;
            eprintln!("{} terminals: patterns {parsed:?}, all {:?}", terminals.len(), begin.elapsed());
            lexer = Some(made);
        }
        let Some(lexer) = &lexer else { continue };
        let text = unhex(&fields[1])?;
        let begin = Instant::now();
        let (tokens, stuck) = tokenize(lexer, text.as_bytes())?;
        seconds += begin.elapsed().as_secs_f64();
        n_bytes += text.len();
        for token in tokens {
            write!(output, "{}:{}:{} ", token.terminal, token.range.start, token.range.end)?;
        }
        writeln!(output, "{}", stuck.map_or(String::new(), |place| format!("!{place}")))?;
    }
    if let Some(lexer) = &lexer {
        eprintln!("{n_bytes} bytes at {:.1} ns a byte, {lexer:?}", seconds * 1e9 / n_bytes.max(1) as f64);
        walk(lexer)?;
    }
    Ok(())
}

/// Times a warm step and the search for all that can be reached.
#[allow(clippy::print_stderr, reason = "it reports times")]
fn walk(lexer: &Lexer) -> Result<(), Failure> {
    let text = b"name0 ";
    let (mut state, n_steps) = (lexer.start(), 20_000_000);
    let begin = Instant::now();
    for index in 0..n_steps {
        state = lexer.step(state, text[index % text.len()])?.unwrap_or(lexer.start());
    }
    let per_step = begin.elapsed().as_secs_f64() * 1e9 / n_steps as f64;
    let begin = Instant::now();
    let n_reachable = lexer.reachable(lexer.start())?.iter().count();
    eprintln!(
        "warm step {per_step:.1} ns (ends at {state:?}); {n_reachable} terminals reachable, found in {:?}, {lexer:?}, {} bytes",
        begin.elapsed(),
        lexer.memory_usage()
    );
    Ok(())
}

fn terminal(fields: &[String], fuel: &Fuel) -> Result<LarkTerminal, Failure> {
    let [_, name, kind, value, source_length, flags, priority] = fields else {
        return Err("a terminal has seven fields".into());
    };
    let (value, flags) = (unhex(value)?, Flags::from_letters(flags).ok_or("unknown flag")?);
    let string = (kind == "str").then(|| value.clone());
    let pattern = match &string {
        None => parse_python(&value, Flags::default(), fuel)?,
        Some(text) if flags.ignore_case => literal_ignoring_case(text, fuel)?,
        Some(text) => Pattern::literal(text.as_bytes()),
    };
    let (source_length, priority) = (source_length.parse()?, priority.parse()?);
    Ok(LarkTerminal { name: name.clone(), pattern, source_length, string, flags, priority })
}

fn unhex(text: &str) -> Result<String, Failure> {
    let digits =
        text.as_bytes().chunks(2).map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?));
    Ok(String::from_utf8(digits.collect::<Result<Vec<u8>, Failure>>()?)?)
}
