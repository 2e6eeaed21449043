//! `maskwright infill`: a template with holes, filled so that the whole is in the language.
//!
//! Without a model here; [`diffuse`] has the one that writes what is missing.

use std::io::Write;

use anyhow::{anyhow, bail};
use maskwright::infill::{Hole, Infiller, Part};
use maskwright::{Template, Tokenizer};
use serde_json::{Value, json};

use crate::arguments::Infill;
use crate::frame::Place;
use crate::grammar::Source;
use crate::outcome::{Outcome, print_json, say};
use crate::{bytes, diffuse, input, model};

/// What every marker of a hole begins with.
const MARKER: &[u8] = b"{{hole";

/// What came of a template.
enum Filled {
    Text(Vec<u8>),
    /// Why it cannot be filled.
    Impossible(String),
}

/// Fills the holes with some text each.
pub(crate) fn run(arguments: &Infill) -> anyhow::Result<Outcome> {
    if arguments.vocabulary.model.as_deref() == Some(diffuse::NAME) {
        return diffuse::run(arguments);
    }
    if arguments.tokens.is_some() {
        bail!(
            "--tokens goes with --model {}; without a model a template says what is missing",
            diffuse::NAME
        );
    }
    let source = Source::require(&arguments.grammar)?;
    let file = arguments.file.as_deref();
    let (name, text) = input::read("template", "--template TEXT", arguments.template.as_deref(), file)?;
    let parts = parts(&text, &name)?;
    let counts = |part: &Part| matches!(part, Part::Hole(Hole::AtMost(_) | Hole::Exactly(_)));
    let tokenizer = match model::tokenizer_of(&arguments.vocabulary)? {
        Some(tokenizer) => tokenizer,
        None if parts.iter().any(counts) => {
            bail!("a hole is counted in tokens: say whose by --tokenizer or --model")
        }
        None => model::byte_tokenizer()?,
    };
    let infiller = source.compile(&tokenizer, None)?.infiller(&Default::default())?;
    let without = input::without_line_end(&text).filter(|_| arguments.template.is_none());
    let n_holes = parts.iter().filter(|part| matches!(part, Part::Hole(_))).count();
    let mut filled = fill(&infiller, parts)?;
    // A line end after the last line of a file that the grammar has no place for does not count.
    if let (Filled::Impossible(_), Some(text)) = (&filled, without)
        && let better @ Filled::Text(_) = fill(&infiller, self::parts(text, &name)?)?
    {
        filled = better;
    }
    conclude(arguments, &tokenizer, n_holes, filled)
}

fn fill(infiller: &Infiller, parts: Vec<Part>) -> anyhow::Result<Filled> {
    let mut template = Template::new(infiller, parts)?;
    Ok(match template.complete()? {
        Some(text) => Filled::Text(text),
        None => Filled::Impossible(template.why_impossible()?.unwrap_or_default()),
    })
}

fn conclude(
    arguments: &Infill,
    tokenizer: &Tokenizer,
    n_holes: usize,
    filled: Filled,
) -> anyhow::Result<Outcome> {
    let outcome = match &filled {
        Filled::Text(_) => Outcome::Done,
        Filled::Impossible(_) => Outcome::Failed,
    };
    if arguments.json {
        let mut value = json!({
            "is_possible": outcome == Outcome::Done,
            "n_holes": n_holes,
            "n_vocab": tokenizer.n_vocab(),
            "why": Value::Null,
        });
        match &filled {
            Filled::Text(text) => {
                let (key, text) = bytes::json_member(text);
                value[key] = text;
            }
            Filled::Impossible(why) => value["why"] = json!(why),
        }
        print_json(&value)?;
        return Ok(outcome);
    }
    match filled {
        Filled::Text(text) => {
            let mut stdout = std::io::stdout().lock();
            stdout.write_all(&text)?;
            stdout.flush()?;
        }
        Filled::Impossible(why) => say(format_args!("the template cannot be completed: {why}")),
    }
    Ok(outcome)
}

/// Cuts a template at its markers: `{{hole}}`, `{{hole:8}}` (at most 8 tokens), `{{hole=3}}` (exactly 3).
pub(crate) fn parts(template: &[u8], name: &str) -> anyhow::Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.windows(MARKER.len()).position(|window| window == MARKER) {
        let inside = &rest[at + MARKER.len()..];
        let end = inside.windows(2).position(|window| window == b"}}");
        let Some((hole, end)) = end.and_then(|end| Some((hole(&inside[..end])?, end))) else {
            let place = Place::new(template, template.len() - rest.len() + at);
            return Err(anyhow!(
                "{name}:{}:{}: a hole is written {{{{hole}}}}, {{{{hole:8}}}} (at most 8 tokens) or {{{{hole=3}}}} \
                 (exactly 3)\n{place}",
                place.line(),
                place.column(),
            ));
        };
        parts.push(Part::Text(rest[..at].to_vec()));
        parts.push(Part::Hole(hole));
        rest = &inside[end + 2..];
    }
    parts.push(Part::Text(rest.to_vec()));
    Ok(parts)
}

/// What stands between `{{hole` and `}}`.
fn hole(inside: &[u8]) -> Option<Hole> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    match inside {
        [] => Some(Hole::Any),
        [b':', digits @ ..] => number(digits).map(Hole::AtMost),
        [b'=', digits @ ..] => number(digits).map(Hole::Exactly),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_cut_at_their_markers() {
        let text = |text: &str| Part::Text(text.as_bytes().to_vec());
        let cut = parts(b"a{{hole:8}}{{hole}} {b}{{hole=0}}", "t").unwrap();
        let holes = [Hole::AtMost(8), Hole::Any, Hole::Exactly(0)].map(Part::Hole);
        let [first, second, third] = holes;
        assert_eq!(cut, [text("a"), first, text(""), second, text(" {b}"), third, text("")]);
        assert_eq!(parts(b"{{ hole }}", "t").unwrap(), [text("{{ hole }}")]);
    }

    #[test]
    fn a_marker_that_is_none_is_located() {
        for (template, place) in [
            ("a\nb{{hole", "t:2:2"),
            ("{{hole:}}", "t:1:1"),
            ("{{hole=-1}}", "t:1:1"),
            ("{{holes}}", "t:1:1"),
        ] {
            let message = parts(template.as_bytes(), "t").unwrap_err().to_string();
            assert!(message.starts_with(place), "{message}");
        }
    }
}
