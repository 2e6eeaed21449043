//! URI templates: RFC 6570, section 2, with erratum 6937 (`'` is a literal).

use std::sync::LazyLock;

use maskwright_automata::Regex;

use super::build::{any, digit, hex, list, lit, one, seq};
use super::uri::{private, ucschar};

pub(super) static URI_TEMPLATE: LazyLock<Regex> = LazyLock::new(|| {
    let escape = || seq([lit("%"), hex(), hex()]);
    let literal = any([one("!#-$&-;=?-[]_a-z~"), escape(), ucschar(), private()]);
    let name = list(any([one("A-Za-z0-9_"), escape()]).plus(), ".");
    let prefix = seq([lit(":"), one("1-9"), digit().repeat(0, Some(3))]);
    let variable = seq([name, any([prefix, lit("*")]).optional()]);
    let expression = seq([lit("{"), one("+#./;?&=,!@|").optional(), list(variable, ","), lit("}")]);
    any([literal, expression]).star()
});
