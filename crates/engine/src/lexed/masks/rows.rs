//! The rows of hypotheses, made when a mask first asks for them.
//!
//! [`Rows::row`] returns the [`LexedRow`] of a hypothesis. An example: two masks inside of two names ask for
//! the row of the hypothesis "in a name"; the second one finds it.
//!
//! Hypotheses that read the same at the end of a token share their ends (`alike`), so rows are smaller and
//! the parser is asked less often. Rows are dropped all at once when they take more than a machine may; the
//! sets of readings, which only new rows need, when they take more than a limit of their own.

use std::sync::Arc;

use maskwright_scan::bits::{Bits, contains};
use maskwright_scan::{HypothesisId, LexerTables};
use rustc_hash::FxHashMap;

use super::super::outlook::Outlook;
use super::parts::Parts;
use super::readings::Context;
use super::row::LexedRow;
use crate::EngineError;
use crate::ground::hooks;
use crate::parser::Parser;

/// The rows made so far.
pub(super) struct Rows {
    known: FxHashMap<HypothesisId, Arc<LexedRow>>,
    n_bytes: usize,
    parts: Parts,
    /// By reads(h) in all regimes, if h can reach no bad boundary: the first hypothesis met that has them.
    alike: FxHashMap<Bits, HypothesisId>,
}

impl Rows {
    pub(super) fn new(tables: &LexerTables) -> Rows {
        Rows {
            known: FxHashMap::default(),
            n_bytes: 0,
            parts: Parts::new(tables),
            alike: FxHashMap::default(),
        }
    }

    /// The row of a hypothesis, made if it is not known.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn row(
        &mut self,
        outlook: &mut Outlook,
        parser: &Parser,
        hypothesis: HypothesisId,
    ) -> Result<Arc<LexedRow>, EngineError> {
        if let Some(row) = self.known.get(&hypothesis) {
            return Ok(row.clone());
        }
        if self.n_bytes > parser.shared.limits.machine_bytes {
            self.known = FxHashMap::default();
            self.n_bytes = 0;
        }
        // Rows do not need the sets of readings once they are made.
        if self.parts.memory_usage() > parser.shared.limits.scratch_bytes() {
            self.parts = Parts::new(outlook.places.tables());
        }
        let follow = outlook.scopes.follow.clone();
        let mut context = Context {
            points: &mut outlook.places.points,
            viability: outlook.scopes.viability(),
            follow: &follow,
        };
        let may_be_newline = context.points.may_be_newline(hypothesis)?;
        let start = self.parts.readings.start(hypothesis, may_be_newline);
        let alike = &mut self.alike;
        let row = LexedRow::new(
            &parser.shared.vocabulary,
            &mut self.parts,
            &mut context,
            start,
            |context, hypothesis| {
                let mut key: Vec<u64> = Vec::new();
                for regime in 0..context.viability.adjacency.ignored.len() {
                    let bad = context.viability.adjacency.bad();
                    let reads =
                        context.viability.reads(&mut context.points.hypotheses, hypothesis, regime)?;
                    if contains(reads, bad) {
                        return Ok(hypothesis);
                    }
                    key.extend_from_slice(reads);
                }
                Ok(*alike.entry(Bits::from(key)).or_insert(hypothesis))
            },
        )?;
        let row = Arc::new(row);
        hooks::reach("lexed row");
        if parser.shared.options.use_memo {
            self.n_bytes += row.memory_usage();
            self.known.insert(hypothesis, row.clone());
        }
        Ok(row)
    }

    /// Makes what a panic left in the middle of a call usable again.
    pub(super) fn recover(&mut self, tables: &LexerTables) {
        self.parts = Parts::new(tables);
        self.known = FxHashMap::default();
        self.n_bytes = 0;
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.n_bytes + self.parts.memory_usage()
    }
}
