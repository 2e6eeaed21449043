//! Addresses: RFC 5321 and 6531 (mail), RFC 2673 and 4291 (IP), RFC 4122 (UUID).

use std::sync::LazyLock;

use maskwright_automata::Regex;

use super::build::{any, at_most, digit, hex, list, lit, one, seq, times};
use super::host::{LABEL, MAX_NAME, U_LABEL};

/// The most characters before the `@`: RFC 5321, section 4.5.3.1.1. Octets there; of text beyond ASCII we
/// count characters.
const MAX_LOCAL: u32 = 64;

/// Four numbers up to 255 without leading zeros.
pub(super) static IPV4: LazyLock<Regex> = LazyLock::new(|| {
    let octet = Regex::words((0..256).map(|n: u32| n.to_string().into_bytes()));
    seq([octet.clone(), times(3, seq([lit("."), octet]))])
});

/// `IPv6address` of RFC 3986, section 3.2.2, which is RFC 4291, section 2.2, as a grammar.
pub(super) static IPV6: LazyLock<Regex> = LazyLock::new(|| {
    let h16 = || hex().repeat(1, Some(4));
    let ls32 = || any([seq([h16(), lit(":"), h16()]), IPV4.clone()]);
    let groups = |n: u32| seq([h16(), lit(":")]).repeat(n, Some(n));
    // At most `n` groups before the gap.
    let before = |n: u32| seq([seq([h16(), lit(":")]).repeat(0, Some(n - 1)), h16()]).optional();
    Regex::union([
        seq([groups(6), ls32()]),
        seq([lit("::"), groups(5), ls32()]),
        seq([before(1), lit("::"), groups(4), ls32()]),
        seq([before(2), lit("::"), groups(3), ls32()]),
        seq([before(3), lit("::"), groups(2), ls32()]),
        seq([before(4), lit("::"), groups(1), ls32()]),
        seq([before(5), lit("::"), ls32()]),
        seq([before(6), lit("::"), h16()]),
        seq([before(7), lit("::")]),
    ])
});

/// `Mailbox` of RFC 5321, section 4.1.2.
pub(super) static EMAIL: LazyLock<Regex> = LazyLock::new(|| mailbox(Regex::empty(), Regex::empty()));

/// The same with RFC 6531, section 3.3: text beyond ASCII before the `@`, U-labels behind it.
pub(super) static IDN_EMAIL: LazyLock<Regex> =
    LazyLock::new(|| mailbox(Regex::char_class(&[('\u{80}', char::MAX)]), U_LABEL.clone()));

fn mailbox(beyond_ascii: Regex, u_label: Regex) -> Regex {
    let atom = any([one("A-Za-z0-9!#$%&'*+/=?^_`{|}~-"), beyond_ascii.clone()]).plus();
    let quoted_text = Regex::char_class(&[(' ', '!'), ('#', '['), (']', '~')]);
    let escaped = seq([lit("\\"), Regex::char_class(&[(' ', '~')])]);
    let quoted = seq([lit("\""), any([quoted_text, escaped, beyond_ascii]).star(), lit("\"")]);
    let local = any([list(atom, "."), quoted]);
    let literal = seq([lit("["), any([IPV4.clone(), seq([lit("IPv6:"), IPV6.clone()])]), lit("]")]);
    let domain = any([list(any([LABEL.clone(), u_label]), "."), literal]);
    seq([at_most(MAX_LOCAL, local), lit("@"), at_most(MAX_NAME, domain)])
}

/// RFC 4122, section 3, of any version and variant.
pub(super) static UUID: LazyLock<Regex> = LazyLock::new(|| {
    let part = |n| times(n, hex());
    let middle = times(3, seq([part(4), lit("-")]));
    seq([part(8), lit("-"), middle, part(12)])
});

/// A port.
pub(super) fn port() -> Regex {
    digit().star()
}
