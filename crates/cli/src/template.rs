//! Templates with holes as they are given: `{{hole}}`, `{{hole:8}}` (at most 8 tokens), `{{hole=3}}`.

use anyhow::anyhow;
use maskwright::debug::Place;
use maskwright::infill::{Hole, Infiller, Part};
use maskwright::{Limits, Template};
use maskwright_syntax::nearest_name;
use serde_json::{Value, json};

use crate::arguments::Infill;
use crate::outcome::{Outcome, print_json, say};
use crate::{bytes, input};

/// What every marker of a hole begins with.
const MARKER: &[u8] = b"{{hole";

/// What filling holes may cost.
pub(crate) fn limits(arguments: &Infill) -> Limits {
    let mut limits = Limits::default();
    limits.infill_work = arguments.infill_work.unwrap_or(limits.infill_work);
    limits
}

/// A template that was filled.
pub(crate) struct Filled {
    pub(crate) text: Vec<u8>,
    pub(crate) n_holes: usize,
    pub(crate) n_vocab: usize,
    /// The tokens that a model wrote, by hole, where that is known.
    pub(crate) n_tokens: Option<Vec<usize>>,
    /// False if it was broken off.
    pub(crate) is_complete: bool,
}

impl Filled {
    pub(crate) fn to_json(&self) -> Value {
        let (key, text) = bytes::json_member(&self.text);
        let mut value = verdict(Some(true), Some((self.n_holes, self.n_vocab)), None);
        value["is_complete"] = self.is_complete.into();
        value["n_tokens"] = json!(self.n_tokens);
        value[key] = text;
        value
    }
}

/// What `--json` prints of a template, with the numbers of holes and of tokens in the vocabulary.
pub(crate) fn verdict(is_possible: Option<bool>, counts: Option<(usize, usize)>, why: Option<&str>) -> Value {
    let (n_holes, n_vocab) = counts.unzip();
    json!({
        "is_possible": is_possible,
        "is_complete": false,
        "n_holes": n_holes,
        "n_tokens": null,
        "n_vocab": n_vocab,
        "why": why,
    })
}

/// Says why a template cannot be filled.
pub(crate) fn impossible(
    arguments: &Infill,
    n_holes: usize,
    n_vocab: usize,
    why: &str,
) -> anyhow::Result<Outcome> {
    if arguments.json {
        print_json(&verdict(Some(false), Some((n_holes, n_vocab)), Some(why)))?;
    } else {
        say(format_args!("the template cannot be completed: {why}"));
    }
    Ok(Outcome::Failed)
}

/// What the user gave as the template, and what to call it.
pub(crate) struct TemplateText {
    name: String,
    text: Vec<u8>,
    is_argument: bool,
}

/// A template, or why it cannot be filled.
pub(crate) enum Checked {
    Possible { template: Box<Template>, parts: Vec<Part> },
    Impossible { n_holes: usize, why: String },
}

impl TemplateText {
    pub(crate) fn read(arguments: &Infill) -> anyhow::Result<TemplateText> {
        let (given, file) = (arguments.template.as_deref(), arguments.file.as_deref());
        let (name, text) = input::read("template", "--template TEXT", given, file)?;
        // What is no marker is told before anything is loaded.
        parts(&text, &name)?;
        Ok(TemplateText { name, text, is_argument: given.is_some() })
    }

    /// Whether the length of a hole is given in tokens.
    pub(crate) fn counts_tokens(&self) -> anyhow::Result<bool> {
        let counts = |part: &Part| matches!(part, Part::Hole(Hole::AtMost(_) | Hole::Exactly(_)));
        Ok(parts(&self.text, &self.name)?.iter().any(counts))
    }

    /// Whether the holes can be filled. A line end after the last line of a file that the grammar has no
    /// place for does not count.
    pub(crate) fn check(&self, infiller: &Infiller) -> anyhow::Result<Checked> {
        let given = self.check_text(&self.text, infiller)?;
        if matches!(given, Checked::Impossible { .. })
            && !self.is_argument
            && let Some(without) = input::without_line_end(&self.text)
        {
            let without = self.check_text(without, infiller)?;
            if matches!(without, Checked::Possible { .. }) {
                return Ok(without);
            }
        }
        // What is wrong with the text as it was given says more.
        Ok(given)
    }

    fn check_text(&self, text: &[u8], infiller: &Infiller) -> anyhow::Result<Checked> {
        let parts = parts(text, &self.name)?;
        let mut template = Template::new(infiller, parts.clone())?;
        Ok(match template.why_impossible()? {
            None => Checked::Possible { template: Box::new(template), parts },
            Some(why) => {
                let why = match misspelt_hole(text) {
                    Some(given) => format!("{why}; {given} is taken as text: a hole is written {{{{hole}}}}"),
                    None => why,
                };
                Checked::Impossible { n_holes: n_holes(&parts), why }
            }
        })
    }
}

pub(crate) fn n_holes(parts: &[Part]) -> usize {
    parts.iter().filter(|part| matches!(part, Part::Hole(_))).count()
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

/// The first text between double braces that is no marker, and looks as if it were meant to be one.
fn misspelt_hole(template: &[u8]) -> Option<String> {
    const HOLE: &str = "hole";
    let text = String::from_utf8_lossy(template);
    let inside = text.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0));
    let is_meant = |inside: &str| {
        let name = inside.split([':', '=']).next().unwrap_or_default().trim();
        name == HOLE || nearest_name(name, [HOLE]).is_some()
    };
    let is_marker = |inside: &str| inside.starts_with(HOLE);
    inside.into_iter().find(|inside| !is_marker(inside) && is_meant(inside)).map(|it| format!("{{{{{it}}}}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_resembles_a_hole_is_found() {
        let found = |text: &str| misspelt_hole(text.as_bytes());
        for given in ["{{hol}}", "{{ hole }}", "{{Hole:3}}", "{{hloe=2}}"] {
            assert_eq!(found(&format!("a{{{{hole}}}} {given} b")).as_deref(), Some(given));
        }
        for text in ["{{hole}}", "{{hole:3}}", "{{name}}", "{{}}", "{{hol", "hol}}", ""] {
            assert_eq!(found(text), None, "{text}");
        }
    }

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
