//! `maskwright check`: is this text in the language, and if not, where does it leave it?

use maskwright::debug::first_character;
use maskwright::{Matcher, MatcherState, Tokenizer};
use serde_json::json;

use crate::arguments::Check;
use crate::frame::Place;
use crate::grammar::Source;
use crate::outcome::{Outcome, print_json, say};
use crate::pieces::Read;
use crate::{bytes, input, model, pieces};

/// What `check` found.
struct Verdict {
    is_member: bool,
    /// Bytes from the beginning that some text of the language goes on with; all of them for a member.
    n_viable: usize,
    /// Whether those are all there are, a last line end left aside.
    is_prefix: bool,
    /// What could have come there; empty for a member.
    expected: Vec<String>,
    /// Why it cannot go on so, in the words of a schema, and where it is.
    why: Option<String>,
    path: Option<String>,
    /// Why a token was refused, where the text was read by tokens.
    token: Option<String>,
    /// Whether the last line end was left out.
    without_line_end: bool,
}

/// Checks a text.
pub(crate) fn run(arguments: &Check) -> anyhow::Result<Outcome> {
    let source = Source::require(&arguments.grammar)?;
    let file = arguments.file.as_deref();
    let (name, text) = input::read("text", "--text TEXT", arguments.text.as_deref(), file)?;
    let tokenizer = match &arguments.tokenizer {
        Some(tokenizer) => Some(model::load_tokenizer(tokenizer)?),
        None => None,
    };
    let grammar = match &tokenizer {
        Some(tokenizer) => source.compile(tokenizer, None)?,
        None => source.compile(&model::byte_tokenizer()?, None)?,
    };
    let start = Matcher::new(&grammar);
    let is_file = arguments.text.is_none();
    let verdict = judge(&start, tokenizer.as_ref(), arguments.special, &text, is_file)?;
    let place = Place::new(&text, verdict.n_viable);
    if arguments.json {
        print_json(&json!({
            "is_member": verdict.is_member,
            "offset": verdict.n_viable,
            "line": place.line(),
            "column": place.column(),
            "is_prefix": verdict.is_prefix,
            "expected": verdict.expected,
            "why": verdict.why,
            "path": verdict.path,
            "token": verdict.token,
            "without_line_end": verdict.without_line_end,
        }))?;
    } else {
        tell(&verdict, &name, &text, &place);
    }
    Ok(if verdict.is_member { Outcome::Done } else { Outcome::Failed })
}

/// Reads the text. With `is_file`, a line end after the last line that the grammar refuses is left out.
fn judge(
    start: &Matcher,
    tokenizer: Option<&Tokenizer>,
    has_special: bool,
    text: &[u8],
    is_file: bool,
) -> anyhow::Result<Verdict> {
    let mut matcher = start.fork();
    let Read { n_viable, refused } = pieces::read(&mut matcher, text, tokenizer.filter(|_| has_special))?;
    let without = input::without_line_end(text).filter(|_| is_file).map_or(text.len(), <[u8]>::len);
    let is_prefix = n_viable == text.len() || n_viable == without;
    let mut is_member = is_prefix && matcher.is_accepting();
    let without_line_end = is_member && n_viable < text.len();
    let state = if is_member { None } else { Some(matcher.state()?) };
    let expected = state.as_ref().map(MatcherState::expected).unwrap_or_default();
    let why = if is_prefix { None } else { matcher.refusal(&text[n_viable..]) };
    let token = match tokenizer {
        _ if has_special => refused,
        Some(tokenizer) => refused_token(start, tokenizer, &text[..without.max(n_viable)])?,
        None => None,
    };
    // Tokens are counted where bytes are not (`max_tokens` of a structural tag).
    is_member &= token.is_none();
    let path = state.and_then(|state| state.path);
    Ok(Verdict { is_member, n_viable, is_prefix, expected, why, path, token, without_line_end })
}

/// Reads the text token by token, as the tokenizer cuts it; why one is refused.
fn refused_token(start: &Matcher, tokenizer: &Tokenizer, text: &[u8]) -> anyhow::Result<Option<String>> {
    let mut matcher = start.fork();
    for id in tokenizer.encode_bytes(text)? {
        if !matcher.accept_token(id)? {
            return Ok(Some(matcher.explain(id)?));
        }
    }
    Ok(None)
}

/// The verdict in words.
fn tell(verdict: &Verdict, name: &str, text: &[u8], place: &Place<'_>) {
    if verdict.is_member {
        let without = if verdict.without_line_end { ", without its last line end" } else { "" };
        say(format_args!("{name} is in the language{without}"));
        return;
    }
    let (line, column, offset) = (place.line(), place.column(), verdict.n_viable);
    let what = if verdict.is_prefix {
        "the text ends too early".to_owned()
    } else {
        match &verdict.why {
            Some(why) => why.clone(),
            None => format!("{} cannot come here", bytes::quoted(first_character(&text[offset..]))),
        }
    };
    let bold = anstyle::Style::new().bold();
    let red = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Red.into())).bold();
    say(format_args!(
        "{red}not in the language:{red:#} {bold}{name}:{line}:{column}{bold:#} (byte {offset}): {what}"
    ));
    say(place);
    say(format_args!("expected {}", verdict.expected.join(" or ")));
    if let Some(token) = &verdict.token {
        say(token);
    }
}
