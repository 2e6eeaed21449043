//! Grammars without a lexer: every terminal is the language of its words, and ignored text may stand around
//! each.
//!
//! The words of a terminal with assertions may depend on the text around it. So may ignored words, which end
//! only where the pattern's match ends: see [`crate::in_context`]. If the first byte after an ignored text
//! decides this, in the same way for all words of the rules, ignored texts are plain languages instead
//! ([`Surroundings::chains`]), as for most blanks and comments.
//!
//! What Lark's Earley parser decides with `lexer="dynamic_complete"`, which tries every way to split a text.
//! JSON Schemas are parts of such a grammar like any other rule.

use maskwright_automata::{ByteSet, Fuel, FuelError, Node, Regex};
use maskwright_grammar::{ExprId, Grammar, GrammarBuilder, LexedGrammar, Mark, TerminalId};
use maskwright_json_schema::{SchemaConfig, SchemaError, compile_str};
use maskwright_lexing::{Chains, Counting, LarkTerminal, LexError, Pattern, Surroundings, Words};
use rustc_hash::FxHashMap;

use crate::config::{LarkConfig, LarkDialect};
use crate::error::Fault;
use crate::first_bytes::first_bytes;
use crate::in_context::{Looking, OTHER_LEXERS, in_context};
use crate::rules::NestedSchema;
use crate::source::{Span, TOP};

/// The texts of `lexed` in whatever way they are split. `spans` are the places of its terminals; the last of
/// its declared terminals are `schemas`, the others have no text.
///
/// # Errors
/// If a terminal's words take too large an automaton, or what they demand of the text around them too many
/// rules; if a schema is wrong, nothing satisfies it, or some of it is not enforced.
pub(crate) fn over_bytes(
    lexed: &LexedGrammar<LarkTerminal>,
    spans: &[Span],
    schemas: &[NestedSchema],
    config: &LarkConfig<'_>,
    fuel: &Fuel,
) -> Result<Grammar, Fault> {
    let out_of_fuel = |error| Fault::fuel(TOP, error);
    let schemas: Vec<Grammar> =
        schemas.iter().map(|schema| texts(schema, &config.schemas, fuel)).collect::<Result<_, _>>()?;
    let Read { surroundings, languages, ignored, first } =
        read(lexed, spans, &schemas, config.dialect, fuel)?;
    let mut symbols = Symbols::default();
    let start = symbols.builder.declare(lexed.rules.name(lexed.rules.start()));
    let (ignored, last) = symbols.ignored(ignored);
    let mut words: Vec<ExprId> = languages
        .into_iter()
        .map(|language| {
            let word = symbols.word(language);
            symbols.builder.seq(&[word, ignored])
        })
        .collect();
    words.resize(lexed.n_terminals() - schemas.len(), symbols.builder.never());
    for schema in &schemas {
        let value = symbols.embed(schema, fuel).map_err(out_of_fuel)?;
        words.push(symbols.builder.seq(&[value, ignored]));
    }
    let rules = symbols.builder.embed(&lexed.rules, fuel, |_, terminal| words[terminal.index()]);
    let body = symbols.builder.seq(&[ignored, rules.map_err(out_of_fuel)?, last]);
    symbols.builder.define(start, body);
    let grammar = symbols.builder.finish(start).expect("its rules are those of finished grammars");
    in_context(&grammar, &symbols.languages, surroundings, fuel).map_err(|unmade| unmade.located(first))
}

/// The words of terminals, and their contexts.
struct Read<'a> {
    /// The conditions of words on the text around them.
    surroundings: Surroundings,
    /// By terminal, the words that rules read; empty for a terminal that no rule uses.
    languages: Vec<Words>,
    ignored: Ignored,
    /// A terminal whose words depend on the text around them, for messages.
    first: Option<Looking<'a>>,
}

/// The ignored texts.
enum Ignored {
    /// The same texts everywhere, and some more at the end of the text.
    Chains(Chains),
    /// Optionally one word of this language.
    Chain(Words),
    /// Any number of words of these languages.
    Words(Vec<Words>),
}

/// The words of the rules of `lexed`, and the ignored texts between and around them.
fn read<'a>(
    lexed: &'a LexedGrammar<LarkTerminal>,
    spans: &[Span],
    schemas: &[Grammar],
    dialect: LarkDialect,
    fuel: &Fuel,
) -> Result<Read<'a>, Fault> {
    let terminals = &lexed.terminals;
    let place = |id: usize| Looking { name: &terminals[id].name, span: spans[id], is_ignored: false };
    let unreadable = |error: LexError, id: usize| {
        let message = format!("the words of `{}`: {error}", terminals[id].name);
        let fault = Fault::caused(spans[id], message, error.is_cancelled(), error.is_limit());
        if terminals[id].pattern.has_look() { fault.with_hint(OTHER_LEXERS) } else { fault }
    };
    let observed = |ids: &[(usize, Counting)]| {
        let patterns: Vec<(&Pattern, Counting)> =
            ids.iter().map(|&(id, counting)| (&terminals[id].pattern, counting)).collect();
        Surroundings::new(&patterns, fuel).map_err(|error| {
            // Without patterns, only the fuel can run out, or the caller cancel.
            match ids.get(error.terminal_id().map_or(0, |at| at as usize)) {
                Some(&(id, _)) => unreadable(error, id),
                None => Fault::caused(TOP, error.to_string(), error.is_cancelled(), error.is_limit()),
            }
        })
    };
    let in_use = lexed.rules.terminals_in_use();
    let in_use = |id: usize| in_use.contains(&TerminalId::from_index(id));
    let mut next = ByteSet::EMPTY;
    for terminal in (0..terminals.len()).filter(|&id| in_use(id)) {
        next = next.union(&terminals[terminal].pattern.first_bytes());
    }
    for schema in schemas {
        let first = first_bytes(schema, fuel);
        next = next.union(&first.map_err(|error| {
            Fault::caused(TOP, error.to_string(), error.is_cancelled(), error.is_limit())
        })?);
    }
    let ignored: Vec<(usize, Counting)> =
        lexed.ignored.iter().map(|id| (id.index(), Counting::Match)).collect();
    let mut plain = Some(Vec::new());
    for &(id, _) in &ignored {
        if terminals[id].pattern.has_look() {
            plain = None;
        }
        if let Some(plain) = &mut plain {
            let words = terminals[id].pattern.words(id as u32, fuel);
            plain.push(words.map_err(|error| unreadable(error, id))?);
        }
    }
    let plain = plain.map(|words| Regex::union(words).plus());
    let chains = observed(&ignored)?.chains(&next, plain.as_ref(), fuel);
    let chains = chains
        .map_err(|error| Fault::caused(TOP, error.to_string(), error.is_cancelled(), error.is_limit()))?;

    let mut looking: Vec<(usize, Counting)> = (0..terminals.len())
        .filter(|&id| in_use(id) && terminals[id].pattern.has_look())
        .map(|id| (id, Counting::Prefixes))
        .collect();
    let n_looking = looking.len();
    if chains.is_none() {
        looking.extend(&ignored);
    }
    let mut surroundings = observed(&looking)?;
    let chain = if chains.is_none() {
        let chain = surroundings.add_chain(n_looking..looking.len(), &next, fuel);
        chain
            .map_err(|error| Fault::caused(TOP, error.to_string(), error.is_cancelled(), error.is_limit()))?
    } else {
        None
    };
    let words_of = |at: usize| {
        let own =
            surroundings.own_words(at as u32, fuel).map_err(|error| unreadable(error, looking[at].0))?;
        Ok(own.map_or(Words::Looking(at as u32), Words::Plain))
    };
    let words = |id: usize| match looking[..n_looking].binary_search_by_key(&id, |&(id, _)| id) {
        _ if !in_use(id) => Ok(Words::Plain(Regex::empty())),
        Ok(at) => words_of(at),
        Err(_) => {
            let all = terminals[id].pattern.language().filter(|_| dialect == LarkDialect::Llguidance);
            if let Some(all) = all {
                return Ok(Words::Plain(all));
            }
            let words = terminals[id].pattern.words(id as u32, fuel);
            words.map(Words::Plain).map_err(|error| unreadable(error, id))
        }
    };
    let languages: Vec<Words> = (0..terminals.len()).map(words).collect::<Result<_, _>>()?;
    let first = languages.iter().position(|words| matches!(words, Words::Looking(_))).map(place);
    let first = first.or_else(|| {
        let id = ignored.first().filter(|_| chains.is_none())?.0;
        Some(Looking { is_ignored: true, ..place(id) })
    });
    let ignored = match (chains, chain) {
        (Some(chains), _) => Ignored::Chains(chains),
        (None, Some(chain)) => Ignored::Chain(Words::Looking(chain)),
        (None, None) => Ignored::Words((n_looking..looking.len()).map(words_of).collect::<Result<_, _>>()?),
    };
    Ok(Read { surroundings, languages, ignored, first })
}

/// A grammar whose terminals are names of languages.
#[derive(Default)]
struct Symbols {
    builder: GrammarBuilder,
    languages: Vec<Words>,
    ids: FxHashMap<Words, ExprId>,
}

impl Symbols {
    /// A word of a terminal, which may match the empty text.
    fn word(&mut self, language: Words) -> ExprId {
        match language {
            Words::Plain(words) if words.is_nullable() => {
                let some = words.difference(&Regex::epsilon());
                let some = self.terminal(Words::Plain(some));
                self.builder.optional(some)
            }
            other => self.terminal(other),
        }
    }

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

    /// Any number of ignored words, and the further texts that are ignored at the end of the text.
    fn ignored(&mut self, ignored: Ignored) -> (ExprId, ExprId) {
        match ignored {
            Ignored::Chains(Chains { inside, last }) => {
                let [inside, last] = [inside, last].map(|words| {
                    let words = self.terminal(Words::Plain(words));
                    self.builder.optional(words)
                });
                (inside, last)
            }
            Ignored::Chain(words) => {
                let words = self.terminal(words);
                (self.builder.optional(words), self.builder.epsilon())
            }
            Ignored::Words(languages) => {
                let (mut plain, mut words) = (Vec::new(), Vec::new());
                for language in languages {
                    match language {
                        Words::Plain(regex) => plain.push(regex),
                        Words::Looking(_) => words.push(self.terminal(language)),
                    }
                }
                // One terminal for a whole run of ignored words, because the same text can follow each of
                // them.
                words.push(self.terminal(Words::Plain(Regex::union(plain).plus())));
                let word = self.builder.alt(&words);
                (self.builder.repeat(word, 0, None), self.builder.epsilon())
            }
        }
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
    // Keys that no schema names may occur twice then, and count twice for `minProperties`, as everyone is
    // told (`LarkConfig::schemas`); items that must differ are another matter.
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
