//! Known texts at a limit of exactly their length are never refused a token, whatever terminals their tokens span.
//!
//! An estimate that adds up what the terminals still due take refuses tokens such as `},` here (TruncProof, section 5).

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use maskwright::{CompileOptions, Compiler, Matcher, TokenId, Tokenizer};

/// Tokens of more than one byte, among them some that end a terminal and go on with others.
const TOKENS: [&str; 75] = [
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
fn known_texts_fit_their_own_length() {
    let mut all: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    all.extend(TOKENS.map(|token| token.as_bytes().to_vec()));
    all.push(Vec::new());
    let eos = all.len() as u32 - 1;
    let compiler = Compiler::new(&Tokenizer::from_tokens(all.clone(), &[eos]).unwrap());
    for (name, texts) in TEXTS {
        let grammar = compiler.compile_builtin(name, &CompileOptions::default()).unwrap();
        for text in texts {
            for n_bytes in [usize::MAX, 3] {
                let mut tokens = encode(&all, text, n_bytes);
                tokens.push(TokenId(eos));
                let mut matcher = Matcher::with_max_tokens(&grammar, Some(tokens.len())).unwrap();
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
