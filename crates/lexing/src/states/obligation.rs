//! What must follow: conditions on the text after a place.
//!
//! A condition is a formula over instructions: the literal of instruction `pc` says that the thread at `pc`
//! reaches the end of its lookahead on what follows. Formulas are in conjunctive normal form: a lookahead is
//! one clause (some thread gets there), a negative one is a list of unit clauses (no thread does), and two
//! lookaheads are both lists. Only lookaheads inside of lookaheads need the distributive law, and the number
//! of clauses is limited. Formulas over finitely many literals are finitely many, so states are too.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::LexError;
use crate::nfa::Pc;

/// How many clauses a formula may have.
const MAX_CLAUSES: usize = 1_024;

/// A formula in conjunctive normal form. Clauses are sorted and distinct, and none contains another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cnf(Vec<Vec<u32>>);

impl Cnf {
    /// No condition.
    pub(crate) fn always() -> Cnf {
        Cnf(Vec::new())
    }

    /// A condition that nothing fulfils.
    pub(crate) fn never() -> Cnf {
        Cnf(vec![Vec::new()])
    }

    /// The thread at `pc` gets to the end of its lookahead.
    pub(crate) fn reaches(pc: Pc) -> Cnf {
        Cnf(vec![vec![pc << 1]])
    }

    pub(crate) fn is_never(&self) -> bool {
        self.0.first().is_some_and(Vec::is_empty)
    }

    /// The instructions of the literals.
    pub(crate) fn pcs(&self) -> impl Iterator<Item = Pc> + '_ {
        self.0.iter().flatten().map(|literal| literal >> 1)
    }

    pub(crate) fn and(&self, other: &Cnf) -> Result<Cnf, LexError> {
        normal(self.0.iter().chain(&other.0).cloned())
    }

    pub(crate) fn or(&self, other: &Cnf) -> Result<Cnf, LexError> {
        if self.0.len().saturating_mul(other.0.len()) > MAX_CLAUSES * 4 {
            return Err(too_large());
        }
        normal(self.0.iter().flat_map(|left| {
            other.0.iter().map(move |right| {
                let mut clause = [left.as_slice(), right.as_slice()].concat();
                clause.sort_unstable();
                clause.dedup();
                clause
            })
        }))
    }

    pub(crate) fn not(&self) -> Result<Cnf, LexError> {
        let mut result = Cnf::never();
        for clause in &self.0 {
            let negated = normal(clause.iter().map(|literal| vec![literal ^ 1]))?;
            result = result.or(&negated)?;
        }
        Ok(result)
    }

    /// The formula with `replace(pc)` in place of each literal.
    pub(crate) fn replace(
        &self,
        mut replace: impl FnMut(Pc) -> Result<Cnf, LexError>,
    ) -> Result<Cnf, LexError> {
        let mut result = Cnf::always();
        for clause in &self.0 {
            let mut any = Cnf::never();
            for &literal in clause {
                let formula = replace(literal >> 1)?;
                any = any.or(&if literal & 1 == 1 { formula.not()? } else { formula })?;
            }
            result = result.and(&any)?;
        }
        Ok(result)
    }

    /// Whether the condition holds where the text ends: no thread gets any further.
    pub(crate) fn holds_at_end(&self) -> bool {
        self.0.iter().all(|clause| clause.iter().any(|literal| literal & 1 == 1))
    }
}

fn too_large() -> LexError {
    LexError::limit("clauses of a lookahead", MAX_CLAUSES as u64)
}

/// Clauses without tautologies and without those that contain another.
fn normal(clauses: impl Iterator<Item = Vec<u32>>) -> Result<Cnf, LexError> {
    let mut distinct: BTreeSet<Vec<u32>> = BTreeSet::new();
    for clause in clauses {
        // The two literals of an instruction are neighbours.
        if !clause.windows(2).any(|pair| pair[0] ^ 1 == pair[1]) {
            distinct.insert(clause);
            if distinct.len() > MAX_CLAUSES {
                return Err(too_large());
            }
        }
    }
    let mut kept: Vec<Vec<u32>> = Vec::new();
    let mut by_length: Vec<Vec<u32>> = distinct.into_iter().collect();
    by_length.sort_by_key(Vec::len);
    for clause in by_length {
        let contains = |inner: &Vec<u32>| inner.iter().all(|literal| clause.binary_search(literal).is_ok());
        if !kept.iter().any(contains) {
            kept.push(clause);
        }
    }
    // Two unit clauses that contradict each other are the plain contradiction.
    let is_unit = |literal: u32| kept.iter().any(|clause| *clause == [literal]);
    if kept.iter().any(|clause| clause.len() == 1 && is_unit(clause[0] ^ 1)) {
        return Ok(Cnf::never());
    }
    kept.sort();
    Ok(Cnf(kept))
}

/// Formulas by number; 0 is no condition.
pub(crate) struct Obligations {
    formulas: Vec<Cnf>,
    ids: FxHashMap<Cnf, u32>,
}

/// The number of the formula without clauses.
pub(crate) const NONE: u32 = 0;

impl Obligations {
    pub(crate) fn new() -> Obligations {
        Obligations { formulas: vec![Cnf::always()], ids: FxHashMap::from_iter([(Cnf::always(), NONE)]) }
    }

    pub(crate) fn get(&self, id: u32) -> &Cnf {
        &self.formulas[id as usize]
    }

    /// The number of a formula; `None` if it is a contradiction.
    pub(crate) fn intern(&mut self, formula: Cnf) -> Option<u32> {
        if formula.is_never() {
            return None;
        }
        if let Some(&id) = self.ids.get(&formula) {
            return Some(id);
        }
        let id = self.formulas.len() as u32;
        self.formulas.push(formula.clone());
        self.ids.insert(formula, id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(formula: &Cnf, assignment: u32) -> bool {
        formula.0.iter().all(|clause| {
            clause.iter().any(|literal| (assignment >> (literal >> 1) & 1 == 1) != (literal & 1 == 1))
        })
    }

    #[test]
    fn operations_are_boolean() {
        let [a, b, c] = [0, 1, 2].map(Cnf::reaches);
        let formulas = [
            Cnf::always(),
            Cnf::never(),
            a.clone(),
            a.and(&b).unwrap(),
            a.or(&b).unwrap().and(&c.not().unwrap()).unwrap(),
            b.and(&c).unwrap().or(&a.not().unwrap()).unwrap(),
        ];
        for left in &formulas {
            for right in &formulas {
                let (and, or, not) = (left.and(right).unwrap(), left.or(right).unwrap(), left.not().unwrap());
                for assignment in 0..8 {
                    let (l, r) = (holds(left, assignment), holds(right, assignment));
                    assert_eq!(holds(&and, assignment), l && r);
                    assert_eq!(holds(&or, assignment), l || r);
                    assert_eq!(holds(&not, assignment), !l);
                }
                assert_eq!(left.holds_at_end(), holds(left, 0));
            }
        }
        assert!(a.and(&a.not().unwrap()).unwrap().is_never());
        assert_eq!(a.or(&a.not().unwrap()).unwrap(), Cnf::always());
    }
}
