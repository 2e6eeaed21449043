//! Where a text is, and what may come next, in words.
//!
//! Characters that lead to the same configuration are one thing that may come next. So the words are those of
//! the grammar's language, whatever it was written in, and no automaton is shown. A single character is
//! followed as long as the grammar leaves no choice, or few: `t` is shown as `true`.

use maskwright_automata::ByteSet;
use maskwright_grammar::{ExprId, RuleId, Symbol};
use maskwright_vocabulary::symbol_text;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ground::{BLOCK, Characters, END_OF_LINE, MatcherState, NamedTokens, StateNext, shown};
use crate::parser::{ConfigId, Frame, Parser, Thread};
use crate::reader::Reader;
use crate::session::machine::Machine;
use crate::{EngineError, Error, Matcher};

/// How many texts of several characters are listed, and how long they may be.
const MAX_TEXTS: usize = 24;
const MAX_LENGTH: usize = 48;

/// How often a text may fork.
const MAX_FORKS: usize = 2;

/// So many bytes of characters that are not of ASCII are told apart.
const MAX_PARTS: usize = 8;

/// Among so many single characters each is followed.
const MAX_BRANCHES: usize = 12;

/// How many moves of the network are looked at for the names of rules, and how many rules are named.
const MAX_MOVES: usize = 50_000;
const MAX_RULES: usize = 32;

/// Characters that are not of ASCII, of scripts and lengths that differ.
const OTHERS: [&str; 5] = ["é", "ж", "あ", "中", "😀"];

impl Matcher {
    /// Where the text is, and what may come next, in words: the path in a JSON Schema's value and the
    /// keywords that limit it, or the rules that are being read.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn state(&self) -> Result<MatcherState, Error> {
        if self.is_terminated() {
            return Ok(MatcherState { is_complete: true, ..MatcherState::default() });
        }
        let config = self.state.config;
        let named = self.grammar().named();
        let text = self.text();
        let mut state = self.ask(|machine| in_words(machine, config, named))?;
        self.keep_accepted(&mut state);
        // Nothing but blanks may follow the line's end: the block that must come is deeper than the text is.
        if let [only] = &mut state.next[..]
            && only.words == END_OF_LINE
            && text.trim_ascii_end().len() < text.len()
        {
            only.words = BLOCK.to_owned();
        }
        let Some(place) = self.in_words(|words| words.place(self)) else {
            // Rules that a schema, a tag or a list of tools became say nothing to a user.
            if let Some(own) = self.grammar().words().map_or(Some(&[][..]), |words| words.own_rules()) {
                let rules = self.ask(|machine| Ok(rules(&mut machine.reader, config)))?;
                state.rules = rules.into_iter().skip_while(|rule| own.contains(&&**rule)).collect();
            }
            return Ok(state);
        };
        (state.within, state.path, state.keywords) = (place.within, Some(place.path), place.keywords);
        if let Some(hint) = place.hint {
            // Which characters these may be says less.
            let examples = state.next.first().map(|next| next.examples.clone()).unwrap_or_default();
            state.next = vec![StateNext { words: hint, examples }];
        }
        Ok(state)
    }

    /// Takes what the session refuses from what may come next: the grammar allows more where keys and items
    /// must differ, or tokens are limited.
    fn keep_accepted(&self, state: &mut MatcherState) {
        state.next.retain_mut(|next| {
            let n_examples = next.examples.len();
            next.examples.retain(|example| self.fork().accept_bytes(example.as_bytes()).unwrap_or(true));
            n_examples == 0 || !next.examples.is_empty()
        });
    }

    /// What may come, in words, after `before`, which follows the text and leads to `config`.
    pub(super) fn expected_after(&self, before: &[u8], config: ConfigId) -> Result<Vec<String>, Error> {
        let named = self.grammar().named();
        let mut state = self.ask(|machine| in_words(machine, config, named))?;
        let mut ahead = self.fork();
        if before.is_empty() || ahead.accept_bytes(before)? {
            ahead.keep_accepted(&mut state);
        }
        Ok(state.expected())
    }

    /// What may come next, in words, the most useful first: texts between backticks, kinds of characters, or
    /// the names of a lexer's terminals and of special tokens. "the end of the text" is the last entry where
    /// the text may end.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn expected(&self) -> Result<Vec<String>, Error> {
        if self.is_terminated() {
            return Ok(Vec::new());
        }
        Ok(self.state()?.expected())
    }
}

/// What may come after `config`, in words.
fn in_words(
    machine: &mut Machine,
    config: ConfigId,
    named: Option<&NamedTokens>,
) -> Result<MatcherState, EngineError> {
    let is_complete = machine.reader.is_accepting(config);
    let mut names = machine.reader.expected(config, named)?;
    names.sort();
    names.dedup();
    let name = |words: String| StateNext { words, examples: Vec::new() };
    let is_lexed = matches!(machine.reader, Reader::Lexed { .. });
    let next = if is_lexed && !names.is_empty() {
        names.into_iter().map(name).collect()
    } else {
        let mut next = next_texts(machine, config)?;
        next.extend(names.into_iter().map(name));
        next
    };
    Ok(MatcherState { next, is_complete, ..MatcherState::default() })
}

/// The texts and characters that may come next.
fn next_texts(machine: &mut Machine, config: ConfigId) -> Result<Vec<StateNext>, EngineError> {
    let (mut texts, mut kinds, mut blanks) = (Vec::new(), Vec::new(), Characters::default());
    let groups = groups(machine, config)?;
    let least = least_characters(&mut machine.reader, config)?;
    let n_single = groups.iter().filter(|(characters, _)| single(characters).is_some()).count();
    for (characters, after) in groups {
        if characters.are_blank() {
            blanks.ascii = blanks.ascii.union(&characters.ascii);
            continue;
        }
        match single(&characters) {
            Some(byte) if n_single <= MAX_BRANCHES => {
                follow(machine, after, &mut vec![byte], 0, &mut texts)?;
            }
            _ => {
                let mut words = characters.in_words();
                if let Some(least) = least {
                    words.push_str(&format!(" (at least {least} more characters)"));
                }
                kinds.push(StateNext { words, examples: characters.examples() });
            }
        }
    }
    texts.sort();
    texts.dedup();
    if texts.first().is_some_and(Vec::is_empty) {
        texts.remove(0);
        let others = Characters { has_others: true, ..Characters::default() };
        kinds.push(StateNext { words: others.in_words(), examples: Vec::new() });
    }
    let text = |text: Vec<u8>| {
        let example = String::from_utf8_lossy(&text).into_owned();
        StateNext { words: shown(&text), examples: vec![example] }
    };
    let blanks =
        (!blanks.ascii.is_empty()).then(|| StateNext { words: blanks.in_words(), examples: Vec::new() });
    Ok(texts.into_iter().map(text).chain(kinds).chain(blanks).collect())
}

/// How many characters must come before the terminal in progress can end, if there is one and they are
/// several.
fn least_characters(reader: &mut Reader, config: ConfigId) -> Result<Option<usize>, EngineError> {
    let Some(reader) = reader.bytes() else { return Ok(None) };
    let [first, rest @ ..] = reader.parser.configs.threads(config) else { return Ok(None) };
    if !rest.iter().all(|thread| thread.reads_alike(first)) {
        return Ok(None);
    }
    // Where that is hard to say it is left out.
    let Ok(word) = reader.parser.automaton(first.terminal).shortest_word(first.residue) else {
        return Ok(None);
    };
    // A longer word may have fewer characters if these are long.
    Ok(Some(word.len()).filter(|&length| length > 1 && word.is_ascii()))
}

/// The byte of characters that are one byte alone.
fn single(characters: &Characters) -> Option<u8> {
    characters.ascii.as_singleton().filter(|_| !characters.has_others)
}

/// Adds the texts that begin with `text`, after which the grammar is at `config`, up to where a terminal can
/// end or any of many characters can come.
fn follow(
    machine: &mut Machine,
    config: ConfigId,
    text: &mut Vec<u8>,
    n_forks: usize,
    texts: &mut Vec<Vec<u8>>,
) -> Result<(), EngineError> {
    let is_whole = machine.reader.is_accepting(config) || begins_terminal(&mut machine.reader, config)?;
    if !is_whole && text.len() < MAX_LENGTH {
        let groups = groups(machine, config)?;
        let bytes: Option<Vec<(u8, ConfigId)>> =
            groups.iter().map(|(characters, after)| Some((single(characters)?, *after))).collect();
        let may_fork = |bytes: &Vec<_>| {
            bytes.len() == 1 || n_forks < MAX_FORKS && texts.len() + bytes.len() <= MAX_TEXTS
        };
        if let Some(bytes) = bytes.filter(may_fork) {
            let n_forks = n_forks + usize::from(bytes.len() > 1);
            for (byte, after) in bytes {
                text.push(byte);
                follow(machine, after, text, n_forks, texts)?;
                text.pop();
            }
            return Ok(());
        }
    }
    // A character that is cut off is not shown.
    let n_whole = text.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    texts.push(text[..n_whole].to_vec());
    Ok(())
}

/// Whether some reading at `config` is at the beginning of a terminal.
fn begins_terminal(reader: &mut Reader, config: ConfigId) -> Result<bool, EngineError> {
    let Some(reader) = reader.bytes() else { return Ok(false) };
    for thread in reader.parser.configs.threads(config).to_vec() {
        if reader.parser.terminal_start(thread.terminal)? == Some(thread.residue) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The characters that can come next, those together that lead to the same. A byte that is part of a
/// character stands alone. Tokens that are named by id are left out.
fn groups(machine: &mut Machine, config: ConfigId) -> Result<Vec<(Characters, ConfigId)>, EngineError> {
    let [mark, _] = symbol_text(0);
    let bytes = machine.reader.next_bytes(config)?;
    let mut groups: Vec<(Characters, ConfigId)> = Vec::new();
    let mut places: FxHashMap<ConfigId, usize> = FxHashMap::default();
    let mut rest = Vec::new();
    for byte in bytes.iter().filter(|&byte| byte != mark) {
        let Some(after) = machine.reader.step(config, byte)? else { continue };
        if !byte.is_ascii() {
            rest.push((byte, after));
            continue;
        }
        let place = *places.entry(after).or_insert(groups.len());
        if place == groups.len() {
            groups.push((Characters::default(), after));
        }
        groups[place].0.ascii.insert(byte);
    }
    if rest.len() <= MAX_PARTS {
        for (byte, after) in rest {
            groups.push((Characters { ascii: ByteSet::singleton(byte), has_others: false }, after));
        }
    } else {
        let mut has_place = false;
        for other in OTHERS {
            let mut at = Some(config);
            for &byte in other.as_bytes() {
                at = at.map_or(Ok(None), |at| machine.reader.step(at, byte))?;
            }
            if let Some(place) = at.and_then(|after| places.get(&after)) {
                groups[*place].0.has_others = true;
                has_place = true;
            }
        }
        if !has_place {
            groups.push((Characters { has_others: true, ..Characters::default() }, config));
        }
    }
    Ok(groups)
}

/// The names of the rules that are being read at `config`, the outermost first, as far as they are certain.
fn rules(reader: &mut Reader, config: ConfigId) -> Vec<String> {
    let (parser, config) = match reader {
        Reader::Bytes(reader) => (&mut reader.parser, config),
        Reader::Lexed { lexed, parser } => match lexed.states.configs.threads(config).first() {
            Some(thread) => (parser, thread.parser),
            None => return Vec::new(),
        },
    };
    let threads = parser.configs.threads(config).to_vec();
    // One rule alone says nothing.
    if threads.is_empty() || threads.len() > MAX_RULES || parser.network.n_rules() == 1 {
        return Vec::new();
    }
    let owners = Owners::of(parser);
    let mut common: Option<Vec<RuleId>> = None;
    for thread in threads {
        // Where several rules may have called one, none is certain.
        let Some(rules) = owners.around(parser, &thread) else { return Vec::new() };
        common = Some(match common {
            None => rules,
            Some(known) => known
                .into_iter()
                .zip(rules)
                .take_while(|(left, right)| left == right)
                .map(|(rule, _)| rule)
                .collect(),
        });
    }
    let mut names: Vec<String> =
        common.into_iter().flatten().map(|rule| parser.network.name(rule).to_owned()).collect();
    names.dedup();
    names
}

/// Which rule a state is of, if only one has it.
#[derive(Default)]
struct Owners {
    states: FxHashMap<ExprId, Option<RuleId>>,
    terminals: FxHashMap<(usize, ExprId), Option<RuleId>>,
}

impl Owners {
    fn of(parser: &mut Parser) -> Owners {
        let mut owners = Owners::default();
        let network = &mut parser.network;
        let mut n_moves = 0;
        for rule in (0..network.n_rules()).map(RuleId::from_index) {
            let body = network.body(rule);
            let mut known = FxHashSet::from_iter([body]);
            let mut stack = vec![body];
            while let Some(state) = stack.pop() {
                note(&mut owners.states, state, rule);
                for index in network.moves(state) {
                    n_moves += 1;
                    if n_moves > MAX_MOVES {
                        return Owners::default();
                    }
                    let step = network.move_at(index);
                    if let Symbol::Terminal(terminal) = step.symbol {
                        note(&mut owners.terminals, (terminal.index(), step.next), rule);
                    }
                    if known.insert(step.next) {
                        stack.push(step.next);
                    }
                }
            }
        }
        owners
    }

    /// The rules around a thread, the outermost first, as far as these are known; `None` if there are several
    /// ways out.
    fn around(&self, parser: &Parser, thread: &Thread) -> Option<Vec<RuleId>> {
        let mut rules = Vec::new();
        rules.extend(self.of_terminal(thread.terminal.index(), thread.next));
        let mut node = thread.node;
        while rules.len() <= MAX_RULES {
            let [frame] = parser.stacks.frames(node) else { return None };
            if *frame == Frame::BOTTOM || *frame == Frame::HOLE {
                rules.reverse();
                return Some(rules);
            }
            rules.extend(self.of_state(frame.ret));
            node = frame.parent;
        }
        None
    }

    fn of_state(&self, state: ExprId) -> Option<RuleId> {
        self.states.get(&state).copied().flatten()
    }

    fn of_terminal(&self, terminal: usize, next: ExprId) -> Option<RuleId> {
        self.terminals.get(&(terminal, next)).copied().flatten()
    }
}

/// Notes one more owner; two are none.
fn note<K: std::hash::Hash + Eq>(owners: &mut FxHashMap<K, Option<RuleId>>, key: K, rule: RuleId) {
    owners.entry(key).and_modify(|owner| *owner = owner.filter(|&known| known == rule)).or_insert(Some(rule));
}
