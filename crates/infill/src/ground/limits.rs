//! What infilling may spend.

use maskwright_automata::AutomatonLimits;

/// What infilling may spend, in work units and sizes that are the same on every machine.
///
/// # Example: a limit is set by its field
///
/// ```
/// # mod maskwright { pub use maskwright_infill as infill; }
/// use maskwright::infill::InfillLimits;
/// let mut limits = InfillLimits::default();
/// limits.max_positions = 512;
/// assert!(limits.work > 0);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InfillLimits {
    /// Work units, of 10 to 35 ns, of the first question about a canvas or template, and of an exact mask.
    /// Questions about one token take at most a third of that each, and are left open then. What a search
    /// keeps counts as work too, so this bounds its memory: some ten bytes a unit.
    pub work: u64,
    /// Limits of each terminal's automaton.
    pub automaton: AutomatonLimits,
    /// The most positions of a canvas, or fixed pieces and tokens of a template.
    pub max_positions: usize,
    /// Whether regular rules become terminals first. Answers are the same; without it every character of a
    /// grammar that is written character by character is a chart entry.
    pub collapse_regular: bool,
    /// Whether nodes of a lexed lattice with the same future are one, what the lexer watches for after a
    /// token, and rules that one other rule alone refers to. Answers are the same; without it the chart is
    /// larger.
    pub merge_alike: bool,
    /// Whether smaller graphs, with fewer texts or with more, are searched before the whole one of a canvas
    /// of a lexed grammar. Answers are the same; without it most canvases of large grammars reach the limit.
    pub narrow_first: bool,
}

impl Default for InfillLimits {
    /// 150 million units: at most some five seconds. Of true programs of 200 tokens most take fewer than 60
    /// million.
    fn default() -> InfillLimits {
        InfillLimits {
            work: 150_000_000,
            automaton: AutomatonLimits::default(),
            max_positions: 65_536,
            collapse_regular: true,
            merge_alike: true,
            narrow_first: true,
        }
    }
}
