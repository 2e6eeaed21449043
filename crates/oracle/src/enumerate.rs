//! All words of a language up to a length, as sets.
//!
//! Each operation is its definition: a union is the union of the sets, a concatenation all pairs, a
//! complement all texts minus the set, a grammar the least solution of its equations, found by going round
//! until nothing changes. Takes time and memory exponential in the length: for lengths below ten.

use std::collections::BTreeSet;

use maskwright_automata::{Node, Regex};
use maskwright_grammar::{Expr, Grammar};

type Words = BTreeSet<Vec<u8>>;

/// The words of `regex` of at most `max_len` bytes, all from `alphabet`.
///
/// ```
/// use maskwright_automata::Regex;
/// let words = maskwright_oracle::enumerate_words(&Regex::literal("ab").star(), 5, b"ab");
/// assert_eq!(words.len(), 3); // the empty word, ab, abab
/// ```
pub fn enumerate_words(regex: &Regex, max_len: usize, alphabet: &[u8]) -> BTreeSet<Vec<u8>> {
    let of = |inner: &Regex| enumerate_words(inner, max_len, alphabet);
    match regex.node() {
        Node::Empty => Words::new(),
        Node::Epsilon => Words::from([Vec::new()]),
        Node::Bytes(set) => keep(set.iter().map(|byte| vec![byte]), max_len, alphabet),
        Node::Literal(word) => keep([word.to_vec()], max_len, alphabet),
        Node::Words(words) => keep(words.iter().map(|word| word.to_vec()), max_len, alphabet),
        Node::Concat(parts) => parts
            .iter()
            .fold(Words::from([Vec::new()]), |words, part| concatenate(&words, &of(part), max_len)),
        Node::Union(parts) => parts.iter().flat_map(of).collect(),
        Node::Intersection(parts) => parts
            .iter()
            .map(of)
            .reduce(|left, right| left.intersection(&right).cloned().collect())
            .expect("an intersection has at least two parts"),
        Node::Complement(inner) => {
            let inner = of(inner);
            strings(max_len, alphabet)
                .into_iter()
                .filter(|word| std::str::from_utf8(word).is_ok() && !inner.contains(word))
                .collect()
        }
        &Node::Repeat { ref inner, min, max } => repeat(&of(inner), min, max, max_len),
    }
}

/// The words of `grammar` of at most `max_len` bytes, all from `alphabet`.
pub fn enumerate_grammar(grammar: &Grammar, max_len: usize, alphabet: &[u8]) -> BTreeSet<Vec<u8>> {
    let grammar = &crate::unfold::unfold(grammar);
    let terminals: Vec<Words> =
        grammar.terminals().iter().map(|regex| enumerate_words(regex, max_len, alphabet)).collect();
    let pool = grammar.pool();
    let mut exprs = vec![Words::new(); pool.len()];
    let mut rules = vec![Words::new(); grammar.rules().len()];
    loop {
        let mut has_changed = false;
        for id in (0..pool.len()).map(maskwright_grammar::ExprId::from_index) {
            let words = match pool.get(id) {
                Expr::Never => Words::new(),
                Expr::Epsilon => Words::from([Vec::new()]),
                Expr::Terminal(terminal) => terminals[terminal.index()].clone(),
                Expr::Rule(rule) => rules[rule.index()].clone(),
                Expr::Seq(head, tail) => concatenate(&exprs[head.index()], &exprs[tail.index()], max_len),
                Expr::Alt(parts) => parts.iter().flat_map(|part| exprs[part.index()].clone()).collect(),
                &Expr::Repeat { inner, min, max } => repeat(&exprs[inner.index()], min, max, max_len),
                Expr::Shuffle(_) => unreachable!("lists in any order are unfolded before"),
            };
            if words.len() > exprs[id.index()].len() {
                exprs[id.index()] = words;
                has_changed = true;
            }
        }
        for rule in grammar.rules() {
            let words = &exprs[grammar.body(rule).index()];
            if words.len() > rules[rule.index()].len() {
                rules[rule.index()] = words.clone();
                has_changed = true;
            }
        }
        if !has_changed {
            return rules.swap_remove(grammar.start().index());
        }
    }
}

/// All strings over `alphabet` of at most `max_len` bytes, valid text or not.
pub(crate) fn strings(max_len: usize, alphabet: &[u8]) -> Words {
    let mut all = Words::from([Vec::new()]);
    let mut longest = all.clone();
    for _ in 0..max_len {
        longest = longest
            .iter()
            .flat_map(|word| alphabet.iter().map(move |&byte| [&word[..], &[byte]].concat()))
            .collect();
        all.extend(longest.iter().cloned());
    }
    all
}

fn keep(words: impl IntoIterator<Item = Vec<u8>>, max_len: usize, alphabet: &[u8]) -> Words {
    words
        .into_iter()
        .filter(|word| word.len() <= max_len && word.iter().all(|byte| alphabet.contains(byte)))
        .collect()
}

fn concatenate(left: &Words, right: &Words, max_len: usize) -> Words {
    let mut by_length = vec![Vec::new(); max_len + 1];
    for word in right {
        by_length[word.len()].push(word);
    }
    let mut words = Words::new();
    for head in left {
        for tail in by_length[..=max_len - head.len()].iter().flatten() {
            words.insert([&head[..], &tail[..]].concat());
        }
    }
    words
}

fn repeat(inner: &Words, min: u32, max: Option<u32>, max_len: usize) -> Words {
    // `copies` is the words of exactly n copies. Once they are all among those of fewer copies, so are the
    // words of one copy more, and so on: nothing new can come.
    let mut words = Words::new();
    let mut copies = Words::from([Vec::new()]);
    for n in 0..=max.unwrap_or(u32::MAX) {
        let old_len = words.len();
        if n >= min {
            words.extend(copies.iter().cloned());
            if words.len() == old_len && n > min {
                break;
            }
        }
        copies = concatenate(&copies, inner, max_len);
    }
    words
}

#[cfg(test)]
mod tests {
    use maskwright_automata::ByteSet;

    use super::*;

    fn words(regex: &Regex, max_len: usize) -> Vec<String> {
        enumerate_words(regex, max_len, b"ab\xc3\xa9")
            .into_iter()
            .map(|word| String::from_utf8(word).expect("text"))
            .collect()
    }

    #[test]
    fn enumerates_by_definition() {
        let ab = Regex::bytes(ByteSet::range(b'a', b'b'));
        assert_eq!(words(&ab.repeat(1, Some(2)), 9), ["a", "aa", "ab", "b", "ba", "bb"]);
        assert_eq!(words(&Regex::literal("aa").plus(), 5), ["aa", "aaaa"]);
        assert_eq!(words(&ab.star().complement(), 2), ["é"]);
        assert_eq!(words(&Regex::any_text(), 2), ["", "a", "aa", "ab", "b", "ba", "bb", "é"]);
        // A gap between lengths does not end a repetition early.
        let gap = Regex::words([&b"aaa"[..]]).repeat(0, None);
        assert_eq!(words(&gap, 7), ["", "aaa", "aaaaaa"]);
        assert_eq!(words(&Regex::words([&b""[..], b"b"]).repeat(2, Some(3)), 9), ["", "b", "bb", "bbb"]);
    }
}
