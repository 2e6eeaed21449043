//! Compiling grammars for one vocabulary.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use maskwright_automata::{Automaton, AutomatonStore, CountedUnits, Fuel, FuelError, Node, Regex, StateId};
use maskwright_grammar::{Grammar, Layout, LexedGrammar, Network, TerminalFacts, TerminalId, Watch, reduce};
use maskwright_lexing::{
    Choice, Discipline, LarkTerminal, Lexer, LexerLimits, TerminalSet, lark_contextual_terminals,
    lark_terminals,
};
use maskwright_vocabulary::{TokenId, Vocabulary};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::budget::Spelling;
use crate::lexed::LexedTables;
use crate::machine::Machine;
use crate::memory::{Counted, Memory};
use crate::named_tokens::{NamedTokens, Readings};
use crate::rows::{
    KnownRow, MAX_RESIDUE, MAX_TREE, OncePerKey, ReadRow, Rows, SavedError, SavedRows, Writer,
};
use crate::shared_machine::SharedMachine;
use crate::watched::DoubtfulTokens;
use crate::{EngineError, Error, Limits, Options};

/// The most residues of one terminal that are prepared for.
const MAX_WARM_RESIDUES: usize = 32;

/// Bytes that the doubtful tokens of all watch families may take; there are few.
const MAX_DOUBTFUL_BYTES: usize = 64 << 20;

/// The most automata that are kept for grammars to come.
const MAX_AUTOMATA: usize = 8_192;

/// Compiles grammars for one vocabulary, and owns what they share: the automata of terminals and their rows.
///
/// Cheap to clone; clones share everything. May be used from many threads.
///
/// ```
/// use maskwright_automata::{Fuel, Regex};
/// use maskwright_engine::{Compiler, Matcher};
/// use maskwright_grammar::Grammar;
/// use maskwright_vocabulary::{TokenId, Vocabulary};
/// let tokens = ["yes", "no", "n", "o", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[4], None).unwrap().shared();
/// let compiler = Compiler::new(vocabulary, Default::default());
/// let grammar = Grammar::from_regex(Regex::words([*b"no"]));
/// let compiled = compiler.compile(grammar, &Fuel::new(1_000)).unwrap();
/// let mut matcher = Matcher::new(&compiled);
/// assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [TokenId(1), TokenId(2)]);
/// ```
#[derive(Clone)]
pub struct Compiler(Arc<Shared>);

/// What the grammars of a compiler share.
pub(crate) struct Shared {
    pub(crate) vocabulary: Arc<Vocabulary>,
    pub(crate) limits: Limits,
    pub(crate) options: Options,
    automata: Mutex<AutomatonCache>,
    units: CountedUnits,
    pub(crate) rows: Rows,
    /// By the family of a watch.
    doubtful: OncePerKey<&'static str, Arc<DoubtfulTokens>>,
    /// What grammars take.
    pub(crate) memory: Memory,
    /// What budgets share; made when a first budget is asked for.
    spelling: Mutex<Option<Arc<Mutex<Spelling>>>>,
}

/// The automata of terminals, with their states in one store, so that equal residues are one.
struct AutomatonCache {
    store: AutomatonStore,
    known: FxHashMap<Regex, Arc<Automaton>>,
}

impl Compiler {
    /// A compiler for `vocabulary` with all optimisations on.
    pub fn new(vocabulary: Arc<Vocabulary>, limits: Limits) -> Compiler {
        Compiler::with_options(vocabulary, limits, Options::default())
    }

    /// A compiler with the given optimisations; masks are the same whichever are on.
    pub fn with_options(vocabulary: Arc<Vocabulary>, limits: Limits, options: Options) -> Compiler {
        let rows = Rows::new(vocabulary.clone(), options, limits.row_cache_bytes);
        Compiler(Arc::new(Shared {
            vocabulary,
            automata: Mutex::new(AutomatonCache::new(&limits)),
            limits,
            options,
            units: CountedUnits::default(),
            rows,
            doubtful: OncePerKey::new(MAX_DOUBTFUL_BYTES),
            memory: Memory::default(),
            spelling: Mutex::default(),
        }))
    }

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.0.vocabulary
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// Compiles a grammar. Takes time linear in the grammar; automata, stack states and masks are made when
    /// texts come to them.
    ///
    /// # Errors
    /// If the grammar's language is empty, a limit is reached, or the work is cancelled through `fuel`.
    pub fn compile(&self, grammar: Grammar, fuel: &Fuel) -> Result<Arc<EngineGrammar>, Error> {
        let (grammar, named) = NamedTokens::over_bytes(grammar, self.vocabulary(), fuel)?;
        let facts: Vec<TerminalFacts> = grammar
            .terminals()
            .iter()
            .map(|regex| self.0.facts(regex, fuel))
            .collect::<Result<_, EngineError>>()?;
        let grammar = reduce(grammar, |terminal: TerminalId| facts[terminal.index()], fuel)?;
        let network = Network::new(grammar, fuel)?;
        let machine = Machine::new(self.0.clone(), network)?;
        Ok(EngineGrammar::new(self.0.clone(), None, named, machine))
    }

    /// Compiles a grammar over the tokens of Lark's basic lexer: a text is in the language iff that lexer
    /// uses it up, and the tokens that are not ignored are a sentence of the rules; with `layout`,
    /// indentation makes tokens among them. Takes time linear in the rules, and in the states of the
    /// lexer, all of which are made now.
    ///
    /// # Errors
    /// If no text is in the language, a terminal cannot be had, a limit is reached, or the work is cancelled
    /// through `fuel`.
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_engine::{Compiler, Matcher};
    /// use maskwright_grammar::{GrammarBuilder, LexedGrammar, TerminalId};
    /// use maskwright_lexing::{Flags, LarkTerminal, parse_python};
    /// use maskwright_vocabulary::{TokenId, Vocabulary};
    /// let terminal = |name: &str, source: &str| LarkTerminal {
    ///     name: name.to_owned(),
    ///     pattern: parse_python(source, Flags::default(), &Fuel::new(1_000)).unwrap(),
    ///     source_length: source.len(),
    ///     string: None,
    ///     flags: Flags::default(),
    ///     priority: 0,
    /// };
    /// let terminals = vec![terminal("WORD", "[a-z]+"), terminal("SPACE", " ")];
    /// let mut builder = GrammarBuilder::new();
    /// let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &["WORD", "SPACE"]);
    /// let start = builder.declare("start");
    /// let body = builder.seq(&[ids[0], ids[0]]);
    /// builder.define(start, body);
    /// let rules = builder.finish(start).unwrap();
    /// let ignored = vec![TerminalId::from_index(1)];
    /// let grammar = LexedGrammar { rules, terminals, declared: vec![], ignored };
    /// let tokens = ["ab", " ", " c d", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[3], None).unwrap().shared();
    /// let compiler = Compiler::new(vocabulary, Default::default());
    /// let compiled = compiler.compile_lexed(grammar, None, &Fuel::new(100_000)).unwrap();
    /// let mut matcher = Matcher::new(&compiled);
    /// assert!(matcher.accept_bytes(b"a").unwrap() && !matcher.is_accepting());
    /// assert_eq!(matcher.mask().unwrap().iter().map(|token| token.0).collect::<Vec<_>>(), [0, 1]);
    /// assert!(matcher.accept_bytes(b" b").unwrap() && matcher.is_accepting());
    /// ```
    pub fn compile_lexed(
        &self,
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, Error> {
        Ok(self.compile_tokens(grammar, layout, false, fuel)?)
    }

    /// The same for the contextual discipline: only those terminals compete for a token that can follow the tokens before
    /// it in some sentence, the ignored ones, and inside of brackets that of line ends, which a `layout` drops there.
    ///
    /// A text is in the language iff it can be split into tokens such that (1) those that are not ignored, with what
    /// indentation makes of them, are a sentence of the rules, and (2) each token wins: at its place, its text is the
    /// match that Python's `re` finds for its terminal alone, and no competing terminal has a longer match or one of
    /// the same length that is preferred: by priority, then strings before regular expressions, then in Lark's order. A
    /// string of punctuation loses to no longer one of that kind: `>>` is read both ways, and the rules decide.
    ///
    /// # Errors
    /// As those of [`compile_lexed`](Compiler::compile_lexed).
    ///
    /// ```
    /// use maskwright_automata::Fuel;
    /// use maskwright_engine::{Compiler, Matcher};
    /// use maskwright_grammar::{GrammarBuilder, LexedGrammar};
    /// use maskwright_lexing::{Flags, LarkTerminal, parse_python};
    /// use maskwright_vocabulary::{TokenId, Vocabulary};
    /// let terminal = |name: &str, source: &str| LarkTerminal {
    ///     name: name.to_owned(),
    ///     pattern: parse_python(source, Flags::default(), &Fuel::new(1_000)).unwrap(),
    ///     source_length: source.len(),
    ///     string: None,
    ///     flags: Flags::default(),
    ///     priority: 0,
    /// };
    /// let terminals = vec![terminal("QUOTE", "\""), terminal("WORD", "[a-z]+"), terminal("REST", "[^\"]+")];
    /// let mut builder = GrammarBuilder::new();
    /// let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &["QUOTE", "WORD", "REST"]);
    /// let start = builder.declare("start");
    /// let body = builder.seq(&[ids[1], ids[0], ids[2], ids[0]]);
    /// builder.define(start, body);
    /// let rules = builder.finish(start).unwrap();
    /// let grammar = LexedGrammar { rules, terminals, declared: vec![], ignored: vec![] };
    /// let tokens = ["a", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[1], None).unwrap().shared();
    /// let compiler = Compiler::new(vocabulary, Default::default());
    /// let compiled = compiler.compile_contextual(grammar, None, &Fuel::new(100_000)).unwrap();
    /// let mut matcher = Matcher::new(&compiled);
    /// assert!(matcher.accept_bytes(b"say\"what I say\"").unwrap() && matcher.is_accepting());
    /// ```
    pub fn compile_contextual(
        &self,
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, Error> {
        Ok(self.compile_tokens(grammar, layout, true, fuel)?)
    }

    fn compile_tokens(
        &self,
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        is_contextual: bool,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, EngineError> {
        let (grammar, layout, named) = NamedTokens::with_lexer(grammar, layout, self.vocabulary(), fuel)?;
        // A terminal that the lexer never finds, or that matches nothing by itself, has no token.
        let (terminals, discipline, choice) = if is_contextual {
            let terminals = lark_contextual_terminals(&grammar.terminals, &ignored(&grammar), fuel)?;
            (terminals, Discipline::LongestMatch, Choice::Each)
        } else {
            let terminals = lark_terminals(&grammar.terminals, &ignored(&grammar), fuel)?;
            (terminals, Discipline::LeftmostFirst, Choice::Best)
        };
        let lexer = Lexer::new(&terminals, discipline, LexerLimits::default(), fuel)?;
        let found = lexer.possible(choice)?;
        let LexedGrammar { rules, terminals, declared, ignored } = grammar;
        let is_made = |terminal: TerminalId| {
            layout.as_ref().is_some_and(|layout| terminal == layout.indent || terminal == layout.dedent)
        };
        let facts = |terminal: TerminalId| TerminalFacts {
            is_nullable: false,
            has_proper_words: found.contains(terminal.index() as u32) || is_made(terminal),
        };
        let network = Network::new(reduce(rules, facts, fuel)?, fuel)?;
        let names = terminals.into_iter().map(|terminal| terminal.name).chain(declared).collect();
        let tables = Arc::new(LexedTables::new(lexer, names, ignored, layout, is_contextual)?);
        let machine = Machine::new_lexed(self.0.clone(), network, tables.clone())?;
        Ok(EngineGrammar::new(self.0.clone(), Some(tables), named, machine))
    }

    /// Makes the rows of `terminals` now, those of all residues if they are few, so that no mask has to wait for
    /// them. Changes no answer.
    ///
    /// # Errors
    /// If a limit is reached, or the work is cancelled through `fuel`; what was made by then stays.
    pub fn warm(&self, terminals: &[Regex], fuel: &Fuel) -> Result<(), Error> {
        if !self.0.options.use_rows {
            return Ok(());
        }
        for regex in terminals {
            let automaton = self.0.automaton(regex, fuel)?;
            let located = |error| EngineError::automaton(format!("{regex:?}"), error);
            let mut residues: Vec<StateId> = automaton.start().into_iter().collect();
            let mut position = 0;
            while let Some(&residue) = residues.get(position).filter(|_| position < MAX_WARM_RESIDUES) {
                position += 1;
                fuel.spend(1).map_err(EngineError::from)?;
                if let Some(row) =
                    self.0.rows.get_if_heavy(&automaton, residue, Some(fuel)).map_err(located)?
                {
                    row.prepare(&self.0.vocabulary);
                }
                for byte in automaton.next_bytes(residue).map_err(located)?.iter() {
                    let next = automaton.step(residue, byte).map_err(located)?;
                    residues.extend(next.filter(|next| !residues.contains(next)));
                }
            }
        }
        Ok(())
    }

    /// The rows that are known by now, to be read by [`load_rows`](Compiler::load_rows) in another process with the same
    /// vocabulary, so that its first masks need not wait for them. Left out are rows of very long expressions, those with a
    /// complement inside, and what is quickly made from other rows.
    pub fn save_rows(&self) -> Vec<u8> {
        let vocabulary = &self.0.vocabulary;
        // What is locked is looked up and let go: writing takes long.
        let store = self.0.automata.lock().store.clone();
        let (rows, counted) = self.0.rows.plain_and_counted(store.id());
        let mut writer = Writer::default();
        for (state, row) in rows {
            let residue = store.residue(state, MAX_RESIDUE);
            // Whoever reads it must come to the same residue.
            let is_itself = |regex: &Regex| {
                let again = store.automaton(regex, &Fuel::new(MAX_RESIDUE as u64));
                again.is_ok_and(|again| again.store_id() == store.id() && again.start() == Some(state))
            };
            if let Some(residue) = residue.filter(|residue| residue.size() <= MAX_TREE && is_itself(residue))
            {
                writer.plain(&residue, &row, vocabulary);
            }
        }
        for ((unit, suffix, unit_state), row) in counted {
            writer.counted((&unit, &suffix, unit_state), &row, vocabulary);
        }
        writer.finish(vocabulary)
    }

    /// Takes rows that [`save_rows`](Compiler::save_rows) gave, as far as the limits on memory allow, and returns how many of
    /// them were new. Changes no answer, if the bytes are what was saved: whether they are damaged, of another version
    /// or for another vocabulary is checked, what else someone may have written there cannot be.
    ///
    /// # Errors
    /// If the bytes are not such rows, or a limit is reached; rows read by then stay.
    ///
    /// ```
    /// # use maskwright_automata::{Fuel, Regex};
    /// # use maskwright_engine::Compiler;
    /// # use maskwright_vocabulary::{TokenId, Vocabulary};
    /// # let tokens = ["yes", "no", "n", "o", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[4], None).unwrap().shared();
    /// let compiler = Compiler::new(vocabulary.clone(), Default::default());
    /// compiler.warm(&[Regex::any_text()], &Fuel::new(1_000)).unwrap();
    /// let saved = compiler.save_rows();
    /// let next = Compiler::new(vocabulary, Default::default());
    /// assert!(next.load_rows(&saved, &Fuel::new(1_000)).is_ok());
    /// assert!(next.load_rows(&saved[1..], &Fuel::new(1_000)).is_err());
    /// ```
    pub fn load_rows(&self, saved: &[u8], fuel: &Fuel) -> Result<usize, Error> {
        let shared = &self.0;
        let refused = |error: SavedError| EngineError::saved_rows(error.reason());
        let store = shared.automata.lock().store.clone();
        let saved = SavedRows::read(saved, &shared.vocabulary).map_err(refused)?;
        let mut n_rows = 0;
        for row in saved.rows(&shared.vocabulary).map_err(refused)? {
            fuel.spend(1).map_err(EngineError::from)?;
            let row = match row.map_err(refused)? {
                ReadRow::Plain(residue, row) => match store.automaton(&residue, fuel) {
                    Ok(automaton) if automaton.store_id() == store.id() => {
                        automaton.start().map(|start| KnownRow::Plain((store.id(), start), Arc::new(row)))
                    }
                    Ok(_) => None,
                    // Limits may be other than they were; a row more or less changes nothing.
                    Err(error) if error.is_limit() && !error.is_cancelled() => None,
                    Err(error) => {
                        return Err(EngineError::automaton("of a saved row".to_owned(), error).into());
                    }
                },
                ReadRow::Counted(key, row) => Some(KnownRow::Counted(key, Arc::new(row))),
            };
            let Some(row) = row else { continue };
            match shared.rows.add(row) {
                Some(is_new) => n_rows += usize::from(is_new),
                None => break,
            }
            if store.memory_usage() > shared.limits.automaton_bytes / 2 {
                break;
            }
        }
        Ok(n_rows)
    }

    /// Drops all shared automata and rows; grammars compiled before keep working.
    pub fn clear_caches(&self) {
        self.0.clear_caches();
    }

    /// Approximate memory of the shared caches and of all living grammars, in bytes.
    pub fn memory_usage(&self) -> usize {
        self.0.memory_usage()
    }
}

impl Shared {
    /// What the grammar passes must know of a terminal. Only intersection and complement can hide that a
    /// language is empty; then its automaton is made now.
    fn facts(&self, regex: &Regex, fuel: &Fuel) -> Result<TerminalFacts, EngineError> {
        fuel.spend(1)?;
        if !regex.is_extended() {
            let has_proper_words = !matches!(regex.node(), Node::Empty);
            return Ok(TerminalFacts { is_nullable: regex.is_nullable(), has_proper_words });
        }
        let automaton = self.automaton(regex, fuel)?;
        let located = |error| EngineError::automaton(format!("{regex:?}"), error);
        Ok(match automaton.start() {
            None => TerminalFacts { is_nullable: false, has_proper_words: false },
            Some(start) => TerminalFacts {
                is_nullable: automaton.is_accepting(start),
                has_proper_words: !automaton.next_bytes(start).map_err(located)?.is_empty(),
            },
        })
    }

    pub(crate) fn clear_caches(&self) {
        self.rows.clear();
        *self.automata.lock() = AutomatonCache::new(&self.limits);
    }

    /// Approximate memory of the shared caches, in bytes.
    pub(crate) fn cache_bytes(&self) -> usize {
        let automata = self.automata.lock().store.memory_usage();
        automata + self.rows.memory_usage()
    }

    /// The automaton of a terminal, shared by all grammars that have it.
    pub(crate) fn automaton(&self, regex: &Regex, fuel: &Fuel) -> Result<Arc<Automaton>, EngineError> {
        let located = |error| EngineError::automaton(format!("{regex:?}"), error);
        let limits = &self.limits.automaton;
        if matches!(regex.node(), Node::Literal(_) | Node::Bytes(_)) {
            // Made in no time, and mostly the keys of one schema.
            return Automaton::new(regex, limits, fuel).map(Arc::new).map_err(located);
        }
        let store = {
            let mut automata = self.automata.lock();
            if let Some(known) = automata.known.get(regex) {
                return Ok(known.clone());
            }
            if automata.known.len() >= MAX_AUTOMATA
                || automata.store.memory_usage() > self.limits.automaton_bytes
            {
                *automata = AutomatonCache::new(&self.limits);
            }
            automata.store.clone()
        };
        let counted = Automaton::counted(regex, &self.units, limits, fuel).map_err(located)?;
        let automaton = match counted {
            Some(automaton) => automaton,
            None => store.automaton(regex, fuel).map_err(located)?,
        };
        Ok(self.automata.lock().known.entry(regex.clone()).or_insert(Arc::new(automaton)).clone())
    }

    /// What the budgets of all grammars share. One that has grown beyond the limit is left to those that hold it, and a
    /// fresh one takes its place.
    pub(crate) fn spelling(&self) -> Arc<Mutex<Spelling>> {
        let is_full =
            |known: &Mutex<Spelling>| known.lock().memory_usage() > self.limits.row_cache_bytes.max(64 << 20);
        let known = self.spelling.lock().clone();
        match known.filter(|known| !is_full(known)) {
            Some(known) => known,
            None => {
                let fresh = Arc::new(Mutex::new(Spelling::new(self.vocabulary.clone())));
                self.spelling.lock().insert(fresh).clone()
            }
        }
    }

    /// The tokens that `watch` doubts.
    pub(crate) fn doubtful_tokens(&self, watch: &dyn Watch) -> Arc<DoubtfulTokens> {
        let find = || Ok(Arc::new(DoubtfulTokens::of(watch, &self.vocabulary)));
        self.doubtful.get_or_make::<FuelError>(&watch.family(), None, find).unwrap_or_default()
    }
}

impl AutomatonCache {
    fn new(limits: &Limits) -> AutomatonCache {
        AutomatonCache { store: AutomatonStore::new(limits.automaton), known: FxHashMap::default() }
    }
}

/// A grammar ready to serve masks over one vocabulary; shared by its sessions and by threads.
pub struct EngineGrammar {
    shared: Arc<Shared>,
    lexed: Option<Arc<LexedTables>>,
    /// The tokens that the grammar names.
    named: Option<NamedTokens>,
    /// The machine that new sessions start on. Locked to be copied or replaced only.
    machine: Mutex<Arc<SharedMachine>>,
    /// What goes with the grammar and is not the engine's.
    beside: Mutex<Counted>,
    /// By the compiler's clock.
    last_use: AtomicU64,
}

impl EngineGrammar {
    fn new(
        shared: Arc<Shared>,
        lexed: Option<Arc<LexedTables>>,
        named: Option<NamedTokens>,
        machine: Machine,
    ) -> Arc<EngineGrammar> {
        let machine = Mutex::new(Arc::new(SharedMachine::new(machine)));
        let beside = Mutex::new(Counted::new(shared.clone()));
        let last_use = AtomicU64::new(shared.memory.now());
        let grammar = Arc::new(EngineGrammar { shared, lexed, named, machine, beside, last_use });
        grammar.shared.memory.add(&grammar);
        grammar.shared.keep_within_limit();
        grammar
    }

    /// Counts `n_bytes` as memory of this grammar: what its owner holds for it.
    #[doc(hidden)]
    pub fn count_beside(&self, n_bytes: usize) {
        self.beside.lock().set(n_bytes);
    }

    /// When the last session was begun, by the compiler's clock.
    pub(crate) fn last_use(&self) -> u64 {
        self.last_use.load(Ordering::Relaxed)
    }

    /// Drops what can be made again, unless the grammar is at work.
    pub(crate) fn give_up(&self) {
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

    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.shared.vocabulary
    }

    /// How `token` can be read.
    pub(crate) fn readings(&self, token: TokenId) -> Readings<'_> {
        let text = self.vocabulary().text(token).filter(|_| token.index() < self.vocabulary().n_vocab());
        Readings { text, symbol: self.named().and_then(|named| named.symbol(token)) }
    }

    /// The tokens that the grammar names.
    pub(crate) fn named(&self) -> Option<&NamedTokens> {
        self.named.as_ref()
    }

    /// What the grammar has beside its rules, if it is lexed.
    pub(crate) fn lexed_tables(&self) -> Option<&LexedTables> {
        self.lexed.as_deref()
    }

    /// What the grammars of its compiler share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The machine for a new session, which does not wait for those that are on it. One that has grown beyond the limit
    /// is left to them, and a fresh one takes its place.
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
        let network = machine.parser.network.clone();
        let machine = match &self.lexed {
            Some(tables) => Machine::new_lexed(self.shared.clone(), network, tables.clone()),
            None => Machine::new(self.shared.clone(), network),
        };
        machine.ok().map(|machine| Arc::new(SharedMachine::new(machine)))
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

/// The terminals whose tokens the parser does not get.
fn ignored(grammar: &LexedGrammar<LarkTerminal>) -> TerminalSet {
    grammar.ignored.iter().map(|terminal| terminal.index() as u32).collect()
}
