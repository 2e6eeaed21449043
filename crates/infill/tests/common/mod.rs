//! What the tests against exhaustive search share.

#[allow(dead_code, reason = "only some of the tests are about lexed grammars")]
pub(crate) mod lexed;

use std::collections::BTreeSet;

use maskwright_infill::{Canvas, Error, Hole, Infiller, MaskStatus, Part, Template, Verdict};
use maskwright_vocabulary::{TokenId, Vocabulary, mask_contains, mask_words};
use proptest::prelude::*;
use proptest::sample::Index;

pub(crate) fn tokens(vocabulary: &Vocabulary) -> impl Iterator<Item = TokenId> + use<> {
    (0..vocabulary.n_vocab() as u32).map(TokenId)
}

pub(crate) fn mask_of(vocabulary: &Vocabulary, fill: impl FnOnce(&mut [u32])) -> Vec<bool> {
    // What was in the buffer must not matter.
    let mut mask = vec![u32::MAX; mask_words(vocabulary.n_vocab())];
    fill(&mut mask);
    tokens(vocabulary).map(|token| mask_contains(&mask, token)).collect()
}

/// Small masks are all found exactly.
pub(crate) fn exact(status: Result<MaskStatus, Error>) {
    assert_eq!(status.unwrap(), MaskStatus::Exact);
}

/// Whether the answers about each token at each position are those of the exact masks, and what a mask has
/// that need not be exact is in them.
pub(crate) fn check_questions(
    canvas: &mut Canvas,
    vocabulary: &Vocabulary,
    masks: &[Vec<bool>],
) -> Result<(), TestCaseError> {
    let ids: Vec<TokenId> = tokens(vocabulary).collect();
    for (at, expected) in masks.iter().enumerate() {
        for (id, verdict) in ids.iter().zip(canvas.allows(at, &ids).unwrap()) {
            let verdict_expected = if expected[id.index()] { Verdict::Yes } else { Verdict::No };
            prop_assert_eq!(verdict, verdict_expected, "{:?} at {} of {:?}", id, at, canvas.positions());
        }
        let mut status = MaskStatus::Exact;
        let mask = mask_of(vocabulary, |mask| status = canvas.fill_mask(at, mask, false).unwrap());
        let is_proven = mask.iter().zip(expected).all(|(proven, expected)| !proven || *expected);
        prop_assert!(is_proven, "{:?} at {} of {:?}", mask, at, canvas.positions());
        prop_assert!(
            status == MaskStatus::Bound || mask == *expected,
            "at {} of {:?}",
            at,
            canvas.positions()
        );
    }
    Ok(())
}

/// Fills what is masked by drawn tokens, or the witness's where they are refused; the whole canvas then.
pub(crate) fn filled_at_random(
    canvas: &mut Canvas,
    vocabulary: &Vocabulary,
    drawn: &[Index],
) -> Vec<TokenId> {
    let ids: Vec<TokenId> = tokens(vocabulary).collect();
    let mut drawn = drawn.iter().cycle();
    while canvas.n_masked() > 0 {
        let masked: Vec<usize> =
            (0..canvas.positions().len()).filter(|&at| canvas.positions()[at].is_none()).collect();
        let (at, token) = (*drawn.next().unwrap().get(&masked), *drawn.next().unwrap().get(&ids));
        if !canvas.set(at, token).unwrap() {
            let given = canvas.complete().unwrap().unwrap()[at];
            assert!(canvas.set(at, given).unwrap(), "the witness's own token");
        }
    }
    canvas.complete().unwrap().unwrap()
}

/// The places up to which `parts` can have read `word`.
pub(crate) fn ends(parts: &[Part], vocabulary: &Vocabulary, word: &[u8]) -> BTreeSet<usize> {
    let token = |from: &BTreeSet<usize>| -> BTreeSet<usize> {
        let texts = || tokens(vocabulary).filter_map(|token| vocabulary.token_bytes(token));
        from.iter()
            .flat_map(|&at| {
                texts().filter(move |text| word[at..].starts_with(text)).map(move |t| at + t.len())
            })
            .collect()
    };
    parts.iter().fold(BTreeSet::from([0]), |from, part| match part {
        Part::Text(text) => {
            from.into_iter().filter(|&at| word[at..].starts_with(text)).map(|at| at + text.len()).collect()
        }
        Part::Tokens(tokens) => {
            tokens.iter().fold(from, |from, &token| match vocabulary.token_bytes(token) {
                Some(text) => from
                    .into_iter()
                    .filter(|&at| word[at..].starts_with(text))
                    .map(|at| at + text.len())
                    .collect(),
                None => BTreeSet::new(),
            })
        }
        Part::Hole(Hole::Any) => {
            from.first().map_or(BTreeSet::new(), |&first| (first..=word.len()).collect())
        }
        Part::Hole(Hole::Exactly(n)) => (0..*n).fold(from, |from, _| token(&from)),
        Part::Hole(Hole::AtMost(n)) => {
            let mut all = from.clone();
            (0..*n).fold(from, |from, _| {
                let next = token(&from);
                all.extend(&next);
                next
            });
            all
        }
    })
}

pub(crate) fn is_match(parts: &[Part], vocabulary: &Vocabulary, word: &[u8]) -> bool {
    ends(parts, vocabulary, word).contains(&word.len())
}

pub(crate) fn arb_hole() -> impl Strategy<Value = Hole> {
    prop_oneof![
        2 => Just(Hole::Any),
        2 => (0usize..4).prop_map(Hole::AtMost),
        2 => (0usize..4).prop_map(Hole::Exactly),
    ]
}

/// Whether `template` is possible, checked from both sides.
pub(crate) fn checked(
    infiller: &Infiller,
    is_word: &dyn Fn(&[u8]) -> bool,
    words: &BTreeSet<Vec<u8>>,
    parts: &[Part],
) -> Result<bool, TestCaseError> {
    let vocabulary = infiller.vocabulary();
    let mut template = Template::new(infiller, parts.to_vec()).unwrap();
    let is_possible = template.is_possible().unwrap();
    match template.complete().unwrap() {
        Some(text) => {
            prop_assert!(is_possible);
            prop_assert!(is_word(&text), "{:?} gave {:?}", parts, text);
            prop_assert!(is_match(parts, vocabulary, &text), "{:?} gave {:?}", parts, text);
            prop_assert_eq!(template.why_impossible().unwrap(), None);
        }
        None => {
            prop_assert!(!is_possible);
            let word = words.iter().find(|word| is_match(parts, vocabulary, word));
            prop_assert_eq!(word, None, "{:?} was called impossible", parts);
            prop_assert!(template.why_impossible().unwrap().is_some());
        }
    }
    Ok(is_possible)
}

/// Writes the last hole of `parts` (what stands to its left is reused) or the first one token by token, as
/// `choices` say.
pub(crate) fn write_hole(
    infiller: &Infiller,
    is_word: &dyn Fn(&[u8]) -> bool,
    words: &BTreeSet<Vec<u8>>,
    parts: &[Part],
    is_possible: bool,
    choices: &[Index],
) -> Result<(), TestCaseError> {
    let vocabulary = infiller.vocabulary();
    let holes: Vec<usize> =
        parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Hole(_))).map(|(i, _)| i).collect();
    let Some(&index) = (if parts.len().is_multiple_of(2) { holes.last() } else { holes.first() }) else {
        return Ok(());
    };
    let hole = holes.iter().position(|&other| other == index).unwrap();
    let Part::Hole(kind) = parts[index] else { unreachable!("an index of a hole") };
    let mut template = Template::new(infiller, parts.to_vec()).unwrap();
    let mut prefix: Vec<TokenId> = Vec::new();
    let with = |written: &[TokenId], rest: Option<Hole>| {
        let bytes: Vec<u8> =
            written.iter().flat_map(|&t| vocabulary.token_bytes(t).unwrap()).copied().collect();
        let mut parts = parts.to_vec();
        parts.splice(index..=index, [Part::Text(bytes)].into_iter().chain(rest.map(Part::Hole)));
        parts
    };
    let mut choices = choices.iter();
    loop {
        let mask = mask_of(vocabulary, |mask| exact(template.fill_mask(hole, &prefix, mask)));
        let rest = match kind {
            Hole::Any => Some(kind),
            Hole::AtMost(n) => n.checked_sub(prefix.len() + 1).map(Hole::AtMost),
            Hole::Exactly(n) => n.checked_sub(prefix.len() + 1).map(Hole::Exactly),
        };
        let may_end = match kind {
            Hole::Exactly(n) if n != prefix.len() => false,
            _ => checked(infiller, is_word, words, &with(&prefix, None))?,
        };
        prop_assert_eq!(template.fix(hole, &prefix).unwrap(), may_end);
        if may_end {
            prop_assert!(template.fix(hole, &prefix).is_err(), "it is fixed already");
            template = Template::new(infiller, parts.to_vec()).unwrap();
        }
        let mut is_any_allowed = false;
        for token in tokens(vocabulary) {
            let expected = if vocabulary.is_eos(token) {
                may_end
            } else if let (Some(_), Some(rest)) = (vocabulary.token_bytes(token), rest) {
                let written = [&prefix[..], &[token]].concat();
                checked(infiller, is_word, words, &with(&written, Some(rest)))?
            } else {
                false
            };
            prop_assert_eq!(mask[token.index()], expected, "{:?} after {:?} in {:?}", token, prefix, parts);
            is_any_allowed |= expected;
        }
        if kind != Hole::Any || prefix.is_empty() && is_possible != is_any_allowed {
            // A hole of any text may have a completion that no tokens spell.
            prop_assert!(kind == Hole::Any || !prefix.is_empty() || may_end || is_any_allowed == is_possible);
        }
        let Some(choice) = choices.next() else { return Ok(()) };
        let allowed: Vec<TokenId> = tokens(vocabulary)
            .filter(|&token| mask[token.index()] && vocabulary.token_bytes(token).is_some())
            .collect();
        if allowed.is_empty() {
            return Ok(());
        }
        prefix.push(*choice.get(&allowed));
    }
}
