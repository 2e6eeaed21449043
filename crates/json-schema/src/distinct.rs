//! The watch over what must differ: the keys of an object, and the items of arrays that ask for it.
//!
//! Neither is context-free. Keys that are not named in the schema have a marked colon in the grammar;
//! `uniqueItems` over an open domain has marked brackets and commas. This watch reads the text as JSON from
//! the outermost marked bracket until it is closed, and skips the text around it, which need not be JSON. It
//! keeps the keys before marked colons, and from the opening bracket of the outermost marked array on the
//! values that its items have. It refuses the colon behind a key, and the comma or bracket behind an item,
//! that was there before.
//!
//! What it promises (see [`Watch`]): a text is not at risk where the key being written can be none of those
//! before it any more, and in every open watched array neither can the item being written; the grammar's own
//! completions close it then, and what is opened later is completed with different keys and items, since the
//! lowering lets in only objects and arrays that have as many keys and values as must be there. Where there
//! are few keys, commas are marked too. Costs: a byte takes constant time, the end of a key or an item
//! logarithmic, a question of a key or a string time logarithmic in those kept, one of another item time
//! linear in the values kept; a copy takes constant time but for the text that is being written.

mod reader;

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::{Doubt, Watch, Watching};

pub(crate) use reader::FEW_KEYS;
use reader::Reader;

/// The watch of a schema.
#[derive(Clone, Copy, Default, Debug)]
pub struct Distinct {
    /// Whether some arrays are watched.
    pub(crate) has_arrays: bool,
    /// Whether some objects have few keys that are not named, so that their commas and colons are marked as
    /// parting.
    pub(crate) has_few_keys: bool,
}

impl Distinct {
    /// The watch of a grammar that contains the schemas of both.
    #[must_use]
    pub fn and(self, other: Distinct) -> Distinct {
        Distinct {
            has_arrays: self.has_arrays || other.has_arrays,
            has_few_keys: self.has_few_keys || other.has_few_keys,
        }
    }
}

impl Watch for Distinct {
    fn start(&self) -> Arc<dyn Watching> {
        Arc::new(Reader::new())
    }

    fn parting_bytes(&self) -> ByteSet {
        [b',', b']', b':'].into_iter().collect()
    }

    /// A key that begins within the token and is not the first of its object, with one more byte at least,
    /// may be one that was there. Where nothing was kept before, the token has a whole key as well, or opens
    /// what it goes on in.
    fn doubt(&self, token: &[u8]) -> Doubt {
        if !token.contains(&b',') {
            return Doubt::Never;
        }
        let opens = |is_watched: bool, bracket: u8| {
            let open = token.iter().position(|&byte| byte == bracket).filter(|_| is_watched);
            open.is_some_and(|open| token[open..].contains(&b','))
        };
        if opens(self.has_arrays, b'[') || opens(self.has_few_keys, b':') {
            return Doubt::Always;
        }
        let begins_key = |comma: &usize| match next_visible(&token[comma + 1..]) {
            Some((b'"', rest)) => !rest.is_empty(),
            _ => false,
        };
        let commas = (0..token.len()).filter(|&at| token[at] == b',');
        commas.rev().find(begins_key).map_or(Doubt::Never, |comma| doubt_behind(&token[..comma]))
    }

    /// A token that ends behind a comma, where a key may be next, or with its quote.
    fn begins(&self, token: &[u8]) -> Doubt {
        let Some(comma) = token.iter().rposition(|&byte| byte == b',') else { return Doubt::Never };
        match next_visible(&token[comma + 1..]) {
            None | Some((b'"', [])) => doubt_behind(&token[..comma]),
            Some(_) => Doubt::Never,
        }
    }

    /// Letters stand for themselves in keys, but behind a backslash, which what completes a key has dealt
    /// with first.
    fn apart(&self) -> Option<ByteSet> {
        (!self.has_arrays && !self.has_few_keys).then(|| ByteSet::range(b'a', b'z'))
    }

    fn family(&self) -> &'static str {
        match (self.has_arrays, self.has_few_keys) {
            (false, false) => "JSON keys",
            (true, false) => "JSON keys and items",
            (false, true) => "few JSON keys",
            (true, true) => "few JSON keys, and items",
        }
    }
}

/// The first byte that is not white space, and what is behind it.
fn next_visible(text: &[u8]) -> Option<(u8, &[u8])> {
    let at = text.iter().position(|byte| !b" \t\n\r".contains(byte))?;
    Some((text[at], &text[at + 1..]))
}

/// Where a key behind `text` and a comma may be one that was there.
fn doubt_behind(text: &[u8]) -> Doubt {
    if text.contains(&b':') { Doubt::Always } else { Doubt::Kept }
}

#[cfg(test)]
mod tests {
    use maskwright_grammar::{Mark, Marks};

    use super::*;

    fn after(text: &str) -> Arc<dyn Watching> {
        let mut watching = Distinct::default().start();
        for &byte in text.as_bytes() {
            let mark = match byte {
                b'[' => Some(Mark::Opens),
                b'{' => Some(Mark::Holds),
                b':' => Some(Mark::Names),
                _ => None,
            };
            <dyn Watching>::make_mut(&mut watching).read(byte, mark.into_iter().collect());
        }
        watching
    }

    #[test]
    fn an_item_that_was_there_is_refused_at_its_end() {
        for text in [
            "[1,1",
            "[1, 1.0 ",
            r#"["a","b","\u0061""#,
            r#"[{"a":1,"b":[2]}, {"b": [2], "a": 1}"#,
            r#"[[1,2],[1,2]"#,
            r#"{"x":[true,null,true"#,
        ] {
            assert!(after(text).refuses(), "{text}");
        }
        for text in ["[1,2", r#"["a","a"#, r#"["1",1"#, "[[1],1", r#"[{"a":1},{"a":2}"#, r#"{"x":[1],"y":[1"#]
        {
            assert!(!after(text).refuses(), "{text}");
        }
    }

    #[test]
    fn risk_ends_where_an_item_differs() {
        for text in [
            "[1,",
            r#"["abc","ab"#,
            r#"["abc","a\u0"#,
            r#"["abc",1,"#,
            r#"[{"a":"x","b":1},{"b":1,"a":""#,
            r#"[{"a":"x"},{"\u006"#,
            r#"[["a","b"],["a","\u0062"#,
            "[[1,2],[1",
            "[[],[",
            "[5,5",
        ] {
            assert!(after(text).is_at_risk(), "{text}");
        }
        for text in [
            "[",
            "[1",
            r#"["abc","b"#,
            r#"["abc","a\u1"#,
            r#"["abc",["abc""#,
            r#"[{"a":"x"},{"a":"y"#,
            r#"[{"a":"x"},{"\u007"#,
            r#"[["a","b"],["a","\u0063"#,
            "[[1,2],[2",
            "[[],[1",
            "[1,2]",
        ] {
            assert!(!after(text).is_at_risk(), "{text}");
        }
    }

    /// Bytes that are not risky lead out of risk, and at strings those that are keep it.
    #[test]
    fn risky_bytes_of_strings_are_those_that_go_on() {
        for (text, are_exact) in [
            (r#"["abc","ab"#, true),
            (r#"["abc","axe",7,"a"#, true),
            (r#"["abc","ab\u00"#, true),
            (r#"["é","\u00"#, true),
            (r#"{"k":1,""#, true),
            (r#"[["abc"],["a"#, false),
            (r#"[{"k":1},{""#, false),
            ("[17,1", false),
        ] {
            let watching = after(text);
            let risky = watching.risky_bytes();
            for byte in (b'!'..0x7f).filter(|byte| !b"\"\\".contains(byte)) {
                let mut next = watching.clone();
                <dyn Watching>::make_mut(&mut next).read(byte, Marks::default());
                assert!(!next.is_at_risk() || risky.contains(byte), "{text} {}", byte as char);
                assert!(!are_exact || next.is_at_risk() || !risky.contains(byte), "{text} {}", byte as char);
            }
        }
    }
}
