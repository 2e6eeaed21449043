//! Labels beyond ASCII (U-labels): IDNA2008, RFC 5890 to 5893, as far as they are regular.
//!
//! Which characters are valid (PVALID) follows from their Unicode properties by RFC 5892, section 2. The
//! rules for contexts (its appendix A) and for text from right to left (RFC 5893) are regular. What is not is
//! left out:
//!
//! * Normalisation form C: a letter has at most two combining marks, the first of class 0, and none that
//!   composes.
//! * The length of the A-label: a label has at most eleven characters.
//! * From right to left: Hebrew and Arabic letters; other labels of such a name are also of that kind, or
//!   ASCII.
//!
//! Every text of the language is valid. The property tests do not cover this, so cite the RFC when you change
//! a class.

use maskwright_automata::{Fuel, Regex};
use maskwright_syntax::regex::{self, Dialect};

use super::build::{any, at_most, lit, one, seq};

/// How many characters beyond ASCII keep a label's A-label within 63 octets: none takes more than five
/// Punycode digits on average.
pub(super) const MAX_U_LABEL: u32 = 11;

/// Letters, digits and marks that normalisation form KC changes, beside those that case folding does (RFC
/// 5892, section 2.2, "unstable"), without presentation forms; what lies between them is of no other kind.
const COMPATIBLE: &str = concat!(
    r"\x{aa}-\x{ba}\x{133}\x{140}\x{1c6}-\x{1cc}\x{1f3}\x{2b0}-\x{2b8}\x{2e0}-\x{2e4}\x{340}-\x{341}",
    r"\x{343}-\x{344}\x{374}\x{37a}\x{3d2}-\x{3d4}\x{3f2}\x{958}-\x{95f}\x{9dc}-\x{9df}\x{a33}\x{a36}",
    r"\x{a59}-\x{a5b}\x{a5e}\x{b5c}-\x{b5d}\x{e33}\x{eb3}\x{edc}-\x{edd}\x{f43}\x{f4d}\x{f52}\x{f57}",
    r"\x{f5c}\x{f69}\x{f73}\x{f75}-\x{f79}\x{f81}\x{f93}\x{f9d}\x{fa2}\x{fa7}\x{fac}\x{fb9}\x{10fc}",
    r"\x{1d2c}-\x{1d2e}\x{1d30}-\x{1d3a}\x{1d3c}-\x{1d4d}\x{1d4f}-\x{1d6a}\x{1d78}\x{1d9b}-\x{1dbf}",
    r"\x{1f71}\x{1f73}\x{1f75}\x{1f77}\x{1f79}\x{1f7b}\x{1f7d}\x{1fbe}\x{1fd3}\x{1fe3}\x{2071}-\x{209c}\x{2102}-\x{2149}",
    r"\x{2c7c}-\x{2c7d}\x{2d6f}\x{309f}\x{30ff}\x{3131}-\x{318e}\x{a69c}-\x{a69d}\x{a770}\x{a7f2}-\x{a7f4}",
    r"\x{a7f8}-\x{a7f9}\x{ab5c}-\x{ab5f}\x{ab69}\x{f900}-\x{fa0d}\x{fa10}\x{fa12}\x{fa15}-\x{fa1e}\x{fa20}",
    r"\x{fa22}\x{fa25}-\x{fa26}\x{fa2a}-\x{fad9}\x{ff10}-\x{ffdc}\x{2f800}-\x{2fa1d}",
);

/// Old Hangul (RFC 5892, section 2.9), and what is disallowed one by one (section 2.6).
const DISALLOWED: &str =
    r"\x{302e}\x{302f}\x{3031}-\x{3035}\x{303b}\x{1100}-\x{11ff}\x{a960}-\x{a97f}\x{d7b0}-\x{d7ff}";

/// Blocks of scripts from right to left.
const RIGHT_TO_LEFT: &str = r"\x{590}-\x{8ff}\x{fb1d}-\x{fdff}\x{fe70}-\x{feff}";

/// Marks that compose with what is before them (quick check of form C: maybe).
const COMPOSING: &str = concat!(
    r"\x{300}-\x{304}\x{306}-\x{30c}\x{30f}\x{311}\x{313}\x{314}\x{31b}\x{323}-\x{328}\x{32d}\x{32e}\x{330}\x{331}",
    r"\x{338}\x{342}\x{345}\x{653}-\x{655}\x{93c}\x{9be}\x{9d7}\x{b3e}\x{b56}\x{b57}\x{bbe}\x{bd7}\x{c56}\x{cc2}",
    r"\x{cd5}\x{cd6}\x{d3e}\x{d57}\x{dca}\x{dcf}\x{ddf}\x{102e}\x{1b35}\x{3099}\x{309a}",
);

/// Marks of class 9 (virama), but those that compose.
const VIRAMA: &str = concat!(
    r"\x{94d}\x{9cd}\x{a4d}\x{acd}\x{b4d}\x{bcd}\x{c4d}\x{ccd}\x{d3b}\x{d3c}\x{d4d}\x{e3a}\x{eba}\x{f84}\x{1039}",
    r"\x{103a}\x{1714}\x{1715}\x{1734}\x{17d2}\x{1a60}\x{1b44}\x{1baa}\x{1bab}\x{1bf2}\x{1bf3}\x{2d7f}\x{a806}",
    r"\x{a82c}\x{a8c4}\x{a953}\x{a9c0}\x{aaf6}\x{abed}",
);

/// Arabic letters by how they join (Unicode's ArabicShaping.txt): to the one after them too, and only to the
/// one before.
const DUAL_JOINING: &str =
    r"[\x{620}\x{626}\x{628}\x{62a}-\x{62e}\x{633}-\x{63f}\x{641}-\x{647}\x{649}\x{64a}]";
const RIGHT_JOINING: &str = r"[\x{622}-\x{625}\x{627}\x{629}\x{62f}-\x{632}\x{648}]";

/// One character of a class, written as in Rust's regular expressions.
fn class(class: &str) -> Regex {
    regex::parse(class, Dialect::Rust, &Fuel::unlimited()).expect("the classes of this file are well-formed")
}

/// One character of `kind` (the inside of a class) that is valid wherever it stands (PVALID), not from right
/// to left, of the first plane or of Han, as of Unicode 14, for which the tables here are.
fn valid(kind: &str) -> Regex {
    class(&format!(
        r"[[{kind}&&\p{{Age=14.0}}&&[\x{{0}}-\x{{ffff}}\x{{20000}}-\x{{2ffff}}]]&&[^\p{{Changes_When_Casefolded}}\p{{Default_Ignorable_Code_Point}}{COMPATIBLE}{DISALLOWED}{RIGHT_TO_LEFT}]]"
    ))
}

/// `first` and any number of `unit`, with or without single hyphens between.
fn chain(first: Regex, unit: Regex) -> Regex {
    seq([first, seq([lit("-").optional(), unit]).star()])
}

/// A label from left to right, or of digits.
pub(super) fn left_to_right() -> Regex {
    // The digits of Persian are from left to right; the others are valid although they are unstable, or no
    // letters.
    let base = any([valid(r"[\p{L}\p{Nd}]"), class(r"[\x{6f0}-\x{6f9}\x{df}\x{3c2}\x{f0b}\x{3007}]")]);
    // Of blocks that are ignorable: combining marks for symbols.
    let mark = valid(&format!(r"[\p{{Mn}}\p{{Mc}}&&[^{COMPOSING}{VIRAMA}\x{{20d0}}-\x{{20ff}}]]"));
    // Of class 0: spacing marks, and the vowels above of Thai and Lao.
    let vowel = valid(&format!(
        r"[\p{{Mc}}\x{{e31}}\x{{e34}}-\x{{e37}}\x{{eb1}}\x{{eb4}}-\x{{eb7}}&&[^{COMPOSING}{VIRAMA}]]"
    ));
    let joined = seq([class(&format!("[{VIRAMA}]")), class(r"[\x{200c}\x{200d}]").optional()]);
    let after = seq([vowel.optional(), any([mark, joined]).optional()]);
    let unit = any([
        seq([base, after]),
        // The middle dot stands between two of them, the keraia before a Greek letter.
        seq([lit("l"), lit("\u{b7}l").plus()]),
        seq([lit("\u{375}"), valid(r"[\p{L}&&\p{Greek}]")]),
    ]);
    // The katakana middle dot takes a character of Japanese somewhere in the label.
    let japanese = seq([Regex::any_text(), class(r"[\p{Hiragana}\p{Katakana}\p{Han}]"), Regex::any_text()]);
    let or_dot = any([unit.clone(), lit("\u{30fb}")]);
    let dotted = chain(or_dot.clone(), or_dot);
    at_most(MAX_U_LABEL, any([chain(unit.clone(), unit), Regex::intersection([dotted, japanese])]))
}

/// A label from right to left (RFC 5893, section 2): begins with a letter, and has digits of one kind.
pub(super) fn right_to_left() -> Regex {
    let hebrew = seq([class(r"[\x{5d0}-\x{5ea}\x{5ef}-\x{5f2}]"), class(r"[\x{5f3}\x{5f4}]").optional()]);
    let vowel = || class(r"[\x{64b}-\x{652}]").optional();
    let letter =
        class(r"[[\p{Lo}&&\p{Arabic}&&[\x{620}-\x{6ff}\x{750}-\x{77f}]&&[^\x{675}-\x{678}]]\x{6fd}\x{6fe}]");
    let joining = any([class(DUAL_JOINING), class(RIGHT_JOINING)]);
    let apart = seq([class(DUAL_JOINING), vowel(), lit("\u{200c}")]);
    let arabic = any([seq([letter, vowel()]), seq([apart.plus(), joining, vowel()])]);
    let letter = any([hebrew, arabic]);
    let with_digits = |digits: Regex| chain(letter.clone(), any([letter.clone(), digits]));
    let label = any([
        with_digits(class(r"[\x{660}-\x{669}]")),
        with_digits(any([one("0-9"), class(r"[\x{6f0}-\x{6f9}]")])),
    ]);
    at_most(MAX_U_LABEL, label)
}
