//! The elements in which models write the arguments of a call.
//!
//! In a [`Style`] with elements, a text writes the members of one object, each as an element: a name, a value
//! and the mark that closes the element. (Python's arguments and Gemma's objects are
//! [notations](crate::strings::notation).) A string is written raw, as it is; another value as JSON. So a raw
//! string ends at the first mark, and cannot contain it. White space may stand around elements, and around
//! values that are not raw. [`Elements`] says what stands between those parts in a style, and
//! `lower/element.rs` makes rules of them.
//!
//! What the styles have in common, and where they differ, follows xgrammar 0.2.8. In Cohere's and MiniMax
//! M3's, arrays and objects are elements in elements; the others have JSON there.

use std::sync::LazyLock;

use maskwright_automata::Regex;

use crate::Style;
use crate::strings::escape::Spelling;
use crate::strings::names::{Names, may_contain, without};

/// What kind of value an element has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    String,
    Number,
    Boolean,
    Null,
    Array,
    Object,
}

impl Kind {
    /// All but strings.
    pub(crate) const OTHERS: [Kind; 5] = [Kind::Number, Kind::Boolean, Kind::Null, Kind::Array, Kind::Object];
}

/// The parts of an element: `begin`, the name, `after_name`, `open` of the kind, the value, and what ends it.
pub(crate) struct Elements {
    pub(crate) begin: &'static str,
    pub(crate) after_name: &'static str,
    /// What stands before a value, after white space if `has_space_before_open`. Kinds with the same text are
    /// not told apart by it.
    pub(crate) open: fn(Kind) -> &'static str,
    pub(crate) has_space_before_open: bool,
    /// What no raw string contains.
    pub(crate) mark: &'static str,
    pub(crate) end: End,
    /// Any text without the mark.
    pub(crate) text: Regex,
    /// Whether white space may stand around values that are not strings.
    pub(crate) has_space_around_values: bool,
    /// Whether flexible white space is a line feed on each side of a value: what readers take away.
    pub(crate) has_lines: bool,
    /// Whether flexible white space may stand before the first element.
    pub(crate) has_space_first: bool,
    /// Whether white space may stand around raw strings that are not any text.
    pub(crate) has_space_around_strings: bool,
    /// What stands before and after an item of an array, where those are elements too.
    pub(crate) item: Option<(&'static str, &'static str)>,
    pub(crate) names: Names,
}

/// What ends an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The mark.
    Mark,
    /// The mark with `</`, the name again and `>`. So only names that the schema lists can be written: no
    /// grammar says that two names are the same.
    Name,
}

/// White space around the values of elements that is not part of them.
#[derive(Clone, Debug)]
pub(crate) enum Padding {
    None,
    /// A line feed on both sides, or none. Readers take it away, so another value does not begin or end with
    /// one.
    Lines,
    /// Any of these on each side.
    Any(Regex),
}

impl Padding {
    /// Texts with what may stand around them.
    pub(crate) fn around(self, texts: Regex) -> Regex {
        match self {
            Padding::None => texts,
            Padding::Any(space) => Regex::concat([space.clone(), texts, space]),
            Padding::Lines => {
                let (line, any) = (Regex::byte(b'\n'), Regex::any_text());
                let with_line =
                    [Regex::concat([line.clone(), any.clone()]), Regex::concat([any, line.clone()])];
                let bare = texts.difference(&Regex::union(with_line));
                Regex::union([bare, Regex::concat([line.clone(), texts, line])])
            }
        }
    }
}

impl Elements {
    /// The elements of a style; `None` for JSON.
    pub(crate) fn of(style: Style) -> Option<&'static Elements> {
        Some(match style {
            Style::Json | Style::Python | Style::PythonJson | Style::Gemma => return None,
            Style::QwenXml => &QWEN,
            Style::MinimaxXml => &MINIMAX,
            Style::MinimaxM3Xml => &MINIMAX_M3,
            Style::DeepseekXml => &DEEPSEEK,
            Style::DeepseekV41Xml => &DEEPSEEK_V4_1,
            Style::GlmXml => &GLM,
            Style::CohereXml => &COHERE,
            Style::KimiK3Xml => &KIMI_K3,
        })
    }

    /// The texts of `regex` without the mark.
    pub(crate) fn without_mark(&self, regex: Regex) -> Regex {
        if may_contain(&regex, self.mark) { Regex::intersection([regex, self.text.clone()]) } else { regex }
    }
}

static QWEN: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "<parameter=",
    after_name: "",
    open: |_| ">",
    names: Names::until(">"),
    has_lines: true,
    ..with_mark("</parameter>")
});

static MINIMAX: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "<parameter name=\"",
    after_name: "\"",
    open: |_| ">",
    names: Names::until("\""),
    ..with_mark("</parameter>")
});

/// Values without a mark of their kind, arrays and objects are elements too.
static MINIMAX_M3: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "]<]minimax[>[<",
    after_name: ">",
    end: End::Name,
    names: Names::of_minimax(),
    has_space_around_values: false,
    has_space_around_strings: false,
    item: Some(("]<]minimax[>[<item>", "]<]minimax[>[</item>")),
    ..with_mark("]<]minimax[>[")
});

static DEEPSEEK: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "<｜DSML｜parameter name=\"",
    ..deepseek("</｜DSML｜parameter>")
});

static DEEPSEEK_V4_1: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "<｜DSML｜ parameter name=\"",
    ..deepseek("</｜DSML｜ parameter>")
});

fn deepseek(mark: &'static str) -> Elements {
    Elements {
        after_name: "\"",
        open: |kind| match kind {
            Kind::String => " string=\"true\">",
            _ => " string=\"false\">",
        },
        names: Names::until("\""),
        has_space_around_strings: false,
        ..with_mark(mark)
    }
}

static GLM: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "<arg_key>",
    after_name: "</arg_key>",
    open: |_| "<arg_value>",
    has_space_before_open: true,
    has_space_first: false,
    names: Names::until("</arg_key>"),
    ..with_mark("</arg_value>")
});

static COHERE: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "<cofl:value name=\"",
    after_name: "\"",
    open: |kind| match kind {
        Kind::String => " type=\"raw\">",
        Kind::Number | Kind::Boolean | Kind::Null => " type=\"json\">",
        Kind::Array => " type=\"list\">",
        Kind::Object => " type=\"dict\">",
    },
    names: cohere_names(),
    item: Some(("<cofl:value", "")),
    ..with_mark("</cofl:value>")
});

static KIMI_K3: LazyLock<Elements> = LazyLock::new(|| Elements {
    begin: "<|open|>argument key=\"",
    after_name: "\"",
    open: |kind| match kind {
        Kind::String => " type=\"string\"<|sep|>",
        Kind::Number => " type=\"number\"<|sep|>",
        Kind::Boolean => " type=\"boolean\"<|sep|>",
        Kind::Null => " type=\"null\"<|sep|>",
        Kind::Array => " type=\"array\"<|sep|>",
        Kind::Object => " type=\"object\"<|sep|>",
    },
    names: Names::escaped(escaping(kimi_byte, b"&\"")),
    ..with_mark("<|close|>argument<|sep|>")
});

/// What most styles have in common.
fn with_mark(mark: &'static str) -> Elements {
    Elements {
        begin: "",
        after_name: "",
        open: |_| "",
        has_space_before_open: false,
        mark,
        end: End::Mark,
        text: without(mark),
        has_space_around_values: true,
        has_lines: false,
        has_space_first: true,
        has_space_around_strings: true,
        item: None,
        names: Names::until("\0"),
    }
}

/// Names that can be written in an attribute of XML.
fn cohere_names() -> Names {
    let mut names = Names::escaped(escaping(cohere_byte, b"&<>\""));
    names.free = names.language(&Regex::char_class(&[('\u{1}', char::MAX)]).plus());
    names
}

fn escaping(write: fn(u8, &mut Vec<u8>), escaped: &[u8]) -> Spelling {
    Spelling { escaped: escaped.iter().copied().collect(), write }
}

fn cohere_byte(byte: u8, word: &mut Vec<u8>) {
    match byte {
        b'<' => word.extend(b"&lt;"),
        b'>' => word.extend(b"&gt;"),
        _ => kimi_byte(byte, word),
    }
}

fn kimi_byte(byte: u8, word: &mut Vec<u8>) {
    match byte {
        b'&' => word.extend(b"&amp;"),
        b'"' => word.extend(b"&quot;"),
        _ => word.push(byte),
    }
}
