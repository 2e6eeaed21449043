//! Chat templates: how a dialogue is written out for the model that was trained on that format.
//!
//! The template is Jinja from the model's file, written for Hugging Face transformers, so it gets what it has
//! there: `messages`, `add_generation_prompt`, `bos_token`, `eos_token`, `raise_exception`, `strftime_now`, a
//! `tojson` that writes like Python's `json.dumps`, Python's string methods, trimmed blocks and loop
//! controls. A template is a stranger's program: it runs with a fixed amount of fuel.
//!
//! Rejected: recognising well-known templates by a hash and formatting them in Rust, as llama.cpp did for
//! long; every new model needs a release.

use std::time::SystemTime;

use minijinja::{Environment, Error, ErrorKind, Value, context, syntax::SyntaxConfig};
use serde::Serialize;

use crate::{error::ModelsError, info::ModelInfo};

const NAME: &str = "chat template";
/// Instructions a template may run; a long dialogue takes some thousands.
const FUEL: u64 = 10_000_000;

/// One turn of a dialogue.
///
/// # Examples
/// ```
/// use maskwright_models::ChatMessage;
/// assert_eq!(ChatMessage::user("Hello").role, "user");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`, as a rule.
    pub role: String,
    /// The text.
    pub content: String,
}

impl ChatMessage {
    /// A turn of any role.
    #[must_use]
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        ChatMessage { role: role.into(), content: content.into() }
    }

    /// What the user says.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::new("user", content)
    }

    /// Instructions that precede the dialogue.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::new("system", content)
    }

    /// What the model said.
    #[must_use]
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new("assistant", content)
    }
}

/// A compiled chat template.
///
/// # Examples
/// ```
/// use maskwright_models::{ChatMessage, ChatTemplate};
/// let source = "{% for m in messages %}<{{ m.role }}>{{ m['content'].strip() }}{{ eos_token }}{% endfor %}\
///               {% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = ChatTemplate::new(source, "<s>", "</s>").unwrap();
/// let text = template.render(&[ChatMessage::user(" Hi ")], true).unwrap();
/// assert_eq!(text, "<user>Hi</s><assistant>");
/// ```
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    bos_token: String,
    eos_token: String,
}

impl ChatTemplate {
    /// Compiles a template; the tokens are what it may write at the start of the text and after turns.
    ///
    /// # Errors
    /// If it is not valid Jinja; the message has the line.
    pub fn new(source: &str, bos_token: &str, eos_token: &str) -> Result<Self, ModelsError> {
        let mut environment = Environment::new();
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(describe)?);
        environment.set_fuel(Some(FUEL));
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", |format: &str| strftime(SystemTime::now(), format));
        environment.add_filter("tojson", tojson);
        environment.add_template_owned(NAME, source.to_owned()).map_err(describe)?;
        Ok(ChatTemplate { environment, bos_token: bos_token.to_owned(), eos_token: eos_token.to_owned() })
    }

    /// The template of a model; `None` if its file has none.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_info(info: &ModelInfo) -> Result<Option<Self>, ModelsError> {
        let source = info.chat_template.as_deref();
        source.map(|source| Self::new(source, &info.bos_token, &info.eos_token)).transpose()
    }

    /// Writes out a dialogue, with the opening of the model's turn if `add_generation_prompt`.
    ///
    /// The text contains special tokens by their spelling, and so may the messages: whoever tokenises it
    /// decides whether a user may write them.
    ///
    /// # Errors
    /// If the template refuses the messages (many insist on alternating roles) or fails.
    pub fn render(
        &self,
        messages: &[ChatMessage],
        add_generation_prompt: bool,
    ) -> Result<String, ModelsError> {
        let template = self.environment.get_template(NAME).map_err(describe)?;
        let variables = context! {
            messages => messages.iter().map(to_value).collect::<Vec<_>>(),
            add_generation_prompt,
            bos_token => self.bos_token.as_str(),
            eos_token => self.eos_token.as_str(),
        };
        template.render(variables).map_err(describe)
    }
}

fn to_value(message: &ChatMessage) -> Value {
    context! { role => message.role.as_str(), content => message.content.as_str() }
}

fn describe(error: Error) -> ModelsError {
    let place = error.line().map_or_else(String::new, |line| format!(", line {line}"));
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    ModelsError::template(format!("the chat template{place}: {detail}")).because(error)
}

fn raise_exception(message: &str) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()))
}

/// A date and time (UTC) in the format of C's strftime.
fn strftime(now: SystemTime, format: &str) -> Result<String, Error> {
    let failed = |error: jiff::Error| Error::new(ErrorKind::InvalidOperation, error.to_string());
    let now = jiff::Timestamp::try_from(now).map_err(failed)?.to_zoned(jiff::tz::TimeZone::UTC);
    jiff::fmt::strtime::format(format, &now).map_err(failed)
}

/// Python's `json.dumps(value, ensure_ascii=False)`, with its `indent` if given.
fn tojson(value: &Value, options: minijinja::value::Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let mut bytes = Vec::new();
    let written = match indent {
        Some(width) => {
            let spaces = vec![b' '; width.min(32)];
            let formatter = serde_json::ser::PrettyFormatter::with_indent(&spaces);
            value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, formatter))
        }
        None => value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, PythonSpacing)),
    };
    written.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

/// `", "` and `": "`.
struct PythonSpacing;

impl serde_json::ser::Formatter for PythonSpacing {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, writer: &mut W) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str) -> String {
        let messages = [ChatMessage::system("Be brief."), ChatMessage::user("1 < 2?")];
        ChatTemplate::new(source, "<s>", "</s>").unwrap().render(&messages, true).unwrap()
    }

    #[test]
    fn blocks_take_their_line_with_them() {
        let source = "{{ bos_token }}\n  {%- for m in messages %}\n    {% if m.role == 'user' %}\nU:{{ m.content }}\n    {% endif %}\n{% endfor %}\n";
        assert_eq!(render(source), "<s>U:1 < 2?\n");
    }

    #[test]
    fn json_is_spaced_like_pythons_and_not_escaped_for_html() {
        assert_eq!(render("{{ messages[1] | tojson }}"), r#"{"role": "user", "content": "1 < 2?"}"#);
        assert_eq!(render("{{ [1, 'é'] | tojson(indent=2) }}"), "[\n  1,\n  \"é\"\n]");
    }

    #[test]
    fn python_methods_and_loop_controls_work() {
        assert_eq!(render("{{ ' a '.strip() }}{{ 'x-y'.split('-')[1] }}{{ 'b'.upper() }}"), "ayB");
        assert_eq!(render("{% for m in messages %}{{ m.role }}{% break %}{% endfor %}"), "system");
    }

    #[test]
    fn dates_are_formatted_and_bad_formats_are_errors() {
        let then = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(86_400 * 365);
        assert_eq!(strftime(then, "%d %b %Y").unwrap(), "01 Jan 1971");
        assert!(strftime(then, "%!").is_err());
    }

    #[test]
    fn refusals_and_mistakes_are_located() {
        let refuse = ChatTemplate::new("a\n{{ raise_exception('roles must alternate') }}", "", "").unwrap();
        let error = refuse.render(&[], true).unwrap_err();
        assert_eq!(error.to_string(), "the chat template, line 2: roles must alternate");
        let error = ChatTemplate::new("{% for %}", "", "").unwrap_err().to_string();
        assert!(error.starts_with("the chat template, line 1: "), "{error}");
    }

    #[test]
    fn endless_work_runs_out_of_fuel() {
        let source = "{% for a in range(10000) %}{% for b in range(10000) %}{{ a }}{% endfor %}{% endfor %}";
        let error = ChatTemplate::new(source, "", "").unwrap().render(&[], true).unwrap_err().to_string();
        assert!(error.contains("fuel"), "{error}");
    }
}
