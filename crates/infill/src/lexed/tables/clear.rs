//! The clear boundary: one node that stands for many boundaries between masked positions.
//!
//! After a token of the lexer, guards watch that the token does not continue: after a name no letter may
//! follow, after `+` no `=`. That matters little to a masked position, since for nearly every terminal the
//! vocabulary has some token that may stand there (` x` instead of `x`). The *clear boundary* stands for a
//! set of such boundaries. It has a walk (see `walks`) iff each of them has it, by any token.
//!
//! Theorem. If the walks (w₁, clear), …, (wₙ, h) form a path from the clear boundary, then from each boundary
//! that it stands for n tokens lead to h and give the parser w₁ … wₙ.
//!
//! Proof. By induction: each of its boundaries has a token for w₁ that leads to another of its boundaries. ∎
//!
//! Which boundaries it stands for is a choice: those that follow single terminals, except the ones that would
//! cost too many walks (after a line comment only a line end can follow).

use std::cmp::Reverse;
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::TerminalId;
use maskwright_scan::HypothesisId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ground::InfillError;
use crate::lexed::hypotheses::CLEAR;
use crate::lexed::tables::LexedTables;
use crate::lexed::tables::memo::{Clear, Walk};

/// The most boundaries that it stands for.
const MAX_MEMBERS: usize = 64;

impl LexedTables {
    /// The clear boundary of this grammar and vocabulary.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn clear(&mut self, fuel: &Fuel) -> Result<Arc<Clear>, InfillError> {
        if let Some(known) = &self.memo.clear {
            return Ok(known.clone());
        }
        let start = self.hypotheses.start;
        let from_start = self.all_walks(start, fuel)?;
        let base = usual(&from_start, self)?;
        let mut members = vec![base];
        let mut walks: Vec<Vec<Walk>> = Vec::new();
        while let Some(&member) = members.get(walks.len()) {
            let all = match member {
                _ if member == start => from_start.clone(),
                _ => self.all_walks(member, fuel)?,
            };
            for target in preferred(&all, base, &members, self)? {
                if members.len() < MAX_MEMBERS && !members.contains(&target) {
                    members.push(target);
                }
            }
            walks.push(all);
        }
        drop_narrow(&mut members, &mut walks);
        let walks = common(&members, &walks);
        members.sort_unstable();
        let ends_here = members.iter().all(|&member| self.hypotheses.ends_here(member));
        let clear = Arc::new(Clear { members, ends_here, walks });
        self.memo.clear = Some(clear.clone());
        Ok(clear)
    }
}

/// The boundary without guards in whose state of the lexer most terminals leave it. That of the start is
/// another one if something looks back there.
fn usual(from_start: &[Walk], tables: &mut LexedTables) -> Result<HypothesisId, InfillError> {
    let mut terminals: FxHashMap<HypothesisId, FxHashSet<TerminalId>> = FxHashMap::default();
    for (labels, to) in from_start {
        if let [label] = labels[..]
            && let Some(unguarded) = tables.hypotheses.unguarded(*to)?
        {
            terminals.entry(unguarded).or_default().insert(label);
        }
    }
    let usual = terminals.into_iter().map(|(boundary, labels)| (labels.len(), Reverse(boundary))).max();
    Ok(usual.map_or(tables.hypotheses.start, |(_, Reverse(boundary))| boundary))
}

/// By terminal that a token can be as a whole, the best boundary after it with the same state of the lexer as
/// `base`: a member, or one with few guards.
fn preferred(
    walks: &[Walk],
    base: HypothesisId,
    members: &[HypothesisId],
    tables: &mut LexedTables,
) -> Result<Vec<HypothesisId>, InfillError> {
    let mut best: FxHashMap<TerminalId, (bool, usize, HypothesisId)> = FxHashMap::default();
    for (labels, to) in walks {
        if let [label] = labels[..]
            && tables.hypotheses.unguarded(*to)? == Some(base)
        {
            let rank = (!members.contains(to), tables.hypotheses.get(*to).guards.len(), *to);
            best.entry(label).and_modify(|best| *best = rank.min(*best)).or_insert(rank);
        }
    }
    let mut targets: Vec<_> = best.into_values().map(|(_, _, to)| to).collect();
    targets.sort_unstable();
    targets.dedup();
    Ok(targets)
}

/// Leaves out the members from which far fewer terminals lead to members than from the first.
fn drop_narrow(members: &mut Vec<HypothesisId>, walks: &mut Vec<Vec<Walk>>) {
    loop {
        let is_member: FxHashSet<HypothesisId> = members.iter().copied().collect();
        let n_terminals = |walks: &[Walk]| {
            let singles = walks.iter().filter(|(labels, to)| labels.len() == 1 && is_member.contains(to));
            singles.map(|(labels, _)| labels[0]).collect::<FxHashSet<_>>().len()
        };
        let enough = n_terminals(&walks[0]) * 3 / 4;
        let is_wide: Vec<bool> = walks
            .iter()
            .enumerate()
            .map(|(index, walks)| index == 0 || n_terminals(walks) >= enough)
            .collect();
        if is_wide.iter().all(|&is_wide| is_wide) {
            return;
        }
        let mut kept = is_wide.iter();
        members.retain(|_| kept.next().is_some_and(|&kept| kept));
        let mut kept = is_wide.iter();
        walks.retain(|_| kept.next().is_some_and(|&kept| kept));
    }
}

/// The walks that all members have, those to members as walks to the clear boundary too.
fn common(members: &[HypothesisId], walks: &[Vec<Walk>]) -> Vec<Walk> {
    let is_member: FxHashSet<HypothesisId> = members.iter().copied().collect();
    let mut common: Option<FxHashSet<Walk>> = None;
    for walks in walks {
        let mut all: FxHashSet<Walk> = walks.iter().cloned().collect();
        let to_members = walks.iter().filter(|(_, to)| is_member.contains(to));
        all.extend(to_members.map(|(labels, _)| (labels.clone(), CLEAR)));
        match &mut common {
            None => common = Some(all),
            Some(common) => common.retain(|walk| all.contains(walk)),
        }
    }
    let mut common: Vec<Walk> = common.unwrap_or_default().into_iter().collect();
    common.sort_unstable();
    common
}
