//! `maskwright mask`: the tokens that may come after a prefix, and why one may not.

use std::io::Write;

use anyhow::{Context, bail};
use maskwright::debug::{Place, counted, read_text};
use maskwright::{MaskStatus, Matcher, TokenId, Tokenizer};
use serde_json::{Value, json};

use crate::arguments::Mask;
use crate::grammar::Source;
use crate::outcome::{Outcome, note, print_json, say};
use crate::{bytes, model};

/// Lists the mask, or explains tokens.
pub(crate) fn run(arguments: &Mask) -> anyhow::Result<Outcome> {
    let source = Source::require(&arguments.grammar)?;
    // clap has seen to it that one is there.
    let tokenizer = model::tokenizer_of(&arguments.vocabulary)?
        .context("no vocabulary is given: one of --tokenizer, --model is needed")?;
    let grammar = source.compile(&tokenizer, None)?;
    let mut matcher = Matcher::new(&grammar);
    let prefix = arguments.prefix.as_bytes();
    let special = arguments.special.then_some(&tokenizer);
    let n_viable = read_text(&mut matcher, prefix, special)?.n_viable;
    if n_viable < prefix.len() {
        say(format_args!("no text of the language begins with the prefix: it leaves it at byte {n_viable}"));
        say(Place::new(prefix, n_viable));
        say(format_args!("expected {}", matcher.expected()?.join(" or ")));
        return Ok(Outcome::Failed);
    }
    match &arguments.explain {
        Some(tokens) => explain(arguments, tokens, &mut matcher, &tokenizer),
        None => list(arguments, &mut matcher, &tokenizer),
    }
}

fn explain(
    arguments: &Mask,
    tokens: &[String],
    matcher: &mut Matcher,
    tokenizer: &Tokenizer,
) -> anyhow::Result<Outcome> {
    let mask = matcher.mask()?;
    let mut explanations = Vec::new();
    for token in tokens {
        let id = id_of(token, tokenizer)?;
        if token.parse::<u32>().is_ok()
            && let [as_text] = *tokenizer.encode(token)?
            && as_text != id
        {
            note(format_args!(
                "{token} is taken as an id; the token with the text {token:?} has the id {}",
                as_text.0
            ));
        }
        let is_allowed = matcher.validate_tokens(&[id])? == 1;
        // What a token's bytes say and what the mask says come by different ways.
        if mask.contains(id) != is_allowed && matcher.mask_status() == MaskStatus::Exact {
            let (mask_says, bytes_say) = if is_allowed { ("refuses", "allow") } else { ("allows", "refuse") };
            note(format_args!(
                "the mask {mask_says} token {}, but its bytes {bytes_say} it: this is a defect, please report it",
                id.0
            ));
        }
        explanations.push((id, is_allowed, matcher.explain(id)?));
    }
    if arguments.json {
        let entry = |(id, is_allowed, why): &(TokenId, bool, String)| json!({"id": id.0, "is_allowed": is_allowed, "why": why});
        print_json(&explanations.iter().map(entry).collect())?;
    } else {
        let mut stdout = std::io::stdout().lock();
        for (_, _, why) in &explanations {
            writeln!(stdout, "{why}")?;
        }
    }
    Ok(Outcome::Done)
}

/// The id of a token that is given by its id or its text.
fn id_of(token: &str, tokenizer: &Tokenizer) -> anyhow::Result<TokenId> {
    let n_vocab = tokenizer.n_vocab();
    if let Ok(id) = token.parse::<u32>() {
        if id as usize >= n_vocab {
            bail!("there is no token {id}: the vocabulary has ids from 0 to {}", n_vocab.saturating_sub(1));
        }
        return Ok(TokenId(id));
    }
    if let Some(id) = tokenizer.special_token_id(token) {
        return Ok(id);
    }
    let ids = tokenizer.encode(token)?;
    let &[id] = &*ids else {
        let shown = ids
            .iter()
            .map(|&id| format!("{} {}", id.0, bytes::quoted(tokenizer.token_bytes(id).unwrap_or_default())));
        let shown: Vec<String> = shown.collect();
        bail!("{token:?} is not one token but {}: {}", ids.len(), shown.join(", "));
    };
    Ok(id)
}

/// Whether the token would end the text.
fn matcher_ends(matcher: &Matcher, id: TokenId) -> bool {
    matcher.grammar().vocabulary().is_eos(id) && matcher.is_accepting()
}

fn list(arguments: &Mask, matcher: &mut Matcher, tokenizer: &Tokenizer) -> anyhow::Result<Outcome> {
    let mask = matcher.mask()?;
    let (n_allowed, n_vocab) = (mask.len(), tokenizer.n_vocab());
    let limit = if arguments.limit == 0 { usize::MAX } else { arguments.limit };
    let shown = mask.iter().take(limit);
    if arguments.json {
        let entry = |id: TokenId| -> Value {
            match tokenizer.token_bytes(id) {
                Some(text) => {
                    let (key, text) = bytes::json_member(text);
                    json!({"id": id.0, key: text})
                }
                None if matcher_ends(matcher, id) => json!({"id": id.0, "is_end_of_text": true}),
                None => json!({"id": id.0, "special": tokenizer.vocabulary().name(id)}),
            }
        };
        print_json(&json!({
            "n_allowed": n_allowed,
            "n_vocab": n_vocab,
            "is_accepting": matcher.is_accepting(),
            "tokens": shown.map(entry).collect::<Vec<_>>(),
        }))?;
        return Ok(Outcome::Done);
    }
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    for id in shown {
        match tokenizer.token_bytes(id) {
            Some(text) => writeln!(stdout, "{:>7} {}", id.0, bytes::quoted(text))?,
            None if matcher_ends(matcher, id) => writeln!(stdout, "{:>7} end of text", id.0)?,
            None => writeln!(stdout, "{:>7} {}", id.0, tokenizer.vocabulary().name(id).unwrap_or("?"))?,
        }
    }
    stdout.flush()?;
    let hidden = n_allowed.saturating_sub(limit);
    let more = if hidden > 0 { format!(", {hidden} of them not shown (--limit)") } else { String::new() };
    let are = if n_allowed == 1 { "is" } else { "are" };
    say(format_args!("{n_allowed} of {} {are} allowed{more}", counted(n_vocab, "token")));
    Ok(Outcome::Done)
}
