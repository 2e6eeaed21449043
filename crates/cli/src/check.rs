//! `maskwright check`: is this text in the language, and if not, where does it leave it? And what of a schema
//! would not be enforced?

use maskwright::json_schema::Status;
use maskwright::{Check, CheckConfig, CheckReason, bindings};
use serde_json::json;

use crate::grammar::Source;
use crate::outcome::{Outcome, print_json, say};
use crate::{arguments, input, model};

/// Checks a text or a schema.
pub(crate) fn run(mut arguments: arguments::Check) -> anyhow::Result<Outcome> {
    if arguments.schema.is_some() {
        arguments.grammar.json_schema = arguments.schema.take();
        arguments.grammar.lenient = true;
        return check_schema(&arguments);
    }
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
    let mut config = CheckConfig::default();
    config.tokenizer = tokenizer.as_ref();
    config.special_tokens = arguments.special;
    config.skip_last_line_end = arguments.text.is_none();
    let check = grammar.check(&text, &config)?;
    if arguments.json {
        let why = match &check.reason {
            Some(CheckReason::Refused(why)) => Some(why),
            _ => None,
        };
        print_json(&json!({
            "is_member": check.is_valid,
            "offset": check.offset,
            "line": check.line,
            "column": check.column,
            "is_prefix": check.is_prefix,
            "expected": check.expected,
            "why": why,
            "path": check.path,
            "token": check.token,
            "without_line_end": check.without_line_end,
        }))?;
    } else {
        tell(&check, &name);
    }
    Ok(if check.is_valid { Outcome::Done } else { Outcome::Failed })
}

/// Checks a schema: which keywords would not be enforced.
fn check_schema(arguments: &arguments::Check) -> anyhow::Result<Outcome> {
    let source = Source::require(&arguments.grammar)?;
    // This tells what is not enforced.
    let grammar = source.compile(&model::byte_tokenizer()?, None)?;
    let entries = grammar.report().into_iter().flat_map(|report| report.entries());
    let n_left = entries.filter(|entry| matches!(entry.status, Status::NotEnforced { .. })).count();
    if arguments.json {
        print_json(&json!({"is_enforced": n_left == 0, "keywords": bindings::report(grammar.report())}))?;
    } else if n_left == 0 {
        say("every keyword is enforced");
    }
    Ok(if n_left == 0 { Outcome::Done } else { Outcome::Failed })
}

/// The verdict in words.
fn tell(check: &Check, name: &str) {
    let Some(reason) = &check.reason else {
        let without = if check.without_line_end { ", without its last line end" } else { "" };
        say(format_args!("{name} is in the language{without}"));
        return;
    };
    let Check { line, column, offset, .. } = check;
    let bold = anstyle::Style::new().bold();
    let red = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Red.into())).bold();
    say(format_args!(
        "{red}not in the language:{red:#} {bold}{name}:{line}:{column}{bold:#} (byte {offset}): {reason}"
    ));
    say(check.frame());
    if !check.expected.is_empty() {
        say(format_args!("expected {}", check.expected.join(" or ")));
    }
    if let Some(token) = &check.token {
        say(token);
    }
}
