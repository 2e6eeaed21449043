//! What `--trace` and `--color` show.

use std::path::Path;

use anyhow::Context;
use maskwright::{Matcher, Tokenizer};
use maskwright_decode::{Generation, asked_step, chosen_step};
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

/// The steps of a generation. `matcher` is the grammar's session before it, if there is a grammar; the text
/// begins with `n_repeated` bytes of the prompt, which the grammar does not read.
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
        let kept = generation.candidates.get(index).filter(|kept| !kept.wanted.is_empty());
        let mut step = Step {
            allowed_mass: statistics.allowed_mass,
            mask_us: (!statistics.mask.is_zero()).then(|| statistics.mask.as_nanos() as f64 / 1e3),
            ..asked_step(kept, matcher.as_ref(), Some(tokenizer))?
        };
        if n_repeated > 0 {
            // The prompt's end refuses these, not the grammar.
            step.wanted.iter_mut().for_each(|candidate| candidate.why = None);
        }
        let step = chosen_step(step, id, is_end, Some(tokenizer));
        steps.push(Step { is_forced: statistics.forced, ..step });
        let bytes = tokenizer.token_bytes(id).unwrap_or_default();
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
