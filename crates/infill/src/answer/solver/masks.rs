//! Masks of one masked position, in two stages.
//!
//! First the known text next to the position refutes tokens. Then *windows* prove tokens: the position and a
//! few masked positions around it are open, and the rest is as in the witness. The proven tokens are the
//! mask. If an exact mask is wanted, there is a question for each remaining token if these are few. If some
//! are still open, a chart of the whole lattice decides them, up to the limit on work.
//!
//! Without a reader of the language itself (the contextual lexer, items or keys that must differ), a session
//! tries the tokens in the witness's place, and there is no chart.

use maskwright_automata::Fuel;
use maskwright_automata::meter::{self, Meter};
use maskwright_engine::MatcherStep;
use maskwright_vocabulary::{TokenId, mask_contains, mask_insert, mask_remove, mask_words};

use crate::answer::judge::Judgement;
use crate::answer::near::Witness;
use crate::answer::question::{Place, Question};
use crate::answer::reader::{Reader, Relation};
use crate::answer::solver::{Answer, Solver, near_facts, with_fuel, within_limits};
use crate::ground::InfillError;
use crate::lattice::Lattice;

/// How many masked positions on each side of one are open, at first and then.
const WINDOWS: [usize; 3] = [0, 2, 8];

/// Refusing tokens, and each window, may take one part of so many of the work of a first question.
const NEAR_PART: u64 = 30;

/// A prime number.
const STRIDE: u64 = 7_919;

/// The most tokens that a session reads for one mask.
const N_READ: usize = 20_000;

/// The most tokens that are asked about for an exact mask.
const MAX_ASKED: u64 = 4_000;

/// What is known of the tokens of a position, packed to the model's width.
struct Found {
    proven: Vec<u32>,
    /// Neither proven nor refused.
    left: Vec<u32>,
}

impl Solver {
    /// The tokens that are proven for masked place `position`, packed to the model's width, and whether these
    /// are all.
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
        let limit = self.infiller.limits().work;
        Meter { limit }.run(|| self.mask_metered(question, position, witness, exact))
    }

    /// The work of refusing tokens, and of each window.
    pub(crate) fn near_work(&self) -> u64 {
        self.infiller.limits().work / NEAR_PART
    }

    fn mask_metered(
        &mut self,
        question: &Question,
        position: usize,
        witness: Option<&Witness>,
        exact: bool,
    ) -> Result<(Vec<u32>, bool), InfillError> {
        let readers = self.infiller.readers();
        let same = readers.iter().position(|reader| reader.relation == Relation::Same);
        let mut found = match same {
            Some(number) => self.mask_by_reader(number, question, position, witness)?,
            None => self.mask_by_session(question, position, witness)?,
        };
        for &blank in &self.blanks {
            mask_remove(&mut found.left, blank);
        }
        if exact && !is_empty(&found.left) {
            self.ask_each(question, position, witness, &mut found)?;
        }
        if let Some(number) = same
            && exact
            && !is_empty(&found.left)
        {
            self.settle(number, question, position, &mut found)?;
        }
        if meter::is_stopped() {
            return Err(InfillError::Cancelled);
        }
        Ok((found.proven, is_empty(&found.left)))
    }

    fn mask_by_reader(
        &mut self,
        number: usize,
        question: &Question,
        position: usize,
        witness: Option<&Witness>,
    ) -> Result<Found, InfillError> {
        let infiller = self.infiller.clone();
        let (reader, vocabulary) = (&infiller.readers()[number], infiller.vocabulary());
        let (lattices, are_all) = question.lattices(reader, vocabulary);
        // By lattice, the tokens that are neither proven nor refused.
        let mut asked = self.not_refused_near(reader, &lattices, position)?;
        let mut allowed = vec![0; vocabulary.n_words()];
        let witness =
            witness.map(|witness| witness.for_reader(number, infiller.readers(), &self.blanks, vocabulary));
        for n_near in WINDOWS {
            let window = witness.as_ref().and_then(|witness| witness.window(question, position, n_near));
            let Some(window) = window else { break };
            let n_facts = near_facts(&window);
            for lattice in window.lattices(reader, vocabulary).0 {
                let mut left = union(&asked);
                if is_empty(&left) {
                    break;
                }
                let masks = [&mut left[..], &mut allowed];
                let prove = |fuel: &Fuel| reader.tables().prove(&lattice, position, masks, n_facts, fuel);
                within_limits(with_fuel(self.near_work(), prove))?;
                asked.iter_mut().for_each(|asked| remove(asked, &allowed));
            }
        }
        for (lattice, asked) in lattices.iter().zip(&mut asked) {
            if !is_empty(asked) {
                let refuse = |fuel: &Fuel| reader.tables().refuse_few(lattice, position, asked, fuel);
                within_limits(with_fuel(self.near_work(), refuse))?;
            }
        }
        let left = if are_all { union(&asked) } else { vocabulary.in_trie().to_vec() };
        let proven = self.in_vocabulary(reader, &allowed);
        let mut left = self.in_vocabulary(reader, &left);
        remove(&mut left, &proven);
        Ok(Found { proven, left })
    }

    /// Makes a chart of each whole lattice to decide the tokens that are left, up to the limit on work.
    fn settle(
        &mut self,
        number: usize,
        question: &Question,
        position: usize,
        found: &mut Found,
    ) -> Result<(), InfillError> {
        let infiller = self.infiller.clone();
        let (reader, vocabulary) = (&infiller.readers()[number], infiller.vocabulary());
        let (lattices, are_all) = question.lattices(reader, vocabulary);
        let mut is_settled = are_all;
        let mut allowed = vec![0; vocabulary.n_words()];
        for lattice in &lattices {
            let mut asked = vocabulary.in_trie().to_vec();
            // Symbols, which come after the vocabulary, stay.
            asked.iter_mut().zip(&found.left).for_each(|(asked, left)| *asked &= left);
            let masks = [&mut asked[..], &mut allowed];
            let settle = |fuel: &Fuel| reader.tables().settle(lattice, position, masks, fuel);
            is_settled &= within_limits(with_fuel(u64::MAX, settle))?.is_some();
        }
        let allowed = self.in_vocabulary(reader, &allowed);
        found.proven.iter_mut().zip(&allowed).for_each(|(proven, allowed)| *proven |= allowed);
        if is_settled {
            found.left.fill(0);
        } else {
            remove(&mut found.left, &allowed);
        }
        Ok(())
    }

    /// Asks about each token that is left, if they are few.
    fn ask_each(
        &mut self,
        question: &Question,
        position: usize,
        witness: Option<&Witness>,
        found: &mut Found,
    ) -> Result<(), InfillError> {
        let n_left: u64 = found.left.iter().map(|word| u64::from(word.count_ones())).sum();
        if n_left > MAX_ASKED {
            return Ok(());
        }
        let work = meter::left() / n_left;
        for token in (0..self.infiller.vocabulary().n_vocab() as u32).map(TokenId) {
            if !mask_contains(&found.left, token) {
                continue;
            }
            let mut asked = question.clone();
            asked.places[position].0 = Place::Token(token);
            asked.ends.retain(|&end| end > position);
            let answer = self.answer_within(&asked, witness, work)?;
            if let Answer::Yes(_) = answer {
                mask_insert(&mut found.proven, token);
            }
            if !matches!(answer, Answer::Open) {
                mask_remove(&mut found.left, token);
            }
        }
        Ok(())
    }

    /// The tokens that can stand in the witness's place with all others as they are. The readers of more than
    /// the language say which cannot.
    fn mask_by_session(
        &mut self,
        question: &Question,
        position: usize,
        witness: Option<&Witness>,
    ) -> Result<Found, InfillError> {
        let infiller = self.infiller.clone();
        let vocabulary = infiller.vocabulary();
        let proven = vec![0; mask_words(vocabulary.n_vocab())];
        let mut found = Found { proven, left: self.left_by_readers(question, position)? };
        let Some(witness) = witness.filter(|witness| witness.end > position) else { return Ok(found) };
        let reader = &infiller.readers()[witness.reader];
        let parts = witness.parts(question, (reader, &self.blanks, vocabulary));
        let Some(parts) = parts.filter(|parts| parts.len() == witness.end) else { return Ok(found) };
        let Some(candidates) = within_limits(self.judge.mask_after(&parts[..position]))? else {
            return Ok(found);
        };
        let is_alone = question.n_unknown() == 1;
        if is_alone {
            found.left.iter_mut().zip(&candidates).for_each(|(left, candidates)| *left &= candidates);
        }
        let mut n_read = 0;
        let mut text = parts.clone();
        // In an order that favours none, since not all may be read.
        let n_vocab = vocabulary.n_vocab() as u64;
        let stride = if n_vocab.is_multiple_of(STRIDE) { 1 } else { STRIDE };
        for token in (0..n_vocab).map(|index| TokenId((index * stride % n_vocab) as u32)) {
            let is_candidate = mask_contains(&candidates, token) && mask_contains(&found.left, token);
            if !is_candidate || self.blanks.contains(&token) {
                continue;
            }
            text[position] = MatcherStep::Token(token);
            n_read += text.len() - position;
            let judgement = if n_read <= N_READ { within_limits(self.judge.judge(&text))? } else { None };
            match judgement {
                Some(Judgement::Accepted) => {
                    mask_insert(&mut found.proven, token);
                    mask_remove(&mut found.left, token);
                }
                Some(Judgement::Refused(_)) if is_alone => mask_remove(&mut found.left, token),
                Some(Judgement::Refused(_)) | None => {}
            }
        }
        Ok(found)
    }

    /// The tokens that no reader refuses by the known text next to the position.
    fn left_by_readers(&mut self, question: &Question, position: usize) -> Result<Vec<u32>, InfillError> {
        let infiller = self.infiller.clone();
        let vocabulary = infiller.vocabulary();
        let mut left = vec![0; mask_words(vocabulary.n_vocab())];
        (0..vocabulary.n_vocab() as u32).for_each(|token| mask_insert(&mut left, TokenId(token)));
        for reader in infiller.readers().iter().filter(|reader| reader.has_all()) {
            let (lattices, are_all) = question.lattices(reader, vocabulary);
            if !are_all {
                continue;
            }
            let asked = self.not_refused_near(reader, &lattices, position)?;
            let asked = self.in_vocabulary(reader, &union(&asked));
            left.iter_mut().zip(&asked).for_each(|(left, asked)| *left &= asked);
        }
        Ok(left)
    }

    /// By lattice, the tokens and symbols that the known text next to the position does not refuse.
    fn not_refused_near(
        &self,
        reader: &Reader,
        lattices: &[Lattice],
        position: usize,
    ) -> Result<Vec<Vec<u32>>, InfillError> {
        let vocabulary = self.infiller.vocabulary();
        let mut asked = vec![vocabulary.in_trie().to_vec(); lattices.len()];
        for (lattice, asked) in lattices.iter().zip(&mut asked) {
            let refuse = |fuel: &Fuel| reader.refuse_near(lattice, position, asked, (vocabulary, fuel));
            within_limits(with_fuel(self.near_work(), refuse))?;
        }
        Ok(asked)
    }

    /// The tokens of the vocabulary among a reader's tokens and symbols.
    fn in_vocabulary(&self, reader: &Reader, set: &[u32]) -> Vec<u32> {
        let vocabulary = self.infiller.vocabulary();
        let mut tokens = set[..mask_words(vocabulary.n_vocab())].to_vec();
        if let Some(named) = &reader.named {
            named.add_tokens(vocabulary, &mut tokens, |symbol| mask_contains(set, symbol));
        }
        tokens
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

fn remove(mask: &mut [u32], removed: &[u32]) {
    mask.iter_mut().zip(removed).for_each(|(word, removed)| *word &= !removed);
}
