//! What a grammar's rules do to blocks and brackets: whether each closes what it opens, and whether it is
//! part of one line.

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, Layout, Network, RuleId, Symbol, TerminalId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ground::InfillError;

/// What a rule has opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opened {
    Block,
    Brackets,
}

fn unpaired(rule: &str) -> InfillError {
    InfillError::grammar(format!(
        "rule `{rule}` opens a block or a bracket that it does not close, or closes one that it has not opened: for \
         infilling, a rule must have both (`_INDENT stmt+ _DEDENT`, `\"(\" args \")\"`)"
    ))
}

/// Whether each rule closes the blocks and brackets that it opens, and no others.
///
/// # Errors
/// If one does not, or a limit is reached.
pub(crate) fn check_pairs(network: &mut Network, layout: &Layout, fuel: &Fuel) -> Result<(), InfillError> {
    for rule in 0..network.n_rules() {
        let rule = RuleId::from_index(rule);
        let body = network.body(rule);
        let mut opened: FxHashMap<ExprId, Vec<Opened>> = FxHashMap::from_iter([(body, Vec::new())]);
        let mut stack = vec![body];
        while let Some(state) = stack.pop() {
            let before = opened[&state].clone();
            let moves = network.moves(state);
            // What is open is kept by state.
            let n_kept = (before.len() as u64 / 8 + 1) * (moves.len() as u64 + 1);
            fuel.spend(n_kept)?;
            if network.is_nullable(state) && !before.is_empty() {
                return Err(unpaired(network.name(rule)));
            }
            for index in moves {
                let step = network.move_at(index);
                let behind = match step.symbol {
                    Symbol::Terminal(terminal) => opened_behind(&before, terminal, layout),
                    Symbol::Rule(_) => Some(before.clone()),
                };
                let known = opened.get(&step.next);
                let Some(behind) = behind.filter(|behind| known.is_none_or(|known| known == behind)) else {
                    return Err(unpaired(network.name(rule)));
                };
                if known.is_none() {
                    opened.insert(step.next, behind);
                    stack.push(step.next);
                }
            }
        }
    }
    Ok(())
}

/// By rule, whether it is part of one line outside of brackets: if it reads the end of a line, then last of
/// all.
///
/// # Errors
/// If a limit is reached.
pub(crate) fn rules_in_line(
    network: &mut Network,
    layout: &Layout,
    fuel: &Fuel,
) -> Result<Vec<bool>, InfillError> {
    let n_rules = network.n_rules();
    let mut lines = vec![Lines::Within; n_rules];
    // By rule, the rules that call it, and whether they read on after the call.
    let mut callers = vec![Vec::new(); n_rules];
    for rule in (0..n_rules).map(RuleId::from_index) {
        let body = network.body(rule);
        let mut known = FxHashSet::from_iter([body]);
        let mut stack = vec![body];
        while let Some(state) = stack.pop() {
            let moves = network.moves(state);
            fuel.spend(1 + moves.len() as u64)?;
            for index in moves {
                let step = network.move_at(index);
                let reads_on = !network.moves(step.next).is_empty();
                let read = match step.symbol {
                    Symbol::Rule(callee) => {
                        callers[callee.index()].push((rule, reads_on));
                        Lines::Within
                    }
                    Symbol::Terminal(terminal) if terminal == layout.newline => {
                        Lines::UpToEnd.followed(reads_on)
                    }
                    Symbol::Terminal(terminal) if [layout.indent, layout.dedent].contains(&terminal) => {
                        Lines::Several
                    }
                    Symbol::Terminal(_) => Lines::Within,
                };
                lines[rule.index()] = lines[rule.index()].max(read);
                if known.insert(step.next) {
                    stack.push(step.next);
                }
            }
        }
    }
    let mut changed: Vec<usize> = (0..n_rules).collect();
    while let Some(rule) = changed.pop() {
        for &(caller, reads_on) in &callers[rule] {
            let read = lines[rule].followed(reads_on);
            if lines[caller.index()] < read {
                lines[caller.index()] = read;
                changed.push(caller.index());
            }
        }
    }
    Ok(lines.into_iter().map(|lines| lines < Lines::Several).collect())
}

/// How much of a text a rule reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Lines {
    /// Part of a line.
    Within,
    /// The end of a line too, last of all.
    UpToEnd,
    /// More, or blocks.
    Several,
}

impl Lines {
    /// What this and something after it are, if that is read.
    fn followed(self, is_followed: bool) -> Lines {
        match self {
            Lines::UpToEnd if is_followed => Lines::Several,
            lines => lines,
        }
    }
}

fn opened_behind(before: &[Opened], terminal: TerminalId, layout: &Layout) -> Option<Vec<Opened>> {
    let mut behind = before.to_vec();
    if terminal == layout.indent {
        behind.push(Opened::Block);
    } else if layout.open.contains(&terminal) {
        behind.push(Opened::Brackets);
    } else if terminal == layout.dedent {
        behind.pop_if(|opened| *opened == Opened::Block)?;
    } else if layout.close.contains(&terminal) {
        behind.pop_if(|opened| *opened == Opened::Brackets)?;
    }
    Some(behind)
}
