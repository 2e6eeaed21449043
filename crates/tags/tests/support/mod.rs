//! Reads texts through the engine, with the bytes as tokens and some longer ones.

#![allow(dead_code, reason = "not every test uses all of it")]

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, EngineGrammar, Matcher};
use maskwright_grammar::{Grammar, SpecialNames};
use maskwright_vocabulary::{TokenId, Tokenizer, Vocabulary};
use serde_json::Value;

pub(crate) struct Session {
    compiler: Compiler,
    longer: Vec<String>,
    /// How many of the last of `longer` are special.
    n_special: usize,
}

impl Session {
    /// With these tokens beside the 256 bytes.
    pub(crate) fn new(longer: &[&str]) -> Session {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        let all = bytes.chain(longer.iter().chain(&["</s>"]).map(|token| token.as_bytes().to_vec()));
        let vocabulary =
            Vocabulary::from_tokens(all.map(Some).collect(), &[TokenId(256 + longer.len() as u32)], None);
        let compiler = Compiler::new(vocabulary.unwrap().shared(), Default::default());
        Session { compiler, longer: longer.iter().map(|&token| token.to_owned()).collect(), n_special: 0 }
    }

    /// With special tokens of these names beside the 256 bytes.
    pub(crate) fn with_special(names: &[&str]) -> Session {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        let all = bytes.chain(names.iter().chain(&["</s>"]).map(|token| token.as_bytes().to_vec()));
        let special: Vec<TokenId> = (0..names.len() as u32).map(|at| TokenId(256 + at)).collect();
        let end = TokenId(256 + names.len() as u32);
        let tokenizer = Tokenizer::from_tokens_with_special(all.collect(), &[end], &special).unwrap();
        let compiler = Compiler::new(Arc::clone(tokenizer.vocabulary()), Default::default());
        let longer = names.iter().map(|&name| name.to_owned()).collect();
        Session { compiler, longer, n_special: names.len() }
    }

    /// The names of the special tokens.
    pub(crate) fn special(&self) -> SpecialNames {
        SpecialNames::new(self.longer.iter().rev().take(self.n_special))
    }

    pub(crate) fn compile(&self, grammar: Grammar) -> Arc<EngineGrammar> {
        self.compiler.compile(grammar, &Fuel::new(10_000_000)).unwrap()
    }

    /// Whether the text is complete.
    pub(crate) fn is_text(&self, grammar: &Arc<EngineGrammar>, text: &Value) -> bool {
        let bytes = |text: &str| text.bytes().map(u32::from).collect::<Vec<_>>();
        let ids: Vec<u32> = match text {
            Value::String(text) => bytes(text),
            Value::Array(pieces) => pieces
                .iter()
                .flat_map(|piece| match piece {
                    Value::String(text) => bytes(text),
                    token => {
                        let at = self.longer.iter().position(|longer| token[0] == *longer).unwrap();
                        vec![256 + at as u32]
                    }
                })
                .collect(),
            other => panic!("{other} is no text"),
        };
        let mut matcher = Matcher::new(grammar);
        let is_read = ids.into_iter().all(|id| matcher.accept_token(TokenId(id)).unwrap());
        is_read && matcher.is_accepting()
    }
}
