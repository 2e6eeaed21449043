//! A grammar made ready for infilling over one vocabulary.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use maskwright_automata::{AutomatonLimits, Fuel};
use maskwright_engine::NamedTokens;
use maskwright_grammar::{Grammar, GrammarError, Layout, LexedGrammar, Mark, collapse_regular};
use maskwright_lexing::LarkTerminal;
use maskwright_vocabulary::{TokenId, Vocabulary};

use crate::lexed::LexedTables;
use crate::right_recursion::repeat_tails;
use crate::tables::Tables;
use crate::{Error, InfillError};

/// What infilling may spend, in work units and sizes that are the same on every machine.
///
/// ```
/// let limits = maskwright_infill::InfillLimits { max_positions: 512, ..Default::default() };
/// assert!(limits.work > 0);
/// ```
#[derive(Clone, Debug)]
pub struct InfillLimits {
    /// Work units (about one chart entry or one visited node of the token trie each) of one call.
    pub work: u64,
    /// Limits of each terminal's automaton.
    pub automaton: AutomatonLimits,
    /// The most positions of a canvas, or fixed pieces and tokens of a template.
    pub max_positions: usize,
    /// Whether regular rules become terminals first. Answers are the same; without it every character of a
    /// grammar that is written character by character is a chart entry.
    pub collapse_regular: bool,
    /// Whether nodes of a lexed lattice with the same future are one, what the lexer watches for after a token, and
    /// rules that one other rule alone refers to. Answers are the same; without it the chart is larger.
    pub merge_alike: bool,
    /// Whether smaller graphs, with fewer texts or with more, are asked before the whole one of a canvas of a lexed
    /// grammar. Answers are the same; without it most canvases of large grammars reach the limit.
    pub narrow_first: bool,
    /// Whether what a masked position of a lexed grammar can take is searched for, the best facts first, before the whole chart is made
    /// at once. Answers are the same; without it each mask costs as much as the hardest.
    pub search_first: bool,
}

impl Default for InfillLimits {
    /// Two hundred million units: some ten seconds for the worst call.
    fn default() -> InfillLimits {
        InfillLimits {
            work: 200_000_000,
            automaton: AutomatonLimits::default(),
            max_positions: 65_536,
            collapse_regular: true,
            merge_alike: true,
            narrow_first: true,
            search_first: true,
        }
    }
}

/// A grammar made ready for infilling over one vocabulary, with what is learned about the two on the way. Cheap
/// to clone; clones share everything, and so do the canvases and templates made from it, from any thread.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_grammar::Grammar;
/// use maskwright_infill::{Canvas, CanvasConfig, Infiller};
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["a", "ab", "b"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap().shared();
/// let grammar = Grammar::from_regex(Regex::literal("abab"));
/// let infiller = Infiller::new(&grammar, vocabulary, Default::default(), &Fuel::unlimited())?;
/// let mut canvas = Canvas::new(&infiller, &[None; 3], CanvasConfig::default())?;
/// assert!(canvas.is_possible()?);
/// let mut mask = [0];
/// canvas.fill_bitmask(1, &mut mask)?;
/// assert_eq!(mask, [0b101], "ab a b, a b ab: never a b a");
/// # Ok::<(), maskwright_infill::Error>(())
/// ```
#[derive(Clone)]
pub struct Infiller(Arc<Shared>);

struct Shared {
    vocabulary: Arc<Vocabulary>,
    /// The tokens that the grammar names by id.
    named: Option<NamedTokens>,
    limits: InfillLimits,
    tables: Mutex<AnyTables>,
}

/// What canvases and templates share, by the kind of the grammar.
pub(crate) enum AnyTables {
    Scannerless(Box<Tables>),
    Lexed(Box<LexedTables>),
}

impl Infiller {
    /// Prepares `grammar`. Takes time linear in the grammar; what its terminals say about the vocabulary is
    /// computed when a canvas or template first comes to them.
    ///
    /// Of a grammar whose sessions keep names ([`Mark::Names`]: the keys of a JSON object that no schema names), the
    /// texts are filled in as the grammar alone has them: such a name may occur twice.
    ///
    /// # Errors
    /// If the grammar's language is empty, sessions of it remember whole values ([`Mark::Opens`]: items that all
    /// differ), a limit is reached, or the work is cancelled through `fuel`.
    #[doc(hidden)]
    pub fn new(
        grammar: &Grammar,
        vocabulary: Arc<Vocabulary>,
        limits: InfillLimits,
        fuel: &Fuel,
    ) -> Result<Infiller, Error> {
        if grammar.watched().is_some_and(|watched| watched.has(Mark::Opens)) {
            return Err(InfillError::watched().into());
        }
        let (grammar, named) = NamedTokens::resolve(grammar.clone().without_watch(), &vocabulary, fuel)?;
        let grammar = &grammar;
        let grammar = if limits.collapse_regular {
            collapse_regular(&repeat_tails(grammar, fuel)?, fuel).map_err(GrammarError::from)?
        } else {
            grammar.clone()
        };
        let tables = Tables::new(grammar, vocabulary.clone(), &limits.automaton, fuel)?;
        Ok(Infiller::from_tables(vocabulary, named, limits, AnyTables::Scannerless(Box::new(tables))))
    }

    /// Prepares a grammar over the tokens of Lark's basic lexer: a text is in the language iff that lexer uses it up,
    /// and the tokens that are not ignored are a sentence of the rules, with those that indentation makes if `layout` says
    /// how. Takes time linear in the rules, and in the states of the lexer.
    ///
    /// # Errors
    /// If the grammar declares terminals that `layout` does not make, or has a rule that opens a block or a bracket of `layout` and leaves it
    /// open (or closes one that it has not opened); if no token sequence is in its language, a terminal cannot
    /// be had, a limit is reached, or the work is cancelled through `fuel`.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_infill::{Hole, Infiller, Part, Template};
    /// use maskwright_lark::{LarkConfig, builtin, parse_lark};
    /// use maskwright_vocabulary::{TokenId, Vocabulary};
    /// let tokens = ["1", "+", "(", ")", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[4], None).unwrap().shared();
    /// let arithmetic = builtin("arithmetic").unwrap();
    /// let config = LarkConfig { lexer: arithmetic.lexer, ..LarkConfig::default() };
    /// let grammar = parse_lark(arithmetic.text, "arithmetic", &config, &Fuel::unlimited()).unwrap();
    /// let infiller = Infiller::lexed(&grammar.lexed, None, vocabulary, Default::default(), &Fuel::unlimited())?;
    /// let parts = |n| vec![Part::Text(b"(1".to_vec()), Part::Hole(Hole::Exactly(n)), Part::Text(b"1".to_vec())];
    /// assert_eq!(Template::new(&infiller, parts(1))?.complete()?, None, "the bracket is never closed");
    /// assert_eq!(Template::new(&infiller, parts(2))?.complete()?, Some(b"(1)+1".to_vec()));
    /// # Ok::<(), maskwright_infill::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn lexed(
        grammar: &LexedGrammar<LarkTerminal>,
        layout: Option<&Layout>,
        vocabulary: Arc<Vocabulary>,
        limits: InfillLimits,
        fuel: &Fuel,
    ) -> Result<Infiller, Error> {
        let (grammar, layout, named) =
            NamedTokens::resolve_lexed(grammar.clone(), layout.cloned(), &vocabulary, fuel)?;
        let mut tables =
            LexedTables::new(&grammar, layout.as_ref(), vocabulary.clone(), limits.merge_alike, fuel)?;
        tables.narrow_first = limits.narrow_first;
        tables.search_first = limits.search_first;
        Ok(Infiller::from_tables(vocabulary, named, limits, AnyTables::Lexed(Box::new(tables))))
    }

    fn from_tables(
        vocabulary: Arc<Vocabulary>,
        named: Option<NamedTokens>,
        limits: InfillLimits,
        tables: AnyTables,
    ) -> Infiller {
        Infiller(Arc::new(Shared { vocabulary, named, limits, tables: Mutex::new(tables) }))
    }

    /// The tokens that the grammar names by id.
    pub(crate) fn named(&self) -> Option<&NamedTokens> {
        self.0.named.as_ref()
    }

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.0.vocabulary
    }

    /// The limits.
    #[doc(hidden)]
    pub fn limits(&self) -> &InfillLimits {
        &self.0.limits
    }

    /// What is shared; what a panicking thread left behind is a cache in a consistent state.
    pub(crate) fn tables(&self) -> MutexGuard<'_, AnyTables> {
        self.0.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the vocabulary has the token.
    pub(crate) fn check_token(&self, token: TokenId) -> Result<(), InfillError> {
        let n_vocab = self.vocabulary().n_vocab();
        if token.index() < n_vocab { Ok(()) } else { Err(InfillError::token(token.0, n_vocab)) }
    }

    /// A supply for one call.
    pub(crate) fn fuel(&self) -> Fuel {
        Fuel::new(self.0.limits.work)
    }
}

impl std::fmt::Debug for Infiller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Infiller").field("limits", &self.0.limits).finish_non_exhaustive()
    }
}
