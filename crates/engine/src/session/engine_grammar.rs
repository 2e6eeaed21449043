//! A compiled grammar: what its sessions share, and the machine that new ones start on.

mod inspect;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use maskwright_automata::Fuel;
use maskwright_grammar::{Grammar, Layout, LexedGrammar, with_labelled_rules};
use maskwright_lexing::LarkTerminal;
use maskwright_vocabulary::{TokenId, Vocabulary};
use parking_lot::Mutex;

use super::machine::Machine;
use super::matcher::Matcher;
use super::shared_machine::SharedMachine;
use super::source::Source;
use crate::ground::{ByStops, Counted, GivesUp, NamedTokens, Readings, Spelled, TextRegion, WordsPlace};
use crate::labels::LabelledGrammar;
use crate::reader::Terminals;
use crate::shared::Shared;
use crate::{EngineError, Error};

/// A grammar ready to serve masks over one vocabulary; shared by its sessions and by threads.
pub struct EngineGrammar {
    shared: Arc<Shared>,
    terminals: Terminals,
    /// The tokens that the grammar names.
    named: Option<NamedTokens>,
    /// The machine that new sessions start on. Locked to be copied or replaced only.
    machine: Mutex<Arc<SharedMachine>>,
    /// What it was compiled from, if it names tokens: whether these end a text depends on the session.
    source: Option<Source>,
    /// The same for sessions with more tokens that end a text, by these; the last one used is the last.
    by_stops: ByStops<Arc<EngineGrammar>>,
    /// What goes with the grammar and is not the engine's.
    beside: Mutex<Counted>,
    /// By the compiler's clock.
    last_use: AtomicU64,
    must_spell: bool,
    words: OnceLock<Arc<dyn Words>>,
}

impl EngineGrammar {
    /// The same grammar for sessions whose text also ends with one of `stops`: such a token is refused until
    /// the text may end, and ends it then. The grammar itself if all of them end a text in any case.
    ///
    /// Takes no time to speak of if it was asked for before, or if neither `stops` match as text nor the
    /// grammar names tokens. Tokens that match as text cannot be used in the text, so new rows are made, and
    /// a trie. If other tokens cannot spell such a token either, the grammar is restricted to the texts that
    /// they can spell, so no mask leads into a dead end.
    ///
    /// # Errors
    /// If an id is not in range, no text of the grammar is left, or a limit on work is reached before that is
    /// decided.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_engine::*; pub use maskwright_vocabulary::*; }
    /// # use maskwright_automata::{Fuel, Regex};
    /// # use maskwright_grammar::Grammar;
    /// # let tokens = ["a", ".", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = maskwright::Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap().shared();
    /// # let compiler = maskwright::Compiler::new(vocabulary, Default::default());
    /// # let grammar = compiler.compile(Grammar::from_regex(Regex::literal("aa")), &Fuel::new(1_000)).unwrap();
    /// use maskwright::{Matcher, TokenId};
    /// // The grammar has the text `aa`; the tokens are `a`, `.` and one that ends texts.
    /// let mut matcher = Matcher::new(&grammar.with_stop_tokens(&[TokenId(1)]).unwrap());
    /// assert_eq!(matcher.accept_tokens(&[0, 1, 0].map(TokenId)).unwrap(), 1, "the text may not end here");
    /// assert_eq!(matcher.accept_tokens(&[0, 1].map(TokenId)).unwrap(), 2);
    /// assert!(matcher.is_terminated());
    /// ```
    #[doc(hidden)]
    pub fn with_stop_tokens(
        self: &Arc<EngineGrammar>,
        stops: &[TokenId],
    ) -> Result<Arc<EngineGrammar>, Error> {
        let vocabulary = self.vocabulary();
        let mut stops: Vec<TokenId> =
            stops.iter().copied().filter(|&stop| !vocabulary.is_eos(stop)).collect();
        stops.sort_unstable();
        stops.dedup();
        if let Some(&stop) = stops.last().filter(|stop| stop.index() >= vocabulary.n_vocab()) {
            return Err(EngineError::argument(format!(
                "stop token {} does not exist: the vocabulary has {} ids",
                stop.0,
                vocabulary.n_vocab()
            ))
            .into());
        }
        if stops.is_empty() {
            return Ok(self.clone());
        }
        if let Some(known) = self.by_stops.get(&stops) {
            return Ok(known);
        }
        let shared = self.shared.with_stops(&stops)?;
        let spelled = shared.spelled.clone();
        let grammar = self.over(shared.clone()).and_then(EngineGrammar::with_some_text);
        let grammar = match (grammar, spelled) {
            // A call that is to stop has decided nothing.
            (Err(error), Some(spelled)) if error.is_final_limit() && !spelled.rare.is_empty() => {
                // Fewer texts, but all of them can be spelled.
                let bound = self.over(shared.with_spelled(spelled.without_rare()));
                bound.map_err(|_| error)
            }
            (grammar, _) => grammar,
        };
        let grammar = grammar.map_err(|error| match error.is_without_text() && shared.spelled.is_some() {
            true => EngineError::stops_leave_no_text(vocabulary, &stops),
            false => error,
        })?;
        if let Some(words) = self.words.get() {
            grammar.speak(words.clone());
        }
        Ok(self.by_stops.keep(&stops, grammar))
    }

    /// The same grammar with labels, to be read along texts of this one. It gets more labels around the
    /// `rules` of these names, whose place there is their number.
    ///
    /// # Errors
    /// As [`with_labelled_rules`](maskwright_grammar::with_labelled_rules); or if a limit is reached, or the
    /// work is cancelled through `fuel`.
    #[doc(hidden)]
    pub fn labelled(
        &self,
        grammar: Grammar,
        rules: &[String],
        fuel: &Fuel,
    ) -> Result<Arc<LabelledGrammar>, Error> {
        Ok(LabelledGrammar::over_bytes(&self.shared, grammar, rules, fuel)?)
    }

    /// The same for a grammar with a lexer.
    ///
    /// # Errors
    /// As [`labelled`](EngineGrammar::labelled).
    #[doc(hidden)]
    pub fn labelled_lexed(
        &self,
        mut grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        rules: &[String],
        fuel: &Fuel,
    ) -> Result<Arc<LabelledGrammar>, Error> {
        grammar.rules = with_labelled_rules(grammar.rules, rules, fuel)?;
        let (grammar, ..) = NamedTokens::with_lexer(grammar, layout, &self.shared.vocabulary, fuel)?;
        let tables = self.machine().lock().reader.lexed_mut()?.0.tables().clone();
        let facts = tables.facts(fuel).map_err(EngineError::from)?;
        Ok(LabelledGrammar::lexed(&self.shared, grammar.rules, facts, fuel)?)
    }

    /// Lets messages speak of texts in these words; the first that are given stay.
    #[doc(hidden)]
    pub fn speak(&self, words: Arc<dyn Words>) {
        let _ = self.words.set(words);
    }

    /// What messages speak of texts with, beside the grammar itself.
    #[doc(hidden)]
    pub fn words(&self) -> Option<&Arc<dyn Words>> {
        self.words.get()
    }

    /// The same grammar with another compiler's vocabulary, which differs in the tokens that end a text.
    fn over(&self, shared: Arc<Shared>) -> Result<Arc<EngineGrammar>, EngineError> {
        let fuel = Fuel::new(shared.limits.compile_work);
        if let Some(source) = &self.source {
            return EngineGrammar::compile(&shared, source.clone(), &fuel);
        }
        let mut network = self.machine().lock().reader.parser().network.clone();
        let mut terminals = self.terminals.clone();
        if let Some(Spelled { bytes, .. }) = &shared.spelled {
            (terminals, network) = terminals.within(network, bytes, &shared, &fuel)?;
        }
        let machine = Machine::new(shared.clone(), network, &terminals)?;
        Ok(EngineGrammar::new(shared, None, None, machine))
    }

    /// The grammar, if it has a text that the tokens spell.
    ///
    /// # Errors
    /// If it has none, or a limit is reached before that is decided.
    fn with_some_text(self: Arc<EngineGrammar>) -> Result<Arc<EngineGrammar>, EngineError> {
        if self.must_spell && self.machine().has_completion()? != Some(true) {
            // With the contextual lexer, the search for completions may miss some.
            return Err(match self.terminals.may_miss_completions() {
                true => EngineError::undecided(),
                false => EngineError::cannot_be_spelled(),
            });
        }
        Ok(self)
    }

    /// Whether some text of the grammar cannot be spelled, so that each token must be checked for a
    /// completion.
    pub(crate) fn must_spell(&self) -> bool {
        self.must_spell
    }

    /// Whether texts of the grammar are left out because a search for them was given up.
    pub(crate) fn is_bound(&self) -> bool {
        self.shared.spelled.as_ref().is_some_and(|spelled| spelled.is_bound)
    }

    /// The grammar that `source` describes.
    ///
    /// # Errors
    /// As [`Source::compile`].
    pub(crate) fn compile(
        shared: &Arc<Shared>,
        source: Source,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, EngineError> {
        let kept = source.names_tokens().then(|| source.clone());
        let (machine, named) = source.compile(shared, fuel)?;
        Ok(EngineGrammar::new(shared.clone(), named, kept, machine))
    }

    fn new(
        shared: Arc<Shared>,
        named: Option<NamedTokens>,
        source: Option<Source>,
        machine: Machine,
    ) -> Arc<EngineGrammar> {
        let terminals = machine.reader.terminals();
        let rare = shared.spelled.as_ref().map(|spelled| &spelled.rare).filter(|rare| !rare.is_empty());
        let must_spell = rare.is_some_and(|rare| terminals.may_read(&machine.reader.parser().network, rare));
        let machine = Mutex::new(Arc::new(SharedMachine::new(machine)));
        let beside = Mutex::new(Counted::new(shared.memory.clone()));
        let last_use = AtomicU64::new(shared.memory.now());
        let grammar = Arc::new(EngineGrammar {
            shared,
            terminals,
            named,
            machine,
            source,
            by_stops: ByStops::default(),
            beside,
            last_use,
            must_spell,
            words: OnceLock::new(),
        });
        grammar.shared.memory.add(&grammar);
        grammar.shared.keep_within_limit();
        grammar
    }

    /// Counts `n_bytes` as memory of this grammar: what its owner holds for it.
    #[doc(hidden)]
    pub fn count_beside(&self, n_bytes: usize) {
        self.beside.lock().set(n_bytes);
    }

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.shared.vocabulary
    }

    /// How `token` can be read. A token that is not in the vocabulary has no readings.
    pub(crate) fn readings(&self, token: TokenId) -> Readings<'_> {
        if token.index() >= self.vocabulary().n_vocab() {
            return Readings { text: None, symbol: None };
        }
        let symbol = self.named().and_then(|named| named.symbol(token));
        Readings { text: self.vocabulary().text(token), symbol }
    }

    /// The tokens that the grammar names.
    pub(crate) fn named(&self) -> Option<&NamedTokens> {
        self.named.as_ref()
    }

    /// Whether strings of the grammar name tokens that end texts, so that which of them may end a text
    /// depends on the text.
    #[doc(hidden)]
    pub fn has_named_ends(&self) -> bool {
        self.named().is_some_and(|named| named.ends().is_some())
    }

    /// What its reader knows of terminals.
    pub(crate) fn terminals(&self) -> &Terminals {
        &self.terminals
    }

    /// What the grammars of its compiler share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The machine for a new session, which does not wait for those that are on it. One that has grown beyond
    /// the limit is left to them, and a fresh one takes its place.
    pub(crate) fn machine(&self) -> Arc<SharedMachine> {
        self.last_use.store(self.shared.memory.now(), Ordering::Relaxed);
        self.shared.keep_within_limit();
        let current = self.machine.lock().clone();
        match self.fresh(&current) {
            Some(fresh) => {
                self.machine.lock().clone_from(&fresh);
                fresh
            }
            None => current,
        }
    }

    /// The same, or `None` if that would wait or work.
    pub(crate) fn try_machine(&self) -> Option<Arc<SharedMachine>> {
        self.last_use.store(self.shared.memory.now(), Ordering::Relaxed);
        let current = self.machine.try_lock()?.clone();
        let is_full = current.try_lock().is_some_and(|machine| self.is_full(&machine));
        (!is_full).then_some(current)
    }

    fn fresh(&self, current: &SharedMachine) -> Option<Arc<SharedMachine>> {
        let machine = current.try_lock().filter(|machine| self.is_full(machine))?;
        self.anew(&machine)
    }

    /// The machine as it was before any text.
    fn anew(&self, machine: &Machine) -> Option<Arc<SharedMachine>> {
        machine.anew().ok().map(|machine| Arc::new(SharedMachine::new(machine)))
    }

    fn is_full(&self, machine: &Machine) -> bool {
        machine.memory_usage() > 2 * self.shared.limits.machine_bytes
    }

    /// Drops the memoised transitions and masks; sessions go on with the same answers.
    pub fn clear_caches(&self) {
        let machine = self.machine.lock().clone();
        machine.lock().clear_memo();
    }

    /// Approximate memory, in bytes: the rules, and the tables built so far.
    pub fn memory_usage(&self) -> usize {
        let machine = self.machine.lock().clone();
        let tables = machine.lock().count();
        let named = self.named.as_ref().map_or(0, NamedTokens::memory_usage);
        tables + named + self.beside.lock().n_bytes()
    }
}

impl GivesUp for EngineGrammar {
    fn last_use(&self) -> u64 {
        self.last_use.load(Ordering::Relaxed)
    }

    fn give_up(&self) {
        self.by_stops.clear();
        let Some(mut machine) = self.machine.try_lock() else { return };
        let renewed = match Arc::strong_count(&machine) {
            // No session has it.
            1 => machine.try_lock().and_then(|known| self.anew(&known)),
            _ => None,
        };
        match renewed {
            Some(renewed) => *machine = renewed,
            None => {
                if let Some(mut known) = machine.try_lock() {
                    known.clear_memo();
                    known.count();
                }
            }
        }
    }
}

/// A source that has words for its texts.
pub trait Words: Send + Sync + fmt::Debug {
    /// What says them along one session.
    fn speaker(self: Arc<Self>) -> Box<dyn WordsSpeaker>;

    /// The names of the rules that the source's compiler makes around the user's. Messages leave them out.
    /// `None` if no rule is the user's.
    fn own_rules(&self) -> Option<&'static [&'static str]>;
}

/// Says where a session's text is. It is asked of one session at a time, which may have gone on or back.
pub trait WordsSpeaker: Send {
    /// The place after the text; `None` if there are no words for it.
    fn place(&mut self, session: &Matcher) -> Option<WordsPlace>;

    /// Why the first byte of `next` cannot follow the text and `before`; `None` if there are no better words
    /// than what was expected.
    fn refusal(&mut self, session: &Matcher, before: &[u8], next: &[u8]) -> Option<String>;

    /// The parts of the text that have a name, an outer one before those within.
    fn regions(&mut self, session: &Matcher) -> Vec<TextRegion>;
}
