//! Read-only views of what the engine has built, for `maskwright debug` and for whoever asks why.
//!
//! Not on the way of any mask: every call copies what it shows into plain values. Numbers of states are those
//! of this process and this order of calls; two runs of one program agree, two programs need not.

use maskwright_automata::ByteSet;

pub use crate::lexed::{SpanView, StackVerdict};

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
    /// The symbols that may come next, each with the number of the state after it.
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
    /// The rule of this number, its place in
    /// [`EngineGrammar::inspect_rules`](crate::EngineGrammar::inspect_rules).
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
    /// How many readings (terminal, residue, place after it, stack) share it.
    pub n_threads: usize,
    /// Tokens all of whose bytes stay inside the residue; `None` if it has no row, because it is a word or a
    /// list of words and the token trie is walked with it.
    pub n_inside: Option<usize>,
    /// Ways of tokens to leave it, whatever may follow; `None` if there is no row, or they are too many to
    /// list.
    pub n_exits: Option<usize>,
}
