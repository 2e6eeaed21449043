//! Grammars without a lexer: every terminal is the language of its words, and ignored text may stand around each.
//!
//! (The words of a terminal with assertions may depend on the text around it: see [`crate::in_context`].)
//!
//! What Lark's Earley parser decides with `lexer="dynamic_complete"`, which tries every way to split a text. JSON Schemas
//! are parts of such a grammar like any other rule.

use maskwright_automata::{Fuel, FuelError, Node, Regex};
use maskwright_grammar::{ExprId, Grammar, GrammarBuilder, LexedGrammar, Mark};
use maskwright_json_schema::{SchemaConfig, SchemaError, compile_str};
use maskwright_lexing::{LarkTerminal, LexError, Pattern, Surroundings, Words};
use rustc_hash::FxHashMap;

use crate::error::Fault;
use crate::in_context::{OTHER_LEXERS, in_context};
use crate::rules::NestedSchema;
use crate::source::{Span, TOP};

/// The texts of `lexed` in whatever way they are split. `spans` are the places of its terminals; the last of its declared
/// terminals are `schemas`, the others have no text.
///
/// # Errors
/// If a terminal's words take too large an automaton, or what they demand of the text around them too many rules; if a schema
/// is wrong, nothing satisfies it, or some of it is not enforced.
pub(crate) fn over_bytes(
    lexed: &LexedGrammar<LarkTerminal>,
    spans: &[Span],
    schemas: &[NestedSchema],
    config: &SchemaConfig,
    fuel: &Fuel,
) -> Result<Grammar, Fault> {
    let out_of_fuel = |error| Fault::fuel(TOP, error);
    let (surroundings, languages) = looking(&lexed.terminals, spans, fuel)?;
    let first = languages.iter().position(|words| matches!(words, Words::Looking(_)));
    let first = first.map(|id| (lexed.terminals[id].name.as_str(), spans[id]));
    let mut symbols = Symbols::default();
    let start = symbols.builder.declare("start");
    let ignored = symbols.ignored(lexed.ignored.iter().map(|id| &languages[id.index()]));
    let mut words: Vec<ExprId> = languages
        .into_iter()
        .map(|language| {
            let word = symbols.terminal(language);
            symbols.builder.seq(&[word, ignored])
        })
        .collect();
    words.resize(lexed.n_terminals() - schemas.len(), symbols.builder.never());
    for schema in schemas {
        let texts = texts(schema, config, fuel)?;
        let value = symbols.embed(&texts, fuel).map_err(out_of_fuel)?;
        words.push(symbols.builder.seq(&[value, ignored]));
    }
    let rules = symbols.builder.embed(&lexed.rules, fuel, |_, terminal| words[terminal.index()]);
    let body = symbols.builder.seq(&[ignored, rules.map_err(out_of_fuel)?]);
    symbols.builder.define(start, body);
    let grammar = symbols.builder.finish(start).expect("its rules are those of finished grammars");
    in_context(&grammar, &symbols.languages, surroundings, fuel).map_err(|unmade| unmade.located(first))
}

/// The words of `terminals`, and what those of them that may look around themselves demand of the texts around them.
fn looking(
    terminals: &[LarkTerminal],
    spans: &[Span],
    fuel: &Fuel,
) -> Result<(Surroundings, Vec<Words>), Fault> {
    let unreadable = |error: LexError, id: usize| {
        let (name, span) = (&terminals[id].name, spans[id]);
        let message = format!("the words of `{name}`: {error}");
        let fault = Fault::caused(span, message, error.is_cancelled(), error.is_limit());
        if terminals[id].pattern.has_look() { fault.with_hint(OTHER_LEXERS) } else { fault }
    };
    let looking: Vec<usize> = (0..terminals.len()).filter(|&id| terminals[id].pattern.has_look()).collect();
    let patterns: Vec<&Pattern> = looking.iter().map(|&id| &terminals[id].pattern).collect();
    let surroundings = Surroundings::new(&patterns, fuel).map_err(|error| {
        // Where nothing looks around itself, only the fuel can run out, or the caller cancel.
        match looking.get(error.terminal_id().map_or(0, |at| at as usize)) {
            Some(&id) => unreadable(error, id),
            None => Fault::caused(TOP, error.to_string(), error.is_cancelled(), error.is_limit()),
        }
    })?;
    let words = |(id, terminal): (usize, &LarkTerminal)| {
        let words = match looking.binary_search(&id) {
            Err(_) => terminal.pattern.words(id as u32, fuel).map(Words::Plain),
            Ok(at) => {
                let at = at as u32;
                let own = surroundings.own_words(at, fuel);
                own.map(|own| own.map_or(Words::Looking(at), Words::Plain))
            }
        };
        words.map_err(|error| unreadable(error, id))
    };
    let languages = terminals.iter().enumerate().map(words).collect::<Result<_, _>>()?;
    Ok((surroundings, languages))
}

/// A grammar whose terminals are names of languages.
#[derive(Default)]
struct Symbols {
    builder: GrammarBuilder,
    languages: Vec<Words>,
    ids: FxHashMap<Words, ExprId>,
}

impl Symbols {
    fn terminal(&mut self, language: Words) -> ExprId {
        if let Words::Plain(words) = &language {
            match words.node() {
                Node::Empty => return self.builder.never(),
                Node::Epsilon => return self.builder.epsilon(),
                _ => {}
            }
        }
        if let Some(&known) = self.ids.get(&language) {
            return known;
        }
        // Distinct words, so distinct terminals, numbered as they are made.
        let terminal = self.builder.literal(format!("{}", self.languages.len()));
        self.languages.push(language.clone());
        self.ids.insert(language, terminal);
        terminal
    }

    /// Any number of ignored words.
    fn ignored<'a>(&mut self, ignored: impl Iterator<Item = &'a Words>) -> ExprId {
        let (mut plain, mut looking) = (Vec::new(), Vec::new());
        for language in ignored {
            match language {
                Words::Plain(words) => plain.push(words.clone()),
                Words::Looking(_) => looking.push(self.terminal(language.clone())),
            }
        }
        // One terminal for all that is ignored in a row: what follows a word is the same everywhere.
        let plain = self.terminal(Words::Plain(Regex::union(plain).plus()));
        if looking.is_empty() {
            return self.builder.optional(plain);
        }
        looking.push(plain);
        let ignored = self.builder.alt(&looking);
        self.builder.repeat(ignored, 0, None)
    }

    fn embed(&mut self, grammar: &Grammar, fuel: &Fuel) -> Result<ExprId, FuelError> {
        let terminals: Vec<ExprId> =
            grammar.terminals().iter().map(|words| self.terminal(Words::Plain(words.clone()))).collect();
        self.builder.embed(grammar, fuel, |_, terminal| terminals[terminal.index()])
    }
}

/// The texts of a schema that can stand in other texts.
fn texts(schema: &NestedSchema, config: &SchemaConfig, fuel: &Fuel) -> Result<Grammar, Fault> {
    // There is no report in which a keyword could be said not to be enforced.
    let mut config = *config;
    config.strict = true;
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
