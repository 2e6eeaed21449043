//! Compiling grammars for one vocabulary.

use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonStore, CountedUnits, Fuel, FuelError, Node, Regex, StateId};
use maskwright_grammar::{Grammar, Layout, LexedGrammar, Network, TerminalFacts, TerminalId, Watch, reduce};
use maskwright_lexing::{
    LarkTerminal, TerminalSet, lark_contextual_terminals, lark_terminals, terminals_within,
};
use maskwright_vocabulary::{TokenId, Vocabulary};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::ground::Spelled;
use crate::ground::{ByStops, Memory, NamedTokens};
use crate::lexed::LexedTables;
use crate::rows::{
    KnownRow, MAX_RESIDUE, MAX_TREE, OncePerKey, ReadRow, Rows, SavedError, SavedRows, Writer,
};
use crate::session::{EngineGrammar, Machine, Source};
use crate::spelling::Spelling;
use crate::watch::DoubtfulTokens;
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
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
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
    automata: Arc<Mutex<AutomatonCache>>,
    units: Arc<CountedUnits>,
    pub(crate) rows: Arc<Rows>,
    /// By the family of a watch.
    doubtful: Arc<OncePerKey<&'static str, Arc<DoubtfulTokens>>>,
    /// What grammars take.
    pub(crate) memory: Arc<Memory>,
    /// The same for vocabularies with more tokens that end a text, by these; the last one used is the last.
    by_stops: ByStops<Arc<Shared>>,
    /// The bytes that texts can use, if stop tokens leave fewer than the vocabulary has.
    pub(crate) spelled: Option<Spelled>,
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
            automata: Arc::new(Mutex::new(AutomatonCache::new(&limits))),
            limits,
            options,
            units: Arc::default(),
            rows: Arc::new(rows),
            doubtful: Arc::new(OncePerKey::new(MAX_DOUBTFUL_BYTES)),
            memory: Arc::default(),
            by_stops: ByStops::default(),
            spelled: None,
            spelling: Mutex::default(),
        }))
    }

    /// The compiler that owns `shared`.
    pub(crate) fn of(shared: Arc<Shared>) -> Compiler {
        Compiler(shared)
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
        Ok(self.compile_over_bytes(grammar, fuel)?)
    }

    pub(crate) fn compile_over_bytes(
        &self,
        mut grammar: Grammar,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, EngineError> {
        let (named, limits);
        let names_tokens = grammar.terminals().iter().any(Regex::is_marked);
        let source = names_tokens.then(|| Source::OverBytes(Box::new(grammar.clone())));
        (grammar, limits) = grammar.without_token_limits();
        if let Some(spelled) = &self.0.spelled {
            grammar = grammar.within(&spelled.bytes);
        }
        (grammar, named) = NamedTokens::over_bytes(grammar, self.vocabulary(), fuel)?;
        let facts = self.0.all_facts(grammar.terminals(), fuel)?;
        let grammar = reduce(grammar, |terminal: TerminalId| facts[terminal.index()], fuel)?;
        let mut network = Network::new(grammar, fuel)?;
        network.limit_tokens(limits);
        let machine = Machine::new(self.0.clone(), network)?;
        Ok(EngineGrammar::new(self.0.clone(), None, named.zip(source), machine))
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
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap().shared();
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
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(1)], None).unwrap().shared();
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

    pub(crate) fn compile_tokens(
        &self,
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        is_contextual: bool,
        fuel: &Fuel,
    ) -> Result<Arc<EngineGrammar>, EngineError> {
        let source = NamedTokens::are_in(&grammar).then(|| Source::WithLexer {
            grammar: Box::new(grammar.clone()),
            layout: layout.clone(),
            is_contextual,
        });
        let (grammar, layout, named) = NamedTokens::with_lexer(grammar, layout, self.vocabulary(), fuel)?;
        let mut made = if is_contextual {
            lark_contextual_terminals(&grammar.terminals, &ignored(&grammar), fuel)?
        } else {
            lark_terminals(&grammar.terminals, &ignored(&grammar), fuel)?
        };
        if let Some(spelled) = &self.0.spelled {
            made = terminals_within(&made, &spelled.bytes);
        }
        let LexedGrammar { rules, terminals, declared, ignored } = grammar;
        let names = terminals.into_iter().map(|terminal| terminal.name).chain(declared).collect();
        let tables = Arc::new(LexedTables::new(made, names, ignored, layout, is_contextual, fuel)?);
        let network = Network::new(reduce(rules, tables.facts()?, fuel)?, fuel)?;
        let machine = Machine::new_lexed(self.0.clone(), network, tables.clone())?;
        Ok(EngineGrammar::new(self.0.clone(), Some(tables), named.zip(source), machine))
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
    /// # let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
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
    /// The [`facts`](Shared::facts) of each terminal.
    pub(crate) fn all_facts(
        &self,
        terminals: &[Regex],
        fuel: &Fuel,
    ) -> Result<Vec<TerminalFacts>, EngineError> {
        terminals.iter().map(|regex| self.facts(regex, fuel)).collect()
    }

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
        self.by_stops.clear();
        self.rows.clear();
        *self.automata.lock() = AutomatonCache::new(&self.limits);
    }

    /// What grammars share for sessions whose texts end with more tokens, which are sorted. If none of these matches as text,
    /// that is all but the vocabulary.
    ///
    /// # Errors
    /// If an id is not in range.
    pub(crate) fn with_stops(&self, stops: &[TokenId]) -> Result<Arc<Shared>, Error> {
        if let Some(known) = self.by_stops.get(stops) {
            return Ok(known);
        }
        let vocabulary = self.vocabulary.with_more_eos(stops)?.shared();
        let (rows, doubtful) = if vocabulary.spells_as(&self.vocabulary) {
            (self.rows.clone(), self.doubtful.clone())
        } else {
            let rows = Rows::new(vocabulary.clone(), self.options, self.limits.row_cache_bytes);
            (Arc::new(rows), Arc::new(OncePerKey::new(MAX_DOUBTFUL_BYTES)))
        };
        let spelled = Spelled::after_stops(&self.vocabulary, &vocabulary, stops).or(self.spelled.clone());
        let shared = Shared {
            vocabulary,
            limits: self.limits.clone(),
            options: self.options,
            automata: self.automata.clone(),
            units: self.units.clone(),
            rows,
            doubtful,
            memory: self.memory.clone(),
            by_stops: ByStops::default(),
            spelled,
            spelling: Mutex::default(),
        };
        Ok(self.by_stops.keep(stops, Arc::new(shared)))
    }

    /// The same for texts over fewer bytes.
    pub(crate) fn with_spelled(&self, spelled: Spelled) -> Arc<Shared> {
        Arc::new(Shared {
            vocabulary: self.vocabulary.clone(),
            limits: self.limits.clone(),
            options: self.options,
            automata: self.automata.clone(),
            units: self.units.clone(),
            rows: self.rows.clone(),
            doubtful: self.doubtful.clone(),
            memory: self.memory.clone(),
            by_stops: ByStops::default(),
            spelled: Some(spelled),
            spelling: Mutex::default(),
        })
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

/// The terminals whose tokens the parser does not get.
fn ignored(grammar: &LexedGrammar<LarkTerminal>) -> TerminalSet {
    grammar.ignored.iter().map(|terminal| terminal.index() as u32).collect()
}
