//! Binary decision diagrams: one for each function of truth values, so equal functions are equal ids.
//!
//! Bryant, "Graph-Based Algorithms for Boolean Function Manipulation" (1986), with complemented edges as in
//! Brace, Rudell and Bryant, "Efficient Implementation of a BDD Package" (1990).

use std::ops::Not;

use rustc_hash::FxHashMap;

/// A function of truth values: the number of a node, and whether it is negated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Diagram(u32);

impl Diagram {
    pub(crate) const TRUE: Diagram = Diagram(0);
    pub(crate) const FALSE: Diagram = Diagram(1);

    fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    fn negated_if(self, is_negated: bool) -> Diagram {
        Diagram(self.0 ^ u32::from(is_negated))
    }

    fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }
}

impl Not for Diagram {
    type Output = Diagram;

    fn not(self) -> Diagram {
        self.negated_if(true)
    }
}

/// `then` if `variable` is true, else `otherwise`. Variables below are greater. `then` is not negated, so
/// that no function has two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Node {
    variable: u32,
    then: Diagram,
    otherwise: Diagram,
}

/// All diagrams over some variables.
#[derive(Default)]
pub(crate) struct Diagrams {
    /// The first one, of the constants, is not stored.
    nodes: Vec<Node>,
    /// How many nodes each has on its longest way.
    depths: Vec<u32>,
    known: FxHashMap<Node, Diagram>,
    conjunctions: FxHashMap<(Diagram, Diagram), Diagram>,
    n_variables: u32,
}

impl Diagrams {
    /// A variable that no diagram has yet.
    pub(crate) fn new_variable(&mut self) -> Diagram {
        let variable = self.n_variables;
        self.n_variables += 1;
        self.make(variable, Diagram::TRUE, Diagram::FALSE)
    }

    /// What a node or conjunction takes, at most.
    pub(crate) const BYTES: usize = 80;

    /// How many nodes and conjunctions are stored.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len() + self.conjunctions.len()
    }

    /// Both; `None` if that has a way of more than `max_depth` variables, or takes more than `max_work`
    /// steps.
    pub(crate) fn both(
        &mut self,
        a: Diagram,
        b: Diagram,
        max_depth: u32,
        mut max_work: u32,
    ) -> Option<Diagram> {
        if self.depth(a) + self.depth(b) > max_depth {
            return None;
        }
        self.conjunction(a, b, &mut max_work)
    }

    fn conjunction(&mut self, a: Diagram, b: Diagram, work_left: &mut u32) -> Option<Diagram> {
        match (a, b) {
            (Diagram::FALSE, _) | (_, Diagram::FALSE) => return Some(Diagram::FALSE),
            (Diagram::TRUE, other) | (other, Diagram::TRUE) => return Some(other),
            _ if a == b => return Some(a),
            _ if a == !b => return Some(Diagram::FALSE),
            _ => {}
        }
        let key = if a.0 <= b.0 { (a, b) } else { (b, a) };
        if let Some(&known) = self.conjunctions.get(&key) {
            return Some(known);
        }
        *work_left = work_left.checked_sub(1)?;
        let variable = self.variable(a).min(self.variable(b));
        let ((a_then, a_else), (b_then, b_else)) = (self.parts(a, variable), self.parts(b, variable));
        let then = self.conjunction(a_then, b_then, work_left)?;
        let otherwise = self.conjunction(a_else, b_else, work_left)?;
        let both = self.make(variable, then, otherwise);
        self.conjunctions.insert(key, both);
        Some(both)
    }

    fn make(&mut self, variable: u32, then: Diagram, otherwise: Diagram) -> Diagram {
        if then == otherwise {
            return then;
        }
        let is_negated = then.is_negated();
        let node =
            Node { variable, then: then.negated_if(is_negated), otherwise: otherwise.negated_if(is_negated) };
        if let Some(&known) = self.known.get(&node) {
            return known.negated_if(is_negated);
        }
        let depth = 1 + self.depth(then).max(self.depth(otherwise));
        self.nodes.push(node);
        self.depths.push(depth);
        let number = u32::try_from(self.nodes.len()).expect("each node is paid for");
        let diagram = Diagram(number << 1);
        self.known.insert(node, diagram);
        diagram.negated_if(is_negated)
    }

    fn depth(&self, diagram: Diagram) -> u32 {
        diagram.node().checked_sub(1).map_or(0, |node| self.depths[node])
    }

    fn variable(&self, diagram: Diagram) -> u32 {
        diagram.node().checked_sub(1).map_or(u32::MAX, |node| self.nodes[node].variable)
    }

    /// The diagrams for a variable that is true, and for one that is false. `diagram` has no smaller
    /// variable.
    fn parts(&self, diagram: Diagram, variable: u32) -> (Diagram, Diagram) {
        match diagram.node().checked_sub(1).map(|node| self.nodes[node]) {
            Some(node) if node.variable == variable => {
                (node.then.negated_if(diagram.is_negated()), node.otherwise.negated_if(diagram.is_negated()))
            }
            _ => (diagram, diagram),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A function by its truth table over four variables, made of literals by "both" and "not".
    fn tables(ops: &[(u8, usize, usize)]) -> Vec<u16> {
        let mut tables = vec![0xAAAA_u16, 0xCCCC, 0xF0F0, 0xFF00];
        for &(op, a, b) in ops {
            let (a, b) = (tables[a % tables.len()], tables[b % tables.len()]);
            tables.push(if op == 0 { !a } else { a & b });
        }
        tables
    }

    proptest! {
        #[test]
        fn equal_functions_are_equal_diagrams(ops in prop::collection::vec((0..3_u8, any::<usize>(), any::<usize>()), 0..24)) {
            let mut diagrams = Diagrams::default();
            let mut made: Vec<Diagram> = (0..4).map(|_| diagrams.new_variable()).collect();
            for &(op, a, b) in &ops {
                let (a, b) = (made[a % made.len()], made[b % made.len()]);
                made.push(if op == 0 { !a } else { diagrams.both(a, b, 100, 1_000).unwrap() });
            }
            let tables = tables(&ops);
            for (i, left) in tables.iter().enumerate() {
                prop_assert_eq!(*left == 0, made[i] == Diagram::FALSE);
                for (j, right) in tables.iter().enumerate() {
                    prop_assert_eq!(left == right, made[i] == made[j]);
                    prop_assert_eq!(*left == !right, made[i] == !made[j]);
                }
            }
        }
    }

    #[test]
    fn what_is_too_large_is_not_made() {
        let mut diagrams = Diagrams::default();
        let all: Vec<Diagram> = (0..8).map(|_| diagrams.new_variable()).collect();
        assert_eq!(diagrams.both(all[0], all[1], 1, 100), None);
        assert_eq!(diagrams.both(all[0], all[1], 2, 0), None);
        let size = diagrams.size();
        assert!(diagrams.both(all[0], all[1], 2, 1).is_some());
        assert_eq!(diagrams.size(), size + 2);
    }
}
