//! The elements in which models write the arguments of a call.
//!
//! With a [`Style`] other than JSON, a text writes the members of one object, each as an element: a name, a value and the
//! mark that closes the element. A string is written raw, as it is; another value as JSON. So a raw string ends at the
//! first mark, and cannot contain it. White space may stand around elements, and around values that are not raw.
//! [`Elements`] says what stands between those parts in a style, and [`crate::lower_element`] makes rules of them.
//!
//! What the styles have in common, and where they differ, follows xgrammar 0.2.8. Cohere's style alone has no JSON inside
//! but for numbers, booleans and null: arrays and objects are elements in elements.

use std::sync::LazyLock;

use maskwright_automata::{Node, Regex};

use crate::Style;
use crate::escape::Spelling;

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

/// The parts of an element: `begin`, the name, `after_name`, `open` of the kind, the value, `mark`.
pub(crate) struct Elements {
    /// What users call the style.
    pub(crate) name: &'static str,
    pub(crate) begin: &'static str,
    pub(crate) after_name: &'static str,
    /// What stands before a value, after white space if `has_space_before_open`. Kinds with the same text are not told
    /// apart by it.
    pub(crate) open: fn(Kind) -> &'static str,
    pub(crate) has_space_before_open: bool,
    /// What closes an element.
    pub(crate) mark: &'static str,
    /// Any text without the mark.
    pub(crate) text: Regex,
    /// Whether white space may stand around raw strings that are not any text.
    pub(crate) has_space_around_strings: bool,
    /// What items of arrays begin with, where those are elements too.
    pub(crate) item: Option<&'static str>,
    pub(crate) names: Names,
}

/// How names are written.
pub(crate) enum Names {
    /// As they are; none contains the text that ends it.
    Plain { end: &'static str, safe: Regex },
    /// With escapes.
    Escaped(Spelling),
}

impl Elements {
    /// The elements of a style; `None` for JSON.
    pub(crate) fn of(style: Style) -> Option<&'static Elements> {
        Some(match style {
            Style::Json => return None,
            Style::QwenXml => &QWEN,
            Style::MinimaxXml => &MINIMAX,
            Style::DeepseekXml => &DEEPSEEK,
            Style::GlmXml => &GLM,
            Style::CohereXml => &COHERE,
            Style::KimiK3Xml => &KIMI_K3,
        })
    }

    /// A name as it is written.
    pub(crate) fn written(&self, name: &str) -> Vec<u8> {
        match &self.names {
            Names::Plain { .. } => name.into(),
            Names::Escaped(spelling) => spelling.bytes(name.as_bytes()),
        }
    }

    /// The names of a language as they are written, but for those that cannot be.
    pub(crate) fn written_names(&self, names: &Regex) -> Regex {
        match &self.names {
            Names::Plain { end, safe } if may_contain(names, end) => {
                Regex::intersection([names.clone(), safe.clone()])
            }
            Names::Plain { .. } => names.clone(),
            Names::Escaped(spelling) => spelling.regex(names),
        }
    }

    /// What a name contains that it cannot contain in this style.
    pub(crate) fn unsafe_part(&self, name: &str) -> Option<&'static str> {
        match &self.names {
            Names::Plain { end, .. } => name.contains(end).then_some(*end),
            Names::Escaped(_) => None,
        }
    }

    /// All names, as they are written, that a model may choose where the schema says nothing of names.
    pub(crate) fn free_names(&self) -> Regex {
        match self.item {
            None => IDENTIFIER.clone(),
            Some(_) => COHERE_NAME.clone(),
        }
    }

    /// The texts of `regex` without the mark.
    pub(crate) fn without_mark(&self, regex: Regex) -> Regex {
        if may_contain(&regex, self.mark) { Regex::intersection([regex, self.text.clone()]) } else { regex }
    }
}

/// Names of variables, which all languages that models write have.
pub(crate) static IDENTIFIER: LazyLock<Regex> = LazyLock::new(|| {
    let first = Regex::char_class(&[('A', 'Z'), ('_', '_'), ('a', 'z')]);
    let other = Regex::char_class(&[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
    Regex::concat([first, other.star()])
});

/// Names that can be written in an attribute of XML.
static COHERE_NAME: LazyLock<Regex> =
    LazyLock::new(|| COHERE.written_names(&Regex::char_class(&[('\u{1}', char::MAX)]).plus()));

static QWEN: LazyLock<Elements> = LazyLock::new(|| Elements {
    name: "qwen_xml",
    begin: "<parameter=",
    after_name: "",
    open: |_| ">",
    names: plain(">"),
    ..with_mark("</parameter>")
});

static MINIMAX: LazyLock<Elements> = LazyLock::new(|| Elements {
    name: "minimax_xml",
    begin: "<parameter name=\"",
    after_name: "\"",
    open: |_| ">",
    names: plain("\""),
    ..with_mark("</parameter>")
});

static DEEPSEEK: LazyLock<Elements> = LazyLock::new(|| Elements {
    name: "deepseek_xml",
    begin: "<｜DSML｜parameter name=\"",
    after_name: "\"",
    open: |kind| match kind {
        Kind::String => " string=\"true\">",
        _ => " string=\"false\">",
    },
    names: plain("\""),
    has_space_around_strings: false,
    ..with_mark("</｜DSML｜parameter>")
});

static GLM: LazyLock<Elements> = LazyLock::new(|| Elements {
    name: "glm_xml",
    begin: "<arg_key>",
    after_name: "</arg_key>",
    open: |_| "<arg_value>",
    has_space_before_open: true,
    names: plain("</arg_key>"),
    ..with_mark("</arg_value>")
});

static COHERE: LazyLock<Elements> = LazyLock::new(|| Elements {
    name: "cohere_xml",
    begin: "<cofl:value name=\"",
    after_name: "\"",
    open: |kind| match kind {
        Kind::String => " type=\"raw\">",
        Kind::Number | Kind::Boolean | Kind::Null => " type=\"json\">",
        Kind::Array => " type=\"list\">",
        Kind::Object => " type=\"dict\">",
    },
    names: Names::Escaped(escaping(cohere_byte, b"&<>\"")),
    item: Some("<cofl:value"),
    ..with_mark("</cofl:value>")
});

static KIMI_K3: LazyLock<Elements> = LazyLock::new(|| Elements {
    name: "kimi_k3_xml",
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
    names: Names::Escaped(escaping(kimi_byte, b"&\"")),
    ..with_mark("<|close|>argument<|sep|>")
});

/// What most styles have in common.
fn with_mark(mark: &'static str) -> Elements {
    Elements {
        name: "",
        begin: "",
        after_name: "",
        open: |_| "",
        has_space_before_open: false,
        mark,
        text: without(mark),
        has_space_around_strings: true,
        item: None,
        names: plain(""),
    }
}

/// All texts that do not contain `part`.
fn without(part: &str) -> Regex {
    Regex::concat([Regex::any_text(), Regex::literal(part), Regex::any_text()]).complement()
}

fn plain(end: &'static str) -> Names {
    Names::Plain { end, safe: without(end) }
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

/// Whether some text of `regex` may contain `part`, as far as its first byte says. Linear in its size as a tree.
fn may_contain(regex: &Regex, part: &str) -> bool {
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
