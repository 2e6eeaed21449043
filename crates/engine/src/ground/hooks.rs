//! Places in the engine where tests step in: to panic, or to wait for another thread.
//!
//! Nothing in other builds. A hook is a thread's own, so tests do not meet each other's.

#[cfg(test)]
use std::cell::RefCell;

#[cfg(test)]
type Hook = (&'static str, Box<dyn FnOnce()>);

#[cfg(test)]
thread_local! {
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// Lets this thread do `action` when it next comes to the place called `name`.
#[cfg(test)]
pub(crate) fn set(name: &'static str, action: impl FnOnce() + 'static) {
    HOOK.set(Some((name, Box::new(action))));
}

/// The place called `name`.
#[inline(always)]
pub(crate) fn reach(_name: &'static str) {
    #[cfg(test)]
    {
        let is_here = HOOK.with_borrow(|hook| hook.as_ref().is_some_and(|(name, _)| *name == _name));
        if is_here && let Some((_, action)) = HOOK.take() {
            action();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use maskwright_automata::{Fuel, Regex};
    use maskwright_grammar::{Grammar, GrammarBuilder};
    use maskwright_lark::{LarkConfig, parse_lark};
    use maskwright_vocabulary::{Mask, TokenId, Vocabulary};

    use super::set;
    use crate::{Compiler, EngineGrammar, ErrorKind, Matcher, Options};

    fn compiler() -> Compiler {
        let mut tokens: Vec<Option<Vec<u8>>> = (0..=255u8).map(|byte| Some(vec![byte])).collect();
        tokens.extend(["ab", "1,", "a,b", "(a", "=1"].map(|token| Some(token.as_bytes().to_vec())));
        tokens.push(Some(b"</s>".to_vec()));
        let eos = TokenId(tokens.len() as u32 - 1);
        let vocabulary = Vocabulary::from_tokens(tokens, &[eos], None).unwrap().shared();
        // Rows however few tokens there are.
        Compiler::with_options(
            vocabulary,
            Default::default(),
            Options { light_nodes: 0, ..Options::default() },
        )
    }

    fn class(first: u8, last: u8) -> Regex {
        Regex::bytes((first..=last).collect()).plus()
    }

    /// Lists of words, numbers and lists in brackets.
    fn scannerless() -> Arc<EngineGrammar> {
        let mut builder = GrammarBuilder::new();
        let list = builder.declare("list");
        let (word, number) = (builder.terminal(class(b'a', b'z')), builder.terminal(class(b'0', b'9')));
        let (open, close, comma) = (builder.literal("("), builder.literal(")"), builder.literal(","));
        let inner = builder.rule(list);
        let nested = builder.seq(&[open, inner, close]);
        let item = builder.alt(&[word, number, nested]);
        let more = builder.seq(&[comma, inner]);
        let rest = builder.optional(more);
        let body = builder.seq(&[item, rest]);
        builder.define(list, body);
        let grammar: Grammar = builder.finish(list).unwrap();
        compiler().compile(grammar, &Fuel::unlimited()).unwrap()
    }

    fn lexed() -> Arc<EngineGrammar> {
        let source = r#"
            start: item ("," item)*
            item: WORD | NUMBER | "(" start ")"
            WORD: /[a-z]+/
            NUMBER: /[0-9]+/
        "#;
        let grammar = parse_lark(source, "test.lark", &LarkConfig::default(), &Fuel::unlimited()).unwrap();
        compiler().compile_contextual(grammar.lexed, None, &Fuel::unlimited()).unwrap()
    }

    const TEXT: &[u8] = b"(a,12";

    /// The mask and the least number of tokens after `TEXT`, and whether the text goes on.
    type Answers = (Mask, usize, bool);

    fn ask(matcher: &mut Matcher) -> Answers {
        let mask = matcher.mask().unwrap();
        let least = matcher.tokens_to_finish().unwrap().n_tokens;
        (mask, least, matcher.accept_bytes(b"),b").unwrap())
    }

    fn after_text(grammar: &Arc<EngineGrammar>) -> Matcher {
        let mut matcher = Matcher::new(grammar);
        assert!(matcher.accept_bytes(TEXT).unwrap());
        matcher
    }

    /// A session in whose call the place is reached panics and is broken; another one of the same grammar,
    /// begun before, is not.
    fn breaks_one_session(make: fn() -> Arc<EngineGrammar>, place: &'static str) {
        let expected = ask(&mut after_text(&make()));
        let grammar = make();
        let (mut other, mut broken) = (after_text(&grammar), Matcher::new(&grammar));
        set(place, || panic!("on purpose"));
        let call = catch_unwind(AssertUnwindSafe(|| {
            broken.accept_bytes(TEXT).unwrap();
            ask(&mut broken)
        }));
        assert!(call.is_err(), "{place} was not reached");
        assert!(broken.is_broken() && !broken.is_accepting());
        let mut words = vec![0; 1_000];
        assert_eq!(broken.fill_mask(&mut words).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.try_fill_mask(&mut words).unwrap().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.accept_token(TokenId(0)).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.try_accept_token(TokenId(0)).unwrap().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.accept_bytes(b"a").unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.validate_tokens(&[TokenId(0)]).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.rollback(0).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.forced_bytes().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.tokens_to_finish().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.finish().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.expected().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.explain(TokenId(0)).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(broken.fork().mask().unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(ask(&mut other), expected, "after a panic at {place}");
        assert_eq!(ask(&mut after_text(&grammar)), expected);
        broken.reset();
        assert!(broken.accept_bytes(TEXT).unwrap());
        assert_eq!(ask(&mut broken), expected);
    }

    #[test]
    fn a_panic_breaks_one_session() {
        for place in ["step", "mask", "row", "budget", "close"] {
            breaks_one_session(scannerless, place);
        }
    }

    #[test]
    fn a_panic_breaks_one_session_of_a_lexed_grammar() {
        for place in ["lexed step", "lexed mask", "lexed row", "lexed budget", "close"] {
            breaks_one_session(lexed, place);
        }
    }

    /// Two sessions of one grammar make two rows at the same time.
    #[test]
    fn cold_masks_of_one_grammar_are_made_in_parallel() {
        let grammar = scannerless();
        let sessions: Vec<Matcher> = ["a", "1"]
            .map(|text| {
                let mut matcher = Matcher::new(&grammar);
                assert!(matcher.accept_bytes(text.as_bytes()).unwrap());
                matcher
            })
            .into();
        let both = Arc::new(Barrier::new(2));
        thread::scope(|scope| {
            for mut session in sessions {
                let both = both.clone();
                scope.spawn(move || {
                    // Ends only if the other one makes its row meanwhile.
                    set("row", move || {
                        both.wait();
                    });
                    assert!(session.mask().unwrap().len() > 10);
                });
            }
        });
    }

    /// While one session makes a row, another one of the grammar fills a mask that is known, and begins a
    /// text.
    #[test]
    fn known_masks_do_not_wait_for_rows() {
        let grammar = scannerless();
        let mut known = Matcher::new(&grammar);
        known.mask().unwrap();
        let (is_making, is_over) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
        thread::scope(|scope| {
            let mut cold = after_text(&grammar);
            let barriers = (is_making.clone(), is_over.clone());
            scope.spawn(move || {
                set("row", move || {
                    barriers.0.wait();
                    barriers.1.wait();
                });
                cold.mask().unwrap();
            });
            is_making.wait();
            let mut words = vec![0; 9];
            assert!(known.try_fill_mask(&mut words).is_some_and(|filled| filled.is_ok()));
            assert!(known.fill_mask(&mut words).is_ok());
            assert!(Matcher::try_new(&grammar).is_some());
            assert!(Matcher::new(&grammar).accept_bytes(b"a").unwrap());
            is_over.wait();
        });
    }

    /// What `try_fill_mask` and `try_accept_token` say is what the calls that work say.
    #[test]
    fn calls_that_only_look_up_agree_with_those_that_work() {
        for grammar in [scannerless(), lexed()] {
            let mut matcher = Matcher::new(&grammar);
            let mut words = vec![7; 9];
            assert!(matcher.try_fill_mask(&mut words).is_none() && words == [7; 9], "nothing is known yet");
            assert!(matcher.try_accept_token(TokenId(u32::from(b'a'))).is_none());
            for &byte in TEXT {
                let mask = matcher.mask().unwrap();
                matcher.try_fill_mask(&mut words).unwrap().unwrap();
                assert_eq!(words, mask.words());
                let mut trying = matcher.fork();
                assert!(matcher.accept_token(TokenId(u32::from(byte))).unwrap());
                assert!(trying.try_accept_token(TokenId(u32::from(byte))).unwrap().unwrap());
                assert_eq!(trying.try_is_accepting(), Some(matcher.is_accepting()));
                assert_eq!(trying.mask().unwrap(), matcher.mask().unwrap());
                let refused = TokenId(u32::from(b'!'));
                assert!(!trying.accept_token(refused).unwrap());
                assert!(!trying.try_accept_token(refused).unwrap().unwrap());
            }
        }
    }
}
