//! Small changes of texts.

use maskwright_json_schema::Style;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{literals, mark, minimax_m3};

/// How a text is changed.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Drop,
    Insert(&'static str),
    /// One of the style's values in the place of another.
    Value(Index),
    Space(&'static str),
}

/// A change, and where.
pub(crate) fn changes() -> impl Strategy<Value = (Change, Index)> {
    let parts = vec![" ", "\n", "<", "a", "1", "\"", "'", "\\", ",", "}"];
    let change = prop_oneof![
        1 => Just(Change::Drop),
        1 => prop::sample::select(parts).prop_map(Change::Insert),
        3 => any::<Index>().prop_map(Change::Value),
        1 => prop::sample::select(vec![" ", "\n\n", "\r\n\t"]).prop_map(Change::Space),
    ];
    (change, any::<Index>())
}

/// What takes the place of a value, right or wrong. `§` stands for the mark of the style.
fn values(style: Style) -> &'static [&'static str] {
    match style {
        Style::MinimaxM3Xml => &[
            "3",
            "null",
            " 3",
            "-2 ",
            "null\n",
            "true",
            " false",
            "a",
            " b",
            "",
            " ",
            "1.5",
            "é",
            "\t",
            "[]",
            "{}",
            "[1]",
            "</a>",
            "§",
            "]<]minimax[>",
            "§<item>1§</item>",
            "\n§<item>a§</item> ",
            "§<item>§</item>§<item>true§</item>",
            "§<item> 1§</item>§<item>§<item>b§</item>§</item>",
            "§<item>a§</itm>",
            "§<item>a§</item>,§<item>b§</item>",
            "§<item>a§</item>§<x>b§</x>",
            "§<x>1§</x>",
            "§<x>ab§</x>\t§<y>null§</y>\n",
            "§<z>§</z>",
            "§<x>1§</x>§<x>1§</x>",
            "§<x/>",
        ],
        Style::Python | Style::PythonJson => &[
            "3",
            "1.5",
            "01",
            "None",
            "null",
            "NULL",
            "True",
            "true",
            "(1)",
            "a",
            "'a'",
            "\"ab\"",
            "''",
            "'\\''",
            "\"\\\"\"",
            "\"'\"",
            "'\"'",
            "'\\\"'",
            "\"\\n\"",
            "'\\u0001'",
            "\"\\x61\"",
            "'\\u0062b'",
            "\"\\x6\"",
            "'\\/'",
            "\"\\ud83d\\ude00\"",
            "\"\\N{DOLLAR SIGN}\"",
            "'é😀'",
            "b'a'",
            "'a' 'b'",
            "[]",
            "{}",
            "[1, 'a']",
            "[1,]",
            "['a',\"a\"]",
            "{'x': 1}",
            "{\"x\":[],'y':None}",
            "{'\\x78': 1}",
            "{x: 1}",
            "{'x'=1}",
            "{'x': 1, \"x\": 2}",
        ],
        Style::Gemma => &[
            "3",
            "1.5",
            "01",
            "null",
            "None",
            "true",
            "a",
            "\"a\"",
            "§a§",
            "§ab§",
            "§§",
            "§\n\"\\}§",
            "§é<|\"§",
            "§a<|\"|",
            "§a\"",
            "[]",
            "{}",
            "[1,§a§]",
            "[1, §a§]",
            "[1,]",
            "[ ]",
            "{x:1}",
            "{x:[],y:null}",
            "{x: 1}",
            "{\"x\":1}",
            "{§x§:1}",
            "{x:1,x:2}",
            "{1x:1}",
            "{x=1}",
        ],
        _ => &["3", "null", " true\n", "a", " b", "", "[]", "{}", "1.5", "a<", "é", "\t", "[1 ]"],
    }
}

/// From where to where values are in a text, in most styles only those of elements.
fn places(style: Style, text: &str) -> Vec<(usize, usize)> {
    let mark = match style {
        Style::Python | Style::PythonJson | Style::Gemma => return literals::values(style, text),
        Style::MinimaxM3Xml => "]<]minimax[>[</",
        _ => mark(style),
    };
    let ends = text.match_indices(mark).map(|(end, _)| end);
    ends.filter_map(|end| Some((text[..end].rfind('>')? + 1, end))).collect()
}

/// Where white space is added.
fn gaps(style: Style, text: &str) -> Vec<usize> {
    let after = |mark: &str| text.match_indices(mark).map(|(at, mark)| at + mark.len()).collect();
    let mut gaps: Vec<usize> = match style {
        Style::Python | Style::PythonJson | Style::Gemma => {
            text.match_indices([',', ':', '=', '[', '{', '}']).map(|m| m.0).collect()
        }
        Style::MinimaxM3Xml => text.match_indices(minimax_m3::MARK).map(|m| m.0).collect(),
        _ => after(mark(style)),
    };
    gaps.push(text.len());
    gaps
}

/// The text with a change; `None` if there is no place for it.
pub(crate) fn changed(style: Style, text: &str, change: &Change, at: &Index) -> Option<String> {
    let with = |from: usize, to: usize, part: &str| Some([&text[..from], part, &text[to..]].concat());
    let chars: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    match change {
        Change::Drop if chars.is_empty() => None,
        Change::Drop => {
            let from = chars[at.index(chars.len())];
            with(from, from + text[from..].chars().next()?.len_utf8(), "")
        }
        Change::Insert(part) => {
            let at = chars.get(at.index(chars.len() + 1)).copied().unwrap_or(text.len());
            with(at, at, part)
        }
        Change::Value(value) => {
            let places = places(style, text);
            let &(from, to) = places.get(at.index(places.len().max(1)))?;
            let mark = match style {
                Style::Gemma => literals::MARK,
                _ => minimax_m3::MARK,
            };
            with(from, to, &value.get(values(style)).replace('§', mark))
        }
        Change::Space(space) => {
            let gaps = gaps(style, text);
            let at = gaps[at.index(gaps.len())];
            with(at, at, space)
        }
    }
}
