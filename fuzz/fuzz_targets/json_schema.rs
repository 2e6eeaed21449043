//! JSON Schema: a document, texts and choices of tokens, against the validator `jsonschema`.
//!
//! What we accept is valid for it, whether the text was given or chosen from masks. For schemas out of
//! `schemas.rs`, the other direction too: a value that is valid is accepted in the usual written form. Left
//! out is what `testdata/json-schema/deviations.md` says.
#![no_main]

use arbitrary::Unstructured;
use jsonschema::Validator;
use libfuzzer_sys::fuzz_target;
use maskwright::json_schema::{Numbers, PropertyOrder, SchemaConfig, SchemaDocuments, Whitespace};
use maskwright::{CompiledGrammar, GrammarSource};
use maskwright_fuzz::schemas::{has_loop, schema, value};
use maskwright_fuzz::{check_limited_walk, check_text, compile_text, compiler, parts, text, walk};
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Some((&chosen, rest)) = data.split_first() else { return };
    let mut config = SchemaConfig::default();
    if chosen & 1 != 0 {
        config.property_order = PropertyOrder::Any;
    }
    if chosen & 2 != 0 {
        config.numbers = Numbers::Any;
    }
    config.strict = chosen & 4 == 0;
    let spaces = [Whitespace::Flexible, Whitespace::Any, Whitespace::Compact, Whitespace::AtMost(2)];
    config.whitespace = spaces[usize::from(chosen >> 3 & 3)];
    match chosen & 0x20 == 0 {
        true => {
            let Some((_, parts)) = parts(rest, 0) else { return };
            let Some(document) = text(&parts, 0) else { return };
            let part = |index: usize| parts.get(index).copied().unwrap_or_default();
            let Some(judged) = Judged::new(document, config, true) else { return };
            judged.check(part(1), part(2));
        }
        false => {
            let mut data = Unstructured::new(rest);
            let Ok(document) = schema(&mut data) else { return };
            let values: Vec<Value> = (0..3).map_while(|_| value(&mut data, 3).ok()).collect();
            let Some(judged) = Judged::new(&document.to_string(), config, false) else { return };
            for value in &values {
                judged.check_value(value, config);
            }
            judged.check(b"", data.take_rest());
        }
    }
});

/// A schema that both read.
struct Judged {
    document: Value,
    grammar: std::sync::Arc<CompiledGrammar>,
    /// `None` if the validator does not take it, or takes long.
    validator: Option<Validator>,
    is_enforced: bool,
}

impl Judged {
    fn new(text: &str, config: SchemaConfig, may_be_far: bool) -> Option<Judged> {
        let source = GrammarSource::json_schema(text, config);
        let grammar = compile_text(&compiler(), if may_be_far { text } else { "" }, &source)?;
        let document: Value = serde_json::from_str(text).expect("what is compiled is JSON");
        let is_enforced = grammar.report().is_some_and(|report| report.is_complete());
        let mut options = jsonschema::options();
        // A `]` alone is a character to us, as in published schemas, and an error to it.
        options = options.should_validate_formats(true).with_format("regex", |_: &str| true);
        let validator = options.build(&document).ok().filter(|_| !has_loop(&document));
        Some(Judged { document, grammar, validator, is_enforced })
    }

    /// What must hold of a text that is given, and of one chosen from the masks.
    fn check(&self, given: &[u8], choices: &[u8]) {
        check_limited_walk(&self.grammar, choices);
        let own = walk(&self.grammar, choices);
        for (text, is_own) in [(Some(given), false), (own.as_deref(), true)] {
            let Some(text) = text else { continue };
            let shown = text.escape_ascii().to_string();
            let Some(is_valid) = check_text(&self.grammar, text) else { continue };
            assert!(!is_own || is_valid, "a text of its own: {shown}");
            if is_valid {
                let text = std::str::from_utf8(text).expect("texts of schemas are UTF-8");
                let value: Value = serde_json::from_str(text).expect("texts of schemas are JSON");
                self.check_accepted(text, &value);
            }
        }
    }

    /// A text that we accept is valid.
    fn check_accepted(&self, text: &str, value: &Value) {
        // Of keys that occur twice, a reader keeps one.
        let is_repeated = SchemaDocuments::default().insert("text", text).is_err();
        let Some(validator) = self.validator.as_ref().filter(|_| self.is_enforced && !is_repeated) else {
            return;
        };
        assert!(
            validator.is_valid(value),
            "{} does not allow {value}: {:?}",
            self.document,
            validator.validate(value)
        );
    }

    /// A value that is valid is accepted.
    fn check_value(&self, value: &Value, config: SchemaConfig) {
        let text = value.to_string();
        let Some(is_ours) = check_text(&self.grammar, text.as_bytes()) else { return };
        if is_ours {
            self.check_accepted(&text, value);
        }
        // We assert formats in all drafts.
        let is_any = config.property_order == PropertyOrder::Any
            && config.numbers == Numbers::Any
            && !self.document.to_string().contains("\"format\"");
        let Some(validator) = self.validator.as_ref().filter(|_| is_any && self.is_enforced) else { return };
        assert!(is_ours || !validator.is_valid(value), "{} allows {value}", self.document);
    }
}
