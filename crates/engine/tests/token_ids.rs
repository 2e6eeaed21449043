//! Every call that takes a token id refuses one that no token has. Replays a panic of `accept_token(-1)`
//! under "any token but …".

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::sync::Arc;

use maskwright_automata::{Fuel, Regex};
use maskwright_engine::{Compiler, EngineGrammar, Matcher, MatcherConfig};
use maskwright_grammar::{Grammar, TokenSet};
use maskwright_vocabulary::{TokenId, Vocabulary};

/// Single bytes, a joined token and special ones; the vocabulary is wider than its tokens.
fn vocabulary(width: usize) -> Arc<Vocabulary> {
    let bytes = (0..=255u8).map(|byte| Some(vec![byte]));
    let named = ["ab", "<think>", "</s>"].map(|name| Some(name.as_bytes().to_vec()));
    Vocabulary::from_tokens(bytes.chain(named).collect(), &[TokenId(258)], Some(width)).unwrap().shared()
}

fn grammars(vocabulary: &Arc<Vocabulary>) -> Vec<Arc<EngineGrammar>> {
    let first = TokenSet::ids(0, 0);
    let regexes = [
        Regex::any_text(),
        first.regex(),
        first.clone().all_others().regex(),
        TokenSet::any().regex().star(),
        TokenSet::named("<think>").all_others().regex().plus(),
        Regex::concat([
            TokenSet::named("<think>").regex(),
            TokenSet::any().regex().star(),
            Regex::any_text(),
        ]),
    ];
    let compiler = Compiler::new(vocabulary.clone(), Default::default());
    let compile = |regex| compiler.compile(Grammar::from_regex(regex), &Fuel::unlimited()).unwrap();
    regexes.map(compile).to_vec()
}

#[test]
fn ids_that_no_token_has_are_refused() {
    for width in [259, 260, 288, 300, 1_000] {
        let vocabulary = vocabulary(width);
        let width = width as u32;
        // After the last token, after its mask word, in the id range of symbols of named tokens, and -1 as
        // unsigned.
        let ids = [width, width + 1, width + 31, width + 32, width + 200, width + 400, width + 600];
        let ids = ids.into_iter().chain([1 << 22, 1 << 31, u32::MAX - 1, u32::MAX]).map(TokenId);
        for grammar in grammars(&vocabulary) {
            let with_stops = grammar.with_stop_tokens(&[TokenId(256)]).unwrap();
            for (grammar, limit) in [(&grammar, None), (&grammar, Some(20)), (&with_stops, None)] {
                let mut matcher =
                    Matcher::with_config(grammar, &MatcherConfig::with_max_tokens(limit)).unwrap();
                for token in ids.clone() {
                    assert!(!matcher.mask().unwrap().contains(token));
                    assert!(!matcher.accept_token(token).unwrap(), "{token:?} of {width}");
                    assert!(!matcher.try_accept_token(token).is_some_and(|accepted| accepted.unwrap()));
                    assert_eq!(matcher.accept_tokens(&[token, TokenId(1)]).unwrap(), 0);
                    assert_eq!(matcher.validate_tokens(&[token]).unwrap(), 0);
                    assert!(matcher.explain(token).unwrap().contains("refused"));
                    assert_eq!(matcher.n_steps(), 0);
                    assert!(grammar.with_stop_tokens(&[token]).is_err());
                    assert!(!matcher.is_broken());
                }
                assert!((0..width).any(|id| matcher.validate_tokens(&[TokenId(id)]).unwrap() == 1));
            }
        }
        for token in ids {
            assert_eq!((vocabulary.token_bytes(token), vocabulary.name(token)), (None, None));
            assert!(!vocabulary.has_token(token) && !vocabulary.is_eos(token));
        }
    }
}
