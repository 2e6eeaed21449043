//! Maskwright in WebAssembly. `package/index.js` is what users import: it wraps these classes, turns JSON
//! text into values and errors into exceptions.
//!
//! A panic is a bug of ours and ends the instance: WebAssembly cannot unwind, so what it has left is not used
//! again. The hook keeps its message for the exception that follows.

use std::cell::RefCell;
use std::sync::Arc;

use maskwright::{
    CheckConfig, CompileOptions, CompiledGrammar, Error, ErrorKind, Events, MaskStatus, MatcherConfig,
    TokenId, TokenizerOptions, Vocabulary, bindings,
};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps the message of a panic for [`panic_message`].
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| PANIC.set(panic.to_string())));
}

/// What the panic said that ended this instance; empty if there was none.
#[wasm_bindgen]
pub fn panic_message() -> String {
    PANIC.with_borrow(Clone::clone)
}

/// An error as JSON text, which the wrapper makes an exception of.
fn thrown(error: Error) -> JsValue {
    let described = json!({
        "kind": bindings::kind(error.kind()),
        "message": error.to_string(),
        "pointer": error.pointer(),
        "keyword": error.keyword(),
        "line": error.line(),
        "column": error.column(),
        "hint": error.hint(),
        "limit": error.limit().map(|(name, _)| name),
        "needed": error.needed(),
    });
    JsValue::from_str(&described.to_string())
}

fn argument(message: String) -> JsValue {
    thrown(Error::message(ErrorKind::Argument, message))
}

type Answer<T> = Result<T, JsValue>;

fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().map(|&id| TokenId(id)).collect()
}

fn numbers(tokens: Vec<TokenId>) -> Vec<u32> {
    tokens.into_iter().map(|token| token.0).collect()
}

/// A model's tokens.
#[wasm_bindgen]
pub struct Tokenizer {
    tokenizer: maskwright::Tokenizer,
}

#[wasm_bindgen]
impl Tokenizer {
    /// From the text of a `tokenizer.json`. `eos`: the tokens that end a text; none: from the file. `size`:
    /// the width of the model's logits; 0: from the file.
    pub fn from_json(json: &str, eos: &[u32], size: usize) -> Answer<Tokenizer> {
        let mut options = TokenizerOptions::default();
        options.eos_token_ids = (!eos.is_empty()).then(|| ids(eos));
        options.vocab_size = (size > 0).then_some(size);
        let vocabulary = Vocabulary::from_json(json.as_bytes(), &options).map_err(thrown)?;
        Ok(Tokenizer { tokenizer: maskwright::Tokenizer::from_vocabulary(vocabulary) })
    }

    /// From the bytes of all tokens, one after the other, and the length of each.
    pub fn from_tokens(bytes: &[u8], lengths: &[u32], eos: &[u32], special: &[u32]) -> Answer<Tokenizer> {
        let mut rest = bytes;
        let mut tokens = Vec::with_capacity(lengths.len());
        for &length in lengths {
            let (token, after) = rest
                .split_at_checked(length as usize)
                .ok_or_else(|| argument("the lengths are more than there are bytes".to_owned()))?;
            tokens.push(token.to_vec());
            rest = after;
        }
        let made = maskwright::Tokenizer::from_tokens_with_special(tokens, &ids(eos), &ids(special));
        Ok(Tokenizer { tokenizer: made.map_err(thrown)? })
    }

    /// How many tokens there are.
    pub fn n_vocab(&self) -> usize {
        self.tokenizer.n_vocab()
    }

    /// The tokens that end a text.
    pub fn eos_token_ids(&self) -> Vec<u32> {
        numbers(self.tokenizer.eos_token_ids().to_vec())
    }

    /// Special tokens by name, as a JSON object.
    pub fn special_tokens(&self) -> String {
        let names = self.tokenizer.special_tokens().map(|(id, name)| (name.to_owned(), json!(id.0)));
        Value::Object(names.collect()).to_string()
    }

    /// The bytes that a token stands for, if it is text.
    pub fn token_bytes(&self, id: u32) -> Option<Vec<u8>> {
        self.tokenizer.token_bytes(TokenId(id)).map(<[u8]>::to_vec)
    }

    /// Cuts text, special tokens by their names among it if `special` is true.
    pub fn encode(&self, text: &str, special: bool) -> Answer<Vec<u32>> {
        let tokens = match special {
            true => self.tokenizer.encode_with_special(text),
            false => self.tokenizer.encode(text),
        };
        Ok(numbers(tokens.map_err(thrown)?))
    }

    /// The bytes of tokens.
    pub fn decode(&self, tokens: &[u32]) -> Vec<u8> {
        self.tokenizer.decode(&ids(tokens))
    }
}

/// Compiles grammars.
#[wasm_bindgen]
pub struct Compiler {
    compiler: maskwright::Compiler,
}

#[wasm_bindgen]
impl Compiler {
    /// A compiler with limits as JSON text.
    #[wasm_bindgen(constructor)]
    pub fn new(tokenizer: &Tokenizer, limits: &str) -> Answer<Compiler> {
        let limits = bindings::limits(limits).map_err(thrown)?;
        Ok(Compiler { compiler: maskwright::Compiler::with_limits(&tokenizer.tokenizer, limits) })
    }

    /// Compiles a grammar of a kind, with options as JSON text.
    pub fn compile(&self, kind: &str, source: &str, options: &str) -> Answer<Grammar> {
        let source = bindings::source(kind, source, options).map_err(thrown)?;
        let grammar = self.compiler.compile(&source, &CompileOptions::default()).map_err(thrown)?;
        Ok(Grammar { grammar, compiler: self.compiler.clone() })
    }

    /// The bytes that caches and grammars take.
    pub fn memory_usage(&self) -> usize {
        self.compiler.memory_usage()
    }
}

/// A compiled grammar.
#[wasm_bindgen]
pub struct Grammar {
    grammar: Arc<CompiledGrammar>,
    compiler: maskwright::Compiler,
}

#[wasm_bindgen]
impl Grammar {
    /// What became of each keyword of a schema, as JSON text.
    pub fn report(&self) -> String {
        bindings::report(self.grammar.report()).to_string()
    }

    /// The warnings, as JSON text.
    pub fn warnings(&self) -> String {
        json!(bindings::warnings(&self.grammar)).to_string()
    }

    /// The grammar as a text for llama-server.
    pub fn to_llguidance(&self) -> Answer<String> {
        bindings::exported(self.grammar.source()).map_err(thrown)
    }

    /// What a whole text says, as JSON text.
    pub fn parse(&self, text: &[u8]) -> Answer<String> {
        Ok(bindings::message(&self.grammar.parse(text).map_err(thrown)?).to_string())
    }

    /// How far a text is in the language, as JSON text.
    pub fn check(&self, text: &[u8], special: bool) -> Answer<String> {
        let mut config = CheckConfig::default();
        config.tokenizer = special.then(|| self.compiler.tokenizer());
        config.special_tokens = special;
        let check = self.grammar.check(text, &config).map_err(thrown)?;
        Ok(bindings::check(&check).to_string())
    }

    /// A matcher at the beginning of a text. `max_tokens` below 0: without a limit.
    pub fn matcher(&self, max_tokens: f64, stop_tokens: &[u32]) -> Answer<Matcher> {
        let matcher = match max_tokens < 0.0 && stop_tokens.is_empty() {
            true => self.grammar.matcher(),
            false => {
                let mut config =
                    MatcherConfig::with_max_tokens((max_tokens >= 0.0).then_some(max_tokens as usize));
                config.stop_tokens = ids(stop_tokens);
                self.grammar.matcher_with(&config).map_err(thrown)?
            }
        };
        let (grammar, tokenizer) = (self.grammar.clone(), self.compiler.tokenizer().clone());
        Ok(Matcher { matcher, grammar, tokenizer, events: None })
    }
}

/// One text.
#[wasm_bindgen]
pub struct Matcher {
    matcher: maskwright::Matcher,
    grammar: Arc<CompiledGrammar>,
    tokenizer: maskwright::Tokenizer,
    events: Option<Events>,
}

#[wasm_bindgen]
impl Matcher {
    /// Writes the mask. Returns 1 if tokens may be missing in it, plus 2 if it allows all.
    pub fn fill_mask(&mut self, mask: &mut [u32]) -> Answer<u32> {
        let status = self.matcher.fill_mask(mask).map_err(thrown)?;
        Ok(u32::from(status == MaskStatus::Bound) + 2 * u32::from(self.matcher.mask_is_full()))
    }

    /// Accepts a token if it is allowed.
    pub fn accept(&mut self, id: u32) -> Answer<bool> {
        self.matcher.accept_token(TokenId(id)).map_err(thrown)
    }

    /// Accepts tokens until one is refused; returns how many were accepted.
    pub fn accept_tokens(&mut self, tokens: &[u32]) -> Answer<usize> {
        self.matcher.accept_tokens(&ids(tokens)).map_err(thrown)
    }

    /// Accepts text if it may come next.
    pub fn accept_bytes(&mut self, text: &[u8]) -> Answer<bool> {
        self.matcher.accept_bytes(text).map_err(thrown)
    }

    /// How many of the tokens would be accepted.
    pub fn validate(&self, tokens: &[u32]) -> Answer<usize> {
        self.matcher.validate_tokens(&ids(tokens)).map_err(thrown)
    }

    /// Undoes the last steps.
    pub fn rollback(&mut self, n: usize) -> Answer<()> {
        self.matcher.rollback(n).map_err(thrown)
    }

    /// Goes back to the beginning.
    pub fn reset(&mut self) {
        self.matcher.reset();
        self.events = None;
    }

    /// An independent matcher in the same state.
    pub fn fork(&self) -> Matcher {
        Matcher {
            matcher: self.matcher.fork(),
            grammar: self.grammar.clone(),
            tokenizer: self.tokenizer.clone(),
            events: None,
        }
    }

    /// Whether the text may end here.
    pub fn is_accepting(&self) -> bool {
        self.matcher.is_accepting()
    }

    /// Whether a token that ends the text was accepted.
    pub fn is_terminated(&self) -> bool {
        self.matcher.is_terminated()
    }

    /// The text so far.
    pub fn text(&self) -> Vec<u8> {
        self.matcher.text()
    }

    /// How many tokens the text has.
    pub fn n_tokens(&self) -> usize {
        self.matcher.n_tokens()
    }

    /// The tokens that can be taken without asking the model.
    pub fn forced_tokens(&self) -> Answer<Vec<u32>> {
        let encode = |bytes: &[u8]| self.tokenizer.encode_bytes(bytes).unwrap_or_default();
        Ok(numbers(self.matcher.forced_tokens(encode).map_err(thrown)?))
    }

    /// The bytes that every completion begins with.
    pub fn forced_bytes(&self) -> Answer<Vec<u8>> {
        self.matcher.forced_bytes().map_err(thrown)
    }

    /// A short completion.
    pub fn finish(&self) -> Answer<Vec<u32>> {
        Ok(numbers(self.matcher.finish().map_err(thrown)?))
    }

    /// How many tokens complete the text at most.
    pub fn tokens_to_finish(&self) -> Answer<usize> {
        Ok(self.matcher.tokens_to_finish().map_err(thrown)?.n_tokens)
    }

    /// What the text says, from event number `since` on, as JSON text.
    pub fn events(&mut self, since: usize) -> Answer<String> {
        let events = match &mut self.events {
            Some(events) => events,
            none => none.insert(self.grammar.events().map_err(thrown)?),
        };
        let all = events.of(&self.matcher).map_err(thrown)?;
        Ok(bindings::events(all.get(since..).unwrap_or_default()).to_string())
    }

    /// Where the text is, and what may come next, as JSON text.
    pub fn state(&self) -> Answer<String> {
        Ok(bindings::state(&self.matcher.state().map_err(thrown)?).to_string())
    }

    /// Why a token is allowed or refused here.
    pub fn explain(&self, id: u32) -> Answer<String> {
        self.matcher.explain(TokenId(id)).map_err(thrown)
    }

    /// The texts of captured rules, as JSON text.
    pub fn captures(&self) -> Answer<String> {
        Ok(bindings::captures(&self.grammar.captures(&self.matcher).map_err(thrown)?).to_string())
    }
}
