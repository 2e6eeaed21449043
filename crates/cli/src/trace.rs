//! What `--trace` and `--color` show.

use std::path::Path;

use anyhow::Context;
use maskwright::{Matcher, TokenId, Tokenizer};
use maskwright_decode::{Candidate, Candidates, Generation};
use maskwright_trace::{Step, Trace};

/// Makes sure that a page can be written, before the text is.
///
/// # Errors
/// If it cannot.
pub(crate) fn check(path: &Path) -> anyhow::Result<()> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.map(|_| ()).with_context(|| format!("{}", path.display()))
}

/// Writes a trace as a page.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(trace: &Trace, path: &Path) -> anyhow::Result<()> {
    std::fs::write(path, trace.html()).with_context(|| format!("{}", path.display()))
}

/// A token as it is shown: its text, or the name of a special one.
pub(crate) fn text_of(token: TokenId, tokenizer: &Tokenizer) -> Vec<u8> {
    match tokenizer.token_bytes(token) {
        Some(bytes) => bytes.to_vec(),
        None => tokenizer.vocabulary().name(token).unwrap_or_default().as_bytes().to_vec(),
    }
}

/// The steps of a generation. `matcher` is the grammar's session before it, if there is a grammar; the text begins with `n_repeated` bytes
/// of the prompt, which the grammar does not read.
///
/// # Errors
/// If the session reaches a limit.
pub(crate) fn steps(
    generation: &Generation,
    mut matcher: Option<Matcher>,
    mut n_repeated: usize,
    tokenizer: &Tokenizer,
) -> anyhow::Result<Vec<Step>> {
    let mut steps = Vec::with_capacity(generation.steps.len());
    let ids = generation.tokens.iter().chain(&generation.eos_id);
    for (index, (&id, statistics)) in ids.zip(&generation.steps).enumerate() {
        let is_end = generation.eos_id == Some(id) && index == generation.tokens.len();
        let bytes = tokenizer.token_bytes(id).unwrap_or_default();
        let (mut wanted, mut allowed, mut n_allowed) = (Vec::new(), Vec::new(), None);
        if let Some(candidates) = generation.candidates.get(index).filter(|kept| !kept.wanted.is_empty()) {
            let Candidates { wanted: likeliest, allowed: possible, n_allowed: n, .. } = candidates;
            // What is asked within the prompt's end is no question to the grammar.
            let asked = matcher.as_ref().filter(|_| n_repeated == 0);
            let shown = |candidate| shown(candidate, asked, tokenizer);
            wanted = likeliest.iter().map(shown).collect::<anyhow::Result<_>>()?;
            allowed = possible.iter().map(shown).collect::<anyhow::Result<_>>()?;
            n_allowed = Some(*n as u64);
        }
        let state = matcher.as_ref().map(Matcher::state).transpose()?;
        let path = state.and_then(|state| state.place());
        let tokens_left = matcher.as_ref().and_then(|matcher| {
            let limit = matcher.max_tokens()?;
            Some(limit.saturating_sub(matcher.n_tokens()) as u64)
        });
        steps.push(Step {
            token: id.0,
            text: if is_end { Vec::new() } else { bytes.to_vec() },
            is_forced: statistics.forced,
            is_end,
            name: tokenizer.vocabulary().name(id).filter(|_| is_end || bytes.is_empty()).map(str::to_owned),
            allowed_mass: statistics.allowed_mass,
            n_allowed,
            wanted,
            allowed,
            path,
            mask_us: (!statistics.mask.is_zero()).then(|| statistics.mask.as_nanos() as f64 / 1e3),
            tokens_left,
        });
        let n_skipped = n_repeated.min(bytes.len());
        n_repeated -= n_skipped;
        if let Some(matcher) = &mut matcher {
            match n_skipped {
                0 => matcher.accept_token(id)?,
                _ => matcher.accept_bytes(&bytes[n_skipped..])?,
            };
        }
    }
    Ok(steps)
}

/// A token that the model might have written; with the grammar's session there, if it was refused, also why.
fn shown(
    candidate: &Candidate,
    matcher: Option<&Matcher>,
    tokenizer: &Tokenizer,
) -> anyhow::Result<maskwright_trace::Candidate> {
    let &Candidate { id, probability, is_allowed } = candidate;
    let why = match matcher.filter(|_| !is_allowed) {
        Some(matcher) => matcher.why_refused(id)?,
        None => None,
    };
    Ok(maskwright_trace::Candidate {
        token: id.0,
        text: tokenizer.token_bytes(id).unwrap_or_default().to_vec(),
        name: tokenizer.vocabulary().name(id).map(str::to_owned),
        probability,
        is_allowed,
        why,
    })
}
