//! Left recursion becomes repetition.
//!
//! The engine enters a rule by pushing the state to return to; a rule that can begin with itself would push
//! for ever. Take a group M of rules that can begin with each other. Each right-hand side splits by its moves
//! into parts that begin outside M, β, and parts `A_k · L` that begin with a member k. A word of `A_i` is
//! then a β of some member j followed by pieces L along a path of members from j to i, so with the new rules
//!
//! > T(j,i) = { ε if j = i }  ∪  ⋃ { L · T(k,i) : A_k begins a part `A_j · L` of member k's right-hand side }
//!
//! the right-hand side of `A_i` is ⋃ β_j · T(j,i). T is used in last position only, where entering a rule
//! pushes nothing, so a left-recursive list of any length takes no stack. Pieces L that may be empty make
//! *unit* steps, which are closed over first (`units` below). T(j,i) absorbs T(i,i)
//! ([`absorb`](crate::absorb)), so a piece that ends in a member (`A: A "+" A`) takes none either.

use maskwright_automata::Fuel;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{ExprId, ExprPool, GrammarError, Move, Network, RuleId, Seen, Symbol};

/// Rewrites the rules of `network` so that no rule can begin with itself.
pub(crate) fn eliminate(network: &mut Network, fuel: &Fuel) -> Result<(), GrammarError> {
    let graph = left_call_graph(network, fuel)?;
    for group in strong_components(&graph) {
        let is_recursive = group.len() > 1 || graph[group[0].index()].contains(&group[0]);
        if is_recursive {
            rewrite(network, &group, fuel)?;
        }
    }
    Ok(())
}

/// For each rule a number less than those of the rules it can begin with.
pub(crate) fn topological_ranks(network: &mut Network, fuel: &Fuel) -> Result<Vec<u32>, GrammarError> {
    let graph = left_call_graph(network, fuel)?;
    let components = strong_components(&graph);
    let mut ranks = vec![0; graph.len()];
    // Components come callees first.
    for (position, group) in components.iter().enumerate() {
        debug_assert_eq!(group.len(), 1, "left recursion was eliminated");
        for rule in group {
            ranks[rule.index()] = (components.len() - position) as u32;
        }
    }
    Ok(ranks)
}

fn left_call_graph(network: &mut Network, fuel: &Fuel) -> Result<Vec<Vec<RuleId>>, GrammarError> {
    let mut seen = Seen::new();
    (0..network.n_rules())
        .map(|rule| network.left_callees(RuleId::from_index(rule), &mut seen, fuel))
        .collect()
}

/// A piece `L` by which member `to` is made of member `from`: `A_to ⊇ A_from · L`.
struct Step {
    from: usize,
    to: usize,
    piece: ExprId,
}

/// Work units of one product of a step and what follows.
const PRODUCT: u64 = 4;

/// How the members of a group begin.
struct Begun {
    /// By member, what it begins with besides members.
    outside: Vec<ExprId>,
    steps: Vec<Step>,
    /// By member, those that it can be alone.
    unit_steps: Vec<FxHashSet<usize>>,
}

fn begun(network: &mut Network, group: &[RuleId], fuel: &Fuel) -> Result<Begun, GrammarError> {
    let member: FxHashMap<RuleId, usize> = group.iter().enumerate().map(|(i, &rule)| (rule, i)).collect();
    let mut outside: Vec<ExprId> = Vec::with_capacity(group.len());
    let mut steps: Vec<Step> = Vec::new();
    let mut unit_steps: Vec<FxHashSet<usize>> = vec![FxHashSet::default(); group.len()];
    for (to, &rule) in group.iter().enumerate() {
        let mut betas = Vec::new();
        for Move { symbol, next } in network.linear_form(network.bodies[rule.index()]) {
            fuel.spend(1)?;
            let from = match symbol {
                Symbol::Rule(callee) => member.get(&callee).copied(),
                Symbol::Terminal(_) => None,
            };
            let Some(from) = from else {
                let head = proper_symbol(network, symbol);
                betas.push(network.pool.seq2(head, next));
                continue;
            };
            if network.is_nullable(next) {
                unit_steps[from].insert(to);
            }
            let piece = without_empty_word(network, next);
            if piece != ExprPool::NEVER {
                steps.push(Step { from, to, piece });
            }
        }
        outside.push(network.pool.alt(&betas));
    }
    Ok(Begun { outside, steps, unit_steps })
}

fn rewrite(network: &mut Network, group: &[RuleId], fuel: &Fuel) -> Result<(), GrammarError> {
    let n = group.len();
    fuel.spend((n as u64).saturating_mul(n as u64))?;
    let Begun { outside, steps, unit_steps } = begun(network, group, fuel)?;
    // units[j]: the members that A_j is a part of, by unit steps alone.
    let units: Vec<Vec<usize>> = (0..n).map(|j| closure(j, |k| unit_steps[k].iter().copied())).collect();
    // The steps out of each member, unit steps before them included.
    let mut edges: Vec<Vec<(usize, ExprId)>> = vec![Vec::new(); n];
    for j in 0..n {
        for &via in &units[j] {
            fuel.spend(steps.len() as u64 / 16)?;
            for step in steps.iter().filter(|step| step.from == via) {
                fuel.spend(1)?;
                edges[j].push((step.to, step.piece));
            }
        }
        edges[j].sort_unstable();
        edges[j].dedup();
    }
    let reaches: Vec<Vec<usize>> = (0..n)
        .map(|j| {
            closure(j, |k| {
                edges[k].iter().map(|&(to, _)| to).chain(units[k].iter().copied()).collect::<Vec<_>>()
            })
        })
        .collect();
    // T(j,i), for each i that j reaches; one rule for all j with the same edges.
    let mut tails: FxHashMap<(usize, usize), RuleId> = FxHashMap::default();
    let mut classes: FxHashMap<&[(usize, ExprId)], usize> = FxHashMap::default();
    let mut alike: FxHashMap<(usize, bool, usize), RuleId> = FxHashMap::default();
    for (j, reached) in reaches.iter().enumerate() {
        let class = *classes.entry(&edges[j]).or_insert(j);
        for &i in reached {
            fuel.spend(1)?;
            let fresh = RuleId::from_index(network.bodies.len());
            let rule = *alike.entry((i, units[j].contains(&i), class)).or_insert(fresh);
            tails.insert((j, i), rule);
            if rule != fresh {
                continue;
            }
            network.names.push(format!(
                "{} after {}",
                network.names[group[i].index()],
                network.names[group[j].index()]
            ));
            network.bodies.push(ExprPool::NEVER);
            network.rule_nullable.push(units[j].contains(&i));
        }
    }
    for (&(j, i), &rule) in &tails {
        network.absorbing.stars.insert(rule, tails[&(i, i)]);
        let mut parts = Vec::new();
        if units[j].contains(&i) {
            parts.push(ExprPool::EPSILON);
        }
        for &(to, piece) in &edges[j] {
            fuel.spend(PRODUCT)?;
            if let Some(&tail) = tails.get(&(to, i)) {
                let tail = network.pool.rule(tail);
                parts.push(network.pool.seq2(piece, tail));
            }
        }
        network.bodies[rule.index()] = network.pool.alt(&parts);
    }
    for (i, &rule) in group.iter().enumerate() {
        let mut parts = Vec::new();
        for (j, &beta) in outside.iter().enumerate() {
            if let Some(&tail) = tails.get(&(j, i)) {
                let tail = network.pool.rule(tail);
                parts.push(network.pool.seq2(beta, tail));
            }
        }
        network.bodies[rule.index()] = network.pool.alt(&parts);
    }
    Ok(())
}

/// The words of `expr` but the empty one.
fn without_empty_word(network: &mut Network, expr: ExprId) -> ExprId {
    if !network.is_nullable(expr) {
        return expr;
    }
    let parts: Vec<ExprId> = network
        .linear_form(expr)
        .into_iter()
        .map(|Move { symbol, next }| {
            let head = proper_symbol(network, symbol);
            network.pool.seq2(head, next)
        })
        .collect();
    network.pool.alt(&parts)
}

/// `symbol` read for at least one byte, as an expression that is not nullable. (A sequence whose first part
/// is nullable would let its second part begin, and that might begin with a member again.)
fn proper_symbol(network: &mut Network, symbol: Symbol) -> ExprId {
    let head = match symbol {
        Symbol::Terminal(terminal) => network.pool.terminal(terminal),
        Symbol::Rule(rule) => network.pool.rule(rule),
    };
    if !network.is_nullable(head) {
        return head;
    }
    let rule = RuleId::from_index(network.bodies.len());
    network.names.push("non-empty part".to_owned());
    network.bodies.push(head);
    network.rule_nullable.push(false);
    network.pool.rule(rule)
}

/// Everything reached from `start`, itself included, sorted.
fn closure<I: IntoIterator<Item = usize>>(start: usize, next: impl Fn(usize) -> I) -> Vec<usize> {
    let mut seen = FxHashSet::from_iter([start]);
    let mut work = vec![start];
    while let Some(node) = work.pop() {
        for other in next(node) {
            if seen.insert(other) {
                work.push(other);
            }
        }
    }
    let mut found: Vec<usize> = seen.into_iter().collect();
    found.sort_unstable();
    found
}

/// Tarjan's strongly connected components, callees first. Iterative.
fn strong_components(graph: &[Vec<RuleId>]) -> Vec<Vec<RuleId>> {
    const NEW: u32 = u32::MAX;
    let n = graph.len();
    let mut index = vec![NEW; n];
    let mut low = vec![0u32; n];
    let mut is_open = vec![false; n];
    let mut open = Vec::new();
    let mut components = Vec::new();
    let mut n_seen = 0;
    for root in 0..n {
        if index[root] != NEW {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some(&mut (node, ref mut position)) = path.last_mut() {
            if *position == 0 {
                index[node] = n_seen;
                low[node] = n_seen;
                n_seen += 1;
                open.push(node);
                is_open[node] = true;
            }
            if let Some(callee) = graph[node].get(*position) {
                *position += 1;
                let callee = callee.index();
                if index[callee] == NEW {
                    path.push((callee, 0));
                } else if is_open[callee] {
                    low[node] = low[node].min(index[callee]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                let position = open
                    .iter()
                    .rposition(|&other| other == node)
                    .expect("a node is open until its component is");
                let group: Vec<RuleId> = open.drain(position..).map(RuleId::from_index).collect();
                for rule in &group {
                    is_open[rule.index()] = false;
                }
                components.push(group);
            }
        }
    }
    components
}
