//! `python` and `gemma`: literals like JSON's.

use maskwright_json_schema::Style;
use serde_json::{Map, Number, Value};

use super::{Reading, Unread, is_plain};

/// What stands around a string in `gemma`.
pub(super) const MARK: &str = "<|\"|>";

/// The members of an object. Quotes, blanks and words depend on what is before, where the style has several.
pub(super) fn text(style: Style, members: &Map<String, Value>) -> String {
    let mut text = String::new();
    match style {
        Style::Python | Style::PythonJson => {
            write_members(style, members, &mut text, |name, text| *text += &format!("{name}="))
        }
        _ => write_object(style, members, &mut text),
    }
    text
}

fn write_object(style: Style, members: &Map<String, Value>, text: &mut String) {
    text.push('{');
    write_members(style, members, text, |name, text| match style {
        Style::Python | Style::PythonJson => {
            write_value(style, &Value::from(name), text);
            *text += [":", ": "][text.len() % 2];
        }
        _ => *text += &format!("{name}:"),
    });
    text.push('}');
}

fn write_members(
    style: Style,
    members: &Map<String, Value>,
    text: &mut String,
    write_name: impl Fn(&str, &mut String),
) {
    for (i, (name, value)) in members.iter().enumerate() {
        write_comma(style, i, text);
        write_name(name, text);
        write_value(style, value, text);
    }
}

fn write_comma(style: Style, i: usize, text: &mut String) {
    if i > 0 {
        *text += if is_python(style) { [",", ", "][text.len() % 2] } else { "," };
    }
}

fn write_value(style: Style, value: &Value, text: &mut String) {
    match value {
        Value::String(string) if is_python(style) => {
            let quote = ['"', '\''][text.len() % 2];
            *text += &canonical(string, quote);
        }
        Value::String(string) => *text += &format!("{MARK}{string}{MARK}"),
        Value::Array(items) => {
            text.push('[');
            for (i, item) in items.iter().enumerate() {
                write_comma(style, i, text);
                write_value(style, item, text);
            }
            text.push(']');
        }
        Value::Object(members) => write_object(style, members, text),
        Value::Null | Value::Bool(_)
            if style == Style::Python || is_python(style) && !text.len().is_multiple_of(3) =>
        {
            let word = value.to_string();
            *text += &(word[..1].to_uppercase() + &word[1..]).replace("Null", "None");
        }
        other => *text += &other.to_string(),
    }
}

/// Whether arguments are those of a call in Python.
pub(crate) fn is_python(style: Style) -> bool {
    matches!(style, Style::Python | Style::PythonJson)
}

/// The spelling of a string with constraints, in Python.
fn canonical(string: &str, quote: char) -> String {
    let mut text = String::from(quote);
    for char in string.chars() {
        match char {
            '\\' => text += "\\\\",
            '\u{8}' => text += "\\b",
            '\u{c}' => text += "\\f",
            '\n' => text += "\\n",
            '\r' => text += "\\r",
            '\t' => text += "\\t",
            '\0'..' ' => text += &format!("\\u{:04x}", u32::from(char)),
            _ if char == quote => text.extend(['\\', char]),
            _ => text.push(char),
        }
    }
    text.push(quote);
    text
}

/// What a text stands for.
pub(super) fn read(style: Style, text: &str) -> Result<Reading, Unread> {
    let mut reader = Reader { style, rest: text, is_canonical: true, has_odd_names: false };
    let object = match style {
        Style::Python | Style::PythonJson if text.is_empty() => Value::Object(Map::new()),
        Style::Python | Style::PythonJson => reader.members(Reader::argument, None)?,
        _ => reader.value().ok().filter(Value::is_object).ok_or(Unread::Broken)?,
    };
    match (reader.rest, reader.has_odd_names) {
        ("", false) => Ok(Reading { objects: vec![object], is_canonical: reader.is_canonical }),
        ("", true) => Err(Unread::Names),
        _ => Err(Unread::Broken),
    }
}

/// From where to where the values in a text are, and in Python the strings that are names.
pub(super) fn values(style: Style, text: &str) -> Vec<(usize, usize)> {
    let mut all = Vec::new();
    for (at, _) in text.match_indices(['=', ':', '[', ',', '{']) {
        let at = at + 1 + usize::from(is_python(style) && text[at + 1..].starts_with(' '));
        let mut reader = Reader { style, rest: &text[at..], is_canonical: true, has_odd_names: false };
        if reader.value().is_ok() {
            all.push((at, text.len() - reader.rest.len()));
        }
    }
    all
}

struct Reader<'t> {
    style: Style,
    rest: &'t str,
    is_canonical: bool,
    /// Whether a name is there twice or is not one of a variable.
    has_odd_names: bool,
}

impl<'t> Reader<'t> {
    fn has(&mut self, part: &str) -> bool {
        let rest = self.rest.strip_prefix(part);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip(&mut self, part: &str) -> Result<(), Unread> {
        if self.has(part) { Ok(()) } else { Err(Unread::Broken) }
    }

    /// A comma or colon, with a blank in Python.
    fn has_mark(&mut self, mark: &str) -> bool {
        let has = self.has(mark);
        if has && is_python(self.style) {
            self.has(" ");
        }
        has
    }

    fn word(&mut self, is_in: impl Fn(char) -> bool) -> &'t str {
        let (word, rest) = self.rest.split_at(self.rest.find(|c| !is_in(c)).unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn value(&mut self) -> Result<Value, Unread> {
        if self.has("{") {
            return match self.has("}") {
                true => Ok(Value::Object(Map::new())),
                false => self.members(Reader::name, Some("}")),
            };
        }
        if self.has("[") {
            let mut items = Vec::new();
            if !self.has("]") {
                items.push(self.value()?);
                while self.has_mark(",") {
                    items.push(self.value()?);
                }
                self.skip("]")?;
            }
            return Ok(items.into());
        }
        if self.rest.starts_with(['"', '\'', '<']) {
            return self.string().map(Value::from);
        }
        let (is_python, has_json) = (is_python(self.style), self.style != Style::Python);
        match self.word(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) {
            "null" if has_json => Ok(Value::Null),
            "true" if has_json => Ok(Value::from(true)),
            "false" if has_json => Ok(Value::from(false)),
            "None" if is_python => Ok(Value::Null),
            "True" if is_python => Ok(Value::from(true)),
            "False" if is_python => Ok(Value::from(false)),
            word => serde_json::from_str::<Number>(word).map(Value::Number).map_err(|_| Unread::Broken),
        }
    }

    /// At least one member, and what ends them.
    fn members(
        &mut self,
        name: fn(&mut Reader<'t>) -> Result<String, Unread>,
        end: Option<&str>,
    ) -> Result<Value, Unread> {
        let mut members = Map::new();
        loop {
            let name = name(self)?;
            let value = self.value()?;
            self.has_odd_names |= members.insert(name, value).is_some();
            if !self.has_mark(",") {
                break;
            }
        }
        self.skip(end.unwrap_or_default())?;
        Ok(Value::Object(members))
    }

    /// The name of an argument.
    fn argument(&mut self) -> Result<String, Unread> {
        let name = self.word(|c| c.is_ascii_alphanumeric());
        self.skip("=")?;
        if is_plain(name) { Ok(name.to_owned()) } else { Err(Unread::Broken) }
    }

    /// The name of a member of an object.
    fn name(&mut self) -> Result<String, Unread> {
        let name = match self.style {
            Style::Python | Style::PythonJson => self.string()?,
            _ => self.word(|c| !"\t\r\n<|>\"[]{}:,".contains(c)).to_owned(),
        };
        // Blanks stand between words only.
        if self.style == Style::Gemma && name != name.trim_matches(' ') {
            return Err(Unread::Broken);
        }
        if !self.has_mark(":") || name.is_empty() && self.style == Style::Gemma {
            return Err(Unread::Broken);
        }
        self.has_odd_names |= self.style == Style::Gemma && !is_plain(&name);
        Ok(name)
    }

    fn string(&mut self) -> Result<String, Unread> {
        if self.style == Style::Gemma {
            self.skip(MARK)?;
            let (string, rest) = self.rest.split_once(MARK).ok_or(Unread::Broken)?;
            self.rest = rest;
            return Ok(string.to_owned());
        }
        let written = self.rest;
        let mut chars = written.chars();
        let quote = chars.next().filter(|quote| "'\"".contains(*quote)).ok_or(Unread::Broken)?;
        let mut string = String::new();
        loop {
            match chars.next().ok_or(Unread::Broken)? {
                '\\' => string.push(escape(&mut chars).ok_or(Unread::Broken)?),
                '\0'..' ' => return Err(Unread::Broken),
                char if char == quote => break,
                char => string.push(char),
            }
        }
        self.rest = chars.as_str();
        let written = &written[..written.len() - self.rest.len()];
        self.is_canonical &= written == canonical(&string, quote);
        Ok(string)
    }
}

/// What an escape of Python's stands for, after its backslash.
fn escape(chars: &mut std::str::Chars<'_>) -> Option<char> {
    match chars.next()? {
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        'x' => hex(chars, 2),
        'u' => hex(chars, 4),
        char => "\\'\"".contains(char).then_some(char),
    }
}

fn hex(chars: &mut std::str::Chars<'_>, n: usize) -> Option<char> {
    let digits: String = chars.take(n).collect();
    let is_hex = digits.len() == n && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    char::from_u32(u32::from_str_radix(&digits, 16).ok().filter(|_| is_hex)?)
}
