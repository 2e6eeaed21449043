//! Canvases: a grammar, positions and a list of calls, against all fillings.
//!
//! The first byte says which grammar (or that the first part is one in GBNF), the second part is the
//! positions, the third the calls, two bytes each.
#![no_main]

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use maskwright::infill::{CanvasConfig, CanvasStatus, Verdict};
use maskwright::json_schema::{SchemaConfig, Whitespace};
use maskwright::lark::{Indentation, LarkOptions, LexerKind};
use maskwright::{
    Canvas, CompiledGrammar, Compiler, Error, GrammarSource, MaskStatus, TokenId, Tokenizer, mask_contains,
    mask_words,
};
use maskwright_fuzz::{compile, limits, parts, text};

/// The tokens of all grammars here; the last ends a text.
const TOKENS: [&str; 18] =
    ["a", "b", "ab", "[", "]", "{", "}", "\"", "\"a\"", "\":", ",", "1", " ", "\n", "\n ", "(", ")", "</s>"];
const EOS: TokenId = TokenId(TOKENS.len() as u32 - 1);
static COMPILER: LazyLock<Compiler> = LazyLock::new(|| {
    let tokens = TOKENS.iter().map(|token| token.as_bytes().to_vec()).collect();
    let tokenizer = Tokenizer::from_tokens(tokens, &[EOS]).expect("the tokens differ");
    Compiler::with_limits(&tokenizer, limits())
});

/// The most texts that are looked at to know all fillings.
const MAX_VISITS: usize = 2_000;

fuzz_target!(|data: &[u8]| {
    let Some((chosen, parts)) = parts(data, 1) else { return };
    let Some(source) = source(chosen[0], text(&parts, 0)) else { return };
    COMPILER.clear_caches();
    let Some(grammar) = compile(&COMPILER, &source) else { return };
    let positions: Vec<Option<TokenId>> =
        parts.get(1).into_iter().flat_map(|part| part.iter()).take(5).map(|&byte| token(byte)).collect();
    let Some(infiller) = usable(grammar.infiller(&Default::default())) else { return };
    let Some(canvas) = usable(Canvas::new(&infiller, &positions, CanvasConfig::default())) else { return };
    let all = fillings(&grammar, positions.len());
    let mut held = Held { grammar, canvas, history: vec![positions], all };
    held.check();
    for call in parts.get(2).copied().unwrap_or_default().chunks_exact(2).take(10) {
        if held.call(call[0], call[1]).is_none() {
            return;
        }
    }
    held.check();
});

fn source(chosen: u8, gbnf: Option<&str>) -> Option<GrammarSource> {
    let schema = |schema: &str| {
        let mut config = SchemaConfig::default();
        config.whitespace =
            [Whitespace::Flexible, Whitespace::Any, Whitespace::Compact][usize::from(chosen >> 4) % 3];
        GrammarSource::json_schema(schema, config)
    };
    let lark = |rules: &str, lexer, is_indented: bool| {
        let mut options = LarkOptions::default();
        (options.lexer, options.indentation) = (lexer, is_indented.then(Indentation::python));
        GrammarSource::lark(rules, options)
    };
    let lexer =
        [LexerKind::Contextual, LexerKind::Basic, LexerKind::DynamicComplete][usize::from(chosen >> 4) % 3];
    let blocks = "start: (_NL | line)*\nline: \"a\" _NL | \"b\" _NL _INDENT line+ _DEDENT\n\
        _NL: /(\\r?\\n[\\t ]*)+/\n%declare _INDENT _DEDENT\n%ignore \" \"";
    Some(match chosen % 16 {
        0 => schema(r#"{"type": "array", "uniqueItems": true, "items": {"enum": ["a", 1, 11]}}"#),
        1 => schema(r#"{"type": "object", "additionalProperties": {"const": 1}}"#),
        2 => schema(r#"{"type": "array", "items": {"type": "integer"}, "maxItems": 2}"#),
        3 => schema(r#"{"type": "string", "maxLength": 2}"#),
        4 => lark("start: \"a\" NAME\nNAME: /[ab]+/\n%ignore \" \"", lexer, false),
        5 => lark("start: (NAME | \"b\" \"(\" start \")\")+\nNAME: /[ab]+/\n%ignore \" \"", lexer, false),
        6 => lark(
            "start: item (\",\" item)*\nitem: \"a\" | \"a\" \"b\" | WORD\nWORD: /b+/\n%ignore / +/",
            lexer,
            false,
        ),
        7 if lexer != LexerKind::DynamicComplete => lark(blocks, lexer, true),
        8 => GrammarSource::regex("(ab)*|a{3}"),
        9 => GrammarSource::gbnf("root ::= \"(\" root \")\" | \"a\"*"),
        _ => GrammarSource::gbnf(gbnf?),
    })
}

/// A masked position, or a known one.
fn token(byte: u8) -> Option<TokenId> {
    (byte < 0x80).then(|| TokenId(u32::from(byte) % TOKENS.len() as u32))
}

/// Infilling does not take every grammar, and has limits.
fn usable<T>(result: Result<T, Error>) -> Option<T> {
    result.inspect_err(maskwright_fuzz::check_error).ok()
}

/// All ways to fill so many positions; `None` if there are many texts.
fn fillings(grammar: &Arc<CompiledGrammar>, n: usize) -> Option<BTreeSet<Vec<TokenId>>> {
    let mut found = BTreeSet::new();
    let mut n_visits = 0;
    let mut stack = vec![(grammar.matcher().unbounded(), Vec::new())];
    while let Some((matcher, text)) = stack.pop() {
        if text.len() == n {
            if matcher.is_accepting() {
                found.insert(text);
            }
            continue;
        }
        for id in (0..TOKENS.len() as u32).map(TokenId) {
            n_visits += 1;
            if n_visits > MAX_VISITS {
                return None;
            }
            let mut next = matcher.clone();
            // After the end of a text, it ends again.
            if next.accept_token(id).ok()? || next.is_terminated() && id == EOS {
                stack.push((next, [&text[..], &[id]].concat()));
            }
        }
    }
    Some(found)
}

/// A canvas, and what it should be.
struct Held {
    grammar: Arc<CompiledGrammar>,
    canvas: Canvas,
    /// The positions after each change.
    history: Vec<Vec<Option<TokenId>>>,
    all: Option<BTreeSet<Vec<TokenId>>>,
}

impl Held {
    fn now(&self) -> &[Option<TokenId>] {
        self.history.last().expect("a canvas had positions from the first on")
    }

    /// The tokens that a position can have, the others being as they are.
    fn possible(&self, at: usize) -> Option<BTreeSet<TokenId>> {
        let mut open = self.now().to_vec();
        open[at] = None;
        let fits = self.all.as_ref()?.iter().filter(|text| {
            text.iter().zip(&open).all(|(token, known)| known.is_none_or(|known| known == *token))
        });
        Some(fits.map(|text| text[at]).collect())
    }

    /// A completion is a text of the grammar that has what is known.
    fn check(&mut self) {
        assert_eq!(self.canvas.positions(), self.now());
        let Some(status) = usable(self.canvas.status()) else { return };
        let is_possible = self.all.as_ref().map(|all| {
            all.iter().any(|text| {
                text.iter().zip(self.now()).all(|(token, known)| known.is_none_or(|known| known == *token))
            })
        });
        assert!(
            status != CanvasStatus::Possible || is_possible != Some(false),
            "{:?} is impossible",
            self.now()
        );
        assert!(
            status != CanvasStatus::Impossible || is_possible != Some(true),
            "{:?} is possible",
            self.now()
        );
        let Some(complete) = usable(self.canvas.complete()) else { return };
        assert_eq!(complete.is_some(), status == CanvasStatus::Possible);
        let Some(tokens) = complete else {
            let why = usable(self.canvas.why_impossible()).flatten();
            assert!(why.is_some_and(|why| !why.is_empty()));
            return;
        };
        assert!(
            tokens.iter().zip(self.now()).all(|(token, known)| known.is_none_or(|known| known == *token))
        );
        let mut matcher = self.grammar.matcher().unbounded();
        for &token in &tokens {
            let Ok(is_read) = matcher.accept_token(token) else { return };
            assert!(
                is_read || matcher.is_terminated() && token == EOS,
                "{tokens:?} is no text of the grammar"
            );
        }
        assert!(matcher.is_accepting(), "{tokens:?} is no whole text of the grammar");
    }

    /// One call; `None` if it fails.
    fn call(&mut self, what: u8, with: u8) -> Option<()> {
        if self.now().is_empty() {
            return None;
        }
        let at = usize::from(what >> 3) % self.now().len();
        let id = TokenId(u32::from(with) % TOKENS.len() as u32);
        let mut next = self.now().to_vec();
        match what % 6 {
            0 | 1 => {
                let verdict = usable(self.canvas.allows(at, &[id]))?[0];
                let is_set = usable(self.canvas.set(at, id))?;
                assert!(verdict != Verdict::Yes || is_set, "{id:?} is allowed at {at} and not set");
                assert!(verdict != Verdict::No || !is_set, "{id:?} is not allowed at {at} and set");
                if is_set {
                    next[at] = Some(id);
                    self.history.push(next);
                    assert_eq!(usable(self.canvas.status())?, CanvasStatus::Possible);
                }
            }
            2 => {
                usable(self.canvas.unset(at))?;
                next[at] = None;
                self.history.push(next);
            }
            3 => {
                assert_eq!(self.canvas.undo(), self.history.len() > 1);
                if self.history.len() > 1 {
                    self.history.pop();
                }
            }
            4 => {
                let ids: Vec<TokenId> = (0..TOKENS.len() as u32).map(TokenId).collect();
                let verdicts = usable(self.canvas.allows(at, &ids))?;
                let Some(possible) = self.possible(at) else { return Some(()) };
                for (id, verdict) in ids.iter().zip(verdicts) {
                    assert!(
                        verdict == Verdict::Open || (verdict == Verdict::Yes) == possible.contains(id),
                        "{id:?} at {at} of {:?}: {verdict:?}",
                        self.now()
                    );
                }
            }
            _ => {
                let mut words = vec![u32::MAX; mask_words(TOKENS.len())];
                let status = usable(self.canvas.fill_mask(at, &mut words, with & 1 == 0))?;
                let ids = (0..TOKENS.len() as u32).map(TokenId);
                let mask: BTreeSet<TokenId> = ids.filter(|&id| mask_contains(&words, id)).collect();
                let Some(possible) = self.possible(at) else { return Some(()) };
                assert!(mask.is_subset(&possible), "{mask:?} at {at} of {:?}, not {possible:?}", self.now());
                assert!(
                    status == MaskStatus::Bound || mask == possible,
                    "{mask:?} at {at} of {:?}, not {possible:?}",
                    self.now()
                );
            }
        }
        self.check();
        Some(())
    }
}
