//! What happened in a generation or a search, as the steps and branches of a [`Trace`](maskwright_trace::Trace).

use maskwright_engine::{Error, Matcher, TextRegion};
use maskwright_trace::{Branch, Outcome, Region, Step};
use maskwright_vocabulary::{TokenId, Tokenizer};

use crate::candidates::{Candidate, Candidates};
use crate::search::SearchOutcome;

/// A step before its token is known: what the model wanted, and why some of it is refused.
///
/// `matcher` is the session before the token; without one there is no place and no reason. Without a `tokenizer` tokens are
/// shown by their ids.
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

/// The tags, tools and arguments of a text, as far as they are known by their marks. `matcher` is the session before the first of `steps`,
/// whose text begins with `n_repeated` bytes that the session does not read.
#[must_use]
pub fn text_regions(matcher: &Matcher, steps: &[Step], n_repeated: usize) -> Vec<Region> {
    let Some(words) = matcher.grammar().words() else { return Vec::new() };
    let mut text = matcher.text();
    let n_before = text.len();
    text.extend(steps.iter().flat_map(|step| &step.text).skip(n_repeated));
    // A place in all of the text, as one in the text of the steps.
    let place = |at: usize| (at + n_repeated).saturating_sub(n_before);
    let region = |TextRegion { kind, name, start, end }: TextRegion| Region {
        kind: kind.to_owned(),
        name: Some(name),
        start: place(start),
        end: end.map(place),
    };
    let is_over = |region: &TextRegion| region.end.is_some_and(|end| end <= n_before);
    words.regions(&text).into_iter().filter(|region| !is_over(region)).map(region).collect()
}

/// The tree of a search. What was given up is told from what could have gone on only if the search was not broken off.
#[must_use]
pub fn branches(outcome: &SearchOutcome, tokenizer: Option<&Tokenizer>) -> Vec<Branch> {
    let mut has_children = vec![false; outcome.explored.len()];
    for parent in outcome.explored.iter().filter_map(|token| token.parent) {
        has_children[parent] = true;
    }
    let branch = |(token, has_children): (&crate::ExploredToken, bool)| Branch {
        parent: token.parent,
        text: tokenizer.map_or_else(Vec::new, |tokenizer| visible_text(token.id, tokenizer)),
        log_probability: Some(token.log_likelihood),
        outcome: match token.ended {
            Some(reason) if reason.is_complete() => Outcome::Finished,
            None if has_children || outcome.is_cancelled => Outcome::Open,
            _ => Outcome::Dropped,
        },
    };
    let mut branches: Vec<Branch> = outcome.explored.iter().zip(has_children).map(branch).collect();
    for index in outcome.best().map_or_else(Vec::new, |best| outcome.path(best)) {
        branches[index].outcome = Outcome::Chosen;
    }
    branches
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
