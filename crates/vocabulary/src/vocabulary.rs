//! A model's tokens and their bytes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_automata::meter::{self, OutOfWork};

use crate::loaders::{self, Loaded};
use crate::{
    Error, MAX_VOCABULARY, TokenId, TokenizerError, TokenizerOptions, Trie, VocabularyError, mask_insert,
    mask_words,
};

/// A model's tokens: their bytes, which of them end a text, and the trie of all of them. Immutable.
///
/// An id without bytes (a special token, a hole in the ids, a row of padded logits, a token of empty text)
/// never matches as text. A grammar can name such a token by its id or its [name](Vocabulary::named).
///
/// # Example: bytes, and what ends a text
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::{TokenId, Vocabulary};
/// let tokens = ["a", "ab", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap();
/// assert_eq!(vocabulary.token_bytes(TokenId(1)), Some(&b"ab"[..]));
/// assert_eq!(vocabulary.token_bytes(TokenId(2)), None, "EOS never matches as text");
/// ```
///
/// # Example: tokens with names
///
/// ```
/// # use maskwright_vocabulary as maskwright;
/// use maskwright::{TokenId, Vocabulary};
/// let tokens = ["a", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
/// // A model's logits are often wider than its vocabulary.
/// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(1)], Some(64)).unwrap();
/// assert_eq!((vocabulary.n_vocab(), vocabulary.named("</s>")), (64, vec![TokenId(1)]));
/// assert!(vocabulary.is_eos(TokenId(1)) && vocabulary.token_bytes(TokenId(63)).is_none());
/// ```
#[derive(Debug)]
pub struct Vocabulary {
    n_vocab: usize,
    eos: Vec<TokenId>,
    texts: Arc<Texts>,
}

/// What the tokens of a vocabulary spell.
///
/// Beside its tokens, a vocabulary has [`N_SYMBOLS`] *symbols*: ids above those of the tokens, with texts
/// that no UTF-8 text contains. A compiled grammar that names tokens by id gives each set of tokens that it
/// need not tell apart one symbol. So whatever reads the trie reads named tokens as well.
#[derive(Debug)]
struct Texts {
    bytes: Vec<u8>,
    /// Id `t` has the bytes `bytes[ends[t - 1]..ends[t]]`.
    ends: Vec<u32>,
    max_token_bytes: usize,
    /// The bytes that tokens have.
    alphabet: ByteSet,
    /// Of all that can be read as text, and of the symbols.
    trie: Trie,
    /// The trie's ids, packed.
    in_trie: Box<[u32]>,
    /// The bytes of tokens with the byte 0xFF, which never match as text: they could spell a part of a
    /// symbol.
    unreadable: BTreeMap<TokenId, Vec<u8>>,
    /// What tokenizers call tokens without bytes, by id.
    names: BTreeMap<TokenId, String>,
}

/// How many symbols a vocabulary has.
#[doc(hidden)]
pub const N_SYMBOLS: usize = 256;

/// The first byte of a symbol's text.
const SYMBOL_MARK: u8 = 0xFF;

/// The text of a symbol.
#[doc(hidden)]
pub const fn symbol_text(symbol: u8) -> [u8; 2] {
    [SYMBOL_MARK, symbol]
}

impl Vocabulary {
    /// A vocabulary from the bytes of each id (`None`: never matches as text). The bytes of the ids in `eos`
    /// become their [names](Vocabulary::named). `n_vocab`, where given, is the width of the model's logits,
    /// at least the number of tokens.
    ///
    /// # Errors
    /// If an EOS id is not in range, if there are more than [`MAX_VOCABULARY`] ids or 1 GiB of bytes, or if
    /// `n_vocab` is less than the number of tokens.
    pub fn from_tokens(
        tokens: Vec<Option<Vec<u8>>>,
        eos: &[TokenId],
        n_vocab: Option<usize>,
    ) -> Result<Vocabulary, Error> {
        Ok(Vocabulary::of_tokens(tokens, [], eos, n_vocab)?)
    }

    /// As [`from_tokens`](Vocabulary::from_tokens), for files, which are added to the error. `names` are
    /// those of tokens that never match as text.
    pub(crate) fn of_tokens(
        mut tokens: Vec<Option<Vec<u8>>>,
        names: impl IntoIterator<Item = (TokenId, String)>,
        eos: &[TokenId],
        n_vocab: Option<usize>,
    ) -> Result<Vocabulary, VocabularyError> {
        let width = n_vocab.unwrap_or(tokens.len());
        if width < tokens.len() {
            return Err(VocabularyError::too_narrow(width, tokens.len()));
        }
        if width > MAX_VOCABULARY {
            return Err(VocabularyError::too_large("ids", width, MAX_VOCABULARY));
        }
        tokens.resize(width, None);
        let mut by_id = BTreeMap::new();
        for &id in eos {
            match tokens.get_mut(id.index()) {
                Some(token) => {
                    let name = token.take().and_then(|token| String::from_utf8(token).ok());
                    by_id.extend(name.map(|name| (id, name)));
                }
                None => return Err(VocabularyError::eos_out_of_range(id, width)),
            }
        }
        by_id.extend(names);
        by_id.retain(|&id, name| !name.is_empty() && tokens.get(id.index()).is_some_and(Option::is_none));
        let n_bytes: usize = tokens.iter().flatten().map(Vec::len).sum();
        if n_bytes > 1 << 30 {
            return Err(VocabularyError::too_large("bytes", n_bytes, 1 << 30));
        }
        let mut eos = eos.to_vec();
        eos.sort_unstable();
        eos.dedup();
        Ok(Vocabulary { n_vocab: width, eos, texts: Arc::new(Texts::new(tokens, by_id)) })
    }

    /// The same vocabulary with more ids that end a text. Takes no time if none of them matches as text;
    /// otherwise it makes a new trie.
    ///
    /// # Errors
    /// If an id is not in range.
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::{TokenId, Vocabulary};
    /// let tokens = ["a", ".", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap();
    /// let ends_at_dots = vocabulary.with_more_eos(&[TokenId(1)]).unwrap();
    /// assert_eq!(ends_at_dots.eos_token_ids(), [TokenId(1), TokenId(2)]);
    /// assert_eq!(ends_at_dots.token_bytes(TokenId(1)), None);
    /// ```
    pub fn with_more_eos(&self, more: &[TokenId]) -> Result<Vocabulary, Error> {
        let eos: Vec<TokenId> = self.eos.iter().chain(more).copied().collect();
        if let Some(&id) = eos.iter().find(|id| id.index() >= self.n_vocab) {
            return Err(VocabularyError::eos_out_of_range(id, self.n_vocab).into());
        }
        if more.iter().any(|&id| self.token_bytes(id).is_some()) {
            let ids = (0..self.n_vocab as u32).map(TokenId);
            let tokens = ids.map(|id| self.token_bytes(id).map(<[u8]>::to_vec)).collect();
            let names = self.texts.names.clone();
            return Ok(Vocabulary::of_tokens(tokens, names, &eos, Some(self.n_vocab))?);
        }
        let mut eos = eos;
        eos.sort_unstable();
        eos.dedup();
        Ok(Vocabulary { n_vocab: self.n_vocab, eos, texts: self.texts.clone() })
    }

    /// The same vocabulary to share.
    pub fn shared(self) -> Arc<Vocabulary> {
        Arc::new(self)
    }

    /// The width of the logits, in tokens.
    pub fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    /// The bytes of a token that is no special one, else `None`.
    #[inline]
    pub fn token_bytes(&self, token: TokenId) -> Option<&[u8]> {
        if token.index() >= self.n_vocab {
            return None;
        }
        let unreadable = || self.texts.unreadable.get(&token).map(Vec::as_slice);
        self.texts.bytes(token).or_else(unreadable)
    }

    /// What a token or a symbol spells in the trie, if it is there.
    #[inline]
    #[doc(hidden)]
    pub fn text(&self, id: TokenId) -> Option<&[u8]> {
        self.texts.bytes(id)
    }

    /// The tokens called `name`: the special ones of that name, else those whose bytes it is. In ascending
    /// order.
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::{TokenId, Vocabulary};
    /// let tokens = ["a", "<think>", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap();
    /// assert_eq!(vocabulary.named("</s>"), [TokenId(2)]);
    /// assert_eq!(vocabulary.named("<think>"), [TokenId(1)], "also a token that matches as text");
    /// assert_eq!(vocabulary.named("</think>"), []);
    /// ```
    pub fn named(&self, name: &str) -> Vec<TokenId> {
        let special = self.texts.names.iter().filter(|(_, known)| *known == name).map(|(&id, _)| id);
        let special: Vec<TokenId> = special.collect();
        if !special.is_empty() {
            return special;
        }
        let trie = &self.texts.trie;
        let node = name.bytes().try_fold(Trie::ROOT, |node, byte| trie.child(node, byte));
        let mut tokens = node.map(|node| trie.tokens(node).to_vec()).unwrap_or_default();
        tokens.sort_unstable();
        tokens
    }

    /// What the tokenizer calls a token that never matches as text, if it has a name.
    pub fn name(&self, token: TokenId) -> Option<&str> {
        self.texts.names.get(&token).map(String::as_str)
    }

    /// The names of tokens that never match as text, in ascending order of their ids.
    pub fn names(&self) -> impl Iterator<Item = (TokenId, &str)> + '_ {
        self.texts.names.iter().map(|(&id, name)| (id, name.as_str()))
    }

    /// Whether there is a token with this id: it has bytes or a name, or ends a text. Padded logits have
    /// none.
    pub fn has_token(&self, token: TokenId) -> bool {
        self.token_bytes(token).is_some() || self.name(token).is_some() || self.is_eos(token)
    }

    /// The ids that end a text, in ascending order.
    pub fn eos_token_ids(&self) -> &[TokenId] {
        &self.eos
    }

    /// Whether `token` ends a text.
    #[inline]
    pub fn is_eos(&self, token: TokenId) -> bool {
        self.eos.contains(&token)
    }

    /// The length of the longest token, in bytes.
    pub fn max_token_bytes(&self) -> usize {
        self.texts.max_token_bytes
    }

    /// The bytes that tokens have.
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::Vocabulary;
    /// let tokens = ["a", "ab"].map(|token| Some(token.as_bytes().to_vec()));
    /// assert!(Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap().bytes().iter().eq(*b"ab"));
    /// ```
    pub fn bytes(&self) -> ByteSet {
        self.texts.alphabet
    }

    /// By place in `text`, its end included: the least number of tokens that spell the rest from there;
    /// `None` if none do. Takes time in the text times the longest token.
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::Vocabulary;
    /// let tokens = ["a", "ab", "abc", "ca"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap();
    /// assert_eq!(vocabulary.fewest_tokens(b"abca"), [Some(2), None, Some(1), Some(1), Some(0)]);
    /// assert_eq!(vocabulary.fewest_tokens(b"abcb")[0], None);
    /// ```
    pub fn fewest_tokens(&self, text: &[u8]) -> Vec<Option<u32>> {
        let mut fewest = vec![None; text.len() + 1];
        fewest[text.len()] = Some(0);
        for start in (0..text.len()).rev() {
            let mut node = Trie::ROOT;
            for (at, &byte) in text.iter().enumerate().skip(start) {
                let child = self.texts.trie.child(node, byte).filter(|_| byte != SYMBOL_MARK);
                let Some(child) = child else { break };
                node = child;
                if !self.texts.trie.tokens(node).is_empty()
                    && let Some(after) = fewest[at + 1]
                {
                    let known = fewest[start].unwrap_or(u32::MAX);
                    fewest[start] = Some(known.min(after + 1));
                }
            }
        }
        fewest
    }

    /// The least number of tokens that spell `text`; `None` if none do. Takes time in the text times the
    /// longest token, and memory for the longest token.
    ///
    /// # Errors
    /// If the [meter](meter::spend) runs out: each byte of `text` takes a unit.
    pub fn n_fewest_tokens(&self, text: &[u8]) -> Result<Option<usize>, OutOfWork> {
        // By place, modulo one more than the longest token: the least number of tokens up to there.
        let mut fewest = vec![None; self.max_token_bytes().min(text.len()) + 1];
        let n_places = fewest.len();
        fewest[0] = Some(0);
        for start in 0..text.len() {
            meter::spend(1)?;
            let Some(before) = fewest[start % n_places].take() else { continue };
            let mut node = Trie::ROOT;
            for (at, &byte) in text.iter().enumerate().skip(start) {
                let child = self.texts.trie.child(node, byte).filter(|_| byte != SYMBOL_MARK);
                let Some(child) = child else { break };
                node = child;
                if !self.texts.trie.tokens(node).is_empty() {
                    let known = &mut fewest[(at + 1) % n_places];
                    *known = Some(known.map_or(before + 1, |known: usize| known.min(before + 1)));
                }
            }
        }
        Ok(fewest[text.len() % n_places])
    }

    /// The fewest tokens that spell `text`, the longest first where there are several ways; `None` if none
    /// do.
    ///
    /// ```
    /// # use maskwright_vocabulary as maskwright;
    /// use maskwright::{TokenId, Vocabulary};
    /// let tokens = ["a", "ab", "bc", "c"].map(|token| Some(token.as_bytes().to_vec()));
    /// let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap();
    /// assert_eq!(vocabulary.spelled_by_fewest(b"abc"), Some(vec![TokenId(1), TokenId(3)]));
    /// assert_eq!(vocabulary.spelled_by_fewest(b"abb"), None);
    /// ```
    pub fn spelled_by_fewest(&self, text: &[u8]) -> Option<Vec<TokenId>> {
        let fewest = self.fewest_tokens(text);
        let mut tokens = Vec::with_capacity(fewest[0]? as usize);
        let mut start = 0;
        while start < text.len() {
            let (mut node, mut longest) = (Trie::ROOT, None);
            for (at, &byte) in text.iter().enumerate().skip(start) {
                let Some(child) = self.texts.trie.child(node, byte) else { break };
                node = child;
                if let Some(&token) = self.texts.trie.tokens(node).first()
                    && fewest[at + 1].map(|after| after + 1) == fewest[start]
                {
                    longest = Some((token, at + 1));
                }
            }
            let (token, end) = longest?;
            tokens.push(token);
            start = end;
        }
        Some(tokens)
    }

    /// The bytes that are tokens by themselves.
    #[doc(hidden)]
    pub fn single_bytes(&self) -> ByteSet {
        let trie = &self.texts.trie;
        let children = trie.children(Trie::ROOT);
        children.filter(|&(_, child)| !trie.tokens(child).is_empty()).map(|(byte, _)| byte).collect()
    }

    /// How many ids there are, symbols included; masks of the engine are as wide.
    #[doc(hidden)]
    pub fn n_ids(&self) -> usize {
        self.texts.ends.len()
    }

    /// The words of a packed mask over all ids, symbols included.
    #[doc(hidden)]
    pub fn n_words(&self) -> usize {
        mask_words(self.n_ids())
    }

    /// The id of a symbol. Those of all symbols follow one another.
    #[doc(hidden)]
    pub fn symbol(&self, symbol: u8) -> TokenId {
        TokenId((self.n_ids() - N_SYMBOLS + usize::from(symbol)) as u32)
    }

    /// The symbol with this id.
    #[doc(hidden)]
    pub fn as_symbol(&self, id: TokenId) -> Option<u8> {
        id.index().checked_sub(self.n_ids() - N_SYMBOLS).and_then(|symbol| u8::try_from(symbol).ok())
    }

    /// The ids of the trie, as a packed mask of [`n_words`](Vocabulary::n_words) words.
    #[doc(hidden)]
    pub fn in_trie(&self) -> &[u32] {
        &self.texts.in_trie
    }

    /// The trie of all tokens that match as text, and of the symbols.
    #[inline]
    #[doc(hidden)]
    pub fn trie(&self) -> &Trie {
        &self.texts.trie
    }

    /// The tokens that have bytes and never match as text, because one of these is 0xFF.
    pub(crate) fn unreadable(&self) -> &BTreeMap<TokenId, Vec<u8>> {
        &self.texts.unreadable
    }

    /// Whether both spell the same, so that rows of one are rows of the other.
    #[doc(hidden)]
    pub fn spells_as(&self, other: &Vocabulary) -> bool {
        Arc::ptr_eq(&self.texts, &other.texts)
    }
}

impl Texts {
    fn new(mut tokens: Vec<Option<Vec<u8>>>, names: BTreeMap<TokenId, String>) -> Texts {
        // Symbols begin at a word of their own, so that a mask without them is the beginning of one with
        // them.
        let n_tokens = tokens.len().next_multiple_of(32);
        tokens.resize(n_tokens, None);
        let mut unreadable = BTreeMap::new();
        for (id, token) in tokens.iter_mut().enumerate() {
            if token.as_ref().is_some_and(|token| token.contains(&SYMBOL_MARK)) {
                unreadable.extend(token.take().map(|token| (TokenId(id as u32), token)));
            }
        }
        tokens.extend((0..N_SYMBOLS).map(|symbol| Some(symbol_text(symbol as u8).to_vec())));
        let mut bytes = Vec::with_capacity(tokens.iter().flatten().map(Vec::len).sum());
        let mut ends = Vec::with_capacity(tokens.len());
        for token in &tokens {
            bytes.extend_from_slice(token.as_deref().unwrap_or_default());
            ends.push(bytes.len() as u32);
        }
        let with_ids = tokens.iter().enumerate().filter_map(|(id, token)| {
            let token = token.as_deref().filter(|token| !token.is_empty())?;
            Some((token, TokenId(id as u32)))
        });
        let trie = Trie::new(with_ids);
        let mut in_trie = vec![0; mask_words(tokens.len())].into_boxed_slice();
        trie.subtree_tokens(Trie::ROOT).iter().for_each(|&token| mask_insert(&mut in_trie, token));
        let max_token_bytes = tokens.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let first = (0..=u8::MAX).filter(|&byte| byte != SYMBOL_MARK);
        let children = first.filter_map(|byte| Some((byte, trie.child(Trie::ROOT, byte)?)));
        let alphabet = children.fold(ByteSet::EMPTY, |mut all, (byte, child)| {
            all.insert(byte);
            all.union(trie.bytes_below(child))
        });
        Texts { bytes, ends, max_token_bytes, alphabet, trie, in_trie, unreadable, names }
    }

    #[inline]
    fn bytes(&self, id: TokenId) -> Option<&[u8]> {
        let end = *self.ends.get(id.index())? as usize;
        let start = if id.index() == 0 { 0 } else { self.ends[id.index() - 1] as usize };
        (start < end).then(|| &self.bytes[start..end])
    }
}

/// Loading. A vocabulary that has been read says nothing about how the model cuts text; see `Tokenizer` for
/// that.
impl Vocabulary {
    /// Reads the tokens of a Hugging Face `tokenizer.json`.
    ///
    /// The ids that end a text are `options.eos_token_ids`, else `eos_token_id` of a `generation_config.json`
    /// beside the file, else `eos_token` of a `tokenizer_config.json` there, else every well-known name
    /// (`<|endoftext|>`, `</s>`, `<|im_end|>` and the like) among the added tokens.
    ///
    /// # Errors
    /// If a file cannot be read or is not what it should be, if the tokenizer's model is not BPE, if its
    /// tokens cannot be told to be byte-level or SentencePiece, if no id ends a text, or if a limit on size
    /// is reached.
    pub fn from_file(path: &Path, options: &TokenizerOptions) -> Result<Vocabulary, Error> {
        let file = loaders::hugging_face::read_file(path, options)?;
        Ok(Vocabulary::of_file(&file).map_err(|error| error.at(path))?)
    }

    /// Reads the tokens in the text of a `tokenizer.json`; as [`Vocabulary::from_file`] with no files beside
    /// it.
    ///
    /// # Errors
    /// As for [`Vocabulary::from_file`].
    pub fn from_json(json: &[u8], options: &TokenizerOptions) -> Result<Vocabulary, Error> {
        Ok(Vocabulary::of_file(&loaders::hugging_face::read_json(json, options)?)?)
    }

    /// Reads the tokens inside a GGUF file (`tokenizer.ggml.model` is `llama` or `gpt2`).
    ///
    /// The ids that end a text are `options.eos_token_ids`, else the file's `eos_token_id`, `eot_token_id`
    /// and `eom_token_id`, else well-known names among the control tokens.
    ///
    /// # Errors
    /// If the file cannot be read or is not what it should be, if no id ends a text, or if a limit on size is
    /// reached.
    pub fn from_gguf(path: &Path, options: &TokenizerOptions) -> Result<Vocabulary, Error> {
        let vocabulary = loaders::gguf::read(path, options).and_then(|file| Vocabulary::of_file(&file));
        Ok(vocabulary.map_err(|error| error.at(path))?)
    }

    /// The tokens of a file and their bytes. Takes time linear in the file, and that of building the trie.
    pub(crate) fn of_file<R>(file: &Loaded<R>) -> Result<Vocabulary, TokenizerError> {
        let (bytes, names) = (file.tokens.bytes()?, file.tokens.names());
        Ok(Vocabulary::of_tokens(bytes, names, &file.eos, file.vocab_size)?)
    }
}
