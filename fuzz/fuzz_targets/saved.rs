//! Saved grammars, rows and tokenizers: damaged ones, and ones whose digest is right.
//!
//! The first byte says what is saved and how it is changed. The parts: the text it is made from (or, of a
//! content given as it is, its bytes), then changes of three bytes each, then a text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maskwright::lark::LarkOptions;
use maskwright::{CompiledGrammar, Compiler, GrammarSource, Tokenizer};
use maskwright_fuzz::{
    EOS, TOKENIZER, check_mask, check_text, compile, compile_text, compiler, limits, parts, proper, text,
};
use sha2::{Digest, Sha256};

/// A name with a version, then a digest: see `vocabulary/src/saved.rs`.
const N_HEAD: usize = 8;
const N_DIGEST: usize = 32;

fuzz_target!(|data: &[u8]| {
    let Some((chosen, parts)) = parts(data, 1) else { return };
    let part = |index: usize| parts.get(index).copied().unwrap_or_default();
    let read = part(2);
    // As it is given, behind a head that is right.
    let given = |head: &[u8]| [&head[..N_HEAD], &Sha256::digest(part(0)), part(0)].concat();
    let is_given = chosen[0] & 0x80 != 0;
    let written = text(&parts, 0).unwrap_or_default();
    match chosen[0] % 3 {
        0 => {
            let Some(source) = source(chosen[0], &parts) else { return };
            let Some(grammar) = compile_text(&compiler(), written, &source) else { return };
            let saved = grammar.serialize().expect("it has a text");
            if is_given {
                return read_grammar(&given(&saved), read);
            }
            let again = compiler().deserialize(&saved, &Default::default()).expect("it was just saved");
            assert_eq!(again.kind(), grammar.kind());
            assert_eq!(check_text(&again, read), check_text(&grammar, read));
            changed(&saved, part(1)).into_iter().for_each(|saved| read_grammar(&saved, read));
        }
        1 => {
            let compiler = compiler();
            let Some(grammar) =
                source(chosen[0], &parts).and_then(|source| compile_text(&compiler, written, &source))
            else {
                return;
            };
            let verdict = check_text(&grammar, read);
            let saved = compiler.save_rows();
            if is_given {
                return load(&given(&saved), &grammar, None);
            }
            load(&saved, &grammar, Some((read, verdict)));
            changed(&saved, part(1)).into_iter().for_each(|saved| load(&saved, &grammar, None));
        }
        _ => {
            let saved = TOKENIZER.serialize();
            let all = if is_given { vec![given(&saved)] } else { changed(&saved, part(1)) };
            for saved in all {
                let Some(tokenizer) = proper(Tokenizer::deserialize(&saved)) else { continue };
                if tokenizer.n_vocab() <= 4 * EOS.index() {
                    maskwright_fuzz::tokenizers::check_tokenizer(&tokenizer, read);
                }
            }
        }
    }
});

fn source(chosen: u8, parts: &[&[u8]]) -> Option<GrammarSource> {
    let text = text(parts, 0)?;
    Some(match chosen / 3 % 5 {
        0 => GrammarSource::gbnf(text),
        1 => GrammarSource::lark(text, LarkOptions::default()),
        2 => GrammarSource::json_schema(text, Default::default()),
        3 => GrammarSource::choice(text.lines()),
        _ => GrammarSource::regex(text),
    })
}

/// The saved bytes with each change: a place and what is done there. Damaged as they are, and with a digest
/// that hides it.
fn changed(saved: &[u8], changes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut content = saved[N_HEAD + N_DIGEST..].to_vec();
    for change in changes.chunks_exact(3).take(6) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % content.len().max(1);
        match change[2] {
            0 => content.truncate(place),
            value @ 1..=8 => {
                content.insert(place, [0, 1, 2, 0x7f, 0x80, 0xff, b'a', b'"'][usize::from(value) - 1])
            }
            value => content.iter_mut().skip(place).take(1).for_each(|byte| *byte = byte.wrapping_add(value)),
        }
    }
    let damaged = [&saved[..N_HEAD + N_DIGEST], &content].concat();
    if content != saved[N_HEAD + N_DIGEST..] {
        assert!(compiler().deserialize(&damaged, &Default::default()).is_err(), "damage is noticed");
        assert!(compiler().load_rows(&damaged).is_err(), "damage is noticed");
        assert!(Tokenizer::deserialize(&damaged).is_err(), "damage is noticed");
    }
    all.push([&saved[..N_HEAD], &Sha256::digest(&content), &content].concat());
    all
}

/// Bytes that need not be trusted: an error, or a grammar like any other.
fn read_grammar(saved: &[u8], read: &[u8]) {
    if let Some(grammar) = proper(compiler().deserialize(saved, &Default::default())) {
        check_text(&grammar, read);
    }
}

/// Rows are trusted as programs are, so masks may be wrong after a change that its digest hides; nothing
/// worse comes of it. Without a change, nothing does.
fn load(saved: &[u8], grammar: &CompiledGrammar, expected: Option<(&[u8], Option<bool>)>) {
    let compiler = match expected {
        Some(_) => Compiler::with_saved_rows(&TOKENIZER, limits(), saved).expect("they were just saved"),
        None => {
            let compiler = compiler();
            if proper(compiler.load_rows(saved)).is_none() {
                return;
            }
            compiler
        }
    };
    let Some(grammar) = compile(&compiler, grammar.source()) else { return };
    match expected {
        Some((read, verdict)) => {
            check_mask(&grammar, &mut grammar.matcher());
            assert_eq!(check_text(&grammar, read), verdict);
        }
        None => drop(grammar.matcher().mask()),
    }
}
