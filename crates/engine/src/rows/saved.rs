//! Rows written down, for the next process.
//!
//! A row is known by its residue, written as an expression, and holds for one vocabulary only. So what is
//! written has a fingerprint of the vocabulary, a version of the form, and a digest of itself; where one of
//! them is not as it should be, nothing is read. The digest finds damage, not malice: rows that someone else
//! has written are as trustworthy as they are. Whatever the bytes, reading them ends in an error or in rows
//! over tokens that exist, in memory in proportion to the file and a bound on the size of expressions.
//!
//! Not written: rows as differences ([`MinusRow`](super::MinusRow)), which are made from the others in no
//! time, rows of single words and of states that are numbers (they belong to one automaton), residues that
//! are long to write, and those with a complement inside (an expression's is relative to text, a residue's is
//! not).

use std::hash::Hash;
use std::sync::Arc;

use maskwright_automata::{ByteSet, Node, Regex};
use maskwright_vocabulary::saved::{self, Magic, Refused};
use maskwright_vocabulary::{TokenId, Vocabulary, mask_words};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::CountedRow;
use super::plain::{AllExits, PlainRow};
use crate::ground::MaskForm;

/// Bytes of a vocabulary's fingerprint.
const N_DIGEST: usize = 32;
/// What the bytes begin with.
const MAGIC: Magic = *b"mwrows\x00\x04";

/// Residues with more operations and bytes of words are not written.
pub(crate) const MAX_RESIDUE: usize = 4_096;
/// The same, with what occurs twice counted twice: comparing expressions takes so long.
pub(crate) const MAX_TREE: u64 = 1 << 16;
/// How large all expressions of a file together may be, counted in this way.
const MAX_TREES: u64 = 1 << 24;
/// The deepest expression that is read: automata refuse deeper ones.
const MAX_DEPTH: u32 = 400;

/// Why saved rows were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SavedError {
    Form(Refused),
    OtherVocabulary,
    Malformed,
}

impl SavedError {
    pub(crate) fn reason(self) -> String {
        match self {
            SavedError::Form(refused) => refused.reason("saved rows"),
            SavedError::OtherVocabulary => {
                "the saved rows are for another vocabulary (other tokens, other ids or other ends of text)"
                    .to_owned()
            }
            SavedError::Malformed => {
                "the saved rows have parts, tokens or sizes that no rows have".to_owned()
            }
        }
    }
}

/// Everything that is written, after the vocabulary's fingerprint.
#[derive(Serialize, Deserialize, Default)]
pub(crate) struct SavedRows {
    /// Operations, each after those that it has inside.
    parts: Vec<Part>,
    /// What rows have inside, each set once.
    sets: Vec<Set>,
    /// The exits of rows, each list once: tokens with the length of the part before what they go on with.
    exits: Vec<Vec<(u32, u32)>>,
    plain: Vec<SavedPlain>,
    counted: Vec<SavedCounted>,
}

/// An operation; numbers are places in the list of parts.
#[derive(Serialize, Deserialize)]
enum Part {
    Empty,
    Epsilon,
    Bytes(Vec<u8>),
    Words(Vec<Vec<u8>>),
    Concat(Vec<u32>),
    Union(Vec<u32>),
    Intersection(Vec<u32>),
    Complement(u32),
    Repeat(u32, u32, Option<u32>),
}

#[derive(Serialize, Deserialize)]
struct SavedPlain {
    residue: u32,
    /// A place in the list of sets.
    inside: u32,
    /// A place in the list of exits, unless there are too many.
    exits: Option<u32>,
}

/// These tokens, or all others, if they are fewer.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Hash)]
struct Set {
    tokens: Tokens,
    is_complement: bool,
}

#[derive(Serialize, Deserialize)]
struct SavedCounted {
    unit: u32,
    suffix: Vec<u8>,
    unit_state: u8,
    inside: Vec<Tokens>,
    ending: Vec<(u32, u32)>,
    /// As those of a plain row, and the number of units.
    exits: Vec<(u32, u32, u32)>,
}

/// Token ids, ascending, each as the difference from the one before.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Hash)]
struct Tokens(Vec<u32>);

impl Tokens {
    fn new(tokens: impl IntoIterator<Item = u32>) -> Tokens {
        let mut last = 0;
        Tokens(tokens.into_iter().map(|token| token - std::mem::replace(&mut last, token)).collect())
    }

    fn ids(&self, vocabulary: &Vocabulary) -> Option<Vec<u32>> {
        let mut id = 0u32;
        let text = text_tokens(vocabulary);
        let ids = self.0.iter().enumerate().map(|(index, &difference)| {
            if index > 0 && difference == 0 {
                return None;
            }
            id = id.checked_add(difference)?;
            (text.get(id as usize / 32)? >> (id % 32) & 1 == 1).then_some(id)
        });
        ids.collect()
    }
}

/// Expressions being written, each part once.
#[derive(Default)]
pub(crate) struct Writer {
    rows: SavedRows,
    known: FxHashMap<Regex, u32>,
    known_sets: FxHashMap<Set, u32>,
    known_exits: FxHashMap<Vec<(u32, u32)>, u32>,
}

/// The place of `item` in `all`, where it is put if it is not there.
fn place<T: Clone + Eq + Hash>(item: T, all: &mut Vec<T>, known: &mut FxHashMap<T, u32>) -> u32 {
    *known.entry(item).or_insert_with_key(|item| {
        all.push(item.clone());
        all.len() as u32 - 1
    })
}

impl Writer {
    pub(crate) fn plain(&mut self, residue: &Regex, row: &PlainRow, vocabulary: &Vocabulary) {
        let inside = row.inside.tokens();
        if inside.iter().any(|token| token.index() >= vocabulary.n_vocab()) {
            // Of tokens that some grammar names; it is made at once.
            return;
        }
        let text = text_tokens(vocabulary);
        let mut is_inside = vec![false; vocabulary.n_vocab()];
        inside.iter().for_each(|token| is_inside[token.index()] = true);
        let all = (0..vocabulary.n_vocab() as u32)
            .filter(|&token| text[token as usize / 32] >> (token % 32) & 1 == 1);
        let n_text: u32 = text.iter().map(|word| word.count_ones()).sum();
        let is_complement = inside.len() * 2 > n_text as usize;
        let tokens = match is_complement {
            true => Tokens::new(all.filter(|&token| !is_inside[token as usize])),
            false => Tokens::new(inside.iter().map(|token| token.0)),
        };
        let inside = place(Set { tokens, is_complement }, &mut self.rows.sets, &mut self.known_sets);
        let exits = row.listed_exits().map(|exits| {
            let mut exits: Vec<(u32, u32)> = exits.iter().map(|&(token, depth)| (token.0, depth)).collect();
            exits.sort_unstable();
            place(exits, &mut self.rows.exits, &mut self.known_exits)
        });
        let residue = self.part(residue);
        self.rows.plain.push(SavedPlain { residue, inside, exits });
    }

    pub(crate) fn counted(
        &mut self,
        (unit, suffix, unit_state): (&Regex, &[u8], u8),
        row: &CountedRow,
        vocabulary: &Vocabulary,
    ) {
        let (inside, ending, exits) = row.listed(vocabulary);
        let row = SavedCounted {
            unit: self.part(unit),
            suffix: suffix.to_vec(),
            unit_state,
            inside: inside.into_iter().map(Tokens::new).collect(),
            ending,
            exits,
        };
        self.rows.counted.push(row);
    }

    /// Recursion is over nesting, which expressions have a limit of.
    fn part(&mut self, regex: &Regex) -> u32 {
        if let Some(&known) = self.known.get(regex) {
            return known;
        }
        let mut list = |parts: &[Regex]| parts.iter().map(|part| self.part(part)).collect();
        let part = match regex.node() {
            Node::Empty => Part::Empty,
            Node::Epsilon => Part::Epsilon,
            Node::Bytes(bytes) => Part::Bytes(bytes.iter().collect()),
            Node::Literal(word) => Part::Words(vec![word.to_vec()]),
            Node::Words(words) => Part::Words(words.iter().map(|word| word.to_vec()).collect()),
            Node::Concat(parts) => Part::Concat(list(parts)),
            Node::Union(parts) => Part::Union(list(parts)),
            Node::Intersection(parts) => Part::Intersection(list(parts)),
            Node::Complement(inner) => Part::Complement(self.part(inner)),
            Node::Repeat { inner, min, max } => Part::Repeat(self.part(inner), *min, *max),
        };
        let number = self.rows.parts.len() as u32;
        self.rows.parts.push(part);
        self.known.insert(regex.clone(), number);
        number
    }

    pub(crate) fn finish(self, vocabulary: &Vocabulary) -> Vec<u8> {
        saved::write(&MAGIC, &(fingerprint(vocabulary), &self.rows))
            .expect("lists and numbers can always be written")
    }
}

/// A unit, a suffix and a state within the unit.
pub(crate) type CountedKey = (Regex, Box<[u8]>, u8);

/// A row that was read.
pub(crate) enum ReadRow {
    Plain(Regex, PlainRow),
    Counted(CountedKey, CountedRow),
}

impl SavedRows {
    /// # Errors
    /// If the bytes are not what [`Writer::finish`] gave for this vocabulary.
    pub(crate) fn read(bytes: &[u8], vocabulary: &Vocabulary) -> Result<SavedRows, SavedError> {
        let (of_vocabulary, rows): ([u8; N_DIGEST], SavedRows) =
            saved::read(&MAGIC, bytes).map_err(SavedError::Form)?;
        match of_vocabulary == fingerprint(vocabulary) {
            true => Ok(rows),
            false => Err(SavedError::OtherVocabulary),
        }
    }

    /// The rows, made one by one.
    ///
    /// # Errors
    /// Each, if it has tokens or parts that do not exist.
    pub(crate) fn rows(
        self,
        vocabulary: &Vocabulary,
    ) -> Result<impl Iterator<Item = Result<ReadRow, SavedError>>, SavedError> {
        let regexes = expressions(&self.parts).ok_or(SavedError::Malformed)?;
        let regex = move |part: u32| regexes.get(part as usize).cloned();
        let sets = self.sets.iter().map(|set| inside(set, vocabulary)).collect::<Option<Vec<_>>>();
        let sets = sets.ok_or(SavedError::Malformed)?;
        let exits = self.exits.iter().map(|list| all_exits(list, vocabulary)).collect::<Option<Vec<_>>>();
        let exits = exits.ok_or(SavedError::Malformed)?;
        let other = regex.clone();
        let plain = self.plain.into_iter().map(move |row| {
            let listed =
                row.exits.map(|place| exits.get(place as usize).cloned().ok_or(SavedError::Malformed));
            let inside = sets.get(row.inside as usize).cloned().ok_or(SavedError::Malformed)?;
            let residue = regex(row.residue).ok_or(SavedError::Malformed)?;
            Ok(ReadRow::Plain(residue, PlainRow::from_parts(inside, listed.transpose()?)))
        });
        let counted = self.counted.into_iter().map(move |row| {
            let (key, row) = counted_row(row, &other, vocabulary).ok_or(SavedError::Malformed)?;
            Ok(ReadRow::Counted(key, row))
        });
        Ok(plain.chain(counted))
    }
}

/// The tokens that match as text, packed.
fn text_tokens(vocabulary: &Vocabulary) -> &[u32] {
    &vocabulary.in_trie()[..mask_words(vocabulary.n_vocab())]
}

/// The form of a set as the inside of rows.
fn inside(set: &Set, vocabulary: &Vocabulary) -> Option<MaskForm> {
    let tokens = set.tokens.ids(vocabulary)?;
    if !set.is_complement {
        return Some(MaskForm::Sparse(tokens.into()).into_base(vocabulary.n_words()));
    }
    let mut words = text_tokens(vocabulary).to_vec();
    tokens.iter().for_each(|token| words[*token as usize / 32] &= !(1 << (token % 32)));
    words.resize(vocabulary.n_words(), 0);
    Some(MaskForm::Dense(words.into()))
}

fn all_exits(list: &[(u32, u32)], vocabulary: &Vocabulary) -> Option<Arc<AllExits>> {
    let exits = list.iter().map(|&(token, depth)| remainder(token, depth, vocabulary));
    Some(Arc::new(AllExits::new(exits.collect::<Option<_>>()?)))
}

fn counted_row(
    row: SavedCounted,
    regex: impl Fn(u32) -> Option<Regex>,
    vocabulary: &Vocabulary,
) -> Option<(CountedKey, CountedRow)> {
    // No token begins more units than it has bytes, and there is one to go on with.
    if row.inside.len() > vocabulary.max_token_bytes() + 2 || row.suffix.is_empty() {
        return None;
    }
    let known = |token: u32| vocabulary.text(TokenId(token)).map(|_| TokenId(token));
    let inside = row.inside.iter().map(|tokens| {
        let ids = tokens.ids(vocabulary)?;
        Some(ids.into_iter().map(TokenId).collect())
    });
    let inside = inside.collect::<Option<Vec<Vec<TokenId>>>>()?;
    let ending = row.ending.iter().map(|&(token, n_units)| Some((known(token)?, n_units)));
    let ending = ending.collect::<Option<Vec<_>>>()?;
    let exits = row.exits.iter().map(|&(token, depth, n_units)| {
        let (token, depth) = remainder(token, depth, vocabulary)?;
        Some((token, depth as usize, n_units))
    });
    let exits = exits.collect::<Option<Vec<_>>>()?;
    let key = (regex(row.unit)?, row.suffix.into(), row.unit_state);
    Some((key, CountedRow::from_lists(vocabulary, inside, ending, exits)))
}

/// A token that has more than `depth` bytes, and these.
fn remainder(token: u32, depth: u32, vocabulary: &Vocabulary) -> Option<(TokenId, u32)> {
    let bytes = vocabulary.text(TokenId(token)).filter(|_| (token as usize) < vocabulary.n_vocab())?;
    (1..bytes.len()).contains(&(depth as usize)).then_some((TokenId(token), depth))
}

fn expressions(parts: &[Part]) -> Option<Vec<Regex>> {
    let mut regexes: Vec<Regex> = Vec::with_capacity(parts.len());
    let mut left = MAX_TREES;
    for part in parts {
        let one = |number: &u32| regexes.get(*number as usize).cloned();
        let list = |numbers: &[u32]| numbers.iter().map(one).collect::<Option<Vec<_>>>();
        let size_of = |number: &u32| regexes.get(*number as usize).map_or(u64::MAX, Regex::size);
        // Known before anything is made.
        let size = match part {
            Part::Concat(parts) | Part::Union(parts) | Part::Intersection(parts) => {
                parts.iter().fold(1u64, |size, part| size.saturating_add(size_of(part)))
            }
            Part::Complement(inner) | Part::Repeat(inner, ..) => size_of(inner).saturating_add(1),
            Part::Words(words) => words.iter().map(|word| word.len() as u64 + 1).sum(),
            Part::Empty | Part::Epsilon | Part::Bytes(_) => 1,
        };
        if size > MAX_TREE {
            return None;
        }
        left = left.checked_sub(size)?;
        let regex = match part {
            Part::Empty => Regex::empty(),
            Part::Epsilon => Regex::epsilon(),
            Part::Bytes(bytes) => Regex::bytes(bytes.iter().copied().collect::<ByteSet>()),
            Part::Words(words) => Regex::words(words.iter().map(Vec::as_slice)),
            Part::Concat(parts) => Regex::concat(list(parts)?),
            Part::Union(parts) => Regex::union(list(parts)?),
            Part::Intersection(parts) if parts.is_empty() => return None,
            Part::Intersection(parts) => Regex::intersection(list(parts)?),
            Part::Complement(inner) => one(inner)?.complement(),
            Part::Repeat(_, min, Some(max)) if max < min => return None,
            Part::Repeat(inner, min, max) => one(inner)?.repeat(*min, *max),
        };
        if regex.depth() > MAX_DEPTH {
            return None;
        }
        regexes.push(regex);
    }
    Some(regexes)
}

/// A digest of everything that masks see of a vocabulary.
fn fingerprint(vocabulary: &Vocabulary) -> [u8; N_DIGEST] {
    let mut digest = Sha256::new();
    let number = |digest: &mut Sha256, number: usize| digest.update((number as u64).to_le_bytes());
    number(&mut digest, vocabulary.n_vocab());
    number(&mut digest, vocabulary.eos_token_ids().len());
    for token in vocabulary.eos_token_ids() {
        number(&mut digest, token.index());
    }
    for token in 0..vocabulary.n_vocab() as u32 {
        let bytes = vocabulary.text(TokenId(token));
        number(&mut digest, bytes.map_or(usize::MAX, <[u8]>::len));
        digest.update(bytes.unwrap_or_default());
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let tokens = [&b"a"[..], b"ab", b"\"", b"</s>"].map(|token| Some(token.to_vec()));
        Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap()
    }

    /// Whether rows of a crafted file, digest and all, are refused.
    fn is_refused(rows: SavedRows) -> bool {
        let vocabulary = vocabulary();
        let bytes = Writer { rows, ..Writer::default() }.finish(&vocabulary);
        let read = SavedRows::read(&bytes, &vocabulary).unwrap();
        match read.rows(&vocabulary) {
            Ok(mut rows) => rows.any(|row| row.is_err()),
            Err(_) => true,
        }
    }

    fn plain(inside: Vec<u32>, exits: Option<Vec<(u32, u32)>>) -> SavedRows {
        let row = SavedPlain { residue: 0, inside: 0, exits: exits.is_some().then_some(0) };
        let sets = vec![Set { tokens: Tokens(inside), is_complement: false }];
        let exits = exits.into_iter().collect();
        SavedRows { parts: vec![Part::Bytes(vec![b'a'])], sets, exits, plain: vec![row], counted: vec![] }
    }

    fn counted(inside: Vec<Tokens>, suffix: &[u8]) -> SavedRows {
        let suffix = suffix.to_vec();
        let row =
            SavedCounted { unit: 0, suffix, unit_state: 0, inside, ending: vec![], exits: vec![(1, 1, 1)] };
        SavedRows { parts: vec![Part::Bytes(vec![b'a'])], counted: vec![row], ..SavedRows::default() }
    }

    #[test]
    fn crafted_files_are_refused() {
        let parts = |parts| SavedRows { parts, ..SavedRows::default() };
        let doubled = |make: fn(Vec<u32>) -> Part| {
            let first = Part::Words(vec![vec![b'x'; 40]]);
            std::iter::once(first).chain((0..64).map(|part| make(vec![part, part]))).collect()
        };
        assert!(is_refused(parts(vec![Part::Intersection(vec![])])));
        assert!(is_refused(parts(doubled(Part::Concat))));
        assert!(is_refused(parts(vec![Part::Concat(vec![0])])));
        assert!(is_refused(parts(vec![Part::Epsilon, Part::Repeat(0, 2, Some(1))])));
        let nested = (0..10_000).map(Part::Complement);
        assert!(is_refused(parts(std::iter::once(Part::Bytes(vec![b'a'])).chain(nested).collect())));
        assert!(!is_refused(plain(vec![0, 1], Some(vec![(1, 1)]))));
        for (inside, exits) in [
            (vec![0, 0], None),
            (vec![u32::MAX, 2], None),
            (vec![4], None),
            (vec![], Some(vec![(1, 2)])),
            (vec![], Some(vec![(1, 0)])),
            (vec![], Some(vec![(9, 1)])),
        ] {
            assert!(is_refused(plain(inside, exits)));
        }
        for (inside, exits) in [(1, None), (0, Some(1))] {
            let row = SavedPlain { residue: 0, inside, exits };
            assert!(is_refused(SavedRows { plain: vec![row], ..plain(vec![0], Some(vec![(1, 1)])) }));
        }
        let lists = |n: usize| (0..n).map(|_| Tokens(vec![])).collect();
        assert!(!is_refused(counted(lists(2), b"\"")));
        assert!(is_refused(counted(lists(100), b"\"")));
        assert!(is_refused(counted(lists(2), b"")));
    }
}
