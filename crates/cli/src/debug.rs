//! `maskwright debug`: every stage of a grammar, printed.

use std::io::{self, Write};

use anyhow::bail;
use maskwright::inspect::{AutomatonStateView, StackVerdict, SymbolView};
use maskwright::{CompiledGrammar, Matcher, Tokenizer};

use crate::arguments::{Debug, Stage};
use crate::grammar::Source;
use crate::model;
use crate::outcome::{Outcome, say};

/// The most tokens that stand behind a sequence of terminals.
const MAX_SHOWN: usize = 8;

/// Prints one stage.
pub(crate) fn run(arguments: &Debug) -> anyhow::Result<Outcome> {
    let source = Source::require(&arguments.grammar)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if arguments.stage == Stage::Ir {
        write!(out, "{}", source.ir()?)?;
        out.flush()?;
        return Ok(Outcome::Done);
    }
    let tokenizer = match &arguments.tokenizer {
        Some(name) => model::load_tokenizer(name)?,
        None => model::byte_tokenizer()?,
    };
    let grammar = source.compile(&tokenizer, None)?;
    if grammar.is_lexed() && arguments.stage == Stage::Dfa {
        bail!("the grammar reads the tokens of a lexer; its stages that can be printed are ir, cfg and rows");
    }
    match arguments.stage {
        Stage::Ir => {}
        Stage::Cfg => print_network(&grammar, arguments.limit, &mut out)?,
        Stage::Dfa => print_automata(&grammar, arguments, &mut out)?,
        Stage::Rows => {
            let mut matcher = Matcher::new(&grammar);
            if !matcher.accept_bytes(arguments.prefix.as_bytes())? {
                let n_viable = matcher.validate_bytes(arguments.prefix.as_bytes())?;
                say(format_args!(
                    "no text of the language begins with the prefix: it leaves it at byte {n_viable}"
                ));
                return Ok(Outcome::Failed);
            }
            if grammar.is_lexed() {
                print_spans(&mut matcher, &tokenizer, arguments, &mut out)?;
            } else {
                print_rows(&mut matcher, &mut out)?;
            }
        }
    }
    out.flush()?;
    Ok(Outcome::Done)
}

/// Rules as networks of states, and the terminals.
fn print_network(grammar: &CompiledGrammar, limit: usize, out: &mut impl Write) -> io::Result<()> {
    let rules = grammar.inspect_rules(limit);
    for (index, rule) in rules.iter().enumerate() {
        let start = if rule.is_start { ", start" } else { "" };
        let nullable = if rule.is_nullable { ", may be empty" } else { "" };
        writeln!(out, "rule {index} {}{start}{nullable}", rule.name)?;
        for state in &rule.states {
            let end = if state.is_accepting { " (end)" } else { "" };
            writeln!(out, "  state {}{end}", state.id)?;
            for (symbol, next) in &state.moves {
                match *symbol {
                    SymbolView::Terminal(terminal) => writeln!(out, "    terminal {terminal} -> {next}")?,
                    SymbolView::Rule(rule) => {
                        writeln!(out, "    rule {rule} {} -> {next}", rules[rule].name)?
                    }
                }
            }
        }
        if rule.is_cut {
            writeln!(out, "  more states than {limit} (--limit)")?;
        }
    }
    for (index, regex) in grammar.inspect_terminals().iter().enumerate() {
        writeln!(out, "terminal {index} {regex}")?;
    }
    Ok(())
}

/// The automata of the terminals, or of one.
fn print_automata(grammar: &CompiledGrammar, arguments: &Debug, out: &mut impl Write) -> anyhow::Result<()> {
    let terminals = grammar.inspect_terminals();
    let chosen = match arguments.terminal {
        Some(terminal) => terminal..terminal + 1,
        None => 0..terminals.len(),
    };
    for terminal in chosen {
        let Some((states, is_cut)) = grammar.inspect_automaton(terminal, arguments.limit)? else {
            bail!("there is no terminal {terminal}: the grammar has {}", terminals.len());
        };
        writeln!(out, "terminal {terminal} {}", terminals[terminal])?;
        for AutomatonStateView { id, is_accepting, residue, moves, .. } in &states {
            let end = if *is_accepting { " (end)" } else { "" };
            writeln!(out, "  state {id}{end}: {residue}")?;
            for (bytes, next) in moves {
                writeln!(out, "    {bytes:?} -> {next}")?;
            }
        }
        if is_cut {
            writeln!(out, "  more states than {} (--limit)", arguments.limit)?;
        }
    }
    Ok(())
}

/// How many tokens are allowed.
fn print_mask(matcher: &mut Matcher, out: &mut impl Write) -> anyhow::Result<()> {
    let mask = matcher.mask()?;
    let end = if matcher.is_accepting() { ", the text may end here" } else { "" };
    writeln!(out, "{} of {} tokens are allowed{end}", mask.len(), mask.n_vocab())?;
    Ok(())
}

/// The sequences of terminals that tokens span, those of most tokens first.
fn print_spans(
    matcher: &mut Matcher,
    tokenizer: &Tokenizer,
    arguments: &Debug,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    print_mask(matcher, out)?;
    let names = matcher.grammar().inspect_terminals();
    let mut spans = matcher.grammar().inspect_spans(arguments.prefix.as_bytes())?.unwrap_or_default();
    spans.sort_by_key(|span| std::cmp::Reverse(span.tokens.len()));
    for span in spans.iter().take(arguments.limit) {
        let sequence: Vec<&str> = span.terminals.iter().map(|&terminal| names[terminal].as_str()).collect();
        let sequence = if sequence.is_empty() { "nothing".to_owned() } else { sequence.join(" ") };
        let verdict = match span.verdict {
            StackVerdict::Always => "always accepted",
            StackVerdict::Never => "always rejected",
            StackVerdict::Depends { is_read_here: true } => "depends on the stack, accepted here",
            StackVerdict::Depends { is_read_here: false } => "depends on the stack, rejected here",
        };
        let shown =
            span.tokens.iter().take(MAX_SHOWN).map(|token| {
                format!(" \"{}\"", tokenizer.token_bytes(token).unwrap_or_default().escape_ascii())
            });
        let shown: String = shown.collect();
        let more = if span.tokens.len() > MAX_SHOWN { " …" } else { "" };
        writeln!(out, "{sequence}: {verdict}; {} by{shown}{more}", counted(span.tokens.len(), "token"))?;
    }
    if spans.len() > arguments.limit {
        writeln!(out, "{} more than {} (--limit)", spans.len() - arguments.limit, arguments.limit)?;
    }
    Ok(())
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The living residues and their rows.
fn print_rows(matcher: &mut Matcher, out: &mut impl Write) -> anyhow::Result<()> {
    print_mask(matcher, out)?;
    for row in matcher.inspect_rows()? {
        writeln!(out, "residue {} of terminal {} {}", row.residue, row.terminal, row.regex)?;
        let readings = if row.n_threads == 1 { "reading" } else { "readings" };
        write!(out, "  {} {readings}; ", row.n_threads)?;
        match (row.n_inside, row.n_exits) {
            (Some(n_inside), Some(n_exits)) => writeln!(out, "{n_inside} tokens inside, {n_exits} exits")?,
            (Some(n_inside), None) => writeln!(out, "{n_inside} tokens inside, too many exits to list")?,
            (None, _) => writeln!(out, "a word or list of words: no row, the token trie is walked")?,
        }
    }
    Ok(())
}
