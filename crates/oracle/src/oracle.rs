//! The reference for words, viable prefixes and masks of one grammar.

use std::collections::BTreeSet;

use maskwright_automata::ByteSet;
use maskwright_grammar::Grammar;
use maskwright_vocabulary::{TokenId, Vocabulary};

use crate::cfg::Cfg;
use crate::earley::Chart;

/// Decides exactly what a grammar's language is, for small grammars and texts.
///
/// Every answer is computed anew from the text. Takes time cubic in the text; building takes time
/// exponential in terminals with intersection or complement, and linear in the copies of counted
/// repetitions.
///
/// ```
/// use maskwright_automata::Regex;
/// use maskwright_grammar::Grammar;
/// use maskwright_oracle::Oracle;
/// let oracle = Oracle::new(&Grammar::from_regex(Regex::literal("ab").plus()));
/// assert!(oracle.is_word(b"abab") && !oracle.is_word(b"aba"));
/// assert!(oracle.is_prefix(b"aba") && !oracle.is_prefix(b"aa"));
/// ```
pub struct Oracle {
    grammar: Grammar,
    cfg: Cfg,
    is_nullable: Vec<bool>,
}

impl Oracle {
    /// The reference for `grammar`.
    pub fn new(grammar: &Grammar) -> Oracle {
        let cfg = Cfg::new(grammar);
        let is_nullable = cfg.nullable();
        Oracle { grammar: grammar.clone(), cfg, is_nullable }
    }

    /// Whether `text` is in the language.
    pub fn is_word(&self, text: &[u8]) -> bool {
        self.chart(text).is_some_and(|chart| chart.is_word())
    }

    /// Whether some word of the language starts with `text`.
    pub fn is_prefix(&self, text: &[u8]) -> bool {
        self.chart(text).is_some()
    }

    /// The bytes b such that some word of the language starts with `text`·b.
    pub fn next_bytes(&self, text: &[u8]) -> ByteSet {
        self.chart(text).map_or(ByteSet::EMPTY, |chart| chart.next_bytes())
    }

    /// By token id, whether the token may follow `text`: a token with bytes iff some word of the language
    /// starts with `text` and those bytes, an EOS id iff `text` is a word, any other id never. `None` if no
    /// word starts with `text`.
    pub fn mask(&self, vocabulary: &Vocabulary, text: &[u8]) -> Option<Vec<bool>> {
        let mut chart = self.chart(text)?;
        let is_word = chart.is_word();
        let mut mask = vec![false; vocabulary.n_vocab()];
        for (id, is_allowed) in mask.iter_mut().enumerate() {
            let token = TokenId(u32::try_from(id).expect("a vocabulary has fewer ids"));
            *is_allowed = match vocabulary.token_bytes(token) {
                _ if vocabulary.is_eos(token) => is_word,
                Some(bytes) => {
                    chart.truncate(text.len());
                    extend(&mut chart, bytes)
                }
                None => false,
            };
        }
        Some(mask)
    }

    /// The words of at most `max_len` bytes, all from `alphabet`. Computed without Earley's algorithm; see
    /// [`enumerate_grammar`](crate::enumerate_grammar).
    pub fn words_up_to(&self, max_len: usize, alphabet: &[u8]) -> BTreeSet<Vec<u8>> {
        crate::enumerate_grammar(&self.grammar, max_len, alphabet)
    }

    /// The grammar over bytes.
    pub(crate) fn cfg(&self) -> &Cfg {
        &self.cfg
    }

    /// The chart of `text`, if some word starts with it.
    fn chart(&self, text: &[u8]) -> Option<Chart<'_>> {
        let mut chart = Chart::new(&self.cfg, &self.is_nullable);
        extend(&mut chart, text).then_some(chart)
    }
}

/// Reads `bytes` as far as it goes; whether some word starts with all that was read and them.
fn extend(chart: &mut Chart<'_>, bytes: &[u8]) -> bool {
    for &byte in bytes {
        if !chart.is_viable() {
            return false;
        }
        chart.push(byte);
    }
    chart.is_viable()
}
