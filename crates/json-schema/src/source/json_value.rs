//! JSON values up to equality, as texts write them.
//!
//! What the [watch](crate::distinct) over arrays compares: numbers by value, strings by code points, objects
//! without the order of their members (of a repeated key, the last value counts). Values are shared, so
//! keeping one costs a pointer.

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_automata::ByteSet;
use rpds::VectorSync;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum JsonValue {
    /// `null`, `true` or `false`.
    Literal(Box<[u8]>),
    Number(Number),
    /// UTF-8.
    String(Arc<[u8]>),
    Array(VectorSync<Arc<JsonValue>>),
    Object(Arc<BTreeMap<Box<[u8]>, Arc<JsonValue>>>),
}

/// `±0.digits × 10^exponent`: no zero digit at either end; zero has no digits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    is_negative: bool,
    digits: Box<[u8]>,
    /// `Err` with the digits of the written power of ten where it is beyond 18 digits.
    exponent: Result<i64, Box<[u8]>>,
}

impl JsonValue {
    /// The value of a whole scalar: a string with its quotes, a number or a literal.
    pub(crate) fn scalar(text: &[u8]) -> JsonValue {
        match text.first() {
            Some(b'"') => JsonValue::String(unescaped(&text[1..text.len().saturating_sub(1)]).into()),
            Some(b'-' | b'0'..=b'9') => JsonValue::Number(Number::of(text)),
            _ => JsonValue::Literal(text.into()),
        }
    }

    /// Whether some scalar whose text begins with `text` (not empty, and as long as that of a value that has
    /// not ended) may be this value. Errs on the side of yes for numbers only: where the power of ten is
    /// open.
    pub(crate) fn may_begin_with(&self, text: &[u8]) -> bool {
        match (self, text.first()) {
            (JsonValue::String(value), Some(b'"')) => {
                let (plain, open) = unescaped_so_far(&text[1..]);
                begins_with(value, &plain, open)
            }
            (JsonValue::Number(value), Some(b'-' | b'0'..=b'9')) => value.may_begin_with(text),
            (JsonValue::Literal(value), _) => value.starts_with(text),
            _ => false,
        }
    }
}

impl Number {
    fn of(text: &[u8]) -> Number {
        let (is_negative, mantissa, power) = split(text);
        let point = mantissa.iter().position(|&byte| byte == b'.');
        let n_whole = point.unwrap_or(mantissa.len()) as i64;
        let all: Vec<u8> = mantissa.iter().copied().filter(|&byte| byte != b'.').collect();
        let n_leading = all.iter().take_while(|&&digit| digit == b'0').count();
        let digits = trimmed(&all[n_leading..]);
        if digits.is_empty() {
            return Number { is_negative: false, digits: Box::default(), exponent: Ok(0) };
        }
        let power = match power {
            None => Ok(0),
            Some(power) => written_power(power),
        };
        let exponent = power.map(|power| power + n_whole - n_leading as i64);
        Number { is_negative, digits: digits.into(), exponent }
    }

    fn may_begin_with(&self, text: &[u8]) -> bool {
        let (is_negative, mantissa, power) = split(text);
        let digits: Vec<u8> = mantissa.iter().copied().filter(|&byte| byte != b'.').collect();
        let digits = &digits[digits.iter().take_while(|&&digit| digit == b'0').count()..];
        if self.digits.is_empty() {
            return digits.is_empty();
        }
        let shared = digits.len().min(self.digits.len());
        is_negative == self.is_negative
            && digits[..shared] == self.digits[..shared]
            && digits[shared..].iter().all(|&digit| digit == b'0')
            // Behind the `e` no digit can be added.
            && (power.is_none() || digits.len() >= self.digits.len())
    }
}

/// Sign, digits with their point, and what is behind the `e` (`None` if there is no `e`).
fn split(text: &[u8]) -> (bool, &[u8], Option<&[u8]>) {
    let (is_negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (is_negative, &text[..at], Some(&text[at + 1..])),
        None => (is_negative, text, None),
    }
}

fn written_power(power: &[u8]) -> Result<i64, Box<[u8]>> {
    const MAX_DIGITS: usize = 18;
    let (is_negative, digits) = match power {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let digits = &digits[digits.iter().take_while(|&&digit| digit == b'0').count()..];
    if digits.len() > MAX_DIGITS {
        return Err(power.into());
    }
    let magnitude = digits.iter().fold(0i64, |sum, &digit| sum * 10 + i64::from(digit.wrapping_sub(b'0')));
    Ok(if is_negative { -magnitude } else { magnitude })
}

fn trimmed(digits: &[u8]) -> &[u8] {
    let n_trailing = digits.iter().rev().take_while(|&&digit| digit == b'0').count();
    &digits[..digits.len() - n_trailing]
}

/// The text between the quotes of a string, or a beginning of it, without escapes. An escape that is not
/// complete is left out.
pub(crate) fn unescaped(text: &[u8]) -> Vec<u8> {
    unescaped_so_far(text).0
}

/// The same, and the escape at its end that is not complete (both halves, of a character beyond the first
/// plane).
pub(crate) fn unescaped_so_far(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        let escape = rest;
        let Some((&byte, after)) = rest.split_first() else { return (plain, &[]) };
        rest = after;
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let Some((&kind, after)) = rest.split_first() else { return (plain, escape) };
        rest = after;
        match kind {
            b'b' => plain.push(8),
            b't' => plain.push(b'\t'),
            b'n' => plain.push(b'\n'),
            b'f' => plain.push(12),
            b'r' => plain.push(b'\r'),
            b'u' => {
                let Some((mut code, after)) = unit(rest) else { return (plain, escape) };
                rest = after;
                if (0xd800..0xdc00).contains(&code) {
                    // Surrogates come in pairs.
                    let low = rest.strip_prefix(b"\\u").and_then(unit);
                    let Some((low, after)) = low else { return (plain, escape) };
                    rest = after;
                    code = 0x10000 + ((code - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
                }
                let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => plain.push(other),
        }
    }
}

/// Whether `value` begins with `plain` and then with a character that `open` may become, a beginning of an
/// escape.
pub(crate) fn begins_with(value: &[u8], plain: &[u8], open: &[u8]) -> bool {
    let Some(rest) = value.strip_prefix(plain) else { return false };
    if open.is_empty() {
        return true;
    }
    match std::str::from_utf8(rest) {
        Ok(rest) => rest.chars().next().is_some_and(|next| !escape_goes_on(open, next).is_empty()),
        // What is there ends within a character.
        Err(_) => false,
    }
}

/// The bytes with which `escape`, a beginning of one, goes on to become `character`.
pub(crate) fn escape_goes_on(escape: &[u8], character: char) -> ByteSet {
    let mut bytes = ByteSet::EMPTY;
    let mut add = |spelled: &[u8]| {
        let is_begun = spelled.len() > escape.len() && spelled[..escape.len()].eq_ignore_ascii_case(escape);
        if is_begun {
            let next = spelled[escape.len()];
            // The letters of an escape's kind are small, those of its digits of either case.
            let is_digit = escape.len() > 1 && next != b'u' && next != b'\\';
            bytes.extend([next].into_iter().chain(is_digit.then(|| next.to_ascii_uppercase())));
        }
    };
    let short = match character {
        '\u{8}' => Some(b'b'),
        '\t' => Some(b't'),
        '\n' => Some(b'n'),
        '\u{c}' => Some(b'f'),
        '\r' => Some(b'r'),
        '"' | '\\' | '/' => Some(character as u8),
        _ => None,
    };
    if let Some(kind) = short {
        add(&[b'\\', kind]);
    }
    let units =
        character.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
    add(units.as_bytes());
    bytes
}

/// Four hexadecimal digits and what is behind them.
fn unit(text: &[u8]) -> Option<(u32, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    Some((u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_in_different_spellings() {
        for (left, right) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("-0.0", "0"),
            ("12.50", "125E-1"),
            (r#""a""#, r#""\u0061""#),
            (r#""😀/""#, r#""\ud83d\ude00\/""#),
        ] {
            assert_eq!(JsonValue::scalar(left.as_bytes()), JsonValue::scalar(right.as_bytes()));
        }
        for (left, right) in [("1", "10"), ("1", "-1"), ("0", "false"), (r#""1""#, "1"), ("1", "0.1")] {
            assert_ne!(JsonValue::scalar(left.as_bytes()), JsonValue::scalar(right.as_bytes()));
        }
    }

    /// Every beginning of every spelling of a character goes on to the next byte of it, and complete ones
    /// leave nothing open.
    #[test]
    fn escapes_go_on_to_their_characters() {
        for (character, spelling) in [
            ('a', r"\u0061"),
            ('k', r"\u006B"),
            ('k', r"\u006b"),
            ('\n', r"\n"),
            ('\n', r"\u000A"),
            ('/', r"\/"),
            ('😀', r"\ud83D\uDe00"),
        ] {
            for length in 1..spelling.len() {
                let (begun, next) = spelling.as_bytes().split_at(length);
                assert!(escape_goes_on(begun, character).contains(next[0]), "{spelling} {length}");
                assert_eq!(unescaped_so_far(begun), (Vec::new(), begun), "{spelling} {length}");
            }
            assert_eq!(escape_goes_on(spelling.as_bytes(), character), ByteSet::EMPTY);
            let (plain, open) = unescaped_so_far(spelling.as_bytes());
            assert_eq!((plain, open), (character.to_string().into_bytes(), &b""[..]));
        }
        let digits = |text: &str| escape_goes_on(text.as_bytes(), 'k');
        assert_eq!(digits(r"\u00"), ByteSet::singleton(b'6'));
        assert_eq!(digits(r"\u006"), [b'b', b'B'].into_iter().collect());
        assert_eq!(digits(r"\u01"), ByteSet::EMPTY);
    }

    #[test]
    fn every_beginning_of_a_spelling_may_be_the_value() {
        for (value, spelling) in [
            ("15", "15.00"),
            ("15", "0.15e2"),
            ("1500", "15e+2"),
            ("0", "-0.000"),
            (r#""a\nb""#, r#""\u0061\nb"#),
            ("true", "true"),
        ] {
            let value = JsonValue::scalar(value.as_bytes());
            for end in 1..=spelling.len() {
                assert!(value.may_begin_with(&spelling.as_bytes()[..end]), "{value:?}, {}", &spelling[..end]);
            }
        }
        let value = JsonValue::scalar(b"15");
        for other in ["2", "16", "151", "1.51", "-1", "1e", "\"1"] {
            assert!(!value.may_begin_with(other.as_bytes()), "{other}");
        }
    }
}
