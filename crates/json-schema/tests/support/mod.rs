//! A plain recogniser over a grammar's public form, shared by the tests.

use std::collections::HashMap;
use std::rc::Rc;

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex, StateId};
use maskwright_grammar::{Expr, ExprId, Grammar, Mark, Shuffle, ShufflePhase, TerminalId, Watching};

/// What is still to be read: an expression or copies of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Expr(ExprId),
    Copies {
        inner: ExprId,
        min: u32,
        max: Option<u32>,
    },
    /// A place in a list in any order, by number.
    Shuffled(usize),
}

/// A list of parts, hash-consed; 0 is the empty list.
type Stack = usize;

/// The terminals that a list can start with, each with the list after it; and whether it may be empty.
type Expansion = Rc<(Vec<(TerminalId, Stack)>, bool)>;

/// Reads texts by following all threads (terminal, its automaton's state, what follows) at once, and what the
/// grammar's watch remembers.
pub(crate) struct Recogniser<'g> {
    grammar: &'g Grammar,
    stacks: Vec<(Part, Stack)>,
    stack_ids: HashMap<(Part, Stack), Stack>,
    expansions: HashMap<Stack, Expansion>,
    places: Vec<Shuffle>,
    place_ids: HashMap<Shuffle, usize>,
    start: Stack,
}

/// Automata of terminals, shared by grammars.
#[derive(Default)]
pub(crate) struct Automata(HashMap<Regex, Rc<Automaton>>);

impl Automata {
    fn get(&mut self, regex: &Regex) -> Rc<Automaton> {
        let make =
            || Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).expect("within limits");
        self.0.entry(regex.clone()).or_insert_with(|| Rc::new(make())).clone()
    }
}

impl<'g> Recogniser<'g> {
    pub(crate) fn new(grammar: &'g Grammar) -> Recogniser<'g> {
        let start = Part::Expr(grammar.body(grammar.start()));
        let mut recogniser = Recogniser {
            grammar,
            stacks: vec![(start, 0)],
            stack_ids: HashMap::new(),
            expansions: HashMap::new(),
            places: Vec::new(),
            place_ids: HashMap::new(),
            start: 0,
        };
        recogniser.start = recogniser.push(start, 0);
        recogniser
    }

    fn push(&mut self, part: Part, tail: Stack) -> Stack {
        let next = self.stacks.len();
        let id = *self.stack_ids.entry((part, tail)).or_insert(next);
        if id == next {
            self.stacks.push((part, tail));
        }
        id
    }

    fn place(&mut self, place: Shuffle) -> Part {
        let next = self.places.len();
        let id = *self.place_ids.entry(place.clone()).or_insert(next);
        if id == next {
            self.places.push(place);
        }
        Part::Shuffled(id)
    }

    fn expand(&mut self, stack: Stack) -> Expansion {
        if let Some(known) = self.expansions.get(&stack) {
            return known.clone();
        }
        let mut terminals = Vec::new();
        let mut may_end = false;
        let mut seen = std::collections::HashSet::new();
        let mut todo = vec![stack];
        while let Some(stack) = todo.pop() {
            if !seen.insert(stack) {
                continue;
            }
            if stack == 0 {
                may_end = true;
                continue;
            }
            let (part, tail) = self.stacks[stack];
            match part {
                Part::Copies { inner, min, max } => {
                    if min == 0 {
                        todo.push(tail);
                    }
                    if max != Some(0) {
                        let rest =
                            Part::Copies { inner, min: min.saturating_sub(1), max: max.map(|max| max - 1) };
                        let rest = self.push(rest, tail);
                        todo.push(self.push(Part::Expr(inner), rest));
                    }
                }
                Part::Shuffled(id) => {
                    let place = self.places[id].clone();
                    let list = self.grammar.pool().shuffle_list(&place).clone();
                    if place.phase != ShufflePhase::AfterSeparator && list.may_end(&place) {
                        todo.push(tail);
                    }
                    if place.phase == ShufflePhase::AfterItem {
                        let next = self.place(place.after_separator());
                        let rest = self.push(next, tail);
                        todo.push(self.push(Part::Expr(list.separator), rest));
                    } else {
                        for offer in list.offers(&place) {
                            let after = self.place(place.after(&list, offer.index));
                            let rest = self.push(after, tail);
                            todo.push(self.push(Part::Expr(offer.member), rest));
                        }
                    }
                }
                Part::Expr(expr) => match self.grammar.pool().get(expr).clone() {
                    Expr::Never => {}
                    Expr::Epsilon => todo.push(tail),
                    Expr::Terminal(terminal) => {
                        terminals.push((terminal, tail));
                        if self.grammar.terminals()[terminal.index()].is_nullable() {
                            todo.push(tail);
                        }
                    }
                    Expr::Rule(rule) => todo.push(self.push(Part::Expr(self.grammar.body(rule)), tail)),
                    Expr::Seq(head, rest) => {
                        let rest = self.push(Part::Expr(rest), tail);
                        todo.push(self.push(Part::Expr(head), rest));
                    }
                    Expr::Alt(parts) => {
                        for part in parts {
                            todo.push(self.push(Part::Expr(part), tail));
                        }
                    }
                    Expr::Repeat { inner, min, max } => {
                        todo.push(self.push(Part::Copies { inner, min, max }, tail))
                    }
                    Expr::Shuffle(place) => {
                        let place = self.place(place);
                        todo.push(self.push(place, tail));
                    }
                },
            }
        }
        let expansion = Rc::new((terminals, may_end));
        self.expansions.insert(stack, expansion.clone());
        expansion
    }

    /// How many bytes of `text` some word of the language starts with, and whether all of it is a word.
    pub(crate) fn read(&mut self, text: &str, automata: &mut Automata) -> (usize, bool) {
        let mut threads: Vec<(TerminalId, StateId, Stack)> = Vec::new();
        let mut may_end = false;
        let watched = self.grammar.watched();
        let mut watching = watched.map(|watched| watched.watch.start());
        let mark = |terminal: TerminalId| watched.and_then(|watched| watched.mark(terminal));
        self.enter(self.start, &mut threads, &mut may_end, automata);
        for (i, &byte) in text.as_bytes().iter().enumerate() {
            if let Some(watching) = &mut watching {
                if watching.refuses() {
                    threads.retain(|thread| !mark(thread.0).is_some_and(Mark::can_be_refused));
                }
                <dyn Watching>::make_mut(watching)
                    .read(byte, threads.iter().filter_map(|thread| mark(thread.0)).collect());
            }
            let mut next = Vec::new();
            may_end = false;
            for (terminal, state, tail) in threads {
                let automaton = automata.get(&self.grammar.terminals()[terminal.index()]);
                if let Some(state) = automaton.step(state, byte).expect("within limits") {
                    if automaton.is_accepting(state) {
                        self.enter(tail, &mut next, &mut may_end, automata);
                    }
                    next.push((terminal, state, tail));
                }
            }
            next.sort_unstable();
            next.dedup();
            threads = next;
            if threads.is_empty() {
                return (i, false);
            }
        }
        (text.len(), may_end)
    }

    fn enter(
        &mut self,
        stack: Stack,
        threads: &mut Vec<(TerminalId, StateId, Stack)>,
        may_end: &mut bool,
        automata: &mut Automata,
    ) {
        let expansion = self.expand(stack);
        *may_end |= expansion.1;
        for &(terminal, tail) in &expansion.0 {
            if let Some(state) = automata.get(&self.grammar.terminals()[terminal.index()]).start() {
                threads.push((terminal, state, tail));
            }
        }
    }
}
