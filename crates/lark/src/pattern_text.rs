//! Strings, patterns and ranges as Lark reads them: as the text of a regular expression of Python's `re`.
//!
//! Lark defines a composed terminal by the concatenation of its parts' texts, so that `/a|b/ "c"` is `a|bc`,
//! and orders terminals by the lengths of these texts. So a terminal is put together as text here, as its
//! definition says, and parsed once, when whole. Composing parsed parts would give other languages.

use crate::error::Fault;
use crate::source::Span;
use crate::tree::Literal;

/// The text of a terminal or of a part of one.
///
/// Two of them are the same terminal, where they stand unnamed in rules, if all fields are equal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PatternText {
    /// The characters of a string, or a regular expression.
    pub(crate) value: String,
    /// The flags, sorted.
    pub(crate) flags: String,
    pub(crate) is_string: bool,
}

impl PatternText {
    /// The regular expression `value`, without flags of its own.
    pub(crate) fn regexp(value: String) -> PatternText {
        PatternText { value, flags: String::new(), is_string: false }
    }

    /// The regular expression for the part, with its flags.
    pub(crate) fn to_regexp(&self) -> String {
        let value = if self.is_string { escape(&self.value) } else { self.value.clone() };
        self.flags.chars().fold(value, |value, flag| format!("(?{flag}:{value})"))
    }

    /// The length of the value in characters, by which Lark orders what is equally wide.
    pub(crate) fn length(&self) -> usize {
        self.value.chars().count()
    }

    /// What a literal means.
    ///
    /// # Errors
    /// If it is empty or has an escape that means nothing.
    pub(crate) fn of_literal(literal: &Literal, span: Span) -> Result<PatternText, Fault> {
        let mut value = unescape(&literal.body).map_err(|message| Fault::new(span, message))?;
        if value.is_empty() {
            let what = if literal.is_string { "string" } else { "pattern" };
            return Err(Fault::new(
                span,
                format!("an empty {what}: a terminal matches at least one character"),
            )
            .with_hint("what may be missing is written with `?` or as an empty alternative of a rule"));
        }
        if literal.is_string {
            value = value.replace("\\\\", "\\");
        }
        Ok(PatternText { value, flags: literal.flags.clone(), is_string: literal.is_string })
    }

    /// What `"first".."last"` means.
    ///
    /// # Errors
    /// If one of them is not a single character.
    pub(crate) fn of_range(first: &str, last: &str, span: Span) -> Result<PatternText, Fault> {
        for end in [first, last] {
            let value = unescape(end).map_err(|message| Fault::new(span, message))?;
            if value.chars().count() != 1 && value != "\\\\" {
                let message = format!("\"{end}\" in a range, which goes from one character to another");
                return Err(Fault::new(span, message));
            }
        }
        Ok(PatternText::regexp(format!("[{first}-{last}]")))
    }
}

/// The regular expression that matches `text` alone: what Python's `re.escape` gives.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A literal's body with the escapes of characters replaced: `\n`, `\r`, `\t`, `\f`, `\"`, `\xHH`, `\uHHHH`,
/// `\UHHHHHHHH`. Any other backslash stays, with the character after it, for the regular expression.
///
/// A quote loses one backslash even where an escaped backslash stands before it: `\\"` gives `\"`, as in
/// Lark.
pub(crate) fn unescape(body: &str) -> Result<String, String> {
    let mut value = String::with_capacity(body.len());
    let mut rest = body.chars();
    let mut is_after_backslashes = false;
    while let Some(c) = rest.next() {
        let follows_backslashes = std::mem::take(&mut is_after_backslashes);
        if c != '\\' {
            if c == '"' && follows_backslashes {
                value.pop();
            }
            value.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('t') => value.push('\t'),
            Some('f') => value.push('\u{c}'),
            Some('"') => value.push('"'),
            Some(kind @ ('x' | 'u' | 'U')) => {
                let n_digits = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let digits: String = rest.by_ref().take(n_digits).collect();
                let code = (digits.chars().count() == n_digits
                    && digits.chars().all(|c| c.is_ascii_hexdigit()))
                .then(|| u32::from_str_radix(&digits, 16).ok())
                .flatten();
                match code.and_then(char::from_u32) {
                    Some(c) => value.push(c),
                    None => {
                        return Err(format!(
                            "`\\{kind}{digits}`: after `\\{kind}` come {n_digits} hexadecimal digits of a character"
                        ));
                    }
                }
            }
            Some(other) => {
                is_after_backslashes = other == '\\';
                value.push('\\');
                value.push(other);
            }
            None => return Err("a backslash at the end, with nothing to escape".to_owned()),
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_as_lark_reads_them() {
        // What `eval_escaping` of Lark 1.3 gives for each.
        for (body, value) in [
            (r#"\\""#, r#"\\""#.replacen('\\', "", 1)),
            (r#"\\\""#, r#"\\""#.to_owned()),
            (r#"\""#, "\"".to_owned()),
            (r"\\", r"\\".to_owned()),
            (r"\d", r"\d".to_owned()),
            (r"\'", r"\'".to_owned()),
            (r"\x41\u0042", "AB".to_owned()),
            (r"a\nb", "a\nb".to_owned()),
            (r"\\n", r"\\n".to_owned()),
            (r#"\x5c""#, "\\\"".to_owned()),
            (r"\x5cd", r"\d".to_owned()),
        ] {
            assert_eq!(unescape(body).unwrap(), value, "{body}");
        }
        assert!(unescape(r"\x4").is_err());
        assert!(unescape(r"\uD800").is_err());
        assert!(unescape("\\").is_err());
    }

    #[test]
    fn strings_are_escaped_as_python_does() {
        let text = |body: &str| {
            let literal = Literal { body: body.to_owned(), flags: "i".to_owned(), is_string: true };
            let span = Span { source: 0, start: 0, end: 0 };
            PatternText::of_literal(&literal, span).unwrap().to_regexp()
        };
        assert_eq!(text("a.b/_"), r"(?i:a\.b/_)");
        assert_eq!(text(r"\\"), r"(?i:\\)");
    }
}
