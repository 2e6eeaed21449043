//! Small lexed grammars, and what canvases and templates of them must say.
//!
//! The reference splits a text into tokens as Lark's basic lexer does, terminal by terminal, and parses them.
//! A canvas is decided by trying all tokens at all masked positions; a template from both sides, as in
//! `exhaustive`.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::{ExprId, GrammarBuilder, Layout, LexedGrammar, RuleId, TerminalId};
use maskwright_infill::{Canvas, CanvasConfig, Hole, InfillLimits, Infiller, MaskStatus, Part, Template};
use maskwright_lexing::{Flags, LarkTerminal, Pattern, parse_python};
use maskwright_oracle::LexedOracle;
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{arb_hole, check_questions, checked, exact, filled_at_random, mask_of, tokens, write_hole};

/// A grammar and what makes indentation in it, and the characters that its texts are tried with.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) grammar: LexedGrammar<LarkTerminal>,
    pub(crate) layout: Option<Layout>,
    pub(crate) alphabet: &'static str,
    /// How long the words are that templates are cut from.
    pub(crate) n_letters: usize,
}

pub(crate) fn cases() -> ProptestConfig {
    cases_or(200)
}

/// So many cases, if the environment does not say how many.
pub(crate) fn cases_or(n: u32) -> ProptestConfig {
    let cases = maskwright_oracle::cases(n);
    ProptestConfig {
        cases,
        max_shrink_iters: 2_000,
        max_global_rejects: cases * 20,
        ..ProptestConfig::default()
    }
}

pub(crate) fn regexp(source: &str, priority: i32) -> LarkTerminal {
    LarkTerminal {
        name: String::new(),
        pattern: parse_python(source, Flags::default(), &Fuel::unlimited()).unwrap(),
        source_length: source.len(),
        string: None,
        flags: Flags::default(),
        priority,
    }
}

pub(crate) fn string(text: &str) -> LarkTerminal {
    LarkTerminal {
        string: Some(text.to_owned()),
        pattern: Pattern::literal(text.as_bytes()),
        source_length: text.len(),
        ..regexp("a", 0)
    }
}

/// A right-hand side.
#[derive(Clone, Debug)]
pub(crate) enum Rhs {
    Terminal(usize),
    Rule(usize),
    Seq(Vec<Rhs>),
    Alt(Vec<Rhs>),
    Repeat(Box<Rhs>, u32, Option<u32>),
}

impl Rhs {
    fn build(&self, builder: &mut GrammarBuilder, terminals: &[ExprId], rules: &[RuleId]) -> ExprId {
        let all = |parts: &[Rhs], builder: &mut GrammarBuilder| -> Vec<ExprId> {
            parts.iter().map(|part| part.build(builder, terminals, rules)).collect()
        };
        match self {
            Rhs::Terminal(index) => terminals[index % terminals.len()],
            Rhs::Rule(index) => builder.rule(rules[index % rules.len()]),
            Rhs::Seq(parts) => {
                let parts = all(parts, builder);
                builder.seq(&parts)
            }
            Rhs::Alt(parts) => {
                let parts = all(parts, builder);
                builder.alt(&parts)
            }
            Rhs::Repeat(inner, min, max) => {
                let inner = inner.build(builder, terminals, rules);
                builder.repeat(inner, *min, *max)
            }
        }
    }
}

/// The grammar of `rules` over `terminals` and those that are declared, and, where there is one, an ignored
/// terminal.
pub(crate) fn grammar(
    mut terminals: Vec<LarkTerminal>,
    declared: &[&str],
    ignored: Option<LarkTerminal>,
    rules: &[Rhs],
) -> LexedGrammar<LarkTerminal> {
    let n_read = terminals.len();
    terminals.extend(ignored);
    for (id, terminal) in terminals.iter_mut().enumerate() {
        // One character behind another tells the words for terminals apart.
        terminal.name = format!("{};", char::from(b'A' + id as u8));
    }
    let declared: Vec<String> = declared.iter().map(|name| format!("{name};")).collect();
    let names: Vec<&String> = terminals.iter().map(|terminal| &terminal.name).chain(&declared).collect();
    let mut builder = GrammarBuilder::new();
    let ids = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &names);
    let rule_ids: Vec<RuleId> = (0..rules.len()).map(|index| builder.declare(format!("r{index}"))).collect();
    for (rule, &id) in rules.iter().zip(&rule_ids) {
        let read: Vec<ExprId> = [&ids[..n_read], &ids[terminals.len()..]].concat();
        let body = rule.build(&mut builder, &read, &rule_ids);
        builder.define(id, body);
    }
    let ignored = (n_read..terminals.len()).map(TerminalId::from_index).collect();
    LexedGrammar { rules: builder.finish(rule_ids[0]).unwrap(), terminals, declared, ignored }
}

/// The tokens, then EOS and a token that is no text.
pub(crate) fn vocabulary(tokens: &[String]) -> Arc<Vocabulary> {
    let eos = tokens.len() as u32;
    let texts = tokens.iter().map(|token| Some(token.clone().into_bytes())).chain([None, None]).collect();
    Vocabulary::from_tokens(texts, &[TokenId(eos)], None).unwrap().shared()
}

/// `merge_alike` and `narrow_first` of the limits.
pub(crate) type Options = (bool, bool);

pub(crate) fn infiller(
    subject: &Subject,
    vocabulary: &Arc<Vocabulary>,
    (merge_alike, narrow_first): Options,
) -> Option<Infiller> {
    let mut limits = InfillLimits::default();
    (limits.merge_alike, limits.narrow_first) = (merge_alike, narrow_first);
    match Infiller::lexed(
        &subject.grammar,
        subject.layout.as_ref(),
        vocabulary.clone(),
        limits,
        &Fuel::unlimited(),
    ) {
        Ok(infiller) => Some(infiller),
        Err(error) => {
            // Sessions of a few grammars would need too much work.
            assert!(error.is_limit() || error.to_string().contains("no text"), "{error}");
            None
        }
    }
}

/// The reference, with what it said.
pub(crate) struct Judge {
    oracle: LexedOracle,
    alphabet: &'static str,
    known: RefCell<HashMap<Vec<u8>, bool>>,
}

impl Judge {
    pub(crate) fn new(subject: &Subject) -> Judge {
        let oracle = LexedOracle::new(&subject.grammar, subject.layout.clone());
        Judge { oracle, alphabet: subject.alphabet, known: RefCell::default() }
    }

    pub(crate) fn is_word(&self, text: &[u8]) -> bool {
        if let Some(&known) = self.known.borrow().get(text) {
            return known;
        }
        let is_word = self.oracle.is_word(text);
        self.known.borrow_mut().insert(text.to_vec(), is_word);
        is_word
    }

    /// Of the contextual lexer.
    pub(crate) fn contextual(subject: &Subject) -> Judge {
        let oracle = LexedOracle::contextual(&subject.grammar, subject.layout.clone());
        Judge { oracle, ..Judge::new(subject) }
    }

    /// All words over the alphabet up to a length, shortest first.
    fn words_up_to(&self, length: usize) -> Vec<Vec<u8>> {
        let mut texts = vec![Vec::new()];
        let mut begin = 0;
        for _ in 0..length {
            let end = texts.len();
            for index in begin..end {
                texts.extend(
                    self.alphabet
                        .bytes()
                        .map(|letter| [&texts[index][..], &[letter]].concat())
                        .collect::<Vec<_>>(),
                );
            }
            begin = end;
        }
        texts.retain(|text| self.is_word(text));
        texts
    }

    /// Whether a canvas that is full is one word, and EOS and padding behind it.
    fn is_full_word(&self, vocabulary: &Vocabulary, filled: &[TokenId], padding: Option<TokenId>) -> bool {
        let mut text = Vec::new();
        let mut rest = filled;
        while let [first, behind @ ..] = rest
            && let Some(bytes) = vocabulary.token_bytes(*first)
        {
            text.extend_from_slice(bytes);
            rest = behind;
        }
        let is_tail = match rest {
            [] => true,
            [first, behind @ ..] => {
                vocabulary.is_eos(*first)
                    && behind.iter().all(|&token| vocabulary.is_eos(token) || Some(token) == padding)
            }
        };
        is_tail && self.is_word(&text)
    }

    /// All ways to fill `positions`.
    pub(crate) fn fillings(
        &self,
        vocabulary: &Vocabulary,
        positions: &[Option<TokenId>],
        padding: Option<TokenId>,
    ) -> Vec<Vec<TokenId>> {
        let mut all: Vec<Vec<TokenId>> = vec![Vec::new()];
        for position in positions {
            let choices: Vec<TokenId> =
                position.map_or_else(|| tokens(vocabulary).collect(), |token| vec![token]);
            all = all
                .into_iter()
                .flat_map(|filled| choices.iter().map(move |&token| [&filled[..], &[token]].concat()))
                .collect();
        }
        all.retain(|filled| self.is_full_word(vocabulary, filled, padding));
        all
    }
}

/// What a canvas is made of: a word's tokens, any tokens, masks.
#[derive(Clone, Debug)]
pub(crate) struct CanvasCase {
    kinds: Vec<(u8, Index)>,
    has_padding: bool,
    sets: Vec<(Index, Index)>,
    drawn: Vec<Index>,
}

pub(crate) fn arb_canvas() -> impl Strategy<Value = CanvasCase> {
    let kind = prop_oneof![3 => Just(0u8), 3 => Just(1)];
    let sets = vec((any::<Index>(), any::<Index>()), 0..3);
    (vec((kind, any::<Index>()), 0..=4), any::<bool>(), sets, vec(any::<Index>(), 11))
        .prop_map(|(kinds, has_padding, sets, drawn)| CanvasCase { kinds, has_padding, sets, drawn })
}

pub(crate) fn check_canvas(
    subject: &Subject,
    vocabulary: &Arc<Vocabulary>,
    case: &CanvasCase,
    options: Options,
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(subject, vocabulary, options) else {
        return Err(TestCaseError::reject("the grammar has no text"));
    };
    let judge = Judge::new(subject);
    let padding = case.has_padding.then(|| TokenId(vocabulary.n_vocab() as u32 - 1));
    // The known positions are those of one of the words, if there is one.
    let masked = vec![None; case.kinds.len().min(3)];
    let words = judge.fillings(vocabulary, &masked, padding);
    let any_token = |index: &Index| TokenId(index.index(vocabulary.n_vocab()) as u32);
    let word = case.kinds.first().filter(|_| !words.is_empty()).map(|(_, index)| index.get(&words).clone());
    let mut positions: Vec<Option<TokenId>> = case
        .kinds
        .iter()
        .enumerate()
        .map(|(at, (kind, index))| {
            let known = word.as_ref().and_then(|word| word.get(at).copied());
            (*kind == 1).then(|| known.unwrap_or_else(|| any_token(index)))
        })
        .collect();
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::with_padding(padding)).unwrap();
    let mut sets = case.sets.iter();
    loop {
        let fillings = judge.fillings(vocabulary, &positions, padding);
        prop_assert_eq!(canvas.is_possible().unwrap(), !fillings.is_empty(), "{:?}", positions);
        match canvas.complete().unwrap() {
            None => prop_assert!(fillings.is_empty()),
            Some(filled) => prop_assert!(fillings.contains(&filled), "{:?} gave {:?}", positions, filled),
        }
        let mut masks = Vec::new();
        for at in 0..positions.len() {
            let mut open = positions.clone();
            open[at] = None;
            let allowed: BTreeSet<TokenId> =
                judge.fillings(vocabulary, &open, padding).iter().map(|filled| filled[at]).collect();
            let expected: Vec<bool> = tokens(vocabulary).map(|token| allowed.contains(&token)).collect();
            let mask = mask_of(vocabulary, |mask| exact(canvas.fill_mask(at, mask, true)));
            prop_assert_eq!(&mask, &expected, "position {} of {:?}", at, positions);
            masks.push(expected);
        }
        check_questions(&mut canvas, vocabulary, &masks)?;
        let Some((at, token)) = sets.next().filter(|_| !positions.is_empty()) else { break };
        let at = at.index(positions.len());
        let allowed: Vec<TokenId> = tokens(vocabulary).filter(|token| masks[at][token.index()]).collect();
        let token =
            if allowed.is_empty() || token.index(5) == 0 { any_token(token) } else { *token.get(&allowed) };
        let is_allowed = masks[at][token.index()];
        prop_assert_eq!(canvas.set(at, token).unwrap(), is_allowed);
        if is_allowed {
            prop_assert!(canvas.undo());
            prop_assert_eq!(canvas.positions(), &positions[..]);
            prop_assert!(canvas.set(at, token).unwrap());
            positions[at] = Some(token);
        }
        prop_assert_eq!(canvas.positions(), &positions[..]);
    }
    if canvas.is_possible().unwrap() {
        let filled = filled_at_random(&mut canvas, vocabulary, &case.drawn);
        let fillings = judge.fillings(vocabulary, &positions, padding);
        prop_assert!(fillings.contains(&filled), "{:?} gave {:?}", positions, filled);
    }
    Ok(())
}

/// Parts as cuts of a word, or of a text that is none.
#[derive(Clone, Debug)]
pub(crate) struct TemplateCase {
    word: Index,
    pub(crate) parts: Vec<(usize, Option<Hole>)>,
    noise: Option<String>,
    choices: Vec<Index>,
}

pub(crate) fn arb_template() -> impl Strategy<Value = TemplateCase> {
    let part = (0usize..3, proptest::option::weighted(0.55, arb_hole()));
    let noise = proptest::option::weighted(0.1, "[ab. ]{1,2}");
    (any::<Index>(), vec(part, 0..=4), noise, vec(any::<Index>(), 0..3))
        .prop_map(|(word, parts, noise, choices)| TemplateCase { word, parts, noise, choices })
}

pub(crate) fn check_template(
    subject: &Subject,
    vocabulary: &Arc<Vocabulary>,
    case: &TemplateCase,
    options: Options,
) -> Result<(), TestCaseError> {
    let Some(infiller) = infiller(subject, vocabulary, options) else {
        return Err(TestCaseError::reject("the grammar has no text"));
    };
    let judge = Judge::new(subject);
    let words = judge.words_up_to(subject.n_letters);
    let text = if words.is_empty() { b"ab.".to_vec() } else { case.word.get(&words).clone() };
    let words: BTreeSet<Vec<u8>> = words.into_iter().collect();
    let mut at = 0;
    let mut parts = Vec::new();
    for &(n_bytes, hole) in &case.parts {
        let end = (at + n_bytes).min(text.len());
        parts.push(hole.map_or_else(|| Part::Text(text[at..end].to_vec()), Part::Hole));
        at = end;
    }
    parts.extend(case.noise.clone().map(|noise| Part::Text(noise.into_bytes())));
    let is_word = |text: &[u8]| judge.is_word(text);
    let is_possible = checked(&infiller, &is_word, &words, &parts)?;
    write_hole(&infiller, &is_word, &words, &parts, is_possible, &case.choices)
}

pub(crate) fn arb_parts(text: &'static str) -> impl Strategy<Value = Vec<Part>> {
    let part = prop_oneof![
        2 => text.prop_map(|text| Part::Text(text.into_bytes())),
        3 => arb_hole().prop_map(Part::Hole),
    ];
    vec(part, 1..=5)
}

/// Whether masks with all optimisations are those with none, hole by hole, and after some tokens in each.
pub(crate) fn check_ways(
    subject: &Subject,
    vocabulary: &Arc<Vocabulary>,
    parts: &[Part],
    choices: &[Index],
) -> Result<(), TestCaseError> {
    let infillers =
        [true, false].map(|is_optimised| infiller(subject, vocabulary, (is_optimised, is_optimised)));
    let [Some(optimised), Some(plain)] = infillers else {
        return Err(TestCaseError::reject("the grammar has no text"));
    };
    let mut templates = [optimised, plain].map(|infiller| Template::new(&infiller, parts.to_vec()).unwrap());
    let n_holes = parts.iter().filter(|part| matches!(part, Part::Hole(_))).count();
    for hole in 0..n_holes {
        let mut prefix: Vec<TokenId> = Vec::new();
        for choice in choices {
            let mut is_exact = true;
            let [found, plainly] = templates.each_mut().map(|template| {
                mask_of(vocabulary, |mask| {
                    let status = template.fill_mask(hole, &prefix, mask).unwrap();
                    is_exact &= status == MaskStatus::Exact;
                })
            });
            // Sessions of a few random grammars reach their limit; too many such cases fail the test.
            prop_assume!(is_exact);
            prop_assert_eq!(&found, &plainly, "behind {:?} in hole {}", &prefix, hole);
            let is_allowed = |token: &TokenId| found[token.index()] && !vocabulary.is_eos(*token);
            let allowed: Vec<TokenId> = tokens(vocabulary).filter(is_allowed).collect();
            if allowed.is_empty() {
                break;
            }
            prefix.push(*choice.get(&allowed));
        }
    }
    Ok(())
}
