//! GBNF: a grammar, a text and choices of tokens. Masks are what is accepted, and Earley's algorithm agrees.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maskwright::GrammarSource;
use maskwright::grammar::Grammar;
use maskwright_fuzz::{
    check_limited_walk, check_text, compile_text, compiler, names_tokens, parts, text, walk,
};
use maskwright_oracle::Oracle;

fuzz_target!(|data: &[u8]| {
    let Some((_, parts)) = parts(data, 0) else { return };
    let Some(rules) = text(&parts, 0) else { return };
    let source = GrammarSource::gbnf(rules);
    let Some(grammar) = compile_text(&compiler(), rules, &source) else { return };
    let read = parts.get(1).copied().unwrap_or_default();
    let choices = parts.get(2).copied().unwrap_or_default();
    let own = walk(&grammar, choices).filter(|_| !names_tokens(&grammar));
    check_limited_walk(&grammar, choices);
    for (text, is_own) in [(Some(read), false), (own.as_deref(), true)] {
        let Some(text) = text else { continue };
        let verdict = check_text(&grammar, text);
        assert!(
            !is_own || verdict != Some(false),
            "a text of its own: {:?}",
            text.escape_ascii().to_string()
        );
        // The reference takes cubic time, and derives regular expressions anew.
        if let (Some(verdict), true) = (verdict, text.len() <= 12 && rules.len() <= 120)
            && let Ok(rules) = source.grammar(&Default::default())
            && is_small(&rules)
        {
            assert_eq!(Oracle::new(&rules).is_word(text), verdict, "{:?}", text.escape_ascii().to_string());
        }
    }
});

/// Whether the reference, which writes out what is counted, has little to do.
fn is_small(rules: &Grammar) -> bool {
    let terminals = rules.terminals();
    let size: u64 = terminals.iter().map(|terminal| terminal.size()).sum();
    let counted = |text: &str| text.split(|c: char| !c.is_ascii_digit()).filter(|n| n.len() > 1).count();
    rules.pool().len() <= 200
        && size <= 400
        && counted(&rules.to_string()) == 0
        && terminals.iter().all(|terminal| !terminal.is_extended())
}
