//! Reads texts through the engine, with the bytes as tokens and some longer ones.

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, EngineGrammar, Matcher};
use maskwright_grammar::Grammar;
use maskwright_vocabulary::{TokenId, Vocabulary};
use serde_json::Value;

pub(crate) struct Session {
    compiler: Compiler,
    longer: Vec<String>,
}

impl Session {
    /// With these tokens beside the 256 bytes.
    pub(crate) fn new(longer: &[&str]) -> Session {
        let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
        let all = bytes.chain(longer.iter().chain(&["</s>"]).map(|token| token.as_bytes().to_vec()));
        let vocabulary =
            Vocabulary::from_tokens(all.map(Some).collect(), &[TokenId(256 + longer.len() as u32)], None);
        let compiler = Compiler::new(vocabulary.unwrap().shared(), Default::default());
        Session { compiler, longer: longer.iter().map(|&token| token.to_owned()).collect() }
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
