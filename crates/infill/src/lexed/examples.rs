//! Whole texts as examples of what a masked position can take.
//!
//! A chart that is asked about thousands of tokens at once (`focus`) follows the facts of all of them, and where
//! few are left that the text around hardly restricts, it may follow very many before the right ones. Searched for
//! with one token in its place a text is found as fast as for any canvas, if there is one; and the text says at
//! once for all other tokens whether they fit into it.
//!
//! Theorem. What is added to `allowed` can be taken, what is taken out of `asked` and not added can not.
//!
//! Proof. A text of the narrow graph is one of the lattice, so is each that differs from it in the one token and is in
//! the language. Where the wide graph has no text with the token, the lattice has none. ∎
//!
//! A text that is known already is worth more: with a *window* of a few masked positions around the one that is asked about, and
//! all others as that text has them, it says of nearly all tokens that can be taken that they can, by a chart of known text
//! for the most part.
//!
//! Rejected: only this. A mask of names has tens of thousands of tokens and hundreds of examples.

use maskwright_automata::Fuel;
use maskwright_vocabulary::{TokenId, Vocabulary, mask_insert};

use crate::InfillError;
use crate::derivation::Filling;
use crate::lattice::{Piece, Step};
use crate::lexed::charted::Charted;
use crate::lexed::narrow::narrow;
use crate::lexed::tables::LexedTables;
use crate::lexed::wide::wide;

/// About how many facts of a window are made, and how many more for each piece of the lattice.
const N_WINDOW: usize = 10_000;
const N_WINDOW_PIECE: usize = 64;

/// How many masked positions on each side of one that has another token now may get others too.
const N_CHANGED: usize = 8;

/// After how many examples that say nothing of other tokens the search ends: one for each token would be too much.
const MAX_ALONE: usize = 16;

/// How hard examples are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// About how many facts of the narrow graph are made for an example.
    pub(crate) n_facts: usize,
    /// About how many of the wide one are made to refuse a token that none was found for.
    pub(crate) n_wide: usize,
    /// After how many tokens without an example the search ends.
    pub(crate) n_failures: usize,
}

/// Moves tokens that masked position `position` can take from `asked` to `allowed`, and takes tokens that it cannot take
/// out of `asked`. What is left in `asked` is not known. The texts end at one of the boundaries `ends`.
///
/// # Errors
/// If a limit is reached.
pub(crate) fn by_examples(
    (steps, ends): (&[Step], &[usize]),
    position: usize,
    [asked, allowed]: [&mut Vec<u32>; 2],
    patience: Patience,
    tables: &mut LexedTables,
    fuel: &Fuel,
) -> Result<(), InfillError> {
    // A text that ends at the position or before says nothing about it.
    let ends: Vec<usize> = ends.iter().copied().filter(|&end| end > position).collect();
    let vocabulary = tables.vocabulary.clone();
    let mut untried = asked.clone();
    let (mut n_failures, mut n_alone) = (0, 0);
    while n_failures < patience.n_failures
        && n_alone < MAX_ALONE
        && let Some(token) = first_of(&untried)
    {
        remove(&mut untried, token);
        let mut with_token = steps.to_vec();
        with_token[position] = (known(&vocabulary, token), None);
        if let Some((end, fillings)) =
            example(&with_token, (position, &ends), patience.n_facts, tables, fuel)?
        {
            by_windows(steps, &(end, fillings), (position, &[0]), [asked, allowed], tables, fuel)?;
            // The example is a text of the lattice, however much of the window was looked at.
            remove(asked, token);
            mask_insert(allowed, token);
            let n_untried = count(&untried);
            untried.iter_mut().zip(asked.iter()).for_each(|(untried, asked)| *untried &= asked);
            n_alone += usize::from(count(&untried) == n_untried);
            continue;
        }
        n_failures += 1;
        if patience.n_wide > 0 {
            let mut wide = Charted::new(&wide(&with_token, None), &ends, &[], tables, fuel)?;
            if wide.has_text(patience.n_wide, tables, fuel)? == Some(false) {
                remove(asked, token);
            }
        }
    }
    Ok(())
}

/// Moves tokens that masked position `position` can take from `asked` to `allowed`, of those that it can take where the other masked positions but
/// as many on each side of it as one of `windows` says have what `text` puts there, a text that ends at boundary `end`.
///
/// # Errors
/// If a limit is reached.
pub(crate) fn by_windows(
    steps: &[Step],
    (end, text): &(usize, Vec<Filling>),
    (position, windows): (usize, &[usize]),
    [asked, allowed]: [&mut Vec<u32>; 2],
    tables: &mut LexedTables,
    fuel: &Fuel,
) -> Result<(), InfillError> {
    // A text that ends at the position or before says nothing about it.
    if *end <= position {
        return Ok(());
    }
    let text = filled(steps, *end, text, &tables.vocabulary);
    for &n_near in windows {
        if asked.iter().all(|&word| word == 0) {
            break;
        }
        let mut window = text.clone();
        let is_masked = |at: &usize| matches!(steps[*at].0, Piece::Token);
        let before = (0..position).rev().filter(is_masked).take(n_near);
        let behind = (position..*end).filter(is_masked).take(n_near + 1);
        for at in before.chain(behind) {
            window[at] = steps[at].clone();
        }
        let readings = narrow(&window, Some(position)).unwrap_or_default();
        let mut charted = Charted::new(&window, &[*end], &readings, tables, fuel)?;
        let n_facts = N_WINDOW + N_WINDOW_PIECE * window.len();
        charted.decide(position, asked, allowed, n_facts, tables, fuel)?;
    }
    Ok(())
}

/// A text of the lattice that differs from a text of a lattice before, of the same positions, only near those where it must; if about
/// so many facts as for a window give one. Both with the boundary that they end at.
///
/// # Errors
/// If a limit is reached.
pub(crate) fn text_like(
    steps: &[Step],
    ends: &[usize],
    (end, before): (usize, Vec<Filling>),
    tables: &mut LexedTables,
    fuel: &Fuel,
) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
    if end > steps.len() || !ends.contains(&end) {
        return Ok(None);
    }
    let is_masked = |at: &usize| matches!(steps[*at].0, Piece::Token);
    let mut is_near = vec![false; end];
    for filling in &before {
        if let Filling::Token { position, token } = filling
            && *position < end
            && !is_masked(position)
            && steps[*position].0 != known(&tables.vocabulary, *token)
        {
            let before = (0..*position).rev().filter(is_masked).take(N_CHANGED);
            let behind = (*position..end).filter(is_masked).take(N_CHANGED);
            before.chain(behind).for_each(|at| is_near[at] = true);
        }
    }
    let is_kept = |filling: &Filling| match filling {
        Filling::Token { position, .. } => *position < end && is_masked(position) && !is_near[*position],
        Filling::Text { .. } => false,
    };
    let mut text: Vec<Filling> = before.into_iter().filter(is_kept).collect();
    let lattice = filled(steps, end, &text, &tables.vocabulary);
    let Some(readings) = narrow(&lattice, None) else { return Ok(None) };
    let mut charted = Charted::new(&lattice, &[end], &readings, tables, fuel)?;
    if charted.has_text(N_WINDOW + N_WINDOW_PIECE * lattice.len(), tables, fuel)? != Some(true) {
        return Ok(None);
    }
    Ok(charted.fillings(&lattice, tables, fuel)?.map(|(end, near)| {
        text.extend(near);
        (end, text)
    }))
}

/// The lattice up to boundary `end` with what `fillings` put into its masked positions.
fn filled(steps: &[Step], end: usize, fillings: &[Filling], vocabulary: &Vocabulary) -> Vec<Step> {
    let mut text = steps[..end].to_vec();
    for filling in fillings {
        if let Filling::Token { position, token } = filling {
            text[*position] = (known(vocabulary, *token), None);
        }
    }
    text
}

/// A text of the narrow graph, if about so many facts give one. The known token of the position may begin or end within a character.
fn example(
    steps: &[Step],
    (position, ends): (usize, &[usize]),
    n_facts: usize,
    tables: &mut LexedTables,
    fuel: &Fuel,
) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
    let Some(readings) = narrow(steps, Some(position)) else { return Ok(None) };
    let mut narrow = Charted::new(steps, ends, &readings, tables, fuel)?;
    match narrow.has_text(n_facts, tables, fuel)? {
        Some(true) => narrow.fillings(steps, tables, fuel),
        _ => Ok(None),
    }
}

fn known(vocabulary: &Vocabulary, token: TokenId) -> Piece {
    vocabulary.text(token).map_or(Piece::Stop, |bytes| Piece::Bytes(bytes.into()))
}

pub(crate) fn count(mask: &[u32]) -> usize {
    mask.iter().map(|word| word.count_ones() as usize).sum()
}

fn first_of(mask: &[u32]) -> Option<TokenId> {
    let index = mask.iter().position(|&word| word != 0)?;
    Some(TokenId(32 * index as u32 + mask[index].trailing_zeros()))
}

fn remove(mask: &mut [u32], token: TokenId) {
    mask[token.index() / 32] &= !(1 << (token.0 % 32));
}
