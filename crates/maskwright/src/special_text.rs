//! Warnings about strings of a grammar that spell special tokens.
//!
//! A string matches text, and the model's special tokens are not text: if a grammar ends in
//! `"<end_of_turn>"`, the model has to write these characters with other tokens, and the token with that name
//! never matches. Authors of such a string usually mean the token.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use maskwright_automata::ByteSet;
use maskwright_grammar::TokenSet;
use maskwright_vocabulary::Vocabulary;

/// How many bytes of strings are checked; far more than people write.
const MAX_BYTES: usize = 1 << 20;

/// How many warnings are given.
const MAX_WARNINGS: usize = 100;

/// A warning about a string of a grammar that probably does not mean what its author intended.
///
/// # Example: a string that spells a special token
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["a", "<end>", "<", "end", ">"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens_with_special(tokens.to_vec(), &[], &[TokenId(1)])?;
/// let grammar = Compiler::new(&tokenizer).compile(&GrammarSource::gbnf(r#"root ::= "a<end>""#), &CompileOptions::default())?;
/// let [warning] = &grammar.warnings()[..] else { panic!("one string spells a token") };
/// assert_eq!((warning.line, warning.column), (Some(1), Some(10)));
/// assert!(warning.message.contains("<end>"));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: bytes that no token has
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["a", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(1)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("ab?"), &CompileOptions::default())?;
/// assert!(grammar.warnings().is_empty(), "it can be done without `b`");
/// let grammar = compiler.compile(&GrammarSource::regex("ab|a"), &CompileOptions::default())?;
/// for warning in grammar.warnings() {
///     println!("{warning}");
/// }
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct GrammarWarning {
    /// What is wrong, and what to do about it.
    pub message: String,
    /// The line, from 1; `None` if it is about the whole grammar.
    pub line: Option<usize>,
    /// The column in characters, from 1; `None` if it is about the whole grammar.
    pub column: Option<usize>,
    /// The file, if it is one that the grammar imports.
    pub path: Option<PathBuf>,
}

impl fmt::Display for GrammarWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}:", path.display())?;
        }
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "{line}:{column}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Warns about bytes that the texts of a grammar must have in some place, and that no token of the vocabulary
/// has.
pub(crate) fn unspelled(bytes: &ByteSet) -> Option<GrammarWarning> {
    if bytes.is_empty() {
        return None;
    }
    let shown: Vec<String> = bytes
        .iter()
        .take(8)
        .map(|byte| match byte {
            b' '..=b'~' => format!("`{}`", char::from(byte)),
            _ => format!("0x{byte:02x}"),
        })
        .collect();
    let more = if bytes.iter().nth(8).is_some() { " and others" } else { "" };
    let message = format!(
        "no token has the bytes {}{more} that the grammar writes: texts with them cannot be generated, and masks may lead up to them; with \
         a limit on tokens (max_tokens) they lead only to texts that tokens spell",
        shown.join(", ")
    );
    Some(GrammarWarning { message, line: None, column: None, path: None })
}

/// The beginning of a long string.
pub(crate) fn shortened(string: &str) -> Cow<'_, str> {
    match string.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &string[..at]).into(),
        None => string.into(),
    }
}

/// Warns about the `strings` of `text`, given with their byte ranges, that contain the name of a special
/// token of `vocabulary`.
pub(crate) fn spelled(
    strings: Vec<(Range<usize>, String)>,
    text: &str,
    path: Option<&Path>,
    vocabulary: &Vocabulary,
) -> Vec<GrammarWarning> {
    let names: Vec<&str> = vocabulary.names().map(|(_, name)| name).filter(|name| !name.is_empty()).collect();
    let (mut warnings, mut n_bytes) = (Vec::new(), 0);
    // Lines are counted once, from string to string.
    let (mut line, mut counted) = (1, 0);
    for (span, string) in strings {
        n_bytes += string.len();
        if n_bytes > MAX_BYTES || warnings.len() == MAX_WARNINGS {
            break;
        }
        let mut found: Vec<&str> = names.iter().copied().filter(|name| string.contains(name)).collect();
        found.sort_unstable_by_key(|name| (std::cmp::Reverse(name.len()), *name));
        found.dedup();
        let Some(&name) = found.first() else { continue };
        line += text[counted..span.start].matches('\n').count();
        counted = span.start;
        let column = text[..span.start].rsplit('\n').next().map_or(0, |before| before.chars().count()) + 1;
        let written = TokenSet::written(name);
        let spells = if string == name { "is" } else { "has" };
        let message = format!(
            "the string {} {spells} the name of the special token {name:?}, but a string matches only the text of that name, never \
             the token; write {written} without quotes for the token, or compile with special_tokens_in_text for both",
            shortened(&text[span])
        );
        let (line, column) = (Some(line), Some(column));
        warnings.push(GrammarWarning { message, line, column, path: path.map(Path::to_owned) });
    }
    warnings
}
