//! Restricts the terminals of a lexer to texts over a set of bytes.
//!
//! On such texts a pattern behaves the same, whatever it does with other bytes. So the restricted terminals
//! find the same tokens, in the same order of preference: ids, priorities and operators stay, and so does the
//! order that Lark derives from the widths of the whole patterns.

use maskwright_automata::ByteSet;

use crate::{Keyword, LexerTerminal, Pattern, PatternNode};

/// The terminals restricted to texts whose bytes are all in `bytes`: they match the same on those texts, and
/// match no other text. A literal that begins with the byte 0xFF is not text, and stays.
///
/// ```
/// use maskwright_automata::ByteSet;
/// use maskwright_lexing::{LexerTerminal, Pattern, terminals_within};
/// let blank = Pattern::char_class(&[(' ', ' '), ('\n', '\n')]).repeat(1, None, true);
/// let left = terminals_within(&[LexerTerminal::new(0, blank)], &ByteSet::range(b' ', b'~'));
/// assert_eq!(left[0].pattern, Pattern::char_class(&[(' ', ' ')]).repeat(1, None, true));
/// ```
pub fn terminals_within(terminals: &[LexerTerminal], bytes: &ByteSet) -> Vec<LexerTerminal> {
    let within = Within { bytes, chars: chars_within(bytes) };
    let of_keyword =
        |keyword: &Keyword| Keyword { pattern: within.pattern(&keyword.pattern), terminal: keyword.terminal };
    let made = terminals.iter().map(|terminal| LexerTerminal {
        pattern: within.pattern(&terminal.pattern),
        keywords: terminal.keywords.iter().map(of_keyword).collect(),
        ..terminal.clone()
    });
    made.collect()
}

struct Within<'a> {
    bytes: &'a ByteSet,
    /// The characters whose bytes are in `bytes`: ranges, ascending.
    chars: Vec<(char, char)>,
}

impl Within<'_> {
    fn pattern(&self, pattern: &Pattern) -> Pattern {
        let all = |parts: &[Pattern]| parts.iter().map(|part| self.pattern(part)).collect::<Vec<_>>();
        match pattern.node() {
            PatternNode::Empty => pattern.clone(),
            PatternNode::Bytes(set) if set.is_subset(self.bytes) => pattern.clone(),
            PatternNode::Bytes(set) if !set.intersects(self.bytes) => Pattern::never(),
            PatternNode::Bytes(set) => Pattern::bytes(set.intersection(self.bytes)),
            PatternNode::Class(ranges) => self.class(ranges),
            PatternNode::Literal(word) if word.iter().all(|&byte| self.bytes.contains(byte)) => {
                pattern.clone()
            }
            // Not text.
            PatternNode::Literal(word) if word[0] == 0xFF => pattern.clone(),
            // Keeps its width, for lookbehinds.
            PatternNode::Literal(_) => {
                let width = u32::try_from(pattern.min_width()).unwrap_or(u32::MAX);
                Pattern::never().repeat(width, Some(width), true)
            }
            PatternNode::Concat(parts) => Pattern::concat(all(parts)),
            PatternNode::Alternation(parts) => Pattern::alternation(all(parts)),
            PatternNode::Repeat { inner, min, max, greedy } => {
                self.pattern(inner).repeat(*min, *max, *greedy)
            }
            PatternNode::Look { ahead: true, negated, inner } => self.pattern(inner).look_ahead(*negated),
            PatternNode::Look { ahead: false, negated, inner } => self.pattern(inner).look_behind(*negated),
        }
    }

    fn class(&self, ranges: &[(char, char)]) -> Pattern {
        let mut left = Vec::new();
        let mut first = 0;
        for &(low, high) in ranges {
            first += self.chars[first..].iter().take_while(|known| known.1 < low).count();
            let meeting = self.chars[first..].iter().take_while(|known| known.0 <= high);
            left.extend(meeting.map(|known| (known.0.max(low), known.1.min(high))));
        }
        Pattern::char_class(&left)
    }
}

/// The characters whose bytes are all in `bytes`, as ranges, ascending.
fn chars_within(bytes: &ByteSet) -> Vec<(char, char)> {
    let is_spelled = |char: &char| char.encode_utf8(&mut [0; 4]).bytes().all(|byte| bytes.contains(byte));
    let ascii = ('\0'..='\x7F').filter(is_spelled).map(|char| (char, char));
    let (others, all_others) =
        ('\u{80}'..=char::MAX, ByteSet::range(0x80, 0xBF).union(&ByteSet::range(0xC2, 0xF4)));
    let mut ranges: Vec<(char, char)> = ascii.collect();
    if all_others.is_subset(bytes) {
        ranges.push(('\u{80}', char::MAX));
        return ranges;
    }
    for char in others.filter(is_spelled) {
        match ranges.last_mut().filter(|(_, last)| *last as u32 + 1 == char as u32) {
            Some((_, last)) => *last = char,
            None => ranges.push((char, char)),
        }
    }
    ranges
}

impl Pattern {
    /// Whether a match or an assertion of the pattern may read one of `bytes`. `false` is always right.
    pub fn may_read(&self, bytes: &ByteSet) -> bool {
        match self.node() {
            PatternNode::Empty => false,
            PatternNode::Bytes(set) => set.intersects(bytes),
            PatternNode::Class(ranges) => ranges.iter().any(|&(low, high)| {
                let ascii = (low as u32).min(0x80)..=(high as u32).min(0x7F);
                let is_read = |code: u32| u8::try_from(code).is_ok_and(|byte| bytes.contains(byte));
                ascii.into_iter().any(is_read)
                    || (high as u32 > 0x7F && bytes.intersects(&ByteSet::range(0x80, 0xFF)))
            }),
            PatternNode::Literal(word) => word.iter().any(|&byte| bytes.contains(byte)),
            PatternNode::Concat(parts) | PatternNode::Alternation(parts) => {
                parts.iter().any(|part| part.may_read(bytes))
            }
            PatternNode::Repeat { inner, .. } | PatternNode::Look { inner, .. } => inner.may_read(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use maskwright_automata::Fuel;

    use super::*;
    use crate::{Flags, find_prefix, parse_python};

    /// On texts over the remaining bytes, a pattern finds the same matches; on others, no match contains
    /// another byte.
    #[test]
    fn patterns_find_the_same() {
        let bytes: ByteSet = b"abx \xC3\xA4".iter().copied().collect();
        let texts = ["", "a", "ab", "aab", "ba b", "xax", "ä", "aä", "äx b", "b\n", "ö", "aöb"];
        let sources = [
            "a|ab",
            "[^b]+",
            "a*?b",
            "(?<!a)b",
            "a(?!b)",
            r"\s+",
            r"[^\n]*",
            "(?=a)[a-zö]+",
            "ä|[^a]",
            "a(?=[^x]|$)",
            r"\w+",
            "(?<=ä)x",
        ];
        for source in sources {
            let pattern = parse_python(source, Flags::default(), &Fuel::unlimited()).unwrap();
            let terminal = LexerTerminal::new(0, pattern.clone());
            let within = &terminals_within(&[terminal], &bytes)[0].pattern;
            for text in texts.map(str::as_bytes) {
                for start in (0..=text.len()).filter(|&at| at == text.len() || text[at] & 0xC0 != 0x80) {
                    let found = |pattern| find_prefix(pattern, text, start, &Fuel::unlimited()).unwrap();
                    let (before, after) = (found(&pattern), found(within));
                    match text.iter().all(|&byte| bytes.contains(byte)) {
                        true => assert_eq!(after, before, "{source:?} in {text:?} from {start}"),
                        false => {
                            let found = &text[start..after.unwrap_or(start)];
                            assert!(found.iter().all(|&byte| bytes.contains(byte)), "{source:?} in {text:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_may_be_read() {
        let pattern = parse_python("[^a-z]x|(?!;)b", Flags::default(), &Fuel::unlimited()).unwrap();
        for (byte, is_read) in [(b'\n', true), (b'x', true), (b';', true), (b'c', false), (0xC3, true)] {
            assert_eq!(pattern.may_read(&ByteSet::singleton(byte)), is_read, "{byte}");
        }
    }
}
