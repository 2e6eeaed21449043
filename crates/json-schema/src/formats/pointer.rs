//! JSON pointers (RFC 6901) and relative ones (draft-handrews-relative-json-pointer-01).

use std::sync::LazyLock;

use maskwright_automata::Regex;

use super::build::{any, digit, lit, one, seq};

pub(super) static JSON_POINTER: LazyLock<Regex> = LazyLock::new(|| {
    let plain = Regex::char_class(&[('\0', '.'), ('0', '}'), ('\u{7f}', char::MAX)]);
    let escape = seq([lit("~"), one("01")]);
    seq([lit("/"), any([plain, escape]).star()]).star()
});

pub(super) static RELATIVE_JSON_POINTER: LazyLock<Regex> = LazyLock::new(|| {
    let levels = any([lit("0"), seq([one("1-9"), digit().star()])]);
    seq([levels, any([lit("#"), JSON_POINTER.clone()])])
});
