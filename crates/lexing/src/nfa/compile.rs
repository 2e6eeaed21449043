//! From patterns to instructions.

use std::collections::HashMap;
use std::rc::Rc;

use maskwright_automata::{ByteSet, Fuel};
use rustc_hash::{FxHashMap, FxHashSet};

use super::utf8::Trie;
use super::{BehindCode, Inst, LOOKS, MAX_DEPTH, Pc, Program, TerminalCode};
use crate::{Discipline, LexError, LexerTerminal, Pattern, PatternNode};

/// Lookbehinds are bits of a word, one of which is taken.
const MAX_BEHINDS: usize = 63;

struct Compiler<'a> {
    insts: Vec<Inst>,
    behinds: Vec<BehindCode>,
    behind_indices: HashMap<Pattern, u32>,
    tries: HashMap<Pattern, Rc<Trie>>,
    /// Classes of the terminal at hand that were compiled already, by what follows them.
    classes: HashMap<(Pattern, Pc), Pc>,
    max_instructions: u32,
    fuel: &'a Fuel,
    /// The terminal at hand, for errors.
    terminal: u32,
}

pub(super) fn compile(
    terminals: &[LexerTerminal],
    discipline: Discipline,
    max_instructions: u32,
    fuel: &Fuel,
) -> Result<Program, LexError> {
    let mut compiler = Compiler {
        insts: vec![Inst::Fail],
        behinds: Vec::new(),
        behind_indices: HashMap::new(),
        tries: HashMap::new(),
        classes: HashMap::new(),
        max_instructions,
        fuel,
        terminal: 0,
    };
    for terminal in terminals {
        compiler.terminal = terminal.id;
        compiler.check(terminal)?;
        compiler.lookbehinds(&terminal.pattern)?;
    }
    let (keyword_ends, keyword_starts) = compiler.keywords(terminals)?;
    let mut by_rank: Vec<usize> = (0..terminals.len()).collect();
    by_rank.sort_by_key(|&index| (std::cmp::Reverse(terminals[index].priority), index));
    let mut ranks = vec![0; terminals.len()];
    for (rank, &index) in by_rank.iter().enumerate() {
        ranks[index] = rank as u32;
    }
    let mut codes = Vec::new();
    for (index, (terminal, keywords)) in terminals.iter().zip(keyword_ends).enumerate() {
        compiler.terminal = terminal.id;
        compiler.classes.clear();
        let first = compiler.insts.len() as Pc;
        let end = compiler.push(Inst::Match(index as u32))?;
        let start = compiler.pattern(&terminal.pattern, end, end)?;
        let (id, is_operator) = (terminal.id, terminal.is_operator);
        codes.push(TerminalCode { id, start, first, rank: ranks[index], keywords, is_operator });
    }
    let asks = asks(&compiler.insts);
    let crossing = crossing(&compiler, &codes);
    let (classes, representatives) = byte_classes(&compiler.insts);
    Ok(Program {
        terminals: codes.into(),
        keyword_starts,
        behinds: compiler.behinds.into(),
        crossing,
        has_assertions: asks.iter().any(|&asks| asks != 0),
        asks,
        productive: productive(&compiler.insts),
        discipline,
        classes,
        representatives,
        insts: compiler.insts,
    })
}

impl Compiler<'_> {
    fn check(&self, terminal: &LexerTerminal) -> Result<(), LexError> {
        if terminal.pattern.min_width() == 0 {
            return Err(LexError::terminal(terminal.id, "can match the empty text, which would never end"));
        }
        let patterns = terminal.keywords.iter().map(|keyword| &keyword.pattern).chain([&terminal.pattern]);
        if patterns.into_iter().any(|pattern| pattern.depth() > MAX_DEPTH) {
            return Err(LexError::limit("levels of nesting", u64::from(MAX_DEPTH)));
        }
        Ok(())
    }

    fn push(&mut self, inst: Inst) -> Result<Pc, LexError> {
        self.fuel.spend(1)?;
        let pc = self.insts.len() as Pc;
        if pc >= self.max_instructions {
            return Err(LexError::limit("instructions", u64::from(self.max_instructions)));
        }
        self.insts.push(inst);
        Ok(pc)
    }

    /// Compiles the lookbehinds in `pattern`, inner ones first, so that they have the lower indices.
    fn lookbehinds(&mut self, pattern: &Pattern) -> Result<(), LexError> {
        match pattern.node() {
            PatternNode::Concat(parts) | PatternNode::Alternation(parts) => {
                parts.iter().try_for_each(|part| self.lookbehinds(part))
            }
            PatternNode::Repeat { inner, .. } | PatternNode::Look { ahead: true, inner, .. } => {
                self.lookbehinds(inner)
            }
            PatternNode::Look { ahead: false, inner, .. } => {
                if self.behind_indices.contains_key(inner) {
                    return Ok(());
                }
                if looks_ahead(inner) {
                    return Err(LexError::terminal(self.terminal, "looks ahead inside of a lookbehind"));
                }
                self.lookbehinds(inner)?;
                let index = self.behinds.len();
                if index == MAX_BEHINDS {
                    return Err(LexError::limit("different lookbehinds", MAX_BEHINDS as u64));
                }
                self.classes.clear();
                let first = self.insts.len() as Pc;
                let end = self.push(Inst::Match(0))?;
                let start = self.pattern(inner, end, end)?;
                let range = first..self.insts.len() as Pc;
                self.behinds.push(BehindCode { start, end, range });
                self.behind_indices.insert(inner.clone(), index as u32);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Compiles each keyword once; returns for each terminal where its keywords end, and all starts.
    #[allow(clippy::type_complexity, reason = "two lists that are used once")]
    fn keywords(
        &mut self,
        terminals: &[LexerTerminal],
    ) -> Result<(Vec<Box<[(Pc, u32)]>>, Box<[Pc]>), LexError> {
        let mut ends: HashMap<Pattern, Pc> = HashMap::new();
        let mut starts = Vec::new();
        let mut lists = Vec::new();
        self.classes.clear();
        for terminal in terminals {
            self.terminal = terminal.id;
            let mut list = Vec::new();
            for keyword in &terminal.keywords {
                if keyword.pattern.has_look() {
                    return Err(LexError::terminal(keyword.terminal, "is a keyword and looks around itself"));
                }
                let end = match ends.get(&keyword.pattern) {
                    Some(&end) => end,
                    None => {
                        let end = self.push(Inst::Match(0))?;
                        starts.push(self.pattern(&keyword.pattern, end, end)?);
                        ends.insert(keyword.pattern.clone(), end);
                        end
                    }
                };
                list.push((end, keyword.terminal));
            }
            lists.push(list.into());
        }
        Ok((lists, starts.into()))
    }

    /// The start of `pattern`, which goes on at `empty` if it read nothing and else at `read`.
    fn pattern(&mut self, pattern: &Pattern, empty: Pc, read: Pc) -> Result<Pc, LexError> {
        let empty = if is_nullable(pattern) { empty } else { read };
        match pattern.node() {
            PatternNode::Empty => Ok(empty),
            PatternNode::Bytes(set) => self.push(Inst::Bytes(*set, read)),
            PatternNode::Class(ranges) => self.class(pattern, ranges, read),
            PatternNode::Literal(bytes) => bytes
                .iter()
                .rev()
                .try_fold(read, |next, &byte| self.push(Inst::Bytes(ByteSet::singleton(byte), next))),
            PatternNode::Concat(parts) => {
                let (mut empty, mut read) = (empty, read);
                for part in parts.iter().rev() {
                    (empty, read) = self.one_more(part, empty, read)?;
                }
                Ok(empty)
            }
            PatternNode::Alternation(parts) => {
                let mut last = None;
                for part in parts.iter().rev() {
                    let start = self.pattern(part, empty, read)?;
                    last = Some(match last {
                        None => start,
                        Some(last) => self.push(Inst::Split(start, last))?,
                    });
                }
                Ok(last.unwrap_or(0))
            }
            &PatternNode::Repeat { ref inner, min, max, greedy } => {
                // More copies of an assertion say the same as one.
                let most = if inner.max_width() == Some(0) { 1 } else { u32::MAX };
                let (max, min) = (max.map(|max| (max - min).min(most)), min.min(most));
                let (mut empty, mut read) = match max {
                    None => self.unbounded(inner, greedy, empty, read)?,
                    Some(max) => self.optional(inner, max, greedy, empty, read)?,
                };
                for _ in 0..min {
                    self.fuel.spend(1)?;
                    (empty, read) = self.one_more(inner, empty, read)?;
                }
                Ok(empty)
            }
            PatternNode::Look { ahead: true, negated, inner } => {
                let end = self.push(Inst::Match(0))?;
                let sub = self.pattern(inner, end, end)?;
                self.push(Inst::Look { sub, negated: *negated, next: empty })
            }
            PatternNode::Look { ahead: false, negated, inner } => {
                let index = self.behind_indices.get(inner).copied().unwrap_or(0);
                self.push(Inst::Behind { index, negated: *negated, next: empty })
            }
        }
    }

    /// `part` before what goes on at `empty`, if nothing has been read so far, and else at `read`; the two
    /// places to begin likewise.
    fn one_more(&mut self, part: &Pattern, empty: Pc, read: Pc) -> Result<(Pc, Pc), LexError> {
        let after_reading = self.pattern(part, read, read)?;
        if empty == read || !is_nullable(part) {
            return Ok((after_reading, after_reading));
        }
        Ok((self.pattern(part, empty, read)?, after_reading))
    }

    /// Any number of copies; where to begin if nothing has been read so far, and if something has.
    fn unbounded(
        &mut self,
        inner: &Pattern,
        greedy: bool,
        empty: Pc,
        read: Pc,
    ) -> Result<(Pc, Pc), LexError> {
        let again = self.push(Inst::Fail)?;
        let body = self.pattern(inner, read, again)?;
        self.insts[again as usize] = choice(greedy, body, read);
        if empty == read {
            return Ok((again, again));
        }
        let body = if is_nullable(inner) { self.pattern(inner, empty, again)? } else { body };
        Ok((self.push(choice(greedy, body, empty))?, again))
    }

    /// Up to `n` copies, likewise.
    fn optional(
        &mut self,
        inner: &Pattern,
        n: u32,
        greedy: bool,
        empty: Pc,
        read: Pc,
    ) -> Result<(Pc, Pc), LexError> {
        let mut begin = (empty, read);
        let mut after_copy = read;
        for left in (0..n).rev() {
            let body = self.pattern(inner, read, after_copy)?;
            let after_reading = self.push(choice(greedy, body, read))?;
            if left == 0 {
                let first = if empty == read {
                    after_reading
                } else {
                    let body =
                        if is_nullable(inner) { self.pattern(inner, empty, after_copy)? } else { body };
                    self.push(choice(greedy, body, empty))?
                };
                begin = (first, after_reading);
            }
            after_copy = after_reading;
        }
        Ok(begin)
    }

    fn class(&mut self, pattern: &Pattern, ranges: &[(char, char)], next: Pc) -> Result<Pc, LexError> {
        let key = (pattern.clone(), next);
        if let Some(&pc) = self.classes.get(&key) {
            return Ok(pc);
        }
        let trie = match self.tries.get(pattern) {
            Some(trie) => Rc::clone(trie),
            None => {
                self.fuel.spend(ranges.len() as u64)?;
                let trie = Rc::new(Trie::new(ranges));
                self.tries.insert(pattern.clone(), Rc::clone(&trie));
                trie
            }
        };
        let first = self.insts.len() as Pc;
        for node in &trie.0 {
            let target = |child: Option<usize>| child.map_or(next, |child| first + child as Pc);
            let inst = match node.as_slice() {
                [] => Inst::Fail,
                &[(set, child)] => Inst::Bytes(set, target(child)),
                edges => Inst::Sparse(edges.iter().map(|&(set, child)| (set, target(child))).collect()),
            };
            self.push(inst)?;
        }
        let start = self.insts.len() as Pc - 1;
        self.classes.insert(key, start);
        Ok(start)
    }
}

fn choice(greedy: bool, body: Pc, exit: Pc) -> Inst {
    if greedy { Inst::Split(body, exit) } else { Inst::Split(exit, body) }
}

fn is_nullable(pattern: &Pattern) -> bool {
    // The least width is 0 exactly where no character need be read.
    pattern.min_width() == 0
}

fn looks_ahead(pattern: &Pattern) -> bool {
    pattern.any_node(|node| matches!(node, PatternNode::Look { ahead: true, .. }))
}

/// What the continuations of each instruction ask for: a least fixed point. Targets mostly have lower numbers
/// than their sources, so a few passes do.
fn asks(insts: &[Inst]) -> Box<[u64]> {
    let mut asks = vec![0u64; insts.len()];
    loop {
        let mut changed = false;
        for (pc, inst) in insts.iter().enumerate() {
            let of = |target: &Pc| asks[*target as usize];
            let now = match inst {
                Inst::Bytes(_, next) => of(next),
                Inst::Sparse(edges) => edges.iter().fold(0, |sum, (_, next)| sum | of(next)),
                Inst::Split(first, second) => of(first) | of(second),
                Inst::Look { sub, next, .. } => LOOKS | of(sub) | of(next),
                Inst::Behind { index, next, .. } => 1 << index | of(next),
                Inst::Match(_) | Inst::Fail => 0,
            };
            changed |= asks[pc] != now;
            asks[pc] = now;
        }
        if !changed {
            return asks.into();
        }
    }
}

/// Which instructions can lead to a match, likewise.
fn productive(insts: &[Inst]) -> Box<[bool]> {
    let mut productive = vec![false; insts.len()];
    loop {
        let mut changed = false;
        for (pc, inst) in insts.iter().enumerate() {
            let of = |target: &Pc| productive[*target as usize];
            let now = match inst {
                Inst::Bytes(set, next) => !set.is_empty() && of(next),
                Inst::Sparse(edges) => edges.iter().any(|(_, next)| of(next)),
                Inst::Split(first, second) => of(first) || of(second),
                Inst::Look { next, .. } | Inst::Behind { next, .. } => of(next),
                Inst::Match(_) => true,
                Inst::Fail => false,
            };
            changed |= productive[pc] != now;
            productive[pc] = now;
        }
        if !changed {
            return productive.into();
        }
    }
}

/// The lookbehinds that may see bytes before the token: those asked for before as many bytes of the token
/// are read as they look back at most, and those within other lookbehinds.
fn crossing(compiler: &Compiler<'_>, terminals: &[TerminalCode]) -> u64 {
    let mut longest = vec![Some(0u64); compiler.behinds.len()];
    for (pattern, &index) in &compiler.behind_indices {
        // Four bytes are the most a character has.
        longest[index as usize] = pattern.max_width().map(|width| width.saturating_mul(4));
        if let PatternNode::Class(ranges) = pattern.node() {
            longest[index as usize] = Some(ranges.last().map_or(0, |(_, high)| high.len_utf8() as u64));
        }
    }
    let mut crossing = 0;
    for behind in &compiler.behinds {
        for inst in &compiler.insts[behind.range.start as usize..behind.range.end as usize] {
            if let Inst::Behind { index, .. } = inst {
                crossing |= 1 << index;
            }
        }
    }
    // Layer by layer: the instructions that can be reached after reading `n_read` bytes at the least.
    let mut seen: FxHashSet<Pc> = FxHashSet::default();
    let mut layer: Vec<Pc> = terminals.iter().map(|terminal| terminal.start).collect();
    let mut n_read = 0u64;
    while !layer.is_empty() {
        let mut next_layer = Vec::new();
        while let Some(pc) = layer.pop() {
            if !seen.insert(pc) {
                continue;
            }
            match &compiler.insts[pc as usize] {
                Inst::Bytes(_, next) => next_layer.push(*next),
                Inst::Sparse(edges) => next_layer.extend(edges.iter().map(|(_, next)| *next)),
                Inst::Split(first, second) => layer.extend([*first, *second]),
                Inst::Look { sub, next, .. } => layer.extend([*sub, *next]),
                Inst::Behind { index, next, .. } => {
                    if longest[*index as usize].is_none_or(|longest| longest > n_read) {
                        crossing |= 1 << index;
                    }
                    layer.push(*next);
                }
                Inst::Match(_) | Inst::Fail => {}
            }
        }
        layer = next_layer;
        n_read += 1;
    }
    crossing
}

/// The coarsest classes of bytes that no instruction tells apart.
fn byte_classes(insts: &[Inst]) -> ([u8; 256], Vec<u8>) {
    let mut sets: FxHashMap<ByteSet, ()> = FxHashMap::default();
    for inst in insts {
        match inst {
            Inst::Bytes(set, _) => {
                sets.insert(*set, ());
            }
            Inst::Sparse(edges) => sets.extend(edges.iter().map(|(set, _)| (*set, ()))),
            _ => {}
        }
    }
    let mut classes = [0u8; 256];
    for set in sets.keys() {
        let mut renamed = [None; 512];
        let mut n_classes = 0u16;
        for byte in 0..=255u8 {
            let class = &mut classes[usize::from(byte)];
            let key = usize::from(*class) * 2 + usize::from(set.contains(byte));
            *class = *renamed[key].get_or_insert_with(|| {
                n_classes += 1;
                (n_classes - 1) as u8
            });
        }
    }
    let mut representatives = Vec::new();
    for byte in 0..=255u8 {
        if usize::from(classes[usize::from(byte)]) == representatives.len() {
            representatives.push(byte);
        }
    }
    (classes, representatives)
}
