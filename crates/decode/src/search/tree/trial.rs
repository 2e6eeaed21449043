//! Trials: leaves that are chosen, their greedy completions in one batch, and the decision after them.

use std::ops::ControlFlow;

use maskwright_vocabulary::TokenId;

use super::node::{Content, NodeId};
use super::{Root, Run};
use crate::{
    constraint::Constraint, error::DecodeError, generate::FinishReason, model::SequenceId, search::by_key,
    search::driver::Step,
};

/// A completion on its way: the text of `node`, which begins with that of the root.
struct Trial<C> {
    node: NodeId,
    constraint: C,
    /// A fork of the root's sequence and how many tokens it has read since, from the first completion's need
    /// on.
    sequence: Option<(SequenceId, usize)>,
}

impl<C: Constraint + Clone> Run<'_, '_, C> {
    /// Searches until the text is decided; `Break` if the caller breaks off.
    pub(super) fn run(&mut self) -> Result<ControlFlow<()>, DecodeError> {
        loop {
            let mut n_left = self.config.n_trials;
            while n_left > 0 {
                let leaves = self.choose_leaves(n_left.min(self.config.n_leaves));
                n_left -= leaves.len();
                if self.complete(&leaves)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if !self.decide()? {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }

    /// At least one leaf, at most `n_most`; different ones, but for ends of texts.
    fn choose_leaves(&mut self, n_most: usize) -> Vec<NodeId> {
        let mut leaves: Vec<NodeId> = Vec::new();
        while leaves.len() < n_most {
            let leaf = self.tree.select(self.root.node, self.config.exploration);
            let is_end = matches!(self.tree.content(leaf), Content::End(_));
            if !is_end && leaves.contains(&leaf) {
                self.tree.unselect(self.root.node, leaf);
                break;
            }
            leaves.push(leaf);
        }
        leaves
    }

    /// Completes the texts of all leaves, counts their values, and expands the leaves.
    fn complete(&mut self, leaves: &[NodeId]) -> Result<ControlFlow<()>, DecodeError> {
        let mut trials = Vec::with_capacity(leaves.len());
        for &leaf in leaves {
            trials.extend(self.begin(leaf)?);
        }
        while !trials.is_empty() {
            let mut open = Vec::with_capacity(trials.len());
            for mut trial in trials {
                match self.descend(&mut trial)? {
                    None => open.push(trial),
                    Some(reason) => {
                        self.finish(trial.node, reason);
                        if let Some((sequence, _)) = trial.sequence {
                            self.driver.release(sequence);
                        }
                    }
                }
            }
            trials = open;
            self.read(&mut trials)?;
            let n_tokens = self.tree.n_tokens(self.root.node);
            if self.driver.report(self.on_progress, n_tokens, self.best.as_ref()) {
                return Ok(ControlFlow::Break(()));
            }
        }
        leaves.iter().for_each(|&leaf| self.tree.expand(leaf));
        Ok(ControlFlow::Continue(()))
    }

    /// A trial at a leaf; `None` if its text has ended, which then has been valued.
    fn begin(&mut self, leaf: NodeId) -> Result<Option<Trial<C>>, DecodeError> {
        if matches!(self.tree.content(leaf), Content::End(_)) {
            return Ok(None);
        }
        let mut constraint = self.root.constraint.clone();
        let n_before = self.tree.n_tokens(self.root.node);
        for (index, id) in self.tree.path(self.root.node, leaf).into_iter().enumerate() {
            if let Step::Ended(reason) = self.driver.accept(&mut constraint, id, n_before + index + 1)? {
                self.tree.end(leaf, reason);
                self.finish(leaf, reason);
                return Ok(None);
            }
        }
        Ok(Some(Trial { node: leaf, constraint, sequence: None }))
    }

    /// Follows the likeliest tokens as far as they are known; how the text ended, if it did.
    fn descend(&mut self, trial: &mut Trial<C>) -> Result<Option<FinishReason>, DecodeError> {
        loop {
            if let Content::End(reason) = self.tree.content(trial.node) {
                return Ok(Some(*reason));
            }
            let Some(child) = self.tree.child(trial.node, 0) else { return Ok(None) };
            let (id, n_tokens) = (self.tree.token(child), self.tree.n_tokens(child));
            if let Step::Ended(reason) = self.driver.accept(&mut trial.constraint, id, n_tokens)? {
                self.tree.end(child, reason);
            }
            trial.node = child;
        }
    }

    /// Asks the model after all trials' texts, one batch; a text that two trials have come to is asked once.
    fn read(&mut self, trials: &mut [Trial<C>]) -> Result<(), DecodeError> {
        let mut asked: Vec<NodeId> = Vec::new();
        let mut inputs: Vec<(usize, SequenceId, Vec<TokenId>)> = Vec::new();
        for (index, trial) in trials.iter_mut().enumerate() {
            if asked.contains(&trial.node) {
                continue;
            }
            asked.push(trial.node);
            let (sequence, n_read) = match trial.sequence {
                Some(known) => known,
                None => (self.driver.fork(self.root.sequence)?, 0),
            };
            let path = self.tree.path(self.root.node, trial.node);
            let text: Vec<TokenId> = std::iter::once(self.root.last_token).chain(path).collect();
            trial.sequence = Some((sequence, text.len()));
            inputs.push((index, sequence, text[n_read..].to_vec()));
        }
        let batch: Vec<(SequenceId, &[TokenId])> =
            inputs.iter().map(|(_, sequence, tokens)| (*sequence, tokens.as_slice())).collect();
        let rows = self.driver.forward(&batch)?;
        for ((index, ..), logits) in inputs.iter().zip(&rows) {
            let trial = &mut trials[*index];
            let n_tokens = self.tree.n_tokens(trial.node);
            let row = self.driver.row(&mut trial.constraint, logits, n_tokens, 1.0)?;
            self.tree.know(trial.node, &row, self.config.prior_temperature, self.config.n_children);
        }
        Ok(())
    }

    /// Values a text that has ended, and keeps it if it is the best.
    fn finish(&mut self, end: NodeId, reason: FinishReason) {
        let tokens = self.tree.path(super::Tree::ROOT, end);
        let text = self.driver.hypothesis(tokens, reason, self.tree.log_likelihood(end));
        self.tree.back_up(end, if text.is_complete() { text.mean_likelihood() } else { 0.0 });
        let key = |text: &crate::Hypothesis| text.sort_key(text.mean_likelihood());
        if self.best.as_ref().is_none_or(|best| by_key(key(&text), key(best)).is_lt()) {
            self.best = Some(text);
        }
    }

    /// Decides the next token; false if the text has ended with it.
    fn decide(&mut self) -> Result<bool, DecodeError> {
        let Some(chosen) = self.tree.decide(self.root.node) else { return Ok(false) };
        let token = self.tree.token(chosen);
        let Root { constraint, sequence, last_token, .. } = &mut self.root;
        let n_tokens = self.tree.n_tokens(chosen);
        let step = self.driver.accept(constraint, token, n_tokens)?;
        if step != Step::Open {
            return Ok(false);
        }
        self.driver.feed(*sequence, &[*last_token])?;
        *last_token = token;
        self.root.node = chosen;
        Ok(true)
    }
}
