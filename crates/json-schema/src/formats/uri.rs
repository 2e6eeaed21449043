//! URIs (RFC 3986, appendix A) and IRIs (RFC 3987, section 2.2).

use std::sync::LazyLock;

use maskwright_automata::Regex;

use super::build::{any, hex, lit, one, seq};
use super::internet::{IPV6, port};

pub(super) static URI: LazyLock<Regex> = LazyLock::new(|| Parts::ascii().absolute());
pub(super) static URI_REFERENCE: LazyLock<Regex> = LazyLock::new(|| Parts::ascii().reference());
pub(super) static IRI: LazyLock<Regex> = LazyLock::new(|| Parts::international().absolute());
pub(super) static IRI_REFERENCE: LazyLock<Regex> = LazyLock::new(|| Parts::international().reference());

/// The characters beyond ASCII of IRIs.
pub(super) fn ucschar() -> Regex {
    let mut ranges = vec![('\u{a0}', '\u{d7ff}'), ('\u{f900}', '\u{fdcf}'), ('\u{fdf0}', '\u{ffef}')];
    for plane in 1..=13 {
        ranges.push((scalar(plane << 16), scalar((plane << 16) + 0xfffd)));
    }
    ranges.push(('\u{e1000}', '\u{efffd}'));
    Regex::char_class(&ranges)
}

/// Those that only a query may have.
pub(super) fn private() -> Regex {
    Regex::char_class(&[('\u{e000}', '\u{f8ff}'), ('\u{f0000}', '\u{ffffd}'), ('\u{100000}', '\u{10fffd}')])
}

fn scalar(value: u32) -> char {
    char::from_u32(value).expect("the planes above the first have no surrogates")
}

/// What the characters of a URI may be.
struct Parts {
    /// `pchar` without `:` and `@`: unreserved, sub-delims, pct-encoded.
    plain: Regex,
    query: Regex,
}

impl Parts {
    fn ascii() -> Parts {
        let escape = seq([lit("%"), hex(), hex()]);
        let plain = any([one("A-Za-z0-9._~!$&'()*+,;=-"), escape]);
        Parts { query: plain.clone(), plain }
    }

    fn international() -> Parts {
        let Parts { plain, .. } = Parts::ascii();
        let plain = any([plain, ucschar()]);
        Parts { query: any([plain.clone(), private()]), plain }
    }

    fn authority(&self) -> Regex {
        let user = seq([any([self.plain.clone(), lit(":")]).star(), lit("@")]);
        let version = seq([one("Vv"), hex().plus(), lit("."), one("A-Za-z0-9._~!$&'()*+,;=:-").plus()]);
        let literal = seq([lit("["), any([IPV6.clone(), version]), lit("]")]);
        // An IPv4 address is a registered name as well.
        let host = any([literal, self.plain.clone().star()]);
        seq([lit("//"), user.optional(), host, seq([lit(":"), port()]).optional()])
    }

    /// What follows the path.
    fn tail(&self) -> Regex {
        let fragment = any([self.plain.clone(), one(":@/?")]).star();
        let query = any([self.query.clone(), one(":@/?")]).star();
        seq([seq([lit("?"), query]).optional(), seq([lit("#"), fragment]).optional()])
    }

    /// Segments, each behind a slash.
    fn segments(&self) -> Regex {
        seq([lit("/"), self.pchar().star()]).star()
    }

    fn pchar(&self) -> Regex {
        any([self.plain.clone(), one(":@")])
    }

    /// The hierarchy with the given class for the first segment of a path without a slash.
    fn hierarchy(&self, first: Regex) -> Regex {
        let relative = seq([first.plus(), self.segments()]);
        let absolute = seq([lit("/"), seq([self.pchar().plus(), self.segments()]).optional()]);
        any([seq([self.authority(), self.segments()]), absolute, relative, Regex::epsilon()])
    }

    fn absolute(&self) -> Regex {
        let scheme = seq([one("A-Za-z"), one("A-Za-z0-9+.-").star(), lit(":")]);
        seq([scheme, self.hierarchy(self.pchar()), self.tail()])
    }

    fn reference(&self) -> Regex {
        let first = any([self.plain.clone(), lit("@")]);
        any([self.absolute(), seq([self.hierarchy(first), self.tail()])])
    }
}
