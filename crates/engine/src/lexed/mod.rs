//! Grammars over the tokens of a lexer (Lark's), read byte by byte.
//!
//! **Language** (`basic`). The lexer takes, at each place of the text, the match that Lark's basic lexer takes
//! there: the first terminal in Lark's order that matches, with the match that Python's `re` finds for it,
//! keywords told apart by their text. Ignored tokens are dropped; indentation makes tokens of its own
//! ([`Layouts`]). A text is in the language iff it is used up by tokens in this way and they are a sentence of
//! the rules.
//!
//! **Language** (`contextual`). A text is in it iff it is the texts of tokens one after the other such that
//!
//! 1. the tokens that are not ignored, with what indentation makes of them, are a sentence of the rules;
//! 2. each token wins. At its place those terminals *compete* that can come next in a sentence which begins with the
//!    tokens before it (of any of its derivations); the ignored ones; and inside of brackets that of line ends. A match is
//!    that which Python's `re` finds for a terminal alone. It wins iff no competitor has a longer one, or one as long
//!    that is preferred: by priority, then strings before regular expressions, then in Lark's order. But no string of
//!    punctuation loses to a longer one of its kind.
//!
//! So a split is unique but for punctuation, where the rules decide (`>>` as one operator or two brackets). Rejected:
//! letting those compete that *one* stack can read. What one stack is depends on how the rules are written: in a grammar that has
//! `if` with and without `else` as two rules, `else` would be a name for one of them.
//!
//! A *thread* is a hypothesis of the lexer ([`Points`]), what the parser may be in after the tokens that
//! have ended in it, and its layout. The parser's side is the machine of scannerless grammars with terminals
//! for bytes: its configurations are the states of a deterministic automaton over *terminals*. So a lexed
//! configuration is a small set (how many ways to lex are open), however ambiguous the rules are.
//!
//! **Invariant (correct prefix).** Every configuration that a session is in has a thread with a completion, and no
//! thread that is known to have none: [`viability`] decides it when the thread is made, from what the lexer can still
//! read and what the parser can; where that takes a search, it is made at the end of what is read at once ([`stepping`]).
//! A search may be given up; then the text is refused too, and masks say so.
//!
//! Rejected: one set of threads for lexer and parser readings together (their product is followed byte by
//! byte, and nothing is shared between stacks); tables of terminal pairs that fit together (wrong where munch
//! looks further than one token, `1..2`).

mod answers;
mod best_first;
mod competition;
mod completion;
mod distance;
mod horizon;
mod mask;
mod next_tokens;
mod parts;
mod pushdown;
mod reach;
mod readings;
mod row;
mod scope;
mod spans;
mod stepping;
mod tokens;
mod viability;

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::{Network, TerminalId, blanks_after};
use maskwright_scan::bits::{Bits, contains, insert, n_words, remove};
use maskwright_scan::{HypothesisId, LayoutId, LayoutState, Layouts, LexerTables, Outcome, Points, SetId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;
use crate::ground::MaskForm;
use crate::parser::{ConfigId, Configurations, Parser, Shift};
use best_first::Patience;
use competition::{Prepared, prepare};
use distance::Distances;
use horizon::Horizon;
use mask::{Judgement, JudgementKey, LexedMask};
use next_tokens::NextTokens;
use pushdown::Pushdown;
use reach::Reach;
use readings::Readings;
use row::LexedRow;
use scope::{Restriction, Scope};
pub use spans::{SpanView, StackVerdict};
pub(crate) use stepping::Settled;
use viability::{Adjacency, Viability, needed};

/// With more answers of searches than this, all are dropped when caches are cleared; with fewer, the proven ones are kept.
const MAX_PROVEN: usize = 1 << 20;

/// One reading of the text so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LexedThread {
    hypothesis: HypothesisId,
    /// A configuration of the machine over terminals.
    parser: ConfigId,
    layout: LayoutId,
}

/// Places of the parser, each with its layout.
type Places = Arc<[(ConfigId, LayoutId)]>;

/// The lazily built tables of one lexed grammar, beside those of its parser.
pub(crate) struct Lexed {
    pub(crate) points: Points,
    reach: Reach,
    /// The rules restricted to a set of terminals; first those with all terminals.
    scopes: Vec<Scope>,
    /// The scope that is asked first, all terminals but the doubtful ones ([`competition`]).
    main: usize,
    doubtful: Bits,
    /// By terminal, what may follow it.
    follow: Arc<[Bits]>,
    /// By number of a set over(h), its scope.
    scope_of: FxHashMap<u32, usize>,
    /// By configuration of the parser, outside of brackets and inside, the terminals that compete there.
    competing: FxHashMap<(ConfigId, bool), SetId>,
    layouts: Layouts,
    pub(crate) configs: Configurations<LexedThread>,
    start: ConfigId,
    /// `(config << 8 | byte)` to the configuration after the byte, before searches.
    transitions: FxHashMap<u64, Option<ConfigId>>,
    shifts: FxHashMap<(ConfigId, TerminalId), Shift>,
    /// Whether some shift since this was last cleared had a reading that returned into a hole.
    has_met_hole: bool,
    /// By configuration of the parser and layout: where a newline can lead, and whether some shift returned into a hole.
    newlines: FxHashMap<(ConfigId, LayoutId), (Places, bool)>,
    /// Whether the text may end at a configuration of the parser with so many blocks, and whether that met a hole.
    closings: FxHashMap<(ConfigId, u32), (bool, bool)>,
    /// The answers of searches; `None` for those that were given up.
    searched: FxHashMap<LexedThread, Option<bool>>,
    next_tokens: NextTokens,
    /// With strict readings, and with free ones.
    pushdowns: [Pushdown; 2],
    distances: Distances,
    patience: Patience,
    /// Configurations with a thread whose completion only a search finds, and what is left of them; unknown where no
    /// search was made yet.
    unsettled: FxHashMap<ConfigId, Option<Settled>>,
    masks: FxHashMap<ConfigId, LexedMask>,
    /// The masks of `masks`, each once.
    forms: FxHashSet<Arc<MaskForm>>,
    judgements: FxHashMap<JudgementKey, Arc<Judgement>>,
    /// By hypothesis, regime and terminal, the tokens after which the terminal is still to end.
    insides: FxHashMap<(HypothesisId, usize, TerminalId), Arc<MaskForm>>,
    memo_bytes: usize,
    readings: Readings,
    rows: FxHashMap<HypothesisId, Arc<LexedRow>>,
    row_bytes: usize,
    /// By reads(h) in all regimes, without a bad boundary in reach: the first hypothesis met that has them.
    alike: FxHashMap<Bits, HypothesisId>,
    horizon: Horizon,
}

impl Lexed {
    /// The tables before any text.
    ///
    /// # Errors
    /// If no text is in the language, or a limit is reached.
    pub(crate) fn new(tables: Arc<LexerTables>, parser: &mut Parser) -> Result<Lexed, EngineError> {
        let n_words = n_words(tables.n_terminals);
        let (everything, nothing): (Bits, Bits) = (vec![u64::MAX; n_words].into(), vec![0; n_words].into());
        let mut everything = scope(&tables, &mut parser.network, everything, &nothing, true);
        let mut points = Points::new(tables);
        let Prepared { main, doubtful } = prepare(&mut points, &mut parser.network, &mut everything)?;
        let follow = everything.viability.adjacency.needed[0].as_slice().into();
        let scopes: Vec<Scope> = [everything].into_iter().chain(main).collect();
        let first = points.hypotheses.start()?;
        let reach = Reach::new(points.tables.n_terminals, n_words);
        let readings = Readings::new(&points.tables);
        let distances = distances(&points.tables);
        let mut lexed = Lexed {
            points,
            reach,
            main: scopes.len() - 1,
            scopes,
            doubtful,
            follow,
            scope_of: FxHashMap::default(),
            competing: FxHashMap::default(),
            layouts: Layouts::default(),
            configs: Configurations::new(),
            start: ConfigId(0),
            transitions: FxHashMap::default(),
            shifts: FxHashMap::default(),
            has_met_hole: false,
            newlines: FxHashMap::default(),
            closings: FxHashMap::default(),
            searched: FxHashMap::default(),
            next_tokens: NextTokens::default(),
            pushdowns: [false, true].map(Pushdown::new),
            distances,
            patience: Patience::default(),
            unsettled: FxHashMap::default(),
            masks: FxHashMap::default(),
            forms: FxHashSet::default(),
            judgements: FxHashMap::default(),
            insides: FxHashMap::default(),
            memo_bytes: 0,
            readings,
            rows: FxHashMap::default(),
            row_bytes: 0,
            alike: FxHashMap::default(),
            horizon: Horizon::default(),
        };
        let hypothesis = lexed.exact(parser, first, parser.start(), LayoutId::START)?;
        let thread = LexedThread { hypothesis, parser: parser.start(), layout: LayoutId::START };
        match lexed.is_viable(parser, thread)? {
            Some(true) => {}
            Some(false) => return Err(EngineError::no_text()),
            None => return Err(best_first::limit()),
        }
        lexed.start = lexed.intern(parser, &mut vec![thread])?.unwrap_or(ConfigId(0));
        Ok(lexed)
    }

    /// The configuration before any text.
    pub(crate) fn start(&self) -> ConfigId {
        self.start
    }

    /// The bytes that can come next, and those for which this could not be decided.
    pub(crate) fn next_bytes(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
    ) -> Result<ByteSet, EngineError> {
        if let Some(known) = self.configs.next_bytes(config) {
            return Ok(known);
        }
        parser.begin_work()?;
        let mut bytes = ByteSet::EMPTY;
        for byte in 0..=255 {
            let next = match self.step_loosely(parser, config, byte)? {
                Some(next) => self.settle(parser, next)?,
                None => Settled::Dead,
            };
            if next != Settled::Dead {
                bytes.insert(byte);
            }
        }
        self.configs.set_next_bytes(config, bytes);
        Ok(bytes)
    }

    /// How many of `bytes` are known to be able to come next, and the configuration after them.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn advance(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        bytes: &[u8],
    ) -> Result<(usize, ConfigId), EngineError> {
        let (mut known, mut last) = ((0, config), config);
        for (index, &byte) in bytes.iter().enumerate() {
            let Some(next) = self.step_loosely(parser, last, byte)? else { break };
            last = next;
            match self.settle(parser, next)? {
                Settled::Viable(settled) => {
                    last = settled;
                    known = (index + 1, settled);
                }
                Settled::Dead => break,
                // The bytes after it may prove that it can come.
                Settled::Undecided => {}
            }
        }
        Ok(known)
    }

    /// The configuration of the readings of both.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn union(
        &mut self,
        parser: &mut Parser,
        first: ConfigId,
        second: ConfigId,
    ) -> Result<ConfigId, EngineError> {
        let mut threads = [self.configs.threads(first), self.configs.threads(second)].concat();
        Ok(self.intern(parser, &mut threads)?.unwrap_or(first))
    }

    fn intern(
        &mut self,
        parser: &mut Parser,
        threads: &mut Vec<LexedThread>,
    ) -> Result<Option<ConfigId>, EngineError> {
        if threads.is_empty() {
            return Ok(None);
        }
        threads.sort_unstable();
        threads.dedup();
        parser.check_threads(threads.len())?;
        let mut is_accepting = false;
        for &thread in threads.iter() {
            is_accepting |= self.points.hypotheses.ends_here(thread.hypothesis)
                && self.can_end(parser, thread.parser, thread.layout)?;
        }
        Ok(Some(self.configs.intern(threads, is_accepting)))
    }

    /// The thread after `outcome`, which came of `byte`; `None` if the parser cannot read its token. Whether it
    /// has a completion is not asked.
    fn after(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        outcome: Outcome,
        byte: u8,
    ) -> Result<Option<LexedThread>, EngineError> {
        let tables = self.points.tables.clone();
        let line = match &tables.layout {
            Some(layout) => blanks_after(self.layouts.get(thread.layout).line, byte, layout.tabs),
            None => None,
        };
        let hypothesis = outcome.next;
        let Some(terminal) = outcome.terminal else {
            if tables.layout.is_none() {
                return Ok(Some(LexedThread { hypothesis, ..thread }));
            }
            let is_newline = self.points.may_be_newline(hypothesis)?;
            let layout = self.layouts.with_line(thread.layout, line.filter(|_| is_newline));
            return Ok(Some(LexedThread { hypothesis, layout, ..thread }));
        };
        let place = self.layouts.with_line(thread.layout, None);
        let after = self.after_token(parser, thread.parser, place, terminal, line)?;
        let Some((config, layout)) = after else { return Ok(None) };
        let hypothesis = self.exact(parser, hypothesis, config, layout)?;
        Ok(Some(LexedThread { hypothesis, parser: config, layout }))
    }

    /// What the parser is in after a token, its layout with it; `line` is that of the token.
    fn after_token(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        layout: LayoutId,
        terminal: TerminalId,
        line: Option<u32>,
    ) -> Result<Option<(ConfigId, LayoutId)>, EngineError> {
        if self.points.tables.ignored.contains(&terminal) {
            return Ok(Some((config, layout)));
        }
        let Some(rules) = &self.points.tables.layout else {
            return Ok(self.shift(parser, config, terminal)?.map(|config| (config, layout)));
        };
        let depth = self.layouts.get(layout).depth;
        if terminal == rules.newline {
            if depth > 0 {
                return Ok(Some((config, layout)));
            }
            let (Some(config), Some(width)) = (self.shift(parser, config, terminal)?, line) else {
                return Ok(None);
            };
            return self.indent(parser, config, layout, width);
        }
        let (opens, closes) = (rules.open.contains(&terminal), rules.close.contains(&terminal));
        let Some(config) = self.shift(parser, config, terminal)? else { return Ok(None) };
        let depth_after = if opens {
            depth.checked_add(1)
        } else if closes {
            depth.checked_sub(1)
        } else {
            return Ok(Some((config, layout)));
        };
        let Some(depth) = depth_after else { return Ok(None) };
        let layout = LayoutState { depth, ..*self.layouts.get(layout) };
        Ok(Some((config, self.layouts.intern(layout))))
    }

    /// The tokens that a line of the given width makes.
    fn indent(
        &mut self,
        parser: &mut Parser,
        mut config: ConfigId,
        layout: LayoutId,
        width: u32,
    ) -> Result<Option<(ConfigId, LayoutId)>, EngineError> {
        let tables = self.points.tables.clone();
        let Some(rules) = &tables.layout else { return Ok(Some((config, layout))) };
        let mut state = *self.layouts.get(layout);
        if rules.tabs.is_deeper(width, self.layouts.width(state.blocks)) {
            let Some(next) = self.shift(parser, config, rules.indent)? else { return Ok(None) };
            (config, state.blocks) = (next, self.layouts.within(state.blocks, width));
        } else {
            while width < self.layouts.width(state.blocks)
                && let Some(around) = self.layouts.around(state.blocks)
            {
                let Some(next) = self.shift(parser, config, rules.dedent)? else { return Ok(None) };
                (config, state.blocks) = (next, around);
            }
            if width != self.layouts.width(state.blocks) {
                return Ok(None);
            }
        }
        Ok(Some((config, self.layouts.intern(state))))
    }

    /// Whether the text may end where the parser is in `config`: all blocks are closed.
    fn can_end(
        &mut self,
        parser: &mut Parser,
        mut config: ConfigId,
        layout: LayoutId,
    ) -> Result<bool, EngineError> {
        let Some(dedent) = self.points.tables.layout.as_ref().map(|layout| layout.dedent) else {
            return Ok(parser.configs.is_accepting(config));
        };
        let had_met_hole = std::mem::take(&mut self.has_met_hole);
        let mut n_left = self.layouts.n_blocks(self.layouts.get(layout).blocks);
        // Where a block was closed, and whether that met a hole.
        let mut closed: Vec<((ConfigId, u32), bool)> = Vec::new();
        let (can_end, mut meets_hole) = loop {
            if n_left == 0 {
                break (parser.configs.is_accepting(config), false);
            }
            if let Some(&known) = self.closings.get(&(config, n_left)) {
                break known;
            }
            let next = self.shift(parser, config, dedent)?;
            closed.push(((config, n_left), std::mem::take(&mut self.has_met_hole)));
            let Some(next) = next else { break (false, false) };
            (config, n_left) = (next, n_left - 1);
        };
        for (place, meets_here) in closed.into_iter().rev() {
            meets_hole |= meets_here;
            if parser.shared.options.use_memo {
                self.closings.insert(place, (can_end, meets_hole));
                self.memo_bytes += 24;
            }
        }
        self.has_met_hole = had_met_hole | meets_hole;
        Ok(can_end)
    }

    /// The parser's configuration after one more terminal.
    fn shift(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        terminal: TerminalId,
    ) -> Result<Option<ConfigId>, EngineError> {
        let Shift { next, meets_hole } = match self.shifts.get(&(config, terminal)) {
            Some(&known) => known,
            None => {
                let made = parser.shift(config, terminal)?;
                if parser.shared.options.use_memo {
                    self.shifts.insert((config, terminal), made);
                    self.memo_bytes += 40;
                }
                made
            }
        };
        self.has_met_hole |= meets_hole;
        Ok(next)
    }

    /// Drops what is memoised. Rows have a limit of their own; configurations and layouts stay: sessions hold
    /// their ids.
    pub(crate) fn clear_memo(&mut self) {
        self.transitions = FxHashMap::default();
        self.shifts = FxHashMap::default();
        self.scopes.iter_mut().for_each(Scope::clear_memo);
        self.newlines = FxHashMap::default();
        self.closings = FxHashMap::default();
        // Proven answers stay: a mask may have allowed tokens because of them.
        let keeps_proven = self.searched.len() <= MAX_PROVEN;
        self.searched.retain(|_, found| keeps_proven && *found == Some(true));
        self.next_tokens = NextTokens::default();
        self.pushdowns = [false, true].map(Pushdown::new);
        self.distances.clear_nodes();
        self.unsettled = FxHashMap::default();
        self.masks = FxHashMap::default();
        self.forms = FxHashSet::default();
        self.judgements = FxHashMap::default();
        self.insides = FxHashMap::default();
        self.competing = FxHashMap::default();
        self.horizon.clear();
        self.memo_bytes = 0;
    }

    /// Makes what a panic left in the middle of a call usable again; called after [`clear_memo`](Lexed::clear_memo).
    pub(crate) fn recover(&mut self) {
        self.readings = Readings::new(&self.points.tables);
        self.rows = FxHashMap::default();
        self.row_bytes = 0;
        self.has_met_hole = false;
    }

    pub(crate) fn memo_bytes(&self) -> usize {
        self.memo_bytes
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.memo_bytes
            + self.configs.memory_usage()
            + self.points.hypotheses.memory_usage()
            + self.reach.memory_usage()
            + self.scopes.iter().map(Scope::memory_usage).sum::<usize>()
            + self.layouts.memory_usage()
            + self.readings.memory_usage()
            + self.row_bytes
            + self.horizon.memory_usage()
            + self.next_tokens.memory_usage()
            + self.pushdowns.iter().map(Pushdown::memory_usage).sum::<usize>()
            + self.distances.memory_usage()
    }

    /// The names of the terminals that the next token may be of, for messages.
    pub(crate) fn expected(&mut self, parser: &Parser, config: ConfigId) -> Result<Vec<String>, EngineError> {
        let mut names = Vec::new();
        for thread in self.configs.threads(config) {
            let regime = usize::from(self.layouts.get(thread.layout).depth > 0);
            let reads = self.scopes[self.main].viability.reads(
                &mut self.points.hypotheses,
                thread.hypothesis,
                regime,
            )?;
            let readable = parser.configs.threads(thread.parser).iter().map(|thread| thread.terminal);
            let expected = readable.filter(|terminal| contains(reads, terminal.index()));
            names.extend(expected.map(|terminal| self.points.tables.names[terminal.index()].clone()));
        }
        Ok(names)
    }
}

/// The distances in the rules of a grammar, with none computed yet.
fn distances(tables: &LexerTables) -> Distances {
    let n_words = n_words(tables.n_terminals);
    let [mut free, mut ignored]: [Bits; 2] = [(); 2].map(|()| vec![0; n_words].into());
    for terminal in tables.layout.iter().flat_map(|layout| [layout.indent, layout.dedent]) {
        insert(&mut free, terminal.index());
    }
    for terminal in &tables.ignored {
        insert(&mut ignored, terminal.index());
    }
    Distances::new(free, ignored)
}

/// The rules restricted to a set of terminals, and those that indentation makes.
fn scope(
    tables: &LexerTables,
    network: &mut Network,
    mut terminals: Bits,
    doubtful: &Bits,
    is_everything: bool,
) -> Scope {
    if let Some(layout) = &tables.layout {
        insert(&mut terminals, layout.indent.index());
        insert(&mut terminals, layout.dedent.index());
    }
    // The parser gets none of those, though rules may ask for them.
    let mut misses_some = false;
    for terminal in &tables.ignored {
        remove(&mut terminals, terminal.index());
        misses_some |= is_everything && scope::uses(network, *terminal);
    }
    let rules = Restriction::new(network, terminals);
    let followers = rules.followers(network, tables.n_terminals);
    let viability = Viability::new(adjacency_of(tables, &followers, doubtful));
    let mut scope = Scope::new(viability, rules, is_everything && !misses_some);
    scope.is_complete = is_everything;
    scope
}

/// What the fixpoints of [`viability`] need to know of the grammar.
fn adjacency_of(tables: &LexerTables, followers: &[Bits], doubtful: &Bits) -> Adjacency {
    let n_words = n_words(tables.n_terminals);
    let made: Vec<usize> = match &tables.layout {
        Some(layout) => vec![layout.indent.index(), layout.dedent.index()],
        None => Vec::new(),
    };
    let flat = needed(followers, &made);
    let mut ignored: Bits = vec![0; n_words].into();
    for terminal in &tables.ignored {
        insert(&mut ignored, terminal.index());
    }
    let mut adjacency = Adjacency {
        n_terminals: tables.n_terminals,
        n_words,
        ignored: vec![ignored],
        needed: vec![flat],
        doubtful: doubtful.clone(),
    };
    if let Some(layout) = &tables.layout {
        // Inside of brackets.
        let mut ignored = adjacency.ignored[0].clone();
        insert(&mut ignored, layout.newline.index());
        let mut nested = adjacency.needed[0].clone();
        for set in &mut nested {
            remove(set, layout.newline.index());
        }
        adjacency.ignored.push(ignored);
        adjacency.needed.push(nested);
    }
    adjacency
}
