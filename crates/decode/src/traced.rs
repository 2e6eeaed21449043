//! What happened in a generation or a search, as the steps and branches of a
//! [`Trace`](maskwright_trace::Trace).

use maskwright_engine::{Error, Matcher, TextRegion};
use maskwright_trace::{Branch, Outcome, Region, Step};
use maskwright_vocabulary::{TokenId, Tokenizer};

use crate::candidates::{Candidate, Candidates};
use crate::search::{ExploredToken, SearchOutcome};

/// A step before its token is known: what the model wanted, and why some of it is refused.
///
/// `matcher` is the session before the token; without one there is no place and no reason. Without a
/// `tokenizer` tokens are shown by their ids.
///
/// # Errors
/// If the session reaches a limit.
pub fn asked_step(
    candidates: Option<&Candidates>,
    matcher: Option<&Matcher>,
    tokenizer: Option<&Tokenizer>,
) -> Result<Step, Error> {
    let shown = |&candidate: &Candidate| -> Result<maskwright_trace::Candidate, Error> {
        let Candidate { id, probability, is_allowed } = candidate;
        let why = matcher.filter(|_| !is_allowed).map(|matcher| matcher.why_refused(id)).transpose()?;
        let text = tokenizer.map_or_else(Vec::new, |tokenizer| bytes_of(id, tokenizer));
        let (name, why) = (name_of(id, tokenizer), why.flatten());
        Ok(maskwright_trace::Candidate { token: id.0, text, name, probability, is_allowed, why })
    };
    let shown = |candidates: &[Candidate]| candidates.iter().map(shown).collect::<Result<Vec<_>, Error>>();
    let n_allowed = candidates.map(|candidates| candidates.n_allowed as u64);
    let left = |matcher: &Matcher| Some(matcher.max_tokens()?.saturating_sub(matcher.n_tokens()) as u64);
    Ok(Step {
        is_forced: n_allowed == Some(1),
        allowed_mass: candidates.map(|candidates| candidates.allowed_mass),
        n_allowed,
        wanted: candidates.map_or(Ok(Vec::new()), |candidates| shown(&candidates.wanted))?,
        allowed: candidates.map_or(Ok(Vec::new()), |candidates| shown(&candidates.allowed))?,
        path: matcher.map(Matcher::state).transpose()?.and_then(|state| state.place()),
        tokens_left: matcher.and_then(left),
        ..Step::default()
    })
}

/// The step with the token that was chosen.
///
/// # Examples
/// ```
/// use maskwright_decode::{Candidates, asked_step, chosen_step};
/// use maskwright_vocabulary::{TokenId, Tokenizer};
/// let tokens = ["yes", "no"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[]).unwrap();
/// let candidates = Candidates::of(&[0.0, 1.0], &[0b01], 5);
/// let step = asked_step(Some(&candidates), None, Some(&tokenizer)).unwrap();
/// let step = chosen_step(step, TokenId(0), false, Some(&tokenizer));
/// assert_eq!((step.text, step.is_forced, &step.wanted[0].text[..]), (b"yes".to_vec(), true, &b"no"[..]));
/// ```
#[must_use]
pub fn chosen_step(step: Step, id: TokenId, is_end: bool, tokenizer: Option<&Tokenizer>) -> Step {
    let bytes = tokenizer.filter(|_| !is_end).map_or_else(Vec::new, |tokenizer| bytes_of(id, tokenizer));
    Step {
        token: id.0,
        name: name_of(id, tokenizer).filter(|_| is_end || bytes.is_empty()),
        text: bytes,
        is_end,
        ..step
    }
}

/// The tags, tools and arguments of a text. `matcher` is the session before the first of `steps`, whose text
/// begins with `n_repeated` bytes that the session does not read.
#[must_use]
pub fn text_regions(matcher: &Matcher, steps: &[Step], n_repeated: usize) -> Vec<Region> {
    let mut session = matcher.fork();
    let n_before = session.text().len();
    // Where each step begins in the session's text, which has special tokens by their names, and in that of
    // the steps; and how much of it the session reads.
    let mut places = Vec::with_capacity(steps.len());
    let (mut at, mut n_shown, mut n_left) = (n_before, 0, n_repeated);
    for step in steps {
        let n_skipped = n_left.min(step.text.len());
        n_left -= n_skipped;
        let own = &step.text[n_skipped..];
        places.push((at, n_shown + n_skipped, own.len()));
        let name = step.name.as_deref().filter(|_| step.text.is_empty() && !step.is_end);
        at += name.map_or(own.len(), str::len);
        n_shown += step.text.len();
        let is_read = match n_skipped {
            0 => session.accept_token(TokenId(step.token)),
            _ => session.accept_bytes(own),
        };
        if !is_read.unwrap_or(false) {
            break;
        }
    }
    let place = |at: usize| match places.partition_point(|&(begin, ..)| begin <= at).checked_sub(1) {
        Some(step) => places[step].1 + (at - places[step].0).min(places[step].2),
        None => 0,
    };
    let region = |TextRegion { kind, name, start, end, .. }: TextRegion| Region {
        kind: kind.to_owned(),
        name: Some(name),
        start: place(start),
        end: end.map(place),
    };
    let is_over = |region: &TextRegion| region.end.is_some_and(|end| end <= n_before);
    session.regions().into_iter().filter(|region| !is_over(region)).map(region).collect()
}

/// The most branches of a tree that is shown.
const MOST_BRANCHES: usize = 3_000;

/// The tree of a search, and how many of its branches are left out. A large tree keeps the text that was
/// found, other finished texts and the likeliest branches.
///
/// After a search that was broken off, no branch counts as given up.
#[must_use]
pub fn branches(outcome: &SearchOutcome, tokenizer: Option<&Tokenizer>) -> (Vec<Branch>, usize) {
    let explored = &outcome.explored;
    let mut has_children = vec![false; explored.len()];
    for parent in explored.iter().filter_map(|token| token.parent) {
        has_children[parent] = true;
    }
    let chosen = outcome.best().map_or_else(Vec::new, |best| outcome.path(best));
    let kept = shown_tokens(explored, &chosen);
    // The index among the branches of each token that is shown.
    let mut shown = vec![None; explored.len()];
    let mut branches: Vec<Branch> = Vec::with_capacity(kept.len());
    for index in kept {
        shown[index] = Some(branches.len());
        let token = &explored[index];
        branches.push(Branch {
            parent: token.parent.and_then(|parent| shown[parent]),
            text: tokenizer.map_or_else(Vec::new, |tokenizer| visible_text(token.id, tokenizer)),
            log_probability: Some(token.log_likelihood),
            outcome: match token.ended {
                _ if chosen.contains(&index) => Outcome::Chosen,
                Some(reason) if reason.is_complete() => Outcome::Finished,
                None if has_children[index] || outcome.is_cancelled => Outcome::Open,
                _ => Outcome::Dropped,
            },
        });
    }
    let n_left_out = explored.len() - branches.len();
    (branches, n_left_out)
}

/// Which tokens of a tree are shown, ascending, each with its parents.
fn shown_tokens(explored: &[ExploredToken], chosen: &[usize]) -> Vec<usize> {
    if explored.len() <= MOST_BRANCHES {
        return (0..explored.len()).collect();
    }
    let mut likeliest: Vec<usize> = (0..explored.len()).collect();
    likeliest
        .sort_by(|&left, &right| explored[right].log_likelihood.total_cmp(&explored[left].log_likelihood));
    let is_finished = |index: &usize| explored[*index].ended.is_some_and(|reason| reason.is_complete());
    // Half of the room is for whole texts.
    let finished = likeliest.iter().copied().filter(is_finished).map(|index| (index, MOST_BRANCHES / 2));
    let others = likeliest.iter().map(|&index| (index, MOST_BRANCHES));
    let mut is_shown = vec![false; explored.len()];
    chosen.iter().for_each(|&index| is_shown[index] = true);
    let mut n_shown = chosen.len();
    for (index, room) in finished.chain(others) {
        let path = std::iter::successors(Some(index), |&index| explored[index].parent);
        let new: Vec<usize> = path.take_while(|&index| !is_shown[index]).collect();
        if n_shown + new.len() <= room {
            n_shown += new.len();
            new.into_iter().for_each(|index| is_shown[index] = true);
        }
    }
    (0..explored.len()).filter(|&index| is_shown[index]).collect()
}

/// A token as it is shown: its text, or the name of a special one.
#[must_use]
pub fn visible_text(id: TokenId, tokenizer: &Tokenizer) -> Vec<u8> {
    match tokenizer.token_bytes(id) {
        Some(bytes) => bytes.to_vec(),
        None => tokenizer.vocabulary().name(id).unwrap_or_default().as_bytes().to_vec(),
    }
}

/// The text of a token; none for a special one.
fn bytes_of(id: TokenId, tokenizer: &Tokenizer) -> Vec<u8> {
    tokenizer.token_bytes(id).unwrap_or_default().to_vec()
}

/// The name of a special token, or the id where nothing is known of it.
fn name_of(id: TokenId, tokenizer: Option<&Tokenizer>) -> Option<String> {
    match tokenizer {
        Some(tokenizer) => tokenizer.vocabulary().name(id).map(str::to_owned),
        None => Some(format!("#{}", id.0)),
    }
}
