//! Random small grammars and regular expressions.
//!
//! The alphabet has three letters and one character of two bytes, so that words meet, tokens straddle
//! terminals and characters are cut. The shapes that parsers get wrong are given weight instead of being left
//! to luck: left recursion, direct, mutual and hidden behind nullable rules; empty rules; unit cycles; rules
//! and terminals without words; ambiguity; nested repetition of nullable things.

use maskwright_automata::{ByteSet, Regex};
use maskwright_grammar::{ExprId, Grammar, GrammarBuilder, RuleId, ShuffleItem, ShuffleList};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The bytes that random grammars and vocabularies are about: `a`, `b`, `c` and the two of `é`. Terminals
/// such as "any text" match others as well.
pub const ALPHABET: &[u8] = b"abc\xc3\xa9";

/// A random expression over [`ALPHABET`], of few nodes. Its language may be empty, and may hold words that
/// are not valid UTF-8.
pub fn arb_regex() -> impl Strategy<Value = Regex> {
    arb_leaf().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 2..=3).prop_map(Regex::concat),
            3 => vec(inner.clone(), 2..=3).prop_map(Regex::union),
            2 => (inner.clone(), arb_bounds()).prop_map(|(inner, (min, max))| inner.repeat(min, max)),
            1 => inner.clone().prop_map(|inner| inner.star()),
            1 => vec(inner.clone(), 2).prop_map(Regex::intersection),
            1 => inner.clone().prop_map(|inner| inner.complement()),
            1 => (arb_text_leaf(), inner).prop_map(|(text, inner)| text.difference(&inner)),
        ]
    })
}

fn arb_leaf() -> impl Strategy<Value = Regex> {
    prop_oneof![
        12 => select(vec!["a", "b", "c", "ab", "ba", "aa", "abc", "é", "aé", "éa"]).prop_map(Regex::literal),
        4 => subsequence(vec![b'a', b'b', b'c'], 1..=3)
            .prop_map(|bytes| Regex::bytes(ByteSet::from_iter(bytes))),
        4 => arb_words(),
        2 => Just(Regex::char_class(&[('b', 'c'), ('à', 'ÿ')])),
        3 => arb_text_leaf(),
        2 => (arb_text_leaf(), arb_words()).prop_map(|(text, words)| text.difference(&words)),
        1 => select(vec![Regex::byte(0xC3), Regex::byte(0xA9)]),
        1 => select(vec![Regex::epsilon(), Regex::empty()]),
    ]
}

/// Languages of valid UTF-8 without an end in sight.
fn arb_text_leaf() -> impl Strategy<Value = Regex> {
    let ab = Regex::bytes(ByteSet::range(b'a', b'b'));
    select(vec![Regex::any_text(), Regex::any_char(), Regex::any_char().plus(), ab.star()])
}

fn arb_words() -> impl Strategy<Value = Regex> {
    let word = vec(select(vec!["a", "b", "c", "é"]), 0..=3);
    vec(word.prop_map(|letters| letters.concat().into_bytes()), 1..=4).prop_map(Regex::words)
}

/// The bounds of a counted repetition.
fn arb_bounds() -> impl Strategy<Value = (u32, Option<u32>)> {
    select(vec![
        (0, None),
        (1, None),
        (2, None),
        (0, Some(1)),
        (0, Some(2)),
        (1, Some(2)),
        (2, Some(2)),
        (2, Some(3)),
        (0, Some(4)),
        (4, None),
        (3, Some(5)),
    ])
}

/// A right-hand side before the number of rules is known.
#[derive(Clone, Debug)]
enum Spec {
    Terminal(Regex),
    /// The rule so many places behind the one that this stands in, going round.
    Rule(usize),
    Epsilon,
    Never,
    Seq(Vec<Spec>),
    Alt(Vec<Spec>),
    Repeat(Box<Spec>, u32, Option<u32>),
    Shuffle {
        items: Vec<(Spec, bool)>,
        others: Box<Spec>,
        separator: Box<Spec>,
        bounds: (u32, Option<u32>),
    },
}

impl Spec {
    fn build(&self, builder: &mut GrammarBuilder, rules: &[RuleId], own: usize) -> ExprId {
        match self {
            Spec::Terminal(regex) => builder.terminal(regex.clone()),
            Spec::Rule(offset) => builder.rule(rules[(own + offset) % rules.len()]),
            Spec::Epsilon => builder.epsilon(),
            Spec::Never => builder.never(),
            Spec::Seq(parts) => {
                let parts: Vec<ExprId> = parts.iter().map(|part| part.build(builder, rules, own)).collect();
                builder.seq(&parts)
            }
            Spec::Alt(parts) => {
                let parts: Vec<ExprId> = parts.iter().map(|part| part.build(builder, rules, own)).collect();
                builder.alt(&parts)
            }
            Spec::Repeat(inner, min, max) => {
                let inner = inner.build(builder, rules, own);
                builder.repeat(inner, *min, *max)
            }
            Spec::Shuffle { items, others, separator, bounds: (min, max) } => {
                let items = items.iter().map(|(item, is_required)| ShuffleItem {
                    expr: item.build(builder, rules, own),
                    is_required: *is_required,
                });
                let list = ShuffleList {
                    items: items.collect(),
                    others: others.build(builder, rules, own),
                    separator: separator.build(builder, rules, own),
                    min: *min,
                    max: *max,
                };
                builder.shuffle(list)
            }
        }
    }
}

/// A random grammar of one to five rules over [`ALPHABET`]; some have no word at all.
pub fn arb_grammar() -> impl Strategy<Value = Grammar> {
    vec(arb_body(), 1..=5).prop_map(|bodies| {
        let mut builder = GrammarBuilder::new();
        let rules: Vec<RuleId> =
            (0..bodies.len()).map(|index| builder.declare(format!("r{index}"))).collect();
        for (own, body) in bodies.iter().enumerate() {
            let body = body.build(&mut builder, &rules, own);
            builder.define(rules[own], body);
        }
        builder.finish(rules[0]).expect("every rule was defined just now")
    })
}

fn arb_body() -> impl Strategy<Value = Spec> {
    let own = Spec::Rule(0);
    let next = Spec::Rule(1);
    prop_oneof![
        8 => arb_spec(),
        // No recursion here: what others are built of.
        8 => arb_regular_spec(),
        // Left recursion with something behind it, directly and by way of the next rule.
        2 => shape([own.clone()], [], arb_spec().boxed()),
        2 => shape([next.clone()], [], arb_spec().boxed()),
        // Hidden left recursion: what stands before it may be empty.
        1 => shape([Spec::Alt(vec![Spec::Epsilon, next.clone()]), own.clone()], [], arb_spec().boxed()),
        1 => shape([next.clone(), own.clone()], [Spec::Epsilon], arb_spec().boxed()),
        // Unit cycles.
        1 => arb_spec().prop_map(|rest| Spec::Alt(vec![Spec::Rule(1), rest])),
        1 => arb_spec().prop_map(|rest| Spec::Alt(vec![Spec::Rule(0), Spec::Epsilon, rest])),
        // Brackets, right recursion, the ambiguous list.
        2 => arb_terminal().prop_map(|t| {
            Spec::Alt(vec![Spec::Seq(vec![t.clone(), Spec::Rule(0), t.clone()]), t])
        }),
        1 => arb_spec().prop_map(|item| Spec::Alt(vec![Spec::Seq(vec![item, Spec::Rule(0)]), Spec::Epsilon])),
        1 => arb_spec().prop_map(|item| {
            Spec::Alt(vec![Spec::Seq(vec![Spec::Rule(0), Spec::Rule(0)]), item])
        }),
        // Recursion without an end.
        1 => arb_spec().prop_map(|item| Spec::Seq(vec![item, Spec::Rule(0)])),
    ]
}

/// `heads item | others | way out`, for random items and ways out.
fn shape<const N: usize, const M: usize>(
    heads: [Spec; N],
    others: [Spec; M],
    item: BoxedStrategy<Spec>,
) -> impl Strategy<Value = Spec> {
    (item, arb_terminal()).prop_map(move |(item, way_out)| {
        let recursive = Spec::Seq(heads.iter().cloned().chain([item]).collect());
        Spec::Alt([recursive].into_iter().chain(others.iter().cloned()).chain([way_out]).collect())
    })
}

fn arb_terminal() -> impl Strategy<Value = Spec> {
    arb_regex().prop_map(Spec::Terminal)
}

fn arb_spec() -> impl Strategy<Value = Spec> {
    arb_operations(prop_oneof![
        10 => arb_terminal(),
        5 => (0usize..5).prop_map(Spec::Rule),
        2 => Just(Spec::Epsilon),
        1 => Just(Spec::Never),
    ])
}

fn arb_regular_spec() -> impl Strategy<Value = Spec> {
    arb_operations(prop_oneof![
        10 => arb_terminal(),
        1 => Just(Spec::Epsilon),
    ])
}

fn arb_operations(leaf: impl Strategy<Value = Spec> + 'static) -> impl Strategy<Value = Spec> {
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 2..=3).prop_map(Spec::Seq),
            3 => vec(inner.clone(), 2..=3).prop_map(Spec::Alt),
            2 => (inner.clone(), arb_bounds())
                .prop_map(|(inner, (min, max))| Spec::Repeat(Box::new(inner), min, max)),
            1 => arb_shuffle(inner),
        ]
    })
}

/// A list in any order; its parts may have no word, or match the empty one.
fn arb_shuffle(inner: impl Strategy<Value = Spec> + Clone) -> impl Strategy<Value = Spec> {
    let others = prop_oneof![2 => Just(Spec::Never), 1 => inner.clone()];
    let separator = prop_oneof![
        4 => select(vec!["b", "c", "ab"]).prop_map(|word| Spec::Terminal(Regex::literal(word))),
        1 => inner.clone(),
        1 => Just(Spec::Epsilon),
    ];
    let bounds =
        select(vec![(0, None), (0, None), (1, None), (2, None), (0, Some(1)), (1, Some(2)), (2, Some(3))]);
    (vec((inner, any::<bool>()), 0..=3), others, separator, bounds).prop_map(
        |(items, others, separator, bounds)| Spec::Shuffle {
            items,
            others: Box::new(others),
            separator: Box::new(separator),
            bounds,
        },
    )
}
