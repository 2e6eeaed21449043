//! `maskwright tokenize`: a text as a tokenizer cuts it.

use std::collections::HashMap;
use std::io::Write;

use anyhow::Context;
use maskwright::TokenId;
use maskwright::debug::counted;
use serde_json::{Value, json};

use crate::arguments::Tokenize;
use crate::outcome::{Outcome, print_json, say};
use crate::{bytes, input, model};

/// Prints the tokens of a text.
pub(crate) fn run(arguments: &Tokenize) -> anyhow::Result<Outcome> {
    // clap has seen to it that one is there.
    let tokenizer = model::tokenizer_of(&arguments.vocabulary)?
        .context("no vocabulary is given: one of --tokenizer, --model is needed")?;
    let file = arguments.file.as_deref();
    let (name, text) = input::read("text", "--text TEXT", arguments.text.as_deref(), file)?;
    let ids = if arguments.special {
        let text = std::str::from_utf8(&text).map_err(|error| {
            let position = error.valid_up_to();
            anyhow::anyhow!("{name}: not UTF-8 text from byte {position} on, which --special needs")
        })?;
        tokenizer.encode_with_special(text)?
    } else {
        tokenizer.encode_bytes(&text)?
    };
    let special: HashMap<TokenId, &str> = tokenizer.special_tokens().collect();
    if arguments.json {
        let entry = |id: &TokenId| -> Value {
            match (tokenizer.token_bytes(*id), special.get(id)) {
                (_, Some(name)) => json!({"id": id.0, "special": name}),
                (text, None) => {
                    let (key, text) = bytes::json_member(text.unwrap_or_default());
                    json!({"id": id.0, key: text})
                }
            }
        };
        print_json(&json!({
            "n_tokens": ids.len(),
            "n_bytes": text.len(),
            "tokens": ids.iter().map(entry).collect::<Vec<_>>(),
        }))?;
        return Ok(Outcome::Done);
    }
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    for &id in &ids {
        match (tokenizer.token_bytes(id), special.get(&id)) {
            (_, Some(name)) => writeln!(stdout, "{:>7} {name} (special)", id.0)?,
            (text, None) => writeln!(stdout, "{:>7} {}", id.0, bytes::quoted(text.unwrap_or_default()))?,
        }
    }
    stdout.flush()?;
    say(format_args!("{}, {}", counted(ids.len(), "token"), counted(text.len(), "byte")));
    Ok(Outcome::Done)
}
