//! Grammars that name tokens by id: masks, acceptance, limits and forced text equal a naive reference's.
//!
//! In the reference, a token that is read by its id is a text of its own, and a session is the set of all
//! texts that its tokens may have spelled.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use maskwright_automata::{Fuel, Regex};
use maskwright_engine::{Compiler, ErrorKind, MaskStatus, Matcher, MatcherConfig, Options};
use maskwright_grammar::{Grammar, GrammarBuilder, TokenItem, TokenSet, collapse_regular};
use maskwright_oracle::{Oracle, arb_grammar, arb_vocabulary};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;

/// A set of tokens: some ids, modulo the vocabulary, and whether all others are meant.
#[derive(Clone, Debug)]
struct Spec {
    ids: Vec<u32>,
    is_negated: bool,
}

impl Spec {
    fn set(&self, vocabulary: &Vocabulary) -> TokenSet {
        let ids = self.ids.iter().map(|id| id % vocabulary.n_vocab() as u32);
        let set = ids.map(|id| TokenSet::ids(id, id)).reduce(TokenSet::and).unwrap();
        if self.is_negated { set.all_others() } else { set }
    }
}

fn arb_spec() -> impl Strategy<Value = Spec> {
    (vec(any::<u32>(), 1..=3), prop::bool::weighted(0.3))
        .prop_map(|(ids, is_negated)| Spec { ids, is_negated })
}

/// The grammar with sets of tokens in place of some of its terminals: a set as the second function writes it.
fn with_sets(
    grammar: &Grammar,
    specs: &[Option<Spec>],
    vocabulary: &Vocabulary,
    written: impl Fn(&TokenSet) -> Regex,
) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let body = builder.embed(grammar, &Fuel::unlimited(), |builder, terminal| {
        let spec = specs.get(terminal.index() % specs.len().max(1)).and_then(Option::as_ref);
        let regex = match spec {
            Some(spec) => written(&spec.set(vocabulary)),
            None => grammar.terminals()[terminal.index()].clone(),
        };
        builder.terminal(regex)
    });
    builder.define(start, body.unwrap());
    builder.finish(start).unwrap()
}

/// What stands for a token that is read by its id.
fn by_id(id: u32) -> Vec<u8> {
    vec![0xFE, id as u8, 0xFE]
}

/// The texts of a set's tokens, for the reference.
fn reference(set: &TokenSet, vocabulary: &Vocabulary) -> Regex {
    let is_named = |id: u32| {
        set.items()
            .iter()
            .any(|item| matches!(item, TokenItem::Ids(first, last) if (*first..=*last).contains(&id)))
    };
    let is_in = |id: &u32| match set.is_negated() {
        false => is_named(*id),
        true => {
            let token = TokenId(*id);
            !is_named(*id) && vocabulary.has_token(token) && !vocabulary.is_eos(token)
        }
    };
    Regex::words((0..vocabulary.n_vocab() as u32).filter(is_in).map(by_id))
}

/// All that the tokens so far may have spelled.
type Texts = BTreeSet<Vec<u8>>;

struct Reference<'a> {
    oracle: Oracle,
    vocabulary: &'a Vocabulary,
    /// Memo: whether some tokens complete one of the texts.
    known: RefCell<HashMap<Texts, Option<bool>>>,
}

/// How many sets of texts are searched for a completion.
const MAX_LOOKED_AT: usize = 300;

/// What a token leads to.
enum After {
    Refused,
    End,
    Texts(Texts),
}

impl Reference<'_> {
    fn is_complete(&self, texts: &Texts) -> bool {
        texts.iter().any(|text| self.oracle.is_word(text))
    }

    fn after(&self, texts: &Texts, id: u32) -> After {
        let token = TokenId(id);
        if self.vocabulary.is_eos(token) && self.is_complete(texts) {
            return After::End;
        }
        let text = self.vocabulary.token_bytes(token).filter(|bytes| !bytes.contains(&0xFF));
        let ways = text.map(<[u8]>::to_vec).into_iter().chain([by_id(id)]);
        let mut after = Texts::new();
        for way in ways {
            let texts = texts.iter().map(|text| [text.as_slice(), &way].concat());
            after.extend(texts.filter(|text| self.oracle.is_prefix(text)));
        }
        if after.is_empty() { After::Refused } else { After::Texts(after) }
    }

    /// Whether the text can be completed with any number of tokens; `None` if the search reaches its limit.
    fn can_end_at_all(&self, texts: &Texts) -> Option<bool> {
        if let Some(&known) = self.known.borrow().get(texts) {
            return known;
        }
        let mut seen = BTreeSet::from([texts.clone()]);
        let mut queue = VecDeque::from([texts.clone()]);
        let mut found = Some(false);
        'search: while let Some(texts) = queue.pop_front() {
            if self.is_complete(&texts) {
                found = Some(true);
                break;
            }
            for id in 0..self.vocabulary.n_vocab() as u32 {
                if let After::Texts(after) = self.after(&texts, id)
                    && seen.insert(after.clone())
                {
                    queue.push_back(after);
                }
                if seen.len() > MAX_LOOKED_AT {
                    found = None;
                    break 'search;
                }
            }
        }
        self.known.borrow_mut().insert(texts.clone(), found);
        found
    }

    /// Whether the text can be completed with at most `n_left` tokens.
    fn can_end(&self, texts: &Texts, n_left: usize) -> bool {
        let has_eos = !self.vocabulary.eos_token_ids().is_empty();
        if self.is_complete(texts) && n_left >= usize::from(has_eos) {
            return true;
        }
        n_left > 0
            && (0..self.vocabulary.n_vocab() as u32).any(|id| match self.after(texts, id) {
                After::Texts(after) => self.can_end(&after, n_left - 1),
                After::Refused => false,
                After::End => true,
            })
    }
}

fn check(
    grammar: &Grammar,
    specs: &[Option<Spec>],
    base: &Arc<Vocabulary>,
    stops: &[u32],
    walk: &[u16],
    limit: Option<usize>,
) -> Result<(), TestCaseError> {
    let stops: Vec<TokenId> = stops.iter().map(|id| TokenId(id % base.n_vocab() as u32)).collect();
    let vocabulary = &base.with_more_eos(&stops).unwrap().shared();
    let named = with_sets(grammar, specs, vocabulary, |set| set.regex());
    let plain = with_sets(grammar, specs, vocabulary, |set| reference(set, vocabulary));
    let reference = Reference { oracle: Oracle::new(&plain), vocabulary, known: RefCell::default() };
    // If so, the remaining tokens have to spell each completion.
    let is_lost = stops.iter().any(|&id| {
        let text = base.token_bytes(id).filter(|text| !text.contains(&0xFF));
        text.is_some_and(|text| vocabulary.fewest_tokens(text)[0].is_none())
    });
    let fuel = Fuel::unlimited();
    let on = Options::default();
    for options in [on, Options { use_rows: false, use_memo: false, ..on }, Options { light_nodes: 0, ..on }]
    {
        let compiler = Compiler::with_options(base.clone(), Default::default(), options);
        for named in [named.clone(), collapse_regular(&named, &fuel).unwrap()] {
            let compiled = compiler.compile(named, &fuel);
            if compiled.is_err() && !stops.is_empty() {
                // Without stop tokens there is no text; with them even less.
                continue;
            }
            let compiled = match compiled.and_then(|compiled| compiled.with_stop_tokens(&stops)) {
                Ok(compiled) => compiled,
                Err(error) if is_lost => {
                    prop_assert_eq!(error.kind(), ErrorKind::NoText, "{}", error);
                    let start = Texts::from([Vec::new()]);
                    let can_end =
                        reference.oracle.is_prefix(b"") && reference.can_end_at_all(&start) == Some(true);
                    prop_assert!(!can_end, "refused as empty, but it has words");
                    continue;
                }
                Err(error) => {
                    prop_assert_eq!(error.kind(), ErrorKind::Grammar, "{}", error);
                    prop_assert!(!reference.oracle.is_prefix(b""), "refused as empty, but it has words");
                    continue;
                }
            };
            let mut texts = Texts::from([Vec::new()]);
            let mut matcher = match Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(limit)) {
                Ok(matcher) => matcher,
                Err(error) => {
                    let needed = Matcher::new(&compiled).tokens_to_finish();
                    let is_too_small =
                        needed.is_ok_and(|needed| limit.is_some_and(|limit| limit < needed.n_tokens));
                    let can_end = reference.can_end(&texts, limit.unwrap_or(0));
                    prop_assert!(is_too_small || error.is_limit() || !can_end, "{error} stops {stops:?}");
                    continue;
                }
            };
            for (n_before, choice) in walk.iter().enumerate() {
                let left = limit.map(|limit| limit - n_before);
                let is_allowed = |id: u32| match (reference.after(&texts, id), left) {
                    (After::Refused, _) => Some(false),
                    (After::End, left) => Some(left != Some(0)),
                    (After::Texts(after), None) if is_lost => reference.can_end_at_all(&after),
                    (After::Texts(_), None) => Some(true),
                    (After::Texts(after), Some(left)) => {
                        Some(left > 0 && reference.can_end(&after, left - 1))
                    }
                };
                let mask = matcher.mask().unwrap();
                prop_assert_eq!(matcher.is_accepting(), reference.is_complete(&texts), "{:?}", texts);
                let nothing_more = vocabulary.eos_token_ids().is_empty() && matcher.is_accepting();
                let is_bound = matcher.mask_status() == MaskStatus::Bound;
                prop_assert!(!is_bound || limit.is_some() || is_lost);
                let mut allowed = Vec::new();
                for id in 0..vocabulary.n_vocab() as u32 {
                    let token = TokenId(id);
                    let is_accepted = matcher.validate_tokens(&[token]).unwrap() == 1;
                    let expected = match is_allowed(id) {
                        Some(expected) if !is_bound => expected,
                        Some(expected) => {
                            prop_assert!(expected || !is_accepted, "accept {} after {:?}", id, texts);
                            is_accepted
                        }
                        None => is_accepted,
                    };
                    prop_assert_eq!(is_accepted, expected, "accept {} after {:?}, {:?}", id, texts, options);
                    if !nothing_more {
                        prop_assert_eq!(
                            mask.contains(token),
                            expected,
                            "{} after {:?}, {:?}",
                            id,
                            texts,
                            options
                        );
                    }
                    allowed.extend(expected.then_some(id));
                }
                prop_assert_eq!(matcher.explain(TokenId(0)).is_ok(), true);
                check_forced(&matcher, &reference, &texts)?;
                prop_assert!(!allowed.is_empty() || limit.is_none() || matcher.is_accepting(), "a dead end");
                let Some(&id) = allowed.get(usize::from(*choice) % allowed.len().max(1)) else { break };
                let before = matcher.fork();
                prop_assert!(matcher.accept_token(TokenId(id)).unwrap());
                match reference.after(&texts, id) {
                    After::Texts(after) => texts = after,
                    _ => {
                        prop_assert!(matcher.is_terminated());
                        break;
                    }
                }
                let mut again = matcher.fork();
                again.rollback(1).unwrap();
                prop_assert_eq!(again.mask().unwrap(), before.fork().mask().unwrap());
            }
            if limit.is_some() && !matcher.is_terminated() {
                let rest = matcher.finish().unwrap();
                prop_assert_eq!(matcher.accept_tokens(&rest).unwrap(), rest.len());
                prop_assert!(matcher.is_accepting());
            }
        }
    }
    Ok(())
}

/// Forced tokens are allowed one after the other, and nothing else is where they stand.
fn check_forced(matcher: &Matcher, reference: &Reference<'_>, texts: &Texts) -> Result<(), TestCaseError> {
    let vocabulary = reference.vocabulary;
    let encode = |bytes: &[u8]| -> Vec<TokenId> {
        let tokens = (0..vocabulary.n_vocab() as u32).map(TokenId);
        let singles =
            bytes.iter().map(|&byte| tokens.clone().find(|&id| vocabulary.token_bytes(id) == Some(&[byte])));
        singles.map_while(|id| id).collect()
    };
    let forced = matcher.forced_tokens(encode).unwrap();
    prop_assert_eq!(matcher.validate_tokens(&forced).unwrap(), forced.len());
    let mut texts = texts.clone();
    for token in forced {
        match reference.after(&texts, token.0) {
            After::Texts(after) => texts = after,
            After::End => break,
            After::Refused => prop_assert!(false, "{} is forced and refused", token.0),
        }
    }
    Ok(())
}

/// So many cases, if the environment (`PROPTEST_CASES`) asks for no other number.
fn cases(default: u32, max_shrink_iters: u32) -> ProptestConfig {
    let config = ProptestConfig { max_shrink_iters, ..ProptestConfig::default() };
    ProptestConfig { cases: maskwright_oracle::cases(default), ..config }
}

proptest! {
    #![proptest_config(cases(300, 20_000))]

    #[test]
    fn masks_equal_the_naive_reference(
        grammar in arb_grammar(),
        specs in vec(proptest::option::weighted(0.6, arb_spec()), 1..=4),
        vocabulary in arb_vocabulary(),
        stops in prop_oneof![Just(Vec::new()), vec(any::<u32>(), 1..=2)],
        walk in vec(any::<u16>(), 1..=5),
    ) {
        check(&grammar, &specs, &vocabulary, &stops, &walk, None)?;
    }
}

proptest! {
    #![proptest_config(cases(100, 2_000))]

    #[test]
    fn limits_equal_the_naive_reference(
        grammar in arb_grammar(),
        specs in vec(proptest::option::weighted(0.6, arb_spec()), 1..=4),
        vocabulary in arb_vocabulary(),
        stops in prop_oneof![Just(Vec::new()), vec(any::<u32>(), 1..=2)],
        walk in vec(any::<u16>(), 1..=2),
        limit in 1usize..=3,
    ) {
        check(&grammar, &specs, &vocabulary, &stops, &walk[..walk.len().min(limit)], Some(limit))?;
    }
}

/// A vocabulary with a token for the byte 0xFF, one that ends with it and one that begins with it.
fn hostile() -> Arc<Vocabulary> {
    let tokens: [&[u8]; 8] = [b"a", b"\xFF", b"\x00", b"a\xFF", b"\xFF\x00", b"<think>", b"\x01", b"</s>"];
    Vocabulary::from_tokens(tokens.map(|token| Some(token.to_vec())).to_vec(), &[TokenId(7)], None)
        .unwrap()
        .shared()
}

#[test]
fn the_byte_0xff_spells_no_part_of_a_named_token() {
    let vocabulary = hostile();
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let (think, any) = (builder.tokens(&TokenSet::named("<think>")), builder.terminal(Regex::any_text()));
    let body = builder.seq(&[any, think, any]);
    builder.define(start, body);
    let grammar = builder.finish(start).unwrap();
    let compiled =
        Compiler::new(vocabulary, Default::default()).compile(grammar, &Fuel::unlimited()).unwrap();
    let mut matcher = Matcher::new(&compiled);
    let allowed =
        |matcher: &mut Matcher| matcher.mask().unwrap().iter().map(|token| token.0).collect::<Vec<_>>();
    assert_eq!(allowed(&mut matcher), [0, 2, 5, 6]);
    for refused in [1, 3, 4, 7] {
        assert!(!matcher.accept_token(TokenId(refused)).unwrap(), "{refused}");
    }
    for bytes in [&b"\xFF"[..], b"\xFF\x00", b"a\xFF\x00", b"\xFF\x01"] {
        assert!(!matcher.accept_bytes(bytes).unwrap());
        assert_eq!(matcher.validate_bytes(bytes).unwrap(), usize::from(bytes[0] == b'a'));
    }
    // Ids of the symbols are no tokens.
    for id in 8..1_000 {
        assert!(!matcher.accept_token(TokenId(id)).unwrap(), "{id}");
    }
    assert!(matcher.accept_token(TokenId(5)).unwrap() && matcher.is_accepting());
    assert_eq!(allowed(&mut matcher), [0, 2, 5, 6, 7], "as a token or as text");
    assert_eq!(matcher.text(), b"<think>");
}

#[test]
fn an_end_of_sequence_token_may_be_named() {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let (end, a) = (builder.tokens(&TokenSet::named("</s>")), builder.literal("a"));
    let body = builder.seq(&[a, end, a]);
    builder.define(start, body);
    let grammar = builder.finish(start).unwrap();
    let compiled = Compiler::new(hostile(), Default::default()).compile(grammar, &Fuel::unlimited()).unwrap();
    let mut matcher = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(4)).unwrap();
    assert!(Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(3)).is_err());
    for id in [0, 7, 0] {
        assert!(!matcher.is_accepting() && matcher.accept_token(TokenId(id)).unwrap());
    }
    assert!(matcher.is_accepting() && !matcher.is_terminated());
    assert_eq!(matcher.text(), b"a</s>a");
    assert!(matcher.accept_token(TokenId(7)).unwrap() && matcher.is_terminated());
    assert_eq!(matcher.text(), b"a</s>a");
    let start = Matcher::new(&compiled);
    assert_eq!(start.forced_bytes().unwrap(), b"a</s>a");
    assert_eq!(
        start.forced_tokens(|bytes| bytes.iter().map(|_| TokenId(0)).collect()).unwrap(),
        [0, 7, 0].map(TokenId)
    );
}

/// A stop token that the grammar names is a part of the text where it must be, and ends the text where it
/// may.
#[test]
fn stop_tokens_may_be_named() {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let (think, a) = (builder.tokens(&TokenSet::named("<think>")), builder.literal("a"));
    let more = builder.repeat(a, 0, Some(2));
    let body = builder.seq(&[think, more]);
    builder.define(start, body);
    let grammar = builder.finish(start).unwrap();
    let compiled = Compiler::new(hostile(), Default::default()).compile(grammar, &Fuel::unlimited()).unwrap();
    let stopped = compiled.with_stop_tokens(&[5, 5, 7].map(TokenId)).unwrap();
    assert!(Arc::ptr_eq(&stopped, &compiled.with_stop_tokens(&[TokenId(5)]).unwrap()), "kept");
    assert!(
        Arc::ptr_eq(&compiled, &compiled.with_stop_tokens(&[TokenId(7)]).unwrap()),
        "EOS ends it in any case"
    );
    let mut matcher = Matcher::new(&stopped);
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [TokenId(5)]);
    assert!(matcher.accept_token(TokenId(5)).unwrap() && !matcher.is_terminated());
    assert_eq!(matcher.mask().unwrap().iter().collect::<Vec<_>>(), [0, 5, 7].map(TokenId));
    assert!(matcher.accept_token(TokenId(5)).unwrap() && matcher.is_terminated());
    assert_eq!(matcher.text(), b"<think>");
    matcher.reset();
    assert_eq!(matcher.accept_tokens(&[5, 0, 5].map(TokenId)).unwrap(), 3, "also after a reset");
    let error = compiled.with_stop_tokens(&[TokenId(8)]).err().unwrap().to_string();
    assert!(error.contains("the vocabulary has 8 ids"), "{error}");
}

#[test]
fn unknown_tokens_are_errors() {
    let compiler = Compiler::new(hostile(), Default::default());
    let error = |set: TokenSet| {
        let error = compiler.compile(Grammar::from_regex(set.regex()), &Fuel::unlimited()).err().unwrap();
        (error.kind(), error.to_string(), error.hint().map(str::to_owned))
    };
    let (kind, message, hint) = error(TokenSet::named("<\\s>"));
    assert_eq!(kind, ErrorKind::Grammar);
    assert!(message.contains(r"no token named `<\s>`; did you mean `</s>`?"), "{message}");
    assert_eq!(hint.as_deref(), Some("did you mean `</s>`?"));
    assert!(error(TokenSet::ids(8, 8)).1.contains("no token has the id 8: the vocabulary has 8 ids"));
    let ids = (0..8).map(|id| TokenSet::ids(id, id)).reduce(TokenSet::and).unwrap();
    assert!(error(ids.all_others()).1.contains("no text"), "there are no others");
}
