//! The labels that a text has passed ([`Label`]).
//!
//! A grammar with labels is read along a text that was accepted already, and only when somebody asks. Masks,
//! rows and configurations are those of the grammar without labels, and know nothing of this.
//!
//! A reading is a place in the rules with a stack of its own and the list of labels on its way. Readings that
//! come to one place are one from there on: [`Histories::compare`] says whose labels count. What all readings
//! agree on is settled: later bytes end readings, and never change the beginnings of lists. So the settled
//! labels are a function of the text, and only grow with it.
//!
//! An example: the text is `<a`, and the rules have free text, labelled 1, and a call that begins with
//! `<a>`, labelled 2. One reading is within the text, and one has ended the text before `<` and begun the
//! call. Settled is that the text began at 0, and that its first 0 bytes are text. After `<a>` only the call
//! is left, after `<ab` only the text.
//!
//! Unlike the [parser's](crate::parser), stacks are not merged: two callers of one rule have passed different
//! labels. So there are more readings, and a limit on them.

mod history;

use std::sync::Arc;

use maskwright_automata::meter::{self, Meter};
use maskwright_automata::{Automaton, Fuel, StateId};
use maskwright_grammar::{
    ExprId, ExprPool, Grammar, Label, Network, ReducedGrammar, Symbol, TerminalFacts, TerminalId, reduce,
    with_labelled_rules,
};
use maskwright_vocabulary::{TokenId, symbol_text};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::ground::{Counted, NamedTokens, written};
use crate::shared::Shared;
use history::Histories;
pub(crate) use history::{HistoryId, Passed};

/// The most readings that are kept of all steps of a text, some 20 MB. A usual text has one or two at a step.
const MAX_KEPT: usize = 1 << 20;

/// The most labels that readings have passed, at some place and after some others: some 100 MB.
const MAX_LABELS: usize = 1 << 21;

/// Units of work that one step of a text may take; a usual one takes some tens.
const UNITS_PER_STEP: u64 = 10_000_000;

/// More units for each byte of a step that is a longer text.
const UNITS_PER_BYTE: u64 = 256;

/// Units of work that a place takes.
const UNITS_PER_PLACE: u64 = 4;

/// A grammar with labels, to be read along texts of the same grammar without them.
pub struct LabelledGrammar {
    shared: Arc<Shared>,
    named: Option<NamedTokens>,
    tables: Mutex<Tables>,
    /// Its rules, as memory of the compiler.
    counted: Counted,
}

/// What is made where a text first comes.
struct Tables {
    network: Network,
    terminals: Vec<Option<Terminal>>,
}

/// A terminal of the rules.
#[derive(Clone)]
enum Terminal {
    Label(Label),
    Automaton(Arc<Automaton>),
    /// What a lexer reads.
    Lexeme,
}

/// A stack of states to return to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct StackId(u32);

impl StackId {
    const BOTTOM: StackId = StackId(0);
}

/// Where a reading is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Place {
    terminal: TerminalId,
    /// `None` of what a lexer reads.
    residue: Option<StateId>,
    next: ExprId,
    stack: StackId,
}

/// All readings of a text.
#[derive(Clone, Default, Debug)]
struct Readings {
    open: Vec<(Place, HistoryId)>,
    /// That of the whole text, if it may end here.
    whole: Option<HistoryId>,
}

/// One step of a text.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LabelStep<'s> {
    Token(TokenId),
    Bytes(&'s [u8]),
    /// A token of a lexer. Places of the text are then numbers of tokens.
    Lexeme(TerminalId),
    /// The text has ended, perhaps with this token.
    End(Option<TokenId>),
}

/// What a text has passed.
pub(crate) struct LabelReader {
    grammar: Arc<LabelledGrammar>,
    histories: Histories,
    /// By stack: the state to return to, and the stack below.
    stacks: Vec<(ExprId, StackId)>,
    stack_ids: FxHashMap<(ExprId, StackId), StackId>,
    text: Vec<u8>,
    /// The readings before any step and after each, with the length of the text.
    after: Vec<(Readings, usize)>,
    /// How many readings of steps are kept.
    n_kept: usize,
}

impl LabelledGrammar {
    /// Compiles a grammar with labels, for the vocabulary of what it shares, with more of them around the
    /// rules of these names.
    pub(crate) fn over_bytes(
        shared: &Arc<Shared>,
        grammar: Grammar,
        rules: &[String],
        fuel: &Fuel,
    ) -> Result<Arc<LabelledGrammar>, EngineError> {
        let (grammar, _) = grammar.without_watch().without_token_limits();
        // Before the tokens that it names: rules may be written twice for those.
        let grammar = with_labelled_rules(grammar, rules, fuel)?;
        let (grammar, named) = NamedTokens::over_bytes(grammar, &shared.vocabulary, fuel)?;
        let facts = shared.all_facts(grammar.terminals(), fuel)?;
        let facts = |terminal: TerminalId| -> TerminalFacts { facts[terminal.index()] };
        LabelledGrammar::new(shared, named, reduce(grammar, facts, fuel)?, || None, fuel)
    }

    /// The same for a labelled grammar whose texts a lexer reads.
    pub(crate) fn lexed(
        shared: &Arc<Shared>,
        grammar: Grammar,
        facts: impl Fn(TerminalId) -> TerminalFacts,
        fuel: &Fuel,
    ) -> Result<Arc<LabelledGrammar>, EngineError> {
        let is_label: Vec<bool> =
            grammar.terminals().iter().map(|regex| Label::of(regex).is_some()).collect();
        let of_label = TerminalFacts { is_nullable: false, has_proper_words: true };
        let facts =
            |terminal: TerminalId| if is_label[terminal.index()] { of_label } else { facts(terminal) };
        LabelledGrammar::new(shared, None, reduce(grammar, facts, fuel)?, || Some(Terminal::Lexeme), fuel)
    }

    /// `others`: what the terminals are that are no labels, if that is known.
    fn new(
        shared: &Arc<Shared>,
        named: Option<NamedTokens>,
        grammar: ReducedGrammar,
        others: impl Fn() -> Option<Terminal>,
        fuel: &Fuel,
    ) -> Result<Arc<LabelledGrammar>, EngineError> {
        let network = Network::new(grammar, fuel)?;
        let terminal = |regex| Label::of(regex).map(Terminal::Label).or_else(&others);
        let terminals = network.terminals().iter().map(terminal).collect();
        let mut counted = Counted::new(shared.memory.clone());
        counted.set(network.memory_usage());
        let tables = Mutex::new(Tables { network, terminals });
        Ok(Arc::new(LabelledGrammar { shared: shared.clone(), named, tables, counted }))
    }

    /// Approximate memory of the rules, in bytes. What is read along a text is the session's.
    pub fn memory_usage(&self) -> usize {
        self.counted.n_bytes()
    }
}

impl Tables {
    fn terminal(&mut self, terminal: TerminalId, shared: &Shared) -> Result<Terminal, EngineError> {
        if let Some(known) = &self.terminals[terminal.index()] {
            return Ok(known.clone());
        }
        let fuel = Fuel::new(shared.limits.compile_work);
        let regex = &self.network.terminals()[terminal.index()];
        let made = Terminal::Automaton(shared.automaton(regex, &fuel)?);
        Ok(self.terminals[terminal.index()].insert(made).clone())
    }
}

impl LabelReader {
    /// The reader before any text.
    pub(crate) fn new(grammar: &Arc<LabelledGrammar>) -> Result<LabelReader, EngineError> {
        let mut reader = LabelReader {
            grammar: grammar.clone(),
            histories: Histories::new(),
            stacks: vec![(ExprPool::EPSILON, StackId::BOTTOM)],
            stack_ids: FxHashMap::default(),
            text: Vec::new(),
            after: Vec::new(),
            n_kept: 0,
        };
        let mut found = Readings::default();
        let tables = &mut grammar.tables.lock();
        let start = tables.network.start();
        if tables.network.is_rule_nullable(start) {
            found.whole = Some(HistoryId::NONE);
        }
        let body = tables.network.body(start);
        reader.expand(tables, body, StackId::BOTTOM, HistoryId::NONE, 0, &mut found)?;
        reader.settle_places(&mut found, 0)?;
        reader.n_kept = found.open.len();
        reader.after.push((found, 0));
        Ok(reader)
    }

    /// Forgets all steps but the first `n_steps`.
    pub(crate) fn keep(&mut self, n_steps: usize) {
        let dropped = self.after.drain((n_steps + 1).min(self.after.len())..);
        self.n_kept -= dropped.map(|(readings, _)| readings.open.len()).sum::<usize>();
        let length = self.after.last().map_or(0, |&(_, length)| length);
        self.text.truncate(length);
    }

    /// The text so far, as people read it.
    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Reads one more step.
    ///
    /// # Errors
    /// If there are too many readings or another limit is reached; then the step is not read.
    pub(crate) fn read(&mut self, step: LabelStep<'_>) -> Result<(), EngineError> {
        let n_bytes = if let LabelStep::Bytes(bytes) = step { bytes.len() } else { 0 };
        within_limit(n_bytes, || self.read_metered(step))
    }

    fn read_metered(&mut self, step: LabelStep<'_>) -> Result<(), EngineError> {
        let before = self.text.len();
        let Some((readings, _)) = self.after.last().cloned() else { return Ok(()) };
        let grammar = self.grammar.clone();
        let vocabulary = &grammar.shared.vocabulary;
        let (shown, mut found) = match step {
            LabelStep::Bytes(bytes) => (bytes.to_vec(), self.after_bytes(readings, bytes, before, None)?),
            LabelStep::Lexeme(terminal) => (vec![0], self.after_lexeme(readings, terminal, before + 1)?),
            LabelStep::End(token) => (Vec::new(), self.at_end(readings, token)?),
            LabelStep::Token(token) => {
                let shown = written(vocabulary, token).into_owned();
                let symbol = grammar.named.as_ref().and_then(|named| named.symbol(token));
                let after = before + shown.len();
                let by_id = match symbol {
                    Some(symbol) => {
                        self.after_bytes(readings.clone(), &symbol_text(symbol), before, Some(after))?
                    }
                    None => Readings::default(),
                };
                let mut both = match vocabulary.text(token) {
                    Some(text) => self.after_bytes(readings, text, before, None)?,
                    None => Readings::default(),
                };
                both.open.extend(by_id.open);
                both.whole = self.better(both.whole, by_id.whole, after);
                (shown, both)
            }
        };
        let after = before + shown.len();
        self.settle_places(&mut found, after)?;
        if found.open.is_empty() && found.whole.is_none() {
            return Err(EngineError::argument(
                "the text is not one of the grammar that its events are asked of",
            ));
        }
        self.n_kept += found.open.len();
        if self.n_kept > MAX_KEPT {
            return Err(too_many(MAX_KEPT));
        }
        self.text.extend_from_slice(&shown);
        self.after.push((found, after));
        Ok(())
    }

    /// What all readings have passed after so many steps; and how many bytes of the text have no label among
    /// them or after them that is not settled.
    pub(crate) fn settled(&self, n_steps: usize) -> (HistoryId, usize) {
        let Some((readings, length)) = self.after.get(n_steps) else { return (HistoryId::NONE, 0) };
        let all = || readings.open.iter().map(|&(_, history)| history).chain(readings.whole);
        let common = all().reduce(|one, other| self.histories.common(one, other));
        let common = common.unwrap_or(HistoryId::NONE);
        let next = all().filter_map(|history| self.histories.next(common, history));
        (common, next.map(|(_, at)| at).min().unwrap_or(*length))
    }

    /// How many labels two lists begin with that are the same.
    pub(crate) fn common(&self, one: HistoryId, other: HistoryId) -> usize {
        self.histories.length(self.histories.common(one, other)) as usize
    }

    /// The labels of a list after the first `from`.
    pub(crate) fn passed(&self, history: HistoryId, from: usize) -> Vec<Passed> {
        self.histories.from(history, from as u32)
    }

    /// The readings after some bytes. `at`: the length of the text before them, and after them if they are
    /// not of the text.
    fn after_bytes(
        &mut self,
        mut readings: Readings,
        bytes: &[u8],
        before: usize,
        after: Option<usize>,
    ) -> Result<Readings, EngineError> {
        let grammar = self.grammar.clone();
        let tables = &mut grammar.tables.lock();
        for (i, &byte) in bytes.iter().enumerate() {
            let at = after.unwrap_or(before + i + 1);
            meter::spend(1 + readings.open.len() as u64)?;
            let mut found = Readings::default();
            for (place, history) in readings.open {
                let Terminal::Automaton(automaton) = tables.terminal(place.terminal, &grammar.shared)? else {
                    continue;
                };
                let located = EngineError::in_terminal(&automaton);
                let Some(residue) = place.residue else { continue };
                let Some(residue) = automaton.step(residue, byte).map_err(&located)? else { continue };
                let may_end = automaton.is_accepting(residue);
                if !may_end || !automaton.next_bytes(residue).map_err(located)?.is_empty() {
                    found.open.push((Place { residue: Some(residue), ..place }, history));
                }
                if may_end {
                    self.expand(tables, place.next, place.stack, history, at, &mut found)?;
                }
            }
            self.settle_places(&mut found, at)?;
            readings = found;
        }
        Ok(readings)
    }

    /// The readings after a token of a lexer.
    fn after_lexeme(
        &mut self,
        readings: Readings,
        terminal: TerminalId,
        end: usize,
    ) -> Result<Readings, EngineError> {
        let grammar = self.grammar.clone();
        let tables = &mut grammar.tables.lock();
        let mut found = Readings::default();
        for (place, history) in readings.open.into_iter().filter(|(place, _)| place.terminal == terminal) {
            self.expand(tables, place.next, place.stack, history, end, &mut found)?;
        }
        Ok(found)
    }

    /// What is left of the readings where the text ends: that of the whole text. A token that a string
    /// spells and that has ended the text is its last word.
    fn at_end(&mut self, readings: Readings, token: Option<TokenId>) -> Result<Readings, EngineError> {
        let mut whole = readings.whole;
        let (grammar, at) = (self.grammar.clone(), self.text.len());
        for symbol in grammar.named.iter().flat_map(|named| named.last_symbols(token)) {
            let ended = self.after_bytes(readings.clone(), &symbol_text(symbol), at, Some(at))?;
            whole = self.better(whole, ended.whole, at);
        }
        Ok(Readings { open: Vec::new(), whole })
    }

    /// The places after a terminal or a label: those of `state`, and of what is below where it may end.
    fn expand(
        &mut self,
        tables: &mut Tables,
        state: ExprId,
        stack: StackId,
        history: HistoryId,
        at: usize,
        found: &mut Readings,
    ) -> Result<(), EngineError> {
        let mut best: FxHashMap<(ExprId, StackId), HistoryId> = FxHashMap::default();
        let mut waiting = vec![(state, stack, history)];
        let most = self.grammar.shared.limits.max_threads;
        while let Some((state, stack, history)) = waiting.pop() {
            let known = best.insert((state, stack), history);
            if let Some(known) = known
                && self.histories.compare(history, known, at).is_ge()
            {
                best.insert((state, stack), known);
                continue;
            }
            meter::spend(UNITS_PER_PLACE)?;
            self.histories.pay()?;
            if best.len() > most {
                return Err(too_many(most));
            }
            if tables.network.is_nullable(state) {
                match stack {
                    StackId::BOTTOM => found.whole = self.better(found.whole, Some(history), at),
                    stack => {
                        let (next, below) = self.stacks[stack.0 as usize];
                        waiting.push((next, below, history));
                    }
                }
            }
            for index in tables.network.moves(state) {
                let step = tables.network.move_at(index);
                match step.symbol {
                    Symbol::Terminal(terminal) => match tables.terminal(terminal, &self.grammar.shared)? {
                        Terminal::Label(label) => {
                            waiting.push((step.next, stack, self.histories.push(history, (label, at))));
                        }
                        Terminal::Automaton(automaton) => {
                            let residue = automaton.start();
                            if residue.is_some() {
                                let place = Place { terminal, residue, next: step.next, stack };
                                found.open.push((place, history));
                            }
                        }
                        Terminal::Lexeme => {
                            let place = Place { terminal, residue: None, next: step.next, stack };
                            found.open.push((place, history));
                        }
                    },
                    Symbol::Rule(rule) => {
                        let stack = if step.next == ExprPool::EPSILON {
                            stack
                        } else {
                            self.pushed(step.next, stack)
                        };
                        waiting.push((tables.network.body(rule), stack, history));
                    }
                }
            }
        }
        Ok(())
    }

    fn pushed(&mut self, next: ExprId, below: StackId) -> StackId {
        let fresh = StackId(self.stacks.len() as u32);
        let id = *self.stack_ids.entry((next, below)).or_insert(fresh);
        if id == fresh {
            self.stacks.push((next, below));
        }
        id
    }

    fn better(&self, one: Option<HistoryId>, other: Option<HistoryId>, at: usize) -> Option<HistoryId> {
        match (one, other) {
            (Some(one), Some(other)) => {
                Some(if self.histories.compare(one, other, at).is_le() { one } else { other })
            }
            (one, other) => one.or(other),
        }
    }

    /// Joins readings that have come to the same place.
    fn settle_places(&self, found: &mut Readings, at: usize) -> Result<(), EngineError> {
        found.open.sort_unstable_by(|(place, history), (other, other_history)| {
            place.cmp(other).then_with(|| self.histories.compare(*history, *other_history, at))
        });
        self.histories.pay()?;
        found.open.dedup_by_key(|(place, _)| *place);
        if self.histories.n_known() > MAX_LABELS {
            return Err(too_many(MAX_LABELS));
        }
        let most = self.grammar.shared.limits.max_threads;
        if found.open.len() > most {
            return Err(too_many(most));
        }
        Ok(())
    }
}

/// Runs a call about so many bytes within its limit of work.
pub(crate) fn within_limit<T>(
    n_bytes: usize,
    call: impl FnOnce() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    match (Meter { limit: UNITS_PER_STEP + n_bytes as u64 * UNITS_PER_BYTE }).run(call) {
        Err(error) if error.is_out_of_work() && meter::left() > 0 => Err(EngineError::limit(
            "the text can be read in so many ways that to tell what it says takes too much work",
        )),
        done => done,
    }
}

fn too_many(most: usize) -> EngineError {
    EngineError::limit(format!(
        "the text can be read in more ways than the limit of {most}, so its events cannot be told"
    ))
}
