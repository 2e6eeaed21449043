//! Grammars without a lexer: every terminal is the language of its words, and ignored text may stand around each.
//!
//! What Lark's Earley parser decides with `lexer="dynamic_complete"`, which tries every way to split a text. JSON Schemas
//! are parts of such a grammar like any other rule.

use maskwright_automata::{Fuel, Regex};
use maskwright_grammar::{Grammar, GrammarBuilder, LexedGrammar, Mark};
use maskwright_json_schema::{SchemaConfig, SchemaError, compile_str};
use maskwright_lexing::{LarkTerminal, LexError};

use crate::error::Fault;
use crate::rules::NestedSchema;
use crate::source::Span;

/// The texts of `lexed` in whatever way they are split. `spans` are the places of its terminals; the last of its declared
/// terminals are `schemas`, the others have no text.
///
/// # Errors
/// If a terminal's words take too large an automaton; if a schema is wrong, nothing satisfies it, or some of it is not
/// enforced.
pub(crate) fn over_bytes(
    lexed: &LexedGrammar<LarkTerminal>,
    spans: &[Span],
    schemas: &[NestedSchema],
    config: &SchemaConfig,
    fuel: &Fuel,
) -> Result<Grammar, Fault> {
    let mut words = Vec::with_capacity(lexed.terminals.len());
    for (id, (terminal, &span)) in lexed.terminals.iter().zip(spans).enumerate() {
        let its = terminal.pattern.words(id as u32, fuel);
        words.push(its.map_err(|error| unreadable(&error, &terminal.name, span))?);
    }
    let top = spans.first().copied().unwrap_or(Span { source: 0, start: 0, end: 0 });
    let out_of_fuel = |error| Fault::fuel(top, error);
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    // One terminal for all that is ignored in a row: what follows a word is the same everywhere.
    let ignored = Regex::union(lexed.ignored.iter().map(|id| words[id.index()].clone())).plus();
    let ignored = builder.terminal(ignored);
    let ignored = builder.optional(ignored);
    let mut symbols = Vec::with_capacity(lexed.n_terminals());
    for words in &words {
        let word = builder.terminal(words.clone());
        symbols.push(builder.seq(&[word, ignored]));
    }
    symbols.resize(lexed.n_terminals() - schemas.len(), builder.never());
    for schema in schemas {
        let texts = texts(schema, config, fuel)?;
        let value = builder.embed(&texts, fuel, |builder, terminal| {
            builder.terminal(texts.terminals()[terminal.index()].clone())
        });
        symbols.push(builder.seq(&[value.map_err(out_of_fuel)?, ignored]));
    }
    let rules = builder.embed(&lexed.rules, fuel, |_, terminal| symbols[terminal.index()]);
    let body = builder.seq(&[ignored, rules.map_err(out_of_fuel)?]);
    builder.define(start, body);
    Ok(builder.finish(start).expect("its rules are those of finished grammars"))
}

/// The texts of a schema that can stand in other texts.
fn texts(schema: &NestedSchema, config: &SchemaConfig, fuel: &Fuel) -> Result<Grammar, Fault> {
    // There is no report in which a keyword could be said not to be enforced.
    let config = SchemaConfig { strict: true, ..*config };
    let compiled =
        compile_str(&schema.text, &config, fuel).map_err(|error| wrong_schema(&error, schema.span))?;
    // Keys that no schema names may occur twice then, and count twice for `minProperties`, as everyone is told
    // (`LarkConfig::schemas`); items that must differ are another matter.
    match compiled.grammar.watched() {
        Some(watched) if watched.has(Mark::Opens) => Err(Fault::new(
            schema.span,
            "`uniqueItems` in a schema inside of a grammar: no rules enforce it here",
        )
        .with_hint("leave it out, give the items a finite list of values, or generate the JSON on its own")),
        _ => Ok(compiled.grammar.without_watch()),
    }
}

fn wrong_schema(error: &SchemaError, span: Span) -> Fault {
    Fault::caused(span, error.to_string(), error.is_cancelled(), error.is_limit())
}

fn unreadable(error: &LexError, name: &str, span: Span) -> Fault {
    let message = format!("the words of `{name}`: {error}");
    Fault::caused(span, message, error.is_cancelled(), error.is_limit())
}
