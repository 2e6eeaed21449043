//! The answers to questions, and the strategies that find them.
//!
//! A question has three answers. *Yes*: there is a witness, which the judge has accepted. *No*: a reader
//! whose language contains the whole language has no text that fits. *Open*: the strategies, or the work for
//! one question, ended before that.
//!
//! The strategies, in their order ([`STAGES`]). Each is tried with each reader:
//!
//! | strategy | what it does | can answer |
//! |---|---|---|
//! | exchange | puts the known tokens into the last witness | yes |
//! | all known | if nothing is unknown, the judge alone | yes, no |
//! | known beginning | a session reads the text before the first unknown place | no |
//! | places | looks for a known token that is part of no text, before each end of the text | no |
//! | near the witness | opens a few places around what has changed | yes |
//! | refute nearby | any text in the place of all but the known text around the place of the question | no |
//! | search, known text kept | best facts first; no unknown text makes known text part of a comment or string | yes |
//! | search | best facts first, where a text is likely | yes, no |
//! | shortest end | a session ends the text as early as it can after the known beginning | yes |
//! | refute | any text instead of runs of masked positions | no |
//! | whole search | the same search everywhere | yes, no |
//!
//! If the judge refuses a text of a reader, it is mended: at the place of the refusal, or before it, another
//! token is taken that a session allows, and the search is repeated from there ([`Solver::mend`]).

mod masks;
mod tidy;

use maskwright_automata::Fuel;
use maskwright_automata::meter::{self, Meter};
use maskwright_engine::MatcherStep;
use maskwright_vocabulary::{TokenId, mask_contains};

use crate::answer::infiller::Infiller;
use crate::answer::judge::{Judge, Judgement};
use crate::answer::near::Witness;
use crate::answer::question::{Place, Question};
use crate::answer::reader::Reader;
use crate::ground::InfillError;
use crate::lattice::{Effort, Lattice, Outcome, around};

/// One strategy, with about how many facts it makes.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// With so many masked positions open on each side of what is known now.
    Near(usize),
    /// The same, but known text does not become part of a comment or string.
    SearchKept(Effort),
    Search(Effort),
    Refute(usize),
    /// The shortest end of the text that a session knows.
    Finish,
    /// With any text around the known text next to the place that is asked about.
    RefuteNear,
}

const STAGES: [Stage; 8] = [
    Stage::Near(2),
    Stage::RefuteNear,
    Stage::Near(8),
    Stage::SearchKept(Effort::Likely(30_000)),
    Stage::Search(Effort::Likely(200_000)),
    Stage::Finish,
    Stage::Refute(500_000),
    Stage::Search(Effort::Whole(usize::MAX)),
];

/// How many facts are made near a witness, and how many more for each place.
const N_NEAR: usize = 10_000;
const N_NEAR_PLACE: usize = 64;

/// A question near a witness may take one part of so many of the work that the first question of a canvas may
/// take: nothing is lost if it is left open.
const QUESTION_PART: u64 = 3;

/// Of the work that is left for a question, one strategy may take one part of so many.
const STAGE_PART: u64 = 2;

/// A session that looks for the shortest end of a text may take one part of so many of the work of a first
/// question. Its units take longer than others.
const FINISH_PART: u64 = 75;

/// How often a text that the judge refuses is mended without the judge reading more of it than before.
const N_MENDED: usize = 12;

/// See the module.
#[derive(Debug)]
pub(crate) enum Answer {
    Yes(Witness),
    No,
    Open,
}

/// What asks.
#[derive(Debug)]
pub(crate) struct Solver {
    pub(crate) infiller: Infiller,
    pub(crate) judge: Judge,
    /// The tokens that are no part of a text.
    pub(crate) blanks: Vec<TokenId>,
}

impl Solver {
    pub(crate) fn new(infiller: &Infiller, blanks: Vec<TokenId>) -> Solver {
        Solver { infiller: infiller.clone(), judge: Judge::new(infiller.sessions()), blanks }
    }

    /// The answer to a question, near a witness of another one of the same places if there is one.
    ///
    /// # Errors
    /// If the judge fails other than by a limit.
    pub(crate) fn answer(
        &mut self,
        question: &Question,
        before: Option<&Witness>,
    ) -> Result<Answer, InfillError> {
        self.answer_within(question, before, self.work_of_question(before.is_some()))
    }

    /// The work of a question, which is near a witness or not.
    pub(crate) fn work_of_question(&self, is_near: bool) -> u64 {
        self.infiller.limits().work / if is_near { QUESTION_PART } else { 1 }
    }

    /// The same with so much work.
    ///
    /// # Errors
    /// If the judge fails other than by a limit.
    pub(crate) fn answer_within(
        &mut self,
        question: &Question,
        before: Option<&Witness>,
        work: u64,
    ) -> Result<Answer, InfillError> {
        // What sessions do counts as much as what is searched.
        Meter { limit: work }.run(|| self.answer_metered(question, before))
    }

    fn answer_metered(
        &mut self,
        question: &Question,
        before: Option<&Witness>,
    ) -> Result<Answer, InfillError> {
        if let Some(witness) = before
            && self.is_accepted(question, witness)? == Some(true)
        {
            let reader = &self.infiller.readers()[witness.reader];
            return Ok(Answer::Yes(witness.with_known(question, reader, self.infiller.vocabulary())));
        }
        if let Some(answer) = within_limits(self.decide_known(question))?.flatten() {
            return Ok(answer);
        }
        let prefix = question.known_prefix();
        if within_limits(self.judge.read(&prefix))?.is_some_and(|n_read| n_read < prefix.len()) {
            return Ok(Answer::No);
        }
        let infiller = self.infiller.clone();
        let vocabulary = infiller.vocabulary();
        if infiller.readers().iter().any(|reader| reader.has_all() && question.is_stopped(reader, vocabulary))
        {
            return Ok(Answer::No);
        }
        for stage in STAGES {
            for number in 0..infiller.readers().len() {
                let work = meter::left() / STAGE_PART;
                let ask = |fuel: &Fuel| self.ask(stage, number, question, before, fuel);
                match within_limits(with_fuel(work, ask))? {
                    Some(Answer::Open) | None => {}
                    Some(answer) => return Ok(answer),
                }
            }
        }
        // That nothing was found says nothing where somebody stopped the search.
        if meter::is_stopped() { Err(InfillError::Cancelled) } else { Ok(Answer::Open) }
    }

    fn ask(
        &mut self,
        stage: Stage,
        number: usize,
        question: &Question,
        before: Option<&Witness>,
        fuel: &Fuel,
    ) -> Result<Answer, InfillError> {
        let infiller = self.infiller.clone();
        let reader = &infiller.readers()[number];
        match stage {
            Stage::Near(n_near) => {
                let Some(before) = before else { return Ok(Answer::Open) };
                let vocabulary = &**infiller.vocabulary();
                let before = before.for_reader(number, infiller.readers(), &self.blanks, vocabulary);
                let Some(near) = before.near(question, n_near, (reader, vocabulary)) else {
                    return Ok(Answer::Open);
                };
                match self.search(&near, near_effort(&near), number, fuel)? {
                    // There are texts elsewhere.
                    Answer::No => Ok(Answer::Open),
                    answer => Ok(answer),
                }
            }
            Stage::SearchKept(effort) => {
                let kept = Question { keeps_text: true, ..question.clone() };
                match self.search(&kept, effort, number, fuel)? {
                    Answer::No => Ok(Answer::Open),
                    answer => Ok(answer),
                }
            }
            Stage::Search(effort) => match self.search(question, effort, number, fuel)? {
                Answer::No if !reader.has_all() => Ok(Answer::Open),
                answer => Ok(answer),
            },
            Stage::Finish if number > 0 => Ok(Answer::Open),
            Stage::Finish => {
                let limit = infiller.limits().work / FINISH_PART;
                Meter { limit }.run(|| self.finish(question))
            }
            Stage::Refute(_) | Stage::RefuteNear if !reader.has_all() => Ok(Answer::Open),
            Stage::Refute(n_facts) => {
                let mut tables = reader.tables();
                self.refuted(question, reader, |lattice| {
                    let wider = tables.widened(lattice);
                    Ok(tables.has_text(&wider, n_facts, fuel)? == Some(false))
                })
            }
            Stage::RefuteNear => {
                // A text that ends before the position says nothing about it.
                let is_passed = |&position: &usize| question.ends.first().is_some_and(|&end| end > position);
                let Some(position) = question.focus.filter(is_passed) else { return Ok(Answer::Open) };
                let mut tables = reader.tables();
                self.refuted(question, reader, |lattice| {
                    let near = around(lattice, position, [0; 2]);
                    Ok(tables.has_text(&near, N_NEAR, fuel)? == Some(false))
                })
            }
        }
    }

    /// A text that ends as early as a session can end it after the known beginning, if only masked positions
    /// follow there.
    fn finish(&mut self, question: &Question) -> Result<Answer, InfillError> {
        let prefix = question.known_prefix();
        let Some(tokens) = self.judge.finished(&prefix)? else { return Ok(Answer::Open) };
        let end = prefix.len() + tokens.len();
        let rest = question.places.get(prefix.len()..end).unwrap_or_default();
        if rest.len() < tokens.len()
            || rest.iter().any(|(place, way)| *place != Place::Masked || way.is_some())
        {
            return Ok(Answer::Open);
        }
        let known = question.places[..prefix.len()].iter().map(|(place, _)| Some(place.clone()));
        let places = known.chain(tokens.into_iter().map(|token| Some(Place::Token(token)))).collect();
        let witness = Witness { reader: 0, end, places };
        let is_accepted = self.is_accepted(question, &witness)? == Some(true);
        Ok(if is_accepted { Answer::Yes(witness) } else { Answer::Open })
    }

    /// The answer where nothing is unknown, which sessions alone give; `None` if something is.
    fn decide_known(&mut self, question: &Question) -> Result<Option<Answer>, InfillError> {
        if question.n_unknown() > 0 {
            return Ok(None);
        }
        let mut answer = Answer::No;
        for &end in &question.ends {
            let places = question.places[..end].iter().map(|(place, _)| Some(place.clone())).collect();
            let witness = Witness { reader: 0, end, places };
            match self.is_accepted(question, &witness)? {
                Some(true) => return Ok(Some(Answer::Yes(witness))),
                Some(false) => {}
                None => answer = Answer::Open,
            }
        }
        Ok(Some(answer))
    }

    /// "No" if each lattice of the question is refuted.
    fn refuted(
        &self,
        question: &Question,
        reader: &Reader,
        mut is_refuted: impl FnMut(&Lattice) -> Result<bool, InfillError>,
    ) -> Result<Answer, InfillError> {
        let (lattices, are_all) = question.lattices(reader, self.infiller.vocabulary());
        for lattice in &lattices {
            if !are_all || !is_refuted(lattice)? {
                return Ok(Answer::Open);
            }
        }
        Ok(Answer::No)
    }

    /// Looks for a text that one reader finds and the judge accepts; "no" is that of the reader.
    fn search(
        &mut self,
        question: &Question,
        effort: Effort,
        number: usize,
        fuel: &Fuel,
    ) -> Result<Answer, InfillError> {
        let mut answer = Answer::No;
        match self.propose(question, effort, number, fuel, &mut answer)? {
            Some(witness) => self.mend(question, witness, fuel),
            None => Ok(answer),
        }
    }

    /// A text that one reader finds. Where there is none, `answer` becomes open if the reader has not looked
    /// everywhere.
    fn propose(
        &mut self,
        question: &Question,
        effort: Effort,
        number: usize,
        fuel: &Fuel,
        answer: &mut Answer,
    ) -> Result<Option<Witness>, InfillError> {
        let infiller = self.infiller.clone();
        let (reader, vocabulary) = (&infiller.readers()[number], infiller.vocabulary());
        let (lattices, are_all) = question.lattices(reader, vocabulary);
        if !are_all {
            *answer = Answer::Open;
        }
        for lattice in &lattices {
            match reader.tables().search(lattice, effort, fuel)? {
                Outcome::Text { end, fillings } => {
                    return Ok(Some(Witness::new((number, vocabulary), question, lattice, end, fillings)));
                }
                Outcome::Nothing => {}
                Outcome::Unknown => *answer = Answer::Open,
            }
        }
        Ok(None)
    }

    /// The witness if the judge accepts it, or another one that has something else where the judge refuses
    /// it.
    fn mend(
        &mut self,
        question: &Question,
        mut witness: Witness,
        fuel: &Fuel,
    ) -> Result<Answer, InfillError> {
        let infiller = self.infiller.clone();
        let vocabulary = infiller.vocabulary();
        let mut tried: Vec<(Vec<MatcherStep>, TokenId)> = Vec::new();
        let (mut furthest, mut n_vain, mut is_shorter_tried) = (0, 0, false);
        while n_vain <= N_MENDED {
            let reader = &infiller.readers()[witness.reader];
            let Some(parts) = witness.parts(question, (reader, &self.blanks, vocabulary)) else { break };
            let Judgement::Refused(n_read) = self.judge.judge(&parts)? else {
                return Ok(Answer::Yes(witness));
            };
            n_vain = if n_read > furthest { 0 } else { n_vain + 1 };
            furthest = furthest.max(n_read);
            // A limit on tokens may end the text where it could also go on.
            if witness.end > n_read && !is_shorter_tried && question.ends[0] <= n_read {
                is_shorter_tried = true;
                let mut shorter = question.clone();
                shorter.ends.retain(|&end| end <= n_read);
                let effort = near_effort(&shorter);
                if let Some(other) =
                    self.propose(&shorter, effort, witness.reader, fuel, &mut Answer::Open)?
                {
                    witness = other;
                    continue;
                }
            }
            // Parts are places wherever none is left out.
            let Some(last) = parts.len().checked_sub(1).filter(|_| parts.len() == witness.end) else { break };
            let is_masked = |&at: &usize| matches!(question.places[at].0, Place::Masked);
            let mut next = None;
            for at in (0..=n_read.min(last)).rev().filter(is_masked).take(N_MENDED) {
                let before = &parts[..at];
                let mask = self.judge.mask_after(before)?;
                let was_tried = |token: TokenId| {
                    parts[at] == MatcherStep::Token(token)
                        || tried.iter().any(|(text, tried)| text == before && *tried == token)
                };
                let others = (0..vocabulary.n_vocab() as u32).map(TokenId);
                let other = others
                    .filter(|&token| mask_contains(&mask, token) && !self.blanks.contains(&token))
                    .find(|&token| !was_tried(token));
                if let Some(token) = other {
                    tried.push((before.to_vec(), token));
                    next = Some((at, token));
                    break;
                }
            }
            let Some((at, token)) = next else { break };
            let mut rest = question.clone();
            for (place, part) in rest.places.iter_mut().zip(&parts[..at]) {
                if let (Place::Masked, &MatcherStep::Token(token)) = (&place.0, part) {
                    place.0 = Place::Token(token);
                }
            }
            rest.places[at].0 = Place::Token(token);
            rest.ends.retain(|&end| end > at);
            if let Some(other) =
                self.propose(&rest, near_effort(&rest), witness.reader, fuel, &mut Answer::Open)?
            {
                witness = other;
            }
        }
        Ok(Answer::Open)
    }

    /// Whether the judge accepts the witness with what is known now in its place; `None` if a limit left that
    /// open.
    pub(crate) fn is_accepted(
        &mut self,
        question: &Question,
        witness: &Witness,
    ) -> Result<Option<bool>, InfillError> {
        let infiller = self.infiller.clone();
        let reader: &Reader = &infiller.readers()[witness.reader];
        let parts = witness.parts(question, (reader, &self.blanks, infiller.vocabulary()));
        let Some(parts) = parts else { return Ok(Some(false)) };
        let judgement = within_limits(self.judge.judge(&parts))?;
        Ok(judgement.map(|judgement| judgement == Judgement::Accepted))
    }
}

/// The facts for a question that is near a text.
fn near_effort(question: &Question) -> Effort {
    Effort::Likely(near_facts(question))
}

fn near_facts(question: &Question) -> usize {
    N_NEAR + N_NEAR_PLACE * question.places.len()
}

/// Runs `ask` with so much work at most in searches, and as much in sessions, but with no more than the
/// present call may still do.
pub(crate) fn with_fuel<T>(work: u64, ask: impl FnOnce(&Fuel) -> T) -> T {
    let limit = work.min(meter::left());
    let fuel = Fuel::new(limit);
    Meter { limit }.run(|| {
        let answer = ask(&fuel);
        meter::charge(limit - fuel.left());
        answer
    })
}

/// What a strategy says; `None` if it has reached a limit.
pub(crate) fn within_limits<T>(result: Result<T, InfillError>) -> Result<Option<T>, InfillError> {
    match result {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.is_limit() && !meter::is_stopped() => Ok(None),
        Err(error) => Err(error),
    }
}
