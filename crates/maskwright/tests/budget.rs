//! Known texts at a limit of little more than their length are never refused a token, whatever terminals
//! their tokens span.
//!
//! An estimate that adds up what the terminals still due take refuses tokens such as `},` here (TruncProof,
//! section 5).

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use maskwright::json_schema::SchemaConfig;
use maskwright::lark::{LarkOptions, LexerKind};
use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, MatcherConfig, TokenId, Tokenizer};
use serde_json::json;

/// Tokens of more than one byte, among them some that end a terminal and go on with others.
const TOKENS: [&str; 78] = [
    "\",",
    "\":",
    "\"}",
    "\"]",
    "},",
    "\"},",
    "]},",
    "}}",
    "]]",
    "[[",
    "{\"",
    "[\"",
    "\",\"",
    "\":\"",
    "\":{",
    "\":[",
    "true",
    "null",
    ":null",
    "name",
    "Ada",
    "tags",
    "nested",
    "2.5",
    "e3",
    "ok",
    " a",
    " b",
    " n",
    " t",
    " x",
    ", ",
    "Select",
    "SELECT",
    " FROM",
    " WHERE",
    " GROUP",
    " BY",
    " AS",
    " ORDER",
    " LIMIT",
    " 1",
    " >",
    "(b",
    "count",
    " count",
    "def",
    " f",
    "return",
    " return",
    "if",
    " if",
    "else",
    " else",
    "while",
    " not",
    "class",
    "import",
    "import ",
    "    ",
    "        ",
    "\n    ",
    "\n\t",
    "\n\t\t",
    "\t\t\t\t\t\t\t\t",
    ":\n",
    "):\n",
    "):\n    ",
    "):\n        ",
    ")\n",
    "]\n",
    ")[",
    "():",
    "={",
    "'a",
    "': ",
    "1]}",
    "elif",
];

/// Close to the limit, what completes a text could be shorter than what is known to.
const SPARE: usize = 3;

/// A built-in grammar and texts of it.
const TEXTS: [(&str, &[&str]); 3] = [
    (
        "json",
        &[
            r#"{"name":"Ada","tags":["a","b"],"nested":{"x":[[1,2.5e3],[]],"ok":true},"none":null}"#,
            r#"[{"x":{"x":{"x":{}}}},{"ok":"Ada"},[["a"],[[]]]]"#,
        ],
    ),
    (
        "python",
        &[
            "def f(x):\n    if x:\n        return {'a': [x, 1]}\n    else:\n        return f(x)[0]\n",
            "def f(x):\n\tif x:\n\t\treturn x\n\telse:\n\t\tx()\nf()\n",
            "class A:\n    def f(self):\n        while not self.x():\n            import a\nA().f()\n",
        ],
    ),
    ("sql", &["SELECT a, count(b) AS n FROM t WHERE a > 1 GROUP BY a ORDER BY n LIMIT 1"]),
];

/// The tokens of `text`: at each place the longest of at most `n_bytes` bytes.
fn encode(all: &[Vec<u8>], text: &str, n_bytes: usize) -> Vec<TokenId> {
    let mut rest = text.as_bytes();
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let fits = |token: &Vec<u8>| !token.is_empty() && token.len() <= n_bytes && rest.starts_with(token);
        let longest =
            all.iter().enumerate().filter(|(_, token)| fits(token)).max_by_key(|(_, token)| token.len());
        let (id, token) = longest.unwrap();
        tokens.push(TokenId(id as u32));
        rest = &rest[token.len()..];
    }
    tokens
}

#[test]
fn known_texts_fit_little_more_than_their_length() {
    let mut all: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    all.extend(TOKENS.map(|token| token.as_bytes().to_vec()));
    all.push(Vec::new());
    let eos = all.len() as u32 - 1;
    let compiler = Compiler::new(&Tokenizer::from_tokens(all.clone(), &[TokenId(eos)]).unwrap());
    for (name, texts) in TEXTS {
        let grammar = compiler.compile(&GrammarSource::builtin(name), &CompileOptions::default()).unwrap();
        for text in texts {
            for n_bytes in [usize::MAX, 3] {
                let mut tokens = encode(&all, text, n_bytes);
                tokens.push(TokenId(eos));
                let mut matcher =
                    Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(tokens.len() + SPARE))
                        .unwrap();
                for (place, &token) in tokens.iter().enumerate() {
                    let before = &tokens[..place];
                    assert!(
                        matcher.mask().unwrap().contains(token),
                        "{token:?} after {before:?} of {text:?}"
                    );
                    assert!(matcher.accept_token(token).unwrap(), "{token:?} after {before:?} of {text:?}");
                }
                assert!(matcher.is_terminated());
            }
        }
    }
}

/// Limits from near to far: texts that open whatever they can are completed within them, and at each place
/// the least number of tokens is at most what is left.
#[test]
fn greedy_openers_are_completed_within_any_limit() {
    let schemas = [
        json!({}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        json!({"type": "object", "minProperties": 3, "additionalProperties": {"enum": [1, 11]}}),
        json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "required": ["left", "name", "right"], "properties": {
            "left": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}, "name": {"type": "string", "minLength": 2},
            "right": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}}}),
        json!({"type": "object", "patternProperties": {"^x_": {"type": "array"}}, "additionalProperties": false}),
        json!({"type": "array", "items": {"type": "string", "format": "date"}}),
        json!({"type": "object", "properties": {"mail": {"type": "string", "format": "email"}}}),
    ];
    let pieces = ["{\"", "\":", ",\"", "[[", "{\"a", "}}", "[{", "\"left\":", ":{\"", "[\"", ", \""];
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.extend(pieces.map(|piece| piece.as_bytes().to_vec()));
    let end = tokens.len() as u32;
    tokens.push(Vec::new());
    let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(end)]).unwrap();
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut below = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % bound as u64) as usize
    };
    for schema in &schemas {
        let compiler = Compiler::new(&tokenizer);
        let options = CompileOptions::default();
        let grammar = compiler
            .compile(&GrammarSource::json_schema(schema.to_string(), SchemaConfig::default()), &options)
            .unwrap();
        let free = Matcher::new(&grammar);
        let least = free.tokens_to_finish().unwrap().n_tokens;
        for beyond in [3, 17, 40, 75, 110, 150, 200, 260] {
            let limit = least + beyond;
            let mut matcher = Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(limit)).unwrap();
            let mut text = Vec::new();
            for n_before in 0..limit {
                let allowed: Vec<TokenId> = matcher.mask().unwrap().iter().collect();
                let opening: Vec<TokenId> = allowed
                    .iter()
                    .copied()
                    .filter(|id| {
                        let bytes = tokenizer.vocabulary().token_bytes(*id).unwrap_or_default();
                        bytes.iter().any(|byte| b"{[,\":xl".contains(byte))
                    })
                    .collect();
                let from = if opening.is_empty() || below(8) == 0 { &allowed } else { &opening };
                assert!(!from.is_empty(), "{schema} {limit}: a dead end behind {}", text.escape_ascii());
                let token = from[below(from.len())];
                assert!(matcher.accept_token(token).unwrap());
                if token.0 == end {
                    break;
                }
                text.extend_from_slice(tokenizer.vocabulary().token_bytes(token).unwrap());
                let least = matcher.tokens_to_finish().unwrap().n_tokens;
                assert!(n_before + 1 + least <= limit, "{schema} {limit} {least}: {}", text.escape_ascii());
            }
            assert!(matcher.is_terminated(), "{schema} {limit}: {}", text.escape_ascii());
            assert!(free.fork().accept_bytes(&text).unwrap());
        }
    }
}

/// Without an end-of-sequence token, a text that has used up its limit is complete, and as after its end any
/// token is something to sample.
#[test]
fn without_an_end_token_nothing_follows_the_last_token_of_the_limit() {
    let single = (0..=u8::MAX).map(|byte| vec![byte]).collect::<Vec<_>>();
    let some = ["a", "b", "ab", "\"", "[", "]", ",", "1"].map(|token| token.as_bytes().to_vec()).to_vec();
    let lark = |lexer| {
        let mut options = LarkOptions::default();
        options.lexer = lexer;
        GrammarSource::lark("start: (A | B)+\nA: \"a\"\nB: \"b\"\n", options)
    };
    let distinct = json!({"type": "array", "items": {"enum": [1, 11, 111]}, "uniqueItems": true});
    let sources = [
        GrammarSource::regex("[ab]+"),
        lark(LexerKind::DynamicComplete),
        lark(LexerKind::Basic),
        lark(LexerKind::Contextual),
        GrammarSource::json_schema(distinct.to_string(), SchemaConfig::default()),
    ];
    for tokens in [single, some] {
        let tokenizer = Tokenizer::from_tokens(tokens, &[]).unwrap();
        for source in &sources {
            for limit in 2..4 {
                let grammar = Compiler::new(&tokenizer).compile(source, &CompileOptions::default()).unwrap();
                let mut matcher =
                    Matcher::with_config(&grammar, &MatcherConfig::with_max_tokens(limit)).unwrap();
                for _ in 0..limit {
                    let token = matcher.mask().unwrap().iter().next().unwrap();
                    if !matcher.accept_token(token).unwrap() {
                        // A whole array, which nothing can follow.
                        break;
                    }
                }
                assert!(matcher.is_accepting(), "{source:?} {limit}");
                let mask = matcher.mask().unwrap();
                assert_eq!(mask.iter().count(), tokenizer.vocabulary().n_vocab(), "{source:?} {limit}");
                assert!(mask.iter().all(|token| !matcher.fork().accept_token(token).unwrap()));
            }
        }
    }
}
