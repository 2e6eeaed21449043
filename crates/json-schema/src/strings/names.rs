//! How the names of members are written where they are not strings.

use std::sync::LazyLock;

use maskwright_automata::{Node, Regex};

use crate::strings::escape::Spelling;

/// How names are written.
pub(crate) struct Names {
    form: Form,
    /// All names, as they are written, that a model may choose where the schema says nothing of names.
    pub(crate) free: Regex,
}

enum Form {
    /// As they are; none contains the text that ends it.
    Until { end: &'static str, safe: Regex },
    /// With escapes.
    Escaped(Spelling),
    /// As they are; names of some characters only, and without some words.
    Of { is_name: fn(&str) -> bool, safe: Regex },
}

impl Names {
    /// Names as they are, up to a text.
    pub(crate) fn until(end: &'static str) -> Names {
        Names { form: Form::Until { end, safe: without(end) }, free: IDENTIFIER.clone() }
    }

    /// Names with escapes; free ones are identifiers.
    pub(crate) fn escaped(spelling: Spelling) -> Names {
        Names { form: Form::Escaped(spelling), free: IDENTIFIER.clone() }
    }

    /// Names of arguments in Python.
    pub(crate) fn of_python() -> Names {
        let safe = IDENTIFIER.difference(&Regex::words(KEYWORDS.map(str::as_bytes)));
        Names { form: Form::Of { is_name: is_python_name, safe: safe.clone() }, free: safe }
    }

    /// Names in tags that MiniMax M3 reads: not blank, and not taken for the end of an element.
    pub(crate) fn of_minimax() -> Names {
        let visible = Regex::char_class(&[('\0', '\u{8}'), ('\u{e}', '\u{1f}'), ('!', char::MAX)]);
        let visible = Regex::concat([Regex::any_text(), visible, Regex::any_text()]);
        let closes = Regex::concat([Regex::byte(b'/'), Regex::any_text()]);
        let safe = Regex::intersection([visible, without(">"), closes.complement()]);
        let is_name = |name: &str| {
            !name.contains('>')
                && !name.starts_with('/')
                && !name.chars().all(|c| matches!(c, ' ' | '\t'..='\r'))
        };
        Names { form: Form::Of { is_name, safe }, free: Regex::empty() }
    }

    /// Names without quotes between braces, colons and commas; of words, with blanks between them.
    pub(crate) fn of_gemma() -> Names {
        let of_words = |word: Regex| {
            let more = Regex::concat([Regex::byte(b' ').plus(), word.clone()]);
            Regex::concat([word, more.star()])
        };
        let safe = of_words(Regex::char_class(BARE).plus());
        Names { form: Form::Of { is_name: is_bare, safe }, free: of_words(IDENTIFIER.clone()) }
    }

    /// A name as it is written.
    pub(crate) fn written(&self, name: &str) -> Vec<u8> {
        match &self.form {
            Form::Until { .. } | Form::Of { .. } => name.into(),
            Form::Escaped(spelling) => spelling.bytes(name.as_bytes()),
        }
    }

    /// The names of a language as they are written, without names that cannot be written.
    pub(crate) fn language(&self, names: &Regex) -> Regex {
        match &self.form {
            Form::Until { end, safe } if may_contain(names, end) => {
                Regex::intersection([names.clone(), safe.clone()])
            }
            Form::Until { .. } => names.clone(),
            Form::Of { safe, .. } => Regex::intersection([names.clone(), safe.clone()]),
            Form::Escaped(spelling) => spelling.regex(names),
        }
    }

    /// Why a name cannot be written, if it cannot.
    pub(crate) fn fault(&self, name: &str) -> Option<String> {
        match &self.form {
            Form::Until { end, .. } => {
                name.contains(end).then(|| format!("contains `{end}`, which ends a name"))
            }
            Form::Of { is_name, .. } if is_name(name) => None,
            Form::Of { .. } => Some("cannot be a name".to_owned()),
            Form::Escaped(_) => None,
        }
    }
}

/// Names of variables, which all languages that models write have.
pub(crate) static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| {
    let first = Regex::char_class(&[('A', 'Z'), ('_', '_'), ('a', 'z')]);
    let other = Regex::char_class(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
    Regex::concat([first, other.star()])
});

/// The words that name nothing in Python.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Whether calls in Python can have a function or an argument of this name.
pub fn is_python_name(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        && !KEYWORDS.contains(&name)
}

/// The characters of the words of names without quotes: no white space, and nothing that may stand beside a
/// name.
const BARE: &[(char, char)] = &[
    ('!', '!'),
    ('#', '+'),
    ('-', '9'),
    (';', ';'),
    ('=', '='),
    ('?', 'Z'),
    ('\\', '\\'),
    ('^', 'z'),
    ('~', '~'),
    ('\u{a1}', char::MAX),
];

fn is_bare(name: &str) -> bool {
    let is_of_word = |c: char| BARE.iter().any(|&(first, last)| first <= c && c <= last);
    !name.is_empty() && name == name.trim_matches(' ') && name.chars().all(|c| c == ' ' || is_of_word(c))
}

/// All texts that do not contain `part`.
pub(crate) fn without(part: &str) -> Regex {
    Regex::concat([Regex::any_text(), Regex::literal(part), Regex::any_text()]).complement()
}

/// Whether some text of `regex` may contain `part`, as far as its first byte says. Linear in its size as a
/// tree.
pub(crate) fn may_contain(regex: &Regex, part: &str) -> bool {
    part.as_bytes().first().is_some_and(|&byte| may_have(regex, byte))
}

fn may_have(regex: &Regex, byte: u8) -> bool {
    match regex.node() {
        Node::Empty | Node::Epsilon => false,
        Node::Bytes(set) => set.contains(byte),
        Node::Literal(bytes) => bytes.contains(&byte),
        Node::Words(words) => words.iter().any(|word| word.contains(&byte)),
        Node::Concat(parts) | Node::Union(parts) => parts.iter().any(|part| may_have(part, byte)),
        Node::Intersection(parts) => parts.iter().all(|part| may_have(part, byte)),
        Node::Complement(_) => true,
        Node::Repeat { inner, .. } => may_have(inner, byte),
    }
}

#[cfg(test)]
mod tests {
    use maskwright_automata::Fuel;
    use proptest::prelude::*;

    use super::*;
    use crate::strings::words::Matcher;

    proptest! {
        #[test]
        fn a_name_is_in_the_language_iff_it_has_no_fault(name in "[ab_$/>:, \\-.1é\t<\"|{}\u{1}\u{a0}]{0,3}|from|None|x1|_") {
            for names in [Names::of_python(), Names::of_minimax(), Names::of_gemma(), Names::until(">")] {
                let language = names.language(&Regex::any_text());
                let is_in = Matcher::new(&language).matches(&name, &Fuel::unlimited()).unwrap();
                prop_assert_eq!(is_in, names.fault(&name).is_none(), "{:?}", name);
            }
        }
    }
}
