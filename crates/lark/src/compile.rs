//! The whole way from a source text to a lexed grammar: the passes in their order.

use maskwright_automata::Fuel;
use maskwright_grammar::{
    ExprId, GrammarBuilder, LexedGrammar, RuleId, SpecialNames, TerminalFacts, TerminalId, reduce,
};
use maskwright_lexing::{Flags, LarkTerminal, Pattern, TerminalSet, ignored_keywords, lark_order};
use maskwright_syntax::{PATH_HINT, SyntaxError, is_like_a_path};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::config::{LarkConfig, LarkDialect, LarkGrammar, LexerKind};
use crate::definitions::{Definitions, load};
use crate::error::Fault;
use crate::indentation::{layout, newline};
use crate::over_bytes::over_bytes;
use crate::rules::{RuleExpr, Rules, translate};
use crate::source::{BY_EXPRESSION, Sources, Span, TOP};
use crate::terminals::{NamedText, located, named_texts, parse};
use crate::used::used_terminals;

/// The greatest number of terminals of a lexer. What is kept by state of the lexer and by terminal are sets
/// of terminals, so work and memory grow with its square.
const MAX_TERMINALS: usize = 8192;

/// Reads a grammar in Lark's language.
///
/// `source_name` is what messages call it, and where its relative imports start from. Time is linear in the
/// source and what it imports, but for templates, whose instances are written out, and terminals made of
/// terminals, whose texts are; limits and `fuel` bound both.
///
/// # Errors
/// If the text is not in Lark's grammar language; a name is undefined or defined twice; an import is not
/// found; a terminal is no regular expression that can be run, contains itself or matches the empty text; a
/// limit is reached, or the work is cancelled.
pub fn parse_lark(
    source: &str,
    source_name: &str,
    config: &LarkConfig<'_>,
    fuel: &Fuel,
) -> Result<LarkGrammar, SyntaxError> {
    let mut sources = Sources::default();
    sources.add(source_name, source);
    compile(&mut sources, config, fuel).map_err(|fault| {
        let is_path = !source.contains(':') && is_like_a_path(source, &[".lark", ".gbnf", ".txt"]);
        let fault = if is_path { fault.with_hint(PATH_HINT) } else { fault };
        fault.place(&sources)
    })
}

fn compile(sources: &mut Sources, config: &LarkConfig<'_>, fuel: &Fuel) -> Result<LarkGrammar, Fault> {
    let definitions = load(sources, config, fuel)?;
    let named = named_texts(&definitions, fuel)?;
    let rules = translate(&definitions, named, fuel)?;
    let start = start_rule(&rules, &definitions, &config.start)?;
    let is_over_bytes = config.lexer == LexerKind::DynamicComplete;
    if !is_over_bytes {
        refuse_schemas(&rules)?;
    } else if config.indentation.is_some() {
        return Err(Fault::new(TOP, "indentation without a lexer")
            .with_hint("use the basic or contextual lexer: they make tokens of indentation"));
    }
    let mut kept = kept_terminals(&rules, &definitions, start);
    let newline =
        config.indentation.as_ref().and_then(|indentation| newline(&indentation.newline, &rules, &kept));
    if let Some(at) = newline {
        kept[at] = true;
    }
    let mut terminals = terminals(&rules.terminals, &kept, &definitions, config, fuel)?;
    let n_defined = terminals.terminals.len();
    let names: FxHashSet<&str> = definitions.ignored.iter().map(|(name, _)| name.as_str()).collect();
    let mut ignored: Vec<usize> =
        (0..n_defined).filter(|&id| names.contains(terminals.terminals[id].name.as_str())).collect();
    if !is_over_bytes {
        split_keywords(&mut terminals, &mut ignored, config.lexer, fuel)?;
    }
    ignored.sort_unstable();
    let token_sets = add_token_sets(&mut terminals, &rules, &kept);
    let Terminals { terminals, regexps, spans } = terminals;
    // Of a string that was split, rules name the first terminal.
    let defined = terminals[..n_defined].iter().enumerate();
    let ids: FxHashMap<&str, usize> = defined.map(|(id, terminal)| (terminal.name.as_str(), id)).collect();
    let indentation = match &config.indentation {
        Some(indentation) => {
            let newline = newline.and_then(|at| ids.get(rules.terminals[at].name.as_str()).copied());
            Some(layout(indentation, newline, &ids, &terminals, &rules.declared)?)
        }
        None => None,
    };
    let names: Vec<&str> = terminals
        .iter()
        .map(|terminal| terminal.name.as_str())
        .chain(rules.declared.iter().map(String::as_str))
        .collect();
    let mut lowering = Lowering {
        rules: &rules,
        ids: &ids,
        n_terminals: terminals.len(),
        token_sets,
        terminals: Vec::new(),
        rule_ids: FxHashMap::default(),
        waiting: Vec::new(),
        builder: GrammarBuilder::new(),
        fuel,
    };
    lowering.terminals = LexedGrammar::<LarkTerminal>::placeholders(&mut lowering.builder, &names);
    let grammar = lowering.run(start)?;
    check_start(&grammar, &definitions, &config.start, fuel)?;
    let lexed = LexedGrammar {
        rules: grammar,
        terminals,
        declared: rules.declared,
        ignored: ignored.into_iter().map(TerminalId::from_index).collect(),
    };
    let over_bytes =
        if is_over_bytes { Some(over_bytes(&lexed, &spans, &rules.schemas, config, fuel)?) } else { None };
    Ok(LarkGrammar { lexed, regexps, lexer: config.lexer, indentation, over_bytes })
}

/// A lexer has no terminals that nest.
fn refuse_schemas(rules: &Rules) -> Result<(), Fault> {
    match rules.schemas.first() {
        None => Ok(()),
        Some(schema) => Err(Fault::new(schema.span, "a JSON Schema among the tokens of a lexer").with_hint(
            "use the lexer \"dynamic_complete\" (Python: `lexer=\"dynamic_complete\"`, command line: \
                 `--lexer dynamic_complete`): JSON texts nest, so they are no tokens",
        )),
    }
}

fn start_rule(rules: &Rules, definitions: &Definitions, start: &str) -> Result<usize, Fault> {
    if let Some(at) = rules.rules.iter().position(|(name, _)| name == start) {
        return Ok(at);
    }
    let (span, message) = match definitions.entries.get(start) {
        Some(entry) if entry.name.is_terminal => {
            (entry.name.span, format!("the start `{start}` is a terminal, it must be a rule"))
        }
        Some(entry) => (entry.name.span, format!("the start `{start}` is a template, it must be a rule")),
        None => (TOP, format!("there is no rule `{start}` to start from")),
    };
    let candidates = definitions.entries.names(false).chain(["start", "file_input"]);
    let fault = Fault::new(span, message);
    Err(match rules.rules.first() {
        Some((first, _)) => fault
            .with_hint(format!("name another start rule, such as `{first}`"))
            .suggesting(start, candidates.filter(|name| definitions.entries.get(name).is_some())),
        None => fault.with_hint("a rule is written `start: \"some\" TERMINALS and rules`"),
    })
}

/// Says where a start without a sentence is defined; whoever compiles the grammar finds out again, but not
/// where.
fn check_start(
    grammar: &maskwright_grammar::Grammar,
    definitions: &Definitions,
    start: &str,
    fuel: &Fuel,
) -> Result<(), Fault> {
    let facts = TerminalFacts { is_nullable: false, has_proper_words: true };
    match reduce(grammar.clone(), |_| facts, fuel) {
        Err(error) if error.is_unproductive() => {
            let span = definitions.entries.get(start).map_or(TOP, |entry| entry.name.span);
            Err(Fault::new(
                span,
                format!("rule `{start}` matches no text at all: nothing could ever be generated"),
            )
            .with_hint("all its alternatives lead back to rules without an end; give one of them another"))
        }
        // What a limit ends here it ends there.
        _ => Ok(()),
    }
}

/// The terminals of the lexer: those that are used or ignored.
fn kept_terminals(rules: &Rules, definitions: &Definitions, start: usize) -> Vec<bool> {
    let mut kept = used_terminals(rules, start);
    let mut ids: FxHashMap<&str, usize> = FxHashMap::default();
    ids.extend(rules.terminals.iter().enumerate().map(|(at, terminal)| (terminal.name.as_str(), at)));
    for (name, _) in &definitions.ignored {
        if let Some(&at) = ids.get(name.as_str()) {
            kept[at] = true;
        }
    }
    kept
}

/// The kept terminals in Lark's order, with their regular expressions and where they are defined or used
/// first.
struct Terminals {
    terminals: Vec<LarkTerminal>,
    regexps: Vec<String>,
    spans: Vec<Span>,
}

fn terminals(
    texts: &[NamedText],
    kept: &[bool],
    definitions: &Definitions,
    config: &LarkConfig<'_>,
    fuel: &Fuel,
) -> Result<Terminals, Fault> {
    let mut terminals = Vec::new();
    let mut more = Vec::new();
    let mut regexps = Vec::new();
    let mut spans = Vec::new();
    let mut all = texts.iter().zip(kept).filter_map(|(text, &is_kept)| is_kept.then_some(text));
    if let Some(text) = all.nth(MAX_TERMINALS) {
        let message = format!("a lexer of more than {MAX_TERMINALS} terminals");
        let hint = "make one terminal of words that are alike to the rules: `WORD: \"some\" | \"words\"`";
        return Err(Fault::limit(text.span, message).with_hint(hint));
    }
    for text in texts.iter().zip(kept).filter_map(|(text, &is_kept)| is_kept.then_some(text)) {
        let terminal = terminal(text, definitions, fuel)?;
        let is_ignored = definitions.ignored.iter().any(|(name, _)| *name == terminal.name);
        let may_be_empty =
            config.dialect == LarkDialect::Llguidance && !is_ignored && !terminal.pattern.has_look();
        if terminal.pattern.min_width() == 0 && !may_be_empty {
            return Err(matches_empty(text));
        }
        terminals.push(terminal);
        more.push(spelled(text, &config.special)?);
        regexps.push(text.text.to_regexp());
        spans.push(text.span);
    }
    let order = lark_order(&terminals);
    let regexps = order.iter().map(|&at| std::mem::take(&mut regexps[at])).collect();
    let spans = order.iter().map(|&at| spans[at]).collect();
    // Readings with special tokens do not change the order.
    let with_more = terminals.into_iter().zip(more).map(|(terminal, more)| match more {
        Some(more) => LarkTerminal { pattern: Pattern::alternation([terminal.pattern, more]), ..terminal },
        None => terminal,
    });
    let mut terminals: Vec<Option<LarkTerminal>> = with_more.map(Some).collect();
    let terminals = order.into_iter().filter_map(|at| terminals[at].take()).collect();
    Ok(Terminals { terminals, regexps, spans })
}

fn terminal(text: &NamedText, definitions: &Definitions, fuel: &Fuel) -> Result<LarkTerminal, Fault> {
    let pattern =
        parse(&text.text, text.span, fuel).map_err(|fault| located(fault, text.body, definitions, fuel))?;
    Ok(LarkTerminal {
        name: text.name.clone(),
        pattern,
        source_length: text.text.length(),
        string: text.text.is_string.then(|| text.text.value.clone()),
        flags: Flags::from_letters(&text.text.flags).expect("a pattern with other flags was not read"),
        priority: text.priority,
    })
}

fn matches_empty(text: &NamedText) -> Fault {
    let what = match text.body {
        Some(_) => format!("the terminal `{}`", text.name),
        None => "this pattern".to_owned(),
    };
    let message = format!("{what} matches the empty text");
    Fault::new(text.span, message)
        .with_hint("let it match at least one character, and write `?` where it is used; or make it a rule")
}

/// The readings of a string that contain special tokens, perhaps also its text; `None` if no names are in it,
/// or it is not a string.
fn spelled(text: &NamedText, special: &SpecialNames) -> Result<Option<Pattern>, Fault> {
    if !text.text.is_string || special.is_empty() {
        return Ok(None);
    }
    let parts = special.parts(&text.text.value);
    let parts = parts.map_err(|error| Fault::limit(text.span, error.to_string()))?;
    if parts.iter().all(|readings| readings.len() == 1) {
        return Ok(None);
    }
    let is_whole = parts.len() == 1;
    let parts = parts.iter().map(|readings| {
        // If the string is a single part, its text is in the terminal's own pattern.
        let readings = readings.iter().skip(usize::from(is_whole));
        Pattern::alternation(
            readings
                .map(|reading| Pattern::concat(reading.iter().map(|piece| Pattern::literal(&piece.word())))),
        )
    });
    Ok(Some(Pattern::concat(parts)))
}

/// Splits each ignored string that can also be the keyword of a regular expression (see [`ignored_keywords`])
/// into two terminals of one name: an ignored one and a keyword. With the basic lexer rules read the keyword;
/// with the contextual lexer no rule does.
fn split_keywords(
    terminals: &mut Terminals,
    ignored: &mut [usize],
    lexer: LexerKind,
    fuel: &Fuel,
) -> Result<(), Fault> {
    let set: TerminalSet = ignored.iter().map(|&id| id as u32).collect();
    let keywords = ignored_keywords(&terminals.terminals, &set, fuel)
        .map_err(|error| Fault::caused(TOP, error.to_string(), error.is_cancelled(), error.is_limit()))?;
    for keyword in keywords {
        let last = terminals.terminals.len();
        if lexer == LexerKind::Basic {
            ignored.iter_mut().filter(|id| **id == keyword).for_each(|id| *id = last);
        }
        terminals.terminals.push(terminals.terminals[keyword].clone());
        terminals.regexps.push(terminals.regexps[keyword].clone());
        terminals.spans.push(terminals.spans[keyword]);
    }
    Ok(())
}

/// Adds a terminal for each set of tokens that is used. Whoever compiles the grammar for a vocabulary looks
/// up the tokens. Returned is, by set, its terminal.
fn add_token_sets(terminals: &mut Terminals, rules: &Rules, kept: &[bool]) -> Vec<Option<usize>> {
    let are_used = &kept[rules.terminals.len()..];
    let sets = rules.token_sets.iter().zip(are_used).map(|((set, span), is_used)| {
        is_used.then(|| {
            terminals.terminals.push(LarkTerminal {
                name: set.to_string(),
                pattern: Pattern::literal(&set.word()),
                source_length: 0,
                string: None,
                flags: Flags::default(),
                priority: 0,
            });
            terminals.regexps.push(set.to_string());
            terminals.spans.push(*span);
            terminals.terminals.len() - 1
        })
    });
    sets.collect()
}

/// Makes the grammar of the rules that the start rule leads to.
struct Lowering<'a> {
    rules: &'a Rules,
    ids: &'a FxHashMap<&'a str, usize>,
    n_terminals: usize,
    /// By set of tokens its terminal, if it is used.
    token_sets: Vec<Option<usize>>,
    /// The expressions of the terminals, by id.
    terminals: Vec<ExprId>,
    rule_ids: FxHashMap<usize, RuleId>,
    waiting: Vec<usize>,
    builder: GrammarBuilder,
    fuel: &'a Fuel,
}

impl Lowering<'_> {
    fn run(mut self, start: usize) -> Result<maskwright_grammar::Grammar, Fault> {
        let start = self.rule(start);
        while let Some(at) = self.waiting.pop() {
            let rules = self.rules;
            let body = self.expr(&rules.rules[at].1)?;
            self.builder.define(self.rule_ids[&at], body);
        }
        self.fuel.hold(self.builder.memory_usage());
        Ok(self.builder.finish(start).expect("every rule that is declared is also waiting to be defined"))
    }

    fn rule(&mut self, at: usize) -> RuleId {
        if let Some(&id) = self.rule_ids.get(&at) {
            return id;
        }
        let id = self.builder.declare(&self.rules.rules[at].0);
        self.rule_ids.insert(at, id);
        self.waiting.push(at);
        id
    }

    fn expr(&mut self, expr: &RuleExpr) -> Result<ExprId, Fault> {
        self.fuel.hold(BY_EXPRESSION);
        self.fuel.spend(1).map_err(|error| Fault::fuel(TOP, error))?;
        Ok(match expr {
            RuleExpr::Alternatives(parts) => {
                let parts = parts.iter().map(|part| self.expr(part)).collect::<Result<Vec<_>, _>>()?;
                self.builder.alt(&parts)
            }
            RuleExpr::Sequence(parts) => {
                let parts = parts.iter().map(|part| self.expr(part)).collect::<Result<Vec<_>, _>>()?;
                self.builder.seq(&parts)
            }
            // Nothing of what is repeated no times is in use.
            RuleExpr::Repeat { max: Some(0), .. } => self.builder.epsilon(),
            RuleExpr::Repeat { inner, min, max } => {
                let inner = self.expr(inner)?;
                self.builder.repeat(inner, *min, *max)
            }
            RuleExpr::Terminal(at) => {
                let name = self.rules.terminals[*at].name.as_str();
                // The lexer has the terminals of every rule that the start rule leads to.
                let id = self.ids.get(name).expect("a terminal of a rule in use is kept");
                self.terminals[*id]
            }
            RuleExpr::Declared(at) => self.terminals[self.n_terminals + at],
            RuleExpr::Tokens(at) => {
                self.terminals[self.token_sets[*at].expect("a set of tokens of a rule in use is kept")]
            }
            RuleExpr::Rule(at) => {
                let rule = self.rule(*at);
                self.builder.rule(rule)
            }
        })
    }
}
