//! Tokens as terminals: sets of a vocabulary's tokens, which a grammar names before it knows the vocabulary.
//!
//! A tool call or a block of reasoning is delimited by special tokens (`<|python_tag|>`, `</think>`). Their
//! ids depend on the tokenizer, so a front end writes down a [`TokenSet`], and the engine looks the tokens up
//! when it compiles the grammar for a vocabulary.
//!
//! In a [`Grammar`], a set is a word like any other: the byte 0xFF, which no UTF-8 text contains, the set's
//! description, and 0xFF again. So the passes need no second kind of terminal, and a set may stand inside of
//! a larger [`Regex`]. [`resolve`] replaces these words.

use std::convert::Infallible;
use std::fmt;

use maskwright_automata::{Node, Regex};

use crate::Grammar;

/// The byte before and after a set's description. It occurs in no UTF-8 text.
const MARK: u8 = 0xFF;

/// A set of tokens. In a text, it matches exactly one of them, by its id.
///
/// ```
/// use maskwright_grammar::TokenSet;
/// assert_eq!(TokenSet::named("<think>").to_string(), "<think>");
/// assert_eq!(TokenSet::ids(3, 3).and(TokenSet::ids(7, 9)).to_string(), "<[3,7-9]>");
/// assert_eq!(TokenSet::named("</think>").all_others().to_string(), "any token but </think>");
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TokenSet {
    items: Vec<TokenItem>,
    is_negated: bool,
    is_spelled: bool,
}

/// Some tokens of a [`TokenSet`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TokenItem {
    /// The token that the tokenizer writes so.
    Name(String),
    /// The tokens with an id from the first to the last.
    Ids(u32, u32),
}

impl TokenSet {
    /// The token that the tokenizer writes as `name`.
    pub fn named(name: impl Into<String>) -> TokenSet {
        TokenSet { items: vec![TokenItem::Name(name.into())], is_negated: false, is_spelled: false }
    }

    /// The token that the tokenizer writes as `name`, spelled by a string of a grammar
    /// ([`SpecialNames`](crate::SpecialNames)). If it is a token that ends texts, it is read only at the end
    /// of the text.
    pub fn spelled(name: impl Into<String>) -> TokenSet {
        TokenSet { is_spelled: true, ..TokenSet::named(name) }
    }

    /// The tokens with an id from `first` to `last`, both included.
    pub fn ids(first: u32, last: u32) -> TokenSet {
        TokenSet { items: vec![TokenItem::Ids(first, last)], is_negated: false, is_spelled: false }
    }

    /// Parses a set in a grammar's notation, from `<` to `>`.
    ///
    /// `<[3]>`, `<[1,3-5]>` and `<[^1,3-5]>` are ids, `<[*]>` any token. With anything else in the brackets
    /// it is the token with that name, brackets included: `<[TOOL_CALLS]>`. `<name>` is the token whose name
    /// is `<name>`, angle brackets included. Any name can be written in double quotes, with the escapes of
    /// JSON: `<"[7]">`.
    ///
    /// # Errors
    /// If `written` is not a set; the strings are a message and a hint.
    ///
    /// ```
    /// use maskwright_grammar::TokenSet;
    /// assert_eq!(TokenSet::of_written("<[3,7-9]>"), Ok(TokenSet::ids(3, 3).and(TokenSet::ids(7, 9))));
    /// assert_eq!(TokenSet::of_written("<think>"), Ok(TokenSet::named("<think>")));
    /// assert_eq!(TokenSet::of_written("<[TOOL_CALLS]>"), Ok(TokenSet::named("[TOOL_CALLS]")));
    /// assert_eq!(TokenSet::of_written(r#"<"a b">"#), Ok(TokenSet::named("a b")));
    /// assert!(TokenSet::of_written("<[9-7]>").is_err());
    /// ```
    pub fn of_written(written: &str) -> Result<TokenSet, (String, String)> {
        const IDS: &str = "ids are written <[128010]>, <[128000-128255]>, <[1,3-5]>, <[^1,3-5]> or <[*]>";
        let inside =
            written.strip_prefix('<').and_then(|inside| inside.strip_suffix('>')).unwrap_or_default();
        if let Some(name) = inside.strip_prefix('"') {
            return match unquoted(name) {
                Some(name) if !name.is_empty() => Ok(TokenSet::named(name)),
                _ => Err((
                    format!("`{written}` names no token"),
                    "a name in quotes ends with a quote and has JSON's escapes".to_owned(),
                )),
            };
        }
        let Some(ids) = inside.strip_prefix('[').and_then(|ids| ids.strip_suffix(']')) else {
            return Ok(TokenSet::named(written));
        };
        if ids == "*" {
            return Ok(TokenSet::any());
        }
        let is_name = ids.chars().any(|c| !c.is_ascii_digit() && !"^,-".contains(c));
        if is_name {
            return Ok(TokenSet::named(format!("[{ids}]")));
        }
        let (is_negated, ids) = ids.strip_prefix('^').map_or((false, ids), |ids| (true, ids));
        let mut set = TokenSet { items: Vec::new(), is_negated: false, is_spelled: false };
        for range in ids.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (Ok(first), Ok(last)) = (first.parse(), last.parse()) else {
                return Err((format!("`{range}` in `{written}` is no range of token ids"), IDS.to_owned()));
            };
            if first > last {
                let message = format!("the range {first}-{last} of token ids is backwards");
                return Err((message, format!("write {last}-{first}")));
            }
            set = set.and(TokenSet::ids(first, last));
        }
        Ok(if is_negated { set.all_others() } else { set })
    }

    /// The token called `name` in the notation of [`of_written`](TokenSet::of_written).
    ///
    /// ```
    /// use maskwright_grammar::TokenSet;
    /// assert_eq!(["<s>", "[INST]", "[7]", "a b"].map(TokenSet::written), ["<s>", "<[INST]>", r#"<"[7]">"#, r#"<"a b">"#]);
    /// ```
    pub fn written(name: &str) -> String {
        let is_plain = |name: &str| !name.contains(|c: char| c.is_whitespace() || c == '>' || c == '<');
        let candidates = [name.to_owned(), format!("<{name}>")];
        for written in candidates {
            let inside = written.strip_prefix('<').and_then(|inside| inside.strip_suffix('>'));
            let is_readable = inside.is_some_and(|inside| !inside.is_empty() && is_plain(inside));
            if is_readable && TokenSet::of_written(&written) == Ok(TokenSet::named(name)) {
                return written;
            }
        }
        let escaped: String = name
            .chars()
            .map(|c| match c {
                '"' | '\\' => format!("\\{c}"),
                c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        format!("<\"{escaped}\">")
    }

    /// The length of the [set](TokenSet::of_written) at the start of `text`, in bytes; `None` if `text` does
    /// not begin with one.
    pub fn end_of_written(text: &str) -> Option<usize> {
        let inside = text.strip_prefix('<')?;
        if let Some(quoted) = inside.strip_prefix('"') {
            let mut is_escaped = false;
            let quote = quoted.find(|c| {
                let ends = (c == '"' || c == '\n') && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                ends
            })?;
            return quoted[quote..].starts_with("\">").then_some(quote + 4);
        }
        let end = inside.find(|c: char| c == '>' || c == '<' || c.is_whitespace())?;
        (end > 0 && inside[end..].starts_with('>')).then_some(end + 2)
    }

    /// Any token. Tokens that end a text are not among them, nor are ids without a token.
    pub fn any() -> TokenSet {
        TokenSet { items: Vec::new(), is_negated: true, is_spelled: false }
    }

    /// The tokens of both sets.
    ///
    /// # Panics
    /// If one of them is [negated](TokenSet::all_others).
    #[must_use]
    pub fn and(mut self, other: TokenSet) -> TokenSet {
        assert!(!self.is_negated && !other.is_negated, "a negated set has no more items");
        self.items.extend(other.items);
        self.items.sort_unstable();
        self.items.dedup();
        self
    }

    /// The tokens that are not in this set, and do not end a text. Ids without a token are not among them.
    ///
    /// # Panics
    /// If it is negated already.
    #[must_use]
    pub fn all_others(self) -> TokenSet {
        assert!(!self.is_negated, "the set is negated already");
        TokenSet { is_negated: true, ..self }
    }

    /// The tokens that it names; [all others](TokenSet::is_negated) are meant if it is negated.
    pub fn items(&self) -> &[TokenItem] {
        &self.items
    }

    /// Whether the tokens are all but those of [`items`](TokenSet::items).
    pub fn is_negated(&self) -> bool {
        self.is_negated
    }

    /// Whether a string [spells](TokenSet::spelled) the token.
    pub fn is_spelled(&self) -> bool {
        self.is_spelled
    }

    /// The word that stands for the set until it is [resolved](resolve), as an expression.
    pub fn regex(&self) -> Regex {
        Regex::literal(self.word())
    }

    /// The word that stands for the set.
    pub fn word(&self) -> Vec<u8> {
        let kind = match (self.is_negated, self.is_spelled) {
            (true, _) => b'!',
            (false, true) => b'~',
            (false, false) => b'=',
        };
        let mut word = vec![MARK, kind];
        for item in &self.items {
            let text = match item {
                TokenItem::Name(name) => format!("n{}:{name}", name.len()),
                TokenItem::Ids(first, last) => format!("i{first}-{last};"),
            };
            word.extend_from_slice(text.as_bytes());
        }
        word.push(MARK);
        word
    }

    /// The set that a [word](TokenSet::word) stands for.
    ///
    /// ```
    /// use maskwright_grammar::TokenSet;
    /// let set = TokenSet::ids(7, 9);
    /// assert_eq!(TokenSet::of_word(&set.word()), Some(set));
    /// assert_eq!(TokenSet::of_word(b"<[7-9]>"), None);
    /// ```
    pub fn of_word(word: &[u8]) -> Option<TokenSet> {
        let [MARK, inside @ .., MARK] = word else { return None };
        TokenSet::read(inside)
    }

    /// The set that `regex` is, if it is one.
    pub fn of_regex(regex: &Regex) -> Option<TokenSet> {
        match regex.node() {
            Node::Literal(word) => TokenSet::of_word(word),
            _ => None,
        }
    }

    /// The set that `word`, without the marks around it, stands for.
    fn read(word: &[u8]) -> Option<TokenSet> {
        let (is_negated, is_spelled, mut rest) = match std::str::from_utf8(word).ok()?.split_at_checked(1)? {
            ("!", rest) => (true, false, rest),
            ("~", rest) => (false, true, rest),
            ("=", rest) => (false, false, rest),
            _ => return None,
        };
        let mut items = Vec::new();
        while !rest.is_empty() {
            if let Some(name) = rest.strip_prefix('n') {
                let (length, name) = name.split_once(':')?;
                let (name, after) = name.split_at_checked(length.parse().ok()?)?;
                items.push(TokenItem::Name(name.to_owned()));
                rest = after;
            } else {
                let (ids, after) = rest.strip_prefix('i')?.split_once(';')?;
                let (first, last) = ids.split_once('-')?;
                items.push(TokenItem::Ids(first.parse().ok()?, last.parse().ok()?));
                rest = after;
            }
        }
        Some(TokenSet { items, is_negated, is_spelled })
    }
}

/// The value of the JSON string `quoted`, given without its first quote; `None` if it is not one.
fn unquoted(quoted: &str) -> Option<String> {
    let body = quoted.strip_suffix('"')?;
    let mut text = String::new();
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '"' => return None,
            '\\' => match chars.next()? {
                c @ ('"' | '\\' | '/') => c,
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                'b' => '\x08',
                'f' => '\x0C',
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let is_code = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                    char::from_u32(u32::from_str_radix(&digits, 16).ok().filter(|_| is_code)?)?
                }
                _ => return None,
            },
            c => c,
        });
    }
    Some(text)
}

impl fmt::Display for TokenSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = Vec::new();
        let mut ids = Vec::new();
        for item in &self.items {
            match item {
                TokenItem::Name(name) => names.push(name.clone()),
                TokenItem::Ids(first, last) if first == last => ids.push(first.to_string()),
                TokenItem::Ids(first, last) => ids.push(format!("{first}-{last}")),
            }
        }
        if !ids.is_empty() {
            names.push(format!("<[{}]>", ids.join(",")));
        }
        match (self.is_negated, names.is_empty()) {
            (true, true) => f.write_str("any token"),
            (true, false) => write!(f, "any token but {}", names.join(" or ")),
            (false, true) => f.write_str("no token"),
            (false, false) => f.write_str(&names.join(" or ")),
        }
    }
}

impl Grammar {
    /// The sets of tokens that the terminals name, in order, some more than once. Takes time in the number of
    /// terminals if there are none.
    pub fn token_sets(&self) -> Vec<TokenSet> {
        let mut sets = Vec::new();
        for terminal in &self.terminals {
            let found = resolve::<Infallible>(terminal, &mut |set| {
                sets.push(set.clone());
                Ok(Regex::epsilon())
            });
            match found {
                Ok(_) => {}
                Err(never) => match never {},
            }
        }
        sets
    }

    /// The same grammar with what `resolved` makes of each set of tokens.
    ///
    /// # Errors
    /// Those of `resolved`.
    pub fn with_tokens<E>(
        mut self,
        mut resolved: impl FnMut(&TokenSet) -> Result<Regex, E>,
    ) -> Result<Grammar, E> {
        for terminal in &mut self.terminals {
            if let Some(regex) = resolve(terminal, &mut resolved)? {
                *terminal = regex;
            }
        }
        Ok(self)
    }
}

/// `regex` with what `resolved` makes of each set of tokens in it; `None` if there is no set in it. Linear in
/// the regex.
///
/// # Errors
/// Those of `resolved`.
pub fn resolve<E>(
    regex: &Regex,
    resolved: &mut impl FnMut(&TokenSet) -> Result<Regex, E>,
) -> Result<Option<Regex>, E> {
    if !regex.is_marked() {
        return Ok(None);
    }
    let word = |word: &[u8], resolved: &mut dyn FnMut(&TokenSet) -> Result<Regex, E>| {
        if !word.contains(&MARK) {
            return Ok(None);
        }
        // Texts and descriptions take turns. A mark without its partner is no set's.
        let parts = word.split(|&byte| byte == MARK).enumerate().map(|(index, part)| {
            match (index % 2 == 1).then(|| TokenSet::read(part)).flatten() {
                Some(set) => resolved(&set),
                None => Ok(Regex::literal(part)),
            }
        });
        Ok(Some(Regex::concat(parts.collect::<Result<Vec<_>, E>>()?)))
    };
    let mut all = |parts: &[Regex]| -> Result<Option<Vec<Regex>>, E> {
        let mut changed = false;
        let mut new = Vec::with_capacity(parts.len());
        for part in parts {
            let part_resolved = resolve(part, resolved)?;
            changed |= part_resolved.is_some();
            new.push(part_resolved.unwrap_or_else(|| part.clone()));
        }
        Ok(changed.then_some(new))
    };
    match regex.node() {
        Node::Empty | Node::Epsilon | Node::Bytes(_) => Ok(None),
        Node::Literal(bytes) => word(bytes, resolved),
        Node::Words(words) if words.iter().any(|word| word.contains(&MARK)) => {
            let words =
                words.iter().map(|text| Ok(word(text, resolved)?.unwrap_or_else(|| Regex::literal(text))));
            Ok(Some(Regex::union(words.collect::<Result<Vec<_>, E>>()?)))
        }
        Node::Words(_) => Ok(None),
        Node::Concat(parts) => Ok(all(parts)?.map(Regex::concat)),
        Node::Union(parts) => Ok(all(parts)?.map(Regex::union)),
        Node::Intersection(parts) => Ok(all(parts)?.map(Regex::intersection)),
        Node::Complement(inner) => Ok(resolve(inner, resolved)?.map(|inner| inner.complement())),
        Node::Repeat { inner, min, max } => {
            Ok(resolve(inner, resolved)?.map(|inner| inner.repeat(*min, *max)))
        }
    }
}

/// The words of an expression over tokens: plain ones, and those that end the text.
#[derive(Clone, Debug)]
pub struct Halves {
    /// The plain words.
    pub plain: Regex,
    /// The words after which the text has ended.
    pub last: Regex,
}

impl Halves {
    /// Plain words only.
    pub fn plain(plain: Regex) -> Halves {
        Halves { plain, last: Regex::empty() }
    }

    /// The concatenation of all parts: only its last word can end the text.
    fn concat(parts: &[Halves]) -> Halves {
        let plain = |parts: &[Halves]| Regex::concat(parts.iter().map(|part| part.plain.clone()));
        let ending =
            parts.iter().enumerate().rev().filter(|(_, part)| !matches!(part.last.node(), Node::Empty));
        let can_be_last = |at: usize| parts[at + 1..].iter().all(|part| part.plain.is_nullable());
        let last = ending
            .filter(|(at, _)| can_be_last(*at))
            .map(|(at, part)| Regex::concat([plain(&parts[..at]), part.last.clone()]));
        Halves { last: Regex::union(last.collect::<Vec<_>>()), plain: plain(parts) }
    }
}

/// `regex` with its sets of tokens replaced by what `resolved` returns for them, in halves. Sets under an
/// intersection or complement have no last words. Linear in the regex, except that the parts before a last
/// word are copied for each one.
///
/// # Errors
/// Those of `resolved`.
pub fn halves<E>(
    regex: &Regex,
    resolved: &mut impl FnMut(&TokenSet) -> Result<Halves, E>,
) -> Result<Halves, E> {
    if !regex.is_marked() {
        return Ok(Halves::plain(regex.clone()));
    }
    let word = |word: &[u8], resolved: &mut dyn FnMut(&TokenSet) -> Result<Halves, E>| {
        let parts = word.split(|&byte| byte == MARK).enumerate().map(|(index, part)| {
            match (index % 2 == 1).then(|| TokenSet::read(part)).flatten() {
                Some(set) => resolved(&set),
                None => Ok(Halves::plain(Regex::literal(part))),
            }
        });
        Ok(Halves::concat(&parts.collect::<Result<Vec<_>, E>>()?))
    };
    let union = |parts: Vec<Halves>| {
        let (plain, last): (Vec<Regex>, Vec<Regex>) =
            parts.into_iter().map(|part| (part.plain, part.last)).unzip();
        Halves { plain: Regex::union(plain), last: Regex::union(last) }
    };
    match regex.node() {
        Node::Empty | Node::Epsilon | Node::Bytes(_) => Ok(Halves::plain(regex.clone())),
        Node::Literal(bytes) => word(bytes, resolved),
        Node::Words(words) => {
            let (marked, plain): (Vec<_>, Vec<_>) = words.iter().partition(|text| text.contains(&MARK));
            let mut parts = vec![Halves::plain(Regex::words(plain.into_iter().cloned()))];
            for text in marked {
                parts.push(word(text, resolved)?);
            }
            Ok(union(parts))
        }
        Node::Concat(parts) => {
            let parts = parts.iter().map(|part| halves(part, resolved));
            Ok(Halves::concat(&parts.collect::<Result<Vec<_>, E>>()?))
        }
        Node::Union(parts) => {
            let parts = parts.iter().map(|part| halves(part, resolved));
            Ok(union(parts.collect::<Result<Vec<_>, E>>()?))
        }
        Node::Repeat { inner, min, max } => {
            let Halves { plain, last } = halves(inner, resolved)?;
            let least = if plain.is_nullable() { 0 } else { min.saturating_sub(1) };
            let most = max.map(|max| max.saturating_sub(1));
            let last = match (last.node(), max) {
                (Node::Empty, _) | (_, Some(0)) => Regex::empty(),
                _ => Regex::concat([plain.repeat(least, most), last]),
            };
            Ok(Halves { plain: plain.repeat(*min, *max), last })
        }
        Node::Intersection(_) | Node::Complement(_) => {
            let plain = resolve(regex, &mut |set| Ok(resolved(set)?.plain))?;
            Ok(Halves::plain(plain.unwrap_or_else(|| regex.clone())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_survive_joining() {
        let sets = [
            TokenSet::named("<a:1;>"),
            TokenSet::ids(0, 4_000_000).and(TokenSet::named("é")),
            TokenSet::any(),
            TokenSet::named("n2:").and(TokenSet::ids(7, 7)).all_others(),
            TokenSet::spelled("<|end|>"),
        ];
        let parts = sets.iter().flat_map(|set| [Regex::literal("text"), set.regex()]);
        let joined = Regex::concat(parts);
        let nested = Regex::union([joined.clone().plus(), Regex::words([*b"xx", *b"yy"])]);
        for regex in [joined, nested] {
            let mut found = Vec::new();
            let replaced = resolve::<()>(&regex, &mut |set| {
                found.push(set.clone());
                Ok(Regex::byte(b'!'))
            });
            assert_eq!(found, sets);
            let replaced = replaced.unwrap().unwrap();
            assert!(format!("{replaced:?}").contains("\"text!text!text!text!text!\""), "{replaced:?}");
            assert_eq!(resolve::<()>(&replaced, &mut |_| unreachable!()), Ok(None));
        }
    }
}
