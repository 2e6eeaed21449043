//! A decoding loop of your own: logits, a mask, a token, until the text is complete.
//!
//! `cargo run -p maskwright --example own_loop`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod stand_in;

use maskwright::{CompileOptions, Compiler, Error, GrammarSource, MatcherConfig, TokenId, mask_words};
use stand_in::StandIn;

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 20}, "born": {"type": "integer", "minimum": 1000, "maximum": 2100}},
    "required": ["name", "born"],
    "additionalProperties": false
}"#;

/// What the model would like to say: it begins with words that are no JSON, and puts the year in quotes.
const SCRIPT: &str = r#"Lovelace? Certainly! {"name": "Ada Lovelace", "born": "1815"}"#;

/// Writes one text, and says how often the model was asked.
pub fn main() -> Result<(), Error> {
    // With a real model: `Tokenizer::from_file("tokenizer.json".as_ref(), &Default::default())`.
    let tokenizer = stand_in::bytes()?;
    let model = StandIn::new(SCRIPT);

    // A compiler for the tokenizer, kept as long as the model; a grammar, kept for all its texts.
    let compiler = Compiler::new(&tokenizer);
    let source = GrammarSource::json_schema(SCHEMA, Default::default());
    let grammar = compiler.compile(&source, &CompileOptions::default())?;

    // A matcher for each text. The text is complete within 60 tokens, whatever the model wants.
    let mut matcher = grammar.matcher_with(&MatcherConfig::with_max_tokens(60))?;
    let mut mask = vec![0; mask_words(tokenizer.n_vocab())];
    let mut ids: Vec<TokenId> = tokenizer.encode("Who was Ada Lovelace? ")?;
    let n_prompt = ids.len();
    let mut n_asked = 0;
    while !matcher.is_terminated() {
        // Where only one text can come next, nobody needs to ask the model.
        let forced = matcher.forced_tokens(|text| tokenizer.encode_bytes(text).unwrap_or_default())?;
        if !forced.is_empty() {
            assert_eq!(matcher.accept_tokens(&forced)?, forced.len());
            ids.extend(forced);
            continue;
        }
        let logits = model.logits(&ids);
        n_asked += 1;
        matcher.fill_mask(&mut mask)?;
        let token = stand_in::likeliest(&logits, &mask);
        assert!(matcher.accept_token(token)?, "every token of the mask is accepted");
        ids.push(token);
    }

    let text = tokenizer.decode(&ids[n_prompt..]);
    println!("{}", String::from_utf8_lossy(&text));
    println!("{} tokens, and the model was asked for {n_asked}", ids.len() - n_prompt);
    assert!(grammar.check(&text, &Default::default())?.is_valid);
    assert_eq!(text, br#"{"name": "Ada Lovelace", "born": 1815}"#);
    assert!(n_asked < ids.len() - n_prompt);
    Ok(())
}
