//! The tree of what a search tried, for every strategy.

use std::collections::HashSet;

use maskwright_decode::{SamplerConfig, Strategy};
use maskwright_vocabulary::TokenId;

use super::{PROMPT, Texts, go_on, log_likelihood, model, search};

/// Each token comes once after its parent, with the model's own likelihood, and the tree has every text of
/// the outcome.
#[test]
fn is_a_tree_with_the_texts_in_it() {
    let language = Texts::new(6);
    for name in Strategy::NAMES {
        let strategy = Strategy::named(name, None, SamplerConfig::default()).unwrap();
        let outcome = strategy.run(&mut model(5), &language, &PROMPT, &search(6), &mut go_on).unwrap().0;
        assert!(outcome.explored.len() > outcome.texts[0].n_tokens, "{name}: the tree has one branch");
        let mut texts: Vec<Vec<TokenId>> = Vec::new();
        let mut seen = HashSet::new();
        for (index, token) in outcome.explored.iter().enumerate() {
            assert!(token.parent.is_none_or(|parent| parent < index), "{name}");
            assert!(seen.insert((token.parent, token.id)), "{name}: twice");
            let mut text = token.parent.map_or(Vec::new(), |parent| texts[parent].clone());
            text.push(token.id);
            let expected = log_likelihood(&mut model(5), &text);
            assert!((token.log_likelihood - expected).abs() < 1e-4, "{name}: {text:?}");
            let is_whole = language.texts.contains(&text);
            assert_eq!(token.ended.is_some_and(|reason| reason.is_complete()), is_whole, "{name}: {text:?}");
            texts.push(text);
        }
        for text in &outcome.texts {
            let path = outcome.path(text);
            assert_eq!(path.len(), text.n_tokens, "{name}");
            let last = outcome.explored[*path.last().unwrap()];
            assert!((last.log_likelihood - text.log_likelihood).abs() < 1e-9, "{name}");
            assert_eq!(last.ended, Some(text.finish_reason), "{name}");
        }
    }
}
