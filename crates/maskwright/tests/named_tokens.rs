//! Tokens named by id or name in each notation, over the same vocabulary.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::sync::Arc;

use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Matcher, TokenId, Tokenizer,
};

/// 0 to 3 are text, 4 and 5 special, 6 an added token that is text as well, 7 ends a text.
const TOKENS: [&str; 8] = ["a", "b", "<", "think>", "<|sep|>", "</think>", "<think>", "</s>"];

fn tokenizer() -> Tokenizer {
    let tokens = TOKENS.map(|token| token.as_bytes().to_vec());
    Tokenizer::from_tokens_with_special(tokens.to_vec(), &[TokenId(7)], &[TokenId(4), TokenId(5)]).unwrap()
}

fn compile(source: GrammarSource) -> Result<Arc<CompiledGrammar>, Error> {
    Compiler::new(&tokenizer()).compile(&source, &CompileOptions::default())
}

fn lark(text: &str, lexer: LexerKind) -> Result<Arc<CompiledGrammar>, Error> {
    let mut options = LarkOptions::default();
    options.lexer = lexer;
    compile(GrammarSource::lark(text, options))
}

/// Whether the ids, and after them the end, are accepted; and that masks say so on the way.
fn accepts(compiled: &Arc<CompiledGrammar>, ids: &[u32]) -> bool {
    let mut matcher = Matcher::new(compiled);
    for &id in ids.iter().chain(&[7]) {
        let mask = matcher.mask().unwrap();
        let all = (0..8).map(TokenId).filter(|&token| matcher.validate_tokens(&[token]).unwrap() == 1);
        assert_eq!(all.collect::<Vec<_>>(), mask.iter().collect::<Vec<_>>());
        if !matcher.accept_token(TokenId(id)).unwrap() {
            return false;
        }
    }
    matcher.is_terminated()
}

const LEXERS: [LexerKind; 3] = [LexerKind::Basic, LexerKind::Contextual, LexerKind::DynamicComplete];

/// Grammars in GBNF and Lark of the same texts, some texts of theirs and some others.
#[test]
fn notations_agree() {
    type Case = (&'static str, &'static str, &'static [&'static [u32]], &'static [&'static [u32]]);
    let cases: &[Case] = &[
        (
            "root ::= <think> [b]+ </think> \"a\"",
            "start: <think> /b+/ </think> \"a\"",
            &[&[6, 1, 5, 0], &[6, 1, 1, 5, 0]],
            &[&[6, 5, 0], &[2, 3, 1, 5, 0], &[6, 1, 5, 1], &[0]],
        ),
        (
            "root ::= [ab]* (<[4]> [ab]* | </think>)",
            "start: A? (<[4]> A? | </think>)\nA: /[ab]+/",
            &[&[4], &[0, 1, 4, 1], &[5], &[0, 5]],
            &[&[0], &[5, 0], &[4, 5]],
        ),
        (
            "root ::= !<[0]> !</think>*",
            "start: <[^0]> <[^5]>*",
            &[&[1], &[6], &[4, 0, 1, 2, 3, 4, 6], &[5, 4]],
            &[&[], &[0], &[1, 5]],
        ),
        (
            "root ::= (<[1]> | <[2]> | <[3]>)+ <[3]>",
            "start: <[1-3]>+ <[3]>",
            &[&[3, 3], &[1, 2, 3]],
            &[&[3], &[1, 2], &[3, 3, 0]],
        ),
    ];
    for (gbnf, text, yes, no) in cases {
        let mut compiled = vec![compile(GrammarSource::gbnf(*gbnf)).unwrap()];
        compiled.extend(LEXERS.map(|lexer| lark(text, lexer).unwrap()));
        for (index, compiled) in compiled.iter().enumerate() {
            for ids in *yes {
                assert!(accepts(compiled, ids), "{gbnf} ({index}) refuses {ids:?}");
            }
            for ids in *no {
                assert!(!accepts(compiled, ids), "{gbnf} ({index}) accepts {ids:?}");
            }
        }
    }
}

/// An added token that is text as well is read both ways.
#[test]
fn both_readings_are_followed() {
    let source = "start: <think> \"a\" | /<think>b/";
    for lexer in LEXERS {
        let compiled = lark(source, lexer).unwrap();
        for ids in [&[6, 0][..], &[6, 1], &[2, 3, 1]] {
            assert!(accepts(&compiled, ids), "{lexer:?} {ids:?}");
        }
        assert!(!accepts(&compiled, &[2, 3, 0]), "the text is not the token");
        let mut matcher = Matcher::new(&compiled);
        assert!(matcher.accept_token(TokenId(6)).unwrap());
        assert_eq!(matcher.mask().unwrap().iter().map(|token| token.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(matcher.text(), b"<think>");
    }
}

#[test]
fn wildcards_lists_and_templates() {
    for lexer in LEXERS {
        let any = lark("start: <[*]> <[0,4-5]>", lexer).unwrap();
        assert!(accepts(&any, &[6, 4]) && accepts(&any, &[4, 0]) && accepts(&any, &[1, 5]));
        assert!(!accepts(&any, &[6, 1]) && !accepts(&any, &[7, 0]));
        let twice = lark("start: twice{<|sep|>} twice{\"a\"}\ntwice{x}: x x", lexer).unwrap();
        assert!(accepts(&twice, &[4, 4, 0, 0]) && !accepts(&twice, &[4, 0, 0]));
        let spaced = lark("start: \"a\" <|sep|> \"a\"\n%ignore \"b\"", lexer).unwrap();
        assert!(accepts(&spaced, &[1, 0, 1, 4, 1, 0, 1]) && !accepts(&spaced, &[0, 1, 0]));
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let message = |compiled: Result<Arc<CompiledGrammar>, Error>| compiled.err().unwrap().to_string();
    for lexer in LEXERS {
        assert!(message(lark("start: <|sop|>", lexer)).contains("did you mean `<|sep|>`?"));
        assert!(message(lark("start: <[8]>", lexer)).contains("no token has the id 8"));
        let unused = lark("start: \"a\"\nother: <nothing>", lexer).unwrap();
        assert!(accepts(&unused, &[0]), "a rule that is not used names nothing");
    }
    let inside = message(lark("start: A\nA: \"a\" <think>", LexerKind::Basic));
    assert!(inside.contains("the token <think> of the vocabulary inside a terminal"), "{inside}");
    assert!(
        message(lark("start: <[5-3]>", LexerKind::Basic)).contains("the range 5-3 of token ids is backwards")
    );
    assert!(message(lark("start: <[1-]>", LexerKind::Basic)).contains("no range of token ids"));
    assert!(message(lark("start: <[x]>", LexerKind::Basic)).contains("no token named `[x]`"));
    assert!(message(compile(GrammarSource::gbnf("root ::= !<[^1]>"))).contains("`!` before a set"));
    assert!(message(lark("start: < think>", LexerKind::Basic)).contains("without spaces"));
    let error = compile(GrammarSource::gbnf("root ::= \"<x>\" |\n  <thunk>")).err().unwrap();
    assert!(error.to_string().contains("did you mean"), "{error}");
    assert_eq!((error.line(), error.column()), (Some(2), Some(3)), "{error}");
    let error = lark("start: \"a\"\n  | <[3,9]> \"<[9]>\"", LexerKind::Contextual).err().unwrap();
    assert_eq!((error.line(), error.column()), (Some(2), Some(5)), "{error}");
}

/// Names without angle brackets, such as those of Mistral's tokens.
#[test]
fn tokens_of_any_name() {
    let names = ["a", "[TOOL_CALLS]", "[7]", "a \"b\"", "pad", "<s>", "[/INST]", "</s>", "[5-3]"];
    let tokens = names.map(|token| token.as_bytes().to_vec());
    let tokenizer = Tokenizer::from_tokens_with_special(
        tokens.to_vec(),
        &[TokenId(7)],
        &[1, 2, 3, 4, 5, 6, 8].map(TokenId),
    )
    .unwrap();
    let compiler = Compiler::new(&tokenizer);
    let compile = |source: GrammarSource| compiler.compile(&source, &CompileOptions::default());
    for (written, id) in [
        ("<[TOOL_CALLS]>", 1),
        ("<[/INST]>", 6),
        ("<\"[TOOL_CALLS]\">", 1),
        ("<\"[7]\">", 2),
        ("<[2]>", 2),
        ("<[2-2]>", 2),
        ("<\"a \\\"b\\\"\">", 3),
        ("<\"pad\">", 4),
        ("<\"\\u0070ad\">", 4),
        ("<s>", 5),
        ("<\"[5-3]\">", 8),
    ] {
        let mut sources = vec![GrammarSource::gbnf(format!("root ::= \"a\" {written} # <x>\n"))];
        for lexer in LEXERS {
            let mut options = LarkOptions::default();
            options.lexer = lexer;
            sources.push(GrammarSource::lark(format!("start: \"a\" {written} // <x>"), options));
        }
        for source in sources {
            let compiled = compile(source).unwrap_or_else(|error| panic!("{written}: {error}"));
            for other in 0..9 {
                let mut matcher = Matcher::new(&compiled);
                assert!(matcher.accept_token(TokenId(0)).unwrap());
                assert_eq!(matcher.accept_token(TokenId(other)).unwrap(), other == id, "{written}: {other}");
            }
            let again =
                compiler.deserialize(&compiled.serialize().unwrap(), &CompileOptions::default()).unwrap();
            assert!(Matcher::new(&again).accept_token(TokenId(0)).unwrap());
        }
    }
    let others = compile(GrammarSource::gbnf("root ::= !<[TOOL_CALLS]>")).unwrap();
    assert!(!Matcher::new(&others).accept_token(TokenId(1)).unwrap());
    assert!(Matcher::new(&others).accept_token(TokenId(2)).unwrap());
    for (source, hint) in [
        ("root ::= <[TOOL_CALL]>", "did you mean `[TOOL_CALLS]`? It is written <[TOOL_CALLS]>"),
        ("root ::= <pad>", "did you mean `pad`? It is written <\"pad\">"),
        ("root ::= <\"[TOOL_CALLZ]\">", "did you mean `[TOOL_CALLS]`? It is written <[TOOL_CALLS]>"),
    ] {
        let error = compile(GrammarSource::gbnf(source)).err().unwrap();
        assert_eq!((error.hint(), error.column()), (Some(hint), Some(10)), "{error}");
    }
    for source in
        ["root ::= <\"\">", "root ::= <\"a>", "root ::= <\"a\\q\">", "root ::= <[]>", "root ::= <\"a"]
    {
        let error = compile(GrammarSource::gbnf(source)).err().unwrap();
        assert_eq!(error.column(), Some(10), "{source}: {error}");
    }
}

/// A grammar with the string `"<end_of_turn>"`, as public ones have it, can never end with that token.
#[test]
fn strings_that_spell_special_tokens_are_warned_about() {
    let bytes = (0u8..=255).map(|byte| vec![byte]);
    let named = ["</think>", "<|sep|>", "<think>"].map(|token| token.as_bytes().to_vec());
    let tokenizer =
        Tokenizer::from_tokens_with_special(bytes.chain(named).collect(), &[], &[TokenId(256), TokenId(257)])
            .unwrap();
    let compiler = Compiler::new(&tokenizer);
    let compile = |source: GrammarSource| compiler.compile(&source, &CompileOptions::default());
    let gbnf =
        compile(GrammarSource::gbnf("# \"</think>\"\nroot ::= [<] \"a\" |\n  \"a\\x3c/think>b\" | </think>"))
            .unwrap();
    let [warning] = &gbnf.warnings()[..] else { panic!("{:?}", gbnf.warnings()) };
    assert_eq!((warning.line, warning.column), (Some(3), Some(3)));
    let told = warning.to_string();
    assert!(
        told.starts_with("3:3: the string \"a\\x3c/think>b\" has the name")
            && told.contains("write </think>"),
        "{told}"
    );
    for lexer in LEXERS {
        let mut options = LarkOptions::default();
        options.lexer = lexer;
        let text = "start: \"</think>\" A // \"<|sep|>\"\nA: \"b\" \"<|sep|>\"i? /<.sep.>/?";
        let compiled = compile(GrammarSource::lark(text, options)).unwrap();
        let places: Vec<Option<usize>> =
            compiled.warnings().iter().flat_map(|warning| [warning.line, warning.column]).collect();
        assert_eq!(places, [1, 8, 2, 8].map(Some));
    }
    // `<think>` is text as well, so a string matches it.
    for source in ["root ::= \"<think>\"", "root ::= </think> \"a\"", "root ::= \"/think\""] {
        assert_eq!(compile(GrammarSource::gbnf(source)).unwrap().warnings(), []);
    }
    assert_eq!(compile(GrammarSource::regex("(?:</think>)?a")).unwrap().warnings(), []);
    // A long line of them has an end.
    let many = format!("root ::= {}", "\"</think>\" ".repeat(1_000));
    assert_eq!(compile(GrammarSource::gbnf(&many)).unwrap().warnings().len(), 100);
}

/// With a vocabulary that lacks a byte, masks may lead where no token is left: who compiles such a grammar is
/// told.
#[test]
fn bytes_that_no_token_has_are_warned_about() {
    let tokens = ["a", "b", "c", "d", "\"", "</s>"].map(|token| token.as_bytes().to_vec());
    let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(5)]).unwrap();
    let compiler = Compiler::new(&tokenizer);
    let warnings = |source: GrammarSource| {
        let compiled = compiler.compile(&source, &CompileOptions::default()).unwrap();
        compiled.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let mut lark = LarkOptions::default();
    lark.lexer = maskwright::lark::LexerKind::Contextual;
    for (source, told) in [
        (GrammarSource::choice(["ab🎉", "cd"]), "0x89, 0x8e, 0x9f, 0xf0"),
        (GrammarSource::regex("a[xyz]"), "`x`, `y`, `z`"),
        (GrammarSource::gbnf("root ::= \"a\" \"{\" root?"), "`{`"),
        (GrammarSource::lark("start: A \"z\"\nA: /ax?/", lark), "`z`"),
        (GrammarSource::json_schema(r#"{"type": "object"}"#, Default::default()), "and others"),
        (GrammarSource::regex("b(ax|c)"), "`x`"),
    ] {
        let warnings = warnings(source);
        assert!(warnings.len() == 1 && warnings[0].contains(told), "{told} {warnings:?}");
    }
    // What a class has besides can be done without.
    for source in [
        GrammarSource::regex("a[a-z]*"),
        GrammarSource::regex(".*"),
        GrammarSource::regex("a(x|b)x?"),
        GrammarSource::choice(["ab", "x"]),
        GrammarSource::json_schema(r#"{"type": "string"}"#, Default::default()),
        GrammarSource::gbnf("root ::= item+\nitem ::= \"a\" ws | \"x\" \"y\"\nws ::= (\" \" | \"\\n\")*"),
    ] {
        assert_eq!(warnings(source), Vec::<String>::new());
    }
}

/// Saved grammars name tokens, not ids: they can be compiled for another vocabulary.
#[test]
fn saved_grammars_find_their_tokens_again() {
    let compiled = compile(GrammarSource::gbnf("root ::= <|sep|> \"a\"")).unwrap();
    let tokens = ["<|sep|>", "a", "</s>"].map(|token| token.as_bytes().to_vec());
    let other = Tokenizer::from_tokens_with_special(tokens.to_vec(), &[TokenId(2)], &[TokenId(0)]).unwrap();
    let options = CompileOptions::default();
    let again = Compiler::new(&other).deserialize(&compiled.serialize().unwrap(), &options).unwrap();
    assert_eq!(Matcher::new(&again).accept_tokens(&[0, 1, 2].map(TokenId)).unwrap(), 3);
}

/// With several tokens that the vocabulary lacks, the place is that of the one in the message.
#[test]
fn errors_of_tags_name_the_token_at_their_place() {
    let tokens = vec![b"a".to_vec()];
    let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[]).unwrap());
    let token = |name: &str| format!(r#"{{"type": "token", "token": "{name}"}}"#);
    for names in [["<|aaa|>", "<|bbb|>"], ["<|bbb|>", "<|aaa|>"]] {
        let elements = names.map(token).join(", ");
        let tag = format!(r#"{{"format": {{"type": "sequence", "elements": [{elements}]}}}}"#);
        let source = GrammarSource::structural_tag(tag, Default::default());
        let error = compiler.compile(&source, &CompileOptions::default()).unwrap_err();
        let at = names.iter().position(|name| error.to_string().contains(name)).unwrap();
        assert_eq!(error.pointer(), Some(format!("/format/elements/{at}/token").as_str()), "{error}");
    }
}
