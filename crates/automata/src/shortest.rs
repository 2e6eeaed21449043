//! The shortest, then lexicographically least, word of a residue.
//!
//! Outside intersections and complements it is compositional: all shortest words of `a·b` split at the same
//! place, so the least of them is the least of `a` and then the least of `b`, and a repeat has its least
//! number of copies. So the word of a `minLength` of a million takes time in its own length. Below an
//! intersection or complement, an A* search over derivatives (the minimal lengths that nodes carry are lower
//! bounds) finds the length, and a depth-first walk in byte order within that length finds the least word,
//! remembering from which residues too short a rest failed. The lengths of the residues along a word are
//! kept, and a later search ends when it reaches one of them. So finding the words of many residues of one
//! expression takes little more time than finding one.
//!
//! Rejected: breadth-first search over states (quadratic in counts).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::AutomatonError;
use crate::arena::{EMPTY, Node, NodeId};
use crate::classes::Classes;
use crate::liveness::SearchFuel;
use crate::meter;
use crate::residues::Access;

/// The most lengths that are kept.
const MAX_KEPT: usize = 1 << 20;

/// The shortest words found so far; `None` for a language without words.
type Memo = FxHashMap<NodeId, Option<Rc<[u8]>>>;

/// The shortest, then least, word of `node`; `None` if there is none.
///
/// # Errors
/// If the search visits more nodes than the limit, or the word is longer.
pub(crate) fn shortest_word(on: &mut impl Access, node: NodeId) -> Result<Option<Vec<u8>>, AutomatonError> {
    let mut fuel = SearchFuel::new(on.residues().liveness_fuel());
    Ok(shortest(on, node, &mut fuel, &mut Memo::default())?.map(|word| word.to_vec()))
}

fn shortest(
    on: &mut impl Access,
    node: NodeId,
    fuel: &mut SearchFuel,
    memo: &mut Memo,
) -> Result<Option<Rc<[u8]>>, AutomatonError> {
    fuel.spend(1)?;
    if node == EMPTY {
        return Ok(None);
    }
    if on.residues().arena.is_nullable(node) {
        return Ok(Some(Rc::default()));
    }
    if let Some(known) = memo.get(&node) {
        return Ok(known.clone());
    }
    let word: Option<Rc<[u8]>> = match on.residues().arena.node(node).clone() {
        Node::Empty | Node::Epsilon => None,
        Node::Bytes(set) => on.residues().arena.set(set).first().map(|byte| Rc::from([byte])),
        Node::Words { list, low, high, depth } => {
            fuel.spend(u64::from(high - low))?;
            let words = &on.residues().arena.lists()[list as usize];
            let rests = (low..high).map(|i| &words.word(i)[depth as usize..]);
            rests.min_by_key(|rest| rest.len()).map(Rc::from)
        }
        Node::Cons(..) => shortest_sequence(on, node, fuel, memo)?,
        Node::Union(list) => {
            let mut members = list.to_vec();
            members.sort_by_key(|&member| on.residues().arena.entry(member).min_length);
            let mut best: Option<Rc<[u8]>> = None;
            for member in members {
                let bound = on.residues().arena.entry(member).min_length;
                if best.as_ref().is_some_and(|best| (best.len() as u64) < bound) {
                    break;
                }
                if let Some(word) = shortest(on, member, fuel, memo)?
                    && best.as_ref().is_none_or(|best| (word.len(), &word) < (best.len(), best))
                {
                    best = Some(word);
                }
            }
            best
        }
        Node::Repeat { inner, min, .. } => match shortest(on, inner, fuel, memo)? {
            Some(word) => {
                fuel.spend((word.len() as u64).saturating_mul(u64::from(min)))?;
                Some(word.repeat(min as usize).into())
            }
            None => None,
        },
        Node::Intersection(_) | Node::Complement(_) => searched(on, node, fuel, memo)?,
    };
    if let Some(word) = &word {
        fuel.spend(word.len() as u64)?;
    }
    memo.insert(node, word.clone());
    Ok(word)
}

fn shortest_sequence(
    on: &mut impl Access,
    node: NodeId,
    fuel: &mut SearchFuel,
    memo: &mut Memo,
) -> Result<Option<Rc<[u8]>>, AutomatonError> {
    let mut word = Vec::new();
    let mut rest = node;
    loop {
        let (part, tail) = match *on.residues().arena.node(rest) {
            Node::Cons(head, tail) => (head, Some(tail)),
            _ => (rest, None),
        };
        match shortest(on, part, fuel, memo)? {
            Some(part) => word.extend_from_slice(&part),
            None => return Ok(None),
        }
        match tail {
            Some(tail) => rest = tail,
            None => return Ok(Some(word.into())),
        }
    }
}

/// Units of work that a byte of a word takes beside its derivative.
const UNITS_PER_STEP: u64 = 8;

/// The word of an intersection or complement.
fn searched(
    on: &mut impl Access,
    root: NodeId,
    fuel: &mut SearchFuel,
    memo: &mut Memo,
) -> Result<Option<Rc<[u8]>>, AutomatonError> {
    let Some(length) = shortest_length(on, root, fuel)? else { return Ok(None) };
    // The greatest rest with which each residue failed.
    let mut failed: FxHashMap<NodeId, u64> = FxHashMap::default();
    let mut word: Vec<u8> = Vec::new();
    // The residues along `word`, and the next class to try from each.
    let mut path: Vec<(NodeId, u16)> = vec![(root, 0)];
    let mut known_classes: FxHashMap<NodeId, Arc<Classes>> = FxHashMap::default();
    while let Some(&mut (node, ref mut next_class)) = path.last_mut() {
        let left = length - word.len() as u64;
        let entry = on.residues().arena.entry(node);
        if entry.nullable || !entry.extended {
            // Its minimal length is exact, and was compared with what is left.
            let rest = shortest(on, node, fuel, memo)?;
            let residues = on.residues();
            if residues.shortest.len() < MAX_KEPT {
                let known = path.iter().zip((0..=length).rev());
                residues.shortest.extend(known.map(|(&(node, _), left)| (node, left)));
            }
            return Ok(rest.map(|rest| [&*word, &*rest].concat().into()));
        }
        let cost = u64::from(entry.cost);
        let classes = match known_classes.get(&node) {
            Some(known) => known.clone(),
            None => known_classes.entry(node).or_insert(on.residues().arena.classes(node)?).clone(),
        };
        let class = *next_class;
        if left == 0 || usize::from(class) >= classes.len() {
            let known = failed.entry(node).or_insert(0);
            *known = (*known).max(left);
            path.pop();
            word.pop();
            continue;
        }
        *next_class += 1;
        let byte = classes.representative(class as u8);
        meter::charge(UNITS_PER_STEP);
        fuel.spend(cost)?;
        if fuel.ends_slice() {
            on.pause(None)?;
        }
        let next = on.residues().arena.derivative(node, byte)?;
        let has_failed = failed.get(&next).is_some_and(|&known| known >= left - 1);
        if next != EMPTY && on.residues().least_length(next) < left && !has_failed {
            word.push(byte);
            path.push((next, 0));
        }
    }
    Ok(None)
}

/// The length of the shortest word; `None` if there is none.
fn shortest_length(
    on: &mut impl Access,
    root: NodeId,
    fuel: &mut SearchFuel,
) -> Result<Option<u64>, AutomatonError> {
    let mut distances: FxHashMap<NodeId, u64> = FxHashMap::default();
    let mut queue = BinaryHeap::new();
    distances.insert(root, 0);
    queue.push(Reverse((on.residues().least_length(root), 0, root)));
    while let Some(Reverse((estimate, distance, node))) = queue.pop() {
        let residues = on.residues();
        let entry = residues.arena.entry(node);
        if entry.nullable || !entry.extended || residues.shortest.contains_key(&node) {
            return Ok(Some(estimate));
        }
        if distances.get(&node).is_some_and(|&known| known < distance) {
            continue;
        }
        let cost = u64::from(entry.cost);
        let classes = on.residues().arena.classes(node)?;
        meter::charge(UNITS_PER_STEP / 4 * classes.len() as u64);
        for class in classes.iter() {
            fuel.spend(cost)?;
            if fuel.ends_slice() {
                on.pause(None)?;
            }
            let next = on.residues().arena.derivative(node, classes.representative(class))?;
            if next == EMPTY {
                continue;
            }
            let known = distances.entry(next).or_insert(u64::MAX);
            if distance + 1 < *known {
                *known = distance + 1;
                let estimate = on.residues().least_length(next).saturating_add(distance + 1);
                queue.push(Reverse((estimate, distance + 1, next)));
            }
        }
    }
    Ok(None)
}
