//! [`PrefixConstraint`] against its naive twin: the finite language with the prefix put in front of each
//! word.

use crate::support::{EOS, Words, tokens};
use maskwright_decode::{Constraint, PrefixConstraint, is_allowed, mask_len};
use maskwright_vocabulary::TokenId;
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

#[test]
fn equals_the_language_with_the_prefix_in_front() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for _ in 0..300 {
        let string = |rng: &mut ChaCha8Rng, shortest: usize| -> String {
            let len = rng.random_range(shortest..5);
            (0..len).map(|_| *['a', 'b'].choose(rng).unwrap()).collect()
        };
        let texts: Vec<String> = (0..8).map(|_| string(&mut rng, 0)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).chain(["a", "b"]).collect();
        let tokens = tokens(&texts);
        let words: Vec<String> = (0..4).map(|_| string(&mut rng, 0)).collect();
        let prefix = string(&mut rng, 0);
        let whole: Vec<String> = words.iter().map(|word| format!("{prefix}{word}")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
        let inner = Words::new(&words, &tokens);
        let mut prefixed = PrefixConstraint::new(inner, prefix.clone().into_bytes(), &tokens);
        let mut naive = Words::new(&whole, &tokens);
        walk(&mut rng, &mut prefixed, &mut naive, tokens.len());
    }
}

/// Random steps and rollbacks on both, with equal answers throughout.
fn walk(rng: &mut ChaCha8Rng, prefixed: &mut impl Constraint, naive: &mut Words, n_tokens: usize) {
    let mut n_steps = 0;
    for _ in 0..25 {
        let mut masks = [vec![0; mask_len(n_tokens)], vec![0; mask_len(n_tokens)]];
        prefixed.fill_mask(&mut masks[0]).unwrap();
        naive.fill_mask(&mut masks[1]).unwrap();
        assert_eq!(masks[0], masks[1], "after {:?}", String::from_utf8_lossy(&naive.text));
        assert_eq!(prefixed.is_accepting(), naive.is_accepting());
        assert_eq!(prefixed.is_terminated(), naive.is_terminated());
        match rng.random_range(0..4) {
            0 => {
                let n_back = rng.random_range(0..=n_steps);
                prefixed.rollback(n_back).unwrap();
                naive.rollback(n_back).unwrap();
                n_steps -= n_back;
            }
            1 => {
                let bytes = &b"abab"[rng.random_range(0..2)..][..rng.random_range(1..3)];
                assert_eq!(prefixed.accepts_bytes(bytes).unwrap(), naive.accepts_bytes(bytes).unwrap());
                let accepted = prefixed.accept_bytes(bytes).unwrap();
                assert_eq!(accepted, naive.accept_bytes(bytes).unwrap());
                n_steps += usize::from(accepted);
            }
            _ => {
                let id = TokenId(rng.random_range(0..n_tokens as u32));
                let accepted = prefixed.accept_token(id).unwrap();
                assert_eq!(accepted, is_allowed(&masks[0], id), "the mask tells what is accepted");
                assert_eq!(accepted, naive.accept_token(id).unwrap());
                n_steps += usize::from(accepted);
            }
        }
    }
    assert!(prefixed.rollback(n_steps + 1).is_err());
    prefixed.rollback(n_steps).unwrap();
}

#[test]
fn the_prefix_is_owed_before_anything_ends() {
    let tokens = tokens(&["a", "b"]);
    let mut constraint = PrefixConstraint::new(Words::new(&[""], &tokens), b"ab".to_vec(), &tokens);
    assert!(!constraint.is_accepting() && !constraint.accept_token(EOS).unwrap());
    assert!(constraint.forced_tokens().unwrap().is_empty());
    assert!(constraint.accept_token(TokenId(1)).unwrap());
    assert_eq!(constraint.owed(), b"b");
    assert!(constraint.fill_mask(&mut []).is_err());
    assert!(constraint.accept_token(TokenId(2)).unwrap() && constraint.is_accepting());
    assert_eq!(constraint.forced_tokens().unwrap(), [EOS]);
}
