//! Canvases and templates of random small grammars and vocabularies against exhaustive search.
//!
//! A canvas is decided by trying all tokens at all masked positions, with the reference parser as judge. Holes of
//! any text cannot be enumerated, so a template is decided from both sides: what is called possible comes with a
//! completion that the reference parser and a plain matcher accept, and what is called impossible is compared with all
//! words up to a length.
//!
//! `PROPTEST_CASES` sets the number of cases (300 unless it is set).

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use maskwright_automata::{Fuel, Regex};
use maskwright_grammar::Grammar;
use maskwright_infill::{Canvas, CanvasConfig, Hole, InfillLimits, Infiller, Part, Template};
use maskwright_oracle::{ALPHABET, Oracle, TextWalk, arb_grammar, arb_text_walk, arb_vocabulary};
use maskwright_vocabulary::{TokenId, Vocabulary, mask_contains, mask_words};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

fn cases() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    ProptestConfig {
        cases,
        max_shrink_iters: 3_000,
        max_global_rejects: cases * 20,
        ..ProptestConfig::default()
    }
}

fn infiller(grammar: &Grammar, vocabulary: &Arc<Vocabulary>, collapse_regular: bool) -> Option<Infiller> {
    let limits = InfillLimits { collapse_regular, ..InfillLimits::default() };
    match Infiller::new(grammar, vocabulary.clone(), limits, &Fuel::unlimited()) {
        Ok(infiller) => Some(infiller),
        Err(error) => {
            assert!(error.to_string().contains("no text"), "{error}");
            None
        }
    }
}

/// The least that a search may visit before a case is given up.
const MAX_VISITS: usize = 30_000;

/// Tries everything.
struct Search<'a> {
    oracle: &'a Oracle,
    vocabulary: &'a Vocabulary,
    config: CanvasConfig,
    /// The distinct texts of tokens.
    texts: BTreeSet<&'a [u8]>,
    is_word: HashMap<Vec<u8>, bool>,
    is_prefix: HashMap<Vec<u8>, bool>,
    n_visits: usize,
}

impl<'a> Search<'a> {
    fn new(oracle: &'a Oracle, vocabulary: &'a Vocabulary, config: CanvasConfig) -> Search<'a> {
        let texts = tokens(vocabulary).filter_map(|token| vocabulary.token_bytes(token)).collect();
        let (is_word, is_prefix) = (HashMap::new(), HashMap::new());
        Search { oracle, vocabulary, config, texts, is_word, is_prefix, n_visits: 0 }
    }

    fn is_word(&mut self, text: &[u8]) -> bool {
        let oracle = self.oracle;
        *self.is_word.entry(text.to_vec()).or_insert_with(|| oracle.is_word(text))
    }

    fn is_tail(&self, positions: &[Option<TokenId>]) -> bool {
        let has_eos = !self.vocabulary.eos_token_ids().is_empty();
        let is_eos = |token| self.vocabulary.is_eos(token);
        let is_padding = |token| Some(token) == self.config.padding;
        positions.iter().enumerate().all(|(index, position)| match *position {
            Some(token) if index == 0 && has_eos => is_eos(token),
            Some(token) => is_eos(token) || is_padding(token),
            None => has_eos || self.config.padding.is_some(),
        })
    }

    /// Whether the positions can be filled behind `text`. Texts that no word begins with are not followed.
    fn is_possible(
        &mut self,
        positions: &[Option<TokenId>],
        text: &[u8],
        known: &mut HashMap<(usize, Vec<u8>), bool>,
    ) -> bool {
        let key = (positions.len(), text.to_vec());
        if let Some(&known) = known.get(&key) {
            return known;
        }
        self.n_visits += 1;
        let answer = self.is_word(text) && self.is_tail(positions) || {
            match positions.split_first() {
                None => false,
                Some((first, rest)) => {
                    let choices: Vec<&[u8]> = match *first {
                        None => self.texts.iter().copied().collect(),
                        Some(token) => self.vocabulary.token_bytes(token).into_iter().collect(),
                    };
                    choices.into_iter().any(|bytes| {
                        let longer = [text, bytes].concat();
                        let oracle = self.oracle;
                        *self.is_prefix.entry(longer.clone()).or_insert_with(|| oracle.is_prefix(&longer))
                            && self.n_visits < MAX_VISITS
                            && self.is_possible(rest, &longer, known)
                    })
                }
            }
        };
        known.insert(key, answer);
        answer
    }

    fn mask(&mut self, positions: &[Option<TokenId>], at: usize) -> Vec<bool> {
        let mut positions = positions.to_vec();
        let mut known = HashMap::new();
        tokens(self.vocabulary)
            .map(|token| {
                positions[at] = Some(token);
                let is_tail = self.vocabulary.is_eos(token) || Some(token) == self.config.padding;
                let kind = if is_tail { Err(token) } else { Ok(self.vocabulary.token_bytes(token)) };
                if let Some(&known) = known.get(&kind) {
                    return known;
                }
                let answer = self.is_possible(&positions, b"", &mut HashMap::new());
                known.insert(kind, answer);
                answer
            })
            .collect()
    }
}

fn tokens(vocabulary: &Vocabulary) -> impl Iterator<Item = TokenId> + use<> {
    (0..vocabulary.n_vocab() as u32).map(TokenId)
}

fn mask_of(vocabulary: &Vocabulary, fill: impl FnOnce(&mut [u32])) -> Vec<bool> {
    // What was in the buffer must not matter.
    let mut mask = vec![u32::MAX; mask_words(vocabulary.n_vocab())];
    fill(&mut mask);
    tokens(vocabulary).map(|token| mask_contains(&mask, token)).collect()
}

/// A canvas in the making: some tokens of a text of the language, some any tokens, the others masked.
#[derive(Clone, Debug)]
struct CanvasCase {
    walk: TextWalk,
    /// By position: what it is (0: masked, 1: of the walk, 2: any token).
    kinds: Vec<(u8, Index)>,
    padding: Option<Index>,
    sets: Vec<(Index, Index)>,
}

fn arb_canvas() -> impl Strategy<Value = CanvasCase> {
    let kind = prop_oneof![6 => Just(0u8), 5 => Just(1), 1 => Just(2)];
    let sets = vec((any::<Index>(), any::<Index>()), 0..4);
    (
        arb_text_walk(),
        vec((kind, any::<Index>()), 0..=5),
        proptest::option::weighted(0.3, any::<Index>()),
        sets,
    )
        .prop_map(|(walk, kinds, padding, sets)| CanvasCase { walk, kinds, padding, sets })
}

fn check_canvas(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    case: &CanvasCase,
    collapse: bool,
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(grammar, vocabulary, collapse) else { return Ok(()) };
    let oracle = Oracle::new(grammar);
    let any_token = |index: &Index| TokenId(index.index(vocabulary.n_vocab()) as u32);
    let silent: Vec<TokenId> =
        tokens(vocabulary).filter(|&token| vocabulary.token_bytes(token).is_none()).collect();
    let config = CanvasConfig { padding: case.padding.map(|index| *index.get(&silent)) };
    let walked = case.walk.tokens(&oracle, vocabulary);
    let mut positions: Vec<Option<TokenId>> = case
        .kinds
        .iter()
        .enumerate()
        .map(|(at, (kind, index))| match kind {
            0 => None,
            1 => Some(walked.get(at).copied().unwrap_or_else(|| any_token(index))),
            _ => Some(any_token(index)),
        })
        .collect();
    let mut canvas = Canvas::new(&infiller, &positions, config).unwrap();
    let mut search = Search::new(&oracle, vocabulary, config);
    let mut sets = case.sets.iter();
    loop {
        let expected = search.is_possible(&positions, b"", &mut HashMap::new());
        let masks: Vec<Vec<bool>> = (0..positions.len()).map(|at| search.mask(&positions, at)).collect();
        prop_assume!(search.n_visits < MAX_VISITS);
        prop_assert_eq!(canvas.is_possible().unwrap(), expected);
        match canvas.complete().unwrap() {
            None => prop_assert!(!expected),
            Some(filled) => {
                let all: Vec<Option<TokenId>> = filled.iter().copied().map(Some).collect();
                prop_assert!(search.is_possible(&all, b"", &mut HashMap::new()), "{:?}", filled);
                prop_assert!(positions.iter().zip(&all).all(|(old, new)| old.is_none() || old == new));
            }
        }
        for (at, expected) in masks.iter().enumerate() {
            let mask = mask_of(vocabulary, |mask| canvas.fill_bitmask(at, mask).unwrap());
            prop_assert_eq!(&mask, expected, "position {} of {:?}", at, positions);
        }
        let Some((at, token)) = sets.next() else { break };
        if positions.is_empty() {
            break;
        }
        // Mostly tokens that are allowed.
        let at = at.index(positions.len());
        let allowed: Vec<TokenId> = tokens(vocabulary).filter(|token| masks[at][token.index()]).collect();
        let token =
            if allowed.is_empty() || token.index(5) == 0 { any_token(token) } else { *token.get(&allowed) };
        let is_allowed = masks[at][token.index()];
        prop_assert_eq!(canvas.set(at, token).unwrap(), is_allowed);
        if is_allowed {
            prop_assert!(canvas.undo());
            prop_assert_eq!(canvas.positions(), &positions[..]);
            if !canvas.is_possible().unwrap() {
                prop_assert!(positions[at].is_some());
            }
            prop_assert!(canvas.set(at, token).unwrap());
            positions[at] = Some(token);
        }
        prop_assert_eq!(canvas.positions(), &positions[..]);
    }
    Ok(())
}

/// The places up to which `parts` can have read `word`.
fn ends(parts: &[Part], vocabulary: &Vocabulary, word: &[u8]) -> BTreeSet<usize> {
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

fn is_match(parts: &[Part], vocabulary: &Vocabulary, word: &[u8]) -> bool {
    ends(parts, vocabulary, word).contains(&word.len())
}

fn arb_hole() -> impl Strategy<Value = Hole> {
    prop_oneof![
        2 => Just(Hole::Any),
        2 => (0usize..4).prop_map(Hole::AtMost),
        2 => (0usize..4).prop_map(Hole::Exactly),
    ]
}

/// Parts as cuts of a walk's text: what is between two cuts is kept, left out for a hole, or replaced.
#[derive(Clone, Debug)]
struct TemplateCase {
    walk: TextWalk,
    parts: Vec<(usize, Option<Hole>)>,
    noise: Option<Vec<u8>>,
    choices: Vec<Index>,
}

fn arb_template() -> impl Strategy<Value = TemplateCase> {
    let part = (0usize..3, proptest::option::weighted(0.55, arb_hole()));
    let noise = proptest::option::weighted(0.1, vec(proptest::sample::select(ALPHABET), 1..3));
    (arb_text_walk(), vec(part, 0..=4), noise, vec(any::<Index>(), 0..4))
        .prop_map(|(walk, parts, noise, choices)| TemplateCase { walk, parts, noise, choices })
}

/// Whether `template` is possible, checked from both sides.
fn checked(
    infiller: &Infiller,
    oracle: &Oracle,
    words: &BTreeSet<Vec<u8>>,
    parts: &[Part],
) -> Result<bool, TestCaseError> {
    let vocabulary = infiller.vocabulary();
    let mut template = Template::new(infiller, parts.to_vec()).unwrap();
    let is_possible = template.is_possible().unwrap();
    match template.complete().unwrap() {
        Some(text) => {
            prop_assert!(is_possible);
            prop_assert!(oracle.is_word(&text), "{:?} gave {:?}", parts, text);
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

fn check_template(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    case: &TemplateCase,
    collapse: bool,
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(grammar, vocabulary, collapse) else { return Ok(()) };
    let oracle = Oracle::new(grammar);
    let words = oracle.words_up_to(5, ALPHABET);
    let text = case.walk.text(&oracle, vocabulary);
    let mut at = 0;
    let mut parts = Vec::new();
    for &(n_bytes, hole) in &case.parts {
        let end = (at + n_bytes).min(text.len());
        parts.push(match hole {
            Some(hole) => Part::Hole(hole),
            None => Part::Text(text[at..end].to_vec()),
        });
        at = end;
    }
    parts.extend(case.noise.clone().map(Part::Text));
    let is_possible = checked(&infiller, &oracle, &words, &parts)?;
    // Write the last hole (what stands to its left is reused) and the first one.
    let holes: Vec<usize> =
        parts.iter().enumerate().filter(|(_, part)| matches!(part, Part::Hole(_))).map(|(i, _)| i).collect();
    let Some(&index) = (if case.parts.len().is_multiple_of(2) { holes.last() } else { holes.first() }) else {
        return Ok(());
    };
    let hole = holes.iter().position(|&other| other == index).unwrap();
    let Part::Hole(kind) = parts[index] else { unreachable!("an index of a hole") };
    let mut template = Template::new(&infiller, parts.clone()).unwrap();
    let mut prefix: Vec<TokenId> = Vec::new();
    let with = |written: &[TokenId], rest: Option<Hole>| {
        let bytes: Vec<u8> =
            written.iter().flat_map(|&t| vocabulary.token_bytes(t).unwrap()).copied().collect();
        let mut parts = parts.clone();
        parts.splice(index..=index, [Part::Text(bytes)].into_iter().chain(rest.map(Part::Hole)));
        parts
    };
    let mut choices = case.choices.iter();
    loop {
        let mask = mask_of(vocabulary, |mask| template.fill_next_token_bitmask(hole, &prefix, mask).unwrap());
        let rest = match kind {
            Hole::Any => Some(kind),
            Hole::AtMost(n) => n.checked_sub(prefix.len() + 1).map(Hole::AtMost),
            Hole::Exactly(n) => n.checked_sub(prefix.len() + 1).map(Hole::Exactly),
        };
        let may_end = match kind {
            Hole::Exactly(n) if n != prefix.len() => false,
            _ => checked(&infiller, &oracle, &words, &with(&prefix, None))?,
        };
        prop_assert_eq!(template.fix(hole, &prefix).unwrap(), may_end);
        if may_end {
            prop_assert!(template.fix(hole, &prefix).is_err(), "it is fixed already");
            template = Template::new(&infiller, parts.clone()).unwrap();
        }
        let mut is_any_allowed = false;
        for token in tokens(vocabulary) {
            let expected = if vocabulary.is_eos(token) {
                may_end
            } else if let (Some(_), Some(rest)) = (vocabulary.token_bytes(token), rest) {
                let written = [&prefix[..], &[token]].concat();
                checked(&infiller, &oracle, &words, &with(&written, Some(rest)))?
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

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn canvases_equal_exhaustive_search(
        grammar in arb_grammar(), vocabulary in arb_vocabulary(), case in arb_canvas(), collapse in any::<bool>()
    ) {
        check_canvas(&grammar, &vocabulary, &case, collapse)?;
    }

    #[test]
    fn templates_equal_the_definition(
        grammar in arb_grammar(), vocabulary in arb_vocabulary(), case in arb_template(), collapse in any::<bool>()
    ) {
        check_template(&grammar, &vocabulary, &case, collapse)?;
    }
}

/// The smallest cases of all.
#[test]
fn empty_canvases_and_templates() {
    let tokens = vec![Some(b"a".to_vec()), None];
    let vocabulary = Vocabulary::from_tokens(tokens, &[1], None).unwrap().shared();
    for (regex, has_empty) in [(Regex::literal("a"), false), (Regex::literal("a").star(), true)] {
        let infiller = infiller(&Grammar::from_regex(regex), &vocabulary, true).unwrap();
        let mut canvas = Canvas::new(&infiller, &[], CanvasConfig::default()).unwrap();
        assert_eq!(canvas.is_possible().unwrap(), has_empty);
        assert_eq!(canvas.complete().unwrap(), has_empty.then(Vec::new));
        let mut template = Template::new(&infiller, Vec::new()).unwrap();
        assert_eq!(template.is_possible().unwrap(), has_empty);
        let mut ended = Canvas::new(&infiller, &[Some(TokenId(1)), None], CanvasConfig::default()).unwrap();
        assert_eq!(ended.complete().unwrap(), has_empty.then(|| vec![TokenId(1); 2]));
    }
}
