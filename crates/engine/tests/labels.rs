//! Labels that texts have passed, beside a naive reader of small grammars.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, LabelledGrammar, Matcher, PassedLabels};
use maskwright_grammar::{ExprId, Grammar, GrammarBuilder, Label, RuleId};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;

/// A right-hand side.
#[derive(Clone, PartialEq, Debug)]
enum Part {
    Byte(u8),
    Seq(Vec<Part>),
    Alt(Vec<Part>),
    Star(Box<Part>),
    Rule(usize),
    /// A part with a number.
    Labelled(u32, Box<Part>),
    Label(Label),
}

/// Rules; the first is the start. Rules name later ones only, or stand after a byte.
type Rules = Vec<Part>;

fn expr(builder: &mut GrammarBuilder, ids: &[RuleId], part: &Part, has_labels: bool) -> ExprId {
    let all = |builder: &mut GrammarBuilder, parts: &[Part]| -> Vec<ExprId> {
        parts.iter().map(|part| expr(builder, ids, part, has_labels)).collect()
    };
    match part {
        Part::Byte(byte) => builder.literal([*byte]),
        Part::Seq(parts) => {
            let parts = all(builder, parts);
            builder.seq(&parts)
        }
        Part::Alt(parts) => {
            let parts = all(builder, parts);
            builder.alt(&parts)
        }
        Part::Star(part) => {
            let part = expr(builder, ids, part, has_labels);
            builder.repeat(part, 0, None)
        }
        Part::Rule(rule) => builder.rule(ids[*rule]),
        Part::Labelled(number, part) => {
            let part = expr(builder, ids, part, has_labels);
            if has_labels { builder.labelled(*number, part) } else { part }
        }
        Part::Label(label) if has_labels => builder.label(*label),
        Part::Label(_) => builder.epsilon(),
    }
}

fn grammar(rules: &Rules, has_labels: bool) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let ids: Vec<RuleId> = (0..rules.len()).map(|i| builder.declare(format!("r{i}"))).collect();
    for (rule, part) in ids.iter().zip(rules) {
        let body = expr(&mut builder, &ids, part, has_labels);
        builder.define(*rule, body);
    }
    builder.finish(ids[0]).unwrap()
}

type Passed = Vec<(Label, usize)>;

/// Whether a list counts before another that comes to the same place after `now` bytes.
fn counts_before(one: &Passed, other: &Passed, now: usize) -> bool {
    let same = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let rank = |list: &Passed| match list.get(same) {
        Some(&(label, at)) if at < now => (0, Some((label.number(), matches!(label, Label::Begin(_))))),
        None => (1, None),
        Some(&(label, _)) => (2, Some((label.number(), matches!(label, Label::Begin(_))))),
    };
    let length = |list: &Passed| match list.get(same) {
        Some(&(Label::Begin(_), at)) => now as i64 - at as i64,
        Some(&(Label::End(_), at)) => at as i64,
        None => 0,
    };
    rank(one) < rank(other) || rank(one) == rank(other) && length(one) > length(other)
}

/// Readings: what is still to be read, and what was passed.
type Readings = Vec<(Vec<Part>, Passed)>;

/// Adds a reading, unless one is there that counts before it.
fn add(readings: &mut Readings, rest: Vec<Part>, passed: Passed, now: usize) -> bool {
    match readings.iter_mut().find(|(known, _)| *known == rest) {
        None => readings.push((rest, passed)),
        Some((_, known)) if counts_before(&passed, known, now) => *known = passed,
        Some(_) => return false,
    }
    true
}

/// The readings that begin with a byte, or that are at the end.
fn expanded(rules: &Rules, from: Readings, now: usize) -> Readings {
    let mut seen: Readings = Vec::new();
    let mut waiting = from;
    while let Some((mut rest, mut passed)) = waiting.pop() {
        if !add(&mut seen, rest.clone(), passed.clone(), now) || rest.is_empty() {
            continue;
        }
        match rest.remove(0) {
            Part::Byte(_) => {}
            Part::Seq(parts) => waiting.push(([parts, rest].concat(), passed)),
            Part::Alt(parts) => {
                for part in parts {
                    waiting.push(([vec![part], rest.clone()].concat(), passed.clone()));
                }
            }
            Part::Star(part) => {
                waiting.push((rest.clone(), passed.clone()));
                let again = Part::Star(part.clone());
                waiting.push(([vec![*part, again], rest].concat(), passed));
            }
            Part::Rule(rule) => waiting.push(([vec![rules[rule].clone()], rest].concat(), passed)),
            Part::Labelled(number, part) => {
                let end = Part::Label(Label::End(number));
                passed.push((Label::Begin(number), now));
                waiting.push(([vec![*part, end], rest].concat(), passed));
            }
            Part::Label(label) => {
                passed.push((label, now));
                waiting.push((rest, passed));
            }
        }
    }
    seen.retain(|(rest, _)| matches!(rest.first(), None | Some(Part::Byte(_))));
    seen
}

/// What all readings have passed, and how far they agree, after each beginning of a text; then what the
/// whole text has passed, if it may end.
fn naive(rules: &Rules, text: &[u8]) -> (Vec<(Passed, usize)>, Option<Passed>) {
    let mut readings = expanded(rules, vec![(vec![Part::Rule(0)], Vec::new())], 0);
    let mut all = Vec::new();
    for now in 0..=text.len() {
        let lists: Vec<&Passed> = readings.iter().map(|(_, passed)| passed).collect();
        let Some(&first) = lists.first() else { break };
        let is_common = |&length: &usize| lists.iter().all(|list| list.get(..length) == first.get(..length));
        let length = (0..=first.len()).take_while(is_common).last().unwrap_or(0);
        let agreed = lists.iter().filter_map(|list| list.get(length)).map(|&(_, at)| at).min();
        all.push((first[..length].to_vec(), agreed.unwrap_or(now)));
        if let Some(&byte) = text.get(now) {
            readings.retain(|(rest, _)| rest.first() == Some(&Part::Byte(byte)));
            readings.iter_mut().for_each(|(rest, _)| drop(rest.remove(0)));
            readings = expanded(rules, readings, now + 1);
        }
    }
    let whole = readings.into_iter().find(|(rest, _)| rest.is_empty());
    (all, whole.map(|(_, passed)| passed))
}

fn part() -> impl Strategy<Value = Part> {
    let leaf = prop_oneof![
        4 => prop_oneof![Just(b'a'), Just(b'b')].prop_map(Part::Byte),
        // After a byte, so that no rule begins with itself.
        1 => (prop_oneof![Just(b'a'), Just(b'b')], 0..2_usize)
            .prop_map(|(byte, rule)| Part::Seq(vec![Part::Byte(byte), Part::Rule(rule)])),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Part::Seq),
            prop::collection::vec(inner.clone(), 1..3).prop_map(Part::Alt),
            inner.clone().prop_map(|part| Part::Star(Box::new(part))),
            (0..4_u32, inner).prop_map(|(number, part)| Part::Labelled(number, Box::new(part))),
        ]
    })
}

/// The tokens `a`, `b`, `ab`, `ba` and one that ends texts.
fn compiler() -> Compiler {
    let tokens = ["a", "b", "ab", "ba", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(4)], None).unwrap().shared();
    Compiler::new(vocabulary, Default::default())
}

fn both(rules: &Rules) -> Option<(Matcher, Arc<LabelledGrammar>)> {
    let (compiler, fuel) = (compiler(), Fuel::unlimited());
    let plain = compiler.compile(grammar(rules, false), &fuel).ok()?;
    let labelled = plain.labelled(grammar(rules, true), &[], &fuel).unwrap();
    Some((Matcher::new(&plain), labelled))
}

/// What was passed at the end of what was read.
fn state(labels: &mut PassedLabels) -> (Passed, usize) {
    labels.look_at(labels.n_steps());
    (labels.passed().to_vec(), labels.n_agreed())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn labels_are_those_of_a_naive_reader(
        rules in prop::collection::vec(part(), 2),
        tokens in prop::collection::vec(0..4_u32, 0..6),
        n_back in 0..4_usize,
    ) {
        let Some((mut session, labelled)) = both(&rules) else { return Ok(()) };
        let mut labels = PassedLabels::new(&labelled).unwrap();
        for &token in &tokens {
            session.accept_token(TokenId(token)).unwrap();
        }
        let (all, whole) = naive(&rules, &session.text());
        // One token after the other, all at once, and after going back.
        let mut stepwise = PassedLabels::new(&labelled).unwrap();
        let mut again = session.clone();
        again.reset();
        prop_assert_eq!(&state(&mut stepwise), &all[0]);
        let mut before: Passed = Vec::new();
        for step in session.steps() {
            let maskwright_engine::MatcherStep::Token(token) = step else { unreachable!() };
            again.accept_token(token).unwrap();
            stepwise.follow(&again).unwrap();
            let length = again.text().len();
            prop_assert_eq!(&state(&mut stepwise), &all[length], "after {} of {:?}", length, rules);
            prop_assert!(stepwise.passed().starts_with(&before), "labels only grow with a text");
            before = stepwise.passed().to_vec();
        }
        labels.follow(&session).unwrap();
        prop_assert_eq!(&state(&mut labels), all.last().unwrap());
        let n_back = n_back.min(session.n_steps());
        let mut shorter = session.clone();
        shorter.rollback(n_back).unwrap();
        labels.follow(&shorter).unwrap();
        prop_assert_eq!(&state(&mut labels), &all[shorter.text().len()]);
        prop_assert_eq!(labels.text(), shorter.text());
        if session.accept_token(TokenId(4)).unwrap() {
            labels.follow(&session).unwrap();
            labels.look_at(labels.n_steps());
            prop_assert_eq!(labels.passed(), &whole.unwrap()[..]);
            prop_assert_eq!(labels.n_agreed(), session.text().len());
        }
    }
}

/// The example of the module.
#[test]
fn a_mark_that_is_begun_is_not_yet_text() {
    let byte = |byte| Part::Byte(byte);
    let text = Part::Labelled(
        1,
        Box::new(Part::Star(Box::new(Part::Alt(vec![byte(b'a'), Part::Seq(vec![byte(b'b'), byte(b'a')])])))),
    );
    let call = Part::Labelled(
        2,
        Box::new(Part::Seq(vec![byte(b'b'), byte(b'b'), Part::Star(Box::new(byte(b'a')))])),
    );
    let rules = vec![Part::Seq(vec![text, call]), byte(b'a')];
    let (mut session, labelled) = both(&rules).unwrap();
    let mut labels = PassedLabels::new(&labelled).unwrap();
    let mut after = |bytes: &[u8]| {
        assert!(session.accept_bytes(bytes).unwrap());
        labels.follow(&session).unwrap();
        state(&mut labels)
    };
    let begun = (Label::Begin(1), 0);
    assert_eq!(after(b"a"), (vec![begun], 1));
    // The text, or the call that begins here.
    assert_eq!(after(b"b"), (vec![begun], 1));
    assert_eq!(after(b"a"), (vec![begun], 3));
    assert_eq!(after(b"b"), (vec![begun], 3));
    assert_eq!(after(b"b"), (vec![begun, (Label::End(1), 3), (Label::Begin(2), 3)], 5));
    assert_eq!(after(b"a"), (vec![begun, (Label::End(1), 3), (Label::Begin(2), 3)], 6));
}

/// A rule that begins with itself and with a label has no first label: it could have passed any number.
#[test]
fn labels_without_end_are_a_limit() {
    let rules = vec![
        Part::Labelled(
            1,
            Box::new(Part::Alt(vec![Part::Seq(vec![Part::Rule(0), Part::Byte(b'a')]), Part::Byte(b'b')])),
        ),
        Part::Byte(b'a'),
    ];
    let (_, labelled) = both(&rules).unwrap();
    assert!(PassedLabels::new(&labelled).err().unwrap().is_limit());
}
