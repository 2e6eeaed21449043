//! Ignored text that can follow a token so that no guard of the token matters any more.
//!
//! After a token, *guards* watch that it does not continue, so there are as many boundaries as sets of
//! guards. In a piece of any text something ignored, such as a blank, can follow each token; then only the
//! guard of the blank is left. So of all boundaries in one state of the lexer, such a piece needs only the
//! one without guards, the *unguarded* boundary U.
//!
//! Theorem. Let B be a boundary, w ignored tokens, and R the hypotheses that w leads to from B. Suppose R
//! simulates U: each step from U, by any byte and with any label, R can make too, to hypotheses that again
//! simulate the target; and where the text may end after U, it may end after R. Then the texts of all paths
//! from U have their labels after B and w too. And no reading of B is lost by taking U in its place.
//!
//! Proof. The first by induction over the bytes. For the second, U and B differ in guards alone, and guards
//! only ever refute. ∎
//!
//! A blank after a blank is one token with it, so R has to be more than the boundary at the end of w: what is
//! in progress there as well.
//!
//! In the same way an ignored token need not be read at all if the place where it began simulates what
//! follows it.

use std::collections::VecDeque;

use maskwright_automata::Fuel;
use maskwright_scan::{Carry, HypothesisId, Indent};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ground::InfillError;
use crate::lexed::tables::LexedTables;
use crate::lexed::tables::memo::{Leap, Parted};
use crate::lexed::tables::scan::bytes_from;

/// How many texts are tried after a boundary.
const MAX_TRIED: usize = 8;

/// How many pairs a simulation may have.
const MAX_PAIRS: usize = 64;

impl LexedTables {
    /// The unguarded boundary that something ignored leads to from `boundary`, and a shortest such text;
    /// `None` if there is none, or none is found soon.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn parted(
        &mut self,
        boundary: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Option<Parted>, InfillError> {
        if let Some(known) = self.memo.separators.get(&boundary) {
            return Ok(known.clone());
        }
        let mut found = None;
        if let Some(target) = self.hypotheses.unguarded(boundary)? {
            let text = self.separator(boundary, target, fuel)?;
            found = text.map(|text| (target, text.into()));
        }
        self.memo.separators.insert(boundary, found.clone());
        Ok(found)
    }

    /// Whether an ignored token that leads from one boundary to another need not be read: all that comes
    /// after it can come in its place.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn is_idle(
        &mut self,
        from: HypothesisId,
        to: HypothesisId,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        if self.hypotheses.unguarded(from)?.is_none() {
            return Ok(false);
        }
        if self.hypotheses.indent(to) == Indent::None {
            return self.simulates([from].into(), to, fuel);
        }
        // Between brackets a line's end is no more than a blank.
        if self.hypotheses.indent(to) != Indent::Within {
            return Ok(false);
        }
        for (label, behind) in self.hypotheses.moves(to)? {
            if label.is_some() || !self.simulates([from].into(), behind, fuel)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn separator(
        &mut self,
        boundary: HypothesisId,
        unguarded: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Option<Vec<u8>>, InfillError> {
        let mut came_from: FxHashMap<HypothesisId, (HypothesisId, u8)> = FxHashMap::default();
        let mut queue = VecDeque::from([boundary]);
        let mut n_tried = 0;
        while let Some(at) = queue.pop_front() {
            if self.hypotheses.is_boundary(at) {
                let text = bytes_from(boundary, at, &came_from);
                let reached = self.reached(boundary, &text, fuel)?;
                if self.simulates(reached, unguarded, fuel)? {
                    return Ok(Some(text));
                }
                n_tried += 1;
                if n_tried == MAX_TRIED {
                    break;
                }
            }
            for (byte, outcome) in self.hypotheses.all_outcomes(at)? {
                fuel.spend(1)?;
                let outcome = self.outcome_counted(outcome, None)?;
                let is_ignored = self.label(outcome).is_none();
                if is_ignored && outcome.next != boundary && !came_from.contains_key(&outcome.next) {
                    came_from.insert(outcome.next, (at, byte));
                    queue.push_back(outcome.next);
                }
            }
        }
        Ok(None)
    }

    /// The hypotheses that a text leads to if all its tokens are ignored; sorted.
    fn reached(
        &mut self,
        from: HypothesisId,
        text: &[u8],
        fuel: &Fuel,
    ) -> Result<Box<[HypothesisId]>, InfillError> {
        let mut reached: Box<[HypothesisId]> = [from].into();
        for &byte in text {
            let steps = self.steps(&reached, byte, fuel)?;
            reached = steps.into_iter().filter(|(label, _)| label.is_none()).map(|(_, next)| next).collect();
        }
        Ok(reached)
    }

    /// What a byte can do to some hypotheses: what the parser gets, and the hypothesis after; sorted.
    fn steps(&mut self, from: &[HypothesisId], byte: u8, fuel: &Fuel) -> Result<Vec<Leap>, InfillError> {
        let mut steps = Vec::new();
        for &at in from {
            fuel.spend(1)?;
            let number = self.hypotheses.step(at, byte)?;
            steps.extend(
                self.hypotheses.outcomes(number).iter().map(|&outcome| (self.label(outcome), outcome.next)),
            );
        }
        steps.sort_unstable();
        steps.dedup();
        Ok(steps)
    }

    /// Whether some hypotheses together can do all that one can.
    fn simulates(
        &mut self,
        by: Box<[HypothesisId]>,
        one: HypothesisId,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        let mut pairs = FxHashSet::default();
        let mut work = vec![(by, one)];
        while let Some((by, one)) = work.pop() {
            if by.contains(&one) || !pairs.insert((by.clone(), one)) {
                continue;
            }
            if !self.hypotheses.indent(one).is_read_on() {
                return Ok(false);
            }
            let has_end = self.hypotheses.ends_here(one);
            if pairs.len() > MAX_PAIRS || has_end && !by.iter().any(|&at| self.hypotheses.ends_here(at)) {
                return Ok(false);
            }
            for byte in self.hypotheses.representatives().to_vec() {
                let steps = self.steps(&by, byte, fuel)?;
                for (label, next) in self.steps(&[one], byte, fuel)? {
                    let with_label = |step: &&Leap| step.0 == label;
                    let behind = steps.iter().filter(with_label).map(|&(_, next)| next).collect();
                    work.push((behind, next));
                }
            }
        }
        Ok(true)
    }
}
