//! Limits and switches of the engine.

use maskwright_automata::AutomatonLimits;

/// What the engine may spend, in work units and sizes that are the same on every machine.
///
/// ```
/// let limits = maskwright_engine::Limits { max_threads: 1_000, ..Default::default() };
/// assert!(limits.compile_work > 0);
/// ```
#[derive(Clone, Debug)]
pub struct Limits {
    /// Work units (about one visited grammar node each) that compiling one grammar may take.
    pub compile_work: u64,
    /// Limits of each terminal's automaton.
    pub automaton: AutomatonLimits,
    /// Bytes that the automata shared by all grammars of a compiler may take before grammars to come start on
    /// fresh ones.
    pub automaton_bytes: usize,
    /// The most readings (threads) of one text that are followed at once.
    pub max_threads: usize,
    /// The most calls of rules that one byte may lead to, the same ones made by several readings included:
    /// what bounds the work of a byte where readings share their stacks.
    pub max_calls: usize,
    /// Bytes that the rows shared by all grammars of a compiler may take; beyond that they are dropped and
    /// made anew when needed.
    pub row_cache_bytes: usize,
    /// Bytes that one grammar's lazy tables (configurations, transitions, masks) may take before the
    /// memoised part is dropped.
    pub machine_bytes: usize,
    /// Bytes that all grammars and caches of a compiler may take. Beyond that, the grammars used longest ago
    /// drop what they have memoised, then the shared caches are dropped. What living grammars and sessions
    /// need is not dropped, and may take more.
    pub memory_bytes: usize,
    /// Work units that one mask may take, and one call that accepts or checks tokens (its first token by
    /// itself); `None` for no limit but the others. A unit is some 20 ns. Where they are spent, the mask has
    /// the tokens that are proven by then, and its status is [`Bound`](crate::MaskStatus::Bound). If none is
    /// proven, one is looked for with more work. What such a mask lacks depends on what is known already: the
    /// same mask may have more tokens later, never fewer.
    pub mask_work: Option<u64>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            compile_work: 16_000_000,
            automaton: AutomatonLimits::default(),
            automaton_bytes: 64 << 20,
            max_threads: 20_000,
            max_calls: 200_000,
            row_cache_bytes: 192 << 20,
            machine_bytes: 64 << 20,
            memory_bytes: 1 << 30,
            mask_work: None,
        }
    }
}

impl Limits {
    /// Bytes that one kind of answers may take beside a grammar's machine (completions, profiles, what tokens
    /// do to residues) before those are dropped: all kinds of one grammar together take about half of it.
    pub(crate) fn table_bytes(&self) -> usize {
        self.memory_bytes / 16
    }

    /// Bytes that what is needed only while a grammar's tables are made may take before it is dropped.
    pub(crate) fn scratch_bytes(&self) -> usize {
        self.machine_bytes / 2
    }
}

/// The most places that one best-first search for a completion visits, whether it goes from token to token of
/// a lexer or of the vocabulary. It counts beside `mask_work`, which has no limit by default: where rules
/// go ever deeper there is no last place.
pub(crate) const MAX_SEARCHED: usize = 5_000;

/// Which optimisations are on. All combinations give the same masks; the switches exist so that tests can
/// prove it.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Use rows; else every mask walks the whole token trie byte by byte.
    pub use_rows: bool,
    /// Keep masks and transitions once computed.
    pub use_memo: bool,
    /// Make the row of a language without a few words from that of the language. Without it, first masks with
    /// a limit on tokens take 1.2 times as many instructions.
    pub use_differences: bool,
    /// Share the rows of counted characters whatever their count.
    pub use_counts: bool,
    /// A residue whose first bytes lead to at most so many nodes of the token trie has no row.
    pub light_nodes: usize,
    /// The most exits (token, place) that a row lists; with more, they are listed by first byte, or the trie
    /// is walked. An exit takes some 120 bytes and 0.4 us. The rows of strings, numbers and punctuation have
    /// at most a few thousand. After white space every token that begins with a space is an exit, half of a
    /// vocabulary, in a row for each count of spaces: the default is between the two, for small vocabularies
    /// as for large ones.
    pub max_exits: usize,
    /// When there are rows over the exits of a row.
    pub exit_rows: ExitRows,
    /// Rows are shared as if no token had more bytes, and then corrected for those that have.
    pub short_bytes: u32,
}

/// When what a terminal says about the exits of a row is kept as a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitRows {
    /// Exits are walked byte by byte.
    Never,
    /// If the exits were often asked for before.
    IfKnown,
    /// From the first time on.
    Always,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            use_rows: true,
            use_memo: true,
            use_differences: true,
            use_counts: true,
            light_nodes: 64,
            max_exits: 8_000,
            exit_rows: ExitRows::IfKnown,
            short_bytes: 16,
        }
    }
}
