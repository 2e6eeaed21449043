//! What a compiler, its grammars and their sessions may spend.

use maskwright_automata::AutomatonLimits;
use maskwright_infill::InfillLimits;

/// What a [`Compiler`](crate::Compiler), its grammars and their sessions may spend, in work units and sizes
/// that are the same on every machine. The defaults bound the worst compilation to a few seconds and some
/// hundred MiB. The work of a mask has no bound by default: see [`mask_work`](Limits::mask_work).
///
/// # Example: a limit is set by its field
///
/// ```
/// use maskwright::{Compiler, Limits, TokenId, Tokenizer};
/// let tokens = ["a", "</s>"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(1)])?;
/// let mut limits = Limits::default();
/// limits.max_threads = 1_000;
/// let compiler = Compiler::with_limits(&tokenizer, limits);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: a grammar of a stranger
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Limits, TokenId, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens(vec![b"a".to_vec(), b"</s>".to_vec()], &[TokenId(1)])?;
/// let mut limits = Limits::default();
/// limits.compile_work = 1_000;
/// let compiler = Compiler::with_limits(&tokenizer, limits);
/// let huge = GrammarSource::gbnf(format!("root ::= {}", r#""a" | "#.repeat(10_000) + r#""a""#));
/// let error = compiler.compile(&huge, &CompileOptions::default()).unwrap_err();
/// assert!(error.is_limit());
/// assert_eq!(error.limit(), Some(("compile_work", 1_000)));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Work units (about one visited grammar node each) that compiling one grammar may take.
    pub compile_work: u64,
    /// Bytes that compiling one grammar may take, beside what it shares with others. They are counted where
    /// things are made, so the memory of the process may grow by somewhat more or less.
    pub compile_bytes: u64,
    /// The most readings of one text that a session follows at once.
    pub max_threads: usize,
    /// The most calls of rules that one byte may lead to, the same call by several readings counted each
    /// time.
    pub max_calls: usize,
    /// Work units, of some 20 ns, that one mask may take, and one call that accepts or checks tokens; `None`
    /// for no limit of this kind. If they do not suffice, the mask has the tokens that are proven to be
    /// allowed by then, and its [status](crate::Matcher::mask_status) is a bound; if nothing is proven, one
    /// allowed token is searched for with more work. An undecided token is refused unless the last mask
    /// allowed it. The same mask may have more tokens when it is asked for again, because more is known.
    pub mask_work: Option<u64>,
    /// Bytes that the rows (what terminals say about the vocabulary) of a compiler may take before they are
    /// dropped and made anew when needed.
    pub row_cache_bytes: usize,
    /// Bytes that the automata of a compiler may take before new grammars start on fresh ones.
    pub automaton_bytes: usize,
    /// Bytes that one grammar's masks and other memoised answers may take before they are dropped.
    pub machine_bytes: usize,
    /// Bytes that all grammars and caches of a compiler together may take. Beyond that, the grammars used
    /// longest ago drop what they have memoised, then the shared caches are dropped. What living grammars and
    /// sessions need is not dropped, and may take more.
    pub memory_bytes: usize,
    /// States that one terminal's automaton may have.
    pub max_states: u32,
    /// Node visits that one step of a terminal's automaton may take.
    pub max_residue_size: u64,
    /// Node visits that one search for a word of an intersection or complement may take.
    pub liveness_fuel: u64,
    /// Work units, of 10 to 35 ns, that the first question about a [`Template`](crate::Template) or
    /// [`Canvas`](crate::Canvas) may take, and an exact mask: some five seconds at most. A question about one
    /// token takes at most a third of it.
    pub infill_work: u64,
    /// The most positions of a canvas, or fixed pieces and tokens of a template.
    pub max_positions: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        let engine = maskwright_engine::Limits::default();
        let AutomatonLimits { max_states, max_residue_size, liveness_fuel } = engine.automaton;
        let InfillLimits { work: infill_work, max_positions, .. } = InfillLimits::default();
        Limits {
            compile_work: engine.compile_work,
            compile_bytes: 192 << 20,
            max_threads: engine.max_threads,
            max_calls: engine.max_calls,
            mask_work: engine.mask_work,
            row_cache_bytes: engine.row_cache_bytes,
            automaton_bytes: engine.automaton_bytes,
            machine_bytes: engine.machine_bytes,
            memory_bytes: engine.memory_bytes,
            max_states,
            max_residue_size,
            liveness_fuel,
            infill_work,
            max_positions,
        }
    }
}

impl Limits {
    fn automaton(&self) -> AutomatonLimits {
        AutomatonLimits {
            max_states: self.max_states,
            max_residue_size: self.max_residue_size,
            liveness_fuel: self.liveness_fuel,
        }
    }

    pub(crate) fn engine(&self) -> maskwright_engine::Limits {
        maskwright_engine::Limits {
            compile_work: self.compile_work,
            automaton: self.automaton(),
            automaton_bytes: self.automaton_bytes,
            max_threads: self.max_threads,
            max_calls: self.max_calls,
            row_cache_bytes: self.row_cache_bytes,
            machine_bytes: self.machine_bytes,
            memory_bytes: self.memory_bytes,
            mask_work: self.mask_work,
        }
    }

    pub(crate) fn infill(&self) -> InfillLimits {
        let mut limits = InfillLimits::default();
        limits.work = self.infill_work;
        limits.automaton = self.automaton();
        limits.max_positions = self.max_positions;
        limits
    }
}
