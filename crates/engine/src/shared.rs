//! What the grammars of one compiler share: the automata of terminals, their rows, what they cost in tokens,
//! and the account of memory.

use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonStore, CountedUnits, Fuel, FuelError, Node, Regex};
use maskwright_grammar::{TerminalFacts, Watch};
use maskwright_vocabulary::{TokenId, Vocabulary};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::ground::{ByStops, DoubtfulTokens, Memory, Spelled};
use crate::rows::{OncePerKey, Rows, Weigh};
use crate::spelling::Spelling;
use crate::{EngineError, Error, Limits, Options};

/// What an automaton is counted with beside its states, which are in the store: its expression, and a counted
/// one.
const BYTES_PER_AUTOMATON: usize = 8 << 10;

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
    spelling: Mutex<Spelling>,
}

/// The automata of terminals, with their states in one store, so that equal residues are one.
struct AutomatonCache {
    store: AutomatonStore,
    known: FxHashMap<Regex, Arc<Automaton>>,
}

impl Shared {
    /// What grammars over `vocabulary` share, before there are any.
    pub(crate) fn new(vocabulary: Arc<Vocabulary>, limits: Limits, options: Options) -> Shared {
        let rows = Rows::new(vocabulary.clone(), options, limits.row_cache_bytes);
        Shared {
            vocabulary,
            automata: Arc::new(Mutex::new(AutomatonCache::new(&limits))),
            options,
            units: Arc::default(),
            rows: Arc::new(rows),
            doubtful: Arc::new(OncePerKey::new(limits.table_bytes())),
            memory: Arc::default(),
            by_stops: ByStops::default(),
            spelled: None,
            spelling: Mutex::new(Spelling::new(limits.table_bytes())),
            limits,
        }
    }

    /// Where the states of all automata are.
    pub(crate) fn store(&self) -> AutomatonStore {
        self.automata.lock().store.clone()
    }

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
        let located = |error| EngineError::automaton(format_args!("{regex:?}"), error);
        Ok(match automaton.start() {
            None => TerminalFacts { is_nullable: false, has_proper_words: false },
            Some(start) => TerminalFacts {
                is_nullable: automaton.is_accepting(start),
                has_proper_words: !automaton.next_bytes(start).map_err(located)?.is_empty(),
            },
        })
    }

    /// Drops all shared automata and rows.
    pub(crate) fn clear_caches(&self) {
        self.by_stops.clear();
        self.rows.clear();
        *self.spelling.lock() = Spelling::new(self.limits.table_bytes());
        *self.automata.lock() = AutomatonCache::new(&self.limits);
    }

    /// What grammars share for sessions whose texts end with more tokens, which are sorted. If none of these
    /// matches as text, that is all but the vocabulary.
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
            (Arc::new(rows), Arc::new(OncePerKey::new(self.limits.table_bytes())))
        };
        let spelled = Spelled::after_stops(&self.vocabulary, &vocabulary, stops).or(self.spelled.clone());
        let shared = Shared { vocabulary, rows, doubtful, spelled, ..self.alike() };
        Ok(self.by_stops.keep(stops, Arc::new(shared)))
    }

    /// The same for texts over fewer bytes.
    pub(crate) fn with_spelled(&self, spelled: Spelled) -> Arc<Shared> {
        Arc::new(Shared { spelled: Some(spelled), ..self.alike() })
    }

    /// The same, with nothing made for sessions that end with more tokens, nor for limits on tokens.
    fn alike(&self) -> Shared {
        Shared {
            vocabulary: self.vocabulary.clone(),
            limits: self.limits.clone(),
            options: self.options,
            automata: self.automata.clone(),
            units: self.units.clone(),
            rows: self.rows.clone(),
            doubtful: self.doubtful.clone(),
            memory: self.memory.clone(),
            by_stops: ByStops::default(),
            spelled: self.spelled.clone(),
            spelling: Mutex::new(Spelling::new(self.limits.table_bytes())),
        }
    }

    /// What all grammars and caches of the compiler take, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.memory.of_grammars() + self.cache_bytes()
    }

    /// Makes room if all together take more than they may. Waits for no grammar. Call it without a lock.
    pub(crate) fn keep_within_limit(&self) {
        let limits = &self.limits;
        // What the caches take is not at hand; at most this.
        let at_most = limits.row_cache_bytes + limits.automaton_bytes;
        self.memory.keep_within(limits.memory_bytes, at_most, || self.cache_bytes(), || self.clear_caches());
    }

    /// Approximate memory of the shared caches, in bytes.
    pub(crate) fn cache_bytes(&self) -> usize {
        let automata = self.automata.lock().store.memory_usage();
        let spelling = self.spelling.lock().memory_usage();
        automata + self.rows.memory_usage() + spelling
    }

    /// The automaton of a terminal, shared by all grammars that have it.
    pub(crate) fn automaton(&self, regex: &Regex, fuel: &Fuel) -> Result<Arc<Automaton>, EngineError> {
        let located = |error| EngineError::automaton(format_args!("{regex:?}"), error);
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
            let max_bytes = self.limits.automaton_bytes;
            if automata.known.len() * BYTES_PER_AUTOMATON >= max_bytes
                || automata.store.memory_usage() > max_bytes
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

    /// What limits on tokens of all grammars share.
    pub(crate) fn spelling(&self) -> &Mutex<Spelling> {
        &self.spelling
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

impl Weigh for Arc<DoubtfulTokens> {
    fn weight(&self) -> usize {
        self.memory_usage()
    }
}
