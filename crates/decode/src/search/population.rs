//! A fixed number of texts that are sampled side by side, one forward pass for each position.

use maskwright_vocabulary::TokenId;

use super::Hypothesis;
use super::driver::{Driver, Step};
use super::row::Row;
use crate::{
    constraint::Constraint,
    error::{DecodeError, Kind},
    generate::FinishReason,
    mask::apply_mask,
    model::SequenceId,
    sampler::Sampler,
};

/// A text in progress, or one that has ended. The sequence of one in progress has read all but its last
/// token.
#[derive(Clone)]
pub(crate) struct Member<C> {
    constraint: C,
    sequence: SequenceId,
    tokens: Vec<TokenId>,
    log_likelihood: f64,
    /// Its last token among those that were tried.
    explored: Option<usize>,
    ended: Option<FinishReason>,
    /// The logarithm of what the model gave to the allowed tokens, all positions multiplied, since it was
    /// last set to 0.
    pub(crate) log_weight: f64,
}

/// All of them. Those in progress have the same length.
pub(crate) struct Population<C> {
    pub(crate) members: Vec<Member<C>>,
    n_tokens: usize,
    last_of_prompt: TokenId,
}

impl<C: Constraint + Clone> Population<C> {
    /// `n` (at least 1) copies of the empty text. The prompt is read once, but for its last token.
    pub(crate) fn new(
        driver: &mut Driver<'_>,
        constraint: &C,
        prompt_ids: &[TokenId],
        n: usize,
    ) -> Result<Self, DecodeError> {
        let (&last_of_prompt, before) = prompt_ids.split_last().ok_or(Kind::EmptyPrompt)?;
        let sequence = driver.create()?;
        driver.feed(sequence, before)?;
        let first = Member {
            constraint: constraint.clone(),
            sequence,
            tokens: Vec::new(),
            log_likelihood: 0.0,
            explored: None,
            ended: None,
            log_weight: 0.0,
        };
        let mut population = Population { members: vec![first], n_tokens: 0, last_of_prompt };
        population.replace(driver, &vec![0; n])?;
        Ok(population)
    }

    /// The length of the texts in progress.
    pub(crate) fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    /// Whether any text is in progress.
    pub(crate) fn is_open(&self) -> bool {
        self.members.iter().any(|member| member.ended.is_none())
    }

    /// Appends a sampled token to every text in progress. Weights are of the model's distribution at
    /// `temperature`, likelihoods at temperature 1.
    pub(crate) fn step(
        &mut self,
        driver: &mut Driver<'_>,
        sampler: &mut Sampler,
        temperature: f64,
    ) -> Result<(), DecodeError> {
        let mut open: Vec<&mut Member<C>> =
            self.members.iter_mut().filter(|member| member.ended.is_none()).collect();
        let inputs: Vec<(SequenceId, &[TokenId])> = open
            .iter()
            .map(|member| {
                let last = member.tokens.last().unwrap_or(&self.last_of_prompt);
                (member.sequence, std::slice::from_ref(last))
            })
            .collect();
        let rows = driver.forward(&inputs)?;
        for (member, logits) in open.iter_mut().zip(rows) {
            let n_tokens = member.tokens.len();
            let row = driver.row(&mut member.constraint, &logits, n_tokens, temperature)?;
            member.log_weight += row.log_allowed_mass();
            let mut allowed = logits.row(0).to_vec();
            let n_allowed = apply_mask(&mut allowed, driver.mask());
            let id = sampler.sample(&allowed).ok_or(Kind::NoFiniteLogit { n_tokens, n_allowed })?;
            member.log_likelihood += Row::new(logits.row(0), &[], 1.0).log_probability(id);
            member.tokens.push(id);
            let step = driver.accept(&mut member.constraint, id, n_tokens + 1)?;
            member.explored = driver.explore(member.explored, id, member.log_likelihood, step);
            if let Step::Ended(reason) = step {
                member.ended = Some(reason);
                driver.release(member.sequence);
            }
        }
        self.n_tokens += 1;
        Ok(())
    }

    /// Member i of the new population is a copy of member `sources[i]` of the old one; the others are
    /// forgotten.
    pub(crate) fn replace(&mut self, driver: &mut Driver<'_>, sources: &[usize]) -> Result<(), DecodeError> {
        let mut is_taken = vec![false; self.members.len()];
        let mut next = Vec::with_capacity(sources.len());
        for &source in sources {
            let mut member = self.members[source].clone();
            if member.ended.is_none() && std::mem::replace(&mut is_taken[source], true) {
                member.sequence = driver.fork(member.sequence)?;
            }
            next.push(member);
        }
        for (member, _) in self.members.iter().zip(is_taken).filter(|(_, is_taken)| !is_taken) {
            if member.ended.is_none() {
                driver.release(member.sequence);
            }
        }
        self.members = next;
        Ok(())
    }

    /// The texts, in order; those in progress as broken off.
    pub(crate) fn into_texts(self, driver: &Driver<'_>) -> Vec<Hypothesis> {
        let text = |member: Member<C>| {
            let reason = member.ended.unwrap_or(FinishReason::Cancelled);
            driver.hypothesis(member.tokens, reason, member.log_likelihood)
        };
        self.members.into_iter().map(text).collect()
    }

    /// The best of the whole texts by their likelihood per token.
    pub(crate) fn best(&self, driver: &Driver<'_>) -> Option<Hypothesis> {
        let whole = self.members.iter().filter_map(|member| {
            let reason = member.ended.filter(|reason| reason.is_complete())?;
            Some(driver.hypothesis(member.tokens.clone(), reason, member.log_likelihood))
        });
        whole.max_by(|left, right| left.normalized(1.0).total_cmp(&right.normalized(1.0)))
    }
}
