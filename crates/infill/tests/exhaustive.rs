//! Canvases and templates of random small grammars and vocabularies against exhaustive search.
//!
//! A canvas is decided by trying all tokens at all masked positions, with the reference parser as judge.
//! Holes of any text cannot be enumerated, so a template is decided from both sides: what is called possible
//! comes with a completion that the reference parser and a plain matcher accept, and what is called
//! impossible is compared with all words up to a length.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-infill --test exhaustive` runs the full campaign;
//! without the variable 300 cases of each kind run.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

mod common;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use maskwright_automata::{Fuel, Regex};
use maskwright_grammar::Grammar;
use maskwright_infill::{Canvas, CanvasConfig, Hole, InfillLimits, Infiller, Part, Template};
use maskwright_oracle::{ALPHABET, Oracle, TextWalk, arb_grammar, arb_text_walk, arb_vocabulary};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use common::{arb_hole, check_questions, checked, exact, filled_at_random, mask_of, tokens, write_hole};

fn cases() -> ProptestConfig {
    let cases = maskwright_oracle::cases(300);
    ProptestConfig {
        cases,
        max_shrink_iters: 3_000,
        max_global_rejects: cases * 20,
        ..ProptestConfig::default()
    }
}

fn infiller(grammar: &Grammar, vocabulary: &Arc<Vocabulary>, collapse_regular: bool) -> Option<Infiller> {
    let mut limits = InfillLimits::default();
    limits.collapse_regular = collapse_regular;
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

/// A canvas in the making: some tokens of a text of the language, some any tokens, the others masked.
#[derive(Clone, Debug)]
struct CanvasCase {
    walk: TextWalk,
    /// By position: what it is (0: masked, 1: of the walk, 2: any token).
    kinds: Vec<(u8, Index)>,
    padding: Option<Index>,
    sets: Vec<(Index, Index)>,
    drawn: Vec<Index>,
}

fn arb_canvas() -> impl Strategy<Value = CanvasCase> {
    let kind = prop_oneof![6 => Just(0u8), 5 => Just(1), 1 => Just(2)];
    let sets = vec((any::<Index>(), any::<Index>()), 0..4);
    (
        arb_text_walk(),
        vec((kind, any::<Index>()), 0..=5),
        proptest::option::weighted(0.3, any::<Index>()),
        sets,
        vec(any::<Index>(), 11),
    )
        .prop_map(|(walk, kinds, padding, sets, drawn)| CanvasCase { walk, kinds, padding, sets, drawn })
}

fn check_canvas(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    case: &CanvasCase,
    collapse: bool,
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(grammar, vocabulary, collapse) else {
        return Err(TestCaseError::reject("the grammar has no text"));
    };
    let oracle = Oracle::new(grammar);
    let any_token = |index: &Index| TokenId(index.index(vocabulary.n_vocab()) as u32);
    let silent: Vec<TokenId> =
        tokens(vocabulary).filter(|&token| vocabulary.token_bytes(token).is_none()).collect();
    let mut config = CanvasConfig::default();
    config.padding = case.padding.map(|index| *index.get(&silent));
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
            let mask = mask_of(vocabulary, |mask| exact(canvas.fill_mask(at, mask, true)));
            prop_assert_eq!(&mask, expected, "position {} of {:?}", at, positions);
        }
        check_questions(&mut canvas, vocabulary, &masks)?;
        let Some((at, token)) = sets.next().filter(|_| !positions.is_empty()) else { break };
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
    if canvas.is_possible().unwrap() {
        let filled = filled_at_random(&mut canvas, vocabulary, &case.drawn);
        let all: Vec<Option<TokenId>> = filled.into_iter().map(Some).collect();
        prop_assert!(search.is_possible(&all, b"", &mut HashMap::new()), "{:?}", all);
    }
    Ok(())
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

fn check_template(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    case: &TemplateCase,
    collapse: bool,
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(grammar, vocabulary, collapse) else {
        return Err(TestCaseError::reject("the grammar has no text"));
    };
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
    let is_possible = checked(&infiller, &|text| oracle.is_word(text), &words, &parts)?;
    write_hole(&infiller, &|text| oracle.is_word(text), &words, &parts, is_possible, &case.choices)
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
    let vocabulary = Vocabulary::from_tokens(tokens, &[TokenId(1)], None).unwrap().shared();
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
