//! Compiling grammars for one vocabulary.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use maskwright_automata::{
    Automaton, AutomatonError, AutomatonStore, CountedUnits, Fuel, Node, Regex, StateId,
};
use maskwright_grammar::{Grammar, Layout, LexedGrammar, Network, TerminalFacts, TerminalId, Watch, reduce};
use maskwright_lexing::{
    Choice, Discipline, LarkTerminal, Lexer, LexerLimits, TerminalSet, lark_contextual_terminals,
    lark_terminals,
};
use maskwright_vocabulary::{Trie, Vocabulary};
use rustc_hash::FxHashMap;

use crate::budget::Spelling;
use crate::lexed::LexedTables;
use crate::machine::Machine;
use crate::rows::{
    BeyondRow, CountedKey, CountedRow, LongTokens, MAX_RESIDUE, MAX_TREE, MinusRow, PlainRow, ReadRow, Row,
    SavedError, SavedRows, Writer,
};
use crate::watched::DoubtfulTokens;
use crate::{EngineError, Limits, Options};

/// The most residues of one terminal that are prepared for.
const MAX_WARM_RESIDUES: usize = 32;

/// How often the key of a key is taken.
const MAX_KEYS: usize = 2;

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
    rows: Mutex<RowCache>,
    long_tokens: OnceLock<LongTokens>,
    /// By the family of a watch.
    doubtful: Mutex<FxHashMap<&'static str, Arc<DoubtfulTokens>>>,
    /// What budgets share; made when a first budget is asked for.
    spelling: Mutex<Option<Arc<Mutex<Spelling>>>>,
}

/// The automata of terminals, with their states in one store, so that equal residues are one.
struct AutomatonCache {
    store: AutomatonStore,
    known: FxHashMap<Regex, Arc<Automaton>>,
}

#[derive(Default)]
struct RowCache {
    /// By residue.
    rows: FxHashMap<(u64, StateId), Row>,
    counted: FxHashMap<CountedKey, Arc<CountedRow>>,
    /// By the address of the trie of exits, which the row keeps from being another's, and residue.
    beyond: FxHashMap<(usize, (u64, StateId)), Arc<BeyondRow>>,
    n_bytes: usize,
}

impl Compiler {
    /// A compiler for `vocabulary` with all optimisations on.
    pub fn new(vocabulary: Arc<Vocabulary>, limits: Limits) -> Compiler {
        Compiler::with_options(vocabulary, limits, Options::default())
    }

    /// A compiler with the given optimisations; masks are the same whichever are on.
    pub fn with_options(vocabulary: Arc<Vocabulary>, limits: Limits, options: Options) -> Compiler {
        Compiler(Arc::new(Shared {
            vocabulary,
            automata: Mutex::new(AutomatonCache::new(&limits)),
            limits,
            options,
            units: CountedUnits::default(),
            rows: Mutex::default(),
            long_tokens: OnceLock::new(),
            doubtful: Mutex::default(),
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
    pub fn compile(&self, grammar: Grammar, fuel: &Fuel) -> Result<Arc<CompiledGrammar>, EngineError> {
        let facts: Vec<TerminalFacts> =
            grammar.terminals().iter().map(|regex| self.0.facts(regex, fuel)).collect::<Result<_, _>>()?;
        let grammar = reduce(grammar, |terminal: TerminalId| facts[terminal.index()], fuel)?;
        let network = Network::new(grammar, fuel)?;
        let machine = Machine::new(self.0.clone(), network)?;
        Ok(Arc::new(CompiledGrammar {
            shared: self.0.clone(),
            lexed: None,
            machine: Mutex::new(Arc::new(Mutex::new(machine))),
        }))
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
    /// use maskwright_vocabulary::Vocabulary;
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
    ) -> Result<Arc<CompiledGrammar>, EngineError> {
        let terminals = lark_terminals(&grammar.terminals, fuel)?;
        let lexer = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), fuel)?;
        // A terminal that the lexer never finds has no token.
        let found = lexer.possible(Choice::Best)?;
        self.compile_tokens(grammar, layout, lexer, &found, false, fuel)
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
    /// use maskwright_vocabulary::Vocabulary;
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
    ) -> Result<Arc<CompiledGrammar>, EngineError> {
        let terminals = lark_contextual_terminals(&grammar.terminals);
        let lexer = Lexer::new(&terminals, Discipline::LongestMatch, LexerLimits::default(), fuel)?;
        // A terminal that matches nothing by itself has no token.
        let found = lexer.possible(Choice::Each)?;
        self.compile_tokens(grammar, layout, lexer, &found, true, fuel)
    }

    fn compile_tokens(
        &self,
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        lexer: Lexer,
        found: &TerminalSet,
        is_contextual: bool,
        fuel: &Fuel,
    ) -> Result<Arc<CompiledGrammar>, EngineError> {
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
        Ok(Arc::new(CompiledGrammar {
            shared: self.0.clone(),
            lexed: Some(tables),
            machine: Mutex::new(Arc::new(Mutex::new(machine))),
        }))
    }

    /// Makes the rows of `terminals` now, those of all residues if they are few, so that no mask has to wait for
    /// them. Changes no answer.
    ///
    /// # Errors
    /// If a limit is reached, or the work is cancelled through `fuel`; what was made by then stays.
    pub fn warm(&self, terminals: &[Regex], fuel: &Fuel) -> Result<(), EngineError> {
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
                fuel.spend(1)?;
                self.0.row_if_heavy(&automaton, residue).map_err(located)?;
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
        let store = lock(&self.0.automata).store.clone();
        let (rows, counted) = {
            let cache = lock(&self.0.rows);
            let rows = cache.rows.iter().filter_map(|(&(store_id, state), row)| match row {
                Row::Plain(row) if store_id == store.id() => Some((state, row.clone())),
                _ => None,
            });
            let counted = cache.counted.iter().map(|(key, row)| (key.clone(), row.clone()));
            (rows.collect::<Vec<_>>(), counted.collect::<Vec<_>>())
        };
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
    /// # use maskwright_vocabulary::Vocabulary;
    /// # let tokens = ["yes", "no", "n", "o", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// # let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[4], None).unwrap().shared();
    /// let compiler = Compiler::new(vocabulary.clone(), Default::default());
    /// compiler.warm(&[Regex::any_text()], &Fuel::new(1_000)).unwrap();
    /// let saved = compiler.save_rows();
    /// let next = Compiler::new(vocabulary, Default::default());
    /// assert!(next.load_rows(&saved, &Fuel::new(1_000)).is_ok());
    /// assert!(next.load_rows(&saved[1..], &Fuel::new(1_000)).is_err());
    /// ```
    pub fn load_rows(&self, saved: &[u8], fuel: &Fuel) -> Result<usize, EngineError> {
        let shared = &self.0;
        let refused = |error: SavedError| EngineError::saved_rows(error.reason());
        let store = lock(&shared.automata).store.clone();
        let saved = SavedRows::read(saved, &shared.vocabulary).map_err(refused)?;
        let mut n_rows = 0;
        for row in saved.rows(&shared.vocabulary).map_err(refused)? {
            fuel.spend(1)?;
            let row = match row.map_err(refused)? {
                ReadRow::Plain(residue, row) => match store.automaton(&residue, fuel) {
                    Ok(automaton) if automaton.store_id() == store.id() => {
                        automaton.start().map(|start| KnownRow::Plain((store.id(), start), Arc::new(row)))
                    }
                    Ok(_) => None,
                    // Limits may be other than they were; a row more or less changes nothing.
                    Err(error) if error.is_limit() && !error.is_cancelled() => None,
                    Err(error) => return Err(EngineError::automaton("of a saved row".to_owned(), error)),
                },
                ReadRow::Counted(key, row) => Some(KnownRow::Counted(key, Arc::new(row))),
            };
            let Some(row) = row else { continue };
            match lock(&shared.rows).insert(row, shared.limits.row_cache_bytes) {
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
        *lock(&self.0.rows) = RowCache::default();
        *lock(&self.0.automata) = AutomatonCache::new(&self.0.limits);
    }

    /// Approximate memory of the shared caches, in bytes.
    pub fn memory_usage(&self) -> usize {
        let automata = lock(&self.0.automata).store.memory_usage();
        automata + lock(&self.0.rows).n_bytes
    }
}

impl Shared {
    /// What the grammar passes must know of a terminal. Only intersection and complement can hide that a
    /// language is empty; then its automaton is made now.
    fn facts(&self, regex: &Regex, fuel: &Fuel) -> Result<TerminalFacts, EngineError> {
        fuel.spend(1)?;
        if !regex.is_extended() {
            return Ok(TerminalFacts { is_nullable: regex.is_nullable(), has_proper_words: true });
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

    /// The automaton of a terminal, shared by all grammars that have it.
    pub(crate) fn automaton(&self, regex: &Regex, fuel: &Fuel) -> Result<Arc<Automaton>, EngineError> {
        let located = |error| EngineError::automaton(format!("{regex:?}"), error);
        let limits = &self.limits.automaton;
        if matches!(regex.node(), Node::Literal(_) | Node::Bytes(_)) {
            // Made in no time, and mostly the keys of one schema.
            return Automaton::new(regex, limits, fuel).map(Arc::new).map_err(located);
        }
        let store = {
            let mut automata = lock(&self.automata);
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
        Ok(lock(&self.automata).known.entry(regex.clone()).or_insert(Arc::new(automaton)).clone())
    }

    /// What the budgets of all grammars share. One that has grown beyond the limit is left to those that hold it, and a
    /// fresh one takes its place.
    pub(crate) fn spelling(&self) -> Arc<Mutex<Spelling>> {
        let mut current = lock(&self.spelling);
        let is_full = |known: &Arc<Mutex<Spelling>>| {
            lock(known).memory_usage() > self.limits.row_cache_bytes.max(64 << 20)
        };
        match current.as_ref().filter(|known| !is_full(known)) {
            Some(known) => known.clone(),
            None => current.insert(Arc::new(Mutex::new(Spelling::new(self.vocabulary.clone())))).clone(),
        }
    }

    /// The row of a residue, made if it is not there; `None` if few tokens can match it, so that walking the
    /// token trie is cheaper.
    pub(crate) fn row_if_heavy(
        &self,
        automaton: &Automaton,
        residue: StateId,
    ) -> Result<Option<Row>, AutomatonError> {
        if automaton.is_literal_like() {
            return Ok(None);
        }
        if let Some(row) = lock(&self.rows).rows.get(&automaton.residue_key(residue)) {
            return Ok(Some(row.clone()));
        }
        let trie = self.vocabulary.trie();
        let n_nodes: usize = automaton
            .next_bytes(residue)?
            .iter()
            .filter_map(|byte| trie.child(Trie::ROOT, byte))
            .map(|child| trie.subtree_nodes(child))
            .sum();
        if n_nodes <= self.options.light_nodes {
            return Ok(None);
        }
        self.row(automaton, residue).map(Some)
    }

    /// The row of a residue, made if it is not there.
    pub(crate) fn row(&self, automaton: &Automaton, residue: StateId) -> Result<Row, AutomatonError> {
        if let Some((family, window)) = automaton.window(residue) {
            let (unit, suffix) = family.key();
            let key = (unit.clone(), suffix.into(), window.unit_state);
            if let Some(row) = lock(&self.rows).counted.get(&key) {
                return Ok(Row::Counted(row.clone(), window.into()));
            }
            let row = Arc::new(CountedRow::new(&self.vocabulary, &family, window.unit_state));
            let mut cache = self.room_for(row.memory_usage());
            let row = cache.counted.entry(key).or_insert(row).clone();
            return Ok(Row::Counted(row, window.into()));
        }
        let key = automaton.residue_key(residue);
        if let Some(row) = lock(&self.rows).rows.get(&key) {
            return Ok(row.clone());
        }
        let row = match self.row_from_base(automaton, residue)? {
            Some(row) => row,
            None => Row::Plain(Arc::new(match self.row_from_near(automaton, residue)? {
                Some(row) => row,
                None => PlainRow::new(&self.vocabulary, automaton, residue, self.options.max_exits)?,
            })),
        };
        let mut cache = self.room_for(row.memory_usage());
        Ok(cache.rows.entry(key).or_insert(row).clone())
    }

    /// What a residue says about the exits of a row, made if it is not there.
    pub(crate) fn beyond(
        &self,
        exits: &Arc<Trie>,
        automaton: &Automaton,
        residue: StateId,
    ) -> Result<Arc<BeyondRow>, AutomatonError> {
        let key = (Arc::as_ptr(exits).addr(), automaton.residue_key(residue));
        if let Some(row) = lock(&self.rows).beyond.get(&key) {
            return Ok(row.clone());
        }
        let row = BeyondRow::new(&self.vocabulary, exits, automaton, residue, self.options.max_exits)?;
        let mut cache = self.room_for(row.memory_usage());
        Ok(cache.beyond.entry(key).or_insert(Arc::new(row)).clone())
    }

    /// The tokens that `watch` doubts.
    pub(crate) fn doubtful_tokens(&self, watch: &dyn Watch) -> Arc<DoubtfulTokens> {
        let find = || Arc::new(DoubtfulTokens::of(watch, &self.vocabulary));
        lock(&self.doubtful).entry(watch.family()).or_insert_with(find).clone()
    }

    /// The row of a residue from that of its key for short tokens.
    fn row_from_near(
        &self,
        automaton: &Automaton,
        residue: StateId,
    ) -> Result<Option<PlainRow>, AutomatonError> {
        let short_bytes = self.options.short_bytes;
        let mut near_state = automaton.row_key(residue, short_bytes)?;
        // A key is mostly its own key; what a cut leaves may be counted together and cut again.
        for _ in 0..MAX_KEYS {
            near_state = automaton.row_key(near_state, short_bytes)?;
        }
        if near_state == residue || automaton.row_key(near_state, short_bytes)? != near_state {
            return Ok(None);
        }
        let Row::Plain(near) = self.row(automaton, near_state)? else { return Ok(None) };
        let long = self.long_tokens.get_or_init(|| LongTokens::new(&self.vocabulary, short_bytes));
        PlainRow::from_near(&self.vocabulary, automaton, residue, &near, long, self.options.max_exits)
    }

    /// The row of a residue as a difference from a known one.
    fn row_from_base(&self, automaton: &Automaton, residue: StateId) -> Result<Option<Row>, AutomatonError> {
        let Some(base_state) = automaton.base(residue)? else { return Ok(None) };
        let Row::Plain(base) = self.row(automaton, base_state)? else { return Ok(None) };
        let row = MinusRow::new(self.vocabulary.trie(), automaton, residue, base_state, &base)?;
        Ok(row.map(|row| Row::Minus(Arc::new(row))))
    }

    /// The cache, emptied if `n_bytes` more would be over the limit.
    fn room_for(&self, n_bytes: usize) -> MutexGuard<'_, RowCache> {
        let mut cache = lock(&self.rows);
        if cache.n_bytes + n_bytes > self.limits.row_cache_bytes {
            *cache = RowCache::default();
        }
        cache.n_bytes += n_bytes;
        cache
    }
}

/// A row to be kept, by what it is found.
enum KnownRow {
    Plain((u64, StateId), Arc<PlainRow>),
    Counted(CountedKey, Arc<CountedRow>),
}

impl RowCache {
    /// Adds a row if there is none, and says whether there was none; `None` if there is no room for it.
    fn insert(&mut self, row: KnownRow, max_bytes: usize) -> Option<bool> {
        let (is_known, n_bytes) = match &row {
            KnownRow::Plain(key, row) => (self.rows.contains_key(key), row.memory_usage()),
            KnownRow::Counted(key, row) => (self.counted.contains_key(key), row.memory_usage()),
        };
        if is_known {
            return Some(false);
        }
        if self.n_bytes + n_bytes > max_bytes {
            return None;
        }
        self.n_bytes += n_bytes;
        match row {
            KnownRow::Plain(key, row) => drop(self.rows.insert(key, Row::Plain(row))),
            KnownRow::Counted(key, row) => drop(self.counted.insert(key, row)),
        }
        Some(true)
    }
}

impl AutomatonCache {
    fn new(limits: &Limits) -> AutomatonCache {
        AutomatonCache { store: AutomatonStore::new(limits.automaton), known: FxHashMap::default() }
    }
}

/// A grammar ready to serve masks over one vocabulary; shared by its sessions and by threads.
pub struct CompiledGrammar {
    shared: Arc<Shared>,
    lexed: Option<Arc<LexedTables>>,
    /// The machine that new sessions start on. Sessions lock the inner mutex for each step.
    machine: Mutex<Arc<Mutex<Machine>>>,
}

impl CompiledGrammar {
    /// The vocabulary that masks are over.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.shared.vocabulary
    }

    /// What the grammar has beside its rules, if it is lexed.
    pub(crate) fn lexed_tables(&self) -> Option<&LexedTables> {
        self.lexed.as_deref()
    }

    /// The machine for a new session. One that has grown beyond the limit is left to the sessions that are
    /// on it, and a fresh one takes its place.
    pub(crate) fn machine(&self) -> Arc<Mutex<Machine>> {
        let mut current = lock(&self.machine);
        let fresh = {
            let machine = lock(&current);
            if machine.memory_usage() > 2 * self.shared.limits.machine_bytes {
                let (shared, network) = (self.shared.clone(), machine.parser.network.clone());
                match &self.lexed {
                    Some(tables) => Machine::new_lexed(shared, network, tables.clone()),
                    None => Machine::new(shared, network),
                }
                .ok()
            } else {
                None
            }
        };
        if let Some(fresh) = fresh {
            *current = Arc::new(Mutex::new(fresh));
        }
        current.clone()
    }

    /// Drops the memoised transitions and masks; sessions go on with the same answers.
    pub fn clear_caches(&self) {
        lock(&lock(&self.machine)).clear_memo();
    }

    /// Approximate memory of the lazily built tables, in bytes.
    pub fn memory_usage(&self) -> usize {
        lock(&lock(&self.machine)).memory_usage()
    }
}

/// Locks a mutex; what a panicking thread left behind is a cache in a consistent state.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
