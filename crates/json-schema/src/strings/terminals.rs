//! JSON's own terminals, as values shared by all grammars.
//!
//! The engine's caches find a terminal by its expression; handing out clones of these few statics (a
//! reference count each) makes every schema meet the rows that an earlier one filled. Strings, numbers,
//! punctuation and white space stay terminals of their own for the same reason.

use std::sync::LazyLock;

use maskwright_automata::{Node, Regex};

use crate::config::DEFAULT_MAX_INDENT;
use crate::numbers::numeral::{INTEGER, NUMBER, WHOLE_NUMBER};
use crate::numbers::plain::{PLAIN_FROM_ZERO, PLAIN_INTEGER, PLAIN_NUMBER};
use crate::strings::escape::SPELLED_CHAR;
use crate::{Numbers, SchemaConfig, Style, Whitespace};

/// Any JSON string with its quotes, in any spelling of RFC 8259 whose surrogates are paired.
pub(crate) static STRING: LazyLock<Regex> = LazyLock::new(|| {
    let hex = Regex::bytes(b"0123456789abcdefABCDEF".iter().copied().collect());
    let one_of = |bytes: &[u8]| Regex::bytes(bytes.iter().copied().collect());
    let unit = |first: &[u8], second: &[u8]| {
        Regex::concat([Regex::literal(b"\\u"), one_of(first), one_of(second), hex.repeat(2, Some(2))])
    };
    let all = b"0123456789abcdefABCDEF";
    let escape = Regex::union([
        Regex::concat([Regex::byte(b'\\'), one_of(b"\"\\/bfnrt")]),
        unit(b"0123456789abcefABCEF", all),
        unit(b"dD", b"01234567"),
        Regex::concat([unit(b"dD", b"89abAB"), unit(b"dD", b"cdefCDEF")]),
    ]);
    let plain = Regex::char_class(&[(' ', '!'), ('#', '['), (']', char::MAX)]);
    quote(Regex::union([plain, escape]).star())
});

/// Any string with its quotes, in its canonical spelling.
pub(crate) static CANONICAL_STRING: LazyLock<Regex> = LazyLock::new(|| quote(SPELLED_CHAR.star()));

/// A string of at most some length: what an engine learns from one length it knows for all.
static COUNTED_STRING: LazyLock<Regex> = LazyLock::new(|| quote(SPELLED_CHAR.repeat(0, Some(1_000))));

pub(crate) static NULL: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b"null"));
pub(crate) static TRUE: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b"true"));
pub(crate) static FALSE: LazyLock<Regex> = LazyLock::new(|| Regex::literal(b"false"));
pub(crate) static BOOLEAN: LazyLock<Regex> =
    LazyLock::new(|| Regex::words([b"true".as_slice(), b"false".as_slice()]));

/// The terminals that most schemas have.
pub(crate) fn usual(config: &SchemaConfig) -> Vec<Regex> {
    let Punctuation { object, array, comma, colon, .. } = Punctuation::of(config);
    let values = [&STRING, &CANONICAL_STRING, &COUNTED_STRING, &BOOLEAN, &NULL];
    let numbers = match config.numbers {
        Numbers::Plain => [&PLAIN_NUMBER, &PLAIN_FROM_ZERO, &PLAIN_INTEGER],
        Numbers::Any => [&NUMBER, &INTEGER, &WHOLE_NUMBER],
    };
    let mut usual: Vec<Regex> = values.into_iter().chain(numbers).map(|regex| Regex::clone(regex)).collect();
    for Brackets { open, pads, end } in [object, array] {
        usual.extend([open, end]);
        usual.extend(pads.into_iter().flat_map(|Pad { after_open, close }| [after_open, close]));
    }
    usual.extend([comma, colon]);
    usual.retain(|regex| !matches!(regex.node(), Node::Empty | Node::Epsilon));
    usual
}

/// Quotes around `body`.
pub(crate) fn quote(body: Regex) -> Regex {
    Regex::concat([Regex::byte(b'"'), body, Regex::byte(b'"')])
}

/// A character of white space.
pub(crate) static SPACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::bytes(b" \t\n\r".iter().copied().collect()));

/// Punctuation with the white space that goes with it.
#[derive(Clone)]
pub(crate) struct Punctuation {
    /// White space around values in elements, or nothing.
    pub(crate) inside: Regex,
    pub(crate) object: Brackets<Regex>,
    pub(crate) array: Brackets<Regex>,
    pub(crate) comma: Regex,
    pub(crate) colon: Regex,
    /// What may stand before and after the whole text; never the empty word.
    pub(crate) around: Option<Regex>,
}

/// A pair of brackets, with the white space inside of them: as expressions, or as symbols of a grammar.
///
/// A list is written as `open after_open members close` with both parts of the same pad, an empty one as
/// `open after_open end` with any pad. So a pad pairs the white space after the opening bracket with that
/// before the closing one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Brackets<T> {
    pub(crate) open: T,
    /// Unused pads have no word.
    pub(crate) pads: [Pad<T>; 2],
    /// The closing bracket alone.
    pub(crate) end: T,
}

/// The white space after an opening bracket, and the closing bracket with the white space before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pad<T> {
    pub(crate) after_open: T,
    pub(crate) close: T,
}

impl<T> Brackets<T> {
    /// Brackets whose white space on one side does not depend on the other side.
    pub(crate) fn with_one_pad(open: T, close: T, end: T, none: T, never: T) -> Brackets<T>
    where
        T: Clone,
    {
        let unused = Pad { after_open: never.clone(), close: never };
        Brackets { open, pads: [Pad { after_open: none, close }, unused], end }
    }

    pub(crate) fn map<U>(self, mut to: impl FnMut(T) -> U) -> Brackets<U> {
        let mut pad = |Pad { after_open, close }| Pad { after_open: to(after_open), close: to(close) };
        let pads = self.pads.map(&mut pad);
        Brackets { open: to(self.open), pads, end: to(self.end) }
    }
}

/// How many blanks a tab counts for in the limit on indentation.
const TAB_WIDTH: u32 = 2;

static COMPACT: LazyLock<Punctuation> = LazyLock::new(|| Punctuation::even(Regex::epsilon(), None));

static FLEXIBLE: LazyLock<Punctuation> = LazyLock::new(|| Punctuation::flexible(DEFAULT_MAX_INDENT));

/// A blank or none after commas and colons.
static ONE_LINE: LazyLock<Punctuation> = LazyLock::new(|| {
    let mark = |byte| Regex::concat([Regex::byte(byte), Regex::byte(b' ').optional()]);
    Punctuation { comma: mark(b','), colon: mark(b':'), ..COMPACT.clone() }
});

static ANY: LazyLock<Punctuation> = LazyLock::new(|| Punctuation::even(SPACE.star(), Some(SPACE.plus())));

impl Punctuation {
    /// The punctuation that `config` asks for.
    pub(crate) fn of(config: &SchemaConfig) -> Punctuation {
        let whitespace = match (config.style, config.whitespace) {
            (Style::Gemma, _) => Whitespace::Compact,
            (Style::Python | Style::PythonJson, Whitespace::Compact) => Whitespace::Compact,
            (Style::Python | Style::PythonJson, _) => Whitespace::OneLine,
            (_, whitespace) => whitespace,
        };
        match whitespace {
            Whitespace::Compact => COMPACT.clone(),
            Whitespace::OneLine => ONE_LINE.clone(),
            Whitespace::Any => ANY.clone(),
            Whitespace::Flexible if config.limits.max_indent == DEFAULT_MAX_INDENT => FLEXIBLE.clone(),
            Whitespace::Flexible => Punctuation::flexible(config.limits.max_indent),
            Whitespace::AtMost(max) => {
                Punctuation::even(SPACE.repeat(0, (max < u32::MAX).then_some(max)), None)
            }
        }
    }

    /// See [`Whitespace::Flexible`].
    fn flexible(max_indent: u32) -> Punctuation {
        let blank = Regex::byte(b' ');
        let tabs = Regex::byte(b'\t').repeat(0, Some(max_indent / TAB_WIDTH));
        let indent = Regex::union([blank.repeat(0, Some(max_indent)), tabs]);
        let line = Regex::concat([Regex::byte(b'\n'), indent]);
        let padding = Regex::union([blank.clone(), line]);
        let inside = padding.clone().optional();
        let brackets = |left, right| Brackets {
            open: Regex::byte(left),
            pads: [Regex::epsilon(), padding.clone()]
                .map(|pad| Pad { close: Regex::concat([pad.clone(), Regex::byte(right)]), after_open: pad }),
            end: Regex::byte(right),
        };
        Punctuation {
            object: brackets(b'{', b'}'),
            array: brackets(b'[', b']'),
            comma: Regex::concat([Regex::byte(b','), inside.clone()]),
            colon: Regex::concat([Regex::byte(b':'), blank.optional()]),
            inside,
            around: None,
        }
    }

    /// The same white space at every place; `around` the whole text.
    fn even(space: Regex, around: Option<Regex>) -> Punctuation {
        let brackets = |left, right| {
            let open = Regex::concat([Regex::byte(left), space.clone()]);
            let close = Regex::concat([space.clone(), Regex::byte(right)]);
            Brackets::with_one_pad(open, close, Regex::byte(right), Regex::epsilon(), Regex::empty())
        };
        let mark = |byte| Regex::concat([space.clone(), Regex::byte(byte), space.clone()]);
        Punctuation {
            object: brackets(b'{', b'}'),
            array: brackets(b'[', b']'),
            comma: mark(b','),
            colon: mark(b':'),
            inside: space.clone(),
            around,
        }
    }
}
