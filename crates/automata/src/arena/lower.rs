//! From a [`Regex`] to nodes.
//!
//! Here complement loses its reference to UTF-8: `¬r` becomes `any_text ∩ (all bytes − r)`, without the
//! `any_text` where another factor is valid text anyway. Literals and word lists of one union become one
//! sorted list. What an arena has lowered once it finds again by value: all schemas bring JSON's own
//! strings and numbers.

use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use super::{Arena, MAX_NESTING, NodeId};
use crate::residues::Access;
use crate::{AutomatonError, Fuel, Node as RegexNode, Regex, text};

/// The node of `regex`. Spends a unit of fuel per visited part; parts that were met before are visited once.
/// Pauses where the fuel is to look.
///
/// # Errors
/// If the expression is nested deeper than [`MAX_NESTING`], a limit is reached, or fuel runs out.
pub(crate) fn lower(on: &mut impl Access, regex: &Regex, fuel: &Fuel) -> Result<NodeId, AutomatonError> {
    if regex.depth() > MAX_NESTING {
        return Err(AutomatonError::limit("levels of nesting", u64::from(MAX_NESTING)));
    }
    Lowering { on, fuel, memo: FxHashMap::default() }.lower(regex)
}

/// Expressions that are larger as trees are looked up by address only: comparing two equal values with
/// shared parts takes time in the size of the tree.
const MAX_REMEMBERED: u64 = 1 << 16;

struct Lowering<'a, A> {
    on: &'a mut A,
    fuel: &'a Fuel,
    /// By the address of the shared value, which the whole expression keeps alive.
    memo: FxHashMap<usize, NodeId>,
}

impl<A: Access> Lowering<'_, A> {
    fn arena(&mut self) -> &mut Arena {
        &mut self.on.residues().arena
    }

    fn lower(&mut self, regex: &Regex) -> Result<NodeId, AutomatonError> {
        self.fuel.spend_unwatched(1)?;
        if self.fuel.is_look_due() {
            self.on.pause(Some(self.fuel))?;
        }
        match regex.node() {
            RegexNode::Empty => return Ok(super::EMPTY),
            RegexNode::Epsilon => return Ok(super::EPSILON),
            RegexNode::Bytes(set) => return self.arena().bytes(*set),
            RegexNode::Literal(_) | RegexNode::Words(_) => return self.arena().word_list(regex),
            _ => {}
        }
        if let Some(&node) = self.memo.get(&regex.address()) {
            return Ok(node);
        }
        let is_remembered = regex.size() <= MAX_REMEMBERED;
        if is_remembered && let Some(&node) = self.arena().lowered.get(regex) {
            return Ok(node);
        }
        let node = match regex.node() {
            RegexNode::Concat(parts) => {
                let mut result = super::EPSILON;
                for part in parts.iter().rev() {
                    let part = self.lower(part)?;
                    result = self.arena().concat(part, result)?;
                }
                result
            }
            RegexNode::Union(parts) => self.union(parts)?,
            RegexNode::Intersection(parts) => self.intersection(parts)?,
            RegexNode::Complement(_) => self.intersection(std::slice::from_ref(regex))?,
            RegexNode::Repeat { inner, min, max } => {
                let inner = self.lower(inner)?;
                self.arena().repeat(inner, *min, *max)?
            }
            // The leaves were answered above.
            _ => super::EMPTY,
        };
        self.memo.insert(regex.address(), node);
        if is_remembered {
            self.arena().charge(2 * size_of::<(Regex, NodeId)>() + size_of::<RegexNode>())?;
            self.arena().lowered.insert(regex.clone(), node);
        }
        Ok(node)
    }

    fn union(&mut self, parts: &[Regex]) -> Result<NodeId, AutomatonError> {
        let is_words = |part: &&Regex| matches!(part.node(), RegexNode::Literal(_) | RegexNode::Words(_));
        let join = parts.iter().filter(is_words).count() > 1;
        let mut members = Vec::with_capacity(parts.len());
        let mut words: Vec<Box<[u8]>> = Vec::new();
        for part in parts {
            match part.node() {
                RegexNode::Literal(word) if join => words.push(word.clone()),
                RegexNode::Words(list) if join => words.extend_from_slice(list),
                _ => members.push(self.lower(part)?),
            }
        }
        if join {
            self.fuel.spend_unwatched(words.len() as u64)?;
            members.push(self.lower(&Regex::words(words))?);
        }
        self.arena().union(members)
    }

    /// The parts' intersection, where a complement stands for `all bytes − inner` and `any_text` is one more
    /// part, left out if it changes nothing.
    fn intersection(&mut self, parts: &[Regex]) -> Result<NodeId, AutomatonError> {
        static ANY_TEXT: OnceLock<Regex> = OnceLock::new();
        let any_text = ANY_TEXT.get_or_init(Regex::any_text);
        let mut members = Vec::with_capacity(parts.len() + 1);
        let (mut wants_text, mut has_text) = (false, false);
        for part in parts {
            match part.node() {
                RegexNode::Complement(inner) => {
                    let inner = self.lower(inner)?;
                    members.push(self.arena().complement(inner)?);
                    wants_text = true;
                }
                _ if part == any_text => wants_text = true,
                _ => {
                    has_text = has_text || self.is_text(part)?;
                    members.push(self.lower(part)?);
                }
            }
        }
        if wants_text && !has_text {
            members.push(self.lower(any_text)?);
        }
        self.arena().intersection(members)
    }

    fn is_text(&mut self, regex: &Regex) -> Result<bool, AutomatonError> {
        if regex.size() > MAX_REMEMBERED {
            return Ok(text::is_text(regex));
        }
        if let Some(&known) = self.arena().texts.get(regex) {
            return Ok(known);
        }
        self.arena().charge(2 * size_of::<(Regex, bool)>())?;
        let is_text = text::is_text(regex);
        self.arena().texts.insert(regex.clone(), is_text);
        Ok(is_text)
    }
}
