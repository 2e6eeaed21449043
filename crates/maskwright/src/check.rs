//! How far a text is in the language of a grammar, where it leaves it, and why:
//! [`CompiledGrammar::check`](crate::CompiledGrammar::check).
//!
//! A diagnosis for people, which `maskwright check` and the Python package show. It reads the whole text
//! twice and then looks for words, so a loop that decodes uses a [`Matcher`] instead.

use std::fmt;

use maskwright_engine::{MatcherState, first_character};

use crate::frame::Place;
use crate::pieces::{ReadText, read_text};
use crate::{Error, Matcher, Tokenizer};

/// How [`CompiledGrammar::check`](crate::CompiledGrammar::check) reads a text. The default reads its bytes.
///
/// # Example: a file's last line end
///
/// ```
/// use maskwright::{CheckConfig, CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let grammar = GrammarSource::choice(["yes", "no"]);
/// let grammar = Compiler::new(&tokenizer).compile(&grammar, &CompileOptions::default())?;
/// let mut config = CheckConfig::default();
/// assert!(!grammar.check(b"yes\n", &config)?.is_valid);
/// config.skip_last_line_end = true;
/// let check = grammar.check(b"yes\n", &config)?;
/// assert!(check.is_valid && check.without_line_end);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: special tokens by their names
///
/// ```
/// use maskwright::{CheckConfig, CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["<think>", "h", "i"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens_with_special(tokens.to_vec(), &[], &[TokenId(0)])?;
/// // Without quotes, a name in angle brackets is a token.
/// let grammar = GrammarSource::gbnf(r#"root ::= <think> "hi""#);
/// let grammar = Compiler::new(&tokenizer).compile(&grammar, &CompileOptions::default())?;
/// let mut config = CheckConfig::default();
/// assert!(!grammar.check(b"<think>hi", &config)?.is_valid, "text alone");
/// config.tokenizer = Some(&tokenizer);
/// config.special_tokens = true;
/// assert!(grammar.check(b"<think>hi", &config)?.is_valid);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckConfig<'t> {
    /// A text is also read token by token, as this tokenizer cuts it. This counts tokens, which a structural
    /// tag may limit.
    pub tokenizer: Option<&'t Tokenizer>,
    /// The names of the tokenizer's special tokens are read as these tokens, not as text. It has no effect
    /// without a tokenizer.
    pub special_tokens: bool,
    /// A line end after the last line that the grammar has no place for is left out, as files have it.
    pub skip_last_line_end: bool,
}

/// How far a text is in the language of a grammar, and if it is not, where it leaves it and why: what
/// [`CompiledGrammar::check`](crate::CompiledGrammar::check) finds.
///
/// [`Display`](fmt::Display) gives the place, the reason, the line with a mark under it, and what was
/// expected there.
///
/// `is_valid` implies `is_prefix`. `offset` is the length of the text if `is_prefix`, without its last line
/// end if that was skipped. `reason` is `None` if and only if `is_valid`.
///
/// # Example: the place, and the reason
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let schema = r#"{"type": "object", "properties": {"age": {"type": "integer", "maximum": 130}}}"#;
/// let grammar = GrammarSource::json_schema(schema, Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&grammar, &CompileOptions::default())?;
/// let check = grammar.check(br#"{"age": 200}"#, &Default::default())?;
/// assert!(!check.is_valid && !check.is_prefix);
/// assert_eq!((check.line, check.column, check.path.as_deref()), (1, 11, Some("/age")));
/// assert!(check.reason.unwrap().to_string().contains("maximum"));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: for people
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let sum = GrammarSource::gbnf(r#"root ::= [0-9] ("+" [0-9])*"#);
/// let sum = Compiler::new(&tokenizer).compile(&sum, &CompileOptions::default())?;
/// let check = sum.check(b"1+2*3", &Default::default())?;
/// assert_eq!(
///     check.to_string(),
///     r#"not in the language: line 1 column 4 (byte 3): "*" cannot come here
///  1 | 1+2*3
///    |    ^
/// expected `+` or the end of the text"#
/// );
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Check {
    /// Whether the text is in the language.
    pub is_valid: bool,
    /// Whether some text of the language begins with the text.
    pub is_prefix: bool,
    /// How many bytes of the text, from the first on, some text of the language begins with.
    pub offset: usize,
    /// The line of the place before byte `offset`, from 1.
    pub line: usize,
    /// The column of that place in characters, from 1.
    pub column: usize,
    /// Why the text is not in the language; `None` if it is.
    pub reason: Option<CheckReason>,
    /// The path of the value at that place, as a JSON pointer; `None` if the text is valid or has no JSON
    /// Schema there.
    pub path: Option<String>,
    /// What could have come there, in words; empty if the text is valid.
    pub expected: Vec<String>,
    /// Why a token was refused, if the text was read token by token.
    pub token: Option<String>,
    /// Whether the last line end was left out of the text, which is valid without it.
    pub without_line_end: bool,
    /// The line of the place, with a mark under it.
    frame: String,
}

/// Why a text is not in a language.
///
/// # Example: a text that is too short, and one that is wrong
///
/// ```
/// use maskwright::{CheckReason, CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let grammar = Compiler::new(&tokenizer).compile(&GrammarSource::choice(["yes"]), &CompileOptions::default())?;
/// let reason = |text: &[u8]| grammar.check(text, &Default::default()).map(|check| check.reason);
/// assert_eq!(reason(b"yes")?, None);
/// assert_eq!(reason(b"ye")?, Some(CheckReason::TooShort));
/// assert_eq!(reason(b"yeah")?, Some(CheckReason::Unexpected(b"a".to_vec())));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: a keyword that refuses
///
/// ```
/// use maskwright::{CheckReason, CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let schema = GrammarSource::json_schema(r#"{"type": "string", "maxLength": 2}"#, Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&schema, &CompileOptions::default())?;
/// let check = grammar.check(b"\"abc\"", &Default::default())?;
/// let Some(CheckReason::Refused(why)) = check.reason else { panic!("`maxLength` refuses it") };
/// assert!(why.contains("maxLength"));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CheckReason {
    /// It could go on, but it cannot end here.
    TooShort,
    /// It is refused for a reason of the grammar's source, such as a keyword of a JSON Schema.
    Refused(String),
    /// The grammar has no place for the character, or for the byte where there is none.
    Unexpected(Vec<u8>),
    /// Its bytes are in the language, but one of its tokens is refused: see [`Check::token`].
    Token,
}

impl fmt::Display for CheckReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckReason::TooShort => f.write_str("the text ends too early"),
            CheckReason::Refused(why) => f.write_str(why),
            CheckReason::Unexpected(character) => write!(f, "{} cannot come here", quoted(character)),
            CheckReason::Token => f.write_str("one of its tokens is refused"),
        }
    }
}

impl Check {
    /// The line of the place, cut to some 100 characters around it, and a line with a mark under the place.
    /// No line end after it.
    pub fn frame(&self) -> &str {
        &self.frame
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_valid {
            return f.write_str("the text is in the language");
        }
        let Check { line, column, offset, frame, .. } = self;
        let reason = self.reason.as_ref().map(CheckReason::to_string).unwrap_or_default();
        write!(f, "not in the language: line {line} column {column} (byte {offset}): {reason}\n{frame}")?;
        if !self.expected.is_empty() {
            write!(f, "\nexpected {}", self.expected.join(" or "))?;
        }
        self.token.iter().try_for_each(|token| write!(f, "\n{token}"))
    }
}

/// See [`CompiledGrammar::check`](crate::CompiledGrammar::check). `start` is a session at the beginning of a
/// text.
pub(crate) fn check(start: &Matcher, text: &[u8], config: &CheckConfig<'_>) -> Result<Check, Error> {
    let mut matcher = start.fork();
    let special = config.tokenizer.filter(|_| config.special_tokens);
    let ReadText { n_viable, refused } = read_text(&mut matcher, text, special)?;
    let without = without_line_end(text).filter(|_| config.skip_last_line_end);
    let without = without.map_or(text.len(), <[u8]>::len);
    let is_prefix = n_viable == text.len() || n_viable == without;
    let is_member = is_prefix && matcher.is_accepting();
    let state = if is_member { None } else { Some(matcher.state()?) };
    let expected = state.as_ref().map(MatcherState::expected).unwrap_or_default();
    let token = match config.tokenizer {
        _ if special.is_some() => refused,
        Some(tokenizer) => refused_token(start, tokenizer, &text[..without.max(n_viable)])?,
        None => None,
    };
    let reason = match (is_member, is_prefix) {
        (true, _) => token.as_ref().map(|_| CheckReason::Token),
        (false, true) => Some(CheckReason::TooShort),
        (false, false) => Some(match matcher.refusal(&text[n_viable..]) {
            Some(why) => CheckReason::Refused(why),
            None => CheckReason::Unexpected(first_character(&text[n_viable..]).to_vec()),
        }),
    };
    let place = Place::new(text, n_viable);
    Ok(Check {
        // Tokens are counted where bytes are not (`max_tokens` of a structural tag).
        is_valid: is_member && token.is_none(),
        is_prefix,
        offset: n_viable,
        line: place.line(),
        column: place.column(),
        reason,
        path: state.and_then(|state| state.path),
        expected,
        token,
        without_line_end: is_member && n_viable < text.len(),
        frame: place.to_string(),
    })
}

/// Reads the text token by token, as the tokenizer cuts it; why one is refused.
fn refused_token(start: &Matcher, tokenizer: &Tokenizer, text: &[u8]) -> Result<Option<String>, Error> {
    let mut matcher = start.fork();
    for id in tokenizer.encode_bytes(text)? {
        if !matcher.accept_token(id)? {
            return Ok(Some(matcher.explain(id)?));
        }
    }
    Ok(None)
}

/// The bytes without the line end after the last line; `None` if there is no such line end.
pub fn without_line_end(text: &[u8]) -> Option<&[u8]> {
    [&b"\r\n"[..], b"\n"].into_iter().find_map(|end| text.strip_suffix(end))
}

/// The bytes between double quotes: as text where they are UTF-8, with escapes for what is not printable,
/// else byte by byte.
pub fn quoted(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("{text:?}"),
        Err(_) => format!("\"{}\"", bytes.escape_ascii()),
    }
}
