//! Lark: options, a grammar, a text and choices of tokens, with each lexer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maskwright::GrammarSource;
use maskwright::lark::{Indentation, LarkDialect, LarkOptions, LexerKind};
use maskwright_fuzz::{
    check_limited_walk, check_text, compile_text, compiler, names_tokens, parts, text, walk,
};

fuzz_target!(|data: &[u8]| {
    let Some((chosen, parts)) = parts(data, 1) else { return };
    let chosen = chosen[0];
    let Some(rules) = text(&parts, 0) else { return };
    let mut options = LarkOptions::default();
    options.lexer =
        [LexerKind::Contextual, LexerKind::Basic, LexerKind::DynamicComplete][usize::from(chosen % 3)];
    options.indentation = (chosen & 0x40 != 0).then(Indentation::python);
    options.dialect = if chosen & 0x80 != 0 { LarkDialect::Llguidance } else { LarkDialect::Lark };
    let source = GrammarSource::lark(rules, options).special_tokens_in_text(chosen & 0x20 != 0);
    let Some(grammar) = compile_text(&compiler(), rules, &source) else { return };
    let choices = parts.get(2).copied().unwrap_or_default();
    let own = walk(&grammar, choices);
    check_limited_walk(&grammar, choices);
    check_text(&grammar, parts.get(1).copied().unwrap_or_default());
    if let Some(own) = own.filter(|_| chosen & 0x20 == 0 && !names_tokens(&grammar)) {
        let verdict = check_text(&grammar, &own);
        assert!(verdict != Some(false), "a text of its own: {:?}", own.escape_ascii().to_string());
    }
});
