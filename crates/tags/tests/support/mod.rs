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
        let vocabulary = Vocabulary::from_tokens(all.map(Some).collect(), &[256 + longer.len() as u32], None);
        let compiler = Compiler::new(vocabulary.unwrap().shared(), Default::default());
        Session { compiler, longer: longer.iter().map(|&token| token.to_owned()).collect() }
    }

    pub(crate) fn compile(&self, grammar: Grammar) -> Arc<EngineGrammar> {
        self.compiler.compile(grammar, &Fuel::new(10_000_000)).unwrap()
    }

    /// Whether the text is complete.
    pub(crate) fn is_text(&self, grammar: &Arc<EngineGrammar>, text: &Value) -> bool {
        let mut matcher = Matcher::new(grammar);
        let mut read = |id: u32| matcher.accept_token(TokenId(id)).unwrap();
        let mut read_all = |piece: &str| piece.bytes().all(|byte| read(u32::from(byte)));
        let is_read = match text {
            Value::String(text) => read_all(text),
            Value::Array(pieces) => pieces.iter().all(|piece| match piece {
                Value::String(text) => read_all(text),
                token => {
                    let at = self.longer.iter().position(|longer| token[0] == *longer).unwrap();
                    read(256 + at as u32)
                }
            }),
            other => panic!("{other} is no text"),
        };
        is_read && matcher.is_accepting()
    }
}
