//! The infiller of a compiled grammar: of the same language as its sessions, whatever the front end.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::sync::Arc;

use maskwright::grammar::{GrammarBuilder, Regex};
use maskwright::infill::{CanvasConfig, Hole, Part, Verdict};
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{
    Canvas, CompileOptions, CompiledGrammar, Compiler, ErrorKind, GrammarSource, Limits, MaskStatus, Matcher,
    Template, TokenId, Tokenizer,
};

fn tokenizer() -> Tokenizer {
    let tokens = ["[", "]", "a", ",", "\"", "a]", "[a", ",a", "\"a", "a\"", "</s>"];
    Tokenizer::from_tokens(tokens.map(|token| token.as_bytes().to_vec()).to_vec(), &[TokenId(10)]).unwrap()
}

fn grammars(compiler: &Compiler) -> Vec<Arc<CompiledGrammar>> {
    let options = CompileOptions::default();
    let schema = r#"{"type": "array", "items": {"enum": ["a", "aa"]}, "maxItems": 2}"#;
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let body = builder.terminal(Regex::words([*b"aa"]));
    builder.define(start, body);
    let mut basic = LarkOptions::default();
    basic.lexer = LexerKind::Basic;
    vec![
        compiler.compile(&GrammarSource::regex(r"\[(a(,a)*)?\]"), &options).unwrap(),
        compiler.compile(&GrammarSource::gbnf(r#"root ::= "[" (root | "a")* "]""#), &options).unwrap(),
        compiler.compile(&GrammarSource::choice(["a,a", "[a]"]), &options).unwrap(),
        compiler.compile(&GrammarSource::json_schema(schema, Default::default()), &options).unwrap(),
        compiler.compile(&builder.finish(start).unwrap().into(), &options).unwrap(),
        compiler
            .compile(
                &GrammarSource::lark(
                    "start: \"[\" (A | start)* \"]\"\nA: /a+/\n%ignore \",\"\n",
                    basic.clone(),
                ),
                &options,
            )
            .unwrap(),
    ]
}

/// The tokens that some filling of three masked positions has first, by trying all.
fn firsts(grammar: &Arc<CompiledGrammar>) -> Vec<u32> {
    let is_word = |tokens: &[u32]| {
        let mut matcher = Matcher::new(grammar);
        tokens.iter().all(|&id| matcher.accept_token(TokenId(id)).unwrap()) && matcher.is_accepting()
    };
    let ends = |tokens: &[u32]| {
        let n_text = tokens.iter().position(|&id| id == 10).unwrap_or(tokens.len());
        tokens[n_text..].iter().all(|&id| id == 10) && is_word(&tokens[..n_text])
    };
    (0..11).filter(|&a| (0..11).any(|b| (0..11).any(|c| ends(&[a, b, c])))).collect()
}

#[test]
fn canvases_agree_with_sessions() {
    let compiler = Compiler::new(&tokenizer());
    for grammar in grammars(&compiler) {
        let infiller = grammar.infiller(&CompileOptions::default()).unwrap();
        let mut canvas = Canvas::new(&infiller, &[None; 3], CanvasConfig::default()).unwrap();
        let mut mask = [0];
        assert_eq!(canvas.fill_mask(0, &mut mask, true).unwrap(), MaskStatus::Exact);
        let allowed: Vec<u32> = (0..32).filter(|bit| mask[0] >> bit & 1 == 1).collect();
        assert_eq!(allowed, firsts(&grammar));
    }
}

#[test]
fn templates_agree_with_sessions() {
    let compiler = Compiler::new(&tokenizer());
    for grammar in grammars(&compiler) {
        let infiller = grammar.infiller(&CompileOptions::default()).unwrap();
        let parts = vec![Part::Hole(Hole::Any), Part::Text(b"a".to_vec()), Part::Hole(Hole::Any)];
        let text = Template::new(&infiller, parts).unwrap().complete().unwrap().unwrap();
        let mut matcher = Matcher::new(&grammar);
        assert!(matcher.accept_bytes(&text).unwrap() && matcher.is_accepting());
    }
}

#[test]
fn the_infiller_is_made_once_and_a_failure_is_not_kept() {
    let mut limits = Limits::default();
    limits.compile_work = 2_000;
    let compiler = Compiler::with_limits(&tokenizer(), limits);
    let grammar = compiler.compile(&GrammarSource::regex("a+"), &CompileOptions::default()).unwrap();
    let cancel = maskwright::CancelToken::default();
    cancel.cancel();
    let mut options = CompileOptions::default();
    options.cancel = Some(cancel);
    let cancelled = grammar.infiller(&options).err().unwrap();
    assert_eq!(cancelled.kind(), ErrorKind::Cancelled);
    assert!(grammar.infiller(&CompileOptions::default()).is_ok());
}

/// What only sessions know of holds of canvases and templates too.
#[test]
fn the_session_is_the_judge() {
    let compiler = Compiler::new(&tokenizer());
    let unique = r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", "aa"]}, "minItems": 2}"#;
    // The basic lexer takes the second `a` for a keyword.
    let contextual = "start: \"a\" NAME\nNAME: /[a-z]+/\n%ignore \",\"\n";
    let [unique, contextual] = [
        GrammarSource::json_schema(unique, Default::default()),
        GrammarSource::lark(contextual, LarkOptions::default()),
    ]
    .map(|source| compiler.compile(&source, &CompileOptions::default()).unwrap());
    let infiller = unique.infiller(&CompileOptions::default()).unwrap();
    let quote = |id| Some(TokenId(id));
    // [ " a ? , " a " ]
    let positions = [quote(0), quote(8), None, quote(4), quote(3), quote(8), quote(4), quote(1)];
    let mut canvas = Canvas::new(&infiller, &positions, CanvasConfig::default()).unwrap();
    assert_eq!(canvas.complete().unwrap().unwrap()[2], TokenId(2), "the other one is \"aa\"");
    assert_eq!(canvas.allows(2, &[TokenId(2), TokenId(4)]).unwrap()[0], Verdict::Yes);
    assert_ne!(canvas.allows(2, &[TokenId(4)]).unwrap()[0], Verdict::Yes);
    let template = |parts: Vec<Part>| Template::new(&infiller, parts).unwrap();
    let hole = || Part::Hole(Hole::Any);
    let text = |text: &str| Part::Text(text.as_bytes().to_vec());
    let completed = template(vec![text("[\"a\","), hole(), text("]")]).complete().unwrap();
    assert_eq!(completed.as_deref(), Some(&b"[\"a\",\"aa\"]"[..]));

    let infiller = contextual.infiller(&CompileOptions::default()).unwrap();
    let mut canvas = Canvas::new(&infiller, &[None, Some(TokenId(2))], CanvasConfig::default()).unwrap();
    assert!(canvas.is_possible().unwrap(), "`aa` is a keyword and a name");
    assert_eq!(canvas.allows(0, &[TokenId(2), TokenId(0)]).unwrap(), [Verdict::Yes, Verdict::No]);
}
