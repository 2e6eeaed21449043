//! The tokens that a grammar names by name or id, as symbols of the vocabulary.
//!
//! A [`TokenSet`] matches one token by its id. When a grammar is compiled, the vocabulary's tokens are
//! divided into classes, so that each set is a union of classes, and each class gets a *symbol*: an id above
//! those of the tokens, with a text that no other text contains ([`symbol_text`]). A set becomes a terminal
//! over the texts of its symbols. So parser, rows, masks and limits on tokens work on symbols as they do on
//! tokens, and only sessions ([`Matcher`](crate::Matcher)) know what a symbol stands for.
//!
//! A token may be read both ways: as its bytes, and as the symbol of its class. A session then follows both
//! readings.
//!
//! A string may [spell](TokenSet::spelled) a token that ends texts. Such a token is not part of the text:
//! where it could be read as the last word, the text is complete, but only this token may end it. So the
//! grammar gets a symbol after each text for each token that may end it ([`Ends`]). Sessions never read these
//! symbols; they only ask which of them could be read. So limits on tokens count the end once, as they do
//! without such strings.
//!
//! Rejected: a text of its own for each token instead of each class. `any_tokens` over 150,000 tokens would
//! be as many words, and every vocabulary's trie would be twice as large.

use maskwright_automata::{ByteSet, Fuel, Regex};
use maskwright_error::{Error, ErrorKind, Place, nearest_name};
use maskwright_grammar::{
    ExprId, ExprPool, Grammar, GrammarBuilder, Halves, Layout, LexedGrammar, TerminalId, TokenItem, TokenSet,
};
use maskwright_lexing::{Flags, LarkTerminal, Pattern, PatternNode};
use maskwright_vocabulary::{
    N_SYMBOLS, TokenId, Vocabulary, mask_contains, mask_insert, mask_words, symbol_text,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::mask_form::MaskForm;
use super::text::written;
use crate::EngineError;

/// How a token can be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Readings<'a> {
    /// Its bytes, if it matches as text.
    pub(crate) text: Option<&'a [u8]>,
    /// The symbol of its class, if the grammar names it.
    pub(crate) symbol: Option<u8>,
}

/// The tokens that a grammar names. Classes are disjoint, and none is empty.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct NamedTokens {
    /// By symbol.
    classes: Vec<Class>,
    /// Which tokens may end a text, if that depends on the text.
    ends: Option<Ends>,
}

/// The tokens that end texts, where strings of the grammar spell some of them. Their symbols follow those of
/// the classes.
#[derive(Clone, Debug)]
pub(crate) struct Ends {
    /// The symbol that can be read where any of them may end the text.
    pub(crate) any: u8,
    /// Each set of them that a string spells, with the symbol that can be read where these may end the text.
    pub(crate) spelled: Vec<(Vec<TokenId>, u8)>,
}

impl Ends {
    /// The ends that `sets` spell; `None` if they spell none.
    fn new(
        sets: &[TokenSet],
        vocabulary: &Vocabulary,
        n_classes: usize,
    ) -> Result<Option<Ends>, EngineError> {
        let mut all: Vec<Vec<TokenId>> = Vec::new();
        for set in sets.iter().filter(|set| set.is_spelled()) {
            let ends = Ends::spelled_by(set, vocabulary)?;
            if !ends.is_empty() && !all.contains(&ends) {
                all.push(ends);
            }
        }
        if all.is_empty() {
            return Ok(None);
        }
        let symbol = |at: usize| {
            let symbol = u8::try_from(n_classes + at);
            symbol.map_err(|_| EngineError::too_many_named_tokens(N_SYMBOLS))
        };
        let spelled = all.into_iter().enumerate().map(|(at, ends)| Ok((ends, symbol(1 + at)?)));
        Ok(Some(Ends { any: symbol(0)?, spelled: spelled.collect::<Result<_, EngineError>>()? }))
    }

    /// The tokens that `set` names and that end texts.
    fn spelled_by(set: &TokenSet, vocabulary: &Vocabulary) -> Result<Vec<TokenId>, EngineError> {
        let mut tokens = tokens_of(set, vocabulary)?;
        tokens.retain(|&token| vocabulary.is_eos(token));
        Ok(tokens)
    }

    /// The symbol of the ends that `set` spells, if it spells any.
    fn symbol(&self, set: &TokenSet, vocabulary: &Vocabulary) -> Result<Option<u8>, EngineError> {
        if !set.is_spelled() {
            return Ok(None);
        }
        let ends = Ends::spelled_by(set, vocabulary)?;
        Ok(self.spelled.iter().find(|(known, _)| *known == ends).map(|&(_, symbol)| symbol))
    }
}

#[derive(Clone, Debug)]
struct Class {
    /// What messages call it: its token, or the first set that it is a part of.
    name: String,
    tokens: MaskForm,
    /// The least id.
    first: TokenId,
    n_tokens: usize,
}

/// A grammar with a lexer, its layout, and the tokens that it names, if it names any.
pub type ResolvedLexed = (LexedGrammar<LarkTerminal>, Option<Layout>, Option<NamedTokens>);

impl NamedTokens {
    /// The grammar with a terminal over symbols in place of each set of tokens; `None` with it if it names
    /// none. Takes time in the number of terminals, and for each set that names others than some in the size
    /// of the vocabulary.
    ///
    /// # Errors
    /// If a set names a token that the vocabulary lacks, the sets tell apart more than [`N_SYMBOLS`] classes,
    /// or the work is cancelled through `fuel`.
    pub fn resolve(
        grammar: Grammar,
        vocabulary: &Vocabulary,
        fuel: &Fuel,
    ) -> Result<(Grammar, Option<NamedTokens>), Error> {
        Ok(NamedTokens::over_bytes(grammar, vocabulary, fuel)?)
    }

    /// [`resolve`](NamedTokens::resolve), for the compiler.
    pub(crate) fn over_bytes(
        grammar: Grammar,
        vocabulary: &Vocabulary,
        fuel: &Fuel,
    ) -> Result<(Grammar, Option<NamedTokens>), EngineError> {
        let mut sets = grammar.token_sets();
        if sets.is_empty() {
            return Ok((grammar, None));
        }
        let named = NamedTokens::new(&mut sets, vocabulary, fuel)?;
        let (mut named, symbols) = named;
        let regexes: FxHashMap<&TokenSet, Regex> =
            sets.iter().zip(&symbols).map(|(set, symbols)| (set, of_symbols(symbols))).collect();
        named.ends = Ends::new(&sets, vocabulary, named.classes.len())?;
        let grammar = match &named.ends {
            None => grammar.with_tokens::<EngineError>(|set| Ok(regexes[set].clone()))?,
            Some(ends) => {
                let after = of_symbol(ends.any).optional();
                let halves = |set: &TokenSet| {
                    let plain = regexes[set].clone();
                    let last = ends.symbol(set, vocabulary)?;
                    let last = last.map_or_else(Regex::empty, |symbol| of_symbol(symbol).optional());
                    Ok::<_, EngineError>(Halves { plain, last })
                };
                grammar.with_ends(halves, after, fuel)?
            }
        };
        Ok((grammar, Some(named)))
    }

    /// The same for a grammar with a lexer: each class becomes a terminal of the lexer, and a set any of its
    /// classes.
    ///
    /// # Errors
    /// As [`resolve`](NamedTokens::resolve).
    pub fn resolve_lexed(
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        vocabulary: &Vocabulary,
        fuel: &Fuel,
    ) -> Result<ResolvedLexed, Error> {
        Ok(NamedTokens::with_lexer(grammar, layout, vocabulary, fuel)?)
    }

    /// [`resolve_lexed`](NamedTokens::resolve_lexed), for the compiler.
    pub(crate) fn with_lexer(
        grammar: LexedGrammar<LarkTerminal>,
        layout: Option<Layout>,
        vocabulary: &Vocabulary,
        fuel: &Fuel,
    ) -> Result<ResolvedLexed, EngineError> {
        let by_terminal: Vec<Option<TokenSet>> = grammar.terminals.iter().map(set_of).collect();
        let mut sets: Vec<TokenSet> = by_terminal.iter().flatten().cloned().collect();
        grammar.terminals.iter().for_each(|terminal| spelled_in(&terminal.pattern, &mut sets));
        if sets.is_empty() {
            return Ok((grammar, layout, None));
        }
        let (mut named, symbols) = NamedTokens::new(&mut sets, vocabulary, fuel)?;
        // With indentation, blocks are closed only at the real end of the text, so no symbol can be read
        // there.
        if layout.is_none() {
            named.ends = Ends::new(&sets, vocabulary, named.classes.len())?;
        }
        let symbols_of = |set: &TokenSet| {
            let at = sets.iter().position(|known| known == set);
            at.map(|at| symbols[at]).unwrap_or(ByteSet::EMPTY)
        };
        let LexedGrammar { rules, terminals, declared, ignored } = grammar;
        let n_old = terminals.len();
        let mut new_ids: Vec<Option<usize>> = Vec::with_capacity(n_old + declared.len());
        let mut kept: Vec<LarkTerminal> = Vec::new();
        // By kept terminal, the symbol of the ends that it names.
        let mut ending: Vec<Option<u8>> = Vec::new();
        for (terminal, set) in terminals.into_iter().zip(&by_terminal) {
            new_ids.push(set.is_none().then_some(kept.len()));
            if set.is_some() {
                continue;
            }
            ending.push(match (&named.ends, spelled_whole(&terminal.pattern)) {
                (Some(ends), Some(set)) => ends.symbol(&set, vocabulary)?,
                _ => None,
            });
            let pattern = with_symbols(&terminal.pattern, &symbols_of).unwrap_or(terminal.pattern);
            kept.push(LarkTerminal { pattern, ..terminal });
        }
        let first_class = kept.len();
        let ends = named.ends.iter().flat_map(|ends| {
            let name =
                |tokens: &[TokenId]| String::from_utf8_lossy(&written(vocabulary, tokens[0])).into_owned();
            let spelled = ends.spelled.iter().map(move |(tokens, _)| name(tokens));
            std::iter::once("end of text".to_owned()).chain(spelled)
        });
        let ends: Vec<String> = ends.collect();
        for (symbol, name) in named.classes.iter().map(|class| &class.name).chain(&ends).enumerate() {
            kept.push(LarkTerminal {
                name: name.clone(),
                pattern: Pattern::literal(&symbol_text(symbol as u8)),
                source_length: 0,
                string: None,
                flags: Flags::default(),
                priority: 0,
            });
        }
        new_ids.extend((0..declared.len()).map(|at| Some(kept.len() + at)));
        let names: Vec<&str> = kept
            .iter()
            .map(|terminal| terminal.name.as_str())
            .chain(declared.iter().map(String::as_str))
            .collect();
        let mut builder = GrammarBuilder::new();
        let exprs = LexedGrammar::<LarkTerminal>::placeholders(&mut builder, &names);
        builder.embed(&rules, fuel, |builder, terminal| match new_ids.get(terminal.index()) {
            // A label.
            None => builder.terminal(rules.terminals()[terminal.index()].clone()),
            Some(&Some(id)) => exprs[id],
            Some(None) => {
                let symbols = by_terminal[terminal.index()].as_ref().map_or(ByteSet::EMPTY, symbols_of);
                let classes: Vec<ExprId> =
                    symbols.iter().map(|symbol| exprs[first_class + usize::from(symbol)]).collect();
                builder.alt(&classes)
            }
        })?;
        let last: Vec<ExprId> = ending
            .into_iter()
            .map(|symbol| match symbol {
                Some(symbol) => builder.optional(exprs[first_class + usize::from(symbol)]),
                None => ExprPool::NEVER,
            })
            .collect();
        let after =
            named.ends.as_ref().map(|ends| builder.optional(exprs[first_class + usize::from(ends.any)]));
        // The builder had no rule before, so rules keep their ids.
        let mut rules = builder.finish(rules.start())?;
        if let Some(after) = after {
            rules = rules.with_last_words(&last, after, fuel)?;
        }
        let new_id = |terminal: TerminalId| new_ids[terminal.index()].map(TerminalId::from_index);
        let ignored = ignored.into_iter().filter_map(new_id).collect();
        let layout = layout.map(|layout| Layout {
            newline: new_id(layout.newline).unwrap_or(layout.newline),
            indent: new_id(layout.indent).unwrap_or(layout.indent),
            dedent: new_id(layout.dedent).unwrap_or(layout.dedent),
            open: layout.open.into_iter().filter_map(new_id).collect(),
            close: layout.close.into_iter().filter_map(new_id).collect(),
            ..layout
        });
        Ok((LexedGrammar { rules, terminals: kept, declared, ignored }, layout, Some(named)))
    }

    /// Whether a terminal of the grammar is a set of tokens.
    pub(crate) fn are_in(grammar: &LexedGrammar<LarkTerminal>) -> bool {
        let mut sets = Vec::new();
        grammar.terminals.iter().for_each(|terminal| spelled_in(&terminal.pattern, &mut sets));
        !sets.is_empty() || grammar.terminals.iter().any(|terminal| set_of(terminal).is_some())
    }

    /// The symbols of a token that ends a text, if that depends on the text; without a token those of all.
    pub(crate) fn last_symbols(&self, token: Option<TokenId>) -> impl Iterator<Item = u8> {
        let spelled = self.ends.iter().flat_map(|ends| &ends.spelled);
        let spelled = spelled.filter(move |(tokens, _)| token.is_none_or(|token| tokens.contains(&token)));
        self.ends.iter().map(|ends| ends.any).chain(spelled.map(|&(_, symbol)| symbol))
    }

    /// Which tokens may end a text, if that depends on the text.
    pub(crate) fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// The classes, and by set its symbols. `sets` loses those that are there twice.
    fn new(
        sets: &mut Vec<TokenSet>,
        vocabulary: &Vocabulary,
        fuel: &Fuel,
    ) -> Result<(NamedTokens, Vec<ByteSet>), EngineError> {
        let mut known = FxHashSet::default();
        sets.retain(|set| known.insert(set.clone()));
        let others = match sets.iter().any(TokenSet::is_negated) {
            true => others(vocabulary),
            false => vec![0; mask_words(vocabulary.n_vocab())],
        };
        let mut parts = Parts::new(&others, vocabulary.n_vocab());
        let mut named = Vec::with_capacity(sets.len());
        for set in &*sets {
            let mut tokens = tokens_of(set, vocabulary)?;
            if set.is_spelled() {
                tokens.retain(|&token| !vocabulary.is_eos(token));
            }
            fuel.spend(1 + tokens.len() as u64 / 4)?;
            parts.split(&tokens);
            if parts.n_parts() > N_SYMBOLS + 2 {
                return Err(EngineError::too_many_named_tokens(N_SYMBOLS));
            }
            named.push(tokens);
        }
        // By part, whether the set has it.
        let has: Vec<Vec<bool>> = sets
            .iter()
            .zip(&named)
            .map(|(set, tokens)| {
                let mut has = vec![false; parts.sizes.len()];
                tokens.iter().for_each(|token| has[parts.of[token.index()] as usize] = true);
                if set.is_negated() {
                    has.iter_mut().enumerate().for_each(|(part, has)| *has = !*has && parts.is_other(part));
                }
                has
            })
            .collect();
        let mut symbols: Vec<Option<u8>> = vec![None; parts.sizes.len()];
        let mut members: Vec<Vec<u32>> = Vec::new();
        for (token, &part) in parts.of.iter().enumerate() {
            let part = part as usize;
            if symbols[part].is_none() && has.iter().any(|has| has[part]) {
                let symbol =
                    u8::try_from(members.len()).map_err(|_| EngineError::too_many_named_tokens(N_SYMBOLS))?;
                symbols[part] = Some(symbol);
                members.push(Vec::new());
            }
            if let Some(symbol) = symbols[part] {
                members[usize::from(symbol)].push(token as u32);
            }
        }
        let symbols_of = |has: &Vec<bool>| {
            let parts = has.iter().zip(&symbols).filter(|(has, _)| **has);
            parts.filter_map(|(_, symbol)| *symbol).collect::<ByteSet>()
        };
        let of_set: Vec<ByteSet> = has.iter().map(symbols_of).collect();
        let classes = members.into_iter().enumerate().map(|(symbol, tokens)| {
            let set = sets.iter().zip(&of_set).find(|(_, symbols)| symbols.contains(symbol as u8));
            let name = match (tokens.as_slice(), set) {
                (&[token], _) => String::from_utf8_lossy(&written(vocabulary, TokenId(token))).into_owned(),
                (_, set) => set.map(|(set, _)| set.to_string()).unwrap_or_default(),
            };
            let (first, n_tokens) = (TokenId(tokens[0]), tokens.len());
            Class { name, tokens: MaskForm::of_sorted(tokens, vocabulary.n_words()), first, n_tokens }
        });
        Ok((NamedTokens { classes: classes.collect(), ends: None }, of_set))
    }

    /// The symbol of the class that has `token`.
    pub fn symbol(&self, token: TokenId) -> Option<u8> {
        self.classes.iter().position(|class| class.tokens.contains(token)).map(|symbol| symbol as u8)
    }

    /// What messages call the tokens that `symbol` stands for.
    pub(crate) fn name(&self, symbol: u8) -> Option<&str> {
        self.classes.get(usize::from(symbol)).map(|class| class.name.as_str())
    }

    /// A token that `symbol` stands for: the one of least id.
    pub fn first(&self, symbol: u8) -> Option<TokenId> {
        self.classes.get(usize::from(symbol)).map(|class| class.first)
    }

    /// A token that `symbol` stands for and that is none of `others`: the one of least id.
    pub fn first_but(&self, symbol: u8, others: &[TokenId]) -> Option<TokenId> {
        let class = self.classes.get(usize::from(symbol))?;
        if !others.contains(&class.first) {
            return Some(class.first);
        }
        class.tokens.tokens().into_iter().find(|token| !others.contains(token))
    }

    /// The token that `symbol` stands for, if it is a single one.
    pub fn only(&self, symbol: u8) -> Option<TokenId> {
        self.classes.get(usize::from(symbol)).filter(|class| class.n_tokens == 1).map(|class| class.first)
    }

    /// Adds to `words` the tokens of the symbols that `has` is true of.
    pub fn add_tokens(&self, vocabulary: &Vocabulary, words: &mut [u32], has: impl Fn(TokenId) -> bool) {
        for (symbol, class) in self.classes.iter().enumerate() {
            if has(vocabulary.symbol(symbol as u8)) {
                class.tokens.add_to(words);
            }
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.classes.iter().map(|class| size_of::<Class>() + class.tokens.memory_usage()).sum()
    }
}

/// The set of tokens that a terminal is.
fn set_of(terminal: &LarkTerminal) -> Option<TokenSet> {
    match terminal.pattern.node() {
        PatternNode::Literal(word) => TokenSet::of_word(word),
        _ => None,
    }
}

/// Adds the sets that strings in `pattern` spell.
fn spelled_in(pattern: &Pattern, sets: &mut Vec<TokenSet>) {
    match pattern.node() {
        PatternNode::Literal(word) => {
            sets.extend(TokenSet::of_word(word).filter(TokenSet::is_spelled));
        }
        PatternNode::Concat(parts) | PatternNode::Alternation(parts) => {
            parts.iter().for_each(|part| spelled_in(part, sets));
        }
        _ => {}
    }
}

/// The set whose name is the whole string, if the string spells one.
fn spelled_whole(pattern: &Pattern) -> Option<TokenSet> {
    let PatternNode::Alternation(parts) = pattern.node() else { return None };
    let mut sets = parts.iter().filter_map(|part| match part.node() {
        PatternNode::Literal(word) => TokenSet::of_word(word),
        _ => None,
    });
    sets.find(TokenSet::is_spelled)
}

/// The pattern with each set that a string spells replaced by its symbols; `None` if there is none.
fn with_symbols(pattern: &Pattern, symbols_of: &impl Fn(&TokenSet) -> ByteSet) -> Option<Pattern> {
    let all = |parts: &[Pattern]| -> Option<Vec<Pattern>> {
        let new: Vec<Option<Pattern>> = parts.iter().map(|part| with_symbols(part, symbols_of)).collect();
        let has_changed = new.iter().any(Option::is_some);
        let parts = new.into_iter().zip(parts).map(|(new, old)| new.unwrap_or_else(|| old.clone()));
        has_changed.then(|| parts.collect())
    };
    match pattern.node() {
        PatternNode::Literal(word) => {
            let set = TokenSet::of_word(word).filter(TokenSet::is_spelled)?;
            let [mark, _] = symbol_text(0);
            Some(Pattern::concat([Pattern::literal(&[mark]), Pattern::bytes(symbols_of(&set))]))
        }
        PatternNode::Concat(parts) => all(parts).map(Pattern::concat),
        PatternNode::Alternation(parts) => all(parts).map(Pattern::alternation),
        _ => None,
    }
}

/// The text of a symbol.
fn of_symbol(symbol: u8) -> Regex {
    Regex::literal(symbol_text(symbol))
}

/// The texts of `symbols`.
fn of_symbols(symbols: &ByteSet) -> Regex {
    let [mark, _] = symbol_text(0);
    Regex::concat([Regex::byte(mark), Regex::bytes(*symbols)])
}

/// The tokens of a vocabulary, divided so that some sets of them are unions of parts.
struct Parts {
    /// By token.
    of: Vec<u32>,
    /// By part, how many tokens it has.
    sizes: Vec<usize>,
    /// By part, whether its tokens are among the others that negated sets mean.
    are_others: Vec<bool>,
}

impl Parts {
    /// The tokens of `others`, and the rest.
    fn new(others: &[u32], n_vocab: usize) -> Parts {
        let of: Vec<u32> =
            (0..n_vocab as u32).map(|id| u32::from(mask_contains(others, TokenId(id)))).collect();
        let n_others = of.iter().filter(|&&part| part == 1).count();
        Parts { of, sizes: vec![n_vocab - n_others, n_others], are_others: vec![false, true] }
    }

    /// Splits the parts that have some of `tokens`, which are distinct, and other tokens.
    fn split(&mut self, tokens: &[TokenId]) {
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for token in tokens {
            *counts.entry(self.of[token.index()]).or_default() += 1;
        }
        let mut split: FxHashMap<u32, u32> = FxHashMap::default();
        for (old, n_tokens) in counts {
            // A part that is wholly among them stays one.
            if n_tokens < self.sizes[old as usize] {
                split.insert(old, self.sizes.len() as u32);
                self.sizes[old as usize] -= n_tokens;
                self.sizes.push(n_tokens);
                self.are_others.push(self.are_others[old as usize]);
            }
        }
        for token in tokens {
            let part = &mut self.of[token.index()];
            *part = split.get(part).copied().unwrap_or(*part);
        }
    }

    fn n_parts(&self) -> usize {
        self.sizes.len()
    }

    fn is_other(&self, part: usize) -> bool {
        self.are_others[part]
    }
}

/// The tokens that negated sets can mean, packed: all there are but those that end a text.
fn others(vocabulary: &Vocabulary) -> Vec<u32> {
    let all = (0..vocabulary.n_vocab() as u32).map(TokenId);
    let mut others = vec![0; mask_words(vocabulary.n_vocab())];
    all.filter(|&token| vocabulary.has_token(token)).for_each(|token| mask_insert(&mut others, token));
    vocabulary.eos_token_ids().iter().for_each(|&TokenId(id)| others[id as usize / 32] &= !(1 << (id % 32)));
    others
}

/// The tokens that a set names, ascending; if it is negated, those are not in it.
fn tokens_of(set: &TokenSet, vocabulary: &Vocabulary) -> Result<Vec<TokenId>, EngineError> {
    let mut tokens = Vec::new();
    for item in set.items() {
        match item {
            TokenItem::Name(name) => {
                let named = vocabulary.named(name);
                if named.is_empty() {
                    let meant = nearest_name(name, vocabulary.names().map(|(_, known)| known));
                    let hint = meant.map(|(_, meant)| format!("did you mean `{meant}`?"));
                    let mut message = format!("the tokenizer has no token named `{name}`");
                    hint.iter().for_each(|hint| message += &format!("; {hint}"));
                    let place = Place { hint, ..Place::default() };
                    return Err(EngineError::Told(Error::message(ErrorKind::Grammar, message).at(place)));
                }
                tokens.extend(named);
            }
            &TokenItem::Ids(first, last) => {
                let n_vocab = vocabulary.n_vocab();
                if first > last || last as usize >= n_vocab {
                    return Err(EngineError::grammar(match first > last {
                        true => format!(
                            "the range {first}-{last} of token ids is backwards; the vocabulary has {n_vocab} ids"
                        ),
                        false => {
                            let id = if (first as usize) < n_vocab { last } else { first };
                            format!("no token has the id {id}: the vocabulary has {n_vocab} ids")
                        }
                    }));
                }
                tokens.extend((first..=last).map(TokenId));
            }
        }
    }
    tokens.sort_unstable();
    tokens.dedup();
    Ok(tokens)
}
