//! Masks of one masked position, in two stages.
//!
//! First the known text next to the position refutes tokens. Then *windows* prove tokens: the position and a few
//! masked positions around it are open, and the rest is as in the witness. The proven tokens are the mask. If an
//! exact mask is wanted, the remaining tokens go to a chart of the whole lattice, up to the limit on work.
//!
//! Without a reader of the language itself (the contextual lexer, items that must differ), a session tries the tokens
//! one by one.

use maskwright_automata::Fuel;
use maskwright_engine::Taken;
use maskwright_vocabulary::{TokenId, mask_contains, mask_insert, mask_words};

use crate::InfillError;
use crate::judge::Judgement;
use crate::near::Witness;
use crate::question::Question;
use crate::reader::Relation;
use crate::solver::{Solver, within_limits};

/// How many masked positions on each side of one are open, at first and then.
const WINDOWS: [usize; 3] = [0, 2, 8];

/// How many facts of a window are made, and how many more for each place.
const N_WINDOW: usize = 10_000;
const N_WINDOW_PLACE: usize = 64;

/// The work of refusing tokens, and of each window.
pub(crate) const NEAR_WORK: u64 = 5_000_000;

/// A prime number.
const STRIDE: u64 = 7_919;

/// The most tokens that a session reads for one mask.
const N_READ: usize = 20_000;

impl Solver {
    /// The tokens that are proven for masked place `position`, packed to the model's width, and whether these are all.
    ///
    /// # Errors
    /// If the judge fails other than by a limit.
    pub(crate) fn mask(
        &mut self,
        question: &Question,
        position: usize,
        witness: Option<&Witness>,
        exact: bool,
    ) -> Result<(Vec<u32>, bool), InfillError> {
        let readers = self.infiller.readers();
        match readers.iter().position(|reader| reader.relation == Relation::Same) {
            Some(number) => self.mask_by_reader(number, question, position, witness, exact),
            None => self.mask_by_session(question, position, witness),
        }
    }

    fn mask_by_reader(
        &mut self,
        number: usize,
        question: &Question,
        position: usize,
        witness: Option<&Witness>,
        exact: bool,
    ) -> Result<(Vec<u32>, bool), InfillError> {
        let infiller = self.infiller.clone();
        let (reader, vocabulary) = (&infiller.readers()[number], infiller.vocabulary());
        let (lattices, are_all) = question.lattices(reader, vocabulary);
        let work = infiller.limits().work;
        let part = || Fuel::new(work.min(NEAR_WORK));
        // By lattice, the tokens that are neither proven nor refused.
        let mut asked: Vec<Vec<u32>> = vec![vocabulary.in_trie().to_vec(); lattices.len()];
        let mut allowed = vec![0; vocabulary.n_words()];
        for (lattice, asked) in lattices.iter().zip(&mut asked) {
            within_limits(reader.refuse_near(lattice, position, asked, (vocabulary, &part())))?;
        }
        let witness =
            witness.map(|witness| witness.for_reader(number, infiller.readers(), &self.blanks, vocabulary));
        for n_near in WINDOWS {
            let window = witness.as_ref().and_then(|witness| witness.window(question, position, n_near));
            let Some(window) = window else { break };
            let n_facts = N_WINDOW + N_WINDOW_PLACE * window.places.len();
            for lattice in window.lattices(reader, vocabulary).0 {
                let mut left = union(&asked);
                if is_empty(&left) {
                    break;
                }
                let masks = [&mut left[..], &mut allowed];
                within_limits(reader.tables().prove(&lattice, position, masks, n_facts, &part()))?;
                remove_all(&mut asked, &allowed);
            }
        }
        for (lattice, asked) in lattices.iter().zip(&mut asked) {
            if !is_empty(asked) {
                within_limits(reader.tables().refuse_few(lattice, position, asked, &part()))?;
            }
        }
        if exact {
            for (index, lattice) in lattices.iter().enumerate() {
                if !is_empty(&asked[index]) {
                    let masks = [&mut asked[index][..], &mut allowed];
                    within_limits(reader.tables().settle(lattice, position, masks, &Fuel::new(work)))?;
                    remove_all(&mut asked, &allowed);
                }
            }
        }
        let mut mask = allowed[..mask_words(vocabulary.n_vocab())].to_vec();
        if let Some(named) = &reader.named {
            named.add_tokens(vocabulary, &mut mask, |symbol| mask_contains(&allowed, symbol));
        }
        Ok((mask, are_all && is_empty(&union(&asked))))
    }

    /// The tokens that can stand in the witness's place with all others as they are; exact only where nothing else is unknown.
    fn mask_by_session(
        &mut self,
        question: &Question,
        position: usize,
        witness: Option<&Witness>,
    ) -> Result<(Vec<u32>, bool), InfillError> {
        let infiller = self.infiller.clone();
        let vocabulary = infiller.vocabulary();
        let mut proven = vec![0; mask_words(vocabulary.n_vocab())];
        let Some(witness) = witness.filter(|witness| witness.end > position) else {
            return Ok((proven, false));
        };
        let reader = &infiller.readers()[witness.reader];
        let parts = witness.parts(question, (reader, &self.blanks, vocabulary));
        let Some(parts) = parts.filter(|parts| parts.len() == witness.end) else {
            return Ok((proven, false));
        };
        let Some(candidates) = within_limits(self.judge.mask_after(&parts[..position]))? else {
            return Ok((proven, false));
        };
        let mut n_read = 0;
        let mut is_open = false;
        let mut text = parts.clone();
        // In an order that favours none, since not all may be read.
        let n_vocab = vocabulary.n_vocab() as u64;
        let stride = if n_vocab.is_multiple_of(STRIDE) { 1 } else { STRIDE };
        for token in (0..n_vocab).map(|index| TokenId((index * stride % n_vocab) as u32)) {
            if !mask_contains(&candidates, token) || self.blanks.contains(&token) {
                continue;
            }
            text[position] = Taken::Token(token);
            n_read += text.len() - position;
            let judgement = if n_read <= N_READ { within_limits(self.judge.judge(&text))? } else { None };
            match judgement {
                Some(Judgement::Accepted) => mask_insert(&mut proven, token),
                Some(Judgement::Refused(_)) => is_open |= question.n_unknown() > 1,
                None => is_open = true,
            }
        }
        Ok((proven, !is_open && question.n_unknown() == 1))
    }
}

fn is_empty(mask: &[u32]) -> bool {
    mask.iter().all(|&word| word == 0)
}

fn union(masks: &[Vec<u32>]) -> Vec<u32> {
    let mut union = vec![0; masks.first().map_or(0, Vec::len)];
    for mask in masks {
        union.iter_mut().zip(mask).for_each(|(to, from)| *to |= from);
    }
    union
}

fn remove_all(masks: &mut [Vec<u32>], removed: &[u32]) {
    for mask in masks {
        mask.iter_mut().zip(removed).for_each(|(word, removed)| *word &= !removed);
    }
}
