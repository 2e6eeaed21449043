//! Sets of terminals.

/// A set of terminals of one grammar, and of the end of the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Terminals(Box<[u64]>);

impl Terminals {
    /// The empty set; the end of the text has the number `n_terminals`.
    pub(crate) fn new(n_terminals: usize) -> Terminals {
        Terminals(vec![0; (n_terminals + 1).div_ceil(64)].into())
    }

    /// Everything.
    pub(crate) fn all(n_terminals: usize) -> Terminals {
        Terminals(vec![u64::MAX; (n_terminals + 1).div_ceil(64)].into())
    }

    /// Adds one; whether it is new.
    pub(crate) fn insert(&mut self, terminal: usize) -> bool {
        let is_new = !self.contains(terminal);
        self.0[terminal / 64] |= 1 << (terminal % 64);
        is_new
    }

    /// Adds `other`; whether something in it is new.
    pub(crate) fn unite(&mut self, other: &Terminals) -> bool {
        let mut is_new = 0;
        for (to, from) in self.0.iter_mut().zip(&other.0) {
            is_new |= from & !*to;
            *to |= from;
        }
        is_new != 0
    }

    pub(crate) fn intersects(&self, other: &Terminals) -> bool {
        self.0.iter().zip(&other.0).any(|(left, right)| left & right != 0)
    }

    pub(crate) fn contains(&self, terminal: usize) -> bool {
        self.0[terminal / 64] >> (terminal % 64) & 1 == 1
    }
}
