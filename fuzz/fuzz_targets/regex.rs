//! Regular expressions: a dialect, a pattern, a text and choices of tokens. Where another engine reads the
//! pattern and means the same by it, its verdict on the texts is ours.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maskwright::GrammarSource;
use maskwright_fuzz::{check_limited_walk, check_text, compile_text, compiler, parts, text, walk};

fuzz_target!(|data: &[u8]| {
    let Some((chosen, parts)) = parts(data, 1) else { return };
    let Some(pattern) = text(&parts, 0).filter(|pattern| pattern.len() <= 200) else { return };
    let dialect = Dialect::ALL[usize::from(chosen[0]) % 4];
    let Some(grammar) = compile_text(&compiler(), pattern, &dialect.source(pattern)) else { return };
    let choices = parts.get(2).copied().unwrap_or_default();
    let own = walk(&grammar, choices);
    check_limited_walk(&grammar, choices);
    let judge = dialect.judge(pattern);
    let given = parts.get(1).copied().unwrap_or_default();
    for (text, is_own) in [(Some(given), false), (own.as_deref(), true)] {
        let Some(text) = text else { continue };
        let shown = text.escape_ascii().to_string();
        let verdict = check_text(&grammar, text);
        assert!(!is_own || verdict != Some(false), "a text of its own: {shown:?}");
        if let (Some(judge), Some(verdict), Ok(text)) = (&judge, verdict, std::str::from_utf8(text))
            && let Some(theirs) = judge(text)
        {
            assert_eq!(verdict, theirs, "{dialect:?} {pattern:?} on {text:?}");
        }
    }
});

#[derive(Clone, Copy, Debug)]
enum Dialect {
    RustAscii,
    Rust,
    Ecma,
    Python,
}

/// What another engine says of a text: whether the whole pattern matches the whole text; `None` where that
/// may be something else, or take it long.
type Judge = Box<dyn Fn(&str) -> Option<bool>>;

impl Dialect {
    const ALL: [Dialect; 4] = [Dialect::RustAscii, Dialect::Rust, Dialect::Ecma, Dialect::Python];

    fn source(self, pattern: &str) -> GrammarSource {
        match self {
            Dialect::RustAscii => GrammarSource::regex(pattern),
            Dialect::Rust => GrammarSource::rust_regex(pattern),
            Dialect::Ecma => GrammarSource::ecma_regex(pattern),
            Dialect::Python => GrammarSource::python_regex(pattern),
        }
    }

    fn judge(self, pattern: &str) -> Option<Judge> {
        // Alone it is a pattern too, so its parentheses are those of its own.
        let whole = format!(r"\A(?:{pattern})\z");
        match self {
            // Only its classes are others.
            Dialect::RustAscii if pattern.contains('\\') => None,
            Dialect::RustAscii | Dialect::Rust => {
                regex::Regex::new(pattern).ok()?;
                let regex = regex::Regex::new(&whole).ok()?;
                Some(Box::new(move |text| Some(regex.is_match(text))))
            }
            Dialect::Ecma if is_quick(pattern) && !pattern.contains("(?i") => {
                regress::Regex::with_flags(pattern, "u").ok()?;
                let regex = regress::Regex::with_flags(&format!("^(?:{pattern})$"), "u").ok()?;
                Some(Box::new(move |text| (text.len() <= 12).then(|| regex.find(text).is_some())))
            }
            Dialect::Python if is_quick(pattern) && is_plain(pattern) => {
                fancy_regex::Regex::new(pattern).ok()?;
                let regex = fancy_regex::Regex::new(&whole).ok()?;
                // The classes of all characters differ.
                let is_plain =
                    |text: &str| text.len() <= 12 && text.bytes().all(|b| matches!(b, b' '..=b'~'));
                Some(Box::new(move |text| is_plain(text).then(|| regex.is_match(text).ok()).flatten()))
            }
            _ => None,
        }
    }
}

/// Whether backtracking ends soon on a short text.
fn is_quick(pattern: &str) -> bool {
    pattern.len() <= 40 && pattern.matches(['*', '+', '{']).count() <= 3 && pattern.matches('{').count() <= 1
}

/// Whether Python means by a pattern what the crate fancy-regex does.
fn is_plain(pattern: &str) -> bool {
    let escapes = pattern.split('\\').skip(1);
    pattern.is_ascii()
        && pattern.matches('[').count() <= 1
        && ![
            "&&", "--", "~~", "||", "{,", "(?x", "(?a", "(?L", "(?u", "(?s", "(?m", "(?P>", "(?R", "(?|",
            "(?U", "$",
        ]
        .iter()
        .any(|other| pattern.contains(other))
        && escapes
            .into_iter()
            .all(|rest| rest.starts_with(['d', 'D', 'w', 'W', 's', 'S', 'n', '.', '(', ')', '+', '*']))
}
