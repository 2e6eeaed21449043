//! Canvases and templates of grammars that name an end-of-sequence token by its id, and other tokens that are
//! no text.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

use std::sync::Arc;

use maskwright::infill::{CanvasConfig, Hole, Part, Verdict};
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{
    Canvas, CompileOptions, CompiledGrammar, Compiler, GrammarSource, MaskStatus, Template, TokenId,
    Tokenizer,
};

const LEXERS: [LexerKind; 3] = [LexerKind::Basic, LexerKind::Contextual, LexerKind::DynamicComplete];

/// `start: "a" <[id]> "b"` over the tokens a, b and two that end texts.
fn grammar(named: u32, lexer: LexerKind) -> Arc<CompiledGrammar> {
    let tokens = ["a", "b", "</s>", "</t>"].map(|token| token.as_bytes().to_vec());
    let compiler =
        Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2), TokenId(3)]).unwrap());
    let mut options = LarkOptions::default();
    options.lexer = lexer;
    let source = GrammarSource::lark(format!("start: \"a\" <[{named}]> \"b\""), options);
    compiler.compile(&source, &CompileOptions::default()).unwrap()
}

#[test]
fn an_end_that_is_named_stands_alone() {
    for lexer in LEXERS {
        for named in [2, 3] {
            let infiller = grammar(named, lexer).infiller(&CompileOptions::default()).unwrap();
            let positions = [Some(TokenId(0)), None, Some(TokenId(1))];
            let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
            let mut mask = [0];
            assert_eq!(canvas.fill_mask(1, &mut mask, true).unwrap(), MaskStatus::Exact);
            assert_eq!(mask, [1 << named], "{lexer:?}");
            let verdicts = canvas.allows(1, &[TokenId(2), TokenId(3)]).unwrap();
            let expected = [2, 3].map(|id| if id == named { Verdict::Yes } else { Verdict::No });
            assert_eq!(verdicts, expected, "{lexer:?}");
        }
    }
}

#[test]
fn a_hole_of_any_text_can_hold_a_named_token() {
    for lexer in LEXERS {
        let infiller = grammar(3, lexer).infiller(&CompileOptions::default()).unwrap();
        let text = |text: &str| Part::Text(text.as_bytes().to_vec());
        let mut template =
            Template::new(&infiller, vec![text("a"), Part::Hole(Hole::Any), text("b")]).unwrap();
        assert!(template.complete().unwrap().is_some(), "{lexer:?}");
        let mut mask = [0];
        template.fill_mask(0, &[], &mut mask).unwrap();
        assert_eq!(mask, [1 << 3], "{lexer:?}");
        assert!(template.fix(0, &[TokenId(3)]).unwrap());
    }
}
