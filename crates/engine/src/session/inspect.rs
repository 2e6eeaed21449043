//! Read-only views of what the engine has built, for `maskwright debug` and for whoever asks why.
//!
//! Not on the way of any mask: every call copies what it shows into plain values. Numbers of states are those
//! of this process and this order of calls; two runs of one program agree, two programs need not.

use std::collections::VecDeque;

use maskwright_automata::{Automaton, ByteSet, Fuel, StateId};
use maskwright_grammar::{ExprId, Seen, Symbol};

use super::engine_grammar::EngineGrammar;
use super::machine::Machine;
use super::matcher::Matcher;
use crate::ground::MaskBuilder;
pub use crate::lexed::{SpanView, StackVerdict};
use crate::parser::ConfigId;
use crate::{EngineError, Error};

/// A rule of the normalised grammar, as a network of states.
///
/// ```
/// # use maskwright_automata::{Fuel, Regex};
/// # use maskwright_grammar::Grammar;
/// # use maskwright_vocabulary::Vocabulary;
/// # let vocabulary = Vocabulary::from_tokens(vec![Some(b"a".to_vec())], &[], None).unwrap().shared();
/// # let compiler = maskwright_engine::Compiler::new(vocabulary, Default::default());
/// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("ab")), &Fuel::new(100)).unwrap();
/// // The grammar is that of the regular expression `ab`.
/// let rules = grammar.inspect_rules(100);
/// assert_eq!((rules[0].name.as_str(), rules[0].states.len()), ("start", 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleView {
    /// The rule's name.
    pub name: String,
    /// Whether texts begin with it.
    pub is_start: bool,
    /// Whether it matches the empty word.
    pub is_nullable: bool,
    /// The states reached from its beginning, which is the first.
    pub states: Vec<NetworkStateView>,
    /// Whether there are more states than were asked for.
    pub is_cut: bool,
}

/// A state of the network: what is still to be read of a rule.
///
/// ```
/// # use maskwright_engine as maskwright;
/// # use maskwright_automata::{Fuel, Regex};
/// # use maskwright_grammar::Grammar;
/// # use maskwright_vocabulary::Vocabulary;
/// # let vocabulary = Vocabulary::from_tokens(vec![Some(b"a".to_vec())], &[], None).unwrap().shared();
/// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
/// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("ab")), &Fuel::new(100)).unwrap();
/// use maskwright::inspect::SymbolView;
/// // The grammar is that of the regular expression `ab`.
/// let states = &grammar.inspect_rules(100)[0].states;
/// assert_eq!(states[0].moves, [(SymbolView::Terminal(0), states[1].id)]);
/// assert!(states[1].is_accepting && states[1].moves.is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NetworkStateView {
    /// Its number; equal states of different rules have one number.
    pub id: usize,
    /// Whether the rule may end here.
    pub is_accepting: bool,
    /// The symbols that may come next, each with the number of the state behind it.
    pub moves: Vec<(SymbolView, usize)>,
}

/// A grammar symbol.
///
/// ```
/// # use maskwright_engine as maskwright;
/// use maskwright::inspect::SymbolView;
/// assert_ne!(SymbolView::Terminal(0), SymbolView::Rule(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolView {
    /// The terminal of this number.
    Terminal(usize),
    /// The rule of this number, its place in [`EngineGrammar::inspect_rules`].
    Rule(usize),
}

/// A state of a terminal's automaton.
///
/// ```
/// # use maskwright_automata::{Fuel, Regex};
/// # use maskwright_grammar::Grammar;
/// # use maskwright_vocabulary::Vocabulary;
/// # let vocabulary = Vocabulary::from_tokens(vec![Some(b"a".to_vec())], &[], None).unwrap().shared();
/// # let compiler = maskwright_engine::Compiler::new(vocabulary, Default::default());
/// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("ab")), &Fuel::new(100)).unwrap();
/// // The grammar is that of the regular expression `ab`.
/// let (states, is_cut) = grammar.inspect_automaton(0, 100).unwrap().expect("one terminal");
/// assert_eq!((states.len(), is_cut), (3, false));
/// let (bytes, next) = &states[0].moves[0];
/// assert!(bytes.contains(b'a') && *next == states[1].id);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AutomatonStateView {
    /// Its number.
    pub id: usize,
    /// Whether the bytes so far are a word.
    pub is_accepting: bool,
    /// What is left of the terminal, in regular-expression notation.
    pub residue: String,
    /// The bytes that lead to each state, by ascending number of the state.
    pub moves: Vec<(ByteSet, usize)>,
}

/// A residue that some reading of the text is in, and what its row says about the vocabulary.
///
/// ```
/// # use maskwright_engine as maskwright;
/// # use maskwright_automata::{ByteSet, Fuel, Regex};
/// # use maskwright_grammar::Grammar;
/// # use maskwright_vocabulary::Vocabulary;
/// # let tokens = ["1", "23", "x"].map(|token| Some(token.as_bytes().to_vec())).to_vec();
/// # let vocabulary = Vocabulary::from_tokens(tokens, &[], None).unwrap().shared();
/// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
/// # let digits = Regex::bytes(ByteSet::range(b'0', b'9')).plus();
/// # let grammar = compiler.compile(Grammar::from_regex(digits), &Fuel::new(100)).unwrap();
/// use maskwright::Matcher;
/// // The grammar is that of the regular expression `[0-9]+`; the tokens are `1`, `23` and `x`.
/// let rows = Matcher::new(&grammar).inspect_rows().unwrap();
/// assert_eq!((rows.len(), rows[0].n_inside, rows[0].n_exits), (1, Some(2), Some(1)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowView {
    /// The terminal's number.
    pub terminal: usize,
    /// The terminal, in regular-expression notation.
    pub regex: String,
    /// What is left of it here.
    pub residue: String,
    /// How many readings (terminal, residue, place behind it, stack) share it.
    pub n_threads: usize,
    /// Tokens all of whose bytes stay inside the residue; `None` if it has no row, because it is a word or a
    /// list of words and the token trie is walked with it.
    pub n_inside: Option<usize>,
    /// Ways of tokens to leave it, whatever may follow; `None` if there is no row, or they are too many to list.
    pub n_exits: Option<usize>,
}

impl EngineGrammar {
    /// Of a lexed grammar, the sequences of terminals that tokens span after `text`, in the order of their terminals'
    /// numbers: which the lexer can make of them, and what the parser says to each. `None` if no text of the
    /// language begins with `text`, or the grammar is not lexed. Visits each token in every reading.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn inspect_spans(&self, text: &[u8]) -> Result<Option<Vec<SpanView>>, Error> {
        let machine = self.machine();
        let mut machine = machine.lock();
        Ok(machine.reader.spans(text)?)
    }

    /// The rules after all passes, each with at most `max_states` of its states.
    pub fn inspect_rules(&self, max_states: usize) -> Vec<RuleView> {
        let machine = self.machine();
        let mut machine = machine.lock();
        let network = &mut machine.reader.parser_mut().network;
        let start = network.start();
        (0..network.n_rules())
            .map(|index| {
                let rule = maskwright_grammar::RuleId::from_index(index);
                let (mut seen, mut queue) = (Seen::new(), VecDeque::new());
                let (mut states, mut is_cut) = (Vec::new(), false);
                let body: ExprId = network.body(rule);
                seen.insert(body.index());
                queue.push_back(body);
                while let Some(state) = queue.pop_front() {
                    if states.len() >= max_states {
                        is_cut = true;
                        break;
                    }
                    let moves: Vec<_> = network.moves(state).map(|at| network.move_at(at)).collect();
                    queue.extend(moves.iter().map(|step| step.next).filter(|next| seen.insert(next.index())));
                    let view = |symbol| match symbol {
                        Symbol::Terminal(terminal) => SymbolView::Terminal(terminal.index()),
                        Symbol::Rule(rule) => SymbolView::Rule(rule.index()),
                    };
                    states.push(NetworkStateView {
                        id: state.index(),
                        is_accepting: network.is_nullable(state),
                        moves: moves.iter().map(|step| (view(step.symbol), step.next.index())).collect(),
                    });
                }
                RuleView {
                    name: network.name(rule).to_owned(),
                    is_start: rule == start,
                    is_nullable: network.is_rule_nullable(rule),
                    states,
                    is_cut,
                }
            })
            .collect()
    }

    /// The terminals' languages in regular-expression notation, by number; their names if the grammar is lexed.
    pub fn inspect_terminals(&self) -> Vec<String> {
        self.terminals().shown(&self.machine().lock().parser().network)
    }

    /// The automaton of a terminal, at most `max_states` of its states by breadth; whether there are more.
    /// `None` if the grammar has no terminal of this number.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn inspect_automaton(
        &self,
        terminal: usize,
        max_states: usize,
    ) -> Result<Option<(Vec<AutomatonStateView>, bool)>, Error> {
        let machine = self.machine();
        let automaton = {
            let machine = machine.lock();
            let Some(regex) = machine.parser().network.terminals().get(terminal) else { return Ok(None) };
            machine
                .parser()
                .shared
                .automaton(regex, &Fuel::new(machine.parser().shared.limits.compile_fuel))?
        };
        let located = EngineError::in_terminal(&automaton);
        let (mut seen, mut queue) = (Seen::new(), VecDeque::new());
        let (mut states, mut is_cut) = (Vec::new(), false);
        if let Some(start) = automaton.start() {
            seen.insert(start.index());
            queue.push_back(start);
        }
        while let Some(state) = queue.pop_front() {
            if states.len() >= max_states {
                is_cut = true;
                break;
            }
            let mut moves: Vec<(StateId, ByteSet)> = Vec::new();
            for byte in automaton.next_bytes(state).map_err(located)?.iter() {
                let Some(next) = automaton.step(state, byte).map_err(located)? else { continue };
                let set = ByteSet::singleton(byte);
                match moves.iter_mut().find(|(known, _)| *known == next) {
                    Some((_, bytes)) => *bytes = bytes.union(&set),
                    None => moves.push((next, set)),
                }
            }
            moves.sort_unstable_by_key(|(next, _)| *next);
            queue.extend(moves.iter().map(|(next, _)| *next).filter(|next| seen.insert(next.index())));
            states.push(AutomatonStateView {
                id: state.index(),
                is_accepting: automaton.is_accepting(state),
                residue: automaton.describe(state),
                moves: moves.into_iter().map(|(next, bytes)| (bytes, next.index())).collect(),
            });
        }
        Ok(Some((states, is_cut)))
    }
}

impl Matcher {
    /// The number of the session's configuration: texts that lead to one number go on alike, but for what a
    /// watch remembers. It is good for one grammar, as long as its tables are not dropped.
    pub fn inspect_configuration(&self) -> u32 {
        self.state.config.0
    }

    /// The residues of all readings of the text so far, by terminal, with what their rows say. Makes the rows
    /// that are not there yet.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn inspect_rows(&self) -> Result<Vec<RowView>, Error> {
        if self.is_terminated() {
            return Ok(Vec::new());
        }
        Ok(self.ask(|machine| rows_at(machine, self.state.config))?)
    }
}

fn rows_at(machine: &Machine, config: ConfigId) -> Result<Vec<RowView>, EngineError> {
    let threads = machine.reader.threads(config);
    threads
        .chunk_by(|a, b| (a.terminal, a.residue) == (b.terminal, b.residue))
        .map(|group| {
            let automaton = machine.parser().automaton(group[0].terminal);
            let (n_inside, n_exits) = row_counts(machine, automaton, group[0].residue)?;
            Ok(RowView {
                terminal: group[0].terminal.index(),
                regex: format!("{:?}", automaton.regex()),
                residue: automaton.describe(group[0].residue),
                n_threads: group.len(),
                n_inside,
                n_exits,
            })
        })
        .collect()
}

/// Inside tokens and exits of the row of `residue`.
fn row_counts(
    machine: &Machine,
    automaton: &Automaton,
    residue: StateId,
) -> Result<(Option<usize>, Option<usize>), EngineError> {
    if automaton.is_literal_like() {
        return Ok((None, None));
    }
    let located = EngineError::in_terminal(automaton);
    let vocabulary = &machine.parser().shared.vocabulary;
    let max_bytes = vocabulary.max_token_bytes() as u32;
    let residue = automaton.row_key(residue, max_bytes).map_err(located)?;
    let row = machine.parser().shared.rows.get(automaton, residue).map_err(located)?;
    let mut inside = MaskBuilder::new(vocabulary.n_words());
    row.add_inside(&mut inside);
    let n_inside = inside.finish().len();
    let max_exits = machine.parser().shared.options.max_exits;
    let exits = row.exits_on(ByteSet::FULL, vocabulary, automaton, residue, max_exits).map_err(located)?;
    Ok((Some(n_inside), exits.map(|exits| exits.len())))
}
